//! One comparison of the matching engine (FPsPIN's U32 rule). In: a packet's bytes. Out: whether
//! the 32-bit big-endian word at byte 4 · index, AND mask, lies in start ..= end.

/// Says how words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compare {
    /// As big-endian numbers: what the FPsPIN paper and iptables' u32 mean.
    #[default]
    BigEndian,
    /// As the FPsPIN artifact does: its library swaps the bytes of mask, start and end, and its
    /// hardware compares the swapped words. Single values match alike; a range is ordered by its
    /// last byte first.
    Swapped,
}

/// Compares one word of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Which word: the one at byte 4 · `index`.
    pub index: u32,
    /// Bits of the word that count.
    pub mask: u32,
    /// Lowest masked value that matches.
    pub start: u32,
    /// Highest masked value that matches.
    pub end: u32,
}

impl Rule {
    /// Matches every packet (FPsPIN's EMPTY).
    pub const ALWAYS: Self = Self { index: 0, mask: 0, start: 0, end: 0 };
    /// Matches no packet (FPsPIN's FALSE).
    pub const NEVER: Self = Self { index: 0, mask: 0, start: 1, end: 0 };

    /// Makes a rule that matches one masked value.
    pub const fn exact(index: u32, mask: u32, value: u32) -> Self {
        Self { index, mask, start: value, end: value }
    }

    /// Tells whether a packet matches; bytes past its end read as zero.
    #[inline]
    pub fn matches(&self, packet: &[u8], compare: Compare) -> bool {
        let value = word_at(packet, self.index as usize * 4) & self.mask;
        match compare {
            Compare::BigEndian => (self.start..=self.end).contains(&value),
            Compare::Swapped => {
                let (start, end) = (self.start.swap_bytes(), self.end.swap_bytes());
                (start..=end).contains(&value.swap_bytes())
            }
        }
    }

    /// Returns the last byte of a packet that the rule depends on; `None` if on none.
    pub fn last_byte(&self) -> Option<u64> {
        let unused = self.mask.trailing_zeros() / 8;
        (self.mask != 0).then(|| u64::from(self.index) * 4 + 3 - u64::from(unused))
    }

    /// Tells whether one masked value matches and no other.
    pub(super) fn is_exact(&self) -> bool {
        self.start == self.end && self.start & !self.mask == 0
    }
}

/// Reads a big-endian word; bytes past the packet's end are zero.
#[inline]
pub(super) fn word_at(packet: &[u8], at: usize) -> u32 {
    match packet.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 4];
            for (byte, &packet_byte) in bytes.iter_mut().zip(packet.iter().skip(at)) {
                *byte = packet_byte;
            }
            u32::from_be_bytes(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_and_never_hold_for_every_packet_and_order() {
        for compare in [Compare::BigEndian, Compare::Swapped] {
            for packet in [&[][..], &[0xff; 100]] {
                assert!(Rule::ALWAYS.matches(packet, compare));
                assert!(!Rule::NEVER.matches(packet, compare));
            }
        }
    }

    #[test]
    fn words_past_the_end_read_as_zero() {
        assert_eq!(word_at(&[1, 2, 3, 4, 5], 0), 0x0102_0304);
        assert_eq!(word_at(&[1, 2, 3, 4, 5], 4), 0x0500_0000);
        assert_eq!(word_at(&[1, 2, 3, 4, 5], 8), 0);
        assert_eq!(word_at(&[1], usize::MAX - 1), 0);
        assert!(Rule::exact(9, 0xffff, 0).matches(&[1; 36], Compare::BigEndian));
    }

    #[test]
    fn the_artifact_orders_ranges_by_their_last_byte() {
        let range = Rule { index: 0, mask: u32::MAX, start: 0x0000_01ff, end: 0x0000_0300 };
        let inside = 0x0000_0200u32.to_be_bytes();
        assert!(range.matches(&inside, Compare::BigEndian));
        assert!(!range.matches(&inside, Compare::Swapped)); // its start lies above its end there
        let range = Rule { index: 0, mask: u32::MAX, start: 0x0500_0001, end: 0x0000_0002 };
        assert!(range.matches(&[9, 0, 0, 1], Compare::Swapped));
        assert!(!range.matches(&[9, 0, 0, 1], Compare::BigEndian));
    }

    #[test]
    fn last_byte_counts_masked_bytes_only() {
        assert_eq!(Rule::exact(16, 0xffff_0000, 0).last_byte(), Some(65));
        assert_eq!(Rule::exact(16, 0x0000_0100, 0).last_byte(), Some(66));
        assert_eq!(Rule::ALWAYS.last_byte(), None);
        assert_eq!(Rule::exact(u32::MAX, 1, 0).last_byte(), Some(u64::from(u32::MAX) * 4 + 3));
    }
}
