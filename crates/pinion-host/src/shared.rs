//! Memory that other processes map too: an anonymous file (memfd) and this process' mapping of it.
//!
//! [`SharedRegion`] is memory that both sides write, as the DMA area of a host program: every access
//! copies, nothing is borrowed, and what is an aligned word is read and written as a whole, so that a
//! flag is never seen torn. [`ExportedMemory`] is memory that only this process writes, a slice of
//! which may be borrowed: windows of it lie in files of their own, sealed so that others can map
//! them for reading only.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use nix::unistd::ftruncate;

use crate::page::PAGE_BYTES;

/// Seals a file against mappings that write, but for those that exist (Linux 5.1).
const SEAL_FUTURE_WRITE: SealFlag = SealFlag::from_bits_retain(0x10);
const WORD_BYTES: usize = 8;

fn wrong(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.to_owned())
}

/// Makes a file in memory whose size stays: one that shrinks would make accesses faults.
fn memory_file(name: &str, bytes: usize) -> io::Result<OwnedFd> {
    let name = CString::new(name).map_err(|_| wrong("a name with a zero byte"))?;
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let file = memfd_create(name.as_c_str(), flags)?;
    ftruncate(&file, i64::try_from(bytes).map_err(|_| wrong("too much shared memory"))?)?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW))?;
    Ok(file)
}

/// Holds a file in memory and this process' mapping of all of it.
#[derive(Debug)]
struct Mapping {
    file: OwnedFd,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping lives until it is dropped, and may be used from any thread; who may use it at
// the same time is the affair of the types below.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(name: &str, bytes: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(bytes).ok_or_else(|| wrong("shared memory of no bytes"))?;
        let file = memory_file(name, bytes)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping of a file of this length, at an address the kernel chooses.
        let start = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, &file, 0) }?;
        Ok(Self { file, start: start.cast(), bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

/// Holds memory that this process and others read and write at the same time.
#[derive(Debug, Clone)]
pub struct SharedRegion {
    mapping: Arc<Mapping>,
}

impl SharedRegion {
    /// Makes zeroed memory; `name` is what the kernel shows of it.
    ///
    /// # Errors
    /// When the kernel gives no memory, or not so much.
    pub fn new(name: &str, bytes: usize) -> io::Result<Self> {
        Ok(Self { mapping: Arc::new(Mapping::new(name, bytes)?) })
    }

    /// Gives its size.
    pub fn bytes(&self) -> usize {
        self.mapping.bytes
    }

    /// Gives the file that others map.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.mapping.file.as_fd()
    }

    /// Reads into all of `buffer` from an offset; `false`, and nothing read, if it runs over the end.
    #[must_use]
    pub fn read(&self, offset: usize, buffer: &mut [u8]) -> bool {
        let Some(at) = self.at(offset, buffer.len()) else { return false };
        let mut done = 0;
        while done < buffer.len() {
            let left = buffer.len() - done;
            let whole = left >= WORD_BYTES && (offset + done).is_multiple_of(WORD_BYTES);
            // SAFETY: `at` to `at` + `buffer.len()` lies in the mapping, which is page-aligned, so
            // that the word is aligned; others may write there, hence volatile.
            unsafe {
                let from = at.add(done);
                if whole {
                    let word = from.cast::<u64>().read_volatile();
                    buffer[done..done + WORD_BYTES].copy_from_slice(&word.to_ne_bytes());
                } else {
                    buffer[done] = from.read_volatile();
                }
            }
            done += if whole { WORD_BYTES } else { 1 };
        }
        // What is read after this, in the order of the program, is not older.
        fence(Ordering::Acquire);
        true
    }

    /// Writes all of `data` at an offset; `false`, and nothing written, if it runs over the end.
    #[must_use]
    pub fn write(&self, offset: usize, data: &[u8]) -> bool {
        let Some(at) = self.at(offset, data.len()) else { return false };
        // What was written before this, in the order of the program, is seen before it.
        fence(Ordering::Release);
        let mut done = 0;
        while done < data.len() {
            let rest = &data[done..];
            let whole = rest.first_chunk::<WORD_BYTES>();
            let whole = whole.filter(|_| (offset + done).is_multiple_of(WORD_BYTES));
            // SAFETY: as in `read`.
            unsafe {
                let to = at.add(done);
                match whole {
                    Some(word) => to.cast::<u64>().write_volatile(u64::from_ne_bytes(*word)),
                    None => to.write_volatile(rest[0]),
                }
            }
            done += if whole.is_some() { WORD_BYTES } else { 1 };
        }
        true
    }

    /// Gives where a range begins, if it lies in the region.
    fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        let end = offset.checked_add(bytes)?;
        // SAFETY: the offset is at most the mapping's length.
        (end <= self.bytes()).then(|| unsafe { self.mapping.start.as_ptr().add(offset) })
    }
}

/// Holds memory that only this process writes, and windows of it that others read.
///
/// A window's bytes lie in a file of their own: whoever has the file sees the window and nothing
/// beside it, and keeps what it saw when the window is replaced.
#[derive(Debug)]
pub struct ExportedMemory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping lives until it is dropped, and only what borrows `self` touches it.
unsafe impl Send for ExportedMemory {}
// SAFETY: as above; within this process it changes only through an exclusive borrow.
unsafe impl Sync for ExportedMemory {}

