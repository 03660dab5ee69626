//! Numbers as a trace's lines have them, without the detours of general formatting: a trace is mostly
//! numbers, and floating point alone took a sixth of the time of writing one.

use std::cmp::Ordering;
use std::fmt;

use crate::Time;

/// Limit of times whose nanoseconds are told from integers: below it a quotient in floating point is
/// off by less than 1 ps, so that only ties could be rounded otherwise.
const EXACT_PS: u64 = 1 << 50;

/// What may stand in front of a number: as many as the greatest one has digits.
const SPACES: [u8; 20] = [b' '; 20];

/// Shows a time in nanoseconds with one decimal, right-aligned, exactly as `{:.1}` shows [`Time::ns`].
#[derive(Debug, Clone, Copy)]
pub struct Ns(pub Time);

impl Ns {
    /// Gives whole nanoseconds and tenths, but of what its size leaves to floating point.
    fn parts(self) -> Option<(u64, u8)> {
        let ps = self.0.ps();
        if ps >= EXACT_PS {
            return None;
        }
        let tenths = match ps % 100 {
            50 => ps / 100 + u64::from(self.is_tie_rounded_up()),
            _ => (ps + 50) / 100,
        };
        Some((tenths / 10, (tenths % 10) as u8))
    }

    /// Says whether a time in the middle of two tenths goes to the upper one: that is where the quotient lies,
    /// which may be a little beside the middle, or else the even one.
    fn is_tie_rounded_up(self) -> bool {
        let (ps, bits) = (self.0.ps(), self.0.ns().to_bits());
        // The quotient is `mantissa` over two to the power of `digits`. Below the limit 64 bits are enough.
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        let digits = 1023 + 52 - (bits >> 52);
        match (mantissa * 1000).cmp(&(ps << digits)) {
            Ordering::Less => false,
            Ordering::Equal => ps / 100 % 2 == 1,
            Ordering::Greater => true,
        }
    }

    /// Appends it, right-aligned.
    pub fn push(self, line: &mut Vec<u8>, width: usize) {
        match self.parts() {
            Some((whole, tenth)) => {
                push_number(line, whole, width.saturating_sub(2));
                line.extend_from_slice(&[b'.', b'0' + tenth]);
            }
            None => line.extend_from_slice(format!("{:>width$.1}", self.0.ns()).as_bytes()),
        }
    }
}

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((whole, tenth)) => match f.width() {
                Some(width) => write!(f, "{whole:>0$}.{tenth}", width.saturating_sub(2)),
                None => write!(f, "{whole}.{tenth}"),
            },
            None => write!(f, "{:>1$.1}", self.0.ns(), f.width().unwrap_or(0)),
        }
    }
}

/// Appends a number, right-aligned in at most 20 columns.
pub fn push_number(line: &mut Vec<u8>, number: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    line.extend_from_slice(&SPACES[..width.min(SPACES.len()).saturating_sub(digits.len())]);
    line.extend_from_slice(digits);
}

/// Appends a number, left-aligned.
pub fn push_number_left(line: &mut Vec<u8>, number: u64, width: usize) {
    let start = line.len();
    push_number(line, number, 0);
    line.resize(line.len().max(start + width), b' ');
}

/// Gives a word's eight hexadecimal digits, all at once.
pub const fn hexadecimal(word: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The first digit is in the lowest byte.
    let mut digits = word.swap_bytes() as u64;
    digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = digits >> 4 & 0x000f_000f_000f_000f | digits << 8 & 0x0f00_0f00_0f00_0f00;
    let letters = (digits + 6 * ONES) >> 4 & ONES;
    (digits + b'0' as u64 * ONES + letters * (b'a' - b'9' - 1) as u64).to_le_bytes()
}

/// Most characters of a [`Row`].
const ROW_BYTES: usize = 160;

/// Holds a few characters, for what is put together of short pieces. What has no room is left out.
#[derive(Debug, Clone)]
pub struct Row {
    bytes: [u8; ROW_BYTES],
    length: usize,
}

impl Row {
    /// Makes an empty row.
    pub const fn new() -> Self {
        Self { bytes: [0; ROW_BYTES], length: 0 }
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends the first `length` of some characters.
    #[inline(always)]
    pub fn push<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        if let Some(room) = self.bytes.get_mut(self.length..self.length + N) {
            room.copy_from_slice(bytes);
            self.length += length.min(N);
        }
    }

    /// Gives the characters.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

impl Default for Row {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut line = Vec::new();
        push(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn nanoseconds_are_those_of_floating_point() {
        let ends = [0, EXACT_PS, u64::MAX - 2500, 1 << 53, 999_900, 9_999_999_000];
        let near = ends.iter().flat_map(|end: &u64| end.saturating_sub(2500)..=end + 2500);
        let mut seed = 1_u64;
        let far = (0..20_000).map(|index| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> (index % 60)
        });
        let ties = (0..20_000).chain((0..44).map(|bits| 1 << bits)).map(|tenths| tenths * 100 + 50);
        for ps in near.chain(far).chain(ties) {
            let time = Time::from_ps(ps);
            assert_eq!(Ns(time).to_string(), format!("{:.1}", time.ns()), "{ps} ps");
            let padded = text(|line| Ns(time).push(line, 13));
            assert_eq!(padded, format!("{:>13.1}", time.ns()), "{ps} ps");
            assert_eq!(format!("{:13}", Ns(time)), padded, "{ps} ps");
        }
    }

    #[test]
    fn numbers_are_those_of_format() {
        for number in [0, 7, 10, 4_294_967_296, u64::MAX] {
            for width in [0, 1, 5, 12, 20] {
                let pushed = text(|line| push_number(line, number, width));
                assert_eq!(pushed, format!("{number:>width$}"));
                let pushed = text(|line| push_number_left(line, number, width));
                assert_eq!(pushed, format!("{number:<width$}"));
            }
            let word = number as u32;
            assert_eq!(hexadecimal(word), format!("{word:08x}").as_bytes());
        }
    }

    #[test]
    fn digits_are_those_of_format() {
        for word in (0..=u32::from(u16::MAX)).chain([0x1234_5678, 0x9abc_def0, u32::MAX]) {
            let word = word.wrapping_mul(0x0001_0001);
            assert_eq!(hexadecimal(word), format!("{word:08x}").as_bytes());
        }
    }

    #[test]
    fn what_has_no_room_in_a_row_is_left_out() {
        let mut row = Row::new();
        row.push(b"abcd", 3);
        row.push(b"-", 1);
        assert_eq!(row.bytes(), b"abc-");
        (0..100).for_each(|_| row.push(b"xyz", 3));
        assert_eq!(row.bytes().len(), 4 + (ROW_BYTES - 4) / 3 * 3);
        row.clear();
        assert_eq!(row.bytes(), b"");
    }
}
