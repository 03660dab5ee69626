//! What is wrong with a packet handler, in words: a fault and the machine's memory map come in; what
//! lies where it reached, and whose that is, goes out.

use std::fs;

use pinion_app::app::App;
use pinion_app::manifest::PacketStart;
use pinion_spin::listener::Fault as FaultKind;
use pinion_spin::{ContextId, ExecutionContext, Machine, Refused};

use super::explain::{self, Explained, Wrong};
use super::program::{Code, Program};
use super::record::{Fault, HandlerOrigin};
use crate::words::count;

/// Ends the page that nothing lies in, so that null pointers are noticed.
const NULL_PAGE_END: u64 = 4096;
/// How far below its stack an access may lie that is still the stack's: the largest frame.
const FRAME_BYTES: u32 = 64 << 10;
/// Names the blocks of a cluster's peripherals: first offset, name.
const PERIPHERALS: [(u32, &str); 6] = [
    (0x0000, "the cluster's control registers"),
    (0x0800, "the event unit"),
    (0x1000, "the instruction cache's registers"),
    (0x1800, "the DMA engine's registers"),
    (0x2000, "an unused part of the peripherals"),
    (0x5000, "the HPU driver's registers"),
];
const PERIPHERAL_BYTES: u32 = 0x1_0000;
const PERIPHERAL_OFFSET: u32 = 0x20_0000;
const DEVICES: std::ops::Range<u32> = 0x1a10_0000..0x1a20_0000;
/// What the native engine calls an integer division that x86-64 traps.
const ARITHMETIC_CAUSE: u32 = 26;
/// The native engine's cause for a call of the kernel, whose number is the address.
const SYSTEM_CALL_CAUSE: u32 = 27;
/// Calls of the kernel that handlers might be after, by their numbers on x86-64.
const SYSTEM_CALLS: [(u64, &str); 14] = [
    (0, "read"),
    (1, "write"),
    (2, "open"),
    (9, "mmap"),
    (10, "mprotect"),
    (41, "socket"),
    (42, "connect"),
    (56, "clone"),
    (57, "fork"),
    (59, "execve"),
    (62, "kill"),
    (101, "ptrace"),
    (231, "exit_group"),
    (257, "openat"),
];
/// The cause that the SDK's runtime gives to a stack that was overrun.
const STACK_CAUSE: u32 = 24;
/// Where workers of the native engine have their stacks, one behind the other.
const NATIVE_STACKS: std::ops::Range<u32> = 0x2000_0000..0x4000_0000;
const NATIVE_SPAN_BYTES: u32 = 0x8_0000;
const NATIVE_GUARD: std::ops::Range<u32> = 0x1000..0x1_0000;

/// Explains faults of an application's handlers.
pub fn explain_all(app: &App, faults: Vec<Fault>) -> Vec<Explained> {
    if faults.is_empty() {
        return Vec::new();
    }
    let file = fs::read(&app.built.elf).unwrap_or_default();
    let code = if app.is_native { Code::X86 } else { Code::HPU };
    let program = Program::new(&app.image, file, code);
    let nic = Nic {
        machine: &app.machine.value,
        contexts: &app.contexts,
        starts_with_ip: app.manifest.app.packet == PacketStart::Ip,
        is_native: app.is_native,
    };
    faults.into_iter().map(|fault| nic.explain(fault, Some(&program))).collect()
}

/// A NIC that faults happened on.
pub struct Nic<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The contexts.
    pub contexts: &'a [ExecutionContext],
    /// Whether handlers get packets that begin with their IP header.
    pub starts_with_ip: bool,
    /// Whether handlers ran on this computer.
    pub is_native: bool,
}

