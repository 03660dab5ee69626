//! Who touched a word last: a cell for each word of memory, with the last write and the last reads of
//! it.

/// Words of a page of cells: pages exist once something in them was touched.
const PAGE_WORDS: usize = 1024;

/// Holds one access to some bytes of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The number of its HPU's clock; of a command or copy, its number among the HPU's.
    pub clock: u32,
    /// The instruction.
    pub pc: u32,
    /// The cycle.
    pub cycle: u32,
    /// Who: the HPU times [`ENGINES`], plus 0 for itself or the engine that did it.
    pub who: u16,
    /// The bytes of the word; 0: nobody.
    pub mask: u8,
    /// Whether it was an atomic.
    pub is_atomic: bool,
}

/// Number of those who act for an HPU, itself included.
pub const ENGINES: u16 = 4;

impl Slot {
    /// Gives its HPU.
    #[inline]
    pub fn hpu(&self) -> usize {
        usize::from(self.who / ENGINES)
    }

    /// Tells whether a command or a copy did it.
    #[inline]
    pub fn is_operation(&self) -> bool {
        !self.who.is_multiple_of(ENGINES)
    }
}

/// Holds what is known of a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// The last write.
    pub write: Slot,
    /// Reads since.
    pub reads: [Slot; 2],
    /// Number of its atomics' knowledge; 0: there was none.
    pub atomics: u32,
}

/// Holds the cells of all words.
#[derive(Default)]
pub struct Cells {
    pages: Vec<Option<Box<[Cell]>>>,
}

impl Cells {
    /// Gives a word's.
    #[inline]
    pub fn word(&mut self, word: u32) -> &mut Cell {
        let (page, index) = (word as usize / PAGE_WORDS, word as usize % PAGE_WORDS);
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let page = &mut self.pages[page];
        let page = page.get_or_insert_with(|| vec![Cell::default(); PAGE_WORDS].into());
        &mut page[index]
    }
}

/// Gives the words that bytes lie in, with the bytes of each.
#[inline]
pub fn words(first: u32, bytes: u32) -> impl Iterator<Item = (u32, u8)> {
    let end = first + bytes;
    (first / 4..end.div_ceil(4)).map(move |word| {
        let low = first.saturating_sub(word * 4).min(4);
        let high = (end - word * 4).min(4);
        (word, (((1u32 << high) - 1) & !((1u32 << low) - 1)) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_words() {
        let of = |first, bytes| words(first, bytes).collect::<Vec<_>>();
        assert_eq!(of(8, 4), [(2, 0b1111)]);
        assert_eq!(of(9, 1), [(2, 0b0010)]);
        assert_eq!(of(10, 4), [(2, 0b1100), (3, 0b0011)]);
        assert_eq!(of(3, 6), [(0, 0b1000), (1, 0b1111), (2, 0b0001)]);
        assert_eq!(of(8, 0), []);
    }
}
