//! Frames to a node at given times, and what it sends. In: frames with the cycle they are due. Out:
//! the node's frames. Holds what is not due yet; a frame waits until the pins are free. Messages of
//! the node are acknowledged where its transport wants it.

use std::collections::BTreeMap;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Listener;
use pinion_nanopu::machine::transport::{RAW_PROTOCOL, TransportKind};
use pinion_nanopu::node::Progress;
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header, NDP_PROTOCOL};
use pinion_net::load::flits;

use super::Runs;
use pinion_app::error::{Error, Result};

/// Cycles that the node runs without hearing from the other end: less than that takes to answer.
const WINDOW_CYCLES: Cycle = 64;
/// Cycles from a packet's last flit to its acknowledgement.
const ACKNOWLEDGE_CYCLES: Cycle = 100;
/// Packets that an acknowledgement allows beyond the one it is for.
const PULL_PACKETS: u16 = 2;
/// The other end.
const PEER_IP: u32 = 0x0a00_0001;

/// A frame of the node.
#[derive(Debug)]
pub(super) struct FrameOut {
    pub(super) first: Cycle,
    pub(super) last: Cycle,
    pub(super) payload: Vec<u8>,
}

impl FrameOut {
    /// Gives the 64-bit words of its payload.
    pub(super) fn words(&self) -> Vec<u64> {
        self.payload.as_chunks::<8>().0.iter().map(|word| u64::from_be_bytes(*word)).collect()
    }
}

/// Runs a node against frames due at given times.
pub(super) struct Exchange {
    protocol: u8,
    node_ip: u32,
    next_id: u16,
    /// Frames by when they are due and in which order, and whether they are messages.
    due: BTreeMap<(Cycle, u64), (Vec<u8>, bool)>,
    scheduled: u64,
    pins_free: Cycle,
    now: Cycle,
    /// The data frames that the node sent.
    pub(super) out: Vec<FrameOut>,
}

impl Exchange {
    pub(super) fn new(kind: TransportKind, node_ip: u32) -> Self {
        let protocol = if kind == TransportKind::Raw { RAW_PROTOCOL } else { NDP_PROTOCOL };
        Self {
            protocol,
            node_ip,
            next_id: 0,
            due: BTreeMap::new(),
            scheduled: 0,
            pins_free: 0,
            now: 0,
            out: Vec::new(),
        }
    }

    /// Sends a message of one packet to context 0 as soon as the pins are free from `cycle` on.
    pub(super) fn message(&mut self, cycle: Cycle, payload: &[u8]) {
        let header = Header {
            protocol: self.protocol,
            src_ip: PEER_IP,
            dst_ip: self.node_ip,
            flags: Flags::DATA,
            msg_len: payload.len() as u16,
            tx_msg_id: self.next_id,
            ..Header::default()
        };
        self.next_id = (self.next_id + 1) % 128;
        self.schedule(cycle, header.frame(payload), true);
    }

    /// Does the same for a message of words.
    pub(super) fn words(&mut self, cycle: Cycle, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.message(cycle, &bytes);
    }

    fn schedule(&mut self, cycle: Cycle, frame: Vec<u8>, is_message: bool) {
        self.due.insert((cycle, self.scheduled), (frame, is_message));
        self.scheduled += 1;
    }

    /// Runs until the node's frames are what is waited for; `sent` hears of every frame to the
    /// node and whether it is a message.
    ///
    /// # Errors
    /// When the program or the node ends before, or `cycles` have passed.
    pub(super) fn run<N: Runs, L: Listener>(
        &mut self,
        node: &mut N,
        listener: &mut L,
        cycles: Cycle,
        mut sent: impl FnMut(Cycle, bool),
        done: impl Fn(&[FrameOut]) -> bool,
    ) -> Result<()> {
        let limit = self.now + cycles;
        while !done(&self.out) {
            let end = self.now + WINDOW_CYCLES;
            while let Some(entry) = self.due.first_entry() {
                let first = entry.key().0.max(self.pins_free);
                if first >= end {
                    break;
                }
                let (frame, is_message) = entry.remove();
                self.pins_free = first + flits(frame.len());
                sent(first, is_message);
                node.inject(first, &frame);
            }
            let mut frames = Vec::new();
            let mut sink = |first, last, frame: &[u8]| frames.push((first, last, frame.to_vec()));
            let progress = node.run_until(end, &mut sink, listener);
            for (first, last, frame) in frames {
                self.hear(first, last, &frame);
            }
            self.now = end;
            match progress {
                Progress::Running | Progress::Quiet if end < limit => {}
                _ if done(&self.out) => {}
                other => return Err(ended(other, &node.console())),
            }
        }
        Ok(())
    }

    fn hear(&mut self, first: Cycle, last: Cycle, frame: &[u8]) {
        let Ok((header, payload)) = Header::parse(frame, self.protocol) else { return };
        if !header.flags.has(Flags::DATA) {
            return;
        }
        if self.protocol == NDP_PROTOCOL {
            let reply = Header {
                src_ip: header.dst_ip,
                dst_ip: header.src_ip,
                flags: Flags::ACK.with(Flags::PULL),
                src_context: header.dst_context,
                dst_context: header.src_context,
                pull_offset: u16::from(header.pkt_offset) + 1 + PULL_PACKETS,
                ..header
            };
            let due = last + ACKNOWLEDGE_CYCLES;
            self.schedule(due, reply.frame(&[0; CONTROL_PAYLOAD_BYTES]), false);
        }
        self.out.push(FrameOut { first, last, payload: payload.to_vec() });
    }
}

/// Tells why a run ended too early.
pub(super) fn ended(progress: Progress, console: &[u8]) -> Error {
    let why = match progress {
        Progress::Running => "its program did not answer in time".to_owned(),
        Progress::Quiet => "its program waits for something else".to_owned(),
        Progress::Exited { code, at } => format!("its program ended with code {code}, cycle {at}"),
        Progress::Stopped { why, at } => format!("the node stopped in cycle {at}: {why}"),
    };
    let said = String::from_utf8_lossy(console);
    let said = said.trim_end();
    let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
    Error::Usage(format!("the figure's run did not come to its end: {why}{said}"))
}
