//! What programs may do beyond what those of the published transports do: read other headers, change them, decide
//! without reassembly, send frames themselves, be told more. In: frames, and packets that are to go. Out: what
//! [`P4`] says of them.

use pinion_net::frame::internet_checksum;
use pinion_net::frame::lnic::{Flags, Header, LNIC_HEADER_BYTES};
use pinion_p4::flat::{Packet, Register, Rejected};
use pinion_p4::lnic::Ingress;
use pinion_p4::lnic::alone::Told;
use pinion_p4::lnic::fields::{HEAD_BYTES, RECORD_BYTES};

use super::answers::{Alone, Answers};
use super::record::{addresses, egress_record, read_fields};
use super::sent::{SEND_NOTHING, SEND_PACKET, send_out};
use super::{P4, PLAIN_IPV4, PROTOCOL_OFFSET, SHORTEST_FRAME_BYTES, control, layout_of, tell_time};
use crate::transport::{DropReason, Externs, Verdict};

/// Bytes of the longest frame whose length a program can be told.
const LONGEST_FRAME: usize = u16::MAX as usize;

impl P4 {
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
        self.runs[0].count(&program.flat, &program.asked);
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
    pub(super) fn parse_any<'f>(
        &mut self,
        frame: &'f [u8],
    ) -> Result<(Header, &'f [u8]), DropReason> {
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
            head.filter(|head| program.layout == Some(layout_of(head[PROTOCOL_OFFSET])));
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

    /// Lets a program decide about the frame at hand, whatever it has decided already.
    #[inline(never)]
    pub(super) fn arrive_any(
        &mut self,
        header: &Header,
        payload: &[u8],
        externs: &mut dyn Externs,
    ) -> Verdict {
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
        self.runs[0].count(&program.flat, &program.asked);
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
        let dropped = is_dropped
            .then(|| Self::reason(program, &self.ingress).map_or(Verdict::Consume, Verdict::Drop));
        Self::verdict(program, dropped, taken)
    }

    /// Says what becomes of a frame that the program drops, or not, and that reassembly was asked about, or not.
    #[inline]
    pub(super) fn verdict(
        program: &Ingress,
        dropped: Option<Verdict>,
        taken: Option<Result<u16, DropReason>>,
    ) -> Verdict {
        match (dropped, taken) {
            (_, Some(Err(refusal))) => Verdict::Drop(refusal),
            (Some(dropped), _) => dropped,
            (None, Some(Ok(rx_id))) => Verdict::Reassemble { rx_id },
            (None, None) if !program.has_reassembly => Verdict::Whole,
            // The program lets a packet through that it has asked nobody about.
            (None, None) => Verdict::Drop(DropReason::HeaderLies),
        }
    }

    /// Writes a frame of a program that does more than to send what the NIC says.
    #[inline(never)]
    pub(super) fn write_any(
        &mut self,
        (header, headers): (&Header, &[u8; LNIC_HEADER_BYTES]),
        (payload, bytes): (&[u8], u16),
        frame: &mut Vec<u8>,
    ) {
        let program = &self.pipelines.egress;
        let is_data = header.flags.has(Flags::DATA);
        let is_first = is_data && self.is_new;
        let marks = [is_first, is_data && self.is_again];
        let record = egress_record(header, headers, bytes, marks);
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
            self.runs[1].count(&program.flat, &program.asked);
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
