//! Counts the instructions that handlers retire, by the processor's own counter. Linux gives it to a
//! thread unless `kernel.perf_event_paranoid` forbids (3 and above) or the computer has none.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::FromRawFd as _;

/// The kernel's `perf_event_attr` in its first published size (linux/perf_event.h).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Reads so often to find out what reading costs.
const TRIALS: usize = 64;

/// Holds the calling thread's counter.
#[derive(Debug)]
pub struct Counter {
    file: File,
    /// Number of the instructions of reading it.
    own: u64,
}

impl Counter {
    /// Opens the calling thread's counter, if the system gives it.
    pub fn open() -> Option<Self> {
        let attributes = Attributes {
            kind: HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: INSTRUCTIONS,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        // SAFETY: the attributes live through the call; this thread, any processor, no group.
        let descriptor = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, 0)
        };
        let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
        // SAFETY: just opened, and nobody else has it.
        let mut counter = Self { file: unsafe { File::from_raw_fd(descriptor) }, own: 0 };
        let differences = (0..TRIALS).map(|_| {
            let first = counter.read();
            counter.read() - first
        });
        counter.own = differences.min().unwrap_or(0);
        (counter.read() > 0).then_some(counter)
    }

    /// Reads it.
    pub fn read(&mut self) -> u64 {
        let mut bytes = [0; 8];
        // A counter that cannot be read counts nothing.
        let _ = self.file.read(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    /// Gives the instructions since it was read as `before`, without those of reading.
    pub fn since(&mut self, before: u64) -> u64 {
        (self.read() - before).saturating_sub(self.own)
    }
}
