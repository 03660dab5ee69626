//! The bytes of a node's memory, which take room of the host's as they are written.
//!
//! In: a program to begin with, then what is written. Out: bytes; what nobody wrote is zero. Holds
//! pages: those of the program once for all nodes that run it, of which a node gets a page of its own
//! when it writes there.

use std::sync::Arc;

/// Binary logarithm of a page's bytes: small, for a stack or a table that is hardly used costs a page.
const PAGE_SHIFT: u32 = 10;
const PAGE_BYTES: usize = 1 << PAGE_SHIFT;
/// Bit of an entry of [`Pages::table`]: the page is this node's own.
const OWN: u32 = 1 << 31;
/// Entry of a page that nobody has written: the shared page of zeros.
const ZEROS: u32 = 0;
/// Room for own pages grows by an eighth, and at least by so many pages.
const LEAST_GROWTH: usize = 4;

/// Holds the bytes.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    size: usize,
    /// By page of memory: which page of `own` or `shared` holds it; pages behind its end are zero.
    table: Vec<u32>,
    shared: Arc<[u8]>,
    own: Vec<u8>,
}

impl Pages {
    /// Makes `size` zeroed bytes.
    pub fn new(size: usize) -> Self {
        let zeros = vec![0; PAGE_BYTES].into();
        Self { size, table: Vec::new(), shared: zeros, own: Vec::new() }
    }

    /// Counts the bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes what is there the program, whose pages clones share.
    pub fn share(&mut self) {
        let mut shared = self.shared.to_vec();
        for entry in self.table.iter_mut().filter(|entry| **entry & OWN != 0) {
            let from = ((*entry & !OWN) as usize) << PAGE_SHIFT;
            *entry = (shared.len() >> PAGE_SHIFT) as u32;
            shared.extend_from_slice(&self.own[from..from + PAGE_BYTES]);
        }
        self.table.shrink_to_fit();
        (self.shared, self.own) = (shared.into(), Vec::new());
    }

    /// Reads eight bytes at an offset within memory; those behind its end are garbage.
    #[inline(always)]
    pub fn read(&self, offset: usize) -> u64 {
        let within = offset % PAGE_BYTES;
        if within > PAGE_BYTES - 8 {
            return self.read_across(offset);
        }
        let (bytes, at) = self.look(offset);
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    }

    /// Gives the bytes among which an offset lies, and where; they go on to the end of its page.
    #[inline(always)]
    fn look(&self, offset: usize) -> (&[u8], usize) {
        let entry = self.table.get(offset >> PAGE_SHIFT).copied().unwrap_or(ZEROS);
        let bytes = if entry & OWN != 0 { &self.own[..] } else { &self.shared[..] };
        (bytes, (((entry & !OWN) as usize) << PAGE_SHIFT) | (offset % PAGE_BYTES))
    }

    /// Reads eight bytes that may lie on two pages.
    #[cold]
    fn read_across(&self, offset: usize) -> u64 {
        let mut word = [0; 8];
        self.copy_out(offset, &mut word);
        u64::from_le_bytes(word)
    }

    /// Writes the low `bytes` bytes of a value at an offset within memory.
    #[inline(always)]
    pub fn write(&mut self, offset: usize, bytes: usize, value: u64) {
        let within = offset % PAGE_BYTES;
        if within + bytes > PAGE_BYTES {
            self.copy_in(offset, &value.to_le_bytes()[..bytes]);
            return;
        }
        let page = self.own_page(offset >> PAGE_SHIFT);
        let place = &mut self.own[page | within..];
        match bytes {
            8 => place[..8].copy_from_slice(&value.to_le_bytes()),
            4 => place[..4].copy_from_slice(&(value as u32).to_le_bytes()),
            2 => place[..2].copy_from_slice(&(value as u16).to_le_bytes()),
            _ => place[0] = value as u8,
        }
    }

