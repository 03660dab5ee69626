//! Synthetic traffic. In: a specification such as `udp,size=512,count=10000,rate=400g`. Out:
//! [`TimedFrame`]s, the same for the same specification on every machine. Holds two random streams
//! (sizes and payload apart, so that neither changes the other).
//!
//! A specification is a kind (`udp`, `icmp`, `raw` or `slmp`) and `key=value` pairs:
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `size` | 512 | bytes of a frame without FCS, or a mix `64:7/570:4` (bytes:weight) |
//! | `count` | 1000 | frames in all; must be `messages` × `packets` where both are given |
//! | `messages` | 1 | messages, each a flow of its own |
//! | `packets` | `count` / `messages` | frames of each message |
//! | `bytes` | | bytes behind the headers of each message; `size` then decides its `packets` |
//! | `order` | `sequential` | or `interleaved` (all in turn) or `interleaved:16` (16 at a time) |
//! | `rate` | `max` | bits a second (`400g`, `100m`), or `max`: all there at time 0 |
//! | `wire` | `frame` | bits the rate counts; `ethernet`: with preamble, padding, FCS, gap |
//! | `link` | `ethernet` | `ip`: frames begin (and sizes count from) the IP header, as PsPIN's own |
//! | `src`, `dst` | 10.0.0.1, 10.0.0.2 | IPv4 addresses (not `raw`) |
//! | `sources` | 1 | source addresses, from `src` on, of which each message draws one (not `raw`) |
//! | `smac`, `dmac` | 02:00 and the IPv4 address | hardware addresses (`link=ethernet`) |
//! | `sport` | 49152 | first source port; message m uses `sport` + m (`udp`, `slmp`) |
//! | `dport` | 9000 | destination port (`udp`; `slmp` always uses 9330) |
//! | `id` | 0 | first message id: SLMP's, ICMP's identifier, the number in `raw` frames |
//! | `syn` | `ends` | which SLMP packets ask for acknowledgement: `none`, `ends`, `all` |
//! | `payload` | `random` | `random`, `zero`, `ramp` (0, 1, 2 … in every frame), `integers`, `ycsb` |
//! | `below` | 4294967295 | bound of `integers`: random little-endian u32 below it |
//! | `records`, `theta`, `reads` | 1000, 1.1, 0.5 | `ycsb`: keys, Zipf exponent, share of reads |
//! | `seed` | 1 | chooses sizes, source addresses and random payload |
//!
//! `ycsb` begins each frame's body with a request as YCSB makes them, four little-endian u32:
//! number of the frame, key, operation (0 read, 1 update), value. The rank of the key is drawn from
//! a Zipf distribution; ranks are scattered over all 32-bit numbers. The rest of the body is zero.
//!
//! What tells messages apart: `udp` the source port (and the source address once ports run out),
//! `icmp` the identifier (the sequence number counts packets), `slmp` port and message id (offset
//! and EOM flag are right), `raw` a big-endian u32 message and u32 packet number at the start.

mod body;
mod error;
mod frames;
mod parse;
mod spec;

pub use body::key_of_rank;
pub use error::GeneratorError;
pub use spec::{GeneratorSpec, Kind, Order, Payload, SizeMix, Syn, Ycsb};

use crate::capture::TimedFrame;
use crate::frame::SlmpHeader;
use crate::pacing::{Pacer, Pacing};
use frames::FrameBuilder;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// Yields the frames of a specification.
pub struct Generator {
    spec: GeneratorSpec,
    builder: FrameBuilder,
    pacer: Pacer,
    sizes: Pcg64Mcg,
    /// SLMP offsets of the messages in the current group.
    offsets: Vec<u32>,
    next: u64,
}

/// Says where a frame stands: which message, which packet of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) message: u64,
    pub(crate) packet: u64,
    /// Index among the messages that take turns.
    slot: usize,
    is_last: bool,
    /// Number of frames before it.
    frame: u64,
}

impl Generator {
    /// Starts at the first frame.
    pub fn new(spec: GeneratorSpec) -> Self {
        let offsets = match spec.kind {
            Kind::Slmp => vec![0; spec.order.at_a_time(spec.messages) as usize],
            _ => Vec::new(),
        };
        Self {
            builder: FrameBuilder::new(&spec),
            pacer: Pacer::new(Pacing::at(spec.rate, spec.wire)),
            sizes: Pcg64Mcg::seed_from_u64(spec.seed),
            offsets,
            next: 0,
            spec,
        }
    }

    /// Returns the specification.
    pub fn spec(&self) -> &GeneratorSpec {
        &self.spec
    }

    /// Returns how many frames it yields in all.
    pub fn total_frames(&self) -> u64 {
        self.spec.total_frames()
    }

    /// Takes a frame back that is not needed any more: the next one may have its room.
    pub fn reuse(&mut self, frame: Vec<u8>) {
        self.builder.reuse(frame);
    }

    /// Works out which packet of which message the k-th frame is. Messages are equally long, so
    /// those that take turns start and end together, and no state is needed.
    fn place(&self, k: u64) -> Position {
        let (messages, packets) = (u64::from(self.spec.messages), self.spec.packets);
        let turn = u64::from(self.spec.order.at_a_time(self.spec.messages));
        let group_first = k / (turn * packets) * turn;
        let within = k - group_first * packets;
        let members = turn.min(messages - group_first);
        let (slot, packet) = (within % members, within / members);
        Position {
            message: group_first + slot,
            packet,
            slot: slot as usize,
            is_last: packet + 1 == packets,
            frame: k,
        }
    }

    fn slmp_header(&mut self, at: Position, bytes: usize) -> SlmpHeader {
        let offset = &mut self.offsets[at.slot];
        if at.packet == 0 {
            *offset = 0;
        }
        let offset_bytes = *offset;
        *offset = offset.wrapping_add(self.builder.body_bytes(bytes) as u32);
        let mut flags = if at.is_last { SlmpHeader::EOM } else { 0 };
        let is_end = at.packet == 0 || at.is_last;
        if self.spec.syn == Syn::All || (self.spec.syn == Syn::Ends && is_end) {
            flags |= SlmpHeader::SYN;
        }
        SlmpHeader { flags, message_id: self.spec.id.wrapping_add(at.message as u32), offset_bytes }
    }
}

impl Iterator for Generator {
    type Item = TimedFrame;

    fn next(&mut self) -> Option<TimedFrame> {
        if self.next >= self.total_frames() {
            return None;
        }
        let at = self.place(self.next);
        self.next += 1;
        let bytes = self.spec.sizes.draw(&mut self.sizes);
        let bytes = self.spec.frame_bytes(bytes, at.is_last);
        let slmp = match self.spec.kind {
            Kind::Slmp => self.slmp_header(at, bytes),
            _ => SlmpHeader::default(),
        };
        let frame = self.builder.build(at, bytes, slmp);
        let time_ps = self.pacer.arrival_ps(0, frame.len());
        Some(TimedFrame::new(time_ps, frame))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.total_frames() - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
