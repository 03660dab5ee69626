//! A receive side and the harts' interfaces, driven as the harts of the tables drove theirs.

use std::collections::BTreeMap;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, NanoPu, Told};
use pinion_nanopu::hart_interface::{Command, HartInterface};
use pinion_nanopu::nic::receive::{Receive, Requests};
use pinion_nanopu::nic::{ControlRequest, Credit, Delivered};
use pinion_nanopu::transport::Change;
use pinion_sim::probe::Hears;

use crate::set::{Action, Row, ZERO};

/// From a trap to the handler's writes of `lniccmd` and `lcurcontext`, its read of
/// `ltargetcontext` and the first instruction of the target, all warm.
const TRAP_TO_START_TIMER: Cycle = 51;
const TRAP_TO_TARGET: Cycle = 52;
const TRAP_TO_CONTEXT: Cycle = 56;
const TRAP_TO_THREAD: Cycle = 99;

/// The polling loop: `csrr`, three cycles later the branch, then the idle write and the jump.
const POLL_CYCLES: Cycle = 6;

pub struct Heard(pub Vec<Row>);

impl Hears<NanoPu> for Heard {
    fn hear(&mut self, told: &Told<'_>) {
        let Told::Event { at, event } = *told else { return };
        let end = |last: bool| if last { "last" } else { "" };
        let text = match event {
            Event::IngressIn { last } => format!("ingress_in,,{}", end(last)),
            Event::IngressOut { last } => format!("ingress_out,,{}", end(last)),
            Event::ReassemblyOut { last } => format!("reassembly_out,,{}", end(last)),
            Event::GlobalReceiveOut { hart, last } => format!("global_rx_out,{hart},{}", end(last)),
            Event::ReceiveWord { hart, context, last } => {
                format!("core_rx_word,{hart},{}ctx={context:04x}", if last { "last " } else { "" })
            }
            Event::ThreadInterrupt { hart, running, target } => {
                format!("thread_interrupt,{hart},cur={running:04x} top={target:04x}")
            }
            Event::ControlRequest => "control_request,,".into(),
            Event::Delivered => "delivered,,".into(),
            Event::Credit => "credit,,".into(),
            _ => return,
        };
        self.0.push((at, text));
    }
}

/// The transmit side is not needed.
pub struct Nobody;

impl Requests for Nobody {
    fn control(&mut self, _: ControlRequest) {}
    fn delivered(&mut self, _: Delivered) {}
    fn credit(&mut self, _: Credit) {}
    fn frame(&mut self, _: Cycle, _: Vec<u8>) {}
    fn change_tables(&mut self, _: &[Change]) {}
}

/// Says which instruction of the polling loop a thread goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It works on a message.
    Working,
    Read,
    Branch,
    Idle,
    Jump,
}

/// Is what the replay knows of a hart beyond its interface.
#[derive(Clone, Debug)]
pub struct Hart {
    /// A `csrr` of the loop it polls in, and when it leaves it.
    pub polling: Option<(Cycle, Cycle)>,
    pub thread: usize,
    pub target: usize,
    pub places: [Place; 4],
}

/// Replays one scenario.
pub struct Replay {
    pub receive: Receive,
    pub interfaces: Vec<HartInterface>,
    pub harts: Vec<Hart>,
    pub threads: bool,
    /// What each hart does by the table, latest first.
    pub known: Vec<Vec<(Cycle, Action)>>,
    /// What is inferred, in order.
    pub inferred: BTreeMap<(Cycle, usize, Action), ()>,
    /// By hart: when words entered its queue and when its interrupt was up, by the table.
    pub entered: Vec<Vec<Cycle>>,
    pub pulses: Vec<Vec<Cycle>>,
    pub heard: Heard,
    pub end: Cycle,
}

