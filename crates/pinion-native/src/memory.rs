//! The NIC's memories, mapped at the NIC's addresses, and the contexts' host memory.
//!
//! Handlers touch them directly; the engine copies packets in and commands' data in and out. Host
//! memory lies anywhere, since handlers reach it by commands only. Pages that nobody has are not
//! mapped: a handler that goes there faults.

use std::io;
use std::ptr;

use pinion_isa::elf::Image;
use pinion_spin::{ExecutionContext, Machine};

use crate::block::{self, STACK_OFFSET, WORDS_BYTES};
use crate::error::NativeError;

const PAGE: u64 = 4096;
/// Limits a program's code: what lies between program memory and the workers' blocks.
pub const PROGRAM_LIMIT_BYTES: u64 = 16 << 20;

/// Holds one mapping, taken back when dropped.
#[derive(Debug)]
struct Mapping {
    start: u64,
    bytes: u64,
}

impl Mapping {
    /// Maps zeroed memory at `start`, which must be free, or anywhere.
    fn new(start: Option<u64>, bytes: u64, what: &'static str) -> Result<Self, NativeError> {
        let bytes = bytes.next_multiple_of(PAGE).max(PAGE);
        let fixed = if start.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
        let wanted = start.unwrap_or(0);
        // SAFETY: a new mapping; NOREPLACE keeps it from taking the place of another.
        let found = unsafe {
            libc::mmap(
                wanted as *mut libc::c_void,
                bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if found == libc::MAP_FAILED {
            let source = io::Error::last_os_error();
            return Err(match (start, source.raw_os_error()) {
                (Some(address), Some(libc::EEXIST)) => NativeError::AddressTaken { address, bytes },
                _ => NativeError::NoMemory { what, bytes, source },
            });
        }
        let mapping = Self { start: found as u64, bytes };
        match start {
            // Kernels before 4.17 do not know NOREPLACE and take the address as a wish.
            Some(address) if address != mapping.start => {
                Err(NativeError::AddressTaken { address, bytes })
            }
            _ => Ok(mapping),
        }
    }

    fn protect(&self, offset: u64, bytes: u64, protection: i32) -> Result<(), NativeError> {
        let start = (self.start + offset) as *mut libc::c_void;
        // SAFETY: within this mapping, nothing of which Rust refers to.
        let done = unsafe { libc::mprotect(start, bytes as usize, protection) };
        match done {
            0 => Ok(()),
            _ => {
                let source = io::Error::last_os_error();
                Err(NativeError::NoMemory { what: "page protection", bytes, source })
            }
        }
    }

    /// Asks for large pages and has all pages there, so that no run pays for them.
    fn populate(&self) {
        // SAFETY: advice about this mapping; refused advice changes nothing.
        unsafe {
            let start = self.start as *mut libc::c_void;
            libc::madvise(start, self.bytes as usize, libc::MADV_HUGEPAGE);
            libc::madvise(start, self.bytes as usize, libc::MADV_POPULATE_WRITE);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, and the engine has stopped using it.
        unsafe { libc::munmap(self.start as *mut libc::c_void, self.bytes as usize) };
    }
}

/// Holds the memories.
#[derive(Debug)]
pub struct Memory {
    l1: Vec<Mapping>,
    l2_handler: Mapping,
    l2_packet: Mapping,
    program: Mapping,
    _blocks: Vec<Mapping>,
    host: Mapping,
    /// The first address of host memory as commands name it.
    host_base: u64,
}

impl Memory {
    /// Maps what a machine has, blocks for its workers, and host memory for the contexts.
    pub fn new(
        machine: &Machine,
        contexts: &[ExecutionContext],
        workers: u32,
    ) -> Result<Self, NativeError> {
        let l1 = |cluster: u32| {
            let start = u64::from(machine.l1.base + cluster * machine.l1.stride);
            Mapping::new(Some(start), u64::from(machine.l1.bytes), "L1")
        };
        let l2 = |memory: &pinion_spin::machine::Memory, what| {
            Mapping::new(Some(u64::from(memory.base)), u64::from(memory.bytes), what)
        };
        let host_base =
            contexts.iter().map(|context| context.host_memory_address).min().unwrap_or(0);
        let end = |context: &ExecutionContext| {
            context.host_memory_address + u64::from(context.host_memory_bytes)
        };
        let host_end = contexts.iter().map(end).max().unwrap_or(host_base);
        let program_start = Some(u64::from(machine.program.base));
        let memory = Self {
            l1: (0..machine.cluster.count).map(l1).collect::<Result<_, _>>()?,
            l2_handler: l2(&machine.l2_handler, "L2 handler memory")?,
            l2_packet: l2(&machine.l2_packet, "the L2 packet buffer")?,
            program: Mapping::new(program_start, PROGRAM_LIMIT_BYTES, "program memory")?,
            _blocks: (0..workers).map(map_block).collect::<Result<_, _>>()?,
            host: Mapping::new(None, host_end - host_base, "host memory")?,
            host_base,
        };
        memory.l1.iter().chain([&memory.l2_handler, &memory.l2_packet]).for_each(Mapping::populate);
        Ok(memory)
    }

    /// Places a program, and makes its code executable and nothing else.
    pub fn load(&self, image: &Image) -> Result<(), NativeError> {
        for segment in &image.segments {
            let (address, bytes) = (segment.address, segment.memory_bytes);
            if !self.has(address, bytes) {
                return Err(NativeError::Misplaced { address, bytes });
            }
            // SAFETY: the range lies in memory mapped above, which only the loader touches yet.
            unsafe {
                ptr::copy_nonoverlapping(
                    segment.data.as_ptr(),
                    address as *mut u8,
                    segment.data.len(),
                );
            }
        }
        self.program.protect(0, PROGRAM_LIMIT_BYTES, libc::PROT_READ | libc::PROT_EXEC)
    }

    /// Writes NIC memory before any handler runs; `false`: it lies outside.
    pub fn write(&self, address: u32, data: &[u8]) -> bool {
        let fits = self.has(u64::from(address), data.len() as u64);
        if fits {
            // SAFETY: mapped memory; no handler runs yet.
            unsafe { ptr::copy_nonoverlapping(data.as_ptr(), address as *mut u8, data.len()) };
        }
        fits
    }

    /// Tells whether NIC memory has the range.
    pub fn has(&self, address: u64, bytes: u64) -> bool {
        let within = |mapping: &&Mapping| {
            address >= mapping.start
                && address
                    .checked_add(bytes)
                    .is_some_and(|end| end <= mapping.start + mapping.bytes)
        };
        let fixed = [&self.l2_handler, &self.l2_packet, &self.program];
        self.l1.iter().chain(fixed).any(|mapping| within(&mapping))
    }

    /// Gives host memory from where commands count to where it lies, as an offset.
    pub fn host_offset(&self) -> u64 {
        self.host.start.wrapping_sub(self.host_base)
    }

    /// Copies host memory out; `false`: it lies outside.
    pub fn read_host(&self, address: u64, to: &mut [u8]) -> bool {
        let place = self.host_place(address, to.len());
        if let Some(place) = place {
            // SAFETY: within the host mapping. Handlers may write meanwhile, as DMA engines do.
            unsafe { ptr::copy_nonoverlapping(place, to.as_mut_ptr(), to.len()) };
        }
        place.is_some()
    }

    /// Copies into host memory; `false`: it lies outside.
    pub fn write_host(&self, address: u64, from: &[u8]) -> bool {
        let place = self.host_place(address, from.len());
        if let Some(place) = place {
            // SAFETY: within the host mapping. Handlers may read meanwhile, as DMA engines do.
            unsafe { ptr::copy_nonoverlapping(from.as_ptr(), place, from.len()) };
        }
        place.is_some()
    }

    fn host_place(&self, address: u64, bytes: usize) -> Option<*mut u8> {
        let offset = address.checked_sub(self.host_base)?;
        let end = offset.checked_add(bytes as u64)?;
        (end <= self.host.bytes).then_some((self.host.start + offset) as *mut u8)
    }

    /// Gives the bounds of program memory.
    pub fn code(&self) -> (u64, u64) {
        (self.program.start, self.program.start + self.program.bytes)
    }
}

fn map_block(worker: u32) -> Result<Mapping, NativeError> {
    let mapping =
        Mapping::new(Some(block::address(worker)), block::SPAN_BYTES, "a worker's stack")?;
    mapping.protect(WORDS_BYTES, STACK_OFFSET - WORDS_BYTES, libc::PROT_NONE)?;
    Ok(mapping)
}
