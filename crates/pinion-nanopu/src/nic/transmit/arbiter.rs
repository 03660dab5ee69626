//! The arbiter in front of the egress pipeline: control frames strictly before those that the ingress
//! pipeline has made, and these before data, a whole packet at a time (nanoPU paper, §2.1; RTL LNIC/LNIC).
//!
//! In: frames that the packet generator has ready, packets that packetization has scheduled. Out: one
//! of them at a time, built and on its way to the pins. Holds nothing. Waits for a frame of either,
//! and for the egress pipeline to take its first word.

use std::collections::VecDeque;

use pinion_net::frame::lnic::Flags;

use super::Transmit;
use super::egress::Passage;
use super::packet_generator::Control;
use super::packetization::Packet;
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hardware::ndp_egress::ControlTaken;
use crate::hardware::ndp_ingress::{Named, fields};
use crate::transport::Credit;
use crate::waypoint::{Departing, Waypoint};

/// Is what the arbiter passes.
#[derive(Clone, Copy)]
enum Passing<'p> {
    Control(&'p Control),
    Packet(&'p Packet),
}

impl Transmit {
    /// Tells when the arbiter can choose a frame.
    pub(super) fn arbitration(&self) -> Option<Cycle> {
        let (control, data) = (self.generator.frame_from(), self.packetization.packet_from());
        let made = self.made.front().map(|(at, _)| *at);
        let there = control.into_iter().chain(data).chain(made).min()?;
        Some(there.max(self.egress.free_from()))
    }

    /// Passes a frame through the arbiter in cycle `at`: control strictly before data.
    pub(super) fn pass(
        &mut self,
        at: Cycle,
        out: &mut impl FnMut(Cycle, Cycle, &[u8]),
        listener: &mut impl Listener,
    ) {
        let frame = self.counters.frames();
        if self.tells_time {
            self.transport.tell_time(at, at);
        }
        let passage = match self.generator.take(at) {
            Some(control) => self.pass_control(at, &control, listener).map(|gone| (gone, None)),
            None if self.made.front().is_some_and(|(from, _)| *from <= at) => {
                self.pass_made(at, listener).map(|gone| (gone, None))
            }
            None => self.pass_data(at, listener).map(|(gone, packet)| (gone, Some(packet))),
        };
        if let Some((passage, packet)) = passage {
            let first_flit = passage.first_flit;
            listener.waypoint(at, Waypoint::Leaves { frame, packet, first_flit });
            out(passage.first_flit, passage.last_flit, &self.frame);
        }
    }

    /// Builds a control frame and sends it on its way.
    pub(super) fn pass_control(
        &mut self,
        at: Cycle,
        control: &Control,
        listener: &mut impl Listener,
    ) -> Option<Passage> {
        let flags = control.flags;
        self.counters.control_frames += 1;
        self.counters.acknowledgements += u64::from(flags.has(Flags::ACK));
        self.counters.negative_acknowledgements += u64::from(flags.has(Flags::NACK));
        self.counters.pulls += u64::from(flags.has(Flags::PULL));
        let header = self.transport.control(&control.request, flags, &self.own);
        self.frame.clear();
        self.transport.write(&header, &self.control_payload, &mut self.frame);
        Some(self.pass_beside(at, Passing::Control(control), listener))
    }

    /// Sends a frame of the ingress pipeline on its way, as it is.
    fn pass_made(&mut self, at: Cycle, listener: &mut impl Listener) -> Option<Passage> {
        let (_, frame) = self.made.pop_front()?;
        self.counters.made_frames += 1;
        self.frame = frame;
        Some(self.egress.pass(at, self.header_bytes, self.frame.len(), false, listener))
    }

    /// Builds the next data packet and sends it on its way.
    pub(super) fn pass_data(
        &mut self,
        at: Cycle,
        listener: &mut impl Listener,
    ) -> Option<(Passage, Departing)> {
        let packet = self.packetization.packet()?;
        let header = self.transport.data(&packet.outgoing, packet.number, packet.again, &self.own);
        self.frame.clear();
        self.transport.write(&header, self.packetization.payload(&packet), &mut self.frame);
        let passage = self.pass_beside(at, Passing::Packet(&packet), listener);
        let counter = if packet.again {
            &mut self.counters.packets_again
        } else {
            &mut self.counters.packets
        };
        *counter += 1;
        if self.packetization.packet_sent(passage.last_word) {
            self.sent.push_back((passage.last_word, packet.outgoing.tx_msg_id));
        }
        if let Some(window) = self.transport.window() {
            self.open(packet.outgoing.tx_msg_id, window, at);
        }
        Some((passage, packet.departing))
    }

    /// Sends a frame on its way, and tells the blocks of packetization and egress when its words pass.
    fn pass_beside(
        &mut self,
        at: Cycle,
        passing: Passing<'_>,
        listener: &mut impl Listener,
    ) -> Passage {
        let (header, bytes) = (self.header_bytes, self.frame.len());
        let is_data = matches!(passing, Passing::Packet(_));
        if self.packetization.hardware().is_none() && self.egress_block.get().is_none() {
            return self.egress.pass(at, header, bytes, is_data, listener);
        }
        let mut events = Vec::new();
        let passage = self.egress.pass(at, header, bytes, is_data, &mut events);
        let of = |wanted: fn(&Event) -> bool| events.iter().filter(move |(_, event)| wanted(event));
        // The first is of the headers.
        let leaves = of(|event| matches!(event, Event::EgressOut { .. })).skip(1);
        let leaves: Vec<Cycle> = leaves.map(|(at, _)| *at).collect();
        let words = of(|event| matches!(event, Event::PacketizeOut { .. })).map(|(at, _)| *at);
        let words: VecDeque<Cycle> = words.collect();
        if let Some(seat) = self.egress_block.get_mut() {
            match passing {
                Passing::Control(Control { request, flags, from }) => seat.control(ControlTaken {
                    from: *from,
                    at,
                    flags: [Flags::ACK, Flags::NACK, Flags::PULL].map(|flag| flags.has(flag)),
                    fields: fields(&Named::of(&request.answers), request.pull_offset),
                }),
                Passing::Packet(packet) => {
                    let from = packet.departing.offered;
                    seat.packet(from, self.packetization.offer(packet), words.clone());
                }
            }
            seat.leaves(passage.first_flit, &leaves, &self.frame);
        }
        if let Passing::Packet(packet) = passing {
            self.packetization.tell_pass(packet, words);
        }
        events.into_iter().for_each(|(at, event)| listener.event(at, event));
        passage
    }

    /// Lets a message send so many packets, from the cycle after `at` on.
    fn open(&mut self, tx_msg_id: u16, window: u16, at: Cycle) {
        let credit = Some(window.max(1));
        let credit = Credit { at, tx_msg_id, retransmit: None, credit, priority: 0 };
        if !self.packetization.credit(&credit, at, &mut self.counters) {
            self.full_schedule(at);
        }
        // Packets may be complete now with fewer words than were waited for.
        self.words_wake = at;
    }
}
