//! What is wrong with a nanoservice's thread, in words: the exception that it never came back from,
//! and where the program's memory and stacks lie, come in.

use pinion_isa::elf::Image;
use pinion_spin::listener::Fault as FaultKind;

use super::explain::{self, Explained, Wrong};
use super::program::{Code, Program};
use super::record::{Fault, Origin, ThreadOrigin};
use crate::words::count;

/// Ends the page that nothing lies in.
const NULL_PAGE_END: u64 = 4096;
/// What each hart has behind the program: its block, whose end is its main stack's top, and
/// whose lower half belongs to threads (SDK, `nanopu/runtime/kernel.h`).
const BLOCK_BYTES: u64 = 128 << 10;

/// A nanoservice that faults happened in.
pub struct Threads<'a> {
    /// Name of the program.
    pub name: &'a str,
    /// The program.
    pub image: &'a Image,
    /// The program's file.
    pub file: &'a [u8],
    /// The memory: first address and bytes.
    pub memory: (u64, u64),
}

impl Threads<'_> {
    /// Explains a fault.
    pub fn explain(&self, fault: Fault) -> Explained {
        let program = Program::new(self.image, self.file, Code::NANOPU);
        let wrong = self.wrong(&fault);
        explain::explain(fault, self.name.to_owned(), wrong, Some(&program), false)
    }

    fn wrong(&self, fault: &Fault) -> Wrong {
        let FaultKind::Exception { cause } = fault.kind else {
            return Wrong::new("exception", "an exception");
        };
        let plain = explain::exception(cause);
        let address = fault.address;
        if let Some(words) = self.stack_overflow(fault) {
            return Wrong::new("stack_overflow", format!("stack overflow: {words}; then {plain}"));
        }
        match cause {
            1 if address < NULL_PAGE_END => {
                Wrong::new("null_call", format!("{plain}: a call through a null pointer"))
            }
            1 => Wrong::new("jump", format!("{plain} at {address:#x}: no memory lies there")),
            2 => explain::illegal(fault),
            3 => Wrong::new("breakpoint", format!("{plain} (ebreak): an assertion, abort or trap")),
            0 | 4 | 6 => Wrong::new(
                "misaligned",
                format!("{plain} (address {address:#x}): no multiple of the access's size"),
            ),
            5 | 7 if address < NULL_PAGE_END => {
                Wrong::new("null", format!("{plain} (address {address:#x}): a null pointer"))
            }
            5 | 7 => {
                let (start, bytes) = self.memory;
                let words = format!(
                    "{plain} (address {address:#x}): memory ends there, it has {start:#x} to {:#x}",
                    start.saturating_add(bytes)
                );
                Wrong::new("nothing", words)
            }
            _ => Wrong::new("exception", format!("{plain} (value {address:#x})")),
        }
    }

    /// Tells whether a hart's stack pointer has left the hart's stacks, and how far.
    fn stack_overflow(&self, fault: &Fault) -> Option<String> {
        let Origin::Thread(ThreadOrigin { hart, .. }) = fault.origin else { return None };
        let blocks = self.image.symbol("_end")?.address;
        if self.image.symbol("__hart_bytes").is_none_or(|bytes| bytes.address != BLOCK_BYTES) {
            return None; // another runtime: its stacks lie where it likes
        }
        let block = blocks + hart as u64 * BLOCK_BYTES;
        let pointer = fault.registers.stack_pointer();
        if pointer >= block && pointer <= block + BLOCK_BYTES {
            return None;
        }
        Some(if pointer < block {
            format!(
                "sp is {} B below the {} B of stacks of hart {hart}",
                count(block - pointer),
                count(BLOCK_BYTES)
            )
        } else {
            format!("sp {pointer:#x} is not in the stacks of hart {hart}")
        })
    }
}
