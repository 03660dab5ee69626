//! Random numbers of cycles. In: a distribution and a random stream. Out: cycles, and which mode of
//! the distribution they came from.
//!
//! The transformations are rand_distr's without the standard library's mathematics: exponentials and
//! logarithms then come from the libm crate, so a seed gives the same numbers on every host.

use rand_distr::{Distribution as _, Exp1, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// The most cycles that a distribution may give.
pub(super) const MOST_CYCLES: f64 = 1e15;

/// Says how cycles are distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Fixed {
        /// The cycles.
        cycles: f64,
    },
    /// Exponential: gaps of a Poisson process.
    Exponential {
        /// The mean.
        mean_cycles: f64,
    },
    /// Two normal distributions, clamped.
    Bimodal {
        /// Mode 0.
        low: Normal,
        /// Mode 1.
        high: Normal,
        /// How likely mode 1 is.
        high_probability: f64,
        /// Smallest value.
        min_cycles: f64,
        /// Largest value.
        max_cycles: f64,
    },
}

/// Describes a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    /// The mean.
    pub mean_cycles: f64,
    /// The standard deviation.
    pub deviation_cycles: f64,
}

impl Distribution {
    /// Draws cycles and the mode they are from; 0 where there is one mode only.
    pub fn sample(&self, random: &mut Pcg64Mcg) -> (f64, usize) {
        match self {
            Self::Fixed { cycles } => (*cycles, 0),
            Self::Exponential { mean_cycles } => {
                let unit: f64 = Exp1.sample(random);
                (mean_cycles * unit, 0)
            }
            Self::Bimodal { low, high, high_probability, min_cycles, max_cycles } => {
                let mode = usize::from(unit_interval(random) < *high_probability);
                let normal = [low, high][mode];
                let unit: f64 = StandardNormal.sample(random);
                let cycles = normal.mean_cycles + normal.deviation_cycles * unit;
                (cycles.clamp(*min_cycles, *max_cycles), mode)
            }
        }
    }

    /// Gives the mean, not counting what the clamp of two modes moves.
    pub fn mean_cycles(&self) -> f64 {
        match self {
            Self::Fixed { cycles } => *cycles,
            Self::Exponential { mean_cycles } => *mean_cycles,
            Self::Bimodal { low, high, high_probability: high_share, .. } => {
                low.mean_cycles * (1.0 - high_share) + high.mean_cycles * high_share
            }
        }
    }

    /// Gives a distribution of the same shape with another mean, as [`Self::mean_cycles`] counts it.
    #[must_use]
    pub fn with_mean(&self, cycles: f64) -> Self {
        let factor = cycles / self.mean_cycles();
        let scaled = |normal: &Normal| Normal {
            mean_cycles: normal.mean_cycles * factor,
            deviation_cycles: normal.deviation_cycles * factor,
        };
        match self {
            Self::Fixed { .. } => Self::Fixed { cycles },
            Self::Exponential { .. } => Self::Exponential { mean_cycles: cycles },
            Self::Bimodal { low, high, high_probability, min_cycles, max_cycles } => {
                Self::Bimodal {
                    low: scaled(low),
                    high: scaled(high),
                    high_probability: *high_probability,
                    min_cycles: min_cycles * factor,
                    max_cycles: (max_cycles * factor).min(MOST_CYCLES),
                }
            }
        }
    }

    /// Gives the number of modes.
    pub fn modes(&self) -> usize {
        match self {
            Self::Bimodal { .. } => 2,
            _ => 1,
        }
    }

    /// Tells what is wrong with the numbers, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let finite = |cycles: f64| (0.0..=MOST_CYCLES).contains(&cycles);
        match self {
            Self::Fixed { cycles } if !finite(*cycles) => Some("cycles must be from 0 to 1e15"),
            Self::Exponential { mean_cycles } if !finite(*mean_cycles) => {
                Some("the mean must be from 0 to 1e15 cycles")
            }
            Self::Bimodal { low, high, high_probability, min_cycles, max_cycles } => {
                let numbers = [
                    low.mean_cycles,
                    high.mean_cycles,
                    low.deviation_cycles,
                    high.deviation_cycles,
                    *min_cycles,
                    *max_cycles,
                ];
                if !numbers.into_iter().all(finite) {
                    Some("cycles must be from 0 to 1e15")
                } else if !(0.0..=1.0).contains(high_probability) {
                    Some("the probability must be from 0 to 1")
                } else if min_cycles > max_cycles {
                    Some("the smallest value is above the largest")
                } else {
                    None
                }
            }
            _ => None,
        }
    }
}

