//! The packet generator's ports. In: requests for control frames, frames that the arbiter takes. Out: frames.

use std::collections::VecDeque;

use pinion_nanopu_machine::node::Machine;
use pinion_nanopu_machine::transport::TransportKind;
use pinion_sim::block::{Block, Needs, PATIENCE_CYCLES, Port};

use crate::{Cycle, Placed, Seat};

const REQUEST_VALID: usize = 0;
const REQUEST_ACK: usize = 1;
const REQUEST_NACK: usize = 2;
const REQUEST_PULL: usize = 3;
const REQUEST_DATA: usize = 4;
const FRAME_READY: usize = 5;
const REQUEST_READY: usize = 6;
const FRAME_VALID: usize = 7;
const FRAME_ACK: usize = 8;
const FRAME_NACK: usize = 9;
const FRAME_PULL: usize = 10;
const FRAME_DATA: usize = 11;

/// Bits of what is told of a header.
const DATA_BITS: u32 = 64;
/// Cycles from a request to its frame.
const CYCLES: u64 = 2;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let transport = &machine.transport;
    let is_paced = match transport.kind {
        TransportKind::Ndp => true,
        TransportKind::P4 => transport.pipelines().is_ok_and(|programs| !programs.is_apart()),
        _ => false,
    };
    if !is_paced {
        return Err("the block paces PULLs, as NDP wants it: --set transport.kind=ndp".into());
    }
    let latency = machine.transmit.latency.generator_cycles;
    if latency != CYCLES {
        return Err(format!(
            "transmit.latency.generator_cycles is {latency}; the block takes {CYCLES} cycles: --set \
             transmit.latency.generator_cycles={CYCLES}"
        ));
    }
    let generator = &machine.transmit.generator;
    for (key, value) in [
        ("pull_token_cycles", generator.pull_token_cycles),
        ("queue_frames", generator.queue_frames as u64),
        ("paced_pulls", generator.paced_pulls as u64),
    ] {
        if value < 2 {
            return Err(format!(
                "transmit.generator.{key} is {value}; the block takes two at least: --set \
                 transmit.generator.{key}=2"
            ));
        }
    }
    let ports = vec![
        Port::input("request_valid", 1),
        Port::input("request_ack", 1),
        Port::input("request_nack", 1),
        Port::input("request_pull", 1),
        Port::input("request_data", DATA_BITS),
        Port::input("frame_ready", 1),
        Port::output("request_ready", 1),
        Port::output("frame_valid", 1),
        Port::output("frame_ack", 1),
        Port::output("frame_nack", 1),
        Port::output("frame_pull", 1),
        Port::output("frame_data", DATA_BITS),
    ];
    let parameters = vec![
        ("DATA_BITS", DATA_BITS.into()),
        ("TOKEN_CYCLES", generator.pull_token_cycles),
        ("FRAMES", generator.queue_frames as u64),
        ("PULLS", generator.paced_pulls as u64),
    ];
    Ok(Needs { ports, parameters })
}

/// Names the header that a frame answers, and what the frame says: of ACK, NACK and PULL, a flag each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What is told of the header.
    pub header: u64,
    /// The flags.
    pub flags: [bool; 3],
}

/// Holds the packet generator's block at its place.
#[derive(Debug)]
pub struct GeneratorSeat {
    seat: Seat,
    /// Requests, by cycle.
    requests: VecDeque<(Cycle, Answer)>,
    /// Frames that the model has, from which cycle on.
    frames: VecDeque<(Cycle, Answer)>,
    /// Cycles in which the arbiter takes a frame.
    taken: VecDeque<Cycle>,
    /// The block has been told what happens in its cycle.
    is_told: bool,
    /// What it was asked last.
    asked: Option<Answer>,
    /// First cycle in which nobody has looked for a frame, as the block in the model's place has it.
    looks_from: Cycle,
    /// Since when it has offered none.
    silent: Option<Cycle>,
}

