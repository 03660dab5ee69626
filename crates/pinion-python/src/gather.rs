//! Messages to packet handlers that go to a file as they are done. In: what a sPIN NIC says of packets while it runs.
//! Out: rows in order of the time at which each was done, then those that never were.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use pinion_app::Result;
use pinion_observe::trace::Tracer;
use pinion_sim::Time;
use pinion_sim::probe::Hears;
use pinion_spin::listener::{DropReason, UnitEvent, UnitEventKind};
use pinion_spin::{Event, Interest, PacketRecord, Spin};

use crate::flows::{Flow, Parts, Taken, taken};
use crate::table::Table;
use crate::written::{Done, Written};

/// Writes messages to a file as they are done.
pub struct Flows {
    parts: Parts,
    /// Packets in the packet buffer that the scheduler has not taken, in the order of their arrival.
    waiting: VecDeque<Taken>,
    /// The number that comes next, and packets that are through before one in front of them: where only these
    /// are told.
    order: (u64, BTreeMap<u64, PacketRecord>),
    written: Written<Flow>,
    error: Option<pinion_app::Error>,
}

impl Flows {
    /// Begins the file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(folder: &Path, contexts: Vec<String>) -> Result<Self> {
        let table = move |rows: &[Flow]| Table::of_flows(rows, &contexts);
        Ok(Self {
            parts: Parts::default(),
            waiting: VecDeque::new(),
            order: (0, BTreeMap::new()),
            written: Written::begin(folder, "messages", table)?,
            error: None,
        })
    }

    /// Takes a packet that is through, of an engine that tells of nothing else; none is left out.
    ///
    /// # Errors
    /// When its message is done, and cannot be written.
    pub fn packet(&mut self, record: &PacketRecord) -> Result<()> {
        self.order.1.insert(record.packet, record.clone());
        while let Some(record) = self.order.1.remove(&self.order.0) {
            self.order.0 += 1;
            self.next(&record)?;
        }
        Ok(())
    }

    fn next(&mut self, record: &PacketRecord) -> Result<()> {
        self.parts.begin(taken(record));
        self.end(record)
    }

    fn end(&mut self, record: &PacketRecord) -> Result<()> {
        self.parts.end(record).map_or(Ok(()), |flow| self.written.add(flow))
    }

    /// Writes what is left, and ends the file.
    ///
    /// # Errors
    /// When something could not be written, now or before.
    pub fn finish(mut self) -> Result<Done> {
        // Behind a packet that was never through.
        for record in std::mem::take(&mut self.order.1).into_values() {
            self.next(&record)?;
        }
        self.error.take().map_or(Ok(()), Err)?;
        self.parts.take_rest().try_for_each(|flow| self.written.add(flow))?;
        self.written.finish()
    }
}

impl Hears<Spin> for Flows {
    fn interest(&self) -> Interest {
        Interest { units: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::PacketTaken { record, .. } => self.waiting.push_back(taken(record)),
            Event::Unit(UnitEvent { kind: UnitEventKind::HerIn, .. }) => {
                self.waiting.pop_front().into_iter().for_each(|taken| self.parts.begin(taken));
            }
            // The one whose turn it was.
            Event::Dropped { reason: DropReason::NoQueue, .. } => {
                self.waiting.pop_front();
            }
            Event::PacketDone(record) if self.error.is_none() => {
                self.error = self.end(record).err();
            }
            _ => {}
        }
    }
}

impl Tracer for Flows {
    fn settle(&mut self, _: Time) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}
