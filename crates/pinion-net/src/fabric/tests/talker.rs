//! A node that talks: it sends frames to others at odd times, answers some of those it hears, and
//! writes down all it hears.

use std::collections::BTreeSet;

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};

use super::*;

/// Bytes of an Ethernet and an IPv4 header.
const HEADERS: usize = 34;

/// A frame that was heard, and when.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Heard {
    pub first_flit: u64,
    pub bytes: Vec<u8>,
}

/// The node.
#[derive(Clone)]
pub(super) struct Talker {
    number: usize,
    nodes: usize,
    random: Random,
    /// What it is going to say: not before which cycle, its how many-th frame, to whom, bytes, whether
    /// an answer is wanted.
    planned: BTreeSet<(u64, u64, usize, usize, bool)>,
    said: u64,
    free: u64,
    moved: u64,
    pub heard: Vec<Heard>,
    /// Number of how often it was run.
    pub runs: u64,
    /// Panics in this window.
    pub fails_at: Option<u64>,
}

impl Talker {
    /// Makes one that sends so many frames by itself.
    pub(super) fn new(number: usize, nodes: usize, frames: u64, seed: u64) -> Self {
        let random = Random::new(seed ^ (number as u64) << 32);
        let (planned, heard) = (BTreeSet::new(), Vec::new());
        let mut talker = Self {
            number,
            nodes,
            random,
            planned,
            said: 0,
            free: 0,
            moved: 0,
            heard,
            runs: 0,
            fails_at: None,
        };
        let mut at = 0;
        for _ in 0..frames {
            // Bursts, and long silences between them.
            at += if talker.random.below(8) > 0 { talker.random.below(20) } else { 1500 };
            let to = (number + 1 + talker.random.below(nodes as u64 - 1) as usize) % nodes;
            let bytes = 64 + talker.random.below(600) as usize;
            let wants_answer = talker.random.below(2) == 0;
            talker.plan(at, to, bytes, wants_answer);
        }
        talker
    }

    /// Plans a frame that wants no answer.
    pub(super) fn say(&mut self, at: u64, to: usize, bytes: usize) {
        self.plan(at, to, bytes, false);
    }

    fn plan(&mut self, at: u64, to: usize, bytes: usize, wants_answer: bool) {
        self.said += 1;
        self.planned.insert((at, self.said, to, bytes, wants_answer));
    }

    fn frame(&self, which: u64, to: usize, bytes: usize, wants_answer: bool) -> Vec<u8> {
        let mut frame = vec![0; bytes];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[26..30].copy_from_slice(&address(self.number).to_be_bytes());
        frame[30..34].copy_from_slice(&address(to).to_be_bytes());
        frame[HEADERS..HEADERS + 8].copy_from_slice(&which.to_be_bytes());
        frame[HEADERS + 8] = u8::from(wants_answer);
        let rest = frame.len() - 4;
        for (place, byte) in frame[HEADERS + 9..rest].iter_mut().enumerate() {
            *byte = (which as usize * 7 + place) as u8;
        }
        let sum = crc32fast::hash(&frame[..rest]);
        frame[rest..].copy_from_slice(&sum.to_le_bytes());
        frame
    }
}

/// Gives who sent a frame and its how many-th it is.
pub(super) fn name(frame: &[u8]) -> (u32, u64) {
    let from = u32::from_be_bytes(frame[26..30].try_into().unwrap());
    (from, u64::from_be_bytes(frame[HEADERS..HEADERS + 8].try_into().unwrap()))
}

/// Tells whether a frame is as it was sent.
pub(super) fn is_whole(frame: &[u8]) -> bool {
    let (rest, sum) = frame.split_at(frame.len() - 4);
    sum == crc32fast::hash(rest).to_le_bytes()
}

impl Node for Talker {
    fn arrive(&mut self, _: usize, first_flit: u64, frame: Vec<u8>) {
        let last = self.heard.last().map_or(0, |heard| heard.first_flit + flits(heard.bytes.len()));
        assert!(first_flit >= last, "frames overlap at the pins of node {}", self.number);
        self.moved = first_flit;
        if frame[HEADERS + 8] == 1 {
            let from = (name(&frame).0 - address(0)) as usize;
            let at = first_flit + flits(frame.len()) + self.random.below(100);
            self.plan(at, from % self.nodes, 80, false);
        }
        self.heard.push(Heard { first_flit, bytes: frame });
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        self.runs += 1;
        assert!(self.fails_at.is_none_or(|at| until <= at), "node {} was to fail", self.number);
        while let Some(&(at, which, to, bytes, wants_answer)) = self.planned.first() {
            let first = at.max(self.free);
            if first >= until {
                break;
            }
            self.planned.pop_first();
            let frame = self.frame(which, to, bytes, wants_answer);
            self.free = first + flits(frame.len());
            ports.send(0, first, self.free - 1, frame);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.planned.first().map(|(at, ..)| (*at).max(self.free))
    }

    fn moved(&self) -> u64 {
        self.moved
    }

    fn is_open(&self) -> bool {
        !self.planned.is_empty()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("planned", self.planned.len() as u64);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(self.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.clone_from(saved.get()?);
        Ok(())
    }
}
