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
    /// How many bits it has.
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

/// Cycles that blocks are given to answer when nothing else goes on in their machine.
pub const PATIENCE_CYCLES: u64 = 100_000;

/// Says what a unit needs of a block that stands for it.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Its ports, in the order in which the adapter counts them.
    pub ports: Vec<Port>,
    /// Its parameters.
    pub parameters: Vec<(&'static str, u64)>,
}

/// Refuses a number of the machine that is no power of two from `least` on: addresses are made of it.
///
/// # Errors
/// With the number, and the next one that is.
pub fn power_of_two(key: &str, value: u32, least: u32) -> Result<u64, String> {
    if value >= least && value.is_power_of_two() {
        return Ok(u64::from(value));
    }
    let next = value.max(least).next_power_of_two();
    Err(format!(
        "{key} is {value}; the block takes powers of two from {least} on: --set {key}={next}"
    ))
}

/// Gives the bits that tell so many things apart (SystemVerilog: `$clog2`), at least one.
pub fn bits_for(count: u64) -> u32 {
    (64 - count.saturating_sub(1).leading_zeros()).max(1)
}

/// Is simulated cycle by cycle. Ports go by their place in the adapter's list; clock and reset are the
/// block's own affair.
pub trait Block: Debug + Send + Sync {
    /// Gives an input of up to 64 bits a value, which it keeps.
    fn put(&mut self, port: usize, value: u64);

    /// Gives 32 bits of an input of any size their value, the lowest being word 0.
    fn put_word(&mut self, port: usize, word: usize, value: u32);

    /// Gives an input of any size the values of its words of 32 bits, the lowest first.
    fn put_words(&mut self, port: usize, words: &[u32]) {
        for (word, value) in words.iter().enumerate() {
            self.put_word(port, word, *value);
        }
    }

    /// Gives the value of an output in this cycle, as the inputs are now.
    fn get(&mut self, port: usize) -> u64;

    /// Wants an output to have a value when this cycle ends.
    fn expect(&mut self, port: usize, value: u64);

    /// Wants 32 bits of an output of any size to have a value when this cycle ends, the lowest being word 0.
    fn expect_word(&mut self, port: usize, word: usize, value: u32);

    /// Wants words of 32 bits of an output to have values when this cycle ends, the lowest first.
    fn expect_words(&mut self, port: usize, words: &[u32]) {
        for (word, value) in words.iter().enumerate() {
            self.expect_word(port, word, *value);
        }
    }

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