    /// Copies bytes from an offset on; those behind the end are zero.
    pub fn copy_out(&self, mut offset: usize, mut to: &mut [u8]) {
        while !to.is_empty() {
            let within = offset % PAGE_BYTES;
            let (part, rest) = to.split_at_mut(to.len().min(PAGE_BYTES - within));
            let (bytes, at) = self.look(offset);
            part.copy_from_slice(&bytes[at..at + part.len()]);
            offset += part.len();
            to = rest;
        }
    }

    /// Copies bytes to an offset within memory.
    pub fn copy_in(&mut self, mut offset: usize, mut from: &[u8]) {
        while !from.is_empty() {
            let within = offset % PAGE_BYTES;
            let (part, rest) = from.split_at(from.len().min(PAGE_BYTES - within));
            let at = self.own_page(offset >> PAGE_SHIFT) | within;
            self.own[at..at + part.len()].copy_from_slice(part);
            offset += part.len();
            from = rest;
        }
    }

    /// Gives where in `own` a page is, which becomes this node's if it was not.
    #[inline(always)]
    fn own_page(&mut self, page: usize) -> usize {
        match self.table.get(page) {
            Some(&entry) if entry & OWN != 0 => ((entry & !OWN) as usize) << PAGE_SHIFT,
            _ => self.take_page(page),
        }
    }

    /// Copies a page for this node alone.
    #[cold]
    #[inline(never)]
    fn take_page(&mut self, page: usize) -> usize {
        if self.table.len() <= page {
            self.table.reserve_exact(page + 1 - self.table.len());
            self.table.resize(page + 1, ZEROS);
        }
        let from = (self.table[page] as usize) << PAGE_SHIFT;
        let at = self.own.len();
        if self.own.capacity() < at + PAGE_BYTES {
            self.own.reserve_exact((at / 8).max(LEAST_GROWTH * PAGE_BYTES));
        }
        self.own.extend_from_slice(&self.shared[from..from + PAGE_BYTES]);
        self.table[page] = OWN | (at >> PAGE_SHIFT) as u32;
        at
    }
}

#[cfg(test)]
mod tests {
    use pinion_sim::random::Xorshift32;

    use super::*;

    #[test]
    fn pages_are_bytes_whoever_wrote_them() {
        const SIZE: usize = 20 * PAGE_BYTES;
        let mut random = Xorshift32::new(7);
        let mut pages = Pages::new(SIZE);
        let mut flat = vec![0u8; SIZE];
        let mut parted = Vec::new();
        for turn in 0..20_000 {
            let bytes = [1, 2, 4, 8][random.draw() as usize % 4];
            let offset = random.draw() as usize % (SIZE - 8);
            let value = u64::from(random.draw()) << 32 | u64::from(random.draw());
            if turn % 3 == 0 && turn % 4000 < 400 {
                pages.write(offset, bytes, value);
                flat[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            let mask = u64::MAX >> (64 - 8 * bytes);
            let mut word = [0; 8];
            word.copy_from_slice(&flat[offset..offset + 8]);
            let expected = u64::from_le_bytes(word);
            assert_eq!(pages.read(offset) & mask, expected & mask, "turn {turn}, {offset:#x}");
            if turn == 5000 {
                pages.share();
                parted.push((pages.clone(), flat.clone()));
            }
        }
        parted.push((pages, flat));
        for (pages, flat) in parted {
            let mut all = vec![0; SIZE];
            pages.copy_out(0, &mut all);
            assert!(all == flat[..SIZE]);
        }
    }

    #[test]
    fn clones_share_what_they_do_not_write() {
        let mut pages = Pages::new(1 << 30);
        pages.copy_in(5000, &[1; 3000]);
        pages.share();
        let mut other = pages.clone();
        assert_eq!((pages.own.len(), other.own.len()), (0, 0));
        other.write(5000, 1, 9);
        assert_eq!(other.own.len(), PAGE_BYTES);
        assert_eq!((pages.read(5000) as u8, other.read(5000) as u8), (1, 9));
        assert_eq!((other.read(5001) as u8, other.read((1 << 30) - 8)), (1, 0));
    }
}
