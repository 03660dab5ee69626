//! Where the DMA engines' reads of L2 come together.
//!
//! In: the engines that ask, and from when on. Out: whose read goes to L2's port in a cycle. Holds the read
//! that was chosen and cannot go: an engine may have so many on their way, and while one more waits here, it
//! stands before those of all others. (RTL: dma_noc, an axi_mux that keeps its choice in front of an
//! axi_id_remap.)

use pinion_sim::arbiter::LockedArbiter;

/// Chooses among the engines.
#[derive(Clone, Debug)]
pub struct ReadMux {
    order: LockedArbiter,
}

impl ReadMux {
    /// Makes one that no engine asks.
    pub fn new(engines: u32) -> Self {
        Self { order: LockedArbiter::new(engines) }
    }

    /// Notes that an engine asks from a cycle on.
    #[inline]
    pub fn ask(&mut self, from: u64, engine: u32) {
        self.order.ask(from, engine);
    }

    /// Gives the engine whose turn it is in a cycle: the one chosen before, until [`Self::pass`].
    #[inline]
    pub fn choose(&mut self, now: u64) -> Option<u32> {
        self.order.choose(now)
    }

    /// Lets the chosen one's read go; gives the first cycle in which another may.
    #[inline]
    pub fn pass(&mut self, now: u64) -> Option<u64> {
        self.order.take(now);
        self.order.next(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_chosen_stands_before_the_others() {
        let mut mux = ReadMux::new(4);
        mux.ask(10, 2);
        mux.ask(11, 0);
        assert_eq!(mux.choose(10), Some(2));
        assert_eq!(mux.choose(12), Some(2), "it could not go");
        assert_eq!(mux.pass(12), Some(13));
        assert_eq!(mux.choose(13), Some(0));
        assert_eq!(mux.pass(13), None);
        assert_eq!(mux.choose(14), None);
    }
}
