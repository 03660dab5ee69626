//! Builds the frames of a specification. In: a position in the traffic and a size. Out: bytes.

use super::body::Body;
use super::{GeneratorSpec, Kind, Position};
use crate::capture::LinkType;
use crate::frame::{
    ETHERNET_HEADER_BYTES, Endpoints, SlmpHeader, UdpFrames, build_icmp_echo_request,
    build_raw_frame, build_slmp_frame,
};
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use std::net::Ipv4Addr;

/// Sets the random source addresses apart from sizes and payload.
const SOURCE_STREAM: u64 = 0x736f_7572_6365_7300;

pub(super) struct FrameBuilder {
    spec: GeneratorSpec,
    header_bytes: usize,
    fill: Body,
    udp: UdpFrames,
    body: Vec<u8>,
    /// A frame that is not needed any more.
    spent: Vec<u8>,
}

impl FrameBuilder {
    pub(super) fn new(spec: &GeneratorSpec) -> Self {
        Self {
            spec: spec.clone(),
            header_bytes: spec.header_bytes(),
            fill: Body::new(spec.payload, spec.seed),
            udp: UdpFrames::new(&spec.ends, spec.dst_port),
            body: Vec::new(),
            spent: Vec::new(),
        }
    }

    /// Takes a frame back whose room the next one may have.
    pub(super) fn reuse(&mut self, frame: Vec<u8>) {
        self.spent = frame;
    }

    /// Returns the bytes after the headers in a frame of `frame_bytes`.
    pub(super) fn body_bytes(&self, frame_bytes: usize) -> usize {
        frame_bytes.saturating_sub(self.header_bytes)
    }

    pub(super) fn build(&mut self, at: Position, bytes: usize, slmp: SlmpHeader) -> Vec<u8> {
        let bytes = self.body_bytes(bytes);
        let from @ (src, port) = self.flow(at.message);
        let built = match self.spec.kind {
            Kind::Udp => {
                let (room, fill) = (std::mem::take(&mut self.spent), &mut self.fill);
                self.udp.build(room, from, bytes, |body| fill.fill(body, at.frame))
            }
            kind => {
                self.fill_body(bytes, at);
                let (ends, body) = (Endpoints { src, ..self.spec.ends }, &self.body);
                let id = self.spec.id.wrapping_add(at.message as u32);
                match kind {
                    Kind::Icmp => build_icmp_echo_request(&ends, id as u16, at.packet as u16, body),
                    Kind::Slmp => build_slmp_frame(&ends, port, slmp, body),
                    _ => Ok(build_raw_frame(&ends, body)),
                }
            }
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
        self.fill.fill(&mut self.body[head..], at.frame);
    }

    /// Gives each message a source port of its own; when ports run out, the next source address.
    fn flow(&self, message: u64) -> (Ipv4Addr, u16) {
        let ports = 0x1_0000 - u64::from(self.spec.src_port);
        let port = u64::from(self.spec.src_port) + message % ports;
        let further = (message / ports) as u32;
        let further = further.wrapping_add(self.source(message));
        (Ipv4Addr::from(u32::from(self.spec.ends.src).wrapping_add(further)), port as u16)
    }

    /// Draws a message's source address; the same for all its frames.
    fn source(&self, message: u64) -> u32 {
        if self.spec.sources == 1 {
            return 0;
        }
        let seed = self.spec.seed ^ SOURCE_STREAM ^ message.rotate_left(32);
        let random = Pcg64Mcg::seed_from_u64(seed).next_u32();
        ((u64::from(random) * u64::from(self.spec.sources)) >> 32) as u32
    }
}
