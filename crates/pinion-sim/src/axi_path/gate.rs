//! A remapper of ids: it lets requests pass, and holds those that are not taken.

use super::MOST_OPEN;

/// Says what came of a request in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// There was none.
    None,
    /// It waits.
    Waits,
    /// It was taken.
    Taken,
}

/// Says which requests a remapper holds: one that it let pass and nobody took. As long as it holds one
/// of a kind only, it lets none of the other pass. (RTL: axi_id_remap, states Ready, HoldAR, HoldAW,
/// HoldAx.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// Of reads and writes.
    holds: [bool; 2],
}

impl Gate {
    /// Index of reads.
    pub const READ: usize = 0;
    /// Index of writes.
    pub const WRITE: usize = 1;

    /// Gives the gate after a cycle.
    pub fn after(read: Offer, write: Offer) -> Self {
        Self { holds: [read == Offer::Waits, write == Offer::Waits] }
    }

    fn holds(self, kind: usize) -> bool {
        self.holds[kind]
    }

    fn lets(self, kind: usize) -> bool {
        self.holds[kind] || !self.holds[1 - kind]
    }
}

/// Says how far a request comes in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// Past each of the two gates.
    past: [bool; 2],
    /// Whether it is past the second for the first time.
    pub is_new_behind_second: bool,
    /// Whether it stands in front of its memory.
    pub reaches_memory: bool,
}

impl Admission {
    /// Takes a request of a kind, of whose id so many are open, and whether the demultiplexer lets it
    /// pass.
    pub fn new(gates: [Gate; 2], kind: usize, open: u8, is_bound: bool) -> Self {
        let first = gates[0].lets(kind);
        let is_held = gates[1].holds(kind);
        let second = first && gates[1].lets(kind) && (is_held || open < MOST_OPEN);
        Self {
            past: [first, second],
            is_new_behind_second: second && !is_held,
            reaches_memory: second && is_bound,
        }
    }

    /// Gives what each of the gates offered.
    pub fn offers(self, is_taken: bool) -> [Offer; 2] {
        self.past.map(|past| match (past, is_taken) {
            (false, _) => Offer::None,
            (true, false) => Offer::Waits,
            (true, true) => Offer::Taken,
        })
    }
}
