//! Messages that go to a file as they are done. In: what nodes' logs have of messages that nothing more happens
//! to. Out: rows in order of the time at which each was done, then those that never were.

use pinion_app::Result;
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_net::fabric::Journal;
use pinion_net::topology::Place;
use pinion_observe::settling::Settling;
use pinion_run::cluster::{ClusterGauges, NetworkTracer};
use pinion_sim::probe::Hears;
use pinion_sim::{Clock, Time};

use crate::messages::{Log, Message};
use crate::queues::History;
use crate::written::{Done, Written};

/// Writes the messages of nodes.
pub struct Drain {
    logs: Vec<Log>,
    /// Those that are done and not yet written: when, and the node's place among the logs.
    done: Vec<(Time, usize, Message)>,
    written: Written<Message>,
}

impl Drain {
    /// Writes what these logs have, which keep it no longer.
    pub fn new(logs: Vec<Log>, written: Written<Message>) -> Self {
        let logs = logs.into_iter().map(Log::drained).collect();
        Self { logs, done: Vec::new(), written }
    }

    /// Writes what was done before a time, of which no log hears any more.
    fn write_before(&mut self, before: Time) -> Result<()> {
        for (node, log) in self.logs.iter().enumerate() {
            self.done.extend(log.take_done().into_iter().map(|(at, message)| (at, node, message)));
        }
        self.done.sort_by_key(|(at, node, _)| (*at, *node));
        let count = self.done.partition_point(|(at, ..)| *at < before);
        self.done.drain(..count).try_for_each(|(_, _, message)| self.written.add(message))
    }

    /// Writes what is left, and ends the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<Done> {
        self.write_before(Time::MAX)?;
        for log in &self.logs {
            for message in log.take_open() {
                self.written.add(message)?;
            }
        }
        self.written.finish()
    }
}

/// Hears a nanoservice's node, and writes its messages.
impl Hears<NanoPu> for Drain {
    fn interest(&self) -> Retirements {
        self.logs.first().map(Hears::interest).unwrap_or_default()
    }

    fn hear(&mut self, told: &Told<'_>) {
        self.logs.iter_mut().for_each(|log| log.hear(told));
    }
}

impl Settling for Drain {
    fn settle(&mut self, cycle: u64) -> Result<()> {
        self.logs.iter_mut().try_for_each(|log| log.settle(cycle))?;
        // A node alone tells of its messages in order.
        self.write_before(Time::MAX)
    }
}

/// Writes a cluster's messages window by window, whose nodes are heard on several threads.
pub struct Windows<'d> {
    /// Who writes.
    pub drain: Option<&'d mut Drain>,
    /// The network's clock.
    pub clock: Clock,
    /// Who follows what units hold.
    pub gauges: Option<ClusterGauges<History>>,
}

impl NetworkTracer for Windows<'_> {
    fn passed(&mut self, place: Place, journal: &Journal) {
        if let Some(gauges) = &mut self.gauges {
            gauges.passed(place, journal);
        }
    }

    fn settle(&mut self, now: u64) -> Result<()> {
        if let Some(drain) = &mut self.drain {
            drain.write_before(self.clock.time(now))?;
        }
        self.gauges.as_mut().map_or(Ok(()), |gauges| gauges.settle(now))
    }

    fn finish(&mut self) -> Result<()> {
        self.gauges.as_mut().map_or(Ok(()), NetworkTracer::finish)
    }
}
