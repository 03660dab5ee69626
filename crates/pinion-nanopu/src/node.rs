//! A whole node: cores, their network interfaces, the NIC, memory; and the order of time among them.
//!
//! In: frames with the cycle of their first flit on the pins. Out: frames with the cycles of their
//! first and last flit, what the program printed, how it ended. Nothing is simulated that does not
//! happen: cores that poll or wait sleep until their network has something for them, and the NIC
//! has one event per packet or 64 B word.
//!
//! The order of time. A core runs ahead until the NIC's next event, for nothing but those
//! events and the core itself changes what it sees; what it writes (x31, CSRs) is posted with its
//! cycle. The NIC runs ahead until a post could still come: an instruction that decodes in cycle
//! *t* writes at *t* + 3 at the earliest. The core that lags most goes first. So every unit sees
//! the others exactly as if all stepped cycle by cycle, at any number of host threads.

mod end;
mod hardware;
mod port;
mod program;
mod sleep;

use std::collections::VecDeque;

use pinion_isa::elf::Image;

use crate::Cycle;
use crate::core::code::Code;
use crate::core::{Activity, Core, CoreShape, RETIRE};
use crate::event::{Event, Listener};
use crate::hart_interface::{Command, HartInterface};
use crate::machine::node::Machine;
use crate::memory::Memory;
use crate::nic::receive::Receive;
use crate::nic::transmit::Transmit;
use crate::transport::{self, Address};
use crate::waypoint::Waypoint;
use port::{Port, Post, PostKind};

pub(crate) use end::tell_core;
pub use end::{Chip, NodeEnd, Sink};
pub use program::{NodeError, Program};

/// Says how far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on.
    Running,
    /// Nothing happens any more until a frame comes.
    Quiet,
    /// The program ended itself with this code.
    Exited {
        /// The exit code.
        code: i32,
        /// The cycle in which it did.
        at: Cycle,
    },
    /// The hardware would have stopped here (faithful machines only).
    Stopped {
        /// Why.
        why: &'static str,
        /// The cycle.
        at: Cycle,
    },
}

/// Holds a node. A clone is a deep copy: run it, and the original knows nothing of it; keep it to
/// come back to this cycle.
#[derive(Clone)]
pub struct Node {
    cores: Vec<Core>,
    interfaces: Vec<HartInterface>,
    receive: Receive,
    transmit: Transmit,
    memory: Memory,
    code: Code,
    /// What each core wrote and the network has not seen yet, in order of time.
    posts: Vec<VecDeque<Post>>,
    /// Everything in the network before this cycle has happened.
    now: Cycle,
    skew: Cycle,
    exited: Option<Cycle>,
    back_pressure: bool,
    /// There are blocks of hardware; a clone has none.
    hardware: hardware::Loop,
}

impl Node {
    /// Makes a node in reset, with a program in memory; its harts start in cycle 0.
    ///
    /// # Errors
    /// [`NodeError`]: the program does not fit, or the machine is none.
    pub fn new(machine: &Machine, address: Address, image: &Image) -> Result<Self, NodeError> {
        Self::with_program(machine, address, &Program::load(machine, image)?)
    }

    /// Makes a node as [`Node::new`] does, of a machine whose memory the program was loaded for.
    ///
    /// # Errors
    /// As [`Node::new`].
    pub fn with_program(
        machine: &Machine,
        address: Address,
        program: &Program,
    ) -> Result<Self, NodeError> {
        machine.check_numbers()?;
        let harts = machine.core.count as usize;
        let shape = CoreShape {
            core: &machine.core,
            instruction_cache: &machine.instruction_cache,
            data_cache: &machine.data_cache,
        };
        let cores: Vec<Core> = (0..machine.core.count).map(|id| Core::new(id, shape)).collect();
        let messages = machine.receive.reassembly.messages();
        let receive =
            Receive::new(&machine.receive, transport::build(&machine.transport, messages), harts)?;
        let transmit = Transmit::new(
            &machine.transmit,
            harts,
            usize::from(machine.hart_interface.contexts),
            machine.transport.rtt_packets,
            address,
            transport::build(&machine.transport, messages),
        )?;
        Ok(Self {
            interfaces: (0..harts)
                .map(|hart| HartInterface::new(hart as u8, &machine.hart_interface))
                .collect(),
            posts: (0..harts).map(|_| VecDeque::new()).collect(),
            cores,
            receive,
            transmit,
            memory: program.memory.clone(),
            code: program.code.clone(),
            now: 0,
            skew: machine.limits.skew_cycles,
            exited: None,
            hardware: hardware::Loop::default(),
            back_pressure: machine.transmit.fixes.tx_queue_full,
        })
    }

