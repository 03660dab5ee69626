//! A traffic source at an end of a link. In and out: frames. Holds frames that have not arrived in
//! the cycles that were run.

use super::Endpoint;
use crate::load::{Peer, flits};
use std::collections::VecDeque;

/// Makes an [`Endpoint`] of a [`Peer`].
pub struct PeerEnd<P> {
    peer: P,
    arriving: VecDeque<(u64, Vec<u8>)>,
}

impl<P: Peer> PeerEnd<P> {
    /// Puts a peer at an end.
    pub fn new(peer: P) -> Self {
        Self { peer, arriving: VecDeque::new() }
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
}

impl<P: Peer> Endpoint for PeerEnd<P> {
    fn arrive(&mut self, first_flit: u64, frame: &[u8]) {
        self.arriving.push_back((first_flit, frame.to_vec()));
    }

    fn run(&mut self, until: u64, send: &mut dyn FnMut(u64, u64, &[u8])) {
        loop {
            let sends = self.peer.next_cycle().filter(|&cycle| cycle < until);
            let hears = self.arriving.front().map(|(first, _)| *first);
            match (sends, hears.filter(|&first| first < until)) {
                (Some(cycle), hears) if hears.is_none_or(|first| cycle < first) => {
                    let Some((cycle, frame)) = self.peer.next_frame() else { break };
                    send(cycle, cycle + flits(frame.len()) - 1, frame);
                }
                (_, Some(_)) => {
                    let Some((first, frame)) = self.arriving.pop_front() else { break };
                    self.peer.frame_out(first, first + flits(frame.len()) - 1, &frame);
                }
                _ => break,
            }
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        let hears = self.arriving.front().map(|(first, _)| *first);
        match (self.peer.next_cycle(), hears) {
            (Some(sends), Some(hears)) => Some(sends.min(hears)),
            (sends, hears) => sends.or(hears),
        }
    }
}
