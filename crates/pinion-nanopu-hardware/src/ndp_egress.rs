//! The ports of egress with NDP fixed in it: arbiter, headers and pins. In: control frames and data packets, from which
//! cycle on they are offered and when the model takes them. Out: which is taken, and flits. It runs beside the model only:
//! a frame's last flit lies some hundred cycles ahead when the model decides about it, and what comes meanwhile is not known.

use std::collections::VecDeque;

use pinion_nanopu_machine::node::Machine;
use pinion_nanopu_machine::transport::TransportKind;
use pinion_sim::block::{Block, Needs, Port};

use crate::packetization::Offer;
use crate::{Cycle, FIELDS_BITS, Fields, Placed, Seat, take_first_due, words_of};

const OWN_MAC: usize = 0;
const NEXT_MAC: usize = 1;
const OWN_IP: usize = 2;
const CONTROL_VALID: usize = 3;
const CONTROL_ACK: usize = 4;
const CONTROL_NACK: usize = 5;
const CONTROL_PULL: usize = 6;
const CONTROL_DATA: usize = 7;
const PACKET_VALID: usize = 8;
const PACKET_FIRST: usize = 9;
const PACKET_LAST: usize = 10;
const PACKET_WORD: usize = 11;
const PACKET_DATA: usize = 12;
const PACKET_BYTES: usize = 13;
const OUT_READY: usize = 14;
const CONTROL_READY: usize = 15;
const PACKET_READY: usize = 16;
const OUT_VALID: usize = 17;
const OUT_DATA: usize = 18;
const OUT_KEEP: usize = 19;
const OUT_LAST: usize = 20;

/// Bytes of a word of payload, and of a flit.
const WORD_BYTES: usize = 64;
const FLIT_BYTES: usize = 8;
/// Bytes of headers.
const HEADER_BYTES: usize = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    if machine.transport.kind != TransportKind::Ndp {
        return Err("the block writes NDP's headers: --set transport.kind=ndp".into());
    }
    let section = &machine.transmit;
    if section.fixes.message_generation {
        return Err("the block's control frames do not say which use of its number a message has: --faithful, or --set \
                    transmit.fixes.message_generation=false"
            .into());
    }
    let egress = &section.egress;
    let latency = &section.latency;
    let is_published = egress.arbiter_words == egress.pipeline_words
        && egress.pin_bytes == FLIT_BYTES as u64
        && (latency.arbiter_cycles, latency.pipeline_cycles) == (1, 1);
    if !is_published {
        return Err(format!(
            "transmit.egress and transmit.latency: the block has two queues of as many words, {FLIT_BYTES} bytes on the \
             pins, and a cycle each behind the arbiter and in the pipeline"
        ));
    }
    let ports = vec![
        Port::input("own_mac", 48),
        Port::input("next_mac", 48),
        Port::input("own_ip", 32),
        Port::input("control_valid", 1),
        Port::input("control_ack", 1),
        Port::input("control_nack", 1),
        Port::input("control_pull", 1),
        Port::input("control_data", FIELDS_BITS),
        Port::input("packet_valid", 1),
        Port::input("packet_first", 1),
        Port::input("packet_last", 1),
        Port::input("packet_word", 8 * WORD_BYTES as u32),
        Port::input("packet_data", FIELDS_BITS),
        Port::input("packet_bytes", 16),
        Port::input("out_ready", 1),
        Port::output("control_ready", 1),
        Port::output("packet_ready", 1),
        Port::output("out_valid", 1),
        Port::output("out_data", 64),
        Port::output("out_keep", 8),
        Port::output("out_last", 1),
    ];
    Ok(Needs { ports, parameters: vec![("QUEUE", egress.arbiter_words as u64)] })
}

/// Is a control frame that the arbiter takes.
#[derive(Clone, Copy, Debug)]
pub struct ControlTaken {
    /// The cycle from which on it is offered.
    pub from: Cycle,
    /// The cycle in which it is taken.
    pub at: Cycle,
    /// ACK, NACK and PULL.
    pub flags: [bool; 3],
    /// What its headers say.
    pub fields: Fields,
}

/// Is a data packet whose words the arbiter takes.
#[derive(Debug)]
struct PacketTaken {
    from: Cycle,
    offer: Offer,
    /// The cycles of its words that have not been taken, and how many have.
    words: VecDeque<Cycle>,
    gone: usize,
}

/// Is a flit on the pins.
#[derive(Clone, Copy, Debug)]
struct Flit {
    at: Cycle,
    bytes: [u8; FLIT_BYTES],
    count: usize,
    is_last: bool,
}

/// Holds egress's block beside the model.
#[derive(Debug)]
pub struct EgressSeat {
    seat: Seat,
    controls: VecDeque<ControlTaken>,
    packets: VecDeque<PacketTaken>,
    flits: VecDeque<Flit>,
    frames: u64,
}

