//! A traffic source as a node. In and out: frames. Holds frames that have not arrived in the cycles
//! that were run.

use std::collections::VecDeque;

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};

use super::Peer;

/// A [`Peer`] at a port of its own, the first.
pub struct PeerEnd<P> {
    peer: P,
    arrived: Arrived,
}

/// What a source has heard of, and how far it is.
#[derive(Clone, Debug, Default)]
struct Arrived {
    frames: VecDeque<(u64, Vec<u8>)>,
    /// The first cycle that was not run.
    now: u64,
    /// The last cycle in which a frame came or went.
    moved: u64,
    counts: PeerCounts,
}

/// Counts the frames of a traffic source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Frames that came.
    pub frames_in: u64,
    /// Frames that went.
    pub frames_out: u64,
}

/// What is saved of a traffic source.
struct State {
    peer: Saved,
    arrived: Arrived,
}

impl<P: Peer> PeerEnd<P> {
    /// Makes a node of a peer.
    pub fn new(peer: P) -> Self {
        Self { peer, arrived: Arrived::default() }
    }

    /// Gives the peer.
    pub fn peer(&self) -> &P {
        &self.peer
    }

    /// Gives the peer, to change it between two windows.
    pub fn peer_mut(&mut self) -> &mut P {
        &mut self.peer
    }

    /// Gives the peer back.
    pub fn into_peer(self) -> P {
        self.peer
    }

    /// Counts the frames that came and went.
    pub fn counts(&self) -> PeerCounts {
        self.arrived.counts
    }

    /// Sends the peer's next frame, of which it said that it is due.
    fn send(&mut self, ports: &mut dyn Ports) -> Option<()> {
        let (cycle, frame) = self.peer.next_frame()?;
        let frame = frame.to_vec();
        self.arrived.moved = self.arrived.moved.max(cycle);
        self.arrived.counts.frames_out += 1;
        ports.send(0, cycle, cycle + flits(frame.len()) - 1, frame);
        Some(())
    }

    /// Lets the peer hear of the next frame that came.
    fn hear(&mut self) -> Option<()> {
        let (first, frame) = self.arrived.frames.pop_front()?;
        self.peer.frame_out(first, first + flits(frame.len()) - 1, &frame);
        Some(())
    }
}

impl<P: Peer> Node for PeerEnd<P> {
    fn arrive(&mut self, _: usize, first_flit: u64, frame: Vec<u8>) {
        self.arrived.moved = self.arrived.moved.max(first_flit);
        self.arrived.counts.frames_in += 1;
        self.arrived.frames.push_back((first_flit, frame));
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        loop {
            let sends = self.peer.next_cycle().filter(|&cycle| cycle < until);
            let hears = self.arrived.frames.front().map(|(first, _)| *first);
            let done = match (sends, hears.filter(|&first| first < until)) {
                (Some(cycle), hears) if hears.is_none_or(|first| cycle < first) => self.send(ports),
                (_, Some(_)) => self.hear(),
                _ => None,
            };
            if done.is_none() {
                break;
            }
        }
        self.arrived.now = until;
    }

    fn next_cycle(&mut self) -> Option<u64> {
        let hears = self.arrived.frames.front().map(|(first, _)| *first);
        let gives_up = self.peer.gives_up_at().filter(|_| self.is_open());
        self.peer.next_cycle().into_iter().chain(hears).chain(gives_up).min()
    }

    fn moved(&self) -> u64 {
        self.arrived.moved
    }

    fn is_open(&self) -> bool {
        !self.peer.is_done(self.arrived.now)
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("arriving", self.arrived.frames.len() as u64);
        tell("frames_in", self.arrived.counts.frames_in);
        tell("frames_out", self.arrived.counts.frames_out);
        self.peer.state(tell);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(State { peer: self.peer.save()?, arrived: self.arrived.clone() }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let State { peer, arrived } = saved.get()?;
        self.peer.restore(peer)?;
        self.arrived.clone_from(arrived);
        Ok(())
    }
}
