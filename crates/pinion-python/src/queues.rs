//! What queues, buffers and units held over time. In: changes of gauges, in order of time. Out: a row for
//! each.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_app::Result;
use pinion_observe::gauges::{Follower, Gauge};
use pinion_sim::Time;

use crate::table::{Change, Table};
use crate::written::{Done, Written};

/// The changes of a machine's gauges. Copies keep them in the same place.
#[derive(Clone)]
pub struct History {
    /// By gauge: its unit and its name there.
    pub names: Arc<Vec<(String, String)>>,
    kept: Arc<Mutex<Kept>>,
}

/// Where changes go: here, or to a file.
enum Kept {
    Here(Vec<Change>),
    File(Box<Written<Change>>),
}

impl History {
    /// Follows gauges; what they say goes to a file in a folder, if one is given.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn new(gauges: &[Gauge], folder: Option<&Path>) -> Result<Self> {
        let names = gauges.iter().map(|gauge| (gauge.unit.clone(), gauge.name.clone()));
        let names: Arc<Vec<_>> = Arc::new(names.collect());
        let own = Arc::clone(&names);
        let begin = |folder| {
            Written::begin(folder, "queues", move |rows: &[Change]| Table::of_changes(rows, &own))
        };
        let written = folder.map(begin).transpose()?;
        let kept =
            written.map_or_else(|| Kept::Here(Vec::new()), |file| Kept::File(Box::new(file)));
        Ok(Self { names, kept: Arc::new(Mutex::new(kept)) })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the changes, if they are here.
    pub fn take(&self) -> Option<Vec<Change>> {
        match &mut *self.kept() {
            Kept::Here(changes) => Some(std::mem::take(changes)),
            Kept::File(_) => None,
        }
    }

    /// Ends the file, if they go to one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&self) -> Result<Option<Done>> {
        let mut kept = self.kept();
        if let Kept::Here(_) = *kept {
            return Ok(None);
        }
        match std::mem::replace(&mut *kept, Kept::Here(Vec::new())) {
            Kept::File(file) => file.finish().map(Some),
            Kept::Here(_) => Ok(None),
        }
    }
}

impl Follower for History {
    fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()> {
        let change = (at, gauge as u32, value);
        match &mut *self.kept() {
            Kept::Here(changes) => changes.push(change),
            Kept::File(file) => file.add(change)?,
        }
        Ok(())
    }

    fn finish(&mut self, _: Time) -> Result<()> {
        Ok(())
    }
}