impl Replay {
    /// Does what the units do up to cycle `to`.
    pub fn advance(&mut self, to: Cycle) {
        loop {
            let room = self.interfaces.iter().filter_map(HartInterface::next_room);
            let next = room.chain(self.receive.next_event()).min();
            let Some(at) = next.filter(|at| *at <= to) else { break };
            self.receive.advance(at, &mut Nobody, &mut self.interfaces, &mut self.heard);
        }
    }

    /// Writes a CSR and does what it asks for.
    pub fn write(&mut self, hart: usize, csr: u16, value: u64, now: Cycle) {
        match self.interfaces[hart].write_csr(csr, value, now).unwrap() {
            Command::Nothing => {}
            Command::Bind { context } => {
                assert!(self.receive.bind(hart as u8, context, now));
            }
            Command::MessageDone { context } => {
                self.receive.message_done(hart as u8, context, now);
            }
        }
    }

    pub fn act(&mut self, hart: usize, action: Action, now: Cycle) {
        match action {
            Action::Pop => drop(self.interfaces[hart].pop(now)),
            Action::Unread(words) => self.interfaces[hart].unread(words),
            Action::Write(csr, value) => {
                self.write(hart, csr, value, now);
                if (csr, value) == (0x056, 1) {
                    self.poll(hart, now + 2, None);
                }
            }
            Action::Trap => {
                let state = &mut self.harts[hart];
                let polling = state.polling.filter(|(_, until)| now <= *until);
                let place = polling.map(|(read, _)| match (now + 600 - read % 6) % 6 {
                    0 => Place::Read,
                    1..=3 => Place::Branch,
                    4 => Place::Idle,
                    _ => Place::Jump,
                });
                state.places[state.thread] = place.unwrap_or(Place::Working);
                state.polling = None;
                self.interfaces[hart].interrupt_taken(now);
                self.infer(hart, now + TRAP_TO_START_TIMER, Action::Write(0x054, 4));
                self.infer(hart, now + TRAP_TO_TARGET, Action::Target);
                self.infer(hart, now + TRAP_TO_CONTEXT, Action::Switch);
                self.infer(hart, now + TRAP_TO_THREAD, Action::Resume);
            }
            Action::Target => {
                let target = self.interfaces[hart].read_csr(0x058, now).unwrap();
                self.harts[hart].target = target as usize;
            }
            Action::Switch => {
                let target = self.harts[hart].target;
                self.harts[hart].thread = target;
                self.write(hart, 0x053, target as u64, now);
            }
            Action::Resume => match self.harts[hart].places[self.harts[hart].thread] {
                Place::Working => {}
                Place::Read => self.poll(hart, now, None),
                Place::Branch => self.poll(hart, now + 3, Some(2)),
                Place::Idle => self.poll(hart, now + 2, Some(2)),
                Place::Jump => self.poll(hart, now + 1, None),
            },
        }
    }

    pub fn infer(&mut self, hart: usize, at: Cycle, action: Action) {
        self.inferred.insert((at, hart, action), ());
    }

    /// Infers the idle writes of a loop whose first `csrr` retires in `first`, and of one
    /// `before` it, until the hart does something else.
    pub fn poll(&mut self, hart: usize, first: Cycle, before: Option<Cycle>) {
        if !self.threads {
            return;
        }
        // Reads on a wrong path, given back at once, do not end the loop.
        let mut known = self.known[hart].iter().rev().peekable();
        let mut next = None;
        while let Some(&(at, action)) = known.next() {
            match (action, known.peek()) {
                (Action::Pop, Some((_, Action::Unread(1)))) => drop(known.next()),
                _ => {
                    next = Some((at, action));
                    break;
                }
            }
        }
        let (first, end) = match next {
            // The last `csrr` is four cycles before the first read of x30.
            Some((at, Action::Pop)) if at >= first + 4 => {
                let last = at - 4;
                (last - (last - first) / POLL_CYCLES * POLL_CYCLES, last)
            }
            Some((_, Action::Pop)) => return,
            Some((at, _)) => (self.phase(hart, first, at), at),
            None => (first, self.end),
        };
        self.harts[hart].polling = Some((first, end));
        let idle = before.map(|before| first - before);
        let writes = (first + 4..end).step_by(POLL_CYCLES as usize);
        for at in idle.into_iter().chain(writes) {
            self.infer(hart, at, Action::Write(0x056, 2));
        }
    }

