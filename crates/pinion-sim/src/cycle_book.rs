//! Who has which cycles of something that serves one at a time.
//!
//! In: from when on somebody wants it, and for how long. Out: when it is his. Holds the cycles that are
//! taken. Requests come in an order that differs from that of their cycles by a few: each gets the
//! first gap.

/// Cycles before the newest request's that are remembered.
const HISTORY: u64 = 32;

/// Books cycles.
#[derive(Clone, Copy, Debug, Default)]
pub struct CycleBook {
    /// The first cycle that is remembered; those before it are over.
    from: u64,
    /// A bit for each cycle from there on that is taken.
    taken: u128,
}

impl CycleBook {
    /// Takes `length` cycles on end, not before `cycle`; gives the first.
    pub fn take(&mut self, cycle: u64, length: u32) -> u64 {
        self.forget_before(cycle.saturating_sub(HISTORY));
        let run = (1u128 << length) - 1;
        let mut at = cycle.saturating_sub(self.from) as u32;
        loop {
            if at + length > u128::BITS {
                let over = at + length - u128::BITS;
                self.forget_before(self.from + u64::from(over));
                at -= over;
            }
            let busy = self.taken >> at & run;
            if busy == 0 {
                break;
            }
            at += u128::BITS - busy.leading_zeros();
        }
        self.taken |= run << at;
        self.from + u64::from(at)
    }

    fn forget_before(&mut self, cycle: u64) {
        let Some(cycles) = cycle.checked_sub(self.from) else { return };
        self.from = cycle;
        self.taken =
            u32::try_from(cycles).ok().and_then(|by| self.taken.checked_shr(by)).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gets_the_first_gap() {
        let mut book = CycleBook::default();
        assert_eq!([book.take(100, 2), book.take(100, 2), book.take(101, 2)], [100, 102, 104]);
        assert_eq!([book.take(107, 2), book.take(99, 1), book.take(98, 2)], [107, 99, 109]);
        assert_eq!(book.take(5000, 2), 5000);
    }

    /// 300 requests in one cycle: those whose turn is far away are served in order, too.
    #[test]
    fn more_requests_than_it_remembers_wait_in_order() {
        let mut book = CycleBook::default();
        for turn in 0..300 {
            assert_eq!(book.take(40, 2), 40 + 2 * turn);
        }
    }
}
