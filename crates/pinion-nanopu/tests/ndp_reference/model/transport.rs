//! The NICs: what they answer, what an answer leads to, and what may leave next.

use std::collections::VecDeque;

use super::{
    CONTROL_BYTES, EGRESS, EGRESS_WORDS, Event, Flow, GENERATE, HEADER_BYTES, Kind, Model, NOTICE,
    PULLS, Packet, Peer, RELEASE, TOKEN, flits,
};

impl<'a> Model<'a> {
    pub(super) fn answer(&mut self, now: u64, node: usize, packet: Packet) {
        let trimmed = packet.kind == Kind::Trimmed;
        let receiving = &mut self.receiving[packet.flow];
        let number = packet.number as usize;
        // A packet of a message that is complete is only acknowledged.
        let wants_pull = !receiving.have.iter().all(|have| *have);
        if !receiving.known {
            (receiving.known, receiving.credit) = (true, self.rules.rtt_packets);
        }
        if !trimmed && !receiving.have[number] {
            receiving.credit += 1;
            receiving.have[number] = true;
        }
        let credit = receiving.credit;
        let reply = |pull| Packet {
            from: node,
            to: packet.from,
            bytes: CONTROL_BYTES,
            kind: Kind::Control { ack: !trimmed, nack: trimmed, pull },
            ..packet
        };
        let nic = &mut self.nics[node];
        nic.last_request = Some(now);
        let is_free = now >= nic.token;
        if !wants_pull || is_free || nic.pulls.len() >= PULLS {
            if wants_pull && is_free {
                nic.token = now + TOKEN;
            }
            nic.control.push_back((now + GENERATE, reply(wants_pull.then_some(credit))));
        } else {
            nic.control.push_back((now + GENERATE, reply(None)));
            let pull = Kind::Control { ack: false, nack: false, pull: Some(credit) };
            nic.pulls.push_back(Packet { kind: pull, ..reply(None) });
            let at = nic.token.max(now + 1);
            self.at(at, Event::Token(node));
        }
        self.at(now + GENERATE, Event::Arbiter(node));
    }

    pub(super) fn pull(&mut self, now: u64, node: usize) {
        let nic = &mut self.nics[node];
        if nic.pulls.is_empty() {
            return;
        }
        let again = if now < nic.token {
            nic.token
        } else if nic.last_request == Some(now) {
            now + 1
        } else {
            let Some(pull) = nic.pulls.pop_front() else { return };
            nic.control.push_back((now + GENERATE, pull));
            nic.token = now + TOKEN;
            self.at(now + GENERATE, Event::Arbiter(node));
            now + TOKEN
        };
        self.at(again, Event::Token(node));
    }

    // The sender.

    pub(super) fn effect(&mut self, now: u64, packet: Packet) {
        let Kind::Control { ack, nack, pull } = packet.kind else { return };
        let sending = &mut self.sending[packet.flow];
        let number = packet.number as usize;
        if ack {
            sending.delivered[number] = true;
            sending.over = sending.delivered.iter().all(|delivered| *delivered);
        }
        if sending.over {
            return;
        }
        if nack {
            sending.marked[number] = true;
        }
        if let Some(credit) = pull {
            sending.credit = credit.max(sending.credit);
            for number in 0..sending.credit.min(sending.marked.len() as u64) {
                if std::mem::take(&mut self.sending[packet.flow].marked[number as usize]) {
                    self.offer(now + RELEASE, 1, packet.flow, number);
                }
            }
        }
    }

    pub(super) fn time_out(&mut self, now: u64, flow: usize) {
        let sending = self.sending[flow].clone();
        if sending.over {
            return;
        }
        let found = self.found(now, flow);
        if found > now {
            // Other timers were set meanwhile.
            self.at(found, Event::Timer(flow));
            return;
        }
        for number in 0..=sending.timed {
            if !sending.delivered[number as usize] {
                self.offer(now + NOTICE + RELEASE, 2, flow, number);
            }
        }
        self.sending[flow].timed = sending.highest;
        self.set_timer(now, flow);
    }

    /// A packet waits for the arbiter from a cycle on.
    pub(super) fn offer(&mut self, from: u64, urgency: usize, flow: usize, number: u64) {
        let node = self.flows[flow].from;
        self.nics[node].data[urgency].push_back((from, flow, number));
        self.at(from, Event::Arbiter(node));
    }

    pub(super) fn arbitrate(&mut self, now: u64, node: usize) {
        let nic = &mut self.nics[node];
        if now < nic.passes {
            let at = nic.passes;
            self.at(at, Event::Arbiter(node));
            return;
        }
        let control = nic.control.front().filter(|(from, _)| *from <= now).map(|(_, p)| *p);
        let packet = if let Some(packet) = control {
            nic.control.pop_front();
            packet
        } else {
            let due = |queue: &&mut VecDeque<(u64, usize, u64)>| {
                queue.front().is_some_and(|(from, ..)| *from <= now)
            };
            let Some((_, flow, number)) = nic.data.iter_mut().find(due).and_then(|q| q.pop_front())
            else {
                return;
            };
            if self.sending[flow].over {
                self.at(now, Event::Arbiter(node));
                return;
            }
            let sending = &mut self.sending[flow];
            sending.highest = sending.highest.max(number);
            let bytes = HEADER_BYTES + self.flows[flow].payload(number);
            let Flow { from, to, .. } = self.flows[flow];
            Packet { from, to, flow, number, kind: Kind::Data, bytes }
        };
        let nic = &mut self.nics[node];
        let first = nic.pins.max(now + EGRESS);
        nic.pins = first + flits(packet.bytes);
        let mut pass = now;
        for word in 0..(packet.bytes - HEADER_BYTES).div_ceil(64) {
            if nic.left.len() == EGRESS_WORDS {
                let room = nic.left.pop_front().unwrap_or(0);
                pass = pass.max(room + 1);
            }
            nic.left.push_back(first + 8 + 8 * word);
            pass += 1;
        }
        nic.passes = pass;
        let (switch, port, latency) = self.network.nodes[node];
        self.arrive(first + latency, Peer::Switch(switch, port), packet);
        self.at(pass, Event::Arbiter(node));
    }
}
