//! When a unit works next: at most one live event per unit is in the queue.

/// Remembers the cycle of a unit's next step.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    at: u64,
}

impl Default for Wake {
    fn default() -> Self {
        Self { at: u64::MAX }
    }
}

impl Wake {
    /// Asks for a step at `cycle`; `true`: an event for it must be pushed.
    #[inline]
    pub fn request(&mut self, cycle: u64) -> bool {
        let earlier = cycle < self.at;
        if earlier {
            self.at = cycle;
        }
        earlier
    }

    /// Takes the event at `cycle`; `false`: it is stale, an earlier one came in its place.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> bool {
        let live = self.at == cycle;
        if live {
            self.at = u64::MAX;
        }
        live
    }
}
