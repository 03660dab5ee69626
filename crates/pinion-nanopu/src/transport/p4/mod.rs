//! A transport that is written in P4 (nanoPU paper, §3.1; NanoTransport, SOSR 2021): an ingress and an
//! egress program, each a parser, a control and a deparser.
//!
//! In: frames, and what packetization and packet generator say of packets that are to go. Out: verdicts
//! and requests, and headers. Holds the programs' registers and register arrays, which last from
//! packet to packet. The programs are compiled once ([`Pipelines`]); their externs are the NIC's units.
//! How long they take follows from their stages.

mod answers;

use std::sync::Arc;

use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header};
use pinion_p4::flat::{Packet, Rejected};
pub use pinion_p4::lnic::Pipelines;
use pinion_p4::lnic::fields::{EgressField, Seen};

use self::answers::{Answers, Arrays};
use super::{
    Address, ControlRules, DropReason, Externs, Outgoing, PipelineCycles, SendRules, Transport,
    Verdict, data_header,
};

/// First bits of an IPv4 frame that the published programs look at: version 4, 20 bytes of header.
const PLAIN_IPV4: u8 = 0x45;

/// Bytes behind the headers of a control frame of generators with a frame for each flag (RTL
/// PktGen_Homa).
const APART_PAYLOAD_BYTES: usize = 1;

/// Decides as its programs do.
#[derive(Clone)]
pub struct P4 {
    pipelines: Arc<Pipelines>,
    ingress: Packet,
    egress: Packet,
    /// Register arrays of both programs.
    arrays: [Arrays; 2],
    /// Whether the data packet at hand was sent before, and begins its message.
    is_again: bool,
    is_new: bool,
}

impl P4 {
    /// Makes the transport of two programs with a window of `rtt_packets`, for `messages` messages at
    /// a time; `acknowledge_again` asks the ingress program to answer duplicates.
    pub fn new(
        pipelines: Arc<Pipelines>,
        rtt_packets: u16,
        messages: usize,
        acknowledge_again: bool,
    ) -> Self {
        let mut ingress = Packet::new(&pipelines.ingress.flat);
        let mut egress = Packet::new(&pipelines.egress.flat);
        for (packet, parameters) in [
            (&mut ingress, &pipelines.ingress.parameters),
            (&mut egress, &pipelines.egress.parameters),
        ] {
            packet.set(parameters.rtt_pkts, rtt_packets.into());
            packet.set(parameters.answer_duplicates, acknowledge_again.into());
        }
        let arrays = [&pipelines.ingress.units, &pipelines.egress.units];
        let arrays = arrays.map(|units| Arrays::new(units, messages));
        Self { pipelines, ingress, egress, arrays, is_again: false, is_new: false }
    }

    /// Says why the parser does not take a frame.
    fn refusal(why: Rejected, frame: &[u8]) -> DropReason {
        let is_plain = frame.get(12..15) == Some(&[0x08, 0x00, PLAIN_IPV4]);
        match why {
            Rejected::Short => DropReason::Malformed,
            Rejected::Refused if is_plain => DropReason::Protocol,
            Rejected::Refused => DropReason::NotIp,
        }
    }

