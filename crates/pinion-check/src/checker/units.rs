//! The checker of a NIC: each of its units has memories, harts and messages of its own, so each is
//! checked by itself.

use std::sync::Arc;

use pinion_app::app::App;
use pinion_isa::Extensions;
use pinion_observe::trace::Tracer;
use pinion_spin::{Event, Hears, Interest, Spin};

use super::Unit;
use crate::lines::Lines;

/// What handlers' programs are made of.
const CODE: Extensions = Extensions::PSPIN.with(Extensions::XPULP);

/// Hears a run and finds what is wrong with its handlers' memory.
pub struct Checker {
    pub(super) units: Vec<Unit>,
    /// Clusters of a unit.
    clusters: u32,
}

impl Checker {
    /// Makes a checker of an application.
    pub fn new(app: &App) -> Self {
        Self::with_lines(app, &Arc::new(Self::lines(app)))
    }

    /// Reads what the lines of an application's program say.
    pub fn lines(app: &App) -> Lines {
        Lines::of(&app.image, &app.built.elf, CODE)
    }

    /// Makes a checker of an application whose lines were read.
    pub fn with_lines(app: &App, lines: &Arc<Lines>) -> Self {
        let machine = &app.machine.value;
        let units = 0..machine.units.count.max(1);
        let units = units.map(|number| Unit::new(app, number, Arc::clone(lines)));
        Self { units: units.collect(), clusters: machine.cluster.count }
    }

    /// Gives the unit that has a cluster.
    #[inline]
    fn with_cluster(&mut self, cluster: u32) -> &mut Unit {
        match &mut self.units[..] {
            [unit] => unit,
            units => &mut units[(cluster / self.clusters) as usize],
        }
    }

    /// Gives the unit that has a packet: packets are numbered in turns.
    fn with_packet(&mut self, packet: u64) -> &mut Unit {
        let units = self.units.len() as u64;
        &mut self.units[(packet % units) as usize]
    }
}

impl Hears<Spin> for Checker {
    fn interest(&self) -> Interest {
        Interest { handlers: true, units: true, instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::Instruction(record) => self.with_cluster(record.cluster).instruction(record),
            Event::HandlerStarted { cluster, hpu, task, ref place, .. } => {
                let unit = self.with_cluster(cluster);
                unit.task_begins(unit.id(cluster, hpu), task, *place);
            }
            Event::HandlerDone(record) => self.with_cluster(record.cluster).task_ends(record),
            Event::PacketTaken { record, address } => {
                self.with_packet(record.packet).packet_taken(record, address);
            }
            Event::Transfer(transfer) if transfer.hpu.is_none() => {
                let unit = self.with_cluster(transfer.cluster);
                unit.packet_copied(transfer.from, transfer.to, transfer.bytes);
            }
            Event::PacketDone(record) => self.with_packet(record.packet).packet_done(record),
            _ => {}
        }
    }
}

impl Tracer for Checker {}