impl GeneratorSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        Self {
            seat: Seat::new(block, compares, machine),
            requests: VecDeque::new(),
            frames: VecDeque::new(),
            taken: VecDeque::new(),
            is_told: false,
            asked: None,
            looks_from: 0,
            silent: None,
        }
    }

    /// Tells it of a request in cycle `at`.
    pub fn request(&mut self, at: Cycle, answer: Answer) {
        self.silent = None;
        self.requests.push_back((at, answer));
    }

    /// Hears that the model has a frame for the arbiter from cycle `from` on.
    pub fn follow(&mut self, from: Cycle, answer: Answer) {
        self.frames.push_back((from, answer));
    }

    /// Tells it that the arbiter takes the frame in cycle `at`.
    pub fn take(&mut self, at: Cycle) {
        self.taken.push_back(at);
        // What it offers in this cycle is gone.
        self.looks_from = self.looks_from.max(at + 1);
    }

    /// Gives the next cycle in which somebody has to look whether there is a frame.
    pub fn next(&self) -> Cycle {
        self.seat.cycle.max(self.looks_from)
    }

    /// Gives the frame that it offers in cycle `at`, of which all is known but what the arbiter does.
    pub fn offered(&mut self, at: Cycle) -> Option<Answer> {
        self.clock(at);
        self.looks_from = at + 1;
        if self.seat.failure.is_some() {
            return None;
        }
        self.put_inputs();
        let block = &mut self.seat.block;
        if block.get(FRAME_VALID) == 0 {
            let since = *self.silent.get_or_insert(at);
            if at - since > PATIENCE_CYCLES {
                self.seat.wrong = Some(format!(
                    "a request waits for packet_generator, whose frame_valid has not come for \
                     {PATIENCE_CYCLES} cycles"
                ));
            }
            return None;
        }
        self.silent = None;
        let flags = [FRAME_ACK, FRAME_NACK, FRAME_PULL].map(|port| block.get(port) == 1);
        Some(Answer { header: block.get(FRAME_DATA), flags })
    }

    /// Says that the block offers a frame that nobody has asked for.
    pub fn refuse(&mut self, answer: Answer) {
        self.seat.wrong = Some(format!(
            "packet_generator does what no unit may: it offers {answer:x?}, which nobody has asked for"
        ));
    }

    /// Gives the block what happens in its cycle.
    fn put_inputs(&mut self) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let Self { seat, requests, .. } = self;
        let is_due = requests.front().is_some_and(|(at, _)| *at <= seat.cycle);
        seat.block.put(REQUEST_VALID, is_due.into());
        if let Some((_, answer)) = requests.front().filter(|_| is_due) {
            for (port, flag) in
                [REQUEST_ACK, REQUEST_NACK, REQUEST_PULL].into_iter().zip(answer.flags)
            {
                seat.block.put(port, flag.into());
            }
            seat.block.put(REQUEST_DATA, answer.header);
            self.asked = Some(*answer);
        }
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            self.put_inputs();
            let Self { seat, requests, frames, taken, asked, .. } = self;
            let cycle = seat.cycle;
            let takes = taken.front().is_some_and(|at| *at <= cycle);
            seat.block.put(FRAME_READY, takes.into());
            let asks = requests.front().is_some_and(|(at, _)| *at <= cycle);
            let mut accepts = asks;
            if seat.compares {
                if asks {
                    seat.block.expect(REQUEST_READY, 1);
                }
                let first = frames.front().filter(|(from, _)| *from <= cycle);
                seat.block.expect(FRAME_VALID, first.is_some().into());
                if let Some((_, answer)) = first {
                    for (port, flag) in
                        [FRAME_ACK, FRAME_NACK, FRAME_PULL].into_iter().zip(answer.flags)
                    {
                        seat.block.expect(port, flag.into());
                    }
                    seat.block.expect(FRAME_DATA, answer.header);
                }
            } else {
                accepts &= seat.block.get(REQUEST_READY) == 1;
            }
            seat.end_cycle(|| match asked {
                Some(asked) => {
                    format!("the last request was {asked:x?}; {} frames wait", frames.len())
                }
                None => "nothing has been asked for yet".to_owned(),
            });
            if takes {
                taken.pop_front();
                frames.pop_front();
            }
            if accepts {
                requests.pop_front();
            }
            self.is_told = false;
        }
    }
}

impl Placed for GeneratorSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }

    fn describe(&self) -> String {
        let text = self.seat.block.describe();
        match self.requests.len() {
            0 => text,
            waiting => format!("{text}\n  {waiting} requests wait for it"),
        }
    }
}
