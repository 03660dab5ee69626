//! Which packet or message is meant, among all that got through or were dropped.

use pinion_app::error::{Error, Result};

/// Says which packet is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one with this number: matched packets are counted from 0; of a nanoservice this frame.
    Packet(u64),
    /// The one of this message that was through last; of a nanoservice this message.
    Message(u32),
    /// The one that took longest.
    Slowest,
    /// The one than which 99 % took no longer.
    Percentile99,
    /// The n-th one that was dropped, from 0.
    Dropped(u64),
}

/// How long a way is among all of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What the one in the middle takes, in ps.
    pub median_ps: u64,
    /// Number of those that take longer.
    pub longer: u64,
    /// Number of all.
    pub all: u64,
}

/// Somebody that got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Through {
    /// Its number.
    pub number: u64,
    /// What it took, in ps.
    pub took_ps: u64,
    /// Whether something was sent for it: it is compared with others of which that is so.
    pub is_answered: bool,
}

/// Says which one of those that got through is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The one with this number.
    Number(u64),
    /// The one that took longest.
    Slowest,
    /// The one than which 99 % took no longer.
    Percentile99,
}

/// Picks one of those that got through, and says how it stands among them.
pub fn pick(mut all: Vec<Through>, pick: Pick) -> Option<(Through, Standing)> {
    all.sort_by_key(|one| (one.took_ps, one.number));
    let rank = |share: f64| (all.len() as f64 * share).ceil().max(1.0) as usize - 1;
    let found = *match pick {
        Pick::Number(number) => all.iter().find(|one| one.number == number)?,
        Pick::Slowest => all.last()?,
        Pick::Percentile99 => all.get(rank(0.99))?,
    };
    let alike: Vec<&Through> =
        all.iter().filter(|other| other.is_answered == found.is_answered).collect();
    let standing = Standing {
        median_ps: alike[(alike.len() - 1) / 2].took_ps,
        longer: all.iter().filter(|other| other.took_ps > found.took_ps).count() as u64,
        all: all.len() as u64,
    };
    Some((found, standing))
}

/// Gives the n-th of those that were dropped; `noun` says what they are.
///
/// # Errors
/// When there are not so many.
pub fn dropped<'a, T>(all: &'a [T], index: u64, noun: &str) -> Result<&'a T> {
    let count = all.len();
    usize::try_from(index).ok().and_then(|index| all.get(index)).ok_or_else(|| {
        Error::Usage(match count {
            0 => format!("--dropped: no {noun} was dropped in this run"),
            _ => format!("--dropped {index}: {count} were dropped, 0 to {}", count - 1),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_later_and_only_those_alike_make_the_median() {
        let one = |number, took_ps, is_answered| Through { number, took_ps, is_answered };
        let all = || vec![one(0, 5, true), one(1, 90, false), one(2, 9, true), one(3, 90, true)];
        let (slowest, standing) = pick(all(), Pick::Slowest).unwrap();
        assert_eq!((slowest.number, standing), (3, Standing { median_ps: 9, longer: 0, all: 4 }));
        let (first, standing) = pick(all(), Pick::Number(0)).unwrap();
        assert_eq!((first.took_ps, standing.longer), (5, 3));
        assert_eq!(pick(all(), Pick::Percentile99).unwrap().0.number, 3);
        assert_eq!(pick(all(), Pick::Number(9)), None);
        assert_eq!(pick(Vec::new(), Pick::Slowest), None);
    }

    #[test]
    fn who_asks_for_too_many_is_told_how_many_there_are() {
        assert_eq!(dropped(&[7, 8], 1, "frame").unwrap(), &8);
        let error = dropped(&[7, 8], 2, "frame").unwrap_err().to_string();
        assert!(error.contains("2 were dropped, 0 to 1"), "{error}");
        let none = dropped::<u8>(&[], 0, "frame").unwrap_err().to_string();
        assert!(none.contains("no frame was dropped"), "{none}");
    }
}
