//! Taps on the ports of a node. In: frames that pass a port, either way, a window at a time. Out: the
//! same frames, and a capture in order of time. Holds the frames of a window.

use pinion_sim::Clock;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble};

use crate::capture::{CaptureError, CaptureWriter};

/// Writes what passes a port; a frame's time is that of its first flit there.
pub struct PortTap {
    writer: CaptureWriter,
    clock: Clock,
    window: Vec<(u64, Vec<u8>)>,
}

impl PortTap {
    /// Writes to a capture, in time of `clock`.
    pub fn new(writer: CaptureWriter, clock: Clock) -> Self {
        Self { writer, clock, window: Vec::new() }
    }

    /// Notes a frame; frames of the same window may come in any order.
    pub fn note(&mut self, first_flit: u64, frame: &[u8]) {
        self.window.push((first_flit, frame.to_vec()));
    }

    /// Writes the frames before `cycle`; none earlier will come.
    ///
    /// # Errors
    /// When the capture cannot be written.
    pub fn settle(&mut self, cycle: u64) -> Result<(), CaptureError> {
        self.window.sort_by_key(|(first, _)| *first);
        let settled = self.window.partition_point(|(first, _)| *first < cycle);
        for (first, frame) in self.window.drain(..settled) {
            self.writer.write(self.clock.time(first).ps(), &frame)?;
        }
        Ok(())
    }

    /// Writes the rest, completes the capture and gives the number of frames in it.
    ///
    /// # Errors
    /// When the capture cannot be written.
    pub fn finish(mut self) -> Result<u64, CaptureError> {
        self.settle(u64::MAX)?;
        self.writer.finish()
    }
}

/// A node with taps on some of its ports, or on none.
pub struct Tapped<N> {
    inner: N,
    taps: Vec<(usize, PortTap)>,
    trouble: Option<CaptureError>,
}

impl<N> Tapped<N> {
    /// Wraps a node; it has no taps yet.
    pub fn new(inner: N) -> Self {
        Self { inner, taps: Vec::new(), trouble: None }
    }

    /// Writes down what passes a port.
    #[must_use]
    pub fn with_tap(mut self, port: usize, tap: PortTap) -> Self {
        self.tap(port, tap);
        self
    }

    /// Writes down what passes a port from now on.
    pub fn tap(&mut self, port: usize, tap: PortTap) {
        self.taps.push((port, tap));
    }

    /// Gives the node inside.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// Gives the node inside, to change it between two windows.
    pub fn inner_mut(&mut self) -> &mut N {
        &mut self.inner
    }

    /// Completes the captures and gives the node back.
    ///
    /// # Errors
    /// When a capture cannot be written.
    pub fn finish(self) -> Result<N, CaptureError> {
        self.trouble.map_or(Ok(()), Err)?;
        for (_, tap) in self.taps {
            tap.finish()?;
        }
        Ok(self.inner)
    }
}

fn note(taps: &mut [(usize, PortTap)], port: usize, first_flit: u64, frame: &[u8]) {
    for (_, tap) in taps.iter_mut().filter(|(tapped, _)| *tapped == port) {
        tap.note(first_flit, frame);
    }
}

impl<N: Node> Node for Tapped<N> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        note(&mut self.taps, port, first_flit, &frame);
        self.inner.arrive(port, first_flit, frame);
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        let Self { inner, taps, trouble } = self;
        if taps.is_empty() {
            return inner.run(until, ports);
        }
        inner.run(until, &mut |port: usize, first: u64, last: u64, frame: Vec<u8>| {
            note(taps, port, first, &frame);
            ports.send(port, first, last, frame);
        });
        for (_, tap) in taps {
            if let Err(problem) = tap.settle(until) {
                trouble.get_or_insert(problem);
            }
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.inner.next_cycle()
    }

    fn moved(&self) -> u64 {
        self.inner.moved()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }

    fn rests(&mut self, now: u64) {
        self.inner.rests(now);
    }

    fn trouble(&mut self) -> Option<Trouble> {
        let own = self.trouble.take().map(Trouble::from);
        own.or_else(|| self.inner.trouble())
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.inner.state(tell);
    }

    /// Saves the node inside: captures are on the other side of the glass.
    fn save(&self) -> Result<Saved, SaveError> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.inner.restore(saved)
    }
}
