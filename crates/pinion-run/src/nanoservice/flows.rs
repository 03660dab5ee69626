//! The flows of a node's trace: what became of frames and messages comes in, by their numbers; the flows
//! that pass each slice go out, in the order in which slices end.
//!
//! A frame's flow leads from the pins to the slice of its message in reassembly. The message's own leads
//! from there to the hart, and on through every packet of what the hart wrote while it worked at it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use pinion_nanopu::Cycle;
use pinion_nanopu::waypoint::Waypoint;
use pinion_observe::trace::Works;
use pinion_observe::trace::perfetto::Corner;

/// Messages that went out and are remembered: their packets may go again.
const MOST_SENT: usize = 4096;

/// Follows frames and messages through a node.
pub struct Flows {
    corner: Corner,
    /// Frames of messages that are not complete, by message.
    frames: HashMap<u64, Vec<u64>>,
    /// Messages that left reassembly, in that order.
    queued: VecDeque<u64>,
    harts: HashMap<u8, OfHart>,
    works: Works,
    /// Flows of messages that went out.
    sent: BTreeMap<u64, u64>,
    /// Flows of the packets that left packetization, and of all frames, in that order.
    packets: VecDeque<Option<u64>>,
    leaving: VecDeque<Option<u64>>,
}

/// What is known of a hart.
#[derive(Default)]
struct OfHart {
    /// Messages whose words go to it, in that order.
    coming: VecDeque<u64>,
    /// Messages that it ended and whose slice is not written.
    ended: VecDeque<Option<u64>>,
}

impl Flows {
    /// Makes flows that are numbered as a corner of a trace says.
    pub fn new(corner: Corner) -> Self {
        Self {
            corner,
            frames: HashMap::new(),
            queued: VecDeque::new(),
            harts: HashMap::new(),
            works: Works::default(),
            sent: BTreeMap::new(),
            packets: VecDeque::new(),
            leaving: VecDeque::new(),
        }
    }

    /// Hears what became of a frame or a message; waypoints come in order of time.
    pub fn hear(&mut self, at: Cycle, waypoint: &Waypoint) {
        match *waypoint {
            Waypoint::Packet { frame, message, .. } => {
                self.frames.entry(message).or_default().push(frame);
            }
            Waypoint::Queued { message, .. } => self.queued.push_back(message),
            Waypoint::Chosen { message, hart, .. } => {
                self.harts.entry(hart).or_default().coming.push_back(message);
                self.works.hear(at, waypoint);
            }
            Waypoint::Ended { hart, .. } => {
                let message = self.works.hear(at, waypoint);
                self.harts.entry(hart).or_default().ended.push_back(message);
            }
            Waypoint::Begun { .. } | Waypoint::Bound { .. } => drop(self.works.hear(at, waypoint)),
            Waypoint::Sends { message, hart, written, .. } => {
                let own = || self.corner.flow(2 * message + 1);
                let work = self.works.at(hart, written);
                let flow = work.map_or_else(own, |work| self.corner.flow(2 * work + 2));
                self.sent.insert(message, flow);
                if self.sent.len() > MOST_SENT {
                    self.sent.pop_first();
                }
            }
            Waypoint::Leaves { packet, .. } => {
                let flow = packet.and_then(|packet| self.sent.get(&packet.message).copied());
                if packet.is_some() {
                    self.packets.push_back(flow);
                }
                self.leaving.push_back(flow);
            }
            Waypoint::Freed { .. } | Waypoint::Consumed { .. } | Waypoint::Dropped { .. } => {}
        }
    }

    /// Gives the flows of the n-th frame that came, from 0.
    pub fn frame_in(&self, frame: u64) -> Vec<u64> {
        vec![self.corner.arriving(frame)]
    }

    /// Gives the flows of the next message that left reassembly.
    pub fn reassembled(&mut self) -> Vec<u64> {
        let Some(message) = self.queued.pop_front() else { return Vec::new() };
        let frames = self.frames.remove(&message).unwrap_or_default();
        let mut flows: Vec<u64> = frames.iter().map(|frame| self.corner.arriving(*frame)).collect();
        flows.push(self.corner.flow(2 * message + 2));
        flows
    }

    /// Gives the flows of the next message whose words have gone to a hart.
    pub fn delivered(&mut self, hart: u8) -> Vec<u64> {
        let message = self.harts.get_mut(&hart).and_then(|hart| hart.coming.pop_front());
        message.map(|message| self.corner.flow(2 * message + 2)).into_iter().collect()
    }

    /// Gives the flows of the next message that a hart ended.
    pub fn done(&mut self, hart: u8) -> Vec<u64> {
        let message = self.harts.get_mut(&hart).and_then(|hart| hart.ended.pop_front()).flatten();
        message.map(|message| self.corner.flow(2 * message + 2)).into_iter().collect()
    }

    /// Gives the flows of the next packet that left packetization.
    pub fn packet_out(&mut self) -> Vec<u64> {
        self.packets.pop_front().flatten().into_iter().collect()
    }

    /// Gives the flows of the n-th frame that left, from 0; frames are asked for in order.
    pub fn frame_out(&mut self, frame: u64) -> Vec<u64> {
        let flow = self.leaving.pop_front().flatten();
        let cable = self.corner.has_cable().then(|| self.corner.leaving(frame));
        flow.into_iter().chain(cable).collect()
    }
}
