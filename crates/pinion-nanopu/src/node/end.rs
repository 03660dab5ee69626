//! A chip as a node of a network. In and out: frames at its only port. Holds the chip, who listens to
//! it, and the frames that it has chosen and whose first flit is still to come.

use std::collections::VecDeque;

use pinion_sim::node::{self as contract, Ports, RestoreError, SaveError, Saved, tell_part};
use pinion_sim::probe::Hears;

use super::{Node, Progress};
use crate::Cycle;
use crate::core::Core;
use crate::event::{Event, Listener, NanoPu, Retirements, Told};
use crate::waypoint::Met;

/// Takes the frames that leave a node.
pub trait Sink {
    /// Takes a frame whose first and last flit leave in these cycles.
    fn frame(&mut self, first_flit: Cycle, last_flit: Cycle, frame: &[u8]);
}

impl<F: FnMut(Cycle, Cycle, &[u8])> Sink for F {
    fn frame(&mut self, first_flit: Cycle, last_flit: Cycle, frame: &[u8]) {
        self(first_flit, last_flit, frame);
    }
}

/// A chip that takes frames, runs, and sends frames: the nanoPU, or the baseline with a DMA NIC. A
/// clone is a deep copy.
pub trait Chip: Clone + Send + Sync + 'static {
    /// What is inside moves on when an event says so, not whenever a frame leaves.
    const TELLS_EVENTS: bool;

    /// Takes a frame whose first flit is on the pins in cycle `first_flit`, which must not have
    /// passed.
    fn inject(&mut self, first_flit: Cycle, frame: &[u8]);

    /// Runs everything that happens before cycle `end`; frames go to `sink` when they are chosen.
    fn run_until(
        &mut self,
        end: Cycle,
        sink: &mut impl Sink,
        listener: &mut impl Listener,
    ) -> Progress;

    /// Gives the cycle before which everything has happened.
    fn now(&self) -> Cycle;

    /// Tells names and numbers of its state.
    fn state(&self, tell: &mut dyn FnMut(&str, u64));
}

impl Chip for Node {
    const TELLS_EVENTS: bool = true;

    fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        self.inject(first_flit, frame);
    }

    fn run_until(
        &mut self,
        end: Cycle,
        sink: &mut impl Sink,
        listener: &mut impl Listener,
    ) -> Progress {
        self.run_until(end, sink, listener)
    }

    fn now(&self) -> Cycle {
        self.now()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("transmit.messages", self.transmit().resident().count() as u64);
        tell("receive.is_empty", u64::from(self.receive().is_empty()));
        for hart in 0..self.harts() {
            tell_part(&format!("core.{hart}"), tell, |tell| tell_core(self.core(hart), tell));
        }
    }
}

/// Tells where a core is: its program counter, cycle, instructions and registers.
pub(crate) fn tell_core(core: &Core, tell: &mut dyn FnMut(&str, u64)) {
    tell("pc", core.hart.pc);
    tell("cycle", core.decode_cycle());
    tell("instructions", core.hart.instret);
    for register in 1..32 {
        tell(&format!("x{register}"), core.hart.x[register]);
    }
}

/// A chip at its end of a cable.
pub struct NodeEnd<L, C = Node> {
    /// The chip.
    pub node: C,
    /// Who listens: to the chip's units, and to the frames that come and go.
    pub ears: L,
    /// How far the chip is.
    pub progress: Progress,
    held: VecDeque<(Cycle, Cycle, Vec<u8>)>,
    moved: Cycle,
}

/// What is saved of a chip.
struct State<C> {
    node: C,
    progress: Progress,
    held: VecDeque<(Cycle, Cycle, Vec<u8>)>,
    moved: Cycle,
}

impl<L: Listener, C: Chip> NodeEnd<L, C> {
    /// Puts a chip at an end.
    pub fn new(node: C, ears: L) -> Self {
        Self { node, ears, progress: Progress::Running, held: VecDeque::new(), moved: 0 }
    }

