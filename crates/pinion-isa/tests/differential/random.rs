//! Random numbers, so that a seed alone replays a run.

use pinion_sim::random::SplitMix64;

/// Holds the generator's state.
pub struct Random(SplitMix64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Gives 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.draw()
    }

    /// Gives 32 random bits.
    pub fn word(&mut self) -> u32 {
        self.bits() as u32
    }

    /// Gives a number below `limit`.
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(limit)) >> 32) as u32
    }

    /// Gives a number from `low` to `high`, both included.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u32) as i32
    }

    /// Says yes once in `times` times.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// Picks one of several values.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }
}
