//! How sure a quantile is. In: how many numbers there are, which quantile, how sure one wants to be.
//! Out: the ranks between which the quantile lies.
//!
//! Nothing is assumed of the distribution. Of n independent numbers the count B of those at or below
//! the true quantile is binomial with parameters n and q, so the quantile lies from the l-th to
//! the u-th smallest with probability P(l ≤ B < u). The interval here is the narrowest with at most
//! half of the doubt on either side (H. A. David, H. N. Nagaraja: Order Statistics, §7.1). Where the
//! doubt left is larger than that even beyond the last number, the end is open.
//!
//! Response times of one run follow each other and are alike while a queue is long: near saturation
//! they are worth less than so many independent ones, and the interval is narrower than it should be.

/// Holds the ends of a confidence interval; `None`: open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Gives the ranks (the smallest number has rank 1) between which the quantile `q` of `count`
/// numbers lies with probability `confidence`; `None` where there is no such rank.
pub fn quantile_ranks(count: u64, q: f64, confidence: f64) -> (Option<u64>, Option<u64>) {
    if count == 0 || !(0.0..1.0).contains(&confidence) || !(q > 0.0 && q < 1.0) {
        return (None, None);
    }
    let doubt = (1.0 - confidence) / 2.0;
    let (first, shares) = binomial(count, q);
    // The largest l with P(B < l) ≤ doubt.
    let mut below = 0.0;
    let mut low = first;
    for share in &shares {
        below += share;
        if below > doubt {
            break;
        }
        low += 1;
    }
    // The smallest u with P(B ≥ u) ≤ doubt.
    let mut above = 0.0;
    let mut high = first + shares.len() as u64;
    for share in shares.iter().rev() {
        above += share;
        if above > doubt {
            break;
        }
        high -= 1;
    }
    ((low >= 1).then_some(low), (high <= count).then_some(high))
}

/// Gives the probabilities of a binomial distribution that matter, from the first such count on.
/// They come from the most likely one by the ratio of neighbours, then are put in proportion: no
/// factorials.
fn binomial(count: u64, q: f64) -> (u64, Vec<f64>) {
    /// Of no consequence in relation to the most likely count.
    const NEGLIGIBLE: f64 = 1e-20;
    let odds = q / (1.0 - q);
    let top = (((count + 1) as f64 * q) as u64).min(count);
    let (mut down, mut share, mut k) = (Vec::new(), 1.0, top);
    while k > 0 {
        share *= k as f64 / (count - k + 1) as f64 / odds;
        if share < NEGLIGIBLE {
            break;
        }
        down.push(share);
        k -= 1;
    }
    let first = top - down.len() as u64;
    let mut shares: Vec<f64> = down.into_iter().rev().collect();
    (share, k) = (1.0, top);
    while share >= NEGLIGIBLE {
        shares.push(share);
        if k == count {
            break;
        }
        share *= (count - k) as f64 / (k + 1) as f64 * odds;
        k += 1;
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    (first, shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, seed};

    #[test]
    fn ranks_of_a_median_are_those_of_the_textbooks() {
        // Conover, Practical Nonparametric Statistics: 95 %, median of 16: 4th to 13th.
        assert_eq!(quantile_ranks(16, 0.5, 0.95), (Some(4), Some(13)));
        // 10: 2nd to 9th covers 97.9 %, 3rd to 8th only 89.1 %.
        assert_eq!(quantile_ranks(10, 0.5, 0.95), (Some(2), Some(9)));
        assert_eq!(quantile_ranks(10, 0.5, 0.89), (Some(3), Some(8)));
    }

    #[test]
    fn ends_are_open_where_there_are_too_few_numbers() {
        // Of 100 numbers all lie below the 99th percentile with probability 0.99^100 = 37 %.
        assert_eq!(quantile_ranks(100, 0.99, 0.95).1, None);
        assert_eq!(quantile_ranks(5, 0.5, 0.99), (None, None));
        assert_eq!(quantile_ranks(0, 0.5, 0.95), (None, None));
        let (low, high) = quantile_ranks(20_000, 0.99, 0.95);
        assert_eq!((low, high), (Some(19_772), Some(19_828)));
    }

    #[test]
    fn the_probabilities_are_those_of_the_definition() {
        let (first, shares) = binomial(4, 0.5);
        assert_eq!((first, shares), (0, vec![0.0625, 0.25, 0.375, 0.25, 0.0625]));
        let (first, shares) = binomial(1_000_000, 0.999);
        let mean: f64 = shares.iter().zip(first..).map(|(share, k)| share * k as f64).sum();
        assert!((mean - 999_000.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn intervals_hold_the_quantile_as_often_as_they_say() {
        let mut random = Random::new(seed("load::interval"));
        let (count, q, confidence, trials) = (600, 0.9, 0.9, 4_000);
        let (low, high) = quantile_ranks(count, q, confidence);
        let (low, high) = (low.unwrap() as usize, high.unwrap() as usize);
        let mut held = 0;
        for _ in 0..trials {
            let mut numbers: Vec<u64> = (0..count).map(|_| random.below(1_000_000)).collect();
            numbers.sort_unstable();
            held += u32::from((numbers[low - 1]..=numbers[high - 1]).contains(&900_000));
        }
        let share = f64::from(held) / f64::from(trials);
        assert!((0.885..0.94).contains(&share), "{share}");
    }
}
