//! A nanoPU as it is debugged: its harts, the messages that they work at, its memory.
//!
//! Only harts write memory, so what is shown of it is where the node is, taken back to the position.
//! Queues and the head word of x30 are those of the cycle itself.

mod ears;
mod service;

use pinion_app::error::Result;
use pinion_nanopu::core::Activity;
use pinion_nanopu::core::network::is_network_csr;
use pinion_nanopu::node::{Chip as _, Node};
use pinion_sim::Clock;
use pinion_sim::node::Saved;

use crate::debuggee::Debuggee;
use crate::drive::Drive;
use crate::harts::REGISTERS;
use crate::log::Log;
use crate::tap::Tap;
use crate::terms::{Reached, Said, Task, Width};
pub use ears::Interpreter;
pub use service::{service, words};

/// CSRs that a debugger sees: those of traps and of floating point, then the network's (RTL
/// Instructions.scala of the nanoPU's Rocket).
const CSRS: [(&str, u16); 24] = [
    ("fflags", 0x001),
    ("frm", 0x002),
    ("fcsr", 0x003),
    ("mstatus", 0x300),
    ("misa", 0x301),
    ("mie", 0x304),
    ("mtvec", 0x305),
    ("mcounteren", 0x306),
    ("mscratch", 0x340),
    ("mepc", 0x341),
    ("mcause", 0x342),
    ("mtval", 0x343),
    ("mip", 0x344),
    ("mhartid", 0xf14),
    ("lmsgsrdy", 0x052),
    ("lcurcontext", 0x053),
    ("lcurpriority", 0x055),
    ("lnicrdy", 0x057),
    ("ltargetcontext", 0x058),
    ("ltargetpriority", 0x059),
    ("lmsgcycles", 0x060),
    ("lidlecycles", 0x061),
    ("mvendorid", 0xf11),
    ("mimpid", 0xf13),
];

/// Estimate of the bytes of a node that is saved: programs use little of their memory.
const ESTIMATED_BYTES: u64 = 1 << 20;

/// A nanoPU that is debugged.
pub struct Nano<D> {
    drive: D,
    /// Stands in front of harts' names.
    label: String,
    tap: Tap<Interpreter>,
    harts: u32,
    contexts: u16,
    clock: Clock,
    /// Bytes that its program has printed and that were told.
    printed: usize,
}

impl<D: Drive<Node = Node>> Nano<D> {
    /// Debugs a node with so many contexts and a clock; the label stands in front of harts' names.
    pub fn new(
        drive: D,
        tap: Tap<Interpreter>,
        (contexts, clock): (u16, Clock),
        label: String,
    ) -> Self {
        let (harts, printed) =
            drive.look(|node| (node.harts() as u32, node.memory().devices.console.len()));
        Self { drive, label, tap, harts, contexts, clock, printed }
    }

    /// Looks at the node as it is in the position's cycle.
    fn shown<R>(&self, look: impl FnOnce(&Node) -> R) -> R {
        self.drive.look_shown(look)
    }

    fn has_context(&self, context: u64) -> bool {
        context < self.contexts.into()
    }

    /// Passes on the whole lines that were printed for the first time.
    fn tell_printed(&mut self, log: &mut Log<'_>) {
        let Some(kept) = &mut log.kept else { return };
        let printed = self.printed;
        let new = self.drive.look(|node| {
            let console = &node.memory().devices.console;
            let new = console.get(printed..).unwrap_or_default();
            let end = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            String::from_utf8_lossy(&new[..end]).into_owned()
        });
        self.printed += new.len();
        kept.printed.whole += &new;
    }
}

impl<D: Drive<Node = Node>> Debuggee for Nano<D> {
    fn harts(&self) -> u32 {
        self.harts
    }

    fn width(&self) -> Width {
        Width::Rv64
    }

    fn clock(&self) -> Clock {
        self.clock
    }

