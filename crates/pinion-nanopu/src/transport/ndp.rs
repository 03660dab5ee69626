//! NDP on the way in and out (nanoPU paper, §3.1; RTL Ingress, Egress, PktGen).
//!
//! In: a frame's header. Out: ACK+PULL for each data packet, NACK+PULL for a trimmed one; for
//! control frames, what they tell the transmit side. Holds one credit per incoming message: the
//! highest packet its sender may send.
//!
//! A packet that reassembly does not take is dropped without an answer, as the RTL does; with the
//! fix `lost_reack` a packet that has already arrived is acknowledged again, since its sender can
//! only be asking because the first acknowledgement was lost.

use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header, NDP_PROTOCOL};

use super::{
    Address, ControlRules, DropReason, Externs, Outgoing, Refusal, SendRules, Transport, Verdict,
    data_header,
};
use crate::transport::{ControlRequest, Credit, Delivered};

/// Decides as NDP does.
#[derive(Clone, Debug)]
pub struct Ndp {
    /// Packets a sender may send before it hears anything (the RTL's `rtt_pkts`).
    rtt_packets: u16,
    /// Whether packets that arrive again are acknowledged again.
    acknowledge_again: bool,
    /// By message id: number of packets its sender may send.
    credits: Vec<u16>,
}

impl Ndp {
    /// Makes NDP with a window of `rtt_packets`, for `messages` messages at a time;
    /// `acknowledge_again` answers duplicates.
    pub fn new(rtt_packets: u16, messages: usize, acknowledge_again: bool) -> Self {
        Self { rtt_packets, acknowledge_again, credits: vec![0; messages] }
    }

    /// Answers a data packet.
    fn data_arrived(&mut self, header: &Header, externs: &mut dyn Externs) -> Verdict {
        let trimmed = header.flags.has(Flags::CHOP);
        let message = match externs.message(header, trimmed) {
            Ok(message) => message,
            Err(refusal) => {
                self.acknowledge_duplicate(header, refusal, externs);
                return Verdict::Drop(refusal.into());
            }
        };
        let credit = &mut self.credits[usize::from(message.rx_id)];
        let before = if message.new { self.rtt_packets } else { *credit };
        // A trimmed packet does not add to the credit: it will be sent again.
        *credit = before.saturating_add(u16::from(!trimmed));
        externs.control(ControlRequest {
            at: externs.now(),
            answers: *header,
            acknowledge: !trimmed,
            negative: trimmed,
            pull: true,
            pull_offset: *credit,
            grant_priority: 0,
        });
        if trimmed { Verdict::Consume } else { Verdict::Reassemble { rx_id: message.rx_id } }
    }

    /// Acknowledges a packet that came again. It gives no credit: the packet does not free any.
    fn acknowledge_duplicate(&self, header: &Header, why: Refusal, externs: &mut dyn Externs) {
        let pull_offset = match why {
            Refusal::Duplicate { message } => self.credits[usize::from(message.rx_id)],
            Refusal::Finished => 0,
            Refusal::NoBuffer | Refusal::Quota | Refusal::Bad(_) => return,
        };
        if !self.acknowledge_again {
            return;
        }
        externs.control(ControlRequest {
            at: externs.now(),
            answers: *header,
            acknowledge: true,
            negative: false,
            pull: matches!(why, Refusal::Duplicate { .. }),
            pull_offset,
            grant_priority: 0,
        });
    }
}

