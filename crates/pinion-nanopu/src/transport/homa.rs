//! Homa on the way in and out (Montazeri et al., SIGCOMM 2018; RTL of the transport-dev branch:
//! Ingress_Homa, Egress_Homa, PktGen_Homa; nanoPU paper, §3.1, leaves it to others).
//!
//! In: a frame's header. Out: for data packets, GRANTs to the messages that have least to come, an
//! ACK when a message is complete, a NACK for a trimmed packet or one without room; for control
//! frames, what they tell the transmit side. Holds, for each incoming message, whom to grant, how
//! much has come and how much it may send.
//!
//! Of the messages that need grants, ranked by the packets still to come (shortest remaining first;
//! ties: lower id), the first `overcommitment` may be granted a window beyond what has come; each
//! packet that arrives gives one grant, to the first of them that is not granted so far yet. A grant
//! carries a priority: its message's rank plus one. The unscheduled packets, those within the
//! first window, go at priority 0, the highest; packets that go again never do.
//!
//! The packet number of an ACK or GRANT counts the packets that have arrived without a gap: it
//! acknowledges all of them.

use pinion_net::frame::lnic::{Flags, HOMA_PROTOCOL, Header};

use super::{
    Address, ControlRules, DropReason, Externs, MessageInfo, Outgoing, Refusal, SendRules,
    Transport, Verdict, data_header,
};
use crate::transport::{ControlRequest, Credit, Delivered};

/// Zero bytes behind the headers of a control frame (RTL PktGen_Homa).
const CONTROL_PAYLOAD_BYTES: usize = 1;
/// The highest priority of packets that a grant let go.
const FIRST_SCHEDULED_PRIORITY: u8 = 1;

/// Holds what is known of an incoming message.
#[derive(Clone, Copy, Debug, Default)]
struct Incoming {
    /// A header of its, to answer to.
    header: Header,
    packets: u8,
    received: u8,
    in_order: u8,
    /// Packets that its sender may send.
    granted: u16,
}

impl Incoming {
    /// Counts the packets that have not arrived.
    fn remaining(&self) -> u8 {
        self.packets - self.received
    }
}

/// Decides as Homa does.
#[derive(Clone, Debug)]
pub struct Homa {
    /// Packets a message may send unasked.
    rtt_packets: u16,
    /// Messages that may have grants at the same time.
    overcommitment: usize,
    /// Whether packets that arrive again are answered.
    acknowledge_again: bool,
    /// By message id.
    incoming: Vec<Incoming>,
    /// Messages that are not complete.
    active: Vec<u16>,
}

impl Homa {
    /// Makes Homa with a window of `rtt_packets`, for `messages` messages at a time, of which
    /// `overcommitment` may be granted; `acknowledge_again` answers duplicates.
    pub fn new(
        rtt_packets: u16,
        messages: usize,
        overcommitment: usize,
        acknowledge_again: bool,
    ) -> Self {
        Self {
            rtt_packets,
            overcommitment,
            acknowledge_again,
            incoming: vec![Incoming::default(); messages],
            active: Vec::with_capacity(messages),
        }
    }

    /// Answers a data packet.
    fn data_arrived(&mut self, header: &Header, externs: &mut dyn Externs) -> Verdict {
        let trimmed = header.flags.has(Flags::CHOP);
        let message = match externs.message(header, trimmed) {
            Ok(message) => message,
            Err(refusal) => {
                self.answer_refused(header, refusal, externs);
                return Verdict::Drop(refusal.into());
            }
        };
        self.note(header, &message);
        if trimmed {
            ask_again(header, externs);
            return Verdict::Consume;
        }
        if message.complete() {
            self.forget(message.rx_id);
            acknowledge(header, message.packets, externs);
        }
        self.grant(externs);
        Verdict::Reassemble { rx_id: message.rx_id }
    }

    /// Answers a data packet that was not taken.
    fn answer_refused(&mut self, header: &Header, why: Refusal, externs: &mut dyn Externs) {
        match why {
            Refusal::NoBuffer => ask_again(header, externs),
            Refusal::Finished if self.acknowledge_again => {
                acknowledge(header, header.pkt_offset.saturating_add(1), externs);
            }
            Refusal::Duplicate { message } if self.acknowledge_again => {
                // Its sender may have missed a grant. An acknowledgement alone would stop its
                // timer, and then nothing would bring back a grant that is lost.
                let incoming = self.incoming[usize::from(message.rx_id)];
                if self.active.contains(&message.rx_id) && incoming.granted > self.rtt_packets {
                    let level = self.level(message.rx_id).min(self.overcommitment - 1);
                    // A packet gives one GRANT, as in the RTL (one event of grantPkt).
                    return send_grant(&incoming, level, externs);
                }
                if message.complete() {
                    acknowledge(header, message.packets, externs);
                }
                self.grant(externs);
            }
            _ => {}
        }
    }

