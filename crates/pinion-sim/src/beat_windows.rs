//! Which groups of memory banks an engine's beats take in which cycle, known some time ahead.
//!
//! In: transfers, each a beat in every cycle of a window, one group after the other; who asks for an address in a
//! cycle. Out: whether a beat takes its bank then. The cycles around the last that somebody [came to](BeatWindows::come_to) are
//! bits of a word for each group, so that who asks often needs neither a loop nor a choice; others look at the windows.
//! (RTL: tcdm_superbank_mux.)

/// Most groups that have bits; with more of them everybody looks at the windows.
const MOST: usize = 64;

/// Cycles that have bits.
const CYCLES: u64 = 64;

/// Cycles for which bits stay: as many more are known behind each of them.
pub const STAY: u64 = CYCLES / 2;

/// Holds the beats that are to come.
#[derive(Clone, Debug)]
pub struct BeatWindows {
    lines: Lines,
    windows: Vec<Window>,
    /// By group: a bit for each cycle from `base` on.
    taken: [u64; MOST],
    base: u64,
    /// Cycle from which no beat comes.
    quiet_from: u64,
}

/// Says which group beats use: beat i, in cycle `start + i`, the group of line `first + i`.
#[derive(Clone, Copy, Debug)]
struct Window {
    start: u64,
    beats: u64,
    first: u32,
}

/// Says of addresses in which line of a beat's bytes they lie, and of lines which have the same group.
#[derive(Clone, Debug)]
struct Lines {
    beat_bytes: u32,
    count: u32,
    /// Where both are powers of two and each group has bits: what to shift by, and which bits say it. Who asks does so
    /// often, and dividing takes longer than all else about it.
    powers: Option<(u32, u32)>,
}

impl Lines {
    /// Gives the number of an address's line.
    #[inline(always)]
    fn of(&self, address: u32) -> u32 {
        self.powers.map_or_else(|| address / self.beat_bytes, |(shift, _)| address >> shift)
    }

    /// Gives the number of a line's group.
    #[inline(always)]
    fn group(&self, line: u32) -> u32 {
        self.powers.map_or_else(|| line % self.count, |(_, mask)| line & mask)
    }
}

impl BeatWindows {
    /// Makes none, of so many bytes each, to so many groups.
    pub fn new(beat_bytes: u32, count: u32) -> Self {
        let are_powers = beat_bytes.is_power_of_two() && count.is_power_of_two();
        let are_plain = are_powers && count as usize <= MOST;
        let powers = are_plain.then(|| (beat_bytes.trailing_zeros(), count - 1));
        let lines = Lines { beat_bytes, count, powers };
        Self { lines, windows: Vec::new(), taken: [0; MOST], base: 0, quiet_from: 0 }
    }

    /// Adds those of a transfer from `start` on, the first to an address; nobody asks for a cycle before `now` any more.
    #[inline]
    pub fn add(&mut self, now: u64, start: u64, beats: u64, address: u32) {
        self.windows.retain(|window| window.start + window.beats > now);
        let window = Window { start, beats, first: self.lines.of(address) };
        self.windows.push(window);
        self.quiet_from = start.saturating_add(beats).max(self.quiet_from);
        self.mark(window);
    }

    /// Makes the bits of a window's beats that have some.
    fn mark(&mut self, window: Window) {
        let Window { start, beats, first } = window;
        let end = start.saturating_add(beats).min(self.base.saturating_add(CYCLES));
        for cycle in start.max(self.base)..end {
            let line = first.wrapping_add((cycle - start) as u32);
            if let Some(taken) = self.taken.get_mut(self.lines.group(line) as usize) {
                *taken |= 1 << (cycle - self.base);
            }
        }
    }

    /// Comes to a cycle: it and the next ones have bits, and nobody asks for one before it any more. Gives where its bit
    /// stands, for [`Self::from`].
    #[inline(always)]
    pub fn come_to(&mut self, now: u64) -> u64 {
        if now.wrapping_sub(self.base) >= STAY {
            self.move_to(now);
        }
        now - self.base
    }

    /// Gives a bit for each of the [`STAY`] cycles from the one come to on, which stands at `bit`: a beat takes the
    /// bank of an address.
    #[inline(always)]
    pub fn from(&self, bit: u64, address: u32) -> u64 {
        let bits = match self.lines.powers {
            Some((shift, mask)) => self.taken[(address >> shift & mask) as usize % MOST],
            None => self.look_from(address),
        };
        bits >> (bit % CYCLES)
    }

    /// Looks for the bits of an address's group, which may have none.
    #[cold]
    #[inline(never)]
    fn look_from(&self, address: u32) -> u64 {
        let group = self.lines.group(self.lines.of(address));
        let bit = |ahead| u64::from(self.are_at(self.base + ahead, group)) << ahead;
        let all = || (0..CYCLES).map(bit).sum();
        self.taken.get(group as usize).copied().unwrap_or_else(all)
    }

    #[inline(never)]
    fn move_to(&mut self, now: u64) {
        let count = MOST.min(self.lines.count as usize);
        self.taken[..count].fill(0);
        self.base = now;
        for index in 0..self.windows.len() {
            self.mark(self.windows[index]);
        }
    }

    /// Says whether a beat takes the bank of an address in a cycle.
    #[inline(always)]
    pub fn take(&self, cycle: u64, address: u32) -> bool {
        if cycle >= self.quiet_from {
            return false;
        }
        let ahead = cycle.wrapping_sub(self.base);
        let group = self.lines.group(self.lines.of(address)) as usize;
        match self.taken.get(group) {
            Some(taken) if ahead < CYCLES => taken >> ahead & 1 != 0,
            _ => self.are_at(cycle, group as u32),
        }
    }

    /// Looks for one at a group in a cycle.
    #[cold]
    #[inline(never)]
    fn are_at(&self, cycle: u64, group: u32) -> bool {
        self.windows.iter().any(|window| {
            let beat = cycle.wrapping_sub(window.start);
            let line = window.first.wrapping_add(beat as u32);
            beat < window.beats && self.lines.group(line) == group
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Xorshift32;

    #[test]
    fn bits_say_what_windows_do() {
        for (bytes, groups) in [(64, 4), (48, 5), (4, 128), (8, 1)] {
            let mut random = Xorshift32::new(7);
            let (mut beats, mut taken) = (BeatWindows::new(bytes, groups), 0);
            for now in 0..4_000 {
                let draws = [3, 40, 30, 4096].map(|below| random.draw() % below);
                let [often, ahead, length, address] = draws;
                if often == 0 {
                    beats.add(now, now + u64::from(ahead), length.into(), address);
                }
                if now % 3 != 1 {
                    let bit = beats.come_to(now);
                    let bits = beats.from(bit, address);
                    for ahead in 0..STAY {
                        assert_eq!(bits >> ahead & 1 != 0, beats.take(now + ahead, address));
                    }
                }
                for _ in 0..20 {
                    let cycle = now + u64::from(random.draw() % 90);
                    let address = random.draw() % 4096;
                    let group = beats.lines.group(beats.lines.of(address));
                    let is_taken = beats.take(cycle, address);
                    assert_eq!(is_taken, beats.are_at(cycle, group), "{bytes}: {cycle}, {now}");
                    taken += u32::from(is_taken);
                }
            }
            assert!(taken > 100, "{bytes}: {taken}");
        }
    }
}
