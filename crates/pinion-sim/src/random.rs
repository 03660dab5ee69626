//! Random numbers whose streams are fixed for ever: the same seed draws the same numbers on every
//! host, in every version. Simulated hardware, contents of packets, and tests draw from these.
//!
//! Xorshift is Marsaglia's (Xorshift RNGs, 2003, his example triples), SplitMix64 is Steele's
//! (Fast Splittable Pseudorandom Number Generators, 2014). None is for secrets. What needs
//! distributions draws from a `rand_pcg` generator instead.

/// A stream of 32-bit numbers: xorshift with 13, 17 and 5. Of the seed 0 it draws nothing but 0.
#[derive(Debug, Clone)]
pub struct Xorshift32(u32);

impl Xorshift32 {
    /// Starts a stream from a seed.
    pub const fn new(seed: u32) -> Self {
        Self(seed)
    }

    /// Draws the next number.
    #[inline]
    pub const fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// Draws so many bytes, in little-endian words; what is left of the last word is dropped.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.draw().to_le_bytes()).take(count.div_ceil(4));
        words.flatten().take(count).collect()
    }
}

/// A stream of 64-bit numbers: xorshift with 13, 7 and 17. Of the seed 0 it draws nothing but 0.
#[derive(Debug, Clone)]
pub struct Xorshift64(u64);

impl Xorshift64 {
    /// Starts a stream from a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws the next number.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Draws so many bytes, in little-endian words; what is left of the last word is dropped.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.draw().to_le_bytes()).take(count.div_ceil(8));
        words.flatten().take(count).collect()
    }
}

/// A stream of 64-bit numbers, SplitMix64, from any seed.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// What the state grows by with each number: 2^64 over the golden ratio, odd.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Starts a stream from a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws the next number.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        finalize(self.0)
    }
}

/// Scatters a number's bits over all 64; a bijection, SplitMix64's finalizer.
#[inline]
pub const fn finalize(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_the_published_ones() {
        let mut narrow = Xorshift32::new(1);
        assert_eq!([narrow.draw(), narrow.draw(), narrow.draw()], NARROW);
        let mut wide = Xorshift64::new(1);
        assert_eq!([wide.draw(), wide.draw()], WIDE);
        let mut split = SplitMix64::new(0);
        assert_eq!([split.draw(), split.draw()], SPLIT);
    }

    const NARROW: [u32; 3] = [270_369, 67_634_689, 2_647_435_461];
    const WIDE: [u64; 2] = [1_082_269_761, 1_152_992_998_833_853_505];
    const SPLIT: [u64; 2] = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4];

    #[test]
    fn bytes_are_the_words_cut_off() {
        let whole: Vec<u8> = NARROW.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(Xorshift32::new(1).bytes(11), whole[..11]);
        let whole: Vec<u8> = WIDE.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(Xorshift64::new(1).bytes(9), whole[..9]);
        assert!(Xorshift64::new(1).bytes(0).is_empty());
        let mut goes_on = Xorshift32::new(1);
        goes_on.bytes(5);
        assert_eq!(goes_on.draw(), NARROW[2], "two words are used up by five bytes");
    }
}
