//! Quantities of units that change over time: queues, buffers, transfers, links, what each hart works at.
//! In: what a machine's units say. Out: every change of every quantity, in order of time.
//!
//! | part | file |
//! |---|---|
//! | what a sPIN NIC has, a nanoPU, a network | `nic.rs`, `nano.rs`, `network.rs` |
//! | from events in any order to changes in order | `timeline.rs` |
//! | between a run and who follows | `gauged.rs` |
//! | who follows: a chart and a table, a VCD file, what there is in a moment | `occupancy.rs`, `vcd.rs`, `held.rs` |
//!
//! A gauge is named by its unit, as a node tells its state: `cluster.0`, `tasks`.

mod gauged;
mod held;
mod nano;
mod network;
mod nic;
mod occupancy;
mod timeline;
mod vcd;

use pinion_sim::Time;

pub use gauged::Gauged;
pub use held::Held;
pub use nano::{CHARTS as NANO_CHARTS, NanoGauges};
pub use network::NetworkGauges;
pub use nic::{CHARTS as NIC_CHARTS, NicGauges};
pub use occupancy::{Chart, Occupancy, Scale};
pub use timeline::{Change, Feed, Follower, Sink, Step, Timeline};
pub use vcd::Vcd;

/// Bits of a number of packets, bytes or the like that are inside at one time.
const LEVEL_BITS: u32 = 32;
/// Bits of what is counted from the run's beginning, and of a packet's or message's number.
const COUNT_BITS: u32 = 64;

/// A quantity of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// The unit, with dots between it and those it is part of.
    pub unit: String,
    /// Its name there.
    pub name: String,
    /// Bits that hold it.
    pub bits: u32,
    /// Number of the chart that it is part of, among its machine's.
    pub chart: Option<usize>,
    /// Whether it has no value at first, rather than 0.
    pub is_label: bool,
}

/// Number of a gauge among its machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u32);

/// Holds a machine's gauges, and the changes that nobody has taken yet.
#[derive(Debug, Default)]
pub struct Meter {
    gauges: Vec<Gauge>,
    changes: Vec<Change>,
}

impl Meter {
    /// Adds something that is inside: how many of it there are.
    fn level(&mut self, unit: &str, name: &str, chart: Option<usize>) -> Id {
        self.add(unit, name, (LEVEL_BITS, chart, false))
    }

    /// Adds something that is so or not.
    fn flag(&mut self, unit: &str, name: &str, chart: Option<usize>) -> Id {
        self.add(unit, name, (1, chart, false))
    }

    /// Adds something that is counted from the run's beginning.
    fn count(&mut self, unit: &str, name: &str, chart: Option<usize>) -> Id {
        self.add(unit, name, (COUNT_BITS, chart, false))
    }

    /// Adds a number that names something, while there is something.
    fn label(&mut self, unit: &str, name: &str) -> Id {
        self.add(unit, name, (COUNT_BITS, None, true))
    }

    fn add(
        &mut self,
        unit: &str,
        name: &str,
        (bits, chart, is_label): (u32, Option<usize>, bool),
    ) -> Id {
        let (unit, name) = (unit.to_owned(), name.to_owned());
        self.gauges.push(Gauge { unit, name, bits, chart, is_label });
        Id(self.gauges.len() as u32 - 1)
    }

    /// Changes a gauge by a number.
    fn by(&mut self, at: Time, Id(gauge): Id, number: i64) {
        self.changes.push(Change { at, gauge, step: Step::By(number) });
    }

    /// Gives a gauge another value, or none.
    fn set(&mut self, at: Time, Id(gauge): Id, value: Option<u64>) {
        self.changes.push(Change { at, gauge, step: Step::To(value) });
    }

    /// Lists the gauges.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }
}

/// Hears a machine, and keeps its gauges.
pub trait Gauges {
    /// Gives the gauges.
    fn meter(&mut self) -> &mut Meter;

    /// Gives the gauges, to be read.
    fn gauges(&self) -> &[Gauge];

    /// Hears that nothing before a time comes any more.
    fn settle(&mut self, _until: Time) {}

    /// Puts ears in front of who follows them.
    fn followed<F: Follower>(self, follower: F) -> Gauged<Self, Timeline<F>>
    where
        Self: Sized,
    {
        let timeline = Timeline::new(self.gauges(), follower);
        Gauged::new(self, timeline)
    }

    /// Hands over what has changed.
    fn hand_over(&mut self, sink: &mut impl Sink) {
        sink.take(&mut self.meter().changes);
    }
}
