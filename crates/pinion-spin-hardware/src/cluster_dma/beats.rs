//! When the block of a cluster's DMA engine can begin a beat: one a cycle, and where two that are under way would meet at
//! a port, later. The model counts whole transfers, and has these waits only in part.

use super::ports::SOURCE_SWITCH_CYCLES;
use crate::lines::{HANDLER, PACKET, WINDOW_SHIFT};

/// The window in which each cluster has its own L1 again.
const ALIAS: u32 = 0x1b00_0000 >> WINDOW_SHIFT;
/// Cycles behind the last beat of a read of L2 in which it counts as under way, and how many may be so.
const ENDED_CYCLES: u64 = 3;
/// Cycles for which a beat keeps off those of the other one of L2's memories.
const OTHER_CYCLES: u64 = 8;
/// Cycles from a beat that is written to L1 to that in which none that is read there may begin.
const MEETS_CYCLES: u64 = 2;

/// Names what an address leads to, for one cluster's engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Where it does not reach.
    #[default]
    Nowhere,
    /// Its cluster's L1.
    L1,
    /// Handlers' memory in L2.
    Handler,
    /// Packets' memory in L2.
    Packet,
}

impl Side {
    /// Finds where an address' window leads from the cluster whose L1 has the window `own`.
    pub const fn of(window: u32, own: u32) -> Self {
        match window {
            _ if window == own => Self::L1,
            ALIAS => Self::L1,
            HANDLER => Self::Handler,
            PACKET => Self::Packet,
            _ => Self::Nowhere,
        }
    }

    /// Says whether it is in L2.
    pub const fn is_l2(self) -> bool {
        matches!(self, Self::Handler | Self::Packet)
    }

    /// Says whether the engine reaches it.
    pub const fn is_there(self) -> bool {
        !matches!(self, Self::Nowhere)
    }

    /// Gives its bit in ports that have one for each of L2's memories.
    pub const fn l2_bit(self) -> u64 {
        match self {
            Self::Handler => 1,
            Self::Packet => 2,
            Self::Nowhere | Self::L1 => 0,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Handler => Self::Packet,
            _ => Self::Handler,
        }
    }
}

/// Remembers the last beats.
#[derive(Clone, Debug, Default)]
pub struct Beats {
    /// Cycle from which the next one can begin.
    from: u64,
    /// When the last two began that are written to L1, the last first.
    into_l1: [Option<u64>; 2],
    /// When the last ones of the last two reads of L2 began, the last first.
    ended: [Option<u64>; 2],
    /// When the last one began that reads handlers' memory, and packets'.
    read: [Option<u64>; 2],
}

impl Beats {
    /// Begins a beat from a side to another, not before a cycle; gives when. `is_first`: a read of L2 begins with it.
    pub fn begin(&mut self, earliest: u64, (source, target): (Side, Side), is_first: bool) -> u64 {
        let mut at = self.from.max(earliest);
        if source.is_l2() {
            if let Some(other) = self.read[index(source.other())] {
                at = at.max(other + OTHER_CYCLES + 1);
            }
            if let Some(before) = self.ended[1]
                && is_first
            {
                at = at.max(before + ENDED_CYCLES + 1);
            }
        }
        if source == Side::L1
            && let Some(last) = self.read.into_iter().flatten().max()
        {
            at = at.max(last + SOURCE_SWITCH_CYCLES + 1);
        }
        while source == Side::L1 && self.into_l1.contains(&Some(at.wrapping_sub(MEETS_CYCLES))) {
            at += 1;
        }
        if target == Side::L1 {
            self.into_l1 = [Some(at), self.into_l1[0]];
        }
        if source.is_l2() {
            self.read[index(source)] = Some(at);
        }
        self.from = at + 1;
        at
    }

    /// Notes that a read of L2 ends with the beat that began in a cycle.
    pub fn end_read(&mut self, at: u64) {
        self.ended = [Some(at), self.ended[0]];
    }

    /// Ends a transfer of so many beats.
    pub fn end(&mut self, beats: u32, of_l2: bool) {
        self.from += u64::from(beats == 1 || (beats == 2 && !of_l2));
    }
}

const fn index(side: Side) -> usize {
    matches!(side, Side::Packet) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(beats: &mut Beats, count: usize, sides: (Side, Side)) -> Vec<u64> {
        (0..count).map(|beat| beats.begin(10, sides, beat == 0)).collect()
    }

    #[test]
    fn beats_keep_each_other_waiting() {
        let mut beats = Beats::default();
        assert_eq!(begins(&mut beats, 4, (Side::L1, Side::L1)), [10, 11, 14, 15]);
        assert_eq!(begins(&mut beats, 2, (Side::Packet, Side::L1)), [16, 17]);
        beats.end_read(17);
        beats.end(2, true);
        assert_eq!(begins(&mut beats, 1, (Side::L1, Side::Packet)), [25]);
        beats.end(1, false);
        assert_eq!(begins(&mut beats, 1, (Side::Handler, Side::L1)), [27]);
    }
}
