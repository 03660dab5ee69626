//! A transport that is written in P4 (nanoPU paper, §3.1; NanoTransport, SOSR 2021): an ingress and an
//! egress program, each a parser, a control and a deparser.
//!
//! In: frames, and what packetization and packet generator say of packets that are to go. Out: verdicts
//! and requests, and headers. Holds the programs' registers and register arrays, which last from
//! packet to packet. The programs are compiled once ([`Pipelines`]); their externs are the NIC's units.
//! How long they take follows from their stages.

mod answers;
mod control;
mod numbers;
mod record;
mod sent;
#[cfg(test)]
mod shipped;

use std::sync::Arc;

pub use self::numbers::Numbers;
use pinion_net::frame::internet_checksum;
use pinion_net::frame::lnic::{
    CONTROL_PAYLOAD_BYTES, Flags, HOMA_PROTOCOL, Header, LNIC_HEADER_BYTES,
};
use pinion_p4::flat::{Packet, Register, Rejected};
use pinion_p4::lnic::Ingress;
pub use pinion_p4::lnic::Pipelines;
use pinion_p4::lnic::alone::Told;
use pinion_p4::lnic::fields::{HEAD_BYTES, Parameters, RECORD_BYTES};
use pinion_p4::lnic::kept::Kept;

use self::answers::{Alone, Answers};
use self::record::{addresses, egress_headers, egress_record, read_fields};
use self::sent::{SEND_NOTHING, SEND_PACKET, send_out};
use super::{
    Address, Change, ControlRules, Counts, DropReason, EventKind, Externs, Happening, Made,
    Outgoing, PipelineCycles, SendRules, Transport, Verdict, data_header,
};
use crate::Cycle;
use crate::machine::transport::TransportKind;

/// First bits of an IPv4 frame that the published programs look at: version 4, 20 bytes of header.
const PLAIN_IPV4: u8 = 0x45;

/// Where an IPv4 header says its protocol.
const PROTOCOL_OFFSET: usize = 23;

/// Bytes behind the headers of a control frame of generators with a frame for each flag (RTL
/// PktGen_Homa).
const APART_PAYLOAD_BYTES: usize = 1;

/// Bytes of the longest frame whose length a program can be told.
const LONGEST_FRAME: usize = u16::MAX as usize;

/// Bytes of the shortest frame on an Ethernet, without its check sequence (IEEE 802.3).
const SHORTEST_FRAME_BYTES: usize = 60;

/// Decides as its programs do.
#[derive(Clone)]
pub struct P4 {
    pipelines: Arc<Pipelines>,
    ingress: Packet,
    egress: Packet,
    /// All frames that the ingress program takes are laid out as NDP's, and nothing else is looked at before its
    /// control.
    is_plain: bool,
    /// Frames of the egress program are what the NIC says of them, where its own transports say it.
    sends_record: bool,
    /// What the control finds of the frame at hand: its first bytes, and zeros.
    head: [u8; RECORD_BYTES],
    /// By control of an event: its registers.
    events: Vec<Packet>,
    /// What lasts of both programs.
    kept: [Kept; 2],
    numbers: Numbers,
    /// Whether the data packet at hand was sent before, and begins its message.
    is_again: bool,
    is_new: bool,
    /// The packet that was parsed last is dropped, in silence.
    is_dropped: bool,
    /// Of the data packet at hand: the priority of its message's last grant.
    granted: Option<u8>,
    /// The frame at hand changes tables.
    is_control: bool,
    /// What the packet that was written last says its message may send.
    window: Option<u16>,
    /// What the packet at hand has become.
    made: Option<Box<Made>>,
}

