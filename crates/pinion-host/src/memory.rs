//! Host memory. In: reads and writes at 64-bit addresses. Out: bytes; what nobody wrote reads as
//! zero. Holds the 4 KiB pages that were written, up to a limit; allocates only when a page is
//! written for the first time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Write};
use thiserror::Error;

pub use crate::page::PAGE_BYTES;
use crate::windows::Windows;
#[cfg(target_os = "linux")]
use crate::{Exchange, SharedRegion};

/// Says why an access to host memory failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// The range runs over the end of the address space.
    #[error("{bytes} bytes at host address {address:#x} run over the end of the address space")]
    OutOfRange {
        /// Where it begins.
        address: u64,
        /// How long it is.
        bytes: usize,
    },
    /// The pages written so far are as many as allowed.
    #[error(
        "host memory is full: {bytes} bytes at {address:#x} would need more than the {limit_bytes} \
         bytes this run may touch"
    )]
    Full {
        /// Where the write begins.
        address: u64,
        /// How long it is.
        bytes: usize,
        /// The limit.
        limit_bytes: u64,
    },
}

type Page = Box<[u8; PAGE_BYTES]>;

/// Sparse memory of 2⁶⁴ bytes. A clone is a deep copy, but for the windows that are shared.
#[derive(Clone, Debug, Default)]
pub struct HostMemory {
    index: HashMap<u64, u32, BuildHasherDefault<PageHasher>>,
    pages: Vec<Page>,
    limit_pages: usize,
    /// Windows that are shared memory.
    windows: Windows,
}

impl HostMemory {
    /// Makes memory of which at most `limit_bytes`, rounded up to pages, can be written.
    pub fn new(limit_bytes: u64) -> Self {
        let pages = limit_bytes.div_ceil(PAGE_BYTES as u64);
        let limit_pages = pages.min(u64::from(u32::MAX)) as usize;
        Self { limit_pages, ..Self::default() }
    }

    /// Tells whether windows of it are shared with other processes.
    pub fn is_shared(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Returns the bytes of all pages written so far.
    pub fn touched_bytes(&self) -> u64 {
        (self.pages.len() * PAGE_BYTES) as u64
    }

    /// Reads into all of `buffer`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`]; the buffer is unchanged then.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), MemoryError> {
        self.read_by(address, buffer, Windows::read)
    }

    /// Looks at memory as somebody who watches the NIC does, into all of `buffer`: what host programs write
    /// is not known to the NIC by that. Where the address space has ended, zeros.
    pub fn look(&self, address: u64, buffer: &mut [u8]) {
        if self.read_by(address, buffer, Windows::look).is_err() {
            buffer.fill(0);
        }
    }

    fn read_by(
        &self,
        address: u64,
        buffer: &mut [u8],
        read: impl Fn(&Windows, u64, usize, &mut [u8]) -> bool,
    ) -> Result<(), MemoryError> {
        check_range(address, buffer.len())?;
        let mut rest = buffer;
        for (page, offset, bytes) in pieces(address, rest.len()) {
            let (piece, tail) = std::mem::take(&mut rest).split_at_mut(bytes);
            if read(&self.windows, page, offset, piece) {
                rest = tail;
                continue;
            }
            match self.index.get(&page) {
                Some(&at) => {
                    piece.copy_from_slice(&self.pages[at as usize][offset..offset + bytes]);
                }
                None => piece.fill(0),
            }
            rest = tail;
        }
        Ok(())
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is written then.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        check_range(address, data.len())?;
        self.touch(address, data.len())?;
        let mut rest = data;
        for (page, offset, bytes) in pieces(address, data.len()) {
            let (piece, tail) = rest.split_at(bytes);
            if self.windows.write(page, offset, piece) {
                rest = tail;
                continue;
            }
            if let Some(&at) = self.index.get(&page) {
                self.pages[at as usize][offset..offset + bytes].copy_from_slice(piece);
            }
            rest = tail;
        }
        Ok(())
    }

