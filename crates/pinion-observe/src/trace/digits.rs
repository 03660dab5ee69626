//! Numbers as a trace's lines have them, without the detours of general formatting: a trace is mostly
//! numbers, and floating point alone took a sixth of the time of writing one.

use std::fmt;

use pinion_sim::Time;

/// Limit of times whose nanoseconds are told from integers: below it a quotient in floating point is
/// off by less than 1 ps, so that only ties could be rounded otherwise.
const EXACT_PS: u64 = 1 << 50;

/// Digits of the greatest number.
const MOST_DIGITS: usize = 20;

/// Shows a time in nanoseconds with one decimal, right-aligned, exactly as `{:.1}` shows [`Time::ns`].
#[derive(Debug, Clone, Copy)]
pub struct Ns(pub Time);

impl Ns {
    /// Gives whole nanoseconds and tenths, but of what a tie or its size leaves to floating point.
    const fn parts(self) -> Option<(u64, u8)> {
        let ps = self.0.ps();
        if ps >= EXACT_PS || ps % 100 == 50 {
            return None;
        }
        let tenths = (ps + 50) / 100;
        Some((tenths / 10, (tenths % 10) as u8))
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
    let mut columns = [b' '; MOST_DIGITS];
    let (mut rest, mut at) = (number, MOST_DIGITS);
    loop {
        at -= 1;
        columns[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    line.extend_from_slice(&columns[at.min(MOST_DIGITS.saturating_sub(width))..]);
}

/// Appends a word as eight hexadecimal digits.
pub fn push_word(line: &mut Vec<u8>, word: u32) {
    let nibble = |index: u32| b"0123456789abcdef"[(word >> (28 - 4 * index) & 15) as usize];
    line.extend_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7].map(nibble));
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
        for ps in near.chain(far) {
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
            }
            let word = number as u32;
            assert_eq!(text(|line| push_word(line, word)), format!("{word:08x}"));
        }
    }
}
