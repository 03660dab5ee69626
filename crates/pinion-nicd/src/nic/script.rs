//! A recorded run of a NIC with host programs, to be done again: what comes in, slice by slice, and what
//! programs did in between. Holds what of the present slice was not done yet.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use pinion_app::error::Result;
use pinion_app::tape::Played;
use pinion_host::News;
use pinion_run::live::Outside;
use pinion_sim::Time;

use super::deed::{Bytes, Deed};

/// Lets frames wait as long as it takes: those that were taken are taken.
pub const PATIENCE: Duration = Duration::MAX;

/// What comes.
pub struct Script {
    played: Played,
    /// What programs do before the present slice.
    deeds: VecDeque<Deed>,
    /// What they write during it.
    news: Vec<News>,
}

impl Script {
    /// Opens the tape of a folder.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let played = Played::open(folder)?;
        let mut script = Self { played, deeds: VecDeque::new(), news: Vec::new() };
        script.enter()?;
        Ok(script)
    }

    /// Reads what programs do in the present slice.
    fn enter(&mut self) -> Result<()> {
        for line in self.played.host() {
            match Deed::read(&line)? {
                Deed::Wrote { read, address, bytes: Bytes(bytes) } => {
                    self.news.push(News { read, address, bytes });
                }
                deed => self.deeds.push_back(deed),
            }
        }
        Ok(())
    }

    /// Takes what a program does next, if it does it before the next slice.
    pub fn deed(&mut self) -> Option<Deed> {
        self.deeds.pop_front()
    }

    /// Takes that packets did not leave in time, if they did not.
    pub fn takes_stay(&mut self) -> bool {
        let stays = self.deeds.front() == Some(&Deed::Stayed);
        stays && self.deeds.pop_front().is_some()
    }

    /// Says whether a slice is next.
    pub fn has_slice(&self) -> bool {
        self.deeds.is_empty() && self.played.until().is_some()
    }

    /// Lets the next slice's frames wait outside; gives what programs write during it, and its end.
    ///
    /// # Errors
    /// When the recording is damaged.
    pub fn slice(&mut self, outside: &mut Outside) -> Result<Option<(Vec<News>, Time)>> {
        let Some(until) = self.played.until().filter(|_| self.deeds.is_empty()) else {
            return Ok(None);
        };
        while let Some((arrival, frame)) = self.played.frame()? {
            outside.queue.push(&frame, arrival);
        }
        Ok(Some((std::mem::take(&mut self.news), Time::from_ps(until))))
    }

    /// Goes on behind a slice.
    ///
    /// # Errors
    /// When the recording is damaged.
    pub fn turn(&mut self) -> Result<()> {
        self.played.turn();
        self.enter()
    }
}
