//! A node at an end of a link: frames come in and go out; what happened inside is counted. It holds
//! frames that the node chose and whose first flit is still to come.

use std::collections::VecDeque;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, Listener};
use pinion_nanopu::node::{Node, Progress};
use pinion_net::link::Endpoint;

use super::frames::Frames;

/// Counts what a hart did.
#[derive(Debug, Clone, Copy, Default)]
pub struct HartCounts {
    /// Counts messages that it was given.
    pub messages: u64,
    /// Counts messages that it said it was done with.
    pub done: u64,
    /// Counts traps that it took, interrupts among them.
    pub traps: u64,
    /// Counts words that it sent.
    pub words_out: u64,
}

/// Hears a node, and passes all on to a second listener.
pub struct Ears<L> {
    /// Is the second listener.
    pub other: L,
    /// Counts by hart.
    pub harts: Vec<HartCounts>,
    /// Is the last cycle in which a message moved on.
    pub moved: Cycle,
    /// Counts timeouts of messages.
    pub timeouts: u64,
}

impl<L: Listener> Listener for Ears<L> {
    fn event(&mut self, at: Cycle, event: Event) {
        let hart = |hart: u8| usize::from(hart);
        match event {
            Event::GlobalReceiveOut { hart: number, last } => {
                self.harts[hart(number)].messages += u64::from(last);
                self.moved = self.moved.max(at);
            }
            Event::MessageDone { hart: number } => {
                self.harts[hart(number)].done += 1;
                self.moved = self.moved.max(at);
            }
            Event::TransmitWord { hart: number } => self.harts[hart(number)].words_out += 1,
            Event::Trap { hart: number } => self.harts[hart(number)].traps += 1,
            Event::PacketizeIn { .. } | Event::Delivered | Event::TimerCancel => {
                self.moved = self.moved.max(at);
            }
            Event::Timeout => self.timeouts += 1,
            _ => {}
        }
        self.other.event(at, event);
    }

    fn retired(&mut self, hart: u8, at: Cycle, pc: u64) {
        self.other.retired(hart, at, pc);
    }
}

/// Is a node at its end of a link.
pub struct NodeEnd<L> {
    /// Is the node.
    pub node: Node,
    /// Hears it.
    pub ears: Ears<L>,
    /// Hears of its frames.
    pub frames: Frames,
    /// Tells how it stands.
    pub progress: Progress,
    held: VecDeque<(Cycle, Cycle, Vec<u8>)>,
}

impl<L: Listener> NodeEnd<L> {
    /// Puts a node at an end.
    pub fn new(node: Node, frames: Frames, other: L) -> Self {
        let harts = vec![HartCounts::default(); node.harts()];
        Self {
            node,
            ears: Ears { other, harts, moved: 0, timeouts: 0 },
            frames,
            progress: Progress::Running,
            held: VecDeque::new(),
        }
    }

    /// Tells whether the node ended itself.
    pub fn has_ended(&self) -> bool {
        matches!(self.progress, Progress::Exited { .. } | Progress::Stopped { .. })
    }

    /// Tells whether nothing happens in the node any more until a frame comes.
    pub fn is_quiet(&self) -> bool {
        self.progress == Progress::Quiet && self.held.is_empty()
    }

    /// Counts the words that wait in harts' queues.
    pub fn unread_words(&self, contexts: u16) -> u64 {
        let harts = 0..self.node.harts();
        let of = |hart: usize| {
            let interface = self.node.interface(hart);
            (0..contexts).map(|context| u64::from(interface.unread_words(context))).sum::<u64>()
        };
        harts.map(of).sum()
    }

    /// Counts the messages that harts were given and are not done with.
    pub fn begun(&self, contexts: u16) -> u64 {
        let receive = self.node.receive();
        let harts = 0..self.node.harts();
        let of = |hart: usize| {
            (0..contexts).map(|c| u64::from(receive.outstanding(hart as u8, c))).sum::<u64>()
        };
        harts.map(of).sum()
    }
}

impl<L: Listener> Endpoint for NodeEnd<L> {
    fn arrive(&mut self, first_flit: Cycle, frame: &[u8]) {
        self.frames.arrived(first_flit, frame);
        self.node.inject(first_flit, frame);
        if !self.has_ended() {
            self.progress = Progress::Running;
        }
    }

    fn run(&mut self, until: Cycle, send: &mut dyn FnMut(Cycle, Cycle, &[u8])) {
        if self.has_ended() {
            return;
        }
        let held = &mut self.held;
        let mut sink = |first: Cycle, last: Cycle, frame: &[u8]| {
            held.push_back((first, last, frame.to_vec()));
        };
        self.progress = self.node.run_until(until, &mut sink, &mut self.ears);
        let ended = self.has_ended();
        while self.held.front().is_some_and(|(first, ..)| *first < until || ended) {
            let Some((first, last, frame)) = self.held.pop_front() else { break };
            self.frames.left(first, last, &frame);
            send(first, last, &frame);
        }
    }

    fn next_cycle(&mut self) -> Option<Cycle> {
        let held = self.held.front().map(|(first, ..)| *first);
        match self.progress {
            Progress::Running => Some(self.node.now()),
            Progress::Quiet => held,
            Progress::Exited { .. } | Progress::Stopped { .. } => None,
        }
    }
}