    /// Notes what a packet says about its message.
    fn note(&mut self, header: &Header, message: &MessageInfo) {
        let incoming = &mut self.incoming[usize::from(message.rx_id)];
        if message.new {
            let granted = self.rtt_packets;
            *incoming = Incoming { granted, packets: message.packets, ..Incoming::default() };
            self.active.push(message.rx_id);
        }
        incoming.header = *header;
        incoming.received = message.received.count_ones() as u8;
        incoming.in_order = message.in_order();
    }

    /// Stops granting a message.
    fn forget(&mut self, rx_id: u16) {
        self.active.retain(|&active| active != rx_id);
    }

    /// Ranks a message: the one with least to come first.
    fn rank(&self, rx_id: u16) -> (u8, u16) {
        (self.incoming[usize::from(rx_id)].remaining(), rx_id)
    }

    /// Counts the messages that rank before one.
    fn level(&self, rx_id: u16) -> usize {
        let rank = self.rank(rx_id);
        self.active.iter().filter(|&&other| self.rank(other) < rank).count()
    }

    /// Gives one grant, to the first message by rank that can take one.
    fn grant(&mut self, externs: &mut dyn Externs) {
        let grantable = |incoming: &Incoming| {
            let window = self.rtt_packets.saturating_add(incoming.received.into());
            window.min(incoming.packets.into())
        };
        let can_take = |&&rx_id: &&u16| {
            let incoming = &self.incoming[usize::from(rx_id)];
            grantable(incoming) > incoming.granted
        };
        let Some(&first) = self.active.iter().filter(can_take).min_by_key(|&&id| self.rank(id))
        else {
            return;
        };
        let level = self.level(first);
        if level >= self.overcommitment {
            return;
        }
        let granted = grantable(&self.incoming[usize::from(first)]);
        let incoming = &mut self.incoming[usize::from(first)];
        incoming.granted = granted;
        send_grant(incoming, level, externs);
    }
}

/// Makes a request that answers `header` with `packet` as the packet's number.
fn request(header: &Header, packet: u8, externs: &dyn Externs) -> ControlRequest {
    ControlRequest {
        at: externs.now(),
        answers: Header { pkt_offset: packet, ..*header },
        acknowledge: false,
        negative: false,
        pull: false,
        pull_offset: 0,
        grant_priority: 0,
    }
}

/// Acknowledges the first `packets` packets of a message.
fn acknowledge(header: &Header, packets: u8, externs: &mut dyn Externs) {
    let request = ControlRequest { acknowledge: true, ..request(header, packets, externs) };
    externs.control(request);
}

/// Asks for a packet again.
fn ask_again(header: &Header, externs: &mut dyn Externs) {
    let request = ControlRequest { negative: true, ..request(header, header.pkt_offset, externs) };
    externs.control(request);
}

/// Tells the sender of a message of this rank what it may send. The last packet of that is not
/// acknowledged with it: its timer has to run on in case the next grant is lost.
fn send_grant(incoming: &Incoming, level: usize, externs: &mut dyn Externs) {
    let acknowledged = u16::from(incoming.in_order).min(incoming.granted.saturating_sub(1)) as u8;
    externs.control(ControlRequest {
        pull: true,
        pull_offset: incoming.granted,
        grant_priority: level as u8 + FIRST_SCHEDULED_PRIORITY,
        ..request(&incoming.header, acknowledged, externs)
    });
}

