//! Round-robin arbitration as PULP's arbiter trees do it.
//!
//! In: which requesters ask. Out: the one that is served. Holds a pointer. The tree serves the
//! requester that the pointer's bits lead to, turning aside wherever no one asks; after a grant the
//! pointer moves to the next requester above it, or to the lowest. (RTL: rr_arb_tree with FairArb.)

/// Levels of the tree within a word of 64 requesters.
const WORD_LEVELS: u32 = 6;

/// Chooses one of up to 4,096 requesters, given as a set of bits.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    pointer: u32,
}

/// Holds a set of requesters.
#[derive(Clone, Debug)]
pub struct Requests {
    words: Vec<u64>,
    /// Bit per word: somebody asks there.
    summary: u64,
    waiting: u32,
}

impl Requests {
    /// Makes an empty set of `count` requesters.
    pub fn new(count: u32) -> Self {
        Self { words: vec![0; (count as usize).div_ceil(64)], summary: 0, waiting: 0 }
    }

    /// Makes a set of all `count` requesters.
    pub fn all(count: u32) -> Self {
        let mut all = Self::new(count);
        (0..count).for_each(|requester| all.set(requester, true));
        all
    }

    /// Adds or removes a requester.
    #[inline]
    pub fn set(&mut self, requester: u32, asks: bool) {
        let bit = 1u64 << (requester % 64);
        let index = requester / 64;
        let word = &mut self.words[index as usize];
        let had = *word & bit != 0;
        if had != asks {
            *word ^= bit;
            self.summary = self.summary & !(1 << index) | u64::from(*word != 0) << index;
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

    /// Finds the lowest requester at or above `from`.
    #[inline]
    pub fn first_from(&self, from: u32) -> Option<u32> {
        let index = from / 64;
        let rest = self.words.get(index as usize)? >> (from % 64);
        if rest != 0 {
            return Some(from + rest.trailing_zeros());
        }
        let above = self.summary & u64::MAX.checked_shl(index + 1).unwrap_or(0);
        self.lowest_of(above)
    }

    /// Gives those who ask, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let next = self.first_from(from)?;
            from = next + 1;
            Some(next)
        })
    }

    /// Finds the lowest requester of the words in a summary.
    fn lowest_of(&self, summary: u64) -> Option<u32> {
        let index = summary.trailing_zeros();
        let word = self.words.get(index as usize)?;
        Some(index * 64 + word.trailing_zeros())
    }

    /// Finds the lowest requester at or above `from`, or else the lowest.
    #[inline]
    pub fn first_round(&self, from: u32) -> Option<u32> {
        self.first_from(from).or_else(|| self.lowest_of(self.summary))
    }
}

/// By level of the tree: the left sides of its branches.
const LEFT: [u64; WORD_LEVELS as usize] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

/// Goes down a tree over the bits of a word, which is not 0: where both sides ask, the pointer's bit
/// leads. So it comes to the requester that differs least from the pointer, the high bits first: the
/// sides of every level where the pointer's bit is 1 change places, and then the lowest bit is that.
#[inline]
fn descend(mut word: u64, pointer: u32) -> u32 {
    let low = word.trailing_zeros();
    let rest = word & word.wrapping_sub(1);
    if rest & rest.wrapping_sub(1) == 0 {
        // One or two of them: mostly.
        let pointer = pointer % 64;
        let high = if rest == 0 { low } else { rest.trailing_zeros() };
        return if high ^ pointer < low ^ pointer { high } else { low };
    }
    for (level, left) in LEFT.iter().enumerate() {
        if pointer >> level & 1 == 1 {
            word = (word & left) << (1 << level) | word >> (1 << level) & left;
        }
    }
    word.trailing_zeros() ^ (pointer % 64)
}

impl RoundRobin {
    /// Gives the pointer.
    pub const fn pointer(&self) -> u32 {
        self.pointer
    }

    /// Serves the only requester: the pointer, in search of the next one, goes round and comes back to it.
    #[inline(always)]
    pub fn serve_alone(&mut self, requester: u32) {
        self.pointer = requester;
    }

    /// Serves one of the requesters and moves on.
    #[inline]
    pub fn grant(&mut self, requests: &Requests) -> Option<u32> {
        match requests.len() {
            0 => None,
            1 => {
                let only = requests.lowest_of(requests.summary)?;
                self.serve_alone(only);
                Some(only)
            }
            _ => self.choose(requests),
        }
    }

    /// Serves one of up to 64 requesters, a bit each, and moves on.
    #[inline(always)]
    pub fn grant_word(&mut self, requests: u64) -> Option<u32> {
        if requests == 0 {
            return None;
        }
        let served = descend(requests, self.pointer);
        let above = requests & u64::MAX.checked_shl(self.pointer + 1).unwrap_or(0);
        self.pointer = if above != 0 { above } else { requests }.trailing_zeros();
        Some(served)
    }

    /// Serves one of several.
    fn choose(&mut self, requests: &Requests) -> Option<u32> {
        let index = descend(requests.summary, self.pointer >> WORD_LEVELS);
        let low = index * 64 + descend(requests.words[index as usize], self.pointer);
        self.pointer = requests.first_round(self.pointer + 1).unwrap_or(0);
        Some(low)
    }
}