/// Gives a MAC address as a number.
fn mac(bytes: [u8; 6]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

impl EgressSeat {
    /// Puts a block beside the model, with the node's names.
    pub fn new(block: Box<dyn Block>, machine: &Machine, names: ([u8; 6], [u8; 6], u32)) -> Self {
        let mut seat = Seat::new(block, true, machine);
        let (own, next, ip) = names;
        seat.block.put(OWN_MAC, mac(own));
        seat.block.put(NEXT_MAC, mac(next));
        seat.block.put(OWN_IP, ip.into());
        seat.block.put(OUT_READY, 1);
        let (controls, packets, flits) = Default::default();
        Self { seat, controls, packets, flits, frames: 0 }
    }

    /// Hears that the arbiter takes a control frame.
    pub fn control(&mut self, taken: ControlTaken) {
        self.controls.push_back(taken);
    }

    /// Hears that the arbiter takes a packet that is offered from cycle `from` on, its words in these cycles.
    pub fn packet(&mut self, from: Cycle, offer: Offer, words: VecDeque<Cycle>) {
        self.packets.push_back(PacketTaken { from, offer, words, gone: 0 });
    }

    /// Hears the frame that leaves: its headers from cycle `first` on, each word of its payload from the cycle on that
    /// `words` says.
    pub fn leaves(&mut self, first: Cycle, words: &[Cycle], frame: &[u8]) {
        self.frames += 1;
        let (head, payload) = frame.split_at(HEADER_BYTES.min(frame.len()));
        let parts = payload.chunks(WORD_BYTES).zip(words.iter().copied());
        for (part, from) in std::iter::once((head, first)).chain(parts) {
            for (at, flit) in (from..).zip(part.chunks(FLIT_BYTES)) {
                let mut bytes = [0; FLIT_BYTES];
                bytes[..flit.len()].copy_from_slice(flit);
                self.flits.push_back(Flit { at, bytes, count: flit.len(), is_last: false });
            }
        }
        if let Some(last) = self.flits.back_mut() {
            last.is_last = true;
        }
    }

    /// Lets the block take all cycles before one, from which on frames may be offered that have not been taken.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            let takes_control = self.put_control();
            let takes_word = self.put_packet();
            self.expect_flit();
            let Self { seat, controls, packets, frames, .. } = self;
            seat.end_cycle(|| {
                let (controls, packets) = (controls.len(), packets.len());
                format!("{frames} frames have left or are on their way, {controls} control frames and {packets} packets wait")
            });
            if takes_control {
                self.controls.pop_front();
            }
            if takes_word && let Some(packet) = self.packets.front_mut() {
                packet.words.pop_front();
                packet.gone += 1;
                if packet.words.is_empty() {
                    self.packets.pop_front();
                }
            }
        }
    }

    /// Offers the control frame of the block's cycle, and wants it taken when the model does; says whether that is now.
    fn put_control(&mut self) -> bool {
        let Self { seat, controls, .. } = self;
        let first = controls.front().filter(|one| one.from <= seat.cycle);
        seat.block.put(CONTROL_VALID, first.is_some().into());
        let Some(control) = first else { return false };
        for (port, flag) in [CONTROL_ACK, CONTROL_NACK, CONTROL_PULL].into_iter().zip(control.flags)
        {
            seat.block.put(port, flag.into());
        }
        seat.block.put_words(CONTROL_DATA, &control.fields);
        let takes = control.at <= seat.cycle;
        seat.block.expect(CONTROL_READY, takes.into());
        takes
    }

    /// Offers the word of the block's cycle, and wants it taken when the model does; says whether that is now.
    fn put_packet(&mut self) -> bool {
        let Self { seat, packets, .. } = self;
        let first = packets.front().filter(|one| one.from <= seat.cycle);
        seat.block.put(PACKET_VALID, first.is_some().into());
        let Some(packet) = first else { return false };
        let block = &mut seat.block;
        block.put(PACKET_FIRST, (packet.gone == 0).into());
        block.put(PACKET_LAST, (packet.words.len() == 1).into());
        block.put(PACKET_BYTES, packet.offer.payload.len() as u64);
        block.put_words(PACKET_DATA, &packet.offer.data);
        let bytes = packet.offer.payload.chunks(WORD_BYTES).nth(packet.gone).unwrap_or(&[]);
        block.put_words(PACKET_WORD, &words_of(bytes));
        let takes = packet.words.front().is_some_and(|at| *at <= seat.cycle);
        block.expect(PACKET_READY, takes.into());
        takes
    }

    /// Wants the flit of the block's cycle on the pins, or none.
    fn expect_flit(&mut self) {
        let Self { seat, flits, .. } = self;
        let flit = take_first_due(flits, seat.cycle, |flit| flit.at);
        let block = &mut seat.block;
        block.expect(OUT_VALID, flit.is_some().into());
        let Some(flit) = flit else { return };
        let kept = u64::MAX >> (8 * (FLIT_BYTES - flit.count));
        // What lies behind the frame's end is nobody's.
        let others = block.get(OUT_DATA) & !kept;
        block.expect(OUT_DATA, others | u64::from_le_bytes(flit.bytes));
        block.expect(OUT_KEEP, (1 << flit.count) - 1);
        block.expect(OUT_LAST, flit.is_last.into());
    }
}

impl Placed for EgressSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