    /// Puts together what is known of a frame: addresses by their places in it, the rest by the
    /// names of the program's fields.
    fn header(&self, frame: &[u8]) -> Header {
        let mut header = Header::default();
        if let Some((head, _)) = frame.split_first_chunk::<34>() {
            let word = |at: usize| {
                u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            header.dst_mac.copy_from_slice(&head[..6]);
            header.src_mac.copy_from_slice(&head[6..12]);
            (header.tos, header.protocol) = (head[15], head[23]);
            (header.src_ip, header.dst_ip) = (word(26), word(30));
        }
        for (field, register) in &self.pipelines.ingress.seen {
            put(*field, self.ingress.get(*register), &mut header);
        }
        header
    }
}

impl Transport for P4 {
    fn name(&self) -> &'static str {
        "p4"
    }

    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        let pipelines = Arc::clone(&self.pipelines);
        let program = &pipelines.ingress;
        if frame.len() < program.shortest_bytes {
            return Err(DropReason::Malformed);
        }
        self.ingress.begin(&program.flat);
        program.zeroed.iter().for_each(|register| self.ingress.set(Some(*register), 0));
        let parsed = self.ingress.parse(&program.flat, frame);
        let headers = parsed.map_err(|why| Self::refusal(why, frame))?;
        let payload = &frame[headers..];
        if payload.is_empty() {
            return Err(DropReason::NoPayload);
        }
        Ok((self.header(frame), payload))
    }

    fn arrive(&mut self, header: &Header, _payload: &[u8], externs: &mut dyn Externs) -> Verdict {
        let pipelines = Arc::clone(&self.pipelines);
        let program = &pipelines.ingress;
        let (switch, own) = (&header.src_mac, &header.dst_mac);
        program.parameters.address(&mut self.ingress, switch, own, header.dst_ip);
        let mut answers = Answers::new(&program.units, &mut self.arrays[0], header, externs);
        self.ingress.control(&program.flat, &mut answers);
        let (asked, taken) = (answers.asked, answers.taken);
        let is_dropped = program.drop.is_some_and(|drop| self.ingress.get(drop) != 0);
        match (is_dropped, asked, taken) {
            (_, true, Some(Err(refusal))) => Verdict::Drop(refusal.into()),
            (true, ..) => Verdict::Consume,
            (false, true, Some(Ok(rx_id))) => Verdict::Reassemble { rx_id },
            (false, ..) if !program.has_reassembly => Verdict::Whole,
            // The program lets a packet through that it has asked nobody about.
            (false, ..) => Verdict::Drop(DropReason::HeaderLies),
        }
    }

    fn send_rules(&self) -> SendRules {
        let is_acknowledged = self.pipelines.is_acknowledged();
        SendRules {
            acknowledged: is_acknowledged,
            initial_credit: (!is_acknowledged).then_some(1),
            max_packets: (!self.pipelines.ingress.has_reassembly).then_some(1),
            nack_resends: self.pipelines.is_apart(),
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, again: bool, own: &Address) -> Header {
        (self.is_again, self.is_new) = (again, packet == 0 && !again);
        Header { protocol: self.pipelines.egress.protocol, ..data_header(message, packet, own) }
    }

    fn control_rules(&self) -> ControlRules {
        match self.pipelines.is_apart() {
            true => {
                ControlRules { paced: false, combined: false, payload_bytes: APART_PAYLOAD_BYTES }
            }
            false => {
                ControlRules { paced: true, combined: true, payload_bytes: CONTROL_PAYLOAD_BYTES }
            }
        }
    }

    fn write(&mut self, header: &Header, payload: &[u8], frame: &mut Vec<u8>) {
        let pipelines = Arc::clone(&self.pipelines);
        let program = &pipelines.egress;
        let is_data = header.flags.has(Flags::DATA);
        let packet = &mut self.egress;
        packet.begin(&program.flat);
        program.parameters.address(packet, &header.dst_mac, &header.src_mac, header.src_ip);
        for (field, register) in &program.fields {
            let value = match field {
                EgressField::DstIp => header.dst_ip.into(),
                EgressField::DstContext => header.dst_context.into(),
                EgressField::MsgLen => header.msg_len.into(),
                EgressField::PktOffset => header.pkt_offset.into(),
                EgressField::SrcContext => header.src_context.into(),
                EgressField::TxMsgId => header.tx_msg_id.into(),
                EgressField::BufPtr => header.buf_ptr.into(),
                EgressField::BufSizeClass => header.buf_size_class.into(),
                EgressField::Credit => {
                    if is_data {
                        0
                    } else {
                        header.pull_offset.into()
                    }
                }
                EgressField::Rank => header.grant_priority.into(),
                EgressField::Flags => header.flags.0.into(),
                EgressField::IsNewMsg => (is_data && self.is_new).into(),
                EgressField::IsRtx => (is_data && self.is_again).into(),
                EgressField::Generation if is_data => header.pull_offset.into(),
                EgressField::Generation => header.answers.into(),
                EgressField::PayloadLen => payload.len() as u64,
            };
            packet.set(Some(*register), value);
        }
        (self.is_again, self.is_new) = (false, false);
        packet.control(&program.flat, &mut self.arrays[1].alone(&program.units));
        packet.deparse(&program.flat, frame);
        frame.extend_from_slice(payload);
    }

    fn header_bytes(&self) -> usize {
        self.pipelines.egress.header_bytes
    }

    fn cycles(&self) -> Option<PipelineCycles> {
        Some(self.pipelines.cycles())
    }

    fn remarks(&self) -> Vec<String> {
        let both = [
            (&self.ingress, &self.pipelines.ingress.watched),
            (&self.egress, &self.pipelines.egress.watched),
        ];
        let missed =
            both.into_iter().flat_map(|(packet, watched)| packet.missed().iter().zip(watched));
        let told = missed.filter(|(count, _)| **count > 0);
        told.map(|(count, what)| format!("{what}: {count} times; it reads 0 then")).collect()
    }
}

/// Puts a field of a frame where the NIC looks for it.
#[inline]
fn put(field: Seen, value: u64, header: &mut Header) {
    match field {
        Seen::Flags => header.flags = Flags(value as u8),
        Seen::SrcContext => header.src_context = value as u16,
        Seen::DstContext => header.dst_context = value as u16,
        Seen::MsgLen => header.msg_len = value as u16,
        Seen::PktOffset => header.pkt_offset = value as u8,
        Seen::PullOffset => header.pull_offset = value as u16,
        Seen::GrantPriority => header.grant_priority = value as u8,
        Seen::TxMsgId => header.tx_msg_id = value as u16,
        Seen::BufPtr => header.buf_ptr = value as u16,
        Seen::BufSizeClass => header.buf_size_class = value as u8,
        Seen::Answers => header.answers = value as u16,
    }
}
