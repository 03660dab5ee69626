//! Which bits of memory nobody has written: a byte for each byte, of pages that somebody has touched.

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;
/// A byte that nobody has written.
const UNWRITTEN: u8 = u8::MAX;

/// Holds the undefined bits of a memory. Accesses do not cross a page: cores trap what is misaligned.
#[derive(Default)]
pub struct Bits {
    pages: Vec<Option<Box<[u8; PAGE_BYTES]>>>,
}

impl Bits {
    fn place(flat: u32) -> (usize, usize) {
        (flat as usize / PAGE_BYTES, flat as usize % PAGE_BYTES)
    }

    /// Gives the undefined bits of up to eight bytes.
    #[inline]
    pub fn at(&self, flat: u32, bytes: u32) -> u64 {
        let (page, from) = Self::place(flat);
        let unused = 64 - 8 * bytes;
        let Some(Some(page)) = self.pages.get(page) else { return u64::MAX >> unused };
        let mut undefined = [0; 8];
        let bytes = bytes as usize;
        match page.get(from..from + bytes) {
            Some(found) => undefined[..bytes].copy_from_slice(found),
            None => return 0,
        }
        u64::from_le_bytes(undefined)
    }

    /// Sets the undefined bits of up to eight bytes.
    #[inline]
    pub fn set(&mut self, flat: u32, bytes: u32, undefined: u64) {
        let (page, from) = Self::place(flat);
        let bytes = bytes as usize;
        if let Some(to) = self.page(page).get_mut(from..from + bytes) {
            to.copy_from_slice(&undefined.to_le_bytes()[..bytes]);
        }
    }

    /// Notes that a range of bytes was written, or that nobody has.
    pub fn fill(&mut self, range: std::ops::Range<u32>, is_written: bool) {
        let byte = if is_written { 0 } else { UNWRITTEN };
        let mut from = range.start;
        while from < range.end {
            let (page, at) = Self::place(from);
            let bytes = (PAGE_BYTES - at).min((range.end - from) as usize);
            // What nobody has touched is unwritten.
            if is_written || self.pages.get(page).is_some_and(Option::is_some) {
                self.page(page)[at..at + bytes].fill(byte);
            }
            from += bytes as u32;
        }
    }

    fn page(&mut self, page: usize) -> &mut [u8; PAGE_BYTES] {
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([UNWRITTEN; PAGE_BYTES]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_unwritten_until_somebody_writes() {
        let mut bits = Bits::default();
        assert_eq!(bits.at(100, 1), 0xff);
        assert_eq!(bits.at(1 << 20, 8), u64::MAX);
        bits.set(104, 4, 0x0f00);
        assert_eq!((bits.at(104, 8), bits.at(105, 1)), (0xffff_ffff_0000_0f00, 0x0f));
        bits.fill(4000..9000, true);
        assert_eq!((bits.at(3992, 8), bits.at(4096, 8), bits.at(8992, 8)), (u64::MAX, 0, 0));
        assert_eq!(bits.at(9000, 2), 0xffff);
        bits.fill(4088..4104, false);
        assert_eq!((bits.at(4088, 8), bits.at(4096, 8)), (u64::MAX, u64::MAX));
        assert_eq!((bits.at(4080, 8), bits.at(4104, 8)), (0, 0));
    }
}
