//! Lets blocks of hardware take every cycle, while the node goes from event to event.

use pinion_sim::block::Block;

use super::Node;
use crate::Cycle;
use crate::core::{Activity, interrupts};
use crate::hardware::{
    EgressSeat, GeneratorSeat, IngressSeat, JbsqSeat, PATIENCE_CYCLES, PacketizationSeat, Placed,
    QueuesSeat, ReassemblySeat, RegistersSeat, SchedulerSeat, TimersSeat, Unit,
};
use crate::machine::node::Machine;

/// Says why a node stopped whose block went wrong.
pub(super) const STOPPED: &str = "a block of hardware went wrong";

/// Says whether a node has blocks, and since when nothing but they could do something.
#[derive(Debug, Default)]
pub(super) struct Loop {
    pub has_blocks: bool,
    active: Cycle,
}

impl Clone for Loop {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Node {
    /// Puts blocks into the places of a unit, or beside it, before anything has happened; there are as many
    /// as [`Unit::count`] says.
    pub fn set_hardware(
        &mut self,
        unit: Unit,
        blocks: Vec<Box<dyn Block>>,
        compares: bool,
        machine: &Machine,
    ) {
        self.hardware.has_blocks = true;
        for (hart, block) in (0..).zip(blocks) {
            match unit {
                Unit::Jbsq => self.receive.set_jbsq(JbsqSeat::new(block, compares, machine)),
                Unit::Reassembly => {
                    self.receive.set_reassembly(ReassemblySeat::new(block, compares, machine));
                }
                Unit::Timers => self.transmit.set_timers(TimersSeat::new(block, compares, machine)),
                Unit::PacketGenerator => {
                    self.transmit.set_generator(GeneratorSeat::new(block, compares, machine));
                }
                Unit::Packetization => {
                    let seat = PacketizationSeat::new(block, compares, machine);
                    self.transmit.set_packetization(seat);
                }
                Unit::NdpIngress => self.receive.set_ingress(IngressSeat::new(block, machine)),
                Unit::NdpEgress => {
                    let names = self.transmit.names();
                    self.transmit.set_egress(EgressSeat::new(block, machine, names));
                }
                Unit::RegisterInterface => {
                    let seat = RegistersSeat::new(block, compares, machine, hart);
                    self.interfaces[usize::from(hart)].set_registers(seat);
                }
                Unit::LocalQueues => {
                    let seat = QueuesSeat::new(block, compares, machine, hart);
                    self.interfaces[usize::from(hart)].set_queues(seat);
                }
                Unit::ThreadScheduler => {
                    let seat = SchedulerSeat::new(block, compares, machine, hart);
                    self.interfaces[usize::from(hart)].set_hardware(seat);
                }
            }
        }
    }

    /// Tells why a block has ended the run, if one has.
    pub fn hardware_failure(&self) -> Option<&str> {
        if !self.hardware.has_blocks {
            return None;
        }
        self.blocks().find_map(Placed::failure)
    }

    /// Gives the blocks.
    fn blocks(&self) -> impl Iterator<Item = &dyn Placed> {
        let interfaces = self.interfaces.iter().flat_map(|interface| interface.blocks());
        self.receive.blocks().chain(interfaces).chain(self.transmit.blocks())
    }

    /// Describes the blocks and what they have not answered.
    pub fn describe_hardware(&self) -> Vec<String> {
        self.blocks().map(Placed::describe).collect()
    }

    /// Lets the blocks take the cycles before `limit` of which everything is known.
    pub(super) fn clock_hardware(&mut self, limit: Cycle) {
        if !self.hardware.has_blocks {
            return;
        }
        for index in 0..self.cores.len() {
            let Some((begun, compares)) = self.interfaces[index].hardware_cycle() else {
                continue;
            };
            if let Some(key) = self.cores[index].key() {
                self.hardware.active = key;
                self.interfaces[index].clock_hardware(key.min(limit));
            } else if compares {
                let wakes = self.wake_cycle(index).unwrap_or(Cycle::MAX);
                self.interfaces[index].clock_hardware(limit.min(wakes));
            } else {
                // Nobody knows when it raises the line.
                let limit = limit.min(begun + PATIENCE_CYCLES);
                for cycle in begun..limit {
                    if self.wake_cycle(index).is_some_and(|wakes| wakes <= cycle) {
                        break;
                    }
                    self.interfaces[index].clock_hardware(cycle + 1);
                }
            }
        }
    }

    /// Says whether no block will raise an interrupt that a hart waits for, should nothing else happen.
    pub(super) fn hardware_rests(&self, now: Cycle) -> bool {
        let waits = (0..self.cores.len()).any(|hart| {
            let has_block = self.interfaces[hart].hardware().is_some_and(|seat| !seat.compares());
            let core = &self.cores[hart];
            let is_waiting = matches!(core.activity, Activity::Waiting { .. });
            has_block && is_waiting && core.enabled_interrupts() & interrupts::NETWORK != 0
        });
        !waits || now >= self.hardware.active + PATIENCE_CYCLES
    }
}
