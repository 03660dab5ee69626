//! What this crate's property tests share: a seed that can be replayed and random bytes.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Returns the seed of this run, from `PINION_TEST_SEED` or fixed, and prints how to replay it.
pub fn seed(test: &str) -> u64 {
    let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(0x5eed);
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-net {test}");
    seed
}

/// A small generator of random numbers.
#[derive(Clone)]
pub struct Random(Pcg64Mcg);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }
}