/// Draws a number from 0 (inclusive) to 1 (exclusive), with 53 random bits.
pub(super) fn unit_interval(random: &mut Pcg64Mcg) -> f64 {
    use rand_core::Rng as _;
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng as _;

    fn draw(distribution: &Distribution, count: usize) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        (0..count).map(|_| distribution.sample(&mut random).0).collect()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, (square / n).sqrt())
    }

    #[test]
    fn another_mean_leaves_the_shape() {
        let normal = |mean_cycles, deviation_cycles| Normal { mean_cycles, deviation_cycles };
        let modes = |low, high, min_cycles, max_cycles| Distribution::Bimodal {
            low,
            high,
            high_probability: 0.25,
            min_cycles,
            max_cycles,
        };
        // A mean of 250 cycles.
        let gap = modes(normal(100.0, 10.0), normal(700.0, 20.0), 50.0, MOST_CYCLES);
        let twice = modes(normal(200.0, 20.0), normal(1400.0, 40.0), 100.0, MOST_CYCLES);
        assert_eq!((gap.mean_cycles(), gap.with_mean(500.0)), (250.0, twice));
        let exponential = |mean_cycles| Distribution::Exponential { mean_cycles };
        assert_eq!(exponential(9.0).with_mean(7.0), exponential(7.0));
        let none = modes(normal(0.0, 1.0), normal(0.0, 1.0), 0.0, 5.0);
        assert!(none.with_mean(7.0).problem().is_some(), "there is no such shape");
    }

    #[test]
    fn an_exponential_has_its_mean_as_deviation() {
        let values = draw(&Distribution::Exponential { mean_cycles: 1000.0 }, 200_000);
        let (mean, deviation) = mean_and_deviation(&values);
        assert!((mean - 1000.0).abs() < 10.0, "{mean}");
        assert!((deviation - 1000.0).abs() < 15.0, "{deviation}");
        let beyond = values.iter().filter(|&&value| value > 3000.0).count() as f64;
        assert!((beyond / 200_000.0 - (-3.0f64).exp()).abs() < 0.003);
    }

    #[test]
    fn two_modes_come_as_often_as_asked_and_stay_within_the_clamp() {
        let distribution = Distribution::Bimodal {
            low: Normal { mean_cycles: 1600.0, deviation_cycles: 100.0 },
            high: Normal { mean_cycles: 16_000.0, deviation_cycles: 100.0 },
            high_probability: 0.05,
            min_cycles: 1450.0,
            max_cycles: 16_100.0,
        };
        let mut random = Pcg64Mcg::seed_from_u64(9);
        let (mut high, mut lows) = (0, Vec::new());
        for _ in 0..100_000 {
            let (cycles, mode) = distribution.sample(&mut random);
            assert!((1450.0..=16_100.0).contains(&cycles));
            assert_eq!(mode == 1, cycles > 8000.0);
            high += mode;
            if mode == 0 {
                lows.push(cycles);
            }
        }
        assert!((4700..5300).contains(&high), "{high}");
        let (mean, deviation) = mean_and_deviation(&lows);
        assert!(
            (mean - 1602.0).abs() < 3.0 && (deviation - 95.0).abs() < 4.0,
            "{mean} {deviation}"
        );
        assert!((distribution.mean_cycles() - 2320.0).abs() < 1e-9);
    }

    #[test]
    fn the_streams_are_pinned() {
        // Recorded results hold only as long as these do.
        let exponential = draw(&Distribution::Exponential { mean_cycles: 1.0 }, 3);
        let bits: Vec<u64> = exponential.iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits, PINNED_EXPONENTIAL, "{exponential:?}");
        let distribution = Distribution::Bimodal {
            low: Normal { mean_cycles: 0.0, deviation_cycles: 1.0 },
            high: Normal { mean_cycles: 10.0, deviation_cycles: 1.0 },
            high_probability: 0.5,
            min_cycles: 0.0,
            max_cycles: 100.0,
        };
        let sum: f64 = draw(&distribution, 10_000).iter().sum();
        assert_eq!(sum.to_bits(), PINNED_SUM, "{sum}");
    }
    const PINNED_EXPONENTIAL: [u64; 3] =
        [4607341502360658151, 4609164351124603604, 4599402786086917374];
    const PINNED_SUM: u64 = 4677429557896877692;

    #[test]
    fn impossible_numbers_are_told() {
        assert!(Distribution::Fixed { cycles: f64::NAN }.problem().is_some());
        assert!(Distribution::Exponential { mean_cycles: -1.0 }.problem().is_some());
        let normal = Normal { mean_cycles: 1.0, deviation_cycles: 0.0 };
        let bimodal = |high_probability, min_cycles| Distribution::Bimodal {
            low: normal,
            high: normal,
            high_probability,
            min_cycles,
            max_cycles: 5.0,
        };
        assert!(bimodal(0.5, 1.0).problem().is_none());
        assert!(bimodal(1.5, 1.0).problem().is_some());
        assert!(bimodal(0.5, 9.0).problem().is_some());
    }
}
