//! The bench's peer: frames out of the node come in; the script's frames and the peer's own replies
//! go out, one at a time, each at a cycle that is certain once the node has run up to
//! [`Peer::reaction_cycles`] before it. It holds what is due, and waits for the wire and, with the
//! script, for the node's announcements.
//!
//! Cycles here are the node's, counted from its reset.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pinion_nanopu::Cycle;
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header, NDP_PROTOCOL};

use super::observation::{ACK, Fields, PULL};
use super::set::{Scenario, ScriptFrame};

/// How long after the last announcement's first flit cycle 0 comes.
const READY_CYCLES: Cycle = 3003;
/// How long the bench takes for a reply, on top of the peer's own time.
const BENCH_CYCLES: Cycle = 3;
/// The first port that harts announce themselves to.
const READY_PORT: u16 = 0x7000;
/// Counts the bytes of a flit.
const FLIT_BYTES: usize = 8;
/// The MAC address that injected frames go to.
const NODE_MAC: [u8; 6] = [0x08, 0x11, 0x22, 0x33, 0x44, 0x08];
/// The MAC address that injected frames come from.
const PEER_MAC: [u8; 6] = [0x08, 0x55, 0x66, 0x77, 0x88, 0x08];

/// Holds a frame that is on its way to the node's pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameIn {
    /// When its first flit comes.
    pub first: Cycle,
    /// When its last flit comes.
    pub last: Cycle,
    /// Its number in the script, if it is of it.
    pub script: Option<usize>,
    /// The whole frame.
    pub frame: Vec<u8>,
}

/// Orders by when a frame is due, then by when it was made; the script's were made first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    due: Cycle,
    made: usize,
    script: Option<usize>,
    frame: Vec<u8>,
}

/// Plays the peer of one scenario.
#[derive(Debug)]
pub struct Peer<'a> {
    scenario: &'a Scenario,
    script: &'a [ScriptFrame],
    announced: Vec<u16>,
    zero: Option<Cycle>,
    pending: BinaryHeap<Reverse<Pending>>,
    made: usize,
    data_packets: u32,
    wire_free: Cycle,
}

impl<'a> Peer<'a> {
    /// Makes a peer that waits for the node's announcements.
    pub fn new(scenario: &'a Scenario, script: &'a [ScriptFrame]) -> Self {
        Self {
            scenario,
            script,
            announced: Vec::new(),
            zero: None,
            pending: BinaryHeap::new(),
            made: script.len(),
            data_packets: 0,
            wire_free: 0,
        }
    }

    /// Gives the node's cycle that is the scenario's cycle 0, once it is known.
    pub fn zero(&self) -> Option<Cycle> {
        self.zero
    }

    /// Tells how soon after a frame's last flit its answer can be on the wire.
    pub fn reaction_cycles(&self) -> Cycle {
        let automatic = self.scenario.acknowledge;
        let automatic = automatic.enabled.then_some(automatic.delay_cycles);
        let replies = self.scenario.replies.iter().filter(|reply| reply.flags != 0);
        let soonest = replies.map(|reply| reply.delay_cycles).chain(automatic).min();
        BENCH_CYCLES + soonest.unwrap_or(100).min(1000)
    }

    /// Takes a frame that left the node's pins from cycle `first` to cycle `last`.
    pub fn frame_out(&mut self, first: Cycle, last: Cycle, frame: &[u8]) {
        let fields = Fields::of(frame);
        if !fields.is_data() {
            return;
        }
        let counted = self.zero.is_some_and(|zero| first >= zero);
        self.listen_for_announcement(first, &fields);
        let number = self.data_packets;
        self.data_packets += u32::from(counted);
        let scenario = self.scenario;
        let replies = scenario.replies.iter();
        let mut replies =
            replies.filter(|reply| counted && reply.data_packet_out == number).peekable();
        if replies.peek().is_none() && scenario.acknowledge.enabled {
            let credit = u16::from(fields.pkt_offset) + 1 + scenario.rtt_pkts;
            let due = last + scenario.acknowledge.delay_cycles + BENCH_CYCLES;
            self.make(due, reply(&fields, ACK | PULL, credit));
        }
        for answer in replies.filter(|answer| answer.flags != 0) {
            let due = last + answer.delay_cycles + BENCH_CYCLES;
            self.make(due, reply(&fields, answer.flags, answer.pull_offset));
        }
    }

    fn make(&mut self, due: Cycle, frame: Vec<u8>) {
        self.pending.push(Reverse(Pending { due, made: self.made, script: None, frame }));
        self.made += 1;
    }

    fn listen_for_announcement(&mut self, first: Cycle, fields: &Fields) {
        let harts = READY_PORT..READY_PORT.saturating_add(self.scenario.harts.min(0xfff) as u16);
        let port = fields.dst_context;
        if self.zero.is_some() || !harts.contains(&port) || self.announced.contains(&port) {
            return;
        }
        self.announced.push(port);
        if self.announced.len() < self.scenario.ready_messages as usize {
            return;
        }
        let zero = first + READY_CYCLES;
        self.zero = Some(zero);
        for (index, frame) in self.script.iter().enumerate() {
            let due = zero.saturating_add_signed(frame.cycle);
            let (made, script, frame) = (index, Some(index), frame.frame.clone());
            self.pending.push(Reverse(Pending { due, made, script, frame }));
        }
    }

    /// Takes the next frame in whose first flit comes before cycle `end`, if there is one.
    pub fn next_in(&mut self, end: Cycle) -> Option<FrameIn> {
        let Reverse(next) = self.pending.peek()?;
        let first = next.due.max(self.wire_free);
        if first >= end {
            return None;
        }
        let Reverse(next) = self.pending.pop()?;
        let flits = next.frame.len().div_ceil(FLIT_BYTES).max(1);
        self.wire_free = first + flits as Cycle;
        let last = self.wire_free - 1;
        Some(FrameIn { first, last, script: next.script, frame: next.frame })
    }
}

/// Makes the reply to a packet of data.
fn reply(answers: &Fields, flags: u8, pull_offset: u16) -> Vec<u8> {
    let header = Header {
        dst_mac: NODE_MAC,
        src_mac: PEER_MAC,
        protocol: NDP_PROTOCOL,
        src_ip: answers.dst_ip,
        dst_ip: answers.src_ip,
        flags: Flags(flags),
        src_context: answers.dst_context,
        dst_context: answers.src_context,
        msg_len: answers.msg_len,
        pkt_offset: answers.pkt_offset,
        pull_offset,
        tx_msg_id: answers.tx_msg_id,
        buf_ptr: answers.buf_ptr,
        buf_size_class: answers.buf_size_class,
        ..Header::default()
    };
    header.frame(&[0; CONTROL_PAYLOAD_BYTES])
}
