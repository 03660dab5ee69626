//! A memory for tests: lines cost something when they are touched first, and nobody takes them away.

use std::collections::HashSet;

use pinion_isa::elf::Image;

use crate::Cycle;
use crate::port::{Acquired, LINE_BYTES, MemoryPort};

/// Cycles of the first touch of a line beside those of a miss.
const FIRST_TOUCH_CYCLES: Cycle = 5;
/// Cycles of writing a line back.
const WRITE_BACK_CYCLES: Cycle = 18;
/// First address and size of the only device, which knows nothing.
const DEVICE: u64 = 0x200_0000;
const DEVICE_BYTES: u64 = 0x1_0000;

/// Holds a piece of memory.
pub struct Flat {
    base: u64,
    bytes: Vec<u8>,
    touched: HashSet<u64>,
    to_host: u64,
    ended: bool,
}

impl Flat {
    /// Makes `size` bytes of zeros from `base` on.
    pub fn new(base: u64, size: usize) -> Self {
        let bytes = vec![0; size + 8];
        Self { base, bytes, touched: HashSet::new(), to_host: u64::MAX, ended: false }
    }

    /// Copies a program into memory, which has touched the lines it lies in.
    pub fn load(&mut self, image: &Image) {
        for segment in &image.segments {
            self.write_bytes(segment.load_address, &segment.data);
            let last = segment.load_address + segment.memory_bytes.max(1) - 1;
            self.touched.extend(segment.load_address / LINE_BYTES..=last / LINE_BYTES);
        }
        self.to_host = image.symbol("tohost").map_or(u64::MAX, |symbol| symbol.address);
    }

    /// Copies bytes into memory.
    pub fn write_bytes(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - self.base) as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl MemoryPort for Flat {
    fn offset(&self, address: u64, bytes: u8) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        let end = offset.checked_add(bytes.into())?;
        (end <= self.bytes.len() as u64 - 8).then_some(offset as usize)
    }

    fn read(&self, offset: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[offset..offset + 8]);
        u64::from_le_bytes(word)
    }

    fn write(&mut self, offset: usize, bytes: u8, value: u64) {
        let bytes = usize::from(bytes);
        self.bytes[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    fn stored(&mut self, address: u64, value: u64) {
        self.ended |= address == self.to_host && value & 1 != 0;
    }

    fn means_something(&self, address: u64) -> bool {
        address == self.to_host
    }

    fn fetch_line(&mut self, _: u32, line: u64) -> Cycle {
        if self.touched.insert(line) { FIRST_TOUCH_CYCLES } else { 0 }
    }

    fn acquire(&mut self, core: u32, line: u64, _: bool) -> Acquired {
        Acquired { cycles: self.fetch_line(core, line), exclusive: true, evicted: None }
    }

    fn release(&mut self, _: u32, _: u64, dirty: bool) -> Cycle {
        if dirty { WRITE_BACK_CYCLES } else { 0 }
    }

    fn take_probes(&mut self, _: u32, _: impl FnMut(u64, bool)) {}

    fn has_device(&self, address: u64) -> bool {
        (DEVICE..DEVICE + DEVICE_BYTES).contains(&address)
    }

    fn device_cycles(&self) -> Cycle {
        20
    }

    fn read_device(&mut self, _: u64, _: Cycle) -> u64 {
        0
    }

    fn write_device(&mut self, _: u64, _: u8, _: u64, _: Cycle) {}

    fn timer_at(&self, _: u32) -> Cycle {
        Cycle::MAX
    }

    fn software_interrupt(&self, _: u32) -> bool {
        false
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}