impl Nic<'_> {
    /// Explains a fault of a handler of this program.
    pub fn explain(&self, fault: Fault, program: Option<&Program<'_>>) -> Explained {
        let wrong = match fault.handler() {
            Some(origin) => self.wrong(&fault, origin),
            None => Wrong::new("exception", "an exception"),
        };
        let context = fault.handler().map_or("?", |origin| self.name(origin.context));
        explain::explain(fault, context.to_owned(), wrong, program, self.starts_with_ip)
    }

    fn name(&self, context: ContextId) -> &str {
        self.contexts.get(context.0 as usize).map_or("?", |context| &context.name)
    }

    fn wrong(&self, fault: &Fault, origin: &HandlerOrigin) -> Wrong {
        match fault.kind {
            FaultKind::Exception { cause } => self.exception(cause, fault, origin),
            FaultKind::Watchdog { limit_cycles } => Wrong::new(
                "watchdog",
                format!("stopped by the watchdog after {} cycles", count(limit_cycles)),
            ),
            FaultKind::Released => Wrong::new("released", "ended, for its context was released"),
            FaultKind::BadCommand { what } => self.refusal(what, origin),
            FaultKind::HpuLost => {
                Wrong::new("hpu_lost", "trap vector leads nowhere: the HPU is lost")
            }
        }
    }

    fn exception(&self, cause: u32, fault: &Fault, origin: &HandlerOrigin) -> Wrong {
        let address = fault.address;
        let plain = match cause {
            ARITHMETIC_CAUSE => "integer division by zero, or one that overflows".to_owned(),
            SYSTEM_CALL_CAUSE => "system call".to_owned(),
            _ => explain::exception(cause),
        };
        match cause {
            1 if address < NULL_PAGE_END => {
                Wrong::new("null_call", format!("{plain}: a call through a null pointer"))
            }
            1 => {
                let there = self.place(address as u32, fault, origin).words;
                Wrong::new("jump", format!("{plain} at {address:#010x}: {there}"))
            }
            2 => explain::illegal(fault),
            3 => Wrong::new("breakpoint", format!("{plain} (ebreak): an assertion, abort or trap")),
            0 | 4 | 6 => Wrong::new(
                "misaligned",
                format!("{plain} (address {address:#010x}): no multiple of the access's size"),
            ),
            5 | 7 => {
                let Wrong { name, words } = self.place(address as u32, fault, origin);
                Wrong::new(name, format!("{plain} (address {address:#010x}): {words}"))
            }
            STACK_CAUSE => Wrong::new(
                "stack_overflow",
                format!(
                    "stack overflow: the lowest word of this HPU's {} B of stack was overwritten",
                    count(u64::from(self.machine.l1.stack_bytes))
                ),
            ),
            ARITHMETIC_CAUSE => Wrong::new("arithmetic", plain),
            SYSTEM_CALL_CAUSE => Wrong::new("system_call", system_call(address)),
            _ => Wrong::new("exception", format!("{plain} (value {address:#010x})")),
        }
    }

    /// Says what lies at an address that a handler must not touch.
    fn place(&self, address: u32, fault: &Fault, origin: &HandlerOrigin) -> Wrong {
        if u64::from(address) < NULL_PAGE_END {
            return Wrong::new("null", "a null pointer");
        }
        let overflow = match self.is_native {
            true => self.native_stack(address),
            false => self.stack(address, fault),
        };
        if let Some(wrong) = overflow {
            return wrong;
        }
        if let Some(wrong) = self.near_own(address, fault, origin) {
            return wrong;
        }
        self.l1(address, origin)
            .or_else(|| self.l2(address, origin))
            .or_else(|| self.registers(address))
            .unwrap_or_else(|| Wrong::new("nothing", "no memory lies there"))
    }

    /// Tells whether an access below a handler's own stack is the stack's.
    fn stack(&self, address: u32, fault: &Fault) -> Option<Wrong> {
        let (low, size) = (fault.stack.0 as u32, self.machine.l1.stack_bytes);
        let pointer = fault.registers.stack_pointer() as u32;
        let is_below = pointer < low && low - pointer <= FRAME_BYTES;
        let is_its = address < low && address.checked_sub(pointer).is_some_and(|_| is_below);
        is_its.then(|| {
            Wrong::new(
                "stack_overflow",
                format!(
                    "stack overflow: sp is {} B below this HPU's stack of {} B",
                    count(u64::from(low - pointer)),
                    count(u64::from(size))
                ),
            )
        })
    }

    /// Does the same for the native engine, where a gap lies below each stack.
    fn native_stack(&self, address: u32) -> Option<Wrong> {
        let is_gap = NATIVE_STACKS.contains(&address)
            && NATIVE_GUARD.contains(&(address % NATIVE_SPAN_BYTES));
        is_gap.then(|| {
            Wrong::new(
                "stack_overflow",
                format!(
                    "stack overflow: even the native engine's {} B of stack were not enough; an \
                     HPU has {} B",
                    count(u64::from(NATIVE_SPAN_BYTES - NATIVE_GUARD.end)),
                    count(u64::from(self.machine.l1.stack_bytes))
                ),
            )
        })
    }

    /// Tells whether an address lies just behind what is the handler's.
    fn near_own(&self, address: u32, fault: &Fault, origin: &HandlerOrigin) -> Option<Wrong> {
        const NEAR_BYTES: u32 = 256;
        let behind = |(start, bytes): (u32, u32)| {
            let end = start.checked_add(bytes).filter(|_| bytes > 0)?;
            address.checked_sub(end).filter(|over| *over < NEAR_BYTES)
        };
        let context = self.contexts.get(origin.context.0 as usize);
        let memory =
            context.map(|context| (context.handler_memory_address, context.handler_memory_bytes));
        if let Some(over) = behind(origin.l1_packet) {
            return Some(Wrong::new(
                "packet_end",
                format!(
                    "{over} B behind the end of its packet, of which {} B are in L1",
                    count(u64::from(origin.l1_packet.1))
                ),
            ));
        }
        let stack = (fault.stack.0 as u32, fault.stack.1.len() as u32);
        if let Some(over) = behind(stack).filter(|_| !self.is_native) {
            return Some(Wrong::new("stack_end", format!("{over} B above its stack")));
        }
        let over = behind(memory?)?;
        Some(Wrong::new(
            self.tenant_at(address).map_or("handler_memory_end", |_| "other_context"),
            format!(
                "{over} B behind the end of its context's {} B of handler memory{}",
                count(u64::from(memory?.1)),
                self.tenant_at(address)
                    .map_or(String::new(), |other| format!(", in that of context {other}"))
            ),
        ))
    }

    /// Finds the context whose handler memory an address lies in.
    fn tenant_at(&self, address: u32) -> Option<&str> {
        let holds = |context: &&ExecutionContext| {
            address.wrapping_sub(context.handler_memory_address) < context.handler_memory_bytes
        };
        self.contexts.iter().find(holds).map(|context| context.name.as_str())
    }

    fn l1(&self, address: u32, origin: &HandlerOrigin) -> Option<Wrong> {
        let machine = self.machine;
        let l1 = &machine.l1;
        let by_alias = address.wrapping_sub(l1.alias);
        let own = origin.cluster % machine.cluster.count; // several units are counted through
        let (cluster, offset) = match address.wrapping_sub(l1.base) {
            _ if by_alias < l1.bytes => (own, by_alias),
            offset => (offset / l1.stride, offset % l1.stride),
        };
        if cluster >= machine.cluster.count || offset >= l1.bytes {
            return None;
        }
        let whose = if cluster == own { "" } else { "another cluster's " };
        let at = offset.wrapping_sub(l1.reserved_bytes);
        if let hpu = at / l1.stack_bytes
            && offset >= l1.reserved_bytes
            && hpu < machine.cluster.cores
        {
            let wrong = format!("the stack of {whose}HPU {hpu} in cluster {cluster}");
            return Some(Wrong::new("other_stack", wrong));
        }
        let packets = machine.packet_buffer_offset();
        let scratchpads = machine.scratchpad_offset();
        if offset < packets {
            let wrong = format!("{whose}runtime area in L1 of cluster {cluster}");
            return Some(Wrong::new("runtime", wrong));
        }
        if offset < scratchpads {
            let wrong = format!("another packet's place in L1 of cluster {cluster}");
            return Some(Wrong::new("other_packet", wrong));
        }
        let owner = self.contexts.iter().find(|context| {
            let (start, bytes) = context.scratchpad(cluster);
            (offset - scratchpads).wrapping_sub(start) < bytes
        });
        Some(match owner {
            Some(owner) => Wrong::new(
                "other_context",
                format!(
                    "another tenant's memory: the scratchpad of context {} in cluster {cluster}",
                    owner.name
                ),
            ),
            None => Wrong::new(
                "scratchpad",
                format!("scratchpad memory of cluster {cluster} that is no context's"),
            ),
        })
    }

    fn l2(&self, address: u32, origin: &HandlerOrigin) -> Option<Wrong> {
        let machine = self.machine;
        if address.wrapping_sub(machine.l2_packet.base) < machine.l2_packet.bytes {
            let wrong = "the packet buffer in L2, outside its packet";
            return Some(Wrong::new("other_packet", wrong));
        }
        if address.wrapping_sub(machine.program.base) < machine.program.bytes {
            let wrong = "program memory, which handlers may read but not write";
            return Some(Wrong::new("program", wrong));
        }
        if address.wrapping_sub(machine.l2_handler.base) >= machine.l2_handler.bytes {
            return None;
        }
        let own = self.name(origin.context);
        Some(match self.tenant_at(address).filter(|other| *other != own) {
            Some(other) => Wrong::new(
                "other_context",
                format!("another tenant's memory: the handler memory of context {other}"),
            ),
            None => Wrong::new("handler_memory", "handler memory in L2 that is not its context's"),
        })
    }

    fn registers(&self, address: u32) -> Option<Wrong> {
        let l1 = &self.machine.l1;
        let of_cluster = |base: u32| {
            let offset = address.wrapping_sub(base.wrapping_add(PERIPHERAL_OFFSET));
            let block = PERIPHERALS.iter().rev().find(|(first, _)| *first <= offset);
            block.filter(|_| offset < PERIPHERAL_BYTES).map(|(_, name)| *name)
        };
        let clusters = 0..self.machine.cluster.count;
        let own = of_cluster(l1.alias).map(|name| format!("a NIC register, of {name}"));
        let found = own.or_else(|| {
            clusters.into_iter().find_map(|cluster| {
                let name = of_cluster(l1.base + cluster * l1.stride)?;
                Some(format!("a NIC register, of {name} in cluster {cluster}"))
            })
        });
        let device = || {
            let is_device = DEVICES.contains(&address);
            is_device.then(|| "a NIC register, of the system's control or output".to_owned())
        };
        found.or_else(device).map(|words| Wrong::new("nic_register", words))
    }

    /// Says what a refused command was to move, and what it may.
    fn refusal(&self, what: &str, origin: &HandlerOrigin) -> Wrong {
        let Some(refused) = &origin.refused else {
            return Wrong::new("bad_command", format!("bad command: {what}"));
        };
        let Refused { nic_address, other_address, bytes } = *refused;
        let bytes = count(u64::from(bytes));
        if what.contains("host address") {
            let context = self.contexts.get(origin.context.0 as usize);
            let window = context.filter(|context| context.host_memory_bytes > 0).map(|context| {
                let start = context.host_memory_address;
                format!("{start:#x} to {:#x}", start + u64::from(context.host_memory_bytes))
            });
            let window = window.unwrap_or_else(|| "empty".to_owned());
            let at = other_address.unwrap_or_default();
            let words = format!(
                "bad command: {what}: {bytes} B at {at:#x} are outside its DMA window, {window}"
            );
            return Wrong::new("outside_window", words);
        }
        let to = match other_address {
            Some(address) if what.contains("DMA") => format!(" to {address:#010x}"),
            _ => String::new(),
        };
        Wrong::new(
            "bad_command",
            format!("bad command: {what}: {bytes} B at {nic_address:#010x}{to}"),
        )
    }
}

/// Names a call of the kernel.
fn system_call(number: u64) -> String {
    let named = SYSTEM_CALLS.iter().find(|(known, _)| *known == number);
    let name = named.map(|(_, name)| format!(" ({name})")).unwrap_or_default();
    format!("a system call, number {number}{name}: handlers touch nothing of this computer")
}
