//! The switches: a queue for data and one for everything else at each port, and trimming.

use super::{DECIDE, Event, Kind, Model, Packet, Peer, Rules, TRIMMED_BYTES, bytes_of, flits};

impl<'a> Model<'a> {
    pub(super) fn queue(&mut self, now: u64, switch: usize, mut packet: Packet) {
        let ways = (self.network.ways)(switch, packet.to);
        let way = match ways.len() {
            1 => 0,
            count if self.rules.ecmp => self.hash(switch, &packet, count),
            count => self.draw() as usize % count,
        };
        let Rules { data_queue, control_queue, trims, .. } = self.rules;
        let out = &mut self.switches[switch][ways[way]];
        let is_full = bytes_of(&out.low) + packet.bytes >= data_queue;
        if packet.kind == Kind::Data && is_full && trims {
            (packet.kind, packet.bytes) = (Kind::Trimmed, TRIMMED_BYTES);
            self.outcome.trimmed += 1;
        }
        let (queue, room) = match packet.kind {
            Kind::Data => (&mut out.low, data_queue),
            _ => (&mut out.high, control_queue),
        };
        if bytes_of(queue) + packet.bytes >= room {
            self.outcome.dropped += 1;
            return;
        }
        queue.push_back(packet);
        let port = ways[way];
        self.outcome.largest = self.outcome.largest.max(bytes_of(&out.low));
        if !out.asked && !out.is_empty() {
            out.asked = true;
            let free = out.free.max(now);
            self.at(free, Event::Port(switch, port));
        }
    }

    pub(super) fn send(&mut self, now: u64, switch: usize, port: usize) {
        let out = &mut self.switches[switch][port];
        out.asked = false;
        let Some(packet) = out.high.pop_front().or_else(|| out.low.pop_front()) else { return };
        out.free = now + flits(packet.bytes);
        if !out.is_empty() {
            out.asked = true;
            let free = out.free;
            self.at(free, Event::Port(switch, port));
        }
        let (peer, latency) = self.network.ports[switch][port];
        self.arrive(now + latency, peer, packet);
    }

    /// The first flit of a frame is there.
    pub(super) fn arrive(&mut self, first: u64, peer: Peer, packet: Packet) {
        match peer {
            Peer::Switch(switch, port) => {
                let whole = first + flits(packet.bytes);
                self.at(whole, Event::InSwitch(switch, port, packet));
            }
            Peer::Node(node) => {
                let flow = packet.flow;
                let seen = &mut self.receiving[flow].seen;
                if packet.kind == Kind::Data {
                    seen[packet.number as usize] = true;
                    if seen.iter().all(|seen| *seen) {
                        self.outcome.done[flow].get_or_insert(first + flits(packet.bytes));
                    }
                }
                self.at(first + DECIDE, Event::Decided(node, packet));
            }
        }
    }

    /// Equal-cost multi-path: FNV-1a over addresses, protocol and contexts, mixed with the switch's
    /// seed by SplitMix64.
    pub(super) fn hash(&self, switch: usize, packet: &Packet, ways: usize) -> usize {
        let mix = |number: u64| {
            let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let address = |node: usize| (0x0a00_0002 + node as u32).to_be_bytes();
        let key = [&address(packet.from)[..], &address(packet.to), &[0x99, 0, 0, 0, 0]].concat();
        for byte in key {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let number = mix(hash ^ mix(self.rules.seed + switch as u64));
        ((u128::from(number) * ways as u128) >> 64) as usize
    }

    pub(super) fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    // The receiver.
}
