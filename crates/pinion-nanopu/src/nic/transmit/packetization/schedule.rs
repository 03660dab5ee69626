//! What goes next: three queues of descriptors, first transmissions before what credit released before
//! what timed out; of a descriptor's packets the lowest first.

use std::collections::VecDeque;

use super::{Descriptor, Packet, Packetization, all_packets};
use crate::Cycle;
use crate::transport::Packets;
use crate::waypoint::{Cause, Departing};

impl Packetization {
    /// Queues packets of a message; they may be taken from cycle `from` on. Gives false if the
    /// queue was full: then they join a descriptor of the same message, if there is one.
    pub(super) fn schedule(
        &mut self,
        cause: Cause,
        id: u16,
        packets: Packets,
        from: Cycle,
    ) -> bool {
        if self.hardware.in_place().is_some() {
            return true;
        }
        let generation = self.messages[usize::from(id)].generation;
        let queue = &mut self.queues[cause as usize];
        let full = queue.len() >= self.queue_limit;
        if !full {
            queue.push_back(Descriptor { cause, id, generation, packets, from });
        } else if let Some(same) =
            queue.iter_mut().find(|d| (d.id, d.generation) == (id, generation))
        {
            same.packets |= packets;
        } else {
            // A timeout or a later credit brings them back.
            self.messages[usize::from(id)].waiting |= packets;
        }
        !full
    }

    /// Tells when [`take_job`](Self::take_job) is due.
    pub fn next_job(&self) -> Option<Cycle> {
        if let Some(looks_at) = self.looks_at() {
            return looks_at;
        }
        if self.job.is_some() {
            return None;
        }
        let first = self.queues.iter().filter_map(|queue| queue.front()).map(|d| d.from).min()?;
        Some(first.max(self.idle_from))
    }

    /// Takes the most urgent descriptor, in cycle `at`.
    pub fn take_job(&mut self, at: Cycle) {
        if self.take_offered(at) {
            return;
        }
        let due = |queue: &&mut VecDeque<Descriptor>| queue.front().is_some_and(|d| d.from <= at);
        let Some(job) = self.queues.iter_mut().find(due).and_then(VecDeque::pop_front) else {
            return;
        };
        let message = &self.messages[usize::from(job.id)];
        let gone = !message.live || message.generation != job.generation;
        if self.fixes.double_ack && gone {
            self.idle_from = at + 1;
            return;
        }
        self.job = Some(job);
        self.job_from = at + self.buffer_cycles - 1;
        self.tell_offer(self.job_from);
    }

    /// Tells when the next packet is there for the arbiter.
    pub fn packet_from(&self) -> Option<Cycle> {
        self.job.map(|_| self.job_from)
    }

    /// Gives the next packet.
    pub fn packet(&self) -> Option<Packet> {
        let job = self.job?;
        let message = &self.messages[usize::from(job.id)];
        let number = job.packets.trailing_zeros() as u8;
        let offset = usize::from(number) * usize::from(self.packet_bytes);
        let bytes = usize::from(message.outgoing.msg_len)
            .saturating_sub(offset)
            .min(self.packet_bytes.into());
        let again = message.sent >> number & 1 != 0;
        let (outgoing, buffer) = (message.outgoing, message.buffer);
        let departing = Departing {
            message: message.number,
            packet: number,
            cause: job.cause,
            ready: job.from,
            offered: self.job_from,
        };
        Some(Packet { outgoing, number, again, offset, departing, bytes, buffer })
    }

    /// Gives a packet's payload.
    pub fn payload(&self, packet: &Packet) -> &[u8] {
        self.buffers.read(packet.buffer, packet.offset, packet.bytes)
    }

    /// Hears that the packet goes; its last word passes the arbiter in cycle `last_word`. Tells
    /// whether the message is done with (transports without acknowledgements).
    pub fn packet_sent(&mut self, last_word: Cycle) -> bool {
        let Some(job) = &mut self.job else {
            return false;
        };
        let number = job.packets.trailing_zeros() as u8;
        let message = &mut self.messages[usize::from(job.id)];
        message.sent |= 1 << number;
        message.highest_sent = message.highest_sent.max(number);
        let done = !self.rules.acknowledged && message.sent == all_packets(message.packets);
        job.packets &= job.packets - 1;
        if job.packets == 0 {
            self.job = None;
            self.idle_from = last_word + 1;
        } else {
            self.job_from = last_word + 1;
            self.tell_offer(self.job_from);
        }
        done
    }
}
