//! What the peer says of a message: which packets it has, how many more may go, and what is to go
//! again; and what its silence says.

use super::{Acknowledged, Cause, Packetization, all_packets};
use crate::Cycle;
use crate::nic::transmit::counters::Counters;
use crate::transport::{Credit, Delivered, Packets};

impl Packetization {
    /// Takes an acknowledgement.
    pub fn delivered(&mut self, notice: &Delivered, counters: &mut Counters) -> Acknowledged {
        let fixes = self.fixes;
        let Some(message) = self.message(notice.tx_msg_id) else {
            counters.stray_acknowledgements += 1;
            return Acknowledged::Nothing;
        };
        let bit = 1u64.checked_shl(notice.packet.into()).unwrap_or(0);
        let before = if notice.and_all_before { bit.wrapping_sub(1) } else { 0 };
        let stray = !message.live || (bit | before) & !message.sent != 0 || bit == 0;
        // One for an earlier use of the id, which came late, would lose this use's packet.
        let is_late =
            fixes.message_generation && ![0, message.generation].contains(&notice.generation);
        if fixes.double_ack && stray || is_late {
            counters.stray_acknowledgements += 1;
            return Acknowledged::Nothing;
        }
        let all = all_packets(message.packets);
        let complete_before = message.delivered & all == all;
        message.delivered |= bit | before;
        if message.delivered & all != all {
            return Acknowledged::Nothing;
        }
        if complete_before {
            counters.stray_acknowledgements += 1;
            return if message.live { Acknowledged::Nothing } else { Acknowledged::Twice };
        }
        self.free(notice.tx_msg_id);
        counters.delivered += 1;
        Acknowledged::Complete
    }

    /// Frees a message's id and buffer.
    pub fn free(&mut self, id: u16) {
        let message = &mut self.messages[usize::from(id)];
        message.live = false;
        self.held[usize::from(message.outgoing.src_context)] -= 1;
        self.buffers.give_back(message.buffer);
        self.free_ids.push_back(id);
    }

    /// Takes credit, or the wish to get a packet again, in cycle `at`. Gives false if the queue of
    /// descriptors was full.
    pub fn credit(&mut self, notice: &Credit, at: Cycle, counters: &mut Counters) -> bool {
        let (fixes, nack_resends) = (self.fixes, self.rules.nack_resends);
        let Some(message) = self.message(notice.tx_msg_id) else {
            counters.stray_credits += 1;
            return true;
        };
        if fixes.double_ack && !message.live {
            // The PULL that comes with a message's last acknowledgement; or one too late.
            counters.stray_credits += u64::from(notice.retransmit.is_some());
            return true;
        }
        if let Some(packet) = notice.retransmit {
            let bit = 1u64.checked_shl(packet.into()).unwrap_or(0);
            if fixes.double_ack && bit & message.sent == 0 {
                counters.stray_credits += 1;
            } else {
                message.waiting |= bit & all_packets(message.packets);
            }
        }
        if let Some(credit) = notice.credit {
            let stale = fixes.stale_credit && credit < message.credit;
            if !stale {
                message.credit = credit;
                message.outgoing.granted_priority = Some(notice.priority);
            }
        }
        let resend = nack_resends && notice.retransmit.is_some();
        if notice.credit.is_none() && !resend {
            return true;
        }
        let within = 1u64.checked_shl(message.credit.into()).map_or(u64::MAX, |bit| bit - 1);
        let packets = message.waiting & within;
        message.waiting &= !packets;
        packets == 0 || self.schedule(Cause::Credit, notice.tx_msg_id, packets, at + 1)
    }

    /// Sends again, in cycle `at`, what a message has not got acknowledged when it times out.
    /// Gives false if the queue of descriptors was full.
    pub fn timed_out(&mut self, id: u16, at: Cycle) -> bool {
        let message = &mut self.messages[usize::from(id)];
        if self.fixes.double_ack && !message.live {
            return true;
        }
        let written = if self.fixes.unsent_timeout { message.sent } else { Packets::MAX };
        let packets = !message.delivered & written & all_packets(message.highest_timed + 1);
        message.highest_timed = message.highest_sent;
        packets == 0 || self.schedule(Cause::Timeout, id, packets, at + 1)
    }
}
