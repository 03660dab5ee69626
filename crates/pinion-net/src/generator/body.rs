//! Fills frames behind their headers. In: what to fill them with and a frame's number. Out: bytes.
//! Holds the payload's random stream.
//!
//! The Zipf distribution is rand_distr's without the standard library's mathematics, so a seed gives
//! the same keys on every host.

use super::{Payload, Ycsb};
use rand_core::{Rng as _, SeedableRng as _};
use rand_distr::{Distribution as _, Zipf};
use rand_pcg::Pcg64Mcg;

/// Sets the payload's random stream apart from the sizes'.
const PAYLOAD_STREAM: u64 = 0x7061_796c_6f61_6400;
/// Scatters keys: the odd number next to 2³² divided by the golden ratio.
const SCATTER: u32 = 0x9e37_79b1;

/// Fills frames.
pub(super) struct Body {
    payload: Payload,
    random: Pcg64Mcg,
    /// Draws ranks of keys.
    zipf: Option<Zipf<f64>>,
}

impl Body {
    pub(super) fn new(payload: Payload, seed: u64) -> Self {
        let zipf = match payload {
            // An exponent the distribution refuses is never read from text; all keys are then
            // alike.
            Payload::Ycsb(ycsb) => Zipf::new(f64::from(ycsb.records), ycsb.theta).ok(),
            _ => None,
        };
        Self { payload, random: Pcg64Mcg::seed_from_u64(seed ^ PAYLOAD_STREAM), zipf }
    }

    /// Fills the body of frame number `frame`.
    pub(super) fn fill(&mut self, bytes: &mut [u8], frame: u64) {
        match self.payload {
            Payload::Zero => bytes.fill(0),
            Payload::Random => self.random.fill_bytes(bytes),
            Payload::Ramp => {
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = i as u8;
                }
            }
            Payload::Integers { below } => {
                for word in bytes.chunks_mut(4) {
                    let number = self.below(below).to_le_bytes();
                    word.copy_from_slice(&number[..word.len()]);
                }
            }
            Payload::Ycsb(ycsb) => self.request(bytes, &ycsb, frame),
        }
    }

    /// Writes a request as far as the frame has room for it.
    fn request(&mut self, bytes: &mut [u8], ycsb: &Ycsb, frame: u64) {
        let rank = match &self.zipf {
            Some(zipf) => zipf.sample(&mut self.random) as u32 - 1,
            None => 0,
        };
        let unit = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let operation = u32::from(unit >= ycsb.reads);
        let words = [frame as u32, key_of_rank(rank), operation, self.random.next_u32()];
        bytes.fill(0);
        for (bytes, word) in bytes.chunks_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }

    /// Draws a number below a bound.
    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.random.next_u32()) * u64::from(bound)) >> 32) as u32
    }
}

/// Gives the key of a rank of popularity, 0 the most popular: each has its own, and none is 0.
pub fn key_of_rank(rank: u32) -> u32 {
    rank.wrapping_add(1).wrapping_mul(SCATTER)
}
