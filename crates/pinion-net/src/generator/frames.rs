//! Builds the frames of a specification. In: a position in the traffic and a size. Out: bytes.
//! Holds the random stream of the payload.

use super::{GeneratorSpec, Kind, Payload, Position};
use crate::capture::LinkType;
use crate::frame::{
    ETHERNET_HEADER_BYTES, Endpoints, SlmpHeader, build_icmp_echo_request, build_raw_frame,
    build_slmp_frame, build_udp_frame,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::net::Ipv4Addr;

/// Sets the payload's random stream apart from the sizes'.
const PAYLOAD_STREAM: u64 = 0x7061_796c_6f61_6400;

pub(super) struct FrameBuilder {
    spec: GeneratorSpec,
    header_bytes: usize,
    random: Pcg64Mcg,
    body: Vec<u8>,
}

impl FrameBuilder {
    pub(super) fn new(spec: &GeneratorSpec) -> Self {
        Self {
            spec: spec.clone(),
            header_bytes: spec.header_bytes(),
            random: Pcg64Mcg::seed_from_u64(spec.seed ^ PAYLOAD_STREAM),
            body: Vec::new(),
        }
    }

    /// Returns the bytes after the headers in a frame of `frame_bytes`.
    pub(super) fn body_bytes(&self, frame_bytes: usize) -> usize {
        frame_bytes.saturating_sub(self.header_bytes)
    }

    pub(super) fn build(&mut self, at: Position, bytes: usize, slmp: SlmpHeader) -> Vec<u8> {
        self.fill_body(self.body_bytes(bytes), at);
        let body = &self.body;
        let id = self.spec.id.wrapping_add(at.message as u32);
        let (ends, port) = self.flow(at.message);
        let built = match self.spec.kind {
            Kind::Udp => build_udp_frame(&ends, port, self.spec.dst_port, body),
            Kind::Icmp => build_icmp_echo_request(&ends, id as u16, at.packet as u16, body),
            Kind::Slmp => build_slmp_frame(&ends, port, slmp, body),
            Kind::Raw => Ok(build_raw_frame(&ends, body)),
        };
        // A specification made by hand may ask for more than a frame holds; its body is then left
        // out. `GeneratorSpec::check_sizes` reports such a specification.
        let mut frame = built.unwrap_or_default();
        if self.spec.link == LinkType::RawIp && frame.len() >= ETHERNET_HEADER_BYTES {
            frame.drain(..ETHERNET_HEADER_BYTES);
        }
        frame
    }

    fn fill_body(&mut self, bytes: usize, at: Position) {
        self.body.clear();
        if self.spec.kind == Kind::Raw {
            let id = self.spec.id.wrapping_add(at.message as u32);
            self.body.extend(id.to_be_bytes());
            self.body.extend((at.packet as u32).to_be_bytes());
        }
        let head = self.body.len();
        self.body.resize(head + bytes, 0);
        match self.spec.payload {
            Payload::Zero => {}
            Payload::Random => self.random.fill_bytes(&mut self.body[head..]),
            Payload::Ramp => {
                for (i, byte) in self.body[head..].iter_mut().enumerate() {
                    *byte = i as u8;
                }
            }
        }
    }

    /// Gives each message a source port of its own; when ports run out, the next source address.
    fn flow(&self, message: u64) -> (Endpoints, u16) {
        let ports = 0x1_0000 - u64::from(self.spec.src_port);
        let port = u64::from(self.spec.src_port) + message % ports;
        let mut ends = self.spec.ends;
        let further = (message / ports) as u32;
        ends.src = Ipv4Addr::from(u32::from(ends.src).wrapping_add(further));
        (ends, port as u16)
    }
}