    /// Tells whether the chip ended itself.
    pub fn has_ended(&self) -> bool {
        matches!(self.progress, Progress::Exited { .. } | Progress::Stopped { .. })
    }

    /// Tells whether nothing happens in the chip any more until a frame comes.
    pub fn is_quiet(&self) -> bool {
        self.progress == Progress::Quiet && self.held.is_empty()
    }
}

impl<L: Listener> NodeEnd<L> {
    /// Tells what somebody has to know who begins to listen now.
    pub fn met(&self, contexts: u16) -> Met {
        let receive = self.node.receive();
        let left = self.node.transmit().counters().frames();
        let frames_left = left.saturating_sub(self.held.len() as u64);
        let mut met = Met { frames_come: receive.frames_come(), frames_left, ..Met::default() };
        for hart in 0..self.node.harts() as u8 {
            for context in 0..contexts {
                if receive.outstanding(hart, context) > 0 {
                    met.unknown.push((hart, context));
                } else {
                    let ended = self.node.interface(hart.into()).ended_messages(context);
                    met.known.push((hart, context, ended));
                }
            }
        }
        met
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

/// Passes on what a chip says, and notes when a message moved on.
struct Watch<'a, L> {
    ears: &'a mut L,
    moved: &'a mut Cycle,
}

impl<L: Listener> Hears<NanoPu> for Watch<'_, L> {
    fn interest(&self) -> Retirements {
        self.ears.interest()
    }

    // Where units say it, what is said is known.
    #[inline(always)]
    fn hear(&mut self, told: &Told<'_>) {
        if let Told::Event {
            at,
            event:
                Event::GlobalReceiveOut { .. }
                | Event::MessageDone { .. }
                | Event::PacketizeIn { .. }
                | Event::Delivered
                | Event::TimerCancel,
        } = *told
        {
            *self.moved = at.max(*self.moved);
        }
        self.ears.hear(told);
    }
}

impl<L: Listener, C: Chip> contract::Node for NodeEnd<L, C> {
    fn arrive(&mut self, _: usize, first_flit: Cycle, frame: Vec<u8>) {
        self.ears.hear(&Told::Arrived { first_flit, frame: &frame });
        self.node.inject(first_flit, &frame);
        if !self.has_ended() {
            self.progress = Progress::Running;
        }
    }

    fn run(&mut self, until: Cycle, ports: &mut dyn Ports) {
        if self.has_ended() {
            return;
        }
        let held = &mut self.held;
        let mut sink = |first: Cycle, last: Cycle, frame: &[u8]| {
            held.push_back((first, last, frame.to_vec()));
        };
        let mut watch = Watch { ears: &mut self.ears, moved: &mut self.moved };
        self.progress = self.node.run_until(until, &mut sink, &mut watch);
        let ended = self.has_ended();
        while self.held.front().is_some_and(|(first, ..)| *first < until || ended) {
            let Some((first, last, frame)) = self.held.pop_front() else { break };
            let (first_flit, last_flit) = (first, last);
            self.ears.hear(&Told::Left { first_flit, last_flit, frame: &frame });
            if !C::TELLS_EVENTS {
                self.moved = first.max(self.moved);
            }
            ports.send(0, first, last, frame);
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

    fn moved(&self) -> Cycle {
        self.moved
    }

    fn is_open(&self) -> bool {
        !self.has_ended()
    }

    fn has_failed(&self) -> bool {
        match self.progress {
            Progress::Exited { code, .. } => code != 0,
            Progress::Stopped { .. } => true,
            Progress::Running | Progress::Quiet => false,
        }
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("leaving", self.held.len() as u64);
        self.node.state(tell);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(State {
            node: self.node.clone(),
            progress: self.progress,
            held: self.held.clone(),
            moved: self.moved,
        }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let State { node, progress, held, moved } = saved.get::<State<C>>()?;
        self.node.clone_from(node);
        (self.progress, self.moved) = (*progress, *moved);
        self.held.clone_from(held);
        Ok(())
    }
}
