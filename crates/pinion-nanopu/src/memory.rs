//! What the harts of a node share: memory, the L2 in front of it, and the devices.
//!
//! In: misses of the first-level caches, accesses to devices. Out: what they cost in cycles, and
//! which lines other harts must give up. The L2 knows which hart holds which line (it is
//! inclusive); the data itself lies in one place, memory, because harts take turns in windows that
//! are shorter than any program can tell apart without the network.

mod devices;
pub mod dma_nic;
pub mod host_interface;
mod l2;
mod outer;
mod pages;
mod port;

pub use devices::Devices;
pub use host_interface::{Exit, HostInterface};
pub use l2::{Grant, L2};

use dma_nic::DmaNic;
use outer::Outer;
use pages::Pages;
use pinion_isa::elf::Image;

use crate::Cycle;
use crate::machine::memory::MemorySection;

pub use pinion_cores::port::LINE_BYTES;

/// Holds memory, L2 and devices.
#[derive(Clone, Debug)]
pub struct Memory {
    base: u64,
    pages: Pages,
    /// The second-level cache.
    pub l2: L2,
    outer: Outer,
    /// The devices.
    pub devices: Devices,
    /// The host interface.
    pub host: HostInterface,
    /// What accesses cost.
    pub costs: MemorySection,
    /// What other harts' caches are to do before they run on: harts (bits), line, whether they may
    /// keep it to read.
    pub probes: Vec<(u32, u64, bool)>,
    /// The baseline's NIC.
    pub dma_nic: Option<Box<DmaNic>>,
}

/// Says why a program cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error(
    "the program's {bytes} bytes at {address:#x} do not fit into the node's memory from {base:#x} \
     to {end:#x}; link it for this memory or give the machine more (memory.size)"
)]
pub struct OutsideMemory {
    address: u64,
    bytes: u64,
    base: u64,
    end: u64,
}

impl Memory {
    /// Makes zeroed memory with an empty L2.
    pub fn new(section: &MemorySection, harts: u32) -> Self {
        Self {
            base: section.base_address,
            pages: Pages::new(section.size.0 as usize),
            l2: L2::new(section.l2_sets, section.l2_ways),
            outer: Outer::new(section),
            devices: Devices::new(harts, section.timebase_cycles),
            host: HostInterface::new(),
            costs: section.clone(),
            probes: Vec::new(),
            dma_nic: None,
        }
    }

    /// Copies a program into memory; clones share it.
    ///
    /// # Errors
    /// When a segment lies outside memory.
    pub fn load(&mut self, image: &Image) -> Result<(), OutsideMemory> {
        for segment in &image.segments {
            let address = segment.load_address;
            let size = self.pages.size() as u64;
            let offset = address.wrapping_sub(self.base);
            if offset > size || segment.memory_bytes.max(segment.data.len() as u64) > size - offset
            {
                return Err(OutsideMemory {
                    address,
                    bytes: segment.memory_bytes,
                    base: self.base,
                    end: self.base + size,
                });
            }
            self.pages.copy_in(offset as usize, &segment.data);
            if self.costs.l2_preloaded {
                let last = address + segment.memory_bytes.max(1) - 1;
                for line in address / LINE_BYTES..=last / LINE_BYTES {
                    self.l2.preload(line);
                }
            }
        }
        self.pages.share();
        self.host.watch(image);
        Ok(())
    }

    /// Fetches a line that the L2 missed; gives the cycles that takes beside those of the miss before
    /// it.
    pub(crate) fn outer_fetch(&mut self, line: u64) -> Cycle {
        self.outer.fetch(line, &self.costs)
    }

    /// Gives the offset of `bytes` (at most 8) bytes at an address, if all lie in memory.
    #[inline(always)]
    pub fn offset(&self, address: u64, bytes: u8) -> Option<usize> {
        let offset = address.wrapping_sub(self.base) as usize;
        let size = self.pages.size();
        (offset.wrapping_add(usize::from(bytes)) <= size && offset <= size).then_some(offset)
    }

    /// Reads up to eight bytes at an offset that [`Self::offset`] gave; upper bytes are garbage.
    #[inline(always)]
    pub fn read(&self, offset: usize) -> u64 {
        self.pages.read(offset)
    }

    /// Writes the low `bytes` bytes of a value at an offset that [`Self::offset`] gave.
    #[inline(always)]
    pub fn write(&mut self, offset: usize, bytes: u8, value: u64) {
        self.pages.write(offset, usize::from(bytes), value);
    }

    /// Gives bytes of memory, if they exist.
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let offset = usize::try_from(address.wrapping_sub(self.base)).ok()?;
        let end = offset.checked_add(length)?;
        if end > self.pages.size() {
            return None;
        }
        let mut bytes = vec![0; length];
        self.pages.copy_out(offset, &mut bytes);
        Some(bytes)
    }

    /// Copies bytes into memory, as far as it exists.
    pub fn write_bytes(&mut self, address: u64, bytes: &[u8]) {
        let offset = address.wrapping_sub(self.base) as usize;
        if let Some(room) = self.pages.size().checked_sub(offset) {
            self.pages.copy_in(offset, &bytes[..bytes.len().min(room)]);
        }
    }

    /// Tells whether an address belongs to a device.
    pub fn has_device(&self, address: u64) -> bool {
        self.devices.has(address) || self.dma_nic.is_some() && DmaNic::has(address)
    }

    /// Reads a device's register; `now` is the cycle of the access.
    pub fn read_device(&mut self, address: u64, now: Cycle) -> u64 {
        let Some(mut nic) = self.dma_nic.take_if(|_| DmaNic::has(address)) else {
            return self.devices.read(address, now);
        };
        let value = nic.read(address, now, self);
        self.dma_nic = Some(nic);
        value
    }

    /// Writes a device's register; `now` is the cycle of the access.
    pub fn write_device(&mut self, address: u64, bytes: u8, value: u64, now: Cycle) {
        let Some(mut nic) = self.dma_nic.take_if(|_| DmaNic::has(address)) else {
            return self.devices.write(address, bytes, value);
        };
        nic.write(address, value, now, self);
        self.dma_nic = Some(nic);
    }
}