/// Chooses among those who ask, each from a cycle of its own on: what is asked for in a cycle is seen in the next,
/// as hardware has a register between them. So neither the order of events in a cycle nor what else wakes
/// the arbiter changes whom it chooses.
#[derive(Clone, Debug)]
pub struct Arbiter {
    order: RoundRobin,
    /// Bit per requester: it asks.
    asking: u64,
    /// Those who ask from a later cycle on, in any order.
    coming: Vec<(u64, u32)>,
}

impl Arbiter {
    /// Makes one that nobody asks, for `count` requesters, of which there are at most 64.
    ///
    /// # Panics
    /// If there are more.
    pub fn new(count: u32) -> Self {
        assert!(count <= u64::BITS, "{count} requesters do not fit into a word");
        let coming = Vec::with_capacity(count as usize);
        Self { order: RoundRobin::default(), asking: 0, coming }
    }

    /// Notes that a requester asks from cycle `from` on.
    #[inline]
    pub fn ask(&mut self, from: u64, requester: u32) {
        self.coming.push((from, requester));
    }

    /// Chooses among those who ask at cycle `now`; the chosen one asks no longer.
    #[inline(always)]
    pub fn grant(&mut self, now: u64) -> Option<u32> {
        let Self { order, asking, coming } = self;
        if *asking == 0
            && let [(from, only)] = coming[..]
        {
            // Nearly always.
            if from > now {
                return None;
            }
            coming.clear();
            order.serve_alone(only);
            return Some(only);
        }
        let mut index = 0;
        while let Some(&(from, requester)) = coming.get(index) {
            if from > now {
                index += 1;
                continue;
            }
            *asking |= 1 << requester;
            coming.swap_remove(index);
        }
        let requester = order.grant_word(*asking)?;
        *asking &= !(1 << requester);
        Some(requester)
    }

    /// Takes one out that asks at cycle `now`, whoever's turn it is.
    pub fn remove(&mut self, now: u64, requester: u32) {
        self.coming.retain(|&(from, who)| who != requester || from > now);
        self.asking &= !(1 << requester);
    }

    /// Gives the first cycle after `now` in which somebody asks.
    #[inline]
    pub fn next(&self, now: u64) -> Option<u64> {
        self.first_from(now + 1)
    }

    /// Gives the first cycle from `from` on in which somebody asks.
    #[inline]
    pub fn first_from(&self, from: u64) -> Option<u64> {
        if self.asking != 0 {
            return Some(from);
        }
        let first = self.coming.iter().map(|&(asks, _)| asks).min();
        first.map(|asks| asks.max(from))
    }

    /// Gives those who ask at cycle `now`, a bit each.
    pub fn asking(&self, now: u64) -> u64 {
        let due = self.coming.iter().filter(|&&(from, _)| from <= now);
        due.fold(self.asking, |bits, &(_, requester)| bits | 1 << requester)
    }
}

/// Chooses as [`Arbiter`] does, and keeps its choice until that is taken. It is made in the first cycle behind the one
/// before was taken in which somebody asks: whoever comes later does not count, however long it is kept. (RTL:
/// rr_arb_tree with LockIn.)
#[derive(Clone, Debug)]
pub struct LockedArbiter {
    arbiter: Arbiter,
    chosen: Option<u32>,
    chooses_from: u64,
}

impl LockedArbiter {
    /// Makes one that nobody asks, for `count` requesters, of which there are at most 64.
    ///
    /// # Panics
    /// If there are more.
    pub fn new(count: u32) -> Self {
        Self { arbiter: Arbiter::new(count), chosen: None, chooses_from: 0 }
    }

    /// Notes that a requester asks from cycle `from` on.
    #[inline]
    pub fn ask(&mut self, from: u64, requester: u32) {
        self.arbiter.ask(from, requester);
    }

    /// Gives whose turn it is at cycle `now`: the same until [`Self::take`].
    #[inline(always)]
    pub fn choose(&mut self, now: u64) -> Option<u32> {
        if self.chosen.is_none() {
            let first = self.arbiter.first_from(self.chooses_from).filter(|&cycle| cycle <= now);
            self.chosen = first.and_then(|cycle| self.arbiter.grant(cycle));
        }
        self.chosen
    }

    /// Takes the choice at cycle `now`; the next is made from the next cycle on.
    #[inline]
    pub fn take(&mut self, now: u64) {
        self.chosen = None;
        self.chooses_from = now + 1;
    }

    /// Gives the first cycle after `now` in which one can be chosen; `None`: nobody asks, or the choice was not taken.
    #[inline]
    pub fn next(&self, now: u64) -> Option<u64> {
        if self.chosen.is_some() { None } else { self.arbiter.next(now) }
    }

    /// Takes one out that asks at cycle `now` and was not chosen, whoever's turn it is.
    pub fn remove(&mut self, now: u64, requester: u32) {
        self.arbiter.remove(now, requester);
    }

