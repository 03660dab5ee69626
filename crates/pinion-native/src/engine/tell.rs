//! What the engine tells its listener: what came out of workers, how handlers went, packets' whole ways.

use pinion_sim::Time;
use pinion_spin::{ContextId, Event, HandlerRecord, Listener, Machine, PacketRecord, Stalls};

use super::Engine;
use crate::outbox::Outbox;
use crate::packets::Packet;
use crate::worker::Done;

impl Engine {
    /// Tells what came out of a worker, and empties it.
    pub(super) fn tell(&mut self, worker: u32, outbox: &mut Outbox, listener: &mut dyn Listener) {
        let cores = self.shared.machine.cluster.cores;
        let (cluster, hpu) = (worker / cores, worker % cores);
        for sent in outbox.sent.drain(..) {
            self.totals.packets_out += 1;
            self.totals.bytes_out += sent.bytes as u64;
            let frame = &outbox.bytes[sent.start..sent.start + sent.bytes];
            let time = Time::from_ns(sent.time_ns);
            listener.hear(&Event::Departed { time, frame, packet: sent.packet });
        }
        outbox.bytes.clear();
        let time = Time::from_ns(outbox.printed_ns);
        for byte in outbox.printed.drain(..) {
            listener.hear(&Event::Output { time, cluster, hpu, byte });
        }
        for failure in outbox.failures.drain(..) {
            self.totals.faults += 1;
            listener.hear(&Event::HandlerFault {
                time: Time::from_ns(failure.time_ns),
                context: ContextId(failure.context),
                message: failure.message,
                packet: failure.packet,
                cluster,
                hpu,
                fault: failure.fault,
                pc: failure.pc,
                address: failure.address,
                scene: &failure.kept.scene(),
            });
        }
        self.totals.host_writes += std::mem::take(&mut outbox.host_writes);
        self.totals.host_bytes += std::mem::take(&mut outbox.host_bytes);
    }
}

/// Tells how a handler went.
pub(super) fn tell_handler(done: &Done, machine: &Machine, listener: &mut dyn Listener) {
    let cores = machine.cluster.cores;
    listener.hear(&Event::HandlerDone(&HandlerRecord {
        packet: done.job.given.packet,
        context: ContextId(done.job.given.context),
        kind: done.job.kind,
        cluster: done.worker / cores,
        hpu: done.worker % cores,
        start: Time::from_ns(done.ran.start_ns),
        end: Time::from_ns(done.ran.end_ns),
        instructions: done.ran.instructions,
        stalls: Stalls::default(),
        failed: done.ran.failed,
    }));
}

/// Tells a packet's whole way.
pub(super) fn tell_packet(packet: &Packet, machine: &Machine, listener: &mut dyn Listener) {
    let cores = machine.cluster.cores;
    let arrival = Time::from_ns(packet.arrival_ns);
    listener.hear(&Event::PacketDone(&PacketRecord {
        packet: packet.number,
        tag: packet.tag,
        context: ContextId(packet.context),
        message: packet.message,
        bytes: packet.bytes,
        end_of_message: packet.end_of_message,
        arrival,
        inbound: arrival,
        written: arrival,
        her: arrival,
        handler_start: packet.start_ns.map(Time::from_ns),
        handler_end: packet.end_ns.map(Time::from_ns),
        completion: Time::from_ns(packet.end_ns.unwrap_or(packet.arrival_ns)),
        departure: packet.sent_ns.map(Time::from_ns),
        hpu: packet.worker.map(|worker| (worker / cores, worker % cores)),
        instructions: packet.instructions,
        stalls: Stalls::default(),
        failed: packet.failed,
    }));
}
