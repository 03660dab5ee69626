//! The thread scheduler's ports. In: words that enter a hart's queues, what its program reads of them and
//! writes to its registers. Out: the context that should run, the interrupt line.

use std::collections::VecDeque;
use std::ops::Range;

use pinion_nanopu_machine::node::Machine;
use pinion_sim::block::{Block, Needs, Port, bits_for};

use crate::{Cycle, Placed, Seat, contexts};

const ENTER_VALID: usize = 0;
const ENTER_CONTEXT: usize = 1;
const QUEUE_HELD: usize = 2;
const QUEUE_STAMPS: usize = 3;
const BIND_VALID: usize = 4;
const BIND_CONTEXT: usize = 5;
const BIND_PRIORITY: usize = 6;
const SWITCH_VALID: usize = 7;
const SWITCH_NONE: usize = 8;
const SWITCH_CONTEXT: usize = 9;
const START_VALID: usize = 10;
const DONE_VALID: usize = 11;
const IDLE_VALID: usize = 12;
const TAKEN_VALID: usize = 13;
const MESSAGE_CYCLES: usize = 14;
const IDLE_CYCLES: usize = 15;
const TARGET_NONE: usize = 16;
const TARGET: usize = 17;
const TARGET_PRIORITY: usize = 18;
const INTERRUPT_VALID: usize = 19;

/// Bits of a stamp, and of the timers.
const WORD_BITS: u32 = 32;
/// Spans of cycles kept in which the line was up.
const KEPT_SPANS: usize = 16;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let section = &machine.hart_interface;
    let contexts = contexts(machine)?;
    let context = bits_for(contexts);
    let ports = vec![
        Port::input("enter_valid", 1),
        Port::input("enter_context", context),
        Port::input("queue_held", contexts as u32),
        Port::input("queue_stamps", contexts as u32 * WORD_BITS),
        Port::input("bind_valid", 1),
        Port::input("bind_context", context),
        Port::input("bind_priority", 8),
        Port::input("switch_valid", 1),
        Port::input("switch_none", 1),
        Port::input("switch_context", context),
        Port::input("start_valid", 1),
        Port::input("done_valid", 1),
        Port::input("idle_valid", 1),
        Port::input("taken_valid", 1),
        Port::input("message_cycles", WORD_BITS),
        Port::input("idle_cycles", WORD_BITS),
        Port::output("target_none", 1),
        Port::output("target", context),
        Port::output("target_priority", 8),
        Port::output("interrupt_valid", 1),
    ];
    let parameters = vec![
        ("CONTEXTS", contexts),
        ("STAMP_BITS", u64::from(WORD_BITS)),
        ("TIMER_BITS", u64::from(WORD_BITS)),
        ("BOUNDED", section.thread_scheduler.bounded.into()),
        ("RESTORE", section.fixes.restore_priority.into()),
        ("STICKY", section.fixes.sticky_interrupt.into()),
    ];
    Ok(Needs { ports, parameters })
}

/// Says what a hart's program did in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It read a word.
    Read(u16),
    /// It is done with a message of which so many words are left.
    Left(u16, u64),
    /// It bound a context, whose words are forgotten, with a priority.
    Bound(u16, u8),
    /// It switched to a context.
    Switched(u16),
    /// It restarted both timers.
    Started,
    /// It is done with a message.
    Done,
    /// It found nothing to do.
    Idle,
    /// It took the interrupt.
    Taken,
    /// It set the bound of a message's time.
    MessageCycles(u64),
    /// It set the idle time after which it is interrupted.
    IdleCycles(u64),
}

/// What the model says in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The cycle.
    pub cycle: Cycle,
    /// Whether the line is up.
    pub is_up: bool,
    /// The context that should run.
    pub target: Option<u16>,
    /// Its priority.
    pub priority: u8,
}

/// Words that enter one after the other, or what is left of them.
#[derive(Clone, Copy, Debug)]
struct Words {
    context: u16,
    /// Cycle in which the first of them enters.
    at: Cycle,
    count: u32,
    /// Cycle in which their message began to enter.
    stamp: Cycle,
}

/// Holds a hart's scheduler's block at its place.
#[derive(Debug)]
pub struct SchedulerSeat {
    seat: Seat,
    hart: u8,
    /// What the program did, by its cycle.
    did: VecDeque<(Cycle, Did)>,
    /// Words that are still to enter.
    enters: VecDeque<Words>,
    /// By context: words not read.
    queues: Vec<VecDeque<Words>>,
    /// By context: when the message began that enters last.
    begun: Vec<Cycle>,
    /// What the model says of the next cycles.
    expected: VecDeque<Expected>,
    /// Cycles in which the line was up.
    spans: VecDeque<Range<Cycle>>,
    /// Cycles in which it came up, with the context that should run, not told of.
    rises: VecDeque<(Cycle, Option<u16>)>,
    /// Inputs of this cycle that go back to 0.
    raised: Vec<usize>,
    held: u64,
}