    /// Gives those who ask at cycle `now`, a bit each, with the one that was chosen.
    pub fn asking(&self, now: u64) -> u64 {
        self.arbiter.asking(now) | self.chosen.map_or(0, |requester| 1 << requester)
    }

    /// Gives who was chosen and not taken.
    pub fn chosen(&self) -> Option<u32> {
        self.chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_a_choice_is_kept_does_not_count() {
        let mut arbiter = LockedArbiter::new(8);
        arbiter.ask(10, 2);
        arbiter.ask(11, 0);
        assert_eq!((arbiter.choose(9), arbiter.next(9)), (None, Some(10)));
        // Whether it is asked in cycle 10 or only later.
        assert_eq!(arbiter.clone().choose(15), Some(2));
        assert_eq!((arbiter.choose(10), arbiter.next(10)), (Some(2), None));
        assert_eq!((arbiter.choose(12), arbiter.asking(12)), (Some(2), 0b101));
        arbiter.take(12);
        assert_eq!((arbiter.choose(12), arbiter.next(12)), (None, Some(13)));
        assert_eq!(arbiter.choose(13), Some(0));
        arbiter.take(13);
        assert_eq!((arbiter.choose(14), arbiter.next(14)), (None, None));
    }

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
        let mut arbiter = RoundRobin::default();
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

    /// The tree as it is drawn: a look at each side on each level.
    fn plain(asks: &[bool], pointer: &mut usize) -> Option<usize> {
        let count = asks.len();
        let any = |from: usize, to: usize| asks[from..to].contains(&true);
        if !any(0, count) {
            return None;
        }
        let (mut low, mut half) = (0, count / 2);
        while half > 0 {
            let (left, right) = (any(low, low + half), any(low + half, low + 2 * half));
            if right && (!left || *pointer & half != 0) {
                low += half;
            }
            half /= 2;
        }
        let next = (*pointer + 1..count).chain(0..=*pointer).find(|&at| asks[at]);
        *pointer = next.unwrap_or(0);
        Some(low)
    }

    #[test]
    fn serves_as_the_plain_tree_does() {
        let mut random = crate::random::SplitMix64::new(7);
        for count in [1, 2, 8, 64, 128, 256, 4096] {
            let (mut arbiter, mut pointer) = (RoundRobin::default(), 0);
            let (mut requests, mut asks) = (Requests::new(count), vec![false; count as usize]);
            for _ in 0..2_000 {
                let (at, asking) = ((random.draw() % u64::from(count)) as u32, random.draw() % 3);
                requests.set(at, asking == 0);
                asks[at as usize] = asking == 0;
                let mut by_word = arbiter.clone();
                let served = arbiter.grant(&requests);
                assert_eq!(served.map(|at| at as usize), plain(&asks, &mut pointer), "{count}");
                assert_eq!(arbiter.pointer as usize, pointer);
                if let [word] = requests.words[..] {
                    assert_eq!(by_word.grant_word(word), served);
                    assert_eq!(by_word.pointer as usize, pointer);
                }
            }
        }
    }

    #[test]
    fn tells_who_asks_in_order() {
        let mut requests = Requests::new(256);
        assert_eq!(requests.iter().count(), 0);
        for requester in [255, 0, 63, 64, 200] {
            requests.set(requester, true);
        }
        assert!(requests.iter().eq([0, 63, 64, 200, 255]));
        assert!(Requests::all(256).iter().eq(0..256));
    }

    #[test]
    fn serves_everyone() {
        let mut arbiter = RoundRobin::default();
        let mut all = Requests::new(256);
        (0..256).for_each(|requester| all.set(requester, true));
        let mut seen = [0; 256];
        for _ in 0..512 {
            seen[arbiter.grant(&all).expect("all ask") as usize] += 1;
        }
        assert_eq!(seen, [2; 256]);
    }

    #[test]
    fn what_is_asked_for_is_not_seen_before_its_cycle() {
        let mut arbiter = Arbiter::new(4);
        arbiter.ask(5, 2);
        arbiter.ask(6, 1);
        assert_eq!((arbiter.grant(4), arbiter.next(4)), (None, Some(5)));
        assert_eq!(arbiter.asking(5), 0b100);
        assert_eq!((arbiter.grant(5), arbiter.next(5)), (Some(2), Some(6)));
        assert_eq!((arbiter.grant(6), arbiter.next(6)), (Some(1), None));
    }

    /// Who asked while nobody could be chosen asks in the next cycle, not in one that is over.
    #[test]
    fn the_next_cycle_is_never_over() {
        let mut arbiter = Arbiter::new(4);
        arbiter.ask(1, 0);
        assert_eq!(arbiter.grant(1), Some(0));
        arbiter.ask(2, 3);
        assert_eq!(arbiter.next(5), Some(6));
    }

    #[test]
    fn who_is_not_chosen_asks_on() {
        let mut arbiter = Arbiter::new(4);
        arbiter.ask(1, 0);
        arbiter.ask(1, 3);
        assert_eq!((arbiter.grant(1), arbiter.next(1)), (Some(0), Some(2)));
        assert_eq!(arbiter.asking(2), 0b1000);
        assert_eq!(arbiter.grant(2), Some(3));
    }
}
