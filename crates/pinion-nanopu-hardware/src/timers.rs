//! The retransmission timers' ports. In: timers that are set, and those that are cancelled. Out: whose time is
//! over.

use pinion_nanopu_machine::node::Machine;
use pinion_sim::block::{Block, Needs, Port, bits_for, power_of_two};

use crate::{Cycle, Due, Placed, Seat, take_due};

const TIMEOUT_CYCLES: usize = 0;
const SET_VALID: usize = 1;
const SET_ID: usize = 2;
const CANCEL_VALID: usize = 3;
const CANCEL_ID: usize = 4;
const EXPIRED_VALID: usize = 5;
const EXPIRED_ID: usize = 6;

/// Bits of the block's clock.
const TIME_BITS: u32 = 32;
/// Cycles of the block's scan for each timer.
const SCAN_CYCLES: u64 = 2;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let ids = power_of_two("transmit.message_ids", machine.transmit.message_ids.into(), 2)?;
    let timer = &machine.transmit.timer;
    if timer.scan_cycles_per_entry != SCAN_CYCLES {
        return Err(format!(
            "the block's scan takes {SCAN_CYCLES} cycles a timer: --set \
             transmit.timer.scan_cycles_per_entry={SCAN_CYCLES}"
        ));
    }
    let longest = (1u64 << (TIME_BITS - 2)) - SCAN_CYCLES * ids;
    if timer.timeout_cycles > longest {
        return Err(format!(
            "the block tells {TIME_BITS} bits of time: --set transmit.timer.timeout_cycles={longest}"
        ));
    }
    let id = bits_for(ids);
    let ports = vec![
        Port::input("timeout_cycles", TIME_BITS - 1),
        Port::input("set_valid", 1),
        Port::input("set_id", id),
        Port::input("cancel_valid", 1),
        Port::input("cancel_id", id),
        Port::output("expired_valid", 1),
        Port::output("expired_id", id),
    ];
    let parameters = vec![("IDS", ids), ("TIME_BITS", TIME_BITS.into())];
    Ok(Needs { ports, parameters })
}

/// Holds the timers' block at its place.
#[derive(Debug)]
pub struct TimersSeat {
    seat: Seat,
    /// Timers that are set, and those that are cancelled, by cycle.
    sets: Due,
    cancels: Due,
    /// Whose time is over, as the model says.
    expired: Due,
    /// Messages whose timer is set.
    running: u32,
    /// The block has been told what happens in its cycle.
    is_told: bool,
    /// First cycle in which nobody has looked whose time is over, as the block in their place says.
    looks_from: Cycle,
}

impl TimersSeat {
    /// Puts a block at its place, its scan where the machine's is.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let mut seat = Seat::new(block, compares, machine);
        let timer = &machine.transmit.timer;
        seat.block.put(TIMEOUT_CYCLES, timer.timeout_cycles);
        // The block compares its first timer in its second cycle.
        let round = SCAN_CYCLES * u64::from(machine.transmit.message_ids);
        let ahead = (round + 1 - timer.scan_phase_cycles % round) % round;
        for _ in 0..ahead {
            seat.end_cycle(|| "before the first cycle".to_owned());
        }
        seat.cycle = 0;
        let (sets, cancels, expired) = Default::default();
        Self { seat, sets, cancels, expired, running: 0, is_told: false, looks_from: 0 }
    }

    /// Gives the next cycle in which somebody has to look whether a time is over.
    pub fn next(&self) -> Cycle {
        self.seat.cycle.max(self.looks_from)
    }

    /// Sets a message's timer in cycle `at`; it `is_new` unless it is set already.
    pub fn set(&mut self, id: u16, at: Cycle, is_new: bool) {
        self.running += u32::from(is_new);
        put(&mut self.sets, (at, id));
    }

    /// Cancels a timer that is set in cycle `at`.
    pub fn cancel(&mut self, id: u16, at: Cycle) {
        self.running -= 1;
        put(&mut self.cancels, (at, id));
    }

    /// Hears whose time the model says is over in cycle `at`.
    pub fn follow(&mut self, at: Cycle, id: u16) {
        self.expired.push_back((at, id));
    }

    /// Gives whose time the block says is over in cycle `at`, all of which is known.
    pub fn expired(&mut self, at: Cycle) -> Option<u16> {
        self.clock(at);
        self.looks_from = at + 1;
        if self.seat.failure.is_some() {
            return None;
        }
        self.put_inputs();
        let block = &mut self.seat.block;
        (block.get(EXPIRED_VALID) == 1).then(|| block.get(EXPIRED_ID) as u16)
    }

    /// Gives the block what happens in its cycle.
    fn put_inputs(&mut self) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        self.seat.put_due(&mut self.sets, SET_VALID, SET_ID);
        self.seat.put_due(&mut self.cancels, CANCEL_VALID, CANCEL_ID);
    }

    /// Says that the block did what no unit may.
    pub fn refuse(&mut self, id: u16) {
        self.seat.wrong =
            Some(format!("timers does what no unit may: expired_id is {id}, which is not set"));
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            self.put_inputs();
            let Self { seat, expired, running, looks_from, .. } = self;
            let cycle = seat.cycle;
            if seat.compares {
                let due = take_due(expired, cycle);
                seat.block.expect(EXPIRED_VALID, due.is_some().into());
                if let Some(id) = due {
                    seat.block.expect(EXPIRED_ID, id.into());
                }
            } else if cycle >= *looks_from && seat.block.get(EXPIRED_VALID) == 1 {
                let id = seat.block.get(EXPIRED_ID);
                seat.wrong = Some(format!(
                    "timers does what no unit may: expired_id is {id}, and no timer is set"
                ));
            }
            seat.end_cycle(|| format!("{running} timers are set"));
            self.is_told = false;
        }
    }
}

impl Placed for TimersSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }

    fn describe(&self) -> String {
        let text = self.seat.block.describe();
        match self.running {
            0 => text,
            running => format!("{text}\n  {running} timers are set and have not run out"),
        }
    }
}

/// Notes what happens in a cycle behind what happens before.
fn put(queue: &mut Due, what: (Cycle, u16)) {
    let place = queue.partition_point(|(at, _)| *at <= what.0);
    queue.insert(place, what);
}
