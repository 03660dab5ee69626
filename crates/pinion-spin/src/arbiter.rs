//! Round-robin arbitration as PULP's arbiter trees do it.
//!
//! In: which requesters ask. Out: the one that is served. Holds a pointer. The tree serves the
//! requester that the pointer's bits lead to, turning aside wherever no one asks; after a grant the
//! pointer moves to the next requester above it, or to the lowest. (RTL: rr_arb_tree with FairArb.)

/// Chooses one of up to 4,096 requesters, given as a set of bits.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    pointer: u32,
    levels: u32,
}

/// Holds a set of requesters.
#[derive(Clone, Debug)]
pub struct Requests {
    words: Vec<u64>,
    waiting: u32,
}

impl Requests {
    /// Makes an empty set of `count` requesters.
    pub fn new(count: u32) -> Self {
        Self { words: vec![0; (count as usize).div_ceil(64)], waiting: 0 }
    }

    /// Adds or removes a requester.
    #[inline]
    pub fn set(&mut self, requester: u32, asks: bool) {
        let bit = 1u64 << (requester % 64);
        let word = &mut self.words[(requester / 64) as usize];
        let had = *word & bit != 0;
        if had != asks {
            *word ^= bit;
            self.waiting = if asks { self.waiting + 1 } else { self.waiting - 1 };
        }
    }

    /// Says whether nobody asks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Counts those who ask.
    pub fn len(&self) -> u32 {
        self.waiting
    }

    /// Finds the lowest requester at or above `from` and below `to`.
    #[inline]
    fn first_in(&self, from: u32, to: u32) -> Option<u32> {
        let mut at = from;
        while at < to {
            let word = *self.words.get((at / 64) as usize)?;
            let rest = word >> (at % 64);
            if rest != 0 {
                let found = at + rest.trailing_zeros();
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

impl RoundRobin {
    /// Makes an arbiter of `count` requesters.
    pub const fn new(count: u32) -> Self {
        Self { pointer: 0, levels: count.next_power_of_two().trailing_zeros() }
    }

    /// Serves one of the requesters and moves on.
    pub fn grant(&mut self, requests: &Requests) -> Option<u32> {
        if requests.is_empty() {
            return None;
        }
        let mut low = 0;
        for level in (0..self.levels).rev() {
            let half = 1 << level;
            let right = requests.first_in(low + half, low + 2 * half).is_some();
            let left = requests.first_in(low, low + half).is_some();
            if right && (!left || self.pointer >> level & 1 == 1) {
                low += half;
            }
        }
        let top = 1 << self.levels;
        self.pointer = requests
            .first_in(self.pointer + 1, top)
            .or_else(|| requests.first_in(0, self.pointer + 1))
            .unwrap_or(0);
        Some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(list: &[u32]) -> Requests {
        let mut requests = Requests::new(8);
        for &requester in list {
            requests.set(requester, true);
        }
        requests
    }

    /// The order in which cluster 0's completions leave in the RTL's log `empty-burst_64`.
    #[test]
    fn serves_as_the_rtl_does() {
        let mut arbiter = RoundRobin::new(8);
        let asks: [&[u32]; 8] = [
            &[0, 1, 2, 4],
            &[1, 2, 4],
            &[2, 3, 4, 5],
            &[3, 4, 5],
            &[4, 5, 6],
            &[5, 6],
            &[6, 7],
            &[7],
        ];
        for (expected, list) in asks.iter().enumerate() {
            assert_eq!(arbiter.grant(&requests(list)), Some(expected as u32));
        }
        assert_eq!(arbiter.grant(&requests(&[0, 1, 2, 3, 4])), Some(4));
        assert_eq!(arbiter.grant(&requests(&[0, 1, 2, 3])), Some(0));
        assert_eq!(arbiter.grant(&requests(&[1, 2, 3])), Some(1));
        assert_eq!(arbiter.grant(&requests(&[])), None);
    }

    #[test]
    fn serves_everyone() {
        let mut arbiter = RoundRobin::new(256);
        let mut all = Requests::new(256);
        (0..256).for_each(|requester| all.set(requester, true));
        let mut seen = [0; 256];
        for _ in 0..512 {
            seen[arbiter.grant(&all).expect("all ask") as usize] += 1;
        }
        assert_eq!(seen, [2; 256]);
    }
}