impl P4 {
    /// Makes the transport of two programs.
    pub fn new(pipelines: Arc<Pipelines>, numbers: Numbers) -> Self {
        let mut ingress = Packet::new(&pipelines.ingress.flat);
        let mut egress = Packet::new(&pipelines.egress.flat);
        let handlers = &pipelines.ingress.handlers;
        let mut events: Vec<_> = handlers.iter().map(|it| Packet::new(&it.flat)).collect();
        let of_events = events.iter_mut().zip(handlers.iter().map(|it| &it.parameters));
        for (packet, parameters) in [
            (&mut ingress, &pipelines.ingress.parameters),
            (&mut egress, &pipelines.egress.parameters),
        ]
        .into_iter()
        .chain(of_events)
        {
            packet.set(parameters.rtt_pkts, numbers.rtt_packets.into());
            packet.set(parameters.answer_duplicates, numbers.acknowledge_again.into());
            packet.set(parameters.overcommitment, numbers.overcommitment.into());
            packet.set(parameters.port_base, numbers.port_base.into());
        }
        let kept = [true, false].map(|is_in| Kept::new(&pipelines, is_in, numbers.messages));
        let program = &pipelines.ingress;
        let is_plain = program.is_published
            && program.told.is_none()
            && numbers.control_port == 0
            && program.flat.is_line(LNIC_HEADER_BYTES)
            && !program.parameters.are_of_packets();
        let sends_record = pipelines.egress.flat.sends_record() == Some(LNIC_HEADER_BYTES);
        let (is_again, is_new, is_dropped, window, made) = (false, false, false, None, None);
        Self {
            pipelines,
            ingress,
            egress,
            is_plain,
            sends_record,
            head: [0; RECORD_BYTES],
            events,
            kept,
            numbers,
            is_again,
            is_new,
            is_dropped,
            is_control: false,
            window,
            made,
            granted: None,
        }
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

    /// Gives the reason that the program dropped its packet for, if it gave one.
    fn reason(program: &Ingress, packet: &Packet) -> Option<DropReason> {
        let number = program.reason.map_or(0, |reason| packet.get(reason)) as usize;
        let reason = DropReason::ALL.get(number.checked_sub(1)?);
        Some(reason.copied().unwrap_or(DropReason::HeaderLies))
    }

    /// Lets a program that asks nobody decide about a frame; gives its payload, and adds what the program
    /// says of it to what is known.
    fn decide_alone<'f>(
        &mut self,
        told: &Told,
        frame: &'f [u8],
        payload: &'f [u8],
        header: &mut Header,
    ) -> Result<&'f [u8], DropReason> {
        let program = &self.pipelines.ingress;
        let packet = &mut self.ingress;
        let mut units =
            Alone { units: &program.asked, kept: &mut self.kept[0], frame, granted: None };
        let mut out = Vec::new();
        packet.process(&program.flat, &self.head, &mut units, &mut out);
        self.is_dropped = program.drop.is_some_and(|drop| packet.get(drop) != 0);
        let send = program.send.map_or(SEND_NOTHING, |send| packet.get(send));
        if send != SEND_NOTHING || !out.is_empty() {
            self.made = None;
            send_out((&mut self.made, &mut self.kept[0]), send, out, payload);
        }
        if send == SEND_PACKET {
            return Ok(payload);
        }
        if self.is_dropped {
            return Self::reason(program, packet).map_or(Ok(payload), Err);
        }
        if payload.is_empty()
            && told.payload_len.is_none()
            && self.made.as_ref().is_none_or(|made| made.payload.is_none())
        {
            return Err(DropReason::NoPayload);
        }
        let half = |place: Option<Register>, own: u16| {
            place.map_or(own, |register| packet.get(register) as u16)
        };
        // A message is data, whatever its headers call it.
        header.flags = header.flags.with(Flags::DATA);
        header.src_context = half(told.src_context, header.src_context);
        header.dst_context = half(told.dst_context, header.dst_context);
        header.msg_len = half(told.msg_len, header.msg_len);
        if let Some(src_ip) = told.src_ip {
            header.src_ip = packet.get(src_ip) as u32;
        }
        let Some(length) = told.payload_len else { return Ok(payload) };
        let left = match self.made.as_ref().and_then(|made| made.payload.as_ref()) {
            Some(all) => all.len() - payload.len(),
            None => 0,
        };
        let length = packet.get(length) as usize;
        if let Some(made) = &mut self.made
            && let Some(all) = &mut made.payload
        {
            all.truncate(left + length);
        }
        payload.get(..length).ok_or(DropReason::HeaderLies)
    }

    /// Takes any frame apart.
    #[inline(never)]
    fn parse_any<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        let port = self.numbers.control_port;
        if port > 0
            && let Some(control) = control::Request::of(frame, port)
        {
            let tables = self.kept[0].tables();
            self.made = Some(Box::new(control.answer(tables)));
            self.is_control = true;
            return Ok((addresses(frame), &frame[frame.len()..]));
        }
        self.is_control = false;
        let program = &self.pipelines.ingress;
        if frame.len() < program.shortest_bytes {
            return Err(DropReason::Malformed);
        }
        // What a program has where the NIC's own transports have it is read as they do.
        let head: Option<&[u8; LNIC_HEADER_BYTES]> = frame.first_chunk();
        let published =
            head.filter(|head| program.is_published && head[PROTOCOL_OFFSET] != HOMA_PROTOCOL);
        let mut header = match published {
            Some(head) => Header::read(head),
            None => addresses(frame),
        };
        match frame.first_chunk::<HEAD_BYTES>() {
            Some(head) => self.head[..HEAD_BYTES].copy_from_slice(head),
            None => {
                self.head = [0; RECORD_BYTES];
                self.head[..frame.len()].copy_from_slice(frame);
            }
        }
        let packet = &mut self.ingress;
        tell_time(packet, &program.parameters, &self.kept[0]);
        program.parameters.address(packet, &header.src_mac, &header.dst_mac, header.dst_ip);
        packet.set(program.parameters.packet_length, frame.len().min(LONGEST_FRAME) as u64);
        let parsed = packet.parse(&program.flat, frame);
        let headers = parsed.map_err(|why| Self::refusal(why, frame))?;
        let payload = &frame[headers..];
        let says_length = program.told.is_some_and(|told| told.payload_len.is_some());
        if payload.is_empty() && !says_length && program.told.is_none() {
            return Err(DropReason::NoPayload);
        }
        if published.is_none() {
            read_fields(program, packet, frame, &mut header);
        }
        let Some(told) = program.told else { return Ok((header, payload)) };
        let payload = self.decide_alone(&told, frame, payload, &mut header)?;
        Ok((header, payload))
    }

    /// Writes a frame of a program that does more than to send what the NIC says.
    #[inline(never)]
    fn write_any(&mut self, (header, payload, bytes): (&Header, &[u8], u16), frame: &mut Vec<u8>) {
        let program = &self.pipelines.egress;
        let is_data = header.flags.has(Flags::DATA);
        let is_first = is_data && self.is_new;
        let marks = [is_first, is_data && self.is_again];
        let record = egress_record(header, program.protocol, bytes, marks);
        let granted = self.granted.take().filter(|_| is_data);
        (self.is_again, self.is_new) = (false, false);
        let parameters = &program.parameters;
        self.egress.set(parameters.packet_length, bytes.into());
        if parameters.payload_sum.is_some() {
            self.egress.set(parameters.payload_sum, u64::from(!internet_checksum(payload)));
        }
        let start = frame.len();
        tell_time(&mut self.egress, &program.parameters, &self.kept[1]);
        if !program.flat.send(&record, frame) {
            let mut units =
                Alone { units: &program.asked, kept: &mut self.kept[1], frame: &[], granted };
            self.egress.process(&program.flat, &record, &mut units, frame);
        }
        let window = program.window.filter(|_| is_first);
        self.window = window.map(|window| self.egress.get(window) as u16);
        frame.extend_from_slice(payload);
        if frame.len() < start + SHORTEST_FRAME_BYTES {
            frame.resize(start + SHORTEST_FRAME_BYTES, 0);
        }
    }
}

