//! What is known of a nanoservice's program before it runs: its instructions, what its lines say, where the
//! stacks of harts and threads lie. All nodes that run it share it.

use std::collections::BTreeMap;
use std::ops::Range;

use pinion_app::service::Service;
use pinion_isa::elf::Image;
use pinion_isa::{Extensions, Instruction};

use crate::lines::Lines;

/// What programs are made of.
pub const CODE: Extensions = Extensions::RV64GC;

// The nanoKernel's places (the SDK's runtime/kernel.h, lnic-scheduler.h).
const CONTROL_BYTES: u64 = 64;
const THREAD_STACK_BYTES: u64 = 4352;
/// Threads that a hart may have.
pub const THREADS: u64 = 10;

/// Functions that begin with registers of which only their arguments are known, and how many those are.
const ENTRIES: [(&str, u8); 2] = [("main", 2), ("core_main", 4)];

/// Holds what is known of a program.
pub struct Program {
    /// What its lines say.
    pub lines: Lines,
    /// Functions that begin anew: address and arguments.
    pub entries: Vec<(u64, u8)>,
    /// Bytes that the loader writes.
    pub loaded: Vec<Range<u64>>,
    /// It starts threads of the nanoKernel's.
    pub starts_threads: bool,
    /// Where the stacks lie; `None`: the program was not linked by the SDK.
    pub layout: Option<Layout>,
    first: u64,
    /// By half word from there on.
    code: Vec<Option<Instruction>>,
    /// By first address: objects of the program's, their bytes and names.
    objects: BTreeMap<u64, (u64, String)>,
}

impl Program {
    /// Reads a nanoservice's program.
    pub fn of(service: &Service) -> Self {
        let image = &service.image;
        let code = || image.segments.iter().filter(|segment| segment.flags.execute);
        let first = code().map(|segment| segment.address).min().unwrap_or(0);
        let mut slots = Vec::new();
        for segment in code() {
            for pc in (segment.address..segment.address + segment.data.len() as u64).step_by(2) {
                let at = ((pc - first) / 2) as usize;
                slots.resize(slots.len().max(at + 1), None);
                slots[at] = image.word_at(pc).map(|word| pinion_isa::decode(word, CODE));
            }
        }
        let entries = ENTRIES.iter().filter_map(|(name, arguments)| {
            image.symbol(name).map(|symbol| (symbol.address, *arguments))
        });
        let segments = image.segments.iter();
        let loaded = segments.map(|it| it.load_address..it.load_address + it.memory_bytes);
        let objects = image.symbols.iter().filter(|symbol| symbol.size > 0);
        let objects = objects.map(|it| (it.address, (it.size, it.name.clone())));
        Self {
            lines: Lines::of(image, &service.built.elf, CODE),
            entries: entries.collect(),
            loaded: loaded.collect(),
            starts_threads: image.symbol("start_thread").is_some(),
            layout: Layout::of(image),
            first,
            code: slots,
            objects: objects.collect(),
        }
    }

    /// Gives the instruction at an address.
    #[inline]
    pub fn instruction(&self, pc: u64) -> Option<Instruction> {
        *self.code.get((pc.wrapping_sub(self.first) / 2) as usize)?
    }

    /// Says in words what lies at an address.
    pub fn describe(&self, address: u64) -> String {
        let before = self.objects.range(..=address).next_back();
        let object = before.filter(|(first, (bytes, _))| address - *first < *bytes);
        match (object, self.layout) {
            (Some((first, (_, name))), _) if *first == address => name.clone(),
            (Some((first, (_, name))), _) => format!("{name}+{:#x}", address - first),
            (None, Some(layout)) => layout.describe(address),
            (None, None) => "memory".to_owned(),
        }
    }
}

/// Where the nanoKernel puts the stacks: above the program a block for each hart, which has thread-local
/// data at its bottom, the stack of the hart's own at its top and those of its threads below the middle.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    first: u64,
    hart_bytes: u64,
    harts: u64,
    local_bytes: u64,
}

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its first address.
    pub low: u64,
    /// The address behind it, where it begins.
    pub high: u64,
    /// The thread that it is of; `None`: the hart's own.
    pub thread: Option<u16>,
}

impl Layout {
    fn of(image: &Image) -> Option<Self> {
        let number = |name: &str| image.symbol(name).map(|symbol| symbol.address);
        Some(Self {
            first: number("_end")?,
            hart_bytes: number("__hart_bytes").filter(|bytes| *bytes > 0)?,
            harts: number("__harts")?,
            local_bytes: number("__tls_bytes")?,
        })
    }

    /// Gives the bottom of a hart's thread-local data, and of what its own stack may use.
    fn bottom(&self, hart: u64) -> (u64, u64) {
        let local = self.first + hart * self.hart_bytes + CONTROL_BYTES;
        (local, local + self.local_bytes.next_multiple_of(16))
    }

    /// Finds the stack of a hart that a stack pointer belongs to; `has_threads`: the hart has some.
    pub fn stack(&self, hart: usize, pointer: u64, has_threads: bool) -> Option<Stack> {
        let hart = hart as u64;
        let (local, low) = self.bottom(hart);
        let high = self.first + (hart + 1) * self.hart_bytes;
        if hart >= self.harts || pointer <= low || pointer > high {
            return None;
        }
        let middle = local + self.hart_bytes / 2;
        if !has_threads {
            return Some(Stack { low, high, thread: None });
        }
        if pointer > middle {
            return Some(Stack { low: middle, high, thread: None });
        }
        let thread = (middle - pointer) / THREAD_STACK_BYTES;
        let high = middle - thread * THREAD_STACK_BYTES;
        let low = high - THREAD_STACK_BYTES;
        (thread < THREADS).then_some(Stack { low, high, thread: Some(thread as u16) })
    }

    /// Says in words what lies at an address behind the program.
    fn describe(&self, address: u64) -> String {
        let Some(offset) = address.checked_sub(self.first) else {
            return "the program's data".to_owned();
        };
        let hart = offset / self.hart_bytes;
        if hart >= self.harts {
            return "heap".to_owned();
        }
        let (local, bottom) = self.bottom(hart);
        if address < local {
            return format!("the nanoKernel's data of hart {hart}");
        }
        if address < bottom {
            return format!("thread-local data of hart {hart}");
        }
        format!("stack of hart {hart}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout =
        Layout { first: 0x8001_0000, hart_bytes: 0x2_0000, harts: 2, local_bytes: 24 };

    #[test]
    fn stacks_lie_where_the_nanokernel_puts_them() {
        let own = LAYOUT.stack(1, 0x8005_0000, false).unwrap();
        assert_eq!((own.low, own.high, own.thread), (0x8003_0060, 0x8005_0000, None));
        let middle = 0x8003_0040 + 0x1_0000;
        assert_eq!(LAYOUT.stack(1, middle + 16, true).unwrap().low, middle);
        let thread = LAYOUT.stack(1, middle - 4352 - 16, true).unwrap();
        assert_eq!((thread.high, thread.thread), (middle - 4352, Some(1)));
        assert_eq!(LAYOUT.stack(0, 0x8005_0000, false), None, "another hart's");
        assert_eq!(LAYOUT.stack(2, 0x8005_0000, false), None);
    }

    #[test]
    fn places_have_names() {
        assert_eq!(LAYOUT.describe(0x8003_0048), "thread-local data of hart 1");
        assert_eq!(LAYOUT.describe(0x8002_8000), "stack of hart 0");
        assert_eq!(LAYOUT.describe(0x8005_0000), "heap");
    }
}
