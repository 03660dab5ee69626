//! Answers on their way out of the walls: what the engine tells becomes bytes.

use pinion_sim::Time;
use pinion_spin::listener::DropReason;
use pinion_spin::{Event, Fault, HandlerRecord, PacketRecord, Refused, Registers, Totals};

use super::{part, put_bytes};

/// Puts answers together.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Counts its bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes what is there.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn time(&mut self, time: Time) {
        self.u64(time.ps());
    }

    fn maybe(&mut self, time: Option<Time>) {
        self.0.push(time.is_some().into());
        self.time(time.unwrap_or(Time::ZERO));
    }

    fn pair(&mut self, (one, other): (u32, u32)) {
        self.u32(one);
        self.u32(other);
    }

    /// Adds what the engine tells.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Unmatched { time, frame } => {
                self.0.push(part::UNMATCHED);
                self.time(*time);
                put_bytes(&mut self.0, frame);
            }
            Event::Dropped { time, reason, frame } => {
                self.0.push(part::DROPPED);
                self.time(*time);
                let number = DropReason::ALL.iter().position(|known| known == reason);
                self.0.push(number.unwrap_or_default() as u8);
                put_bytes(&mut self.0, frame);
            }
            Event::HandlerDone(record) => self.handler(record),
            Event::PacketDone(record) => self.packet(record),
            Event::Departed { time, frame, packet } => {
                self.0.push(part::DEPARTED);
                self.time(*time);
                self.u64(*packet);
                put_bytes(&mut self.0, frame);
            }
            Event::Output { time, cluster, hpu, byte } => {
                self.0.push(part::OUTPUT);
                self.time(*time);
                self.pair((*cluster, *hpu));
                self.0.push(*byte);
            }
            Event::HandlerFault { .. } => self.fault(event),
            Event::MessageEvicted { time, context, message } => {
                self.0.push(part::EVICTED);
                self.time(*time);
                self.pair((context.0, *message));
            }
            // The engine tells of nothing else.
            _ => {}
        }
    }

    fn handler(&mut self, record: &HandlerRecord) {
        self.0.push(part::HANDLER);
        self.u64(record.packet);
        self.u32(record.context.0);
        self.0.push(record.kind as u8);
        self.pair((record.cluster, record.hpu));
        self.time(record.start);
        self.time(record.end);
        self.u64(record.instructions);
        self.0.push(record.failed.into());
    }

    fn packet(&mut self, record: &PacketRecord) {
        self.0.push(part::PACKET);
        self.u64(record.packet);
        self.u64(record.tag);
        self.pair((record.context.0, record.message));
        self.u32(record.bytes);
        self.0.push(record.end_of_message.into());
        self.time(record.arrival);
        self.maybe(record.handler_start);
        self.maybe(record.handler_end);
        self.time(record.completion);
        self.maybe(record.departure);
        self.0.push(record.hpu.is_some().into());
        self.pair(record.hpu.unwrap_or_default());
        self.u64(record.instructions);
        self.0.push(record.failed.into());
    }

    fn fault(&mut self, event: &Event<'_>) {
        let Event::HandlerFault {
            time,
            context,
            message,
            packet,
            cluster,
            hpu,
            fault,
            pc,
            address,
            scene,
        } = event
        else {
            return;
        };
        self.0.push(part::FAULT);
        self.time(*time);
        self.pair((context.0, *message));
        self.u64(*packet);
        self.pair((*cluster, *hpu));
        let (kind, number, what) = match fault {
            Fault::Exception { cause } => (0, u64::from(*cause), ""),
            Fault::Watchdog { limit_cycles } => (1, *limit_cycles, ""),
            Fault::BadCommand { what } => (2, 0, *what),
            Fault::Released => (3, 0, ""),
            Fault::HpuLost => (4, 0, ""),
        };
        self.0.push(kind);
        self.u64(number);
        put_bytes(&mut self.0, what.as_bytes());
        self.pair((*pc, *address));
        self.0.push(scene.kind as u8);
        self.u32(scene.handler);
        let Registers::X86(registers) = scene.registers else { unreachable!("of this computer") };
        registers.into_iter().for_each(|register| self.u64(register));
        put_bytes(&mut self.0, scene.instruction);
        self.u32(scene.stack.0);
        put_bytes(&mut self.0, scene.stack.1);
        put_bytes(&mut self.0, scene.packet);
        self.pair(scene.l1_packet);
        self.0.push(scene.refused.is_some().into());
        let refused =
            scene.refused.unwrap_or(Refused { nic_address: 0, other_address: None, bytes: 0 });
        self.pair((refused.nic_address, refused.bytes));
        self.0.push(refused.other_address.is_some().into());
        self.u64(refused.other_address.unwrap_or(0));
        self.u32(scene.trail.len() as u32);
        scene.trail.iter().for_each(|step| self.u32(*step));
    }

    /// Ends an answer.
    pub fn done(&mut self, totals: &Totals, time: Time) {
        self.0.push(part::DONE);
        self.time(time);
        let numbers = [
            totals.packets_in,
            totals.bytes_in,
            totals.matched,
            totals.unmatched,
            totals.processed,
            totals.packets_out,
            totals.bytes_out,
            totals.host_writes,
            totals.host_bytes,
            totals.evicted,
            totals.resident,
            totals.busy_cycles,
            totals.faults,
        ];
        numbers.into_iter().for_each(|number| self.u64(number));
        self.0.push(totals.dropped.len() as u8);
        for (reason, count) in &totals.dropped {
            let number = DropReason::ALL.iter().position(|known| known == reason);
            self.0.push(number.unwrap_or_default() as u8);
            self.u64(*count);
        }
    }

    /// Says why the engine does not start.
    pub fn refused(&mut self, why: &str) {
        self.0.push(part::REFUSED);
        put_bytes(&mut self.0, why.as_bytes());
    }

    /// Says whether there is the memory that was asked for.
    pub fn memory_head(&mut self, is_there: bool) {
        self.0.extend([part::MEMORY, is_there.into()]);
    }

    /// Adds some of its bytes.
    pub fn memory_piece(&mut self, bytes: &[u8]) {
        self.0.push(part::MEMORY_BYTES);
        put_bytes(&mut self.0, bytes);
    }
}
