//! What a core executes without a look at its [prefetch buffer](super::prefetch_buffer): lines around the one that
//! it holds, one after the other, which its cache has.

/// Lines in sequence that a cache has, as it was after so many changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub reach: Reach,
    pub changes: u64,
    /// First address of the last of them, if the cache has that one without its successor.
    pub alone: u32,
    /// Bytes of it that are within reach: 0 if there is none such.
    pub calm: u32,
    pub line_bytes: u32,
}

/// Says what executes without a look at the buffer, by [place](pinion_isa::DecodedProgram::place).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// The first of it.
    pub first: u32,
    /// The first behind it.
    pub end: u32,
}

impl Reach {
    /// Makes it of half words, as far as they lie in a program from `base` on.
    pub fn new(first: u32, half_words: u32, base: u32) -> Self {
        let place = |half_word: u32| half_word.saturating_sub(base >> 1);
        Self { first: place(first), end: place(first.saturating_add(half_words)) }
    }

    /// Says whether it contains a place.
    #[inline(always)]
    pub fn contains(&self, place: u32) -> bool {
        self.first <= place && place < self.end
    }
}

/// Stands for lines that are not known.
pub(super) const NO_RUN: Run =
    Run { reach: Reach { first: 0, end: 0 }, changes: u64::MAX, alone: 0, calm: 0, line_bytes: 0 };
