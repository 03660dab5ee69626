//! JBSQ's ports. In: contexts that harts bind, messages that want a hart, harts that are done with one. Out:
//! the hart.

use pinion_nanopu_machine::node::Machine;
use pinion_nanopu_machine::receive::SelectionPolicy;
use pinion_sim::block::{Block, Needs, Port, bits_for, power_of_two};

use crate::{Cycle, Placed, Seat};

const BIND_VALID: usize = 0;
const BIND_CONTEXT: usize = 1;
const ARRIVAL_VALID: usize = 2;
const ARRIVAL_CONTEXT: usize = 3;
const DONE_VALID: usize = 4;
const DONE_HART: usize = 5;
const DONE_CONTEXT: usize = 6;
const DONE_WAITS: usize = 7;
const CHOSEN_VALID: usize = 8;
const CHOSEN_HART: usize = 9;

/// Most bits of an input that all harts share.
const SHARED_BITS: u32 = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let section = &machine.receive.core_selection;
    if section.policy != SelectionPolicy::Jbsq {
        return Err("messages do not go by JBSQ there: --set \
                    receive.core_selection.policy=jbsq"
            .to_owned());
    }
    let harts = power_of_two("core.count", machine.core.count, 2)?;
    let contexts =
        power_of_two("receive.global.contexts", machine.receive.global.contexts.into(), 2)?;
    let (hart, context) = (bits_for(harts), bits_for(contexts));
    if harts as u32 * context > SHARED_BITS {
        return Err(format!(
            "{harts} harts with {contexts} contexts: the block takes as many as have their binds in \
             {SHARED_BITS} bits: --set core.count={}",
            SHARED_BITS / context
        ));
    }
    let ports = vec![
        Port::input("bind_valid", harts as u32),
        Port::input("bind_context", harts as u32 * context),
        Port::input("arrival_valid", 1),
        Port::input("arrival_context", context),
        Port::input("done_valid", 1),
        Port::input("done_hart", hart),
        Port::input("done_context", context),
        Port::input("done_waits", 1),
        Port::output("chosen_valid", 1),
        Port::output("chosen_hart", hart),
    ];
    let parameters = vec![
        ("HARTS", harts),
        ("CONTEXTS", contexts),
        ("OUTSTANDING", u64::from(section.outstanding)),
    ];
    Ok(Needs { ports, parameters })
}

/// Holds JBSQ's block at its place.
#[derive(Debug)]
pub struct JbsqSeat {
    seat: Seat,
    context_bits: u32,
    /// The context whose message it was asked about last.
    asked: Option<u16>,
    /// Harts that bind in this cycle, and their contexts, as the ports have them.
    binds: (u64, u64),
    /// An input of this cycle is not 0.
    told: bool,
    /// Since when it has named no hart for a message, in the model's place.
    refused: Option<(Cycle, u16)>,
}

impl JbsqSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        Self {
            seat: Seat::new(block, compares, machine),
            context_bits: bits_for(machine.receive.global.contexts.into()),
            asked: None,
            binds: (0, 0),
            told: false,
            refused: None,
        }
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle, state: impl Fn() -> String) {
        let Self { seat, asked, told, binds, .. } = self;
        while seat.cycle < to && seat.failure.is_none() {
            if seat.compares && !*told {
                seat.block.expect(CHOSEN_VALID, 0);
            }
            let compares = seat.compares;
            seat.end_cycle(|| {
                let message = match asked {
                    Some(context) => format!("a message of context {context} was the last to ask"),
                    None => "no message has asked yet".to_owned(),
                };
                match compares {
                    true => format!("{message}\n  the model's state: {}", state()),
                    false => message,
                }
            });
            if *told {
                *told = false;
                *binds = (0, 0);
                for port in [BIND_VALID, ARRIVAL_VALID, DONE_VALID, DONE_WAITS] {
                    seat.block.put(port, 0);
                }
            }
        }
    }

    /// Tells it in the present cycle that a hart serves a context.
    pub fn bind(&mut self, hart: u8, context: u16) {
        let place = u32::from(hart) * self.context_bits;
        self.binds.0 |= 1 << hart;
        self.binds.1 |= u64::from(context) << place;
        self.seat.block.put(BIND_VALID, self.binds.0);
        self.seat.block.put(BIND_CONTEXT, self.binds.1);
        self.tell();
    }

    /// Notes an input; without a question there is no answer.
    fn tell(&mut self) {
        if !self.told && self.seat.compares {
            self.seat.block.expect(CHOSEN_VALID, 0);
        }
        self.told = true;
    }

    /// Asks for the hart of a context's message.
    pub fn arrive(&mut self, context: u16) {
        self.tell();
        self.asked = Some(context);
        self.seat.block.put(ARRIVAL_VALID, 1);
        self.seat.block.put(ARRIVAL_CONTEXT, u64::from(context));
    }

    /// Tells it that a hart is done with a message of a context, of which another one waits or not.
    pub fn done(&mut self, hart: u8, context: u16, waits: bool) {
        self.tell();
        if waits {
            self.asked = Some(context);
        }
        self.seat.block.put(DONE_VALID, 1);
        self.seat.block.put(DONE_HART, u64::from(hart));
        self.seat.block.put(DONE_CONTEXT, u64::from(context));
        self.seat.block.put(DONE_WAITS, u64::from(waits));
    }

    /// Wants it to choose what the model did.
    pub fn follow(&mut self, chosen: Option<u8>) {
        self.seat.block.expect(CHOSEN_VALID, u64::from(chosen.is_some()));
        if let Some(hart) = chosen {
            self.seat.block.expect(CHOSEN_HART, u64::from(hart));
        }
    }

    /// Gives what it chooses for the message that asks; `joins` says whether that hart can have it.
    pub fn chosen(&mut self, context: u16, joins: impl FnOnce(u8) -> bool) -> Option<u8> {
        if self.seat.block.get(CHOSEN_VALID) == 0 {
            self.refused.get_or_insert((self.seat.cycle, context));
            return None;
        }
        self.refused = None;
        let hart = self.seat.block.get(CHOSEN_HART) as u8;
        if joins(hart) {
            return Some(hart);
        }
        self.seat.wrong = Some(format!(
            "jbsq does what no unit may: chosen_hart is {hart}, which does not serve context {context} or has \
             as many of its messages as it may"
        ));
        None
    }
}

impl Placed for JbsqSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }

    fn describe(&self) -> String {
        let text = self.seat.block.describe();
        match self.refused {
            Some((since, context)) => format!(
                "{text}\n  a message of context {context} waits for jbsq, which has named no hart for {} cycles",
                self.seat.cycle.saturating_sub(since)
            ),
            None => text,
        }
    }
}
