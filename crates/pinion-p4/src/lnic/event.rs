//! Controls of events, compiled and bound to the NIC's units. In: a checked ingress program. Out: a flat program
//! for each event that it handles, and the registers that tell it what has happened.

use super::Read;
use super::alone::written;
use super::bind::Units;
use super::bound::at_sites;
use super::fields::{Parameters, parameters};
use super::unit::Unit;
use crate::flat::{Flat, Interface, Packet, Register};
use crate::program::{Event, EventKind, Slot};

/// What has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happening {
    /// The number of a timer.
    pub timer: u16,
    /// Why a packet was dropped, by its number in `lnic.p4`.
    pub reason: u8,
    /// Flags of a packet.
    pub flags: u8,
    /// Where a packet or message came from.
    pub src_ip: u32,
    /// The context that sent it.
    pub src_context: u16,
    /// The context that it was for; that of a queue.
    pub dst_context: u16,
    /// Bytes of the message.
    pub msg_len: u16,
    /// Number of the packet in it.
    pub pkt_offset: u8,
    /// Its sender's number of the message.
    pub tx_msg_id: u16,
    /// Words in a queue.
    pub words: u16,
}

/// The fields of `event_t`.
const FIELDS: [&str; 10] = [
    "timer",
    "reason",
    "flags",
    "src_ip",
    "src_context",
    "dst_context",
    "msg_len",
    "pkt_offset",
    "tx_msg_id",
    "words",
];

/// A control that handles an event.
pub struct Handler {
    /// The event.
    pub kind: EventKind,
    /// Of a queue: the words that it passes.
    pub threshold: u32,
    /// The control, and the deparser behind it.
    pub flat: Flat,
    /// By extern: the unit that it stands for.
    pub units: Vec<Unit>,
    /// By site: its unit, with registers for fields.
    pub asked: Vec<Unit>,
    /// Registers of its parameters.
    pub parameters: Parameters,
    /// `smeta.send`.
    pub send: Option<Register>,
    /// Cycles from the event to what it makes others do.
    pub cycles: u64,
    told: [Option<Register>; FIELDS.len()],
}

impl Handler {
    pub(super) fn of(read: &Read, event: &Event, bound: &mut Units) -> Result<Self, String> {
        let program = &event.program;
        let place = |span| read.sources.place(span);
        let units = bound.bind(read, program)?;
        let is_here = |unit: &Unit| !matches!(unit, Unit::Lookup(_) | Unit::Sum(_));
        if let Some(unit) = units.iter().position(|unit| !is_here(unit)) {
            let external = &program.externs[unit];
            return Err(format!(
                "{}: {} asks about the packet at hand, and an event has none",
                place(external.span),
                external.name
            ));
        }
        let send = written(program, "smeta.send");
        let told: Vec<Slot> = (program.told.0..program.told.0 + program.told.1).collect();
        let mut inputs = parameters(program);
        inputs.extend(&told);
        let decided: Vec<Slot> = send.into_iter().collect();
        let interface = Interface {
            inputs: &inputs,
            decided: &decided,
            deparses: send.is_some(),
            ..Interface::default()
        };
        let flat = Flat::compile(program, &interface)?;
        let register = |name: &str| flat.register(program.find(&format!("event.{name}"))?);
        Ok(Self {
            kind: event.kind,
            threshold: event.threshold,
            parameters: Parameters::of(program, &flat),
            send: send.and_then(|slot| flat.decided(slot)),
            cycles: program.stages.cycles.max(1).into(),
            told: FIELDS.map(register),
            asked: at_sites(&units, &flat),
            units,
            flat,
        })
    }

    /// Tells the control what has happened.
    pub fn tell(&self, packet: &mut Packet, happening: &Happening) {
        let it = happening;
        let values: [u64; FIELDS.len()] = [
            it.timer.into(),
            it.reason.into(),
            it.flags.into(),
            it.src_ip.into(),
            it.src_context.into(),
            it.dst_context.into(),
            it.msg_len.into(),
            it.pkt_offset.into(),
            it.tx_msg_id.into(),
            it.words.into(),
        ];
        for (register, value) in self.told.iter().zip(values) {
            packet.set(*register, value);
        }
    }
}
