//! Two ends and the link between them. In: the ends. Out: the ends, later. Holds the frames under
//! way. An end waits at each window's end for the other.

use super::{Endpoint, Lane, LaneCounts, Link, LinkError, PortTap};

/// Names an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first.
    A,
    /// The second.
    B,
}

/// Runs two ends of a link.
pub struct Pair<A, B> {
    /// The first end.
    pub a: A,
    /// The second end.
    pub b: B,
    from_a: Lane,
    from_b: Lane,
    tap_a: Option<PortTap>,
    tap_b: Option<PortTap>,
    window_cycles: u64,
    now: u64,
}

impl<A: Endpoint, B: Endpoint> Pair<A, B> {
    /// Links two ends.
    ///
    /// # Errors
    /// When the link has no latency, or a rate without a clock.
    pub fn new(a: A, b: B, link: &Link) -> Result<Self, LinkError> {
        let (from_a, from_b) = (Lane::new(link)?, Lane::new(link)?);
        let window_cycles = link.latency_cycles;
        Ok(Self { a, b, from_a, from_b, tap_a: None, tap_b: None, window_cycles, now: 0 })
    }

    /// Makes windows shorter than the latency; the result is the same, later.
    #[must_use]
    pub fn in_windows_of(self, cycles: u64) -> Self {
        let window_cycles = cycles.clamp(1, self.window_cycles);
        Self { window_cycles, ..self }
    }

    /// Puts a tap on the port of an end.
    #[must_use]
    pub fn with_tap(mut self, end: End, tap: PortTap) -> Self {
        match end {
            End::A => self.tap_a = Some(tap),
            End::B => self.tap_b = Some(tap),
        }
        self
    }

    /// Gives the first cycle that was not run.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Gives what the lane from an end did.
    pub fn counts(&self, from: End) -> LaneCounts {
        match from {
            End::A => self.from_a.counts(),
            End::B => self.from_b.counts(),
        }
    }

    /// Runs until `until`, until nothing can happen any more, or until `goes_on`, asked after each
    /// window, says no. Gives the first cycle that was not run.
    ///
    /// # Errors
    /// When a tap cannot write.
    pub fn run(
        &mut self,
        until: u64,
        mut goes_on: impl FnMut(&mut Self) -> bool,
    ) -> Result<u64, LinkError> {
        while self.now < until {
            let Some(next) = self.next_cycle() else { break };
            if next >= until {
                self.now = until;
                break;
            }
            let start = self.now.max(next);
            let end = start.saturating_add(self.window_cycles).min(until);
            self.window(end);
            self.now = end;
            for tap in [&mut self.tap_a, &mut self.tap_b].into_iter().flatten() {
                tap.settle(end)?;
            }
            if !goes_on(self) {
                break;
            }
        }
        Ok(self.now)
    }

    /// Completes the taps' captures and gives the ends back.
    ///
    /// # Errors
    /// When a capture cannot be written.
    pub fn finish(self) -> Result<(A, B), LinkError> {
        for tap in [self.tap_a, self.tap_b].into_iter().flatten() {
            tap.finish()?;
        }
        Ok((self.a, self.b))
    }

    fn next_cycle(&mut self) -> Option<u64> {
        let ends = [self.a.next_cycle(), self.b.next_cycle()];
        let lanes = [self.from_a.next_arrival(), self.from_b.next_arrival()];
        ends.into_iter().chain(lanes).flatten().min()
    }

    /// Runs both ends up to `end`: first what arrives before it, then the ends, whose frames arrive
    /// after it.
    fn window(&mut self, end: u64) {
        let Self { a, b, from_a, from_b, tap_a, tap_b, .. } = self;
        deliver(from_b, a, tap_a, end);
        deliver(from_a, b, tap_b, end);
        run_end(a, from_a, tap_a, end);
        run_end(b, from_b, tap_b, end);
    }
}

fn deliver(lane: &mut Lane, to: &mut impl Endpoint, tap: &mut Option<PortTap>, end: u64) {
    while let Some((first, frame)) = lane.take_before(end) {
        if let Some(tap) = tap {
            tap.note(first, &frame);
        }
        to.arrive(first, &frame);
    }
}

fn run_end(from: &mut impl Endpoint, lane: &mut Lane, tap: &mut Option<PortTap>, end: u64) {
    from.run(end, &mut |first, last, frame| {
        if let Some(tap) = tap {
            tap.note(first, frame);
        }
        lane.send(first, last, end, frame);
    });
}