impl ExportedMemory {
    /// Makes zeroed memory that nobody else sees.
    ///
    /// # Errors
    /// When the kernel gives no memory.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(bytes).ok_or_else(|| wrong("shared memory of no bytes"))?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping without a file, at an address the kernel chooses.
        let start = unsafe { mmap_anonymous(None, length, protection, MapFlags::MAP_PRIVATE) }?;
        Ok(Self { start: start.cast(), bytes })
    }

    /// Moves a window of whole pages to a file of its own, content included, and gives the file,
    /// which others can map for reading only. Files given before no longer follow what is written
    /// there.
    ///
    /// # Errors
    /// When it is no window of whole pages, the kernel gives no memory, or cannot keep others from
    /// writing it (before Linux 5.1).
    pub fn share(&mut self, name: &str, window: Range<usize>) -> io::Result<OwnedFd> {
        let is_whole = window.start.is_multiple_of(PAGE_BYTES)
            && window.end.is_multiple_of(PAGE_BYTES)
            && window.end <= self.bytes;
        let length = NonZeroUsize::new(window.len()).filter(|_| is_whole);
        let length = length.ok_or_else(|| wrong("a window that is no number of whole pages"))?;
        let file = File::from(memory_file(name, window.len())?);
        file.write_all_at(&self[window.clone()], 0)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        // SAFETY: the window lies within the mapping, which this replaces there by a file of the
        // window's length with the same content; nothing borrows it, because `self` is borrowed
        // exclusively.
        unsafe {
            let at = NonZeroUsize::new(self.start.as_ptr() as usize + window.start);
            mmap(at, length, protection, flags, &file, 0)?;
        }
        fcntl(&file, FcntlArg::F_ADD_SEALS(SEAL_FUTURE_WRITE | SealFlag::F_SEAL_SEAL))?;
        Ok(file.into())
    }
}

impl Drop for ExportedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length, parts of it replaced by `share`,
        // and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

impl Deref for ExportedMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has these bytes as long as `self` lives, and nobody else can write them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for ExportedMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; within this process the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps a file once more, as another process would.
    fn map(file: BorrowedFd<'_>, bytes: usize, protection: ProtFlags) -> nix::Result<NonNull<u8>> {
        let length = NonZeroUsize::new(bytes).unwrap();
        // SAFETY: a new mapping; the tests leave it until the process ends.
        let start = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, file, 0) };
        start.map(NonNull::cast)
    }

    #[test]
    fn both_sides_see_what_the_other_wrote() {
        let region = SharedRegion::new("test", 8192).unwrap();
        let other = map(region.file(), 8192, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE).unwrap();
        let data: Vec<u8> = (0..100).collect();
        assert!(region.write(4093, &data));
        let mut back = [0; 100];
        assert!(region.read(4093, &mut back));
        assert_eq!(back[..], data[..]);
        // SAFETY: within the mapping.
        unsafe {
            assert_eq!(*other.as_ptr().add(4093 + 57), 57);
            other.as_ptr().add(17).write_volatile(9);
        }
        let mut byte = [0];
        assert!(region.read(17, &mut byte) && byte == [9]);
    }

    #[test]
    fn nothing_beyond_the_end_is_touched() {
        let region = SharedRegion::new("test", 4096).unwrap();
        assert!(region.write(4090, &[1; 6]) && !region.write(4090, &[2; 7]));
        assert!(!region.read(usize::MAX, &mut [0; 2]) && region.read(4096, &mut []));
        let mut last = [0; 6];
        assert!(region.read(4090, &mut last) && last == [1; 6]);
        assert!(SharedRegion::new("test", 0).is_err());
    }

    #[test]
    fn a_window_is_read_only_for_others_and_all_they_see() {
        let mut memory = ExportedMemory::new(4 * 4096).unwrap();
        (memory[100], memory[4096], memory[8192]) = (1, 7, 2);
        let file = memory.share("test", 4096..8192).unwrap();
        let read = map(file.as_fd(), 4096, ProtFlags::PROT_READ).unwrap();
        memory[4097] = 8;
        // SAFETY: within the mapping.
        assert_eq!(unsafe { [*read.as_ptr(), *read.as_ptr().add(1)] }, [7, 8]);
        assert_eq!((memory[100], memory[4096], memory[8192]), (1, 7, 2));
        assert_eq!(File::from(file.try_clone().unwrap()).metadata().unwrap().len(), 4096);
        let both = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        assert!(map(file.as_fd(), 4096, both).is_err(), "sealed");
    }

    #[test]
    fn whoever_had_a_window_does_not_see_the_next_owner() {
        let mut memory = ExportedMemory::new(2 * 4096).unwrap();
        let first = memory.share("first", 0..4096).unwrap();
        let read = map(first.as_fd(), 4096, ProtFlags::PROT_READ).unwrap();
        memory[0] = 1;
        let _second = memory.share("second", 0..8192).unwrap();
        memory[0] = 2;
        // SAFETY: within the mapping.
        assert_eq!(unsafe { *read.as_ptr() }, 1);
        assert_eq!(memory[0], 2);
        for window in [1..4096, 0..4095, 4096..4 * 4096, 4096..4096] {
            assert!(memory.share("none", window).is_err());
        }
    }
}