impl Transport for Homa {
    fn name(&self) -> &'static str {
        "homa"
    }

    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        Ok(Header::parse(frame, HOMA_PROTOCOL)?)
    }

    fn arrive(&mut self, header: &Header, _payload: &[u8], externs: &mut dyn Externs) -> Verdict {
        let Header { flags, tx_msg_id, pkt_offset, .. } = *header;
        if flags.has(Flags::DATA) {
            return self.data_arrived(header, externs);
        }
        let at = externs.now();
        if (flags.has(Flags::ACK) || flags.has(Flags::PULL))
            && let Some(packet) = pkt_offset.checked_sub(1)
        {
            let generation = header.answers;
            externs.delivered(Delivered {
                at,
                tx_msg_id,
                packet,
                and_all_before: true,
                generation,
            });
        }
        let (negative, grant) = (flags.has(Flags::NACK), flags.has(Flags::PULL));
        if negative || grant {
            externs.credit(Credit {
                at,
                tx_msg_id,
                retransmit: negative.then_some(pkt_offset),
                credit: grant.then_some(header.pull_offset),
                priority: header.grant_priority,
            });
        }
        Verdict::Consume
    }

    fn finished(&mut self, rx_id: u16) {
        self.forget(rx_id);
    }

    fn send_rules(&self) -> SendRules {
        SendRules {
            acknowledged: true,
            initial_credit: None,
            max_packets: None,
            nack_resends: true,
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, again: bool, own: &Address) -> Header {
        let unscheduled = u16::from(packet) < self.rtt_packets && !again;
        let granted = message.granted_priority.unwrap_or(0).max(FIRST_SCHEDULED_PRIORITY);
        let tos = if unscheduled { 0 } else { granted };
        Header { protocol: HOMA_PROTOCOL, tos, ..data_header(message, packet, own) }
    }

    fn control_rules(&self) -> ControlRules {
        ControlRules { paced: false, combined: false, payload_bytes: CONTROL_PAYLOAD_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pinion_p4::lnic::Pipelines;

    use super::super::p4::{Numbers, P4};
    use super::super::testing::Asked;
    use super::*;

    /// Gives Homa twice: as it is here, and as P4.
    fn both(rtt_packets: u16) -> [Box<dyn Transport>; 2] {
        let (messages, overcommitment) = (16, 3);
        let programs =
            Pipelines::load("sdk/p4/homa/ingress.p4", "sdk/p4/homa/egress.p4", None).unwrap();
        let numbers = Numbers {
            rtt_packets,
            messages,
            overcommitment,
            acknowledge_again: true,
            ..Numbers::default()
        };
        let built_in = Homa::new(rtt_packets, messages, overcommitment.into(), true);
        [Box::new(built_in), Box::new(P4::new(Arc::new(programs), numbers))]
    }

    fn data(id: u16, packets: u16, packet: u8) -> Header {
        Header {
            protocol: HOMA_PROTOCOL,
            flags: Flags::DATA,
            tx_msg_id: id,
            msg_len: packets * 1024,
            pkt_offset: packet,
            ..Header::default()
        }
    }

    /// Lets a frame with this header arrive.
    fn judge(homa: &mut dyn Transport, asked: &mut Asked, header: &Header) -> Verdict {
        let frame = Header { protocol: HOMA_PROTOCOL, ..*header }.frame(&[7; 8]);
        let (header, payload) = homa.parse(&frame).unwrap();
        homa.arrive(&header, payload, asked)
    }

    /// Lets a packet arrive; gives the control frames asked for: flag, message, packet, offset,
    /// priority.
    fn arrive(
        homa: &mut dyn Transport,
        asked: &mut Asked,
        header: Header,
    ) -> Vec<(&'static str, u16, u8, u16, u8)> {
        judge(homa, asked, &header);
        let name = |r: &ControlRequest| match (r.acknowledge, r.negative, r.pull) {
            (true, false, false) => "ACK",
            (false, true, false) => "NACK",
            (false, false, true) => "GRANT",
            _ => "?",
        };
        let say = |r: ControlRequest| {
            let answers = r.answers;
            (name(&r), answers.tx_msg_id, answers.pkt_offset, r.pull_offset, r.grant_priority)
        };
        asked.controls.drain(..).map(say).collect()
    }

    #[test]
    fn short_messages_need_no_grant_and_get_one_acknowledgement() {
        for mut homa in both(2) {
            let (homa, mut asked) = (homa.as_mut(), Asked::default());
            assert_eq!(arrive(homa, &mut asked, data(5, 2, 0)), []);
            assert_eq!(arrive(homa, &mut asked, data(5, 2, 1)), [("ACK", 5, 2, 0, 0)]);
        }
    }

    #[test]
    fn long_messages_get_a_window_beyond_what_has_come() {
        for mut homa in both(2) {
            let (homa, mut asked) = (homa.as_mut(), Asked::default());
            for packet in 0..4 {
                let grant = ("GRANT", 7, packet + 1, u16::from(packet) + 3, 1);
                assert_eq!(arrive(homa, &mut asked, data(7, 6, packet)), [grant]);
            }
            assert_eq!(arrive(homa, &mut asked, data(7, 6, 4)), []);
            assert_eq!(arrive(homa, &mut asked, data(7, 6, 5)), [("ACK", 7, 6, 0, 0)]);
        }
    }

    #[test]
    fn the_shortest_remaining_goes_first_and_only_three_are_granted() {
        for mut homa in both(1) {
            let (homa, mut asked) = (homa.as_mut(), Asked::default());
            // The first of each takes its grant; the fourth ranks too low.
            for (id, packets, level) in [(0, 10, 1), (1, 9, 1), (2, 8, 1)] {
                assert_eq!(
                    arrive(homa, &mut asked, data(id, packets, 0)),
                    [("GRANT", id, 1, 2, level)]
                );
            }
            assert_eq!(arrive(homa, &mut asked, data(3, 20, 0)), []);
            // Another packet makes the longest as short as the second; the lower id goes first.
            assert_eq!(arrive(homa, &mut asked, data(0, 10, 1)), [("GRANT", 0, 2, 3, 2)]);
            // When the shortest is complete the fourth may go.
            let mut last = Vec::new();
            for packet in 1..8 {
                last = arrive(homa, &mut asked, data(2, 8, packet));
            }
            assert_eq!(last, [("ACK", 2, 8, 0, 0), ("GRANT", 3, 1, 2, 3)]);
        }
    }

    #[test]
    fn trimmed_packets_and_those_without_room_are_asked_for_again() {
        for mut homa in both(2) {
            let (homa, mut asked) = (homa.as_mut(), Asked::default());
            let chopped = Header { flags: Flags::DATA.with(Flags::CHOP), ..data(1, 4, 1) };
            assert_eq!(arrive(homa, &mut asked, chopped), [("NACK", 1, 1, 0, 0)]);
            asked.refuse = Some(Refusal::NoBuffer);
            assert_eq!(arrive(homa, &mut asked, data(2, 4, 0)), [("NACK", 2, 0, 0, 0)]);
            asked.refuse = Some(Refusal::Quota);
            assert_eq!(arrive(homa, &mut asked, data(2, 4, 0)), []);
        }
    }

    #[test]
    fn duplicates_hear_again_what_they_may_have_missed() {
        for mut homa in both(2) {
            let (homa, mut asked) = (homa.as_mut(), Asked::default());
            arrive(homa, &mut asked, data(1, 6, 0));
            let again = arrive(homa, &mut asked, data(1, 6, 0));
            assert_eq!(again, [("GRANT", 1, 1, 3, 1)]);
            asked.refuse = Some(Refusal::Finished);
            assert_eq!(arrive(homa, &mut asked, data(9, 6, 5)), [("ACK", 9, 6, 0, 0)]);
        }
    }

    #[test]
    fn control_frames_acknowledge_all_before_and_give_priority() {
        for mut homa in both(2) {
            let (homa, mut asked) = (homa.as_mut(), Asked::default());
            let grant = Header {
                flags: Flags::PULL,
                tx_msg_id: 4,
                pkt_offset: 3,
                pull_offset: 9,
                grant_priority: 2,
                ..Header::default()
            };
            assert_eq!(judge(homa, &mut asked, &grant), Verdict::Consume);
            let delivered = asked.delivered[0];
            assert_eq!((delivered.packet, delivered.and_all_before), (2, true));
            let credit = asked.credits[0];
            assert_eq!((credit.credit, credit.priority, credit.retransmit), (Some(9), 2, None));
        }
    }

    /// Gives the priority of a data packet's frame.
    fn tos(
        homa: &mut dyn Transport,
        message: &Outgoing,
        packet: u8,
        again: bool,
        own: &Address,
    ) -> u8 {
        let header = homa.data(message, packet, again, own);
        let mut frame = Vec::new();
        homa.write(&header, &[7; 8], &mut frame);
        frame[15]
    }

    #[test]
    fn priorities_are_those_of_the_grant_except_for_the_first_window() {
        for mut homa in both(2) {
            let own = Address::default();
            let mut message = Outgoing::default();
            assert_eq!(tos(homa.as_mut(), &message, 1, false, &own), 0);
            assert_eq!(tos(homa.as_mut(), &message, 1, true, &own), 1);
            message.granted_priority = Some(3);
            assert_eq!(tos(homa.as_mut(), &message, 2, false, &own), 3);
        }
    }
}
