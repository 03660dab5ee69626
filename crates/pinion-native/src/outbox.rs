//! What a worker's handlers do to the outside: packets sent, text printed, faults, counters. Filled
//! by services while handlers run, taken by the engine between batches.

use pinion_spin::{Fault, HandlerKind};

use crate::entry::Entry;
use crate::scene::{Kept, STACK_POINTER, Stop};

/// Bytes of the longest instruction.
const INSTRUCTION_BYTES: u32 = 15;
/// Bounds the bytes of a stack that are kept: the newest.
const STACK_BYTES: u64 = 16 << 10;
/// Describes a packet that a handler sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Where its bytes begin in [`Outbox::bytes`].
    pub start: usize,
    /// Number of its bytes.
    pub bytes: usize,
    /// Numbers the packet whose handler sent it.
    pub packet: u64,
    /// When, in nanoseconds since the engine began.
    pub time_ns: u64,
}

/// Describes something a handler did wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The job's context.
    pub context: u32,
    /// Its message.
    pub message: u32,
    /// Its packet.
    pub packet: u64,
    /// What went wrong.
    pub fault: Fault,
    /// Points at the instruction.
    pub pc: u32,
    /// The address it touched.
    pub address: u32,
    /// When, in nanoseconds since the engine began.
    pub time_ns: u64,
    /// What the worker held.
    pub kept: Kept,
}

/// Holds what came out of a worker since it was last looked at.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The bytes of packets sent, one behind the other.
    pub bytes: Vec<u8>,
    /// Describes them.
    pub sent: Vec<Sent>,
    /// Holds printed text.
    pub printed: Vec<u8>,
    /// When text was printed last.
    pub printed_ns: u64,
    /// What went wrong.
    pub failures: Vec<Failure>,
    /// Number of writes to host memory.
    pub host_writes: u64,
    /// Number of bytes written to host memory.
    pub host_bytes: u64,
}

impl Outbox {
    /// Tells whether nothing came out.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
            && self.printed.is_empty()
            && self.failures.is_empty()
            && self.host_writes == 0
    }

    /// Adds what another holds, and empties it.
    pub fn append(&mut self, other: &mut Self) {
        let offset = self.bytes.len();
        self.bytes.append(&mut other.bytes);
        self.sent.extend(other.sent.drain(..).map(|mut sent| {
            sent.start += offset;
            sent
        }));
        self.printed.append(&mut other.printed);
        self.printed_ns = self.printed_ns.max(other.printed_ns);
        self.failures.append(&mut other.failures);
        self.host_writes += std::mem::take(&mut other.host_writes);
        self.host_bytes += std::mem::take(&mut other.host_bytes);
    }
}

/// Holds what services need while a handler runs.
#[derive(Debug)]
pub struct Ports {
    /// Takes what comes out.
    pub outbox: Outbox,
    /// The running handler and its packet, as of its last command or its fault.
    pub entry: Entry,
    /// Bounds what every handler may name in commands: static data, the worker's own stack.
    pub common: [(u32, u32); 2],
    /// The distance from one cluster's L1 to the next, and how many there are.
    pub clusters: (u32, u32),
    /// Bounds the program's code: address and bytes.
    pub code: (u32, u32),
    /// Limits a packet's bytes.
    pub max_packet_bytes: u32,
    /// Turns a host address as commands name it into where it lies.
    pub host_offset: u64,
    /// Converts time to cycles: megahertz.
    pub frequency_mhz: u64,
    /// When the engine began.
    pub start: std::time::Instant,
    /// Whether times are taken.
    pub timed: bool,
    /// When the running handler sent its first packet.
    pub first_sent_ns: Option<u64>,
    /// Holds where a handler went last that the watchdog has ended, until that is told.
    pub trail: Vec<u32>,
}

impl Ports {
    /// Copies what the worker holds whose handler has just stopped, or waits for a service.
    ///
    /// # Safety
    /// The handler's context, packet and stack are mapped.
    #[cold]
    pub unsafe fn keep(&self, stop: &Stop) -> Kept {
        let (stack, stack_bytes) = self.common[1];
        let end = u64::from(stack) + u64::from(stack_bytes);
        let pointer = stop.registers[STACK_POINTER].clamp(u64::from(stack), end);
        let Entry { l1_packet, l2_packet: [packet, _], bytes: packet_bytes, handler, .. } =
            self.entry;
        let (code, code_bytes) = self.code;
        let offset = stop.pc.wrapping_sub(code);
        let in_code = code_bytes.saturating_sub(offset);
        let copy = |address: u64, bytes: u64| {
            if bytes == 0 {
                return Vec::new();
            }
            // SAFETY: the range is mapped, as the caller promises; nobody else writes it.
            unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize).to_vec() }
        };
        // SAFETY: the worker points at its context before a handler runs.
        let handlers = unsafe { (*self.entry.context).handlers };
        let kind = match handlers.iter().position(|other| *other == handler) {
            Some(0) => HandlerKind::Header,
            Some(2) => HandlerKind::Completion,
            _ => HandlerKind::Payload,
        };
        Kept {
            kind,
            handler,
            registers: stop.registers,
            instruction: copy(u64::from(stop.pc), u64::from(in_code.min(INSTRUCTION_BYTES))),
            stack: (pointer as u32, copy(pointer, (end - pointer).min(STACK_BYTES))),
            packet: copy(u64::from(packet), u64::from(packet_bytes)),
            l1_packet: l1_packet.into(),
            refused: stop.refused,
            trail: self.trail.clone(),
        }
    }

    /// Gives the time since the engine began, 0 where times are not taken.
    pub fn now_ns(&self) -> u64 {
        match self.timed {
            true => self.start.elapsed().as_nanos() as u64,
            false => 0,
        }
    }

    /// Notes something the running handler did wrong.
    ///
    /// # Safety
    /// The running handler's context, packet and stack are mapped.
    pub unsafe fn fail(&mut self, fault: Fault, address: u32, stop: Stop) {
        // SAFETY: the caller's promise.
        let (kept, context) = unsafe { (self.keep(&stop), (*self.entry.context).context) };
        self.trail.clear();
        let pc = stop.pc;
        let failure = Failure {
            context,
            message: self.entry.message,
            packet: self.entry.packet,
            fault,
            pc,
            address,
            time_ns: self.now_ns(),
            kept,
        };
        self.outbox.failures.push(failure);
    }
}