    /// Makes a window of shared memory: from now on its bytes are the region's. `false`, and nothing
    /// changed, if it does not begin at a page, is no number of whole pages, runs over the end of the
    /// address space, or meets another window.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn map(&mut self, address: u64, region: SharedRegion) -> bool {
        self.windows.add(address, region)
    }

    /// Takes the window that begins at an address away; what lay there before it is there again.
    #[cfg(target_os = "linux")]
    pub fn unmap(&mut self, address: u64) {
        self.windows.remove(address);
    }

    /// Keeps what host programs write into windows, as it is read here, or gives it again; or neither.
    #[cfg(target_os = "linux")]
    pub fn exchange(&mut self, exchange: Option<Exchange>) {
        self.windows.exchange = exchange;
    }

    /// Makes sure that writes to a range will neither fail nor allocate.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing has changed then.
    pub fn touch(&mut self, address: u64, bytes: usize) -> Result<(), MemoryError> {
        check_range(address, bytes)?;
        let limit_bytes = self.limit_pages as u64 * PAGE_BYTES as u64;
        let full = MemoryError::Full { address, bytes, limit_bytes };
        if bytes as u64 > limit_bytes {
            return Err(full);
        }
        let is_missing = |page: &u64| !self.index.contains_key(page) && !self.windows.holds(*page);
        let missing = pieces(address, bytes).filter(|(page, ..)| is_missing(page)).count();
        if missing == 0 {
            return Ok(());
        }
        if self.pages.len() + missing > self.limit_pages {
            return Err(full);
        }
        for (page, ..) in pieces(address, bytes) {
            if self.windows.holds(page) {
                continue;
            }
            let pages = &mut self.pages;
            self.index.entry(page).or_insert_with(|| {
                pages.push(Box::new([0; PAGE_BYTES]));
                (pages.len() - 1) as u32
            });
        }
        Ok(())
    }

    /// Reads a little-endian 32-bit word, at any alignment.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn read_u32(&self, address: u64) -> Result<u32, MemoryError> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads a little-endian 64-bit word, at any alignment.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn read_u64(&self, address: u64) -> Result<u64, MemoryError> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes a little-endian 64-bit word, at any alignment.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub fn write_u64(&mut self, address: u64, value: u64) -> Result<(), MemoryError> {
        self.write(address, &value.to_le_bytes())
    }

    /// Copies a region out, page by page.
    ///
    /// # Errors
    /// What `out` reports, or `InvalidInput` for a region over the end of the address space.
    pub fn dump(&self, address: u64, bytes: u64, out: &mut impl Write) -> io::Result<()> {
        let end = address.checked_add(bytes).ok_or_else(|| {
            let message = format!("{bytes} bytes at {address:#x} run over the address space's end");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        let zeros = [0; PAGE_BYTES];
        let mut at = address;
        while at < end {
            let offset = (at % PAGE_BYTES as u64) as usize;
            let bytes = ((PAGE_BYTES - offset) as u64).min(end - at) as usize;
            let number = at / PAGE_BYTES as u64;
            let mut shared = [0; PAGE_BYTES];
            let page = self.index.get(&number).map(|&index| &self.pages[index as usize][..]);
            let page = match self.windows.read(number, 0, &mut shared) {
                true => &shared[..],
                false => page.unwrap_or(&zeros),
            };
            out.write_all(&page[offset..offset + bytes])?;
            at += bytes as u64;
        }
        Ok(())
    }
}

fn check_range(address: u64, bytes: usize) -> Result<(), MemoryError> {
    // The last byte must have an address; the one behind it need not.
    let last = (bytes as u64).saturating_sub(1);
    match address.checked_add(last) {
        Some(_) => Ok(()),
        None => Err(MemoryError::OutOfRange { address, bytes }),
    }
}

/// Cuts a checked range at page borders: (page number, offset in it, bytes).
fn pieces(address: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let (mut at, mut left) = (address, bytes);
    std::iter::from_fn(move || {
        let offset = (at % PAGE_BYTES as u64) as usize;
        let piece = left.min(PAGE_BYTES - offset);
        let result = (piece > 0).then_some((at / PAGE_BYTES as u64, offset, piece));
        at = at.wrapping_add(piece as u64);
        left -= piece;
        result
    })
}

/// Hashes page numbers by one multiplication; the order of pages is never looked at.
#[derive(Clone, Debug, Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2⁶⁴ divided by the golden ratio: spreads consecutive numbers (Knuth, volume 3, §6.4).
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn untouched_memory_is_zero_everywhere() {
        let memory = HostMemory::new(0);
        for address in [0, 4095, 0x1000_0000_0000_0000, u64::MAX - 7] {
            let mut buffer = [9; 8];
            memory.read(address, &mut buffer).unwrap();
            assert_eq!(buffer, [0; 8]);
        }
        assert_eq!(memory.touched_bytes(), 0);
    }

    #[test]
    fn writes_across_pages_and_up_to_the_last_byte_read_back() {
        let mut memory = HostMemory::new(1 << 20);
        let data: Vec<u8> = (0..9000).map(|i| i as u8).collect();
        for address in [4090, 0x1000_0000_0000_0001, u64::MAX - 8999] {
            memory.write(address, &data).unwrap();
            let mut buffer = vec![0; 9000];
            memory.read(address, &mut buffer).unwrap();
            assert_eq!(buffer, data);
        }
        memory.write_u64(17, 0x0102_0304_0506_0708).unwrap();
        assert_eq!(memory.read_u64(17), Ok(0x0102_0304_0506_0708));
        assert_eq!(memory.read_u32(18), Ok(0x0405_0607));
        let error = memory.write(u64::MAX, &[0; 2]).unwrap_err();
        assert_eq!(error, MemoryError::OutOfRange { address: u64::MAX, bytes: 2 });
        assert!(memory.read_u32(u64::MAX - 2).is_err());
        assert_eq!(memory.write(u64::MAX, &[]), Ok(()));
    }

    #[test]
    fn a_full_memory_writes_nothing_and_keeps_serving_its_pages() {
        let mut memory = HostMemory::new(2 * PAGE_BYTES as u64);
        memory.write(0, &[1; 10]).unwrap();
        let error = memory.write(4000, &[2; 9000]).unwrap_err();
        assert!(error.to_string().contains("host memory is full"), "{error}");
        assert_eq!(memory.read_u32(4000), Ok(0), "nothing was written");
        memory.write(4000, &[3; 200]).unwrap();
        assert_eq!(memory.touched_bytes(), 8192);
        assert!(memory.touch(0, 1 << 40).is_err(), "and says so at once");
    }

    #[test]
    fn a_dump_has_touched_and_untouched_pages() {
        let mut memory = HostMemory::new(1 << 20);
        memory.write(5000, &[7; 4]).unwrap();
        let mut out = Vec::new();
        memory.dump(4000, 10_000, &mut out).unwrap();
        let mut expected = vec![0; 10_000];
        expected[1000..1004].fill(7);
        assert_eq!(out, expected);
        assert!(memory.dump(u64::MAX, 2, &mut out).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_window_is_the_shared_memory_itself() {
        let region = SharedRegion::new("test", 2 * PAGE_BYTES).unwrap();
        let mut memory = HostMemory::new(1 << 20);
        assert!(!memory.map(0x1800, region.clone()), "not at a page");
        assert!(memory.map(0x2000, region.clone()));
        assert!(!memory.map(0x3000, region.clone()), "taken");
        memory.write(0x1ffe, &[1, 2, 3, 4]).unwrap();
        let mut bytes = [0; 2];
        assert!(region.read(0, &mut bytes) && bytes == [3, 4]);
        assert_eq!(memory.touched_bytes(), PAGE_BYTES as u64, "only the page before it");
        assert!(region.write(2 * PAGE_BYTES - 1, &[9]));
        let mut across = [7; 2];
        memory.read(0x3fff, &mut across).unwrap();
        assert_eq!(across, [9, 0]);
        let mut dumped = Vec::new();
        memory.dump(0x1fff, 3, &mut dumped).unwrap();
        assert_eq!(dumped, [2, 3, 4]);
        memory.unmap(0x2000);
        assert_eq!(memory.read_u32(0x2000), Ok(0));
    }

    #[test]
    fn random_accesses_equal_a_map_of_bytes() {
        let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let mut state: u64 = seed.unwrap_or(0x5eed);
        println!("replay: PINION_TEST_SEED={state} cargo test -p pinion-host random_accesses");
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        let mut memory = HostMemory::new(1 << 20);
        let mut plain: BTreeMap<u64, u8> = BTreeMap::new();
        for _ in 0..5_000 {
            let address = (below(4) << 40) + below(20_000);
            let bytes = below(6_000);
            if below(2) == 0 {
                let data: Vec<u8> = (0..bytes).map(|_| below(256) as u8).collect();
                memory.write(address, &data).unwrap();
                plain.extend(data.into_iter().enumerate().map(|(i, b)| (address + i as u64, b)));
            } else {
                let mut buffer = vec![1; bytes as usize];
                memory.read(address, &mut buffer).unwrap();
                for (i, byte) in buffer.into_iter().enumerate() {
                    assert_eq!(byte, *plain.get(&(address + i as u64)).unwrap_or(&0));
                }
            }
        }
    }
}