    /// Finds the phase of a loop that a trap ends. The caches and the predictor shift it by some
    /// cycles the first times, which is not the matter of this test: the last interrupt that no
    /// word caused shows where the idle writes were.
    fn phase(&self, hart: usize, first: Cycle, trap: Cycle) -> Cycle {
        let polled = |cycle: &&Cycle| (trap - 3..=trap + 1).contains(*cycle);
        // If a word of a message interrupts, all do.
        let by_word = |cycle: &&Cycle| {
            let (words, pulses) = (&self.entered[hart], &self.pulses[hart]);
            let entered = |word: &Cycle| words.contains(word);
            let up = |word: Cycle| pulses.contains(&(word + 2));
            let word = **cycle - 2;
            let after = (word..).take_while(entered);
            entered(&word) && after.chain((0..word).rev().take_while(entered)).all(up)
        };
        let idle = self.pulses[hart].iter().filter(polled).filter(|cycle| !by_word(cycle)).max();
        let shift = match idle {
            Some(pulse) => (pulse - 2 + 600 - (first + 4) % 6) % 6,
            None => match (trap + 600 - (first + 4) % 6) % 6 {
                // Such a write would have been heard of.
                1 | 2 => 4,
                _ => 0,
            },
        };
        first + shift
    }

    /// Boots as the programs do; cycles are the set's.
    pub fn boot(&mut self, program: &str) {
        let early = program.contains("early");
        let reset = |cycle: i64| (ZERO as i64 + cycle) as Cycle;
        let priorities = match program {
            _ if program.contains("p0_p0") => [0, 0],
            _ if program.contains("p1_p1") => [1, 1],
            _ => [0, 1],
        };
        for hart in 0..self.interfaces.len() {
            if !self.threads {
                self.write(hart, 0x053, 0, reset(-5000));
                self.write(hart, 0x054, 1, reset(-4999));
                continue;
            }
            // The idle timer ran out for the first switch some 150 cycles before cycle 0.
            let start = if early { -153 - 6 * 3001 } else { -155 - 3000 };
            if !early {
                self.write(hart, 0x054, 4, reset(start));
            }
            for context in 0..2 {
                self.write(hart, 0x053, context, reset(start + 1));
                self.write(hart, 0x055, priorities[context as usize], reset(start + 2));
                self.write(hart, 0x054, 1, reset(start + 3));
            }
            if program.contains("unbounded") {
                self.write(hart, 0x060, 1_000_000, reset(start + 4));
            }
            self.write(hart, 0x053, 0, reset(start + 5));
            self.write(hart, 0x053, 0xffff, reset(-2995));
            self.write(hart, 0x054, 4, reset(-60));
            let target = self.interfaces[hart].read_csr(0x058, reset(-59));
            assert_eq!(target, Some(0), "idle rotation starts context 0");
            self.write(hart, 0x053, 0, reset(-10));
            self.poll(hart, reset(0), None);
        }
    }

    pub fn run(&mut self) {
        loop {
            let known = (0..self.harts.len())
                .filter_map(|hart| self.known[hart].last().map(|&(at, a)| (at, hart, a)))
                .min();
            let inferred = self.inferred.first_key_value().map(|(&key, ())| key);
            let Some((at, hart, action)) = known.into_iter().chain(inferred).min() else { break };
            self.advance(at);
            if known == Some((at, hart, action)) {
                self.known[hart].pop();
            } else {
                self.inferred.pop_first();
            }
            self.act(hart, action, at);
        }
        self.advance(self.end);
        for interface in &mut self.interfaces {
            interface.advance(self.end + 2, &mut self.heard);
        }
    }
}
