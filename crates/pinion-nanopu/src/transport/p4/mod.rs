//! A transport that is written in P4 (nanoPU paper, §3.1; NanoTransport, SOSR 2021): an ingress and an
//! egress program, each a parser, a control and a deparser.
//!
//! In: frames, and what packetization and packet generator say of packets that are to go. Out: verdicts
//! and requests, and headers. Holds the programs' registers and register arrays, which last from
//! packet to packet. The programs are compiled once ([`Pipelines`]); their externs are the NIC's units.
//! How long they take follows from their stages.

mod answers;
mod any;
mod control;
mod numbers;
mod record;
mod sent;

use std::sync::Arc;

pub use self::numbers::Numbers;
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, HOMA_PROTOCOL, Header, LNIC_HEADER_BYTES};
use pinion_p4::flat::Packet;
pub use pinion_p4::lnic::Pipelines;
use pinion_p4::lnic::fields::{HEAD_BYTES, Layout, Parameters, RECORD_BYTES};
use pinion_p4::lnic::kept::Kept;
use pinion_p4_translate::Runs;

use self::answers::Answers;
use self::record::egress_headers;
use self::sent::{SEND_NOTHING, send_out};
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

/// Bytes of the shortest frame on an Ethernet, without its check sequence (IEEE 802.3).
const SHORTEST_FRAME_BYTES: usize = 60;

/// Tells as which of the NIC's own transports a frame of this protocol is laid out ([`Header::read`]).
fn layout_of(protocol: u8) -> Layout {
    if protocol == HOMA_PROTOCOL { Layout::Homa } else { Layout::Ndp }
}

/// Decides as its programs do.
#[derive(Clone)]
pub struct P4 {
    pipelines: Arc<Pipelines>,
    ingress: Packet,
    egress: Packet,
    /// How often the two have run.
    runs: [Runs; 2],
    /// All frames that the ingress program takes are laid out as those of one of the NIC's own transports, and
    /// nothing else is looked at before its control.
    is_plain: bool,
    /// The ingress program's control decides when a frame arrives, sends nothing, and gives no reasons.
    only_decides: bool,
    /// All frames of the egress program are what the NIC says of them, where its own transports say it.
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
        let is_plain = program.told.is_none()
            && numbers.control_port == 0
            && program.flat.is_line(LNIC_HEADER_BYTES)
            && program.layout.is_some()
            && program.layout == program.flat.byte_of_line(PROTOCOL_OFFSET).map(layout_of)
            && !program.parameters.are_of_packets();
        let only_decides = is_plain && program.send.is_none() && program.reason.is_none();
        let sends_record = pipelines.egress.flat.sends_record() == Some(LNIC_HEADER_BYTES);
        let (is_again, is_new, is_dropped, window, made) = (false, false, false, None, None);
        Self {
            pipelines,
            ingress,
            egress,
            runs: [Runs::new(numbers.interpreted); 2],
            is_plain,
            only_decides,
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
            && program.flat.fits(head)
        {
            self.head[..HEAD_BYTES].copy_from_slice(head);
            return Ok((Header::read(head), payload));
        }
        self.parse_any(frame)
    }

    fn arrive(&mut self, header: &Header, payload: &[u8], externs: &mut dyn Externs) -> Verdict {
        if !self.only_decides {
            return self.arrive_any(header, payload, externs);
        }
        let program = &self.pipelines.ingress;
        self.runs[0].count(&program.flat, &program.asked);
        let mut answers = Answers::new(&program.asked, &mut self.kept[0], header, externs);
        self.ingress.process(&program.flat, &self.head, &mut answers, &mut Vec::new());
        let is_dropped = program.drop.is_some_and(|drop| self.ingress.get(drop) != 0);
        Self::verdict(program, is_dropped.then_some(Verdict::Consume), answers.taken)
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
        let headers = egress_headers(header, (program.protocol, program.layout), bytes);
        if self.sends_record || program.flat.sends_this(&headers) {
            frame.extend_from_slice(&headers);
            frame.extend_from_slice(payload);
            return;
        }
        self.write_any((header, &headers), (payload, bytes), frame);
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
