//! A node at an end of a link. In and out: frames. Holds the frames that the node has chosen to send
//! in cycles it has not reached.

use std::collections::VecDeque;

use pinion_nanopu::event::Deaf;
use pinion_nanopu::node::{Node, Progress};
use pinion_net::link::Endpoint;

/// Makes an [`Endpoint`] of a [`Node`].
pub(super) struct NodeEnd {
    pub(super) node: Node,
    /// How far it is.
    pub(super) progress: Progress,
    reached: u64,
    chosen: VecDeque<(u64, u64, Vec<u8>)>,
}

impl NodeEnd {
    pub(super) fn new(node: Node) -> Self {
        Self { node, progress: Progress::Running, reached: 0, chosen: VecDeque::new() }
    }
}

impl Endpoint for NodeEnd {
    fn arrive(&mut self, first_flit: u64, frame: &[u8]) {
        self.node.inject(first_flit, frame);
        if self.progress == Progress::Quiet {
            self.progress = Progress::Running;
        }
    }

    fn run(&mut self, until: u64, send: &mut dyn FnMut(u64, u64, &[u8])) {
        let chosen = &mut self.chosen;
        let mut keep = |first, last, frame: &[u8]| chosen.push_back((first, last, frame.to_vec()));
        self.progress = self.node.run_until(until, &mut keep, &mut Deaf);
        self.reached = until;
        while self.chosen.front().is_some_and(|(first, ..)| *first < until) {
            let Some((first, last, frame)) = self.chosen.pop_front() else { break };
            send(first, last, &frame);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        match self.progress {
            Progress::Running => Some(self.reached),
            _ => self.chosen.front().map(|(first, ..)| *first),
        }
    }
}
