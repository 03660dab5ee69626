//! One direction of a faulty link. In: frames in the order of their times. Out: those that arrive,
//! again in order. Holds frames until others have overtaken them, or a while has passed.

use std::collections::VecDeque;

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::FaultSpec;

/// Does to frames what a [`FaultSpec`] says.
#[derive(Debug, Clone)]
pub struct FaultLane {
    spec: FaultSpec,
    random: Pcg64Mcg,
    held: VecDeque<Held>,
    ready: VecDeque<(u64, Numbered)>,
    counts: FaultCounts,
}

#[derive(Debug, Clone)]
struct Numbered {
    /// Number of frames that were taken before it.
    number: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Held {
    /// Frames that still have to overtake it.
    left: u32,
    deadline_ps: u64,
    frame: Numbered,
}

/// Counts what a lane did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Frames taken.
    pub frames: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames that came twice.
    pub duplicated: u64,
    /// Frames that others were to overtake.
    pub reordered: u64,
    /// Frames with a flipped bit.
    pub corrupted: u64,
}

impl FaultLane {
    /// Makes a lane; lanes of one link differ in `stream`.
    pub fn new(spec: &FaultSpec, stream: u64) -> Self {
        let seed = spec.seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            spec: spec.clone(),
            random: Pcg64Mcg::seed_from_u64(seed),
            held: VecDeque::new(),
            ready: VecDeque::new(),
            counts: FaultCounts::default(),
        }
    }

    /// Takes a frame that comes at `now_ps`.
    pub fn push(&mut self, now_ps: u64, frame: &[u8]) {
        self.release_due(now_ps);
        let number = self.counts.frames;
        self.counts.frames += 1;
        // Always the same draws, so that one probability does not change what another one hits.
        let is_lost = self.happens(self.spec.loss);
        let is_repeated = self.happens(self.spec.duplicate);
        let is_late = self.happens(self.spec.reorder);
        let is_corrupt = self.happens(self.spec.corrupt);
        let (distance, place) = (self.random.next_u32(), self.random.next_u64());
        if is_lost {
            self.counts.lost += 1;
            return;
        }
        let mut bytes = frame.to_vec();
        if is_corrupt && !bytes.is_empty() {
            self.counts.corrupted += 1;
            let bit = place % (bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        let frame = Numbered { number, bytes };
        if is_repeated {
            self.counts.duplicated += 1;
            self.pass(now_ps, frame.clone());
        }
        if is_late {
            self.counts.reordered += 1;
            let left = 1 + distance % self.spec.distance;
            let deadline_ps = now_ps.saturating_add(self.spec.hold_ps);
            self.held.push_back(Held { left, deadline_ps, frame });
        } else {
            self.pass(now_ps, frame);
        }
    }

    /// Lets go what was held long enough.
    pub fn release_due(&mut self, now_ps: u64) {
        // All are held equally long: the first to come is the first due.
        while self.next_deadline_ps().is_some_and(|deadline_ps| deadline_ps <= now_ps) {
            let Some(held) = self.held.pop_front() else { return };
            self.ready.push_back((held.deadline_ps, held.frame));
        }
    }

    /// Lets go all that is held: no frame comes any more.
    pub fn finish(&mut self) {
        self.release_due(u64::MAX);
    }

    /// Gives when the next held frame goes on by itself.
    pub fn next_deadline_ps(&self) -> Option<u64> {
        self.held.front().map(|held| held.deadline_ps)
    }

    /// Takes the next frame that arrives, with its time.
    pub fn take(&mut self) -> Option<(u64, Vec<u8>)> {
        self.take_numbered().map(|(ps, _, bytes)| (ps, bytes))
    }

    /// Takes the next frame that arrives, with its time and the number of frames that were put in before
    /// it.
    pub fn take_numbered(&mut self) -> Option<(u64, u64, Vec<u8>)> {
        let (ps, Numbered { number, bytes }) = self.ready.pop_front()?;
        Some((ps, number, bytes))
    }

    /// Gives what the lane did so far.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// Counts the frames that it was given and nobody has taken yet.
    pub fn held(&self) -> usize {
        self.held.len() + self.ready.len()
    }

    /// Lets a frame through, and those behind it that it was the last to overtake.
    fn pass(&mut self, now_ps: u64, frame: Numbered) {
        self.ready.push_back((now_ps, frame));
        for held in &mut self.held {
            held.left -= 1;
            if held.left == 0 {
                let bytes = std::mem::take(&mut held.frame.bytes);
                self.ready.push_back((now_ps, Numbered { bytes, ..held.frame }));
            }
        }
        self.held.retain(|held| held.left > 0);
    }

    fn happens(&mut self, probability: f64) -> bool {
        // 53 random bits are a fraction that f64 holds exactly.
        let fraction = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        fraction < probability
    }
}

impl std::fmt::Display for FaultCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} frames: {} lost, {} repeated, {} overtaken, {} damaged",
            self.frames, self.lost, self.duplicated, self.reordered, self.corrupted
        )
    }
}