    fn csrs(&self) -> &'static [(&'static str, u16)] {
        &CSRS
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        let reached = self.drive.run(cycle, log)?;
        self.tell_printed(log);
        Ok(reached)
    }

    fn save(&self) -> Result<Saved> {
        self.drive.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        self.drive.restore(saved)
    }

    fn bytes(&self) -> u64 {
        ESTIMATED_BYTES * (1 + self.drive.others())
    }

    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        self.drive.show(from, cycle, log)
    }

    fn units_write_memory(&self) -> bool {
        false
    }

    fn registers(&self, hart: u32) -> [u64; REGISTERS] {
        self.drive.look(|node| node.core(hart as usize).hart.x)
    }

    fn float(&self, hart: u32, number: u8) -> Option<u64> {
        self.drive.look(|node| node.core(hart as usize).hart.f.get(usize::from(number)).copied())
    }

    fn pc(&self, hart: u32) -> u64 {
        self.drive.look(|node| node.core(hart as usize).hart.pc)
    }

    fn csr(&self, hart: u32, number: u16) -> Option<u64> {
        if self.is_of_a_unit(number) {
            // A read settles the thread scheduler, here that of a copy.
            return self.shown(|node| {
                let mut interface = node.interface(hart as usize).clone();
                interface.read_csr(number, node.now())
            });
        }
        self.drive.look(|node| node.core(hart as usize).hart.read_csr(number))
    }

    fn is_of_a_unit(&self, number: u16) -> bool {
        is_network_csr(number)
    }

    fn privilege(&self, hart: u32) -> u8 {
        self.drive.look(|node| node.core(hart as usize).hart.privilege as u8)
    }

    fn task(&self, hart: u32) -> Option<Task> {
        self.tap.ask(|known| known.task(hart))
    }

    fn head_word(&self, hart: u32, cycle: u64) -> Option<u64> {
        self.shown(|node| node.interface(hart as usize).head_word(cycle + 1))
    }

    fn read(&self, _: u32, address: u64, buffer: &mut [u8]) -> usize {
        self.drive.look(|node| {
            let memory = node.memory();
            if let Some(bytes) = memory.bytes(address, buffer.len()) {
                buffer.copy_from_slice(&bytes);
                return buffer.len();
            }
            // As far as memory goes.
            let mut count = 0;
            for (at, place) in (address..).zip(buffer) {
                let Some(bytes) = memory.bytes(at, 1) else { break };
                *place = bytes[0];
                count += 1;
            }
            count
        })
    }

    fn host_range(&self, _: &str, _: u64, _: u64) -> Said<(u64, u32)> {
        Err("a nanoservice has no host memory".to_owned())
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.shown(|node| {
            node.state(tell);
            for hart in 0..node.harts() {
                for context in 0..self.contexts {
                    let words = node.interface(hart).unread_words(context);
                    tell(&format!("hart.{hart}.queue.{context}.words"), words.into());
                    let given = node.receive().outstanding(hart as u8, context);
                    tell(&format!("hart.{hart}.queue.{context}.messages"), given.into());
                }
            }
            tell("receive.packets", node.receive().accounting().resident_packets);
        });
    }

    fn name(&self, hart: u32) -> String {
        format!("{}hart {hart}", self.label)
    }

    fn doing(&self, hart: u32) -> String {
        self.shown(|node| {
            let context = node.interface(hart as usize).context();
            let does = match node.core(hart as usize).activity {
                Activity::Running => "runs",
                Activity::Polling { .. } => "polls for a message",
                Activity::Waiting { .. } => "waits for an interrupt",
                Activity::Stopped => "has stopped",
            };
            format!("{does} in context {context}")
        })
    }

    fn numbers_packets(&self) -> bool {
        false
    }

    fn find_context(&self, name: &str) -> Said<u32> {
        match name.parse::<u64>() {
            Ok(context) if self.has_context(context) => Ok(context as u32),
            _ => Err(format!(
                "there is no context `{name}`, but 0 to {}",
                self.contexts.saturating_sub(1)
            )),
        }
    }

    fn context_name(&self, context: u32) -> String {
        context.to_string()
    }

    fn packets(&self, tasks: &[(u32, Task)]) -> String {
        let mut lines: Vec<String> = tasks
            .iter()
            .map(|(hart, Task { message, context, .. })| {
                format!("message {message} of context {context}: on hart {hart}")
            })
            .collect();
        self.shown(|node| {
            for hart in 0..node.harts() {
                for context in 0..self.contexts {
                    let words = node.interface(hart).unread_words(context);
                    if words > 0 {
                        lines.push(format!(
                            "hart {hart}, context {context}: {words} words not read"
                        ));
                    }
                }
            }
            let inside = node.receive().accounting().resident_packets;
            if inside > 0 {
                lines.push(format!(
                    "receive side: {inside} packets of messages that no hart has yet"
                ));
            }
            for message in node.transmit().resident() {
                lines.push(format!(
                    "transmit side: message {} of hart {}, context {}, {} B to {}: {} of {} packets \
                     acknowledged, {} words missing",
                    message.tx_msg_id,
                    message.hart,
                    message.context,
                    message.msg_len,
                    std::net::Ipv4Addr::from(message.dst_ip),
                    message.packets_delivered,
                    message.packets,
                    message.words_missing
                ));
            }
        });
        if lines.is_empty() { "no message is inside".to_owned() } else { lines.join("\n") }
    }
}