impl Transport for P4 {
    fn name(&self) -> &'static str {
        match self.numbers.kind {
            TransportKind::Raw => "raw",
            TransportKind::Udp => "udp",
            _ => "p4",
        }
    }

    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        let program = &self.pipelines.ingress;
        if self.is_plain
            && let Some((head, payload)) = frame.split_first_chunk::<HEAD_BYTES>()
            && !payload.is_empty()
            && head[PROTOCOL_OFFSET] != HOMA_PROTOCOL
            && program.flat.fits(head)
        {
            self.head[..HEAD_BYTES].copy_from_slice(head);
            return Ok((Header::read(head), payload));
        }
        self.parse_any(frame)
    }

    fn arrive(&mut self, header: &Header, payload: &[u8], externs: &mut dyn Externs) -> Verdict {
        if self.is_control {
            return Verdict::Consume;
        }
        let program = &self.pipelines.ingress;
        if program.told.is_some() {
            let is_sent = program.send.is_some_and(|send| self.ingress.get(send) == SEND_PACKET);
            return match (is_sent, self.is_dropped) {
                (true, _) => Verdict::Return,
                (_, true) => Verdict::Consume,
                _ => Verdict::Whole,
            };
        }
        let mut answers = Answers::new(&program.asked, &mut self.kept[0], header, externs);
        let mut out = Vec::new();
        self.ingress.process(&program.flat, &self.head, &mut answers, &mut out);
        let taken = answers.taken;
        let send = program.send.map_or(SEND_NOTHING, |send| self.ingress.get(send));
        if send != SEND_NOTHING {
            send_out((&mut self.made, &mut self.kept[0]), send, out, payload);
            if send == SEND_PACKET {
                return Verdict::Return;
            }
        }
        let is_dropped = program.drop.is_some_and(|drop| self.ingress.get(drop) != 0);
        match (is_dropped, taken) {
            (_, Some(Err(refusal))) => Verdict::Drop(refusal),
            (true, _) => {
                Self::reason(program, &self.ingress).map_or(Verdict::Consume, Verdict::Drop)
            }
            (false, Some(Ok(rx_id))) => Verdict::Reassemble { rx_id },
            (false, None) if !program.has_reassembly => Verdict::Whole,
            // The program lets a packet through that it has asked nobody about.
            (false, None) => Verdict::Drop(DropReason::HeaderLies),
        }
    }

    fn finished(&mut self, rx_id: u16) {
        self.kept[0].messages.forget(rx_id);
    }

    fn send_rules(&self) -> SendRules {
        let is_acknowledged = self.pipelines.is_acknowledged();
        SendRules {
            acknowledged: is_acknowledged,
            initial_credit: (!is_acknowledged || self.pipelines.egress.window.is_some())
                .then_some(1),
            max_packets: (!self.pipelines.ingress.has_reassembly).then_some(1),
            nack_resends: self.pipelines.is_apart(),
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, again: bool, own: &Address) -> Header {
        (self.is_again, self.is_new) = (again, packet == 0 && !again);
        self.granted = message.granted_priority;
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
        let program = &self.pipelines.egress;
        let bytes = payload.len().min(usize::from(u16::MAX)) as u16;
        if self.sends_record {
            frame.extend_from_slice(&egress_headers(header, program.protocol, bytes));
            frame.extend_from_slice(payload);
            return;
        }
        self.write_any((header, payload, bytes), frame);
    }

    fn window(&mut self) -> Option<u16> {
        self.window.take()
    }

    fn header_bytes(&self) -> usize {
        self.pipelines.egress.header_bytes
    }

    fn cycles(&self) -> Option<PipelineCycles> {
        // Of transports that are part of the machine it says how long they take.
        (self.numbers.kind == TransportKind::P4).then(|| self.pipelines.cycles())
    }

    fn is_event_driven(&self) -> bool {
        let Pipelines { ingress, egress, .. } = &*self.pipelines;
        let has_tables = !(ingress.tables.is_empty() && egress.tables.is_empty());
        let parameters = [&ingress.parameters, &egress.parameters];
        let tells_time = parameters.iter().any(|it| it.timestamp.is_some());
        has_tables || tells_time || ingress.deparses || !ingress.handlers.is_empty()
    }

    fn tell_time(&mut self, at: Cycle, decided: Cycle) {
        for kept in &mut self.kept {
            kept.tell_time(at, decided, &self.pipelines.changes);
        }
    }

    fn made(&mut self) -> Option<Box<Made>> {
        self.made.take()
    }

    fn handles(&self, event: EventKind) -> Option<(Cycle, u32)> {
        let handlers = &self.pipelines.ingress.handlers;
        let handler = handlers.iter().find(|handler| handler.kind == event)?;
        Some((handler.cycles, handler.threshold))
    }

    fn happen(&mut self, event: EventKind, happening: &Happening, externs: &mut dyn Externs) {
        let mut handlers = self.pipelines.ingress.handlers.iter().zip(&mut self.events);
        let Some((handler, packet)) = handlers.find(|(it, _)| it.kind == event) else { return };
        self.kept[0].handle(event, happening.timer);
        tell_time(packet, &handler.parameters, &self.kept[0]);
        handler.tell(packet, happening);
        let header = Header { src_ip: happening.src_ip, ..Header::default() };
        let mut answers = Answers::new(&handler.asked, &mut self.kept[0], &header, externs);
        let mut out = Vec::new();
        packet.process(&handler.flat, &[], &mut answers, &mut out);
        let send = handler.send.map_or(SEND_NOTHING, |send| packet.get(send));
        if send != SEND_NOTHING {
            send_out((&mut self.made, &mut self.kept[0]), send, out, &[]);
        }
    }

    fn next_timer(&self) -> Option<(Cycle, u16)> {
        self.kept[0].next_timer()
    }

    fn change_tables(&mut self, changes: &[Change]) {
        self.kept.iter_mut().for_each(|kept| kept.change(changes));
    }

    fn counts(&self, is_ingress: bool) -> Option<Counts> {
        self.kept[usize::from(!is_ingress)].counts(&self.pipelines)
    }

    fn remarks(&self) -> Vec<String> {
        let both = [
            (&self.ingress, &self.pipelines.ingress.watched),
            (&self.egress, &self.pipelines.egress.watched),
        ];
        let missed =
            both.into_iter().flat_map(|(packet, watched)| packet.missed().iter().zip(watched));
        let told = missed.filter(|(count, _)| **count > 0);
        let times =
            |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        told.map(|(count, what)| format!("{what}: {}; it reads 0 then", times(*count))).collect()
    }
}

/// Tells a program the time, if it wants to know.
#[inline]
fn tell_time(packet: &mut Packet, parameters: &Parameters, kept: &Kept) {
    packet.set(parameters.timestamp, kept.now);
}
