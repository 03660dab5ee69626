//! Ingress programs that ask none of the NIC's units: each packet is a whole message, and all that the NIC
//! knows of it is what the program says. In: a program. Out: the places where it says it.

use super::unit::Unit;
use crate::flat::{Flat, Register};
use crate::program::{Program, Slot, StepKind, visit};

/// Fields of `ingress_metadata_t` by which such a program says what its packet's headers do not.
const TOLD: [&str; 5] = [
    "meta.meta.src_context",
    "meta.meta.dst_context",
    "meta.meta.msg_len",
    "meta.meta.payload_len",
    "meta.meta.src_ip",
];

/// Registers of what a program says of a packet; of what it says nothing, its headers do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// The context, or port, that sent.
    pub src_context: Option<Register>,
    /// The context that is to receive.
    pub dst_context: Option<Register>,
    /// Bytes of the message.
    pub msg_len: Option<Register>,
    /// Bytes of payload behind the headers that were parsed; what comes behind these pads the frame.
    pub payload_len: Option<Register>,
    /// The address that sent, where it is not that of the frame's first IPv4 header.
    pub src_ip: Option<Register>,
}

impl Told {
    pub(super) fn of(slots: [Option<Slot>; 5], flat: &Flat) -> Self {
        let [src_context, dst_context, msg_len, payload_len, src_ip] =
            slots.map(|slot| slot.and_then(|slot| flat.decided(slot)));
        Self { src_context, dst_context, msg_len, payload_len, src_ip }
    }
}

/// Finds a place by its name, if the control writes it.
pub(super) fn written(program: &Program, name: &str) -> Option<Slot> {
    let wanted = program.find(name)?;
    let mut is_written = false;
    visit(&program.control, &mut |step| match step.kind {
        StepKind::Set(slot, _) | StepKind::SetBits(slot, ..) => is_written |= slot == wanted,
        StepKind::Copy(_, to, count) => is_written |= (to..to + count).contains(&wanted),
        _ => {}
    });
    is_written.then_some(wanted)
}

/// Finds where a program says what its packets are, if it asks none of the NIC's units.
///
/// # Errors
/// It asks some, and also for sums of frames or for a payload shorter than the frame's: units that put
/// messages together take a packet's payload as it comes.
pub(super) fn told(program: &Program, units: &[Unit]) -> Result<Option<[Option<Slot>; 5]>, String> {
    let is_own = |unit: &Unit| {
        matches!(
            unit,
            Unit::Array(_) | Unit::Delay { .. } | Unit::Sum(_) | Unit::Start(_) | Unit::Table(_)
        )
    };
    let slots = TOLD.map(|name| written(program, name));
    let Some(other) = units.iter().position(|unit| !is_own(unit)) else { return Ok(Some(slots)) };
    let other = &program.externs[other].name;
    if let Some(sum) = units.iter().position(|unit| matches!(unit, Unit::Sum(_))) {
        let sum = &program.externs[sum].name;
        return Err(format!("{sum} does not go with {other}: leave one of them out"));
    }
    match slots[3] {
        Some(_) => Err(format!("meta.meta.payload_len does not go with {other}: do not set it")),
        None => Ok(None),
    }
}