impl Transport for Ndp {
    fn name(&self) -> &'static str {
        "ndp"
    }

    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        Ok(Header::parse(frame, NDP_PROTOCOL)?)
    }

    fn arrive(&mut self, header: &Header, _payload: &[u8], externs: &mut dyn Externs) -> Verdict {
        let flags = header.flags;
        if flags.has(Flags::DATA) {
            return self.data_arrived(header, externs);
        }
        let at = externs.now();
        if flags.has(Flags::ACK) {
            externs.delivered(Delivered {
                at,
                tx_msg_id: header.tx_msg_id,
                packet: header.pkt_offset,
                and_all_before: false,
                generation: header.answers,
            });
        }
        let (negative, pull) = (flags.has(Flags::NACK), flags.has(Flags::PULL));
        if negative || pull {
            externs.credit(Credit {
                at,
                tx_msg_id: header.tx_msg_id,
                retransmit: negative.then_some(header.pkt_offset),
                credit: pull.then_some(header.pull_offset),
                priority: 0,
            });
        }
        Verdict::Consume
    }

    fn send_rules(&self) -> SendRules {
        SendRules {
            acknowledged: true,
            initial_credit: None,
            max_packets: None,
            nack_resends: false,
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, _again: bool, own: &Address) -> Header {
        Header { protocol: NDP_PROTOCOL, ..data_header(message, packet, own) }
    }

    fn control_rules(&self) -> ControlRules {
        ControlRules { paced: true, combined: true, payload_bytes: CONTROL_PAYLOAD_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cycle;
    use crate::transport::{MessageInfo, control_header};

    /// Answers look-ups as told and remembers requests.
    struct Nic {
        answer: Result<MessageInfo, Refusal>,
        control: Vec<ControlRequest>,
        delivered: Vec<Delivered>,
        credit: Vec<Credit>,
    }

    impl Nic {
        fn answering(answer: Result<MessageInfo, Refusal>) -> Self {
            Self { answer, control: Vec::new(), delivered: Vec::new(), credit: Vec::new() }
        }
    }

    impl Externs for Nic {
        fn now(&self) -> Cycle {
            77
        }
        fn message(&mut self, _: &Header, _: bool) -> Result<MessageInfo, Refusal> {
            self.answer
        }
        fn control(&mut self, request: ControlRequest) {
            self.control.push(request);
        }
        fn delivered(&mut self, delivered: Delivered) {
            self.delivered.push(delivered);
        }
        fn credit(&mut self, credit: Credit) {
            self.credit.push(credit);
        }
    }

    fn info(new: bool) -> MessageInfo {
        MessageInfo { rx_id: 3, new, packets: 2, received: 1 }
    }

    fn header(flags: Flags) -> Header {
        Header { flags, tx_msg_id: 9, pkt_offset: 1, pull_offset: 5, ..Header::default() }
    }

    /// Lets a data packet arrive; gives the request it leads to.
    fn data(
        ndp: &mut Ndp,
        answer: Result<MessageInfo, Refusal>,
        flags: Flags,
    ) -> Option<ControlRequest> {
        let mut nic = Nic::answering(answer);
        let verdict = ndp.arrive(&header(flags.with(Flags::DATA)), &[0; 8], &mut nic);
        match (answer, flags.has(Flags::CHOP)) {
            (Ok(message), false) => {
                assert_eq!(verdict, Verdict::Reassemble { rx_id: message.rx_id });
            }
            (Ok(_), true) => assert_eq!(verdict, Verdict::Consume),
            (Err(why), _) => assert_eq!(verdict, Verdict::Drop(why.into())),
        }
        nic.control.pop()
    }

    #[test]
    fn credit_grows_with_each_whole_packet_only() {
        let mut ndp = Ndp::new(2, 8, false);
        let mut pull = |new, flags| data(&mut ndp, Ok(info(new)), flags).map(|r| r.pull_offset);
        assert_eq!(pull(true, Flags::default()), Some(3));
        assert_eq!(pull(false, Flags::CHOP), Some(3));
        assert_eq!(pull(false, Flags::default()), Some(4));
        assert_eq!(pull(true, Flags::CHOP), Some(2), "a new message begins afresh");
    }

    #[test]
    fn what_finds_no_room_is_not_answered_and_what_came_before_is_if_wanted() {
        let duplicate = Refusal::Duplicate { message: info(false) };
        for (again, answered) in [(false, [false; 4]), (true, [true, true, false, false])] {
            let mut ndp = Ndp::new(2, 8, again);
            let refusals = [duplicate, Refusal::Finished, Refusal::NoBuffer, Refusal::Quota];
            let answers = refusals.map(|why| data(&mut ndp, Err(why), Flags::default()));
            assert_eq!(answers.each_ref().map(Option::is_some), answered);
            assert!(answers.iter().flatten().all(|answer| answer.acknowledge && answer.at == 77));
        }
    }

    #[test]
    fn control_frames_say_what_they_say() {
        let mut ndp = Ndp::new(2, 8, false);
        let mut nic = Nic::answering(Err(Refusal::NoBuffer));
        for flags in [Flags::ACK, Flags::NACK, Flags::NACK.with(Flags::PULL)] {
            assert_eq!(ndp.arrive(&header(flags), &[0; 64], &mut nic), Verdict::Consume);
        }
        assert_eq!(nic.delivered.len(), 1);
        let asked: Vec<_> = nic.credit.iter().map(|c| (c.retransmit, c.credit)).collect();
        assert_eq!(asked, [(Some(1), None), (Some(1), Some(5))]);
    }

    #[test]
    fn an_answer_goes_back_where_the_packet_came_from() {
        let answers = Header {
            protocol: NDP_PROTOCOL,
            src_ip: 1,
            dst_ip: 2,
            src_context: 3,
            dst_context: 4,
            msg_len: 8,
            buf_ptr: 6,
            ..header(Flags::DATA)
        };
        let mut ndp = Ndp::new(2, 8, false);
        let request = ControlRequest {
            at: 0,
            answers,
            acknowledge: true,
            negative: false,
            pull: true,
            pull_offset: 3,
            grant_priority: 0,
        };
        let own = Address { ip: 2, ..Address::default() };
        let flags = Flags::ACK.with(Flags::PULL);
        let sent = ndp.control(&request, flags, &own);
        assert_eq!(sent, control_header(&request, flags, &own));
        assert_eq!((sent.src_ip, sent.dst_ip, sent.pull_offset), (2, 1, 3));
        assert_eq!((sent.src_context, sent.dst_context, sent.buf_ptr), (4, 3, 6));
        assert_eq!(ndp.name(), "ndp");
    }
}
