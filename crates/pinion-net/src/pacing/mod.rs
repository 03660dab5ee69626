//! Pacing: when each frame reaches the NIC. In: frame sizes and recorded times. Out: arrival times
//! in picoseconds, never going back. Holds the bits sent so far, so that no rounding accumulates.
//!
//! A frame has arrived when its last bit has: at a fixed rate that is when the wire has carried it
//! and everything before it, the first frame's first bit being sent at time 0. A recorded time is
//! taken as it is.

mod rate;

pub use rate::{Rate, RateError};

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;

/// Says which bits occupy the wire besides the frame itself.
///
/// Frames everywhere in Pinion are without frame check sequence (FCS), as captures hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireBits {
    /// The frame's own bytes only: the way published NIC figures count a packet rate.
    #[default]
    Frame,
    /// Ethernet's whole share of the wire (IEEE 802.3 §3, §4.4.2): 8 bytes preamble and start
    /// delimiter, the frame padded to 60 bytes, 4 bytes FCS, 12 bytes gap.
    Ethernet,
}

impl WireBits {
    /// Returns the bits a frame of `frame_bytes` (without FCS) keeps the wire busy.
    pub fn of_frame(self, frame_bytes: usize) -> u64 {
        let bytes = match self {
            Self::Frame => frame_bytes,
            Self::Ethernet => 8 + frame_bytes.max(60) + 4 + 12,
        };
        bytes as u64 * 8
    }

    /// Returns the bits from the frame's first on the wire to the last of the frame itself.
    fn until_arrived(self, frame_bytes: usize) -> u64 {
        match self {
            Self::Frame => self.of_frame(frame_bytes),
            Self::Ethernet => self.of_frame(frame_bytes) - 12 * 8,
        }
    }
}

/// Says where arrival times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacing {
    /// The frames' own times; a frame older than the one before arrives with that one.
    #[default]
    AsRecorded,
    /// Back to back at a fixed rate.
    Fixed(Rate, WireBits),
    /// Everything is there at time 0; back-pressure alone sets the pace.
    Unlimited,
}

impl Pacing {
    /// Makes a fixed pacing, or an unlimited one for [`Rate::Unlimited`].
    pub fn at(rate: Rate, bits: WireBits) -> Self {
        match rate {
            Rate::Unlimited => Self::Unlimited,
            fixed => Self::Fixed(fixed, bits),
        }
    }
}

/// Says what a bit takes, in lowest terms: then whole numbers of 64 bits hold nearly every time.
#[derive(Debug, Clone, Copy)]
struct BitPeriod {
    numerator_ps: u64,
    denominator: u64,
}

impl BitPeriod {
    fn at(bits_per_s: u64) -> Self {
        let (mut divisor, mut rest) = (PS_PER_S, bits_per_s);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self { numerator_ps: PS_PER_S / divisor, denominator: bits_per_s / divisor }
    }

    /// Gives when so many bits have passed, rounded up to a picosecond.
    #[inline]
    fn until(self, bits: u128) -> u64 {
        let short = u64::try_from(bits).ok();
        if let Some(ps) = short.and_then(|bits| bits.checked_mul(self.numerator_ps)) {
            return ps.div_ceil(self.denominator);
        }
        let ps = (bits * u128::from(self.numerator_ps)).div_ceil(u128::from(self.denominator));
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// Turns frames into arrival times.
#[derive(Debug, Clone)]
pub struct Pacer {
    pacing: Pacing,
    /// What a bit takes at a fixed rate.
    period: Option<BitPeriod>,
    sent_bits: u128,
    last_ps: u64,
}

impl Pacer {
    /// Starts at time 0.
    pub fn new(pacing: Pacing) -> Self {
        let period = match pacing {
            Pacing::Fixed(rate, _) => rate.bits_per_s().map(BitPeriod::at),
            Pacing::AsRecorded | Pacing::Unlimited => None,
        };
        Self { pacing, period, sent_bits: 0, last_ps: 0 }
    }

    /// Returns when the next frame's last bit arrives; times beyond `u64::MAX` ps (213 days)
    /// stay there.
    #[inline]
    pub fn arrival_ps(&mut self, recorded_ps: u64, frame_bytes: usize) -> u64 {
        match self.pacing {
            Pacing::AsRecorded => self.last_ps = self.last_ps.max(recorded_ps),
            Pacing::Unlimited => {}
            Pacing::Fixed(_, bits) => {
                if let Some(period) = self.period {
                    let arrived_bits = self.sent_bits + u128::from(bits.until_arrived(frame_bytes));
                    self.last_ps = period.until(arrived_bits);
                    self.sent_bits += u128::from(bits.of_frame(frame_bytes));
                }
            }
        }
        self.last_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, bits: WireBits) -> Pacer {
        Pacer::new(Pacing::at(text.parse().unwrap(), bits))
    }

    #[test]
    fn frames_of_64_bytes_at_400_gbit_s_are_1280_ps_apart() {
        let mut pacer = at("400g", WireBits::Frame);
        let times: Vec<u64> = (0..4).map(|_| pacer.arrival_ps(0, 64)).collect();
        assert_eq!(times, [1280, 2560, 3840, 5120]);
    }

    #[test]
    fn ethernet_counts_preamble_padding_fcs_and_gap() {
        let mut pacer = at("10g", WireBits::Ethernet);
        let first = pacer.arrival_ps(0, 42);
        assert_eq!(first, 57_600); // 8 + 60 + 4 bytes
        assert_eq!(pacer.arrival_ps(0, 42) - first, 67_200); // 14.88 M frames a second
    }

    #[test]
    fn a_rate_that_does_not_divide_does_not_drift() {
        let mut pacer = at("300g", WireBits::Frame);
        let last = (0..3_000_000).map(|_| pacer.arrival_ps(0, 100)).last().unwrap();
        assert_eq!(last, 3_000_000 * 800 * 1000 / 300);
    }

    #[test]
    fn recorded_times_never_go_back() {
        let mut pacer = Pacer::new(Pacing::AsRecorded);
        let times: Vec<u64> = [5, 9, 7, 12].iter().map(|&t| pacer.arrival_ps(t, 64)).collect();
        assert_eq!(times, [5, 9, 9, 12]);
    }

    #[test]
    fn unlimited_is_time_0_and_far_times_saturate() {
        assert_eq!(Pacer::new(Pacing::Unlimited).arrival_ps(77, 64), 0);
        let mut slow = at("0.001k", WireBits::Frame);
        slow.arrival_ps(0, 9000);
        slow.arrival_ps(0, usize::MAX / 16);
        assert_eq!(slow.arrival_ps(0, 64), u64::MAX);
    }
}
