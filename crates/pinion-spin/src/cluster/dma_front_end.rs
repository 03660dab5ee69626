//! The front end of a cluster's DMA engine: whose transfer goes to the engine.
//!
//! In: cores that launch a transfer, and the scheduler's packets. Out: one transfer in a cycle. Cores take turns
//! with each other and with the packets, and a core waits for its turn in the load that launches. (RTL:
//! pulp_cluster_frontend, whose rr_arb_tree has an input for each core, one for the cluster's public port, and one
//! for the scheduler.)

use std::collections::VecDeque;

use pinion_sim::arbiter::RoundRobin;

use super::Clusters;
use super::dma::Transfer;
use crate::Machine;
use crate::shared::Shared;
use crate::wake::{Due, Wake};

/// Chooses among a cluster's requesters.
#[derive(Clone, Debug)]
pub struct DmaTurns {
    order: RoundRobin,
    /// Who asks, a bit each: the cores, then the public port, then the scheduler.
    asking: u64,
    /// The scheduler's bit.
    packets_bit: u64,
    /// The scheduler's transfers that wait for their turn.
    packets: VecDeque<Transfer>,
    /// Cores that had their turn and have not launched, a bit each.
    turns: u64,
    /// First cycle in which nobody has had a turn.
    free_from: u64,
    /// When somebody has the next turn.
    pub wake: Wake,
}

impl DmaTurns {
    /// Makes one that nobody asks.
    pub fn new(machine: &Machine) -> Self {
        Self {
            order: RoundRobin::default(),
            asking: 0,
            packets_bit: 2 << machine.cluster.cores,
            packets: VecDeque::new(),
            turns: 0,
            free_from: 0,
            wake: Wake::default(),
        }
    }

    /// Takes a core's turn; `false`: it has had none.
    pub fn take(&mut self, core: u32) -> bool {
        let had = self.turns >> core & 1 == 1;
        self.turns &= !(1 << core);
        had
    }

    /// Forgets that a core, which was stopped, has asked for a turn, or had one.
    pub fn withdraw(&mut self, core: u32) {
        self.asking &= !(1 << core);
        self.turns &= !(1 << core);
    }

    /// Gives a packet's transfer back where nobody is before it in its cycle; else it waits.
    fn pass(&mut self, now: u64, transfer: Transfer) -> Option<Transfer> {
        if self.asking == 0 && self.free_from <= now {
            self.order.grant_word(self.packets_bit);
            self.free_from = now + 1;
            return Some(transfer);
        }
        self.asking |= self.packets_bit;
        self.packets.push_back(transfer);
        None
    }

    /// Gives the turn of a cycle to one of those who ask: a core, by its number, or a packet's transfer.
    fn grant(&mut self, now: u64) -> Option<Turn> {
        let bit = 1 << self.order.grant_word(self.asking)?;
        self.free_from = now + 1;
        if bit != self.packets_bit {
            self.asking &= !bit;
            self.turns |= bit;
            return Some(Turn::Core(bit.trailing_zeros()));
        }
        let transfer = self.packets.pop_front();
        if self.packets.is_empty() {
            self.asking &= !bit;
        }
        transfer.map(Turn::Packet)
    }
}

/// Says who has a turn.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Core(u32),
    Packet(Transfer),
}

impl Clusters {
    /// Lets a core ask for its turn to launch a transfer.
    pub fn ask_dma_turn(&mut self, shared: &mut Shared, now: u64, id: usize) {
        let (cluster, index) = (self.cores[id].cluster, self.cores[id].index);
        self.each[cluster as usize].dma_turns.asking |= 1 << index;
        self.wake_dma_turns(shared, now, cluster);
    }

    /// Copies a packet when its turn comes.
    #[inline]
    pub fn copy_packet(&mut self, shared: &mut Shared, now: u64, cluster: u32, transfer: Transfer) {
        match self.each[cluster as usize].dma_turns.pass(now, transfer) {
            Some(transfer) => self.request_dma(shared, now, cluster, transfer),
            None => self.wake_dma_turns(shared, now, cluster),
        }
    }

    fn wake_dma_turns(&mut self, shared: &mut Shared, now: u64, cluster: u32) {
        let turns = &mut self.each[cluster as usize].dma_turns;
        let at = now.max(turns.free_from);
        shared.wake(&mut turns.wake, at, Due::DmaTurn(cluster));
    }

    /// Gives somebody the turn of a cycle.
    pub fn dma_turn(&mut self, shared: &mut Shared, now: u64, cluster: u32) {
        let turns = &mut self.each[cluster as usize].dma_turns;
        if turns.free_from <= now {
            match turns.grant(now) {
                Some(Turn::Core(index)) => {
                    let id = self.core_id(cluster, index);
                    self.resume(shared, id, now);
                }
                Some(Turn::Packet(transfer)) => self.request_dma(shared, now, cluster, transfer),
                None => return,
            }
        }
        if self.each[cluster as usize].dma_turns.asking != 0 {
            self.wake_dma_turns(shared, now, cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::dma::{Requester, Route};
    use crate::testing::machine;

    fn packet() -> Transfer {
        let (from, to) = (0x1c40_0000, 0x1000_4400);
        Transfer { requester: Requester::Scheduler, from, to, bytes: 64, route: Route::FromL2 }
    }

    /// Gives whose turn each cycle is: a core's number, or that of the scheduler.
    fn turns(dma: &mut DmaTurns, from: u64) -> Vec<u32> {
        let scheduler = dma.packets_bit.trailing_zeros();
        let turn = |cycle| match dma.grant(cycle)? {
            Turn::Core(core) => Some(core),
            Turn::Packet(_) => Some(scheduler),
        };
        (from..).map_while(turn).collect()
    }

    /// RTL rr_arb_tree: after a packet the pointer is at 9, whose low bit leads to the odd one of a pair.
    #[test]
    fn cores_take_turns_behind_a_packet() {
        let mut dma = DmaTurns::new(&machine());
        assert!(dma.pass(10, packet()).is_some());
        dma.asking = 0xff;
        assert_eq!(turns(&mut dma, 11), [1, 0, 2, 3, 4, 5, 6, 7]);
        assert!((0..8).all(|core| dma.take(core)));
        assert!(!dma.take(0), "a turn is for one transfer");
    }

    #[test]
    fn a_packet_waits_for_cores_that_ask() {
        let mut dma = DmaTurns::new(&machine());
        dma.asking = 0b110;
        assert!(dma.pass(10, packet()).is_none());
        assert_eq!(turns(&mut dma, 10), [1, 2, 9]);
        assert!(dma.pass(12, packet()).is_none(), "the turn of this cycle was given");
        assert_eq!(turns(&mut dma, 13), [9]);
    }
}