    /// Takes a frame whose first flit is on the pins in cycle `first_flit`, which must not have
    /// passed; frames come in order and do not overlap.
    pub fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        self.receive.frame(first_flit, frame);
    }

    /// Runs everything that happens before cycle `end`. Frames go to `sink` when they are chosen,
    /// with cycles that may lie somewhat ahead.
    pub fn run_until(
        &mut self,
        end: Cycle,
        sink: &mut impl Sink,
        listener: &mut impl Listener,
    ) -> Progress {
        let mut units = self.units_next();
        loop {
            if let Some(progress) = self.ended() {
                return progress;
            }
            let network = units.min(self.harts_next());
            self.clock_hardware(network.min(end));
            let (core, key, others) = self.first_core();
            if network <= key.saturating_add(RETIRE - 1) {
                if network >= end {
                    break;
                }
                self.advance(network, sink, listener);
                units = self.units_next();
            } else {
                if key >= end {
                    break;
                }
                if self.run_core(core, others, network, end, listener) {
                    units = self.units_next();
                }
            }
        }
        if end > self.now {
            self.advance(end - 1, sink, listener);
        }
        let network = self.units_next().min(self.harts_next());
        let quiet = network == Cycle::MAX && self.first_core().1 == Cycle::MAX;
        if quiet && self.hardware_rests(end) { Progress::Quiet } else { Progress::Running }
    }

    fn ended(&self) -> Option<Progress> {
        if self.hardware_failure().is_some() {
            return Some(Progress::Stopped { why: hardware::STOPPED, at: self.now });
        }
        if let (Some(at), Some(exit)) = (self.exited, self.memory.host.exit) {
            return Some(Progress::Exited { code: exit.code, at });
        }
        if let Some((at, why)) = self.transmit.stopped() {
            return Some(Progress::Stopped { why, at });
        }
        if let Some((at, stop)) = self.receive.stopped() {
            return Some(Progress::Stopped { why: stop.describe(), at });
        }
        None
    }

    /// Gives the cycle of the NIC's next event, or the end of time. What harts write changes it only when
    /// the NIC takes it.
    fn units_next(&self) -> Cycle {
        let (receive, transmit) = (self.receive.next_event(), self.transmit.next_event());
        receive.unwrap_or(Cycle::MAX).min(transmit.unwrap_or(Cycle::MAX))
    }

    /// Gives the first cycle in which the NIC has something to take from a hart, or room there.
    fn harts_next(&self) -> Cycle {
        let mut next = Cycle::MAX;
        for (posts, interface) in self.posts.iter().zip(&self.interfaces) {
            next = next.min(posts.front().map_or(Cycle::MAX, |post| post.at));
            next = next.min(interface.next_room().unwrap_or(Cycle::MAX));
        }
        next
    }

    /// Gives the first cycle in which a word may come to a hart, should the harts write none and say nothing but
    /// that they are idle: what the transmit side does brings none. 0 if that is not known.
    fn words_next(&self) -> Cycle {
        if self.hardware.has_blocks {
            return 0;
        }
        self.receive.next_event().unwrap_or(Cycle::MAX).min(self.harts_next())
    }

    /// Gives the core that lags most, where it is, and where the next of the others is that run; those
    /// that sleep lag nobody.
    fn first_core(&self) -> (usize, Cycle, Cycle) {
        let mut first = (0, Cycle::MAX);
        // The two that lag most of those that run, the first of them with its index.
        let (mut running, mut next_running) = ((0, Cycle::MAX), Cycle::MAX);
        for (index, core) in self.cores.iter().enumerate() {
            let key = match core.key() {
                Some(key) => {
                    if key < running.1 {
                        next_running = running.1;
                        running = (index, key);
                    } else {
                        next_running = next_running.min(key);
                    }
                    key
                }
                None => self.wake_cycle(index).unwrap_or(Cycle::MAX),
            };
            if key < first.1 {
                first = (index, key);
            }
        }
        let others = if running.0 == first.0 { next_running } else { running.1 };
        (first.0, first.1, others)
    }

    /// Does everything in the network up to and including cycle `now`.
    fn advance(&mut self, now: Cycle, sink: &mut impl Sink, listener: &mut impl Listener) {
        for hart in 0..self.posts.len() {
            self.take_posts(hart, now, listener);
        }
        self.receive.advance(now, &mut self.transmit, &mut self.interfaces, listener);
        let mut out = |first: Cycle, last: Cycle, frame: &[u8]| sink.frame(first, last, frame);
        self.transmit.advance(now, &mut out, listener);
        self.now = self.now.max(now + 1);
        for interface in &mut self.interfaces {
            interface.advance(now, listener);
        }
    }

    /// Lets the network see what a hart wrote up to cycle `now`.
    fn take_posts(&mut self, hart: usize, now: Cycle, listener: &mut impl Listener) {
        while let Some(post) = self.posts[hart].front().copied() {
            if post.at > now {
                break;
            }
            self.posts[hart].pop_front();
            let interface = &mut self.interfaces[hart];
            let (csr, value) = match post.kind {
                PostKind::Word(word) => {
                    let context = interface.context();
                    self.transmit.word(hart as u8, context, word, post.at);
                    continue;
                }
                PostKind::Csr { csr, value } => (csr, value),
                PostKind::Idle => {
                    interface.idle(post.at);
                    continue;
                }
            };
            match interface.write_csr(csr, value, post.at) {
                Some(Command::Bind { context }) => {
                    listener.waypoint(post.at, Waypoint::Bound { hart: hart as u8, context });
                    self.receive.bind(hart as u8, context, post.at);
                }
                Some(Command::MessageDone { context }) => {
                    listener.event(post.at, Event::MessageDone { hart: hart as u8 });
                    listener.waypoint(post.at, Waypoint::Ended { hart: hart as u8, context });
                    self.receive.message_done(hart as u8, context, post.at);
                }
                _ => {}
            }
        }
    }

    /// Hands over the words that a hart wrote up to cycle `to`, in which nothing can come before
    /// them any more; the transmit side wants to know of them early. Tells whether there were some.
    fn take_words(&mut self, hart: usize, to: Cycle) -> bool {
        let context = self.interfaces[hart].context();
        let mut any = false;
        while let Some(&Post { at, kind: PostKind::Word(word) }) = self.posts[hart].front() {
            if at > to {
                break;
            }
            self.transmit.word(hart as u8, context, word, at);
            self.posts[hart].pop_front();
            any = true;
        }
        any
    }

    /// Lets a core run while the `others` are where they are, or wakes it; tells whether the NIC has
    /// heard of it.
    fn run_core(
        &mut self,
        index: usize,
        others: Cycle,
        network: Cycle,
        end: Cycle,
        listener: &mut impl Listener,
    ) -> bool {
        if self.cores[index].key().is_none() {
            self.wake(index, listener);
            return false;
        }
        let limit = network.min(end).min(others.saturating_add(self.skew));
        // Others may still post from three cycles after their next instruction on; what that does
        // reaches this core a cycle later at the earliest.
        let known = network.min(others.saturating_add(RETIRE + 1));
        let alone = others == Cycle::MAX && self.sleep_but(index);
        // How near to `end` a core comes depends on where it was stopped before: it shall have room to run there.
        let room = end.saturating_sub(self.cores[index].cycles_behind_poll());
        let words_known = if alone { network.max(self.words_next().min(room)) } else { known };
        let core = &mut self.cores[index];
        let room = if self.back_pressure {
            let posted = self.posts[index].iter().filter(|post| post.is_word()).count();
            self.transmit.room(index as u8).saturating_sub(posted)
        } else {
            usize::MAX
        };
        let mut port = Port {
            hart: index as u8,
            interface: &mut self.interfaces[index],
            posts: &mut self.posts[index],
            known,
            words_known,
            room,
            alone,
            end,
            hears_retired: listener.interest().retired,
            listener,
        };
        core.run(limit, &mut self.code, &mut self.memory, &mut port);
        let seen = core.decode_cycle() + RETIRE;
        let heard = self.take_words(index, seen);
        let core = &mut self.cores[index];
        if let Activity::Polling { .. } = core.activity {
            let at = core.decode_cycle();
            match self.interfaces[index].hardware() {
                None => self.interfaces[index].hold_message_timer(at),
                // A block hears of every turn.
                Some(_) => core.wake_from_poll(at),
            }
        }
        let core = &self.cores[index];
        if core.activity == Activity::Stopped && self.memory.host.exit.is_some() {
            self.exited.get_or_insert(core.decode_cycle() + RETIRE);
        }
        for (harts, line, keep) in self.memory.probes.drain(..) {
            for (other, core) in self.cores.iter_mut().enumerate() {
                if harts >> other & 1 != 0 {
                    core.probe(line, keep);
                }
            }
        }
        heard
    }

    /// Gives the cycle up to which everything in the network has happened.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Gives a core.
    pub fn core(&self, hart: usize) -> &Core {
        &self.cores[hart]
    }

    /// Counts the harts.
    pub fn harts(&self) -> usize {
        self.cores.len()
    }

    /// Gives a hart's network interface.
    pub fn interface(&self, hart: usize) -> &HartInterface {
        &self.interfaces[hart]
    }

    /// Gives the receive side of the NIC.
    pub fn receive(&self) -> &Receive {
        &self.receive
    }

    /// Gives the transmit side of the NIC.
    pub fn transmit(&self) -> &Transmit {
        &self.transmit
    }

    /// Gives memory and devices.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Gives memory and devices, to set the program's arguments or look into it.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}
