//! A block of hardware in the place of a unit, or beside it, one cycle after the other.
//!
//! In: what a unit is told in a cycle, by port. Out: what it says. Whoever simulates hardware (Verilator,
//! in `pinion-hardware`) implements [`Block`]; a unit that hardware can stand for has an adapter
//! that knows its ports.

use std::fmt::Debug;

/// Names a port of a block, as the unit's adapter needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: &'static str,
    /// How many bits it has, up to 64.
    pub bits: u32,
    /// Whether it leads into the block.
    pub is_input: bool,
}

impl Port {
    /// Makes a port into the block.
    pub const fn input(name: &'static str, bits: u32) -> Self {
        Self { name, bits, is_input: true }
    }

    /// Makes a port out of the block.
    pub const fn output(name: &'static str, bits: u32) -> Self {
        Self { name, bits, is_input: false }
    }
}

/// Gives the bits that tell so many things apart (SystemVerilog: `$clog2`), at least one.
pub fn bits_for(count: u64) -> u32 {
    (64 - count.saturating_sub(1).leading_zeros()).max(1)
}

/// Is simulated cycle by cycle. Ports go by their place in the adapter's list; clock and reset are the
/// block's own affair.
pub trait Block: Debug + Send + Sync {
    /// Gives an input a value, which it keeps.
    fn put(&mut self, port: usize, value: u64);

    /// Gives the value of an output in this cycle, as the inputs are now.
    fn get(&mut self, port: usize) -> u64;

    /// Wants an output to have a value when this cycle ends.
    fn expect(&mut self, port: usize, value: u64);

    /// Ends the cycle: compares what was expected, and lets the clock tick.
    ///
    /// # Errors
    /// With what differs, or what the block stopped with.
    fn end_cycle(&mut self) -> Result<(), String>;

    /// Names the block, its ports and its state as they are, and writes the cycles before to a file;
    /// tells what was asked of it and is not answered.
    fn describe(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_clog2() {
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 256, 257, 1 << 32].map(bits_for),
            [1, 1, 1, 2, 2, 3, 8, 9, 32]
        );
    }
}
