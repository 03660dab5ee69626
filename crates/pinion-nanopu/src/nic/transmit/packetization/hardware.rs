//! Packetization's block: what it is told, and when.

use std::collections::VecDeque;

use super::{Descriptor, Gate, Packet, Packetization, Stream};
use crate::Cycle;
use crate::hardware::ndp_ingress::{Named, fields};
use crate::hardware::packetization::{CreditTold, Offer, Word};
use crate::hardware::{InLoop, PacketizationSeat};
use crate::transport::{Credit, Delivered};
use crate::waypoint::Cause;

impl Packetization {
    /// Puts a block into its place, or beside it.
    pub fn set_hardware(&mut self, seat: PacketizationSeat) {
        self.hardware = InLoop::new(seat);
    }

    /// Gives its block, if it has one.
    pub fn hardware(&self) -> Option<&PacketizationSeat> {
        self.hardware.get()
    }

    /// Says whether a block stands in its place.
    pub fn is_replaced(&self) -> bool {
        self.hardware.in_place().is_some()
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.clock(to);
        }
    }

    /// Says what a stream's first word, `value`, meets in cycle `at`, as a block in packetization's place says.
    pub fn gate_at(&mut self, at: Cycle, stream: Stream, value: u64) -> Gate {
        let (gate, bytes) = (self.gate(stream, value), value as u16);
        let is_own = gate == Gate::Data || self.is_refused(bytes) || self.over_quota(stream);
        let Some(seat) = self.hardware.in_place_mut().filter(|_| !is_own) else { return gate };
        let (hart, context) = (stream.hart() as u8, stream.context() as u16);
        let Some(id) = seat.would_begin(at, hart, context, value) else { return Gate::Wait };
        if !self.free_ids.contains(&id) {
            seat.refuse(&format!("begins_id is {id}, which is another message's"));
        } else if !self.buffers.has(bytes) {
            seat.refuse(&format!("it takes a message of {bytes} bytes, and no buffer is free"));
        } else {
            return Gate::Header;
        }
        Gate::Wait
    }

    /// Takes an id for the message that a stream's word begins: the first free one, or the block's.
    pub(super) fn take_id(&mut self, at: Cycle, stream: Stream, value: u64) -> Option<u16> {
        let (hart, context) = (stream.hart() as u8, stream.context() as u16);
        let Some(seat) = self.hardware.in_place_mut() else { return self.free_ids.pop_front() };
        let id = seat.would_begin(at, hart, context, value)?;
        let place = self.free_ids.iter().position(|free| *free == id)?;
        self.free_ids.remove(place)
    }

    /// Tells when somebody has to look whether a block in packetization's place offers a packet; none without.
    pub(super) fn looks_at(&self) -> Option<Option<Cycle>> {
        let seat = self.hardware.in_place()?;
        let is_live = self.free_ids.len() < usize::from(self.message_ids);
        let has_some = is_live || seat.may_linger();
        Some((has_some && self.job.is_none()).then(|| seat.next().max(self.idle_from)))
    }

    /// Takes the packet that a block in packetization's place offers in cycle `at`; false without one.
    pub(super) fn take_offered(&mut self, at: Cycle) -> bool {
        let Some(seat) = self.hardware.in_place_mut() else { return false };
        let Some((id, number)) = seat.offered(at) else { return true };
        // What was chosen in the cycle before may have arrived in this one: it goes all the same.
        let message = self.messages.get(usize::from(id));
        let Some(message) = message.filter(|one| number < one.packets) else {
            seat.refuse(&format!("it offers packet {number} of message {id}, which there is not"));
            return true;
        };
        let was_sent = message.sent >> number & 1 != 0;
        let cause = if was_sent { Cause::Timeout } else { Cause::First };
        let packets = 1 << number;
        self.job =
            Some(Descriptor { cause, id, generation: message.generation, packets, from: at });
        self.job_from = at;
        seat.offer(at);
        true
    }

    /// Tells the block of a word of a stream and its cycle.
    pub fn tell_word(
        &mut self,
        stream: Stream,
        (value, at): (u64, Cycle),
        begins: Option<u16>,
        ends: bool,
    ) {
        if let Some(seat) = self.hardware.get_mut() {
            let (hart, context) = (stream.hart() as u8, stream.context() as u16);
            seat.word(Word { at, hart, context, value, begins, ends });
        }
    }

    /// Tells the block of an acknowledgement that takes effect in cycle `at`, of the use of an id that is meant.
    pub fn tell_delivered(&mut self, at: Cycle, notice: &Delivered, completes: bool) {
        let id = notice.tx_msg_id;
        let own = self.messages.get(usize::from(id)).map_or(0, |message| message.generation);
        let is_late = self.fixes.message_generation && ![0, own].contains(&notice.generation);
        if let Some(seat) = self.hardware.get_mut().filter(|_| id < self.message_ids && !is_late) {
            seat.delivered(at, id, notice.packet, completes);
        }
    }

    /// Tells the block of credit that takes effect in cycle `at`; with the fix `stale_credit` one that is lower
    /// than an earlier one stands for that.
    pub fn tell_credit(&mut self, at: Cycle, notice: &Credit) {
        let id = notice.tx_msg_id;
        let Some(seat) = self.hardware.get_mut().filter(|_| id < self.message_ids) else { return };
        let own = self.messages.get(usize::from(id)).map_or(0, |message| message.credit);
        let pull = notice.credit.map(|_| own);
        seat.credit(CreditTold { at, id, nack: notice.retransmit, pull });
    }

    /// Tells the block that a message's time is over, from cycle `at` on.
    pub fn tell_timeout(&mut self, at: Cycle, id: u16) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.timeout(at, id);
        }
    }

    /// Tells the block that the packet offered goes, its words in these cycles.
    pub fn tell_pass(&mut self, packet: &Packet, cycles: VecDeque<Cycle>) {
        if self.hardware.get().is_none() {
            return;
        }
        let offer = self.offer(packet);
        if let Some(seat) = self.hardware.get_mut() {
            seat.pass(offer, cycles);
        }
    }

    /// Gives a packet as blocks are told of it.
    pub fn offer(&self, packet: &Packet) -> Offer {
        let outgoing = &packet.outgoing;
        let named = Named {
            source: (outgoing.dst_ip, outgoing.dst_context),
            context: outgoing.src_context,
            bytes: outgoing.msg_len,
            packet: packet.number,
            number: outgoing.tx_msg_id,
            buffer: (outgoing.buf_ptr, outgoing.buf_size_class),
        };
        let data = fields(&named, 0);
        let payload = self.payload(packet).to_vec();
        Offer { id: outgoing.tx_msg_id, number: packet.number, data, payload }
    }

    /// Tells the block that a packet is offered from cycle `from` on.
    pub(super) fn tell_offer(&mut self, from: Cycle) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.offer(from);
        }
    }
}