impl SchedulerSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine, hart: u8) -> Self {
        let contexts = usize::from(machine.hart_interface.contexts);
        let timers = machine.hart_interface.thread_scheduler;
        let mut seat = Self {
            seat: Seat::new(block, compares, machine),
            hart,
            did: VecDeque::new(),
            enters: VecDeque::new(),
            queues: vec![VecDeque::new(); contexts],
            begun: vec![0; contexts],
            expected: VecDeque::new(),
            spans: VecDeque::new(),
            rises: VecDeque::new(),
            raised: Vec::new(),
            held: 0,
        };
        seat.put_cycles(MESSAGE_CYCLES, timers.message_cycles);
        seat.put_cycles(IDLE_CYCLES, timers.idle_cycles);
        seat
    }

    /// Hears of words that enter a queue, the first in cycle `at`; those that are not `kept` are thrown
    /// away as they do.
    pub fn enters(&mut self, context: u16, at: Cycle, begins: bool, count: u32, kept: bool) {
        let Some(begun) = self.begun.get_mut(usize::from(context)) else { return };
        if begins {
            *begun = at;
        }
        let words = Words { context, at, count, stamp: *begun };
        self.enters.push_back(words);
        if kept {
            self.queues[usize::from(context)].push_back(words);
        }
    }

    /// Hears what the program did in cycle `at`.
    pub fn hear(&mut self, at: Cycle, did: Did) {
        let place = self.did.iter().rposition(|(other, _)| *other <= at).map_or(0, |last| last + 1);
        self.did.insert(place, (at, did));
    }

    /// Hears what the model says of the next cycle.
    pub fn follow(&mut self, expected: Expected) {
        self.expected.push_back(expected);
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            self.put_inputs();
            self.look();
            self.apply();
            for port in std::mem::take(&mut self.raised) {
                self.seat.block.put(port, 0);
            }
        }
    }

    /// Compares the outputs of this cycle, or keeps them, and ends it.
    fn look(&mut self) {
        let cycle = self.seat.cycle;
        let block = &mut self.seat.block;
        let mut model = None;
        if self.seat.compares {
            while self.expected.front().is_some_and(|expected| expected.cycle < cycle) {
                self.expected.pop_front();
            }
            if let Some(expected) = self.expected.front().filter(|e| e.cycle == cycle) {
                block.expect(TARGET_NONE, expected.target.is_none().into());
                if let Some(target) = expected.target {
                    block.expect(TARGET, target.into());
                }
                block.expect(TARGET_PRIORITY, expected.priority.into());
                block.expect(INTERRUPT_VALID, expected.is_up.into());
                model = Some(*expected);
            }
        } else if block.get(INTERRUPT_VALID) == 1 {
            match self.spans.back_mut().filter(|span| span.end == cycle) {
                Some(span) => span.end += 1,
                None => {
                    let is_there = block.get(TARGET_NONE) == 0;
                    let target = is_there.then(|| block.get(TARGET) as u16);
                    self.rises.push_back((cycle, target));
                    self.spans.push_back(cycle..cycle + 1);
                }
            }
            if self.spans.len() > KEPT_SPANS {
                self.spans.pop_front();
            }
        }
        let (hart, queues) = (self.hart, &self.queues);
        self.seat.end_cycle(|| {
            let waiting = |words: &VecDeque<Words>| words.iter().map(|w| w.count).sum::<u32>();
            let waiting: Vec<u32> = queues.iter().map(waiting).collect();
            let mut text = format!("of hart {hart}, whose contexts have {waiting:?} words");
            if let Some(model) = model {
                text.push_str(&format!("\n  the model's state: {model:?}"));
            }
            text
        });
    }

    /// Gives the block what it sees in this cycle.
    fn put_inputs(&mut self) {
        let cycle = self.seat.cycle;
        while self.enters.front().is_some_and(|words| words.at + Cycle::from(words.count) <= cycle)
        {
            self.enters.pop_front();
        }
        if let Some(words) = self.enters.front().filter(|words| words.at <= cycle) {
            let context = words.context.into();
            self.raise(ENTER_VALID, 1);
            self.seat.block.put(ENTER_CONTEXT, context);
        }
        let mut held = 0;
        for (context, queue) in self.queues.iter().enumerate() {
            if let Some(words) = queue.front().filter(|words| words.at < cycle) {
                held |= 1 << context;
                self.seat.block.put_word(QUEUE_STAMPS, context, words.stamp as u32);
            }
        }
        if held != self.held {
            self.held = held;
            self.seat.block.put(QUEUE_HELD, held);
        }
        for place in 0..self.did.len() {
            let (at, did) = self.did[place];
            if at > cycle {
                break;
            }
            self.put_did(did);
        }
    }

    /// Raises an input for this cycle.
    fn raise(&mut self, port: usize, value: u64) {
        self.seat.block.put(port, value);
        self.raised.push(port);
    }

    /// Gives an input that holds a number of cycles.
    fn put_cycles(&mut self, port: usize, cycles: u64) {
        self.seat.block.put(port, cycles.min(u32::MAX.into()));
    }

    /// Shows the block what the program does in this cycle.
    fn put_did(&mut self, did: Did) {
        match did {
            Did::Read(_) | Did::Left(..) => {}
            Did::Bound(context, priority) => {
                self.raise(BIND_VALID, 1);
                self.seat.block.put(BIND_CONTEXT, context.into());
                self.seat.block.put(BIND_PRIORITY, priority.into());
            }
            Did::Switched(context) => {
                let is_there = usize::from(context) < self.queues.len();
                self.raise(SWITCH_VALID, 1);
                self.seat.block.put(SWITCH_NONE, (!is_there).into());
                self.seat.block.put(SWITCH_CONTEXT, if is_there { context.into() } else { 0 });
            }
            Did::Started => self.raise(START_VALID, 1),
            Did::Done => self.raise(DONE_VALID, 1),
            Did::Idle => self.raise(IDLE_VALID, 1),
            Did::Taken => self.raise(TAKEN_VALID, 1),
            // The register has the new value from the next cycle on.
            Did::MessageCycles(_) | Did::IdleCycles(_) => {}
        }
    }

    /// Lets what the program did in the cycle that has ended take effect.
    fn apply(&mut self) {
        while let Some(&(at, did)) = self.did.front() {
            if at >= self.seat.cycle {
                break;
            }
            self.did.pop_front();
            match did {
                Did::Read(context) => self.forget(context, 1),
                Did::Left(context, words) => self.forget(context, words),
                Did::Bound(context, _) => self.forget(context, u64::MAX),
                Did::MessageCycles(cycles) => self.put_cycles(MESSAGE_CYCLES, cycles),
                Did::IdleCycles(cycles) => self.put_cycles(IDLE_CYCLES, cycles),
                Did::Switched(_) | Did::Started | Did::Done | Did::Idle | Did::Taken => {}
            }
        }
    }

    /// Takes the first words out of a context's queue.
    fn forget(&mut self, context: u16, mut words: u64) {
        let Some(queue) = self.queues.get_mut(usize::from(context)) else { return };
        while let Some(front) = queue.front_mut().filter(|_| words > 0) {
            let taken = words.min(front.count.into()) as u32;
            words -= u64::from(taken);
            front.count -= taken;
            front.at += Cycle::from(taken);
            if front.count == 0 {
                queue.pop_front();
            }
        }
    }

    /// Gives the context that should run in a cycle, and its priority.
    pub fn target(&mut self, at: Cycle) -> (Option<u16>, u8) {
        self.clock(at);
        self.put_inputs();
        let block = &mut self.seat.block;
        let context = (block.get(TARGET_NONE) == 0).then(|| block.get(TARGET) as u16);
        (context, block.get(TARGET_PRIORITY) as u8)
    }

    /// Gives the first cycle from `from` to `to` in which the line is up, when all of the cycles before `to` is
    /// known.
    pub fn up(&mut self, from: Cycle, to: Cycle) -> Option<Cycle> {
        self.clock(to);
        self.was_up(from).filter(|up| *up <= to).or_else(|| {
            if self.seat.cycle != to {
                return None;
            }
            self.put_inputs();
            (self.seat.block.get(INTERRUPT_VALID) == 1).then_some(to)
        })
    }

    /// Gives the first cycle from `from` on in which the line was up, of those that the block has taken.
    pub fn was_up(&self, from: Cycle) -> Option<Cycle> {
        let span = self.spans.iter().find(|span| span.end > from)?;
        Some(span.start.max(from))
    }

    /// Gives the cycle that the block is in.
    pub fn cycle(&self) -> Cycle {
        self.seat.cycle
    }

    /// Gives the next cycle in which the line came up, and the context that should run then, once.
    pub fn next_rise(&mut self) -> Option<(Cycle, Option<u16>)> {
        self.rises.pop_front()
    }
}

impl Placed for SchedulerSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
