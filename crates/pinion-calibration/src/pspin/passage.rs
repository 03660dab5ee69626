//! Packets' passages through a NIC: frames and a NIC that has booted come in, when each packet's HER
//! was handed over and when its completion came back go out.

use std::collections::BTreeMap;

use pinion_sim::Time;
use pinion_spin::{Event, Frame, Hears, Listener, Nic, Offer, Outcome, Spin};

use crate::{Comparison, Tolerance};

/// Bounds a row's simulated time.
const LONGEST: Time = Time::from_ns(1_000_000_000);

/// A cycle of the hardware whose packets are compared.
const CYCLE_NS: f64 = 1.0;

/// Holds when a packet's HER was handed over and when its completion came back.
#[derive(Debug, Clone, Copy)]
pub struct Passage {
    /// When its HER was handed to the packet scheduler.
    pub her_ns: f64,
    /// When its completion came back.
    pub done_ns: f64,
}

impl Passage {
    /// Gives the packet's latency.
    pub fn latency_ns(&self) -> f64 {
        self.done_ns - self.her_ns
    }
}

/// Holds the passages of the packets that completed, by packet.
#[derive(Debug, Default)]
pub struct Passages {
    by_packet: BTreeMap<u32, Passage>,
    /// Why not all packets completed.
    problem: String,
}

impl FromIterator<(u32, Passage)> for Passages {
    fn from_iter<I: IntoIterator<Item = (u32, Passage)>>(passages: I) -> Self {
        Self { by_packet: passages.into_iter().collect(), problem: String::new() }
    }
}

impl Passages {
    /// Sends frames, whose tags are the packets' numbers, through a NIC.
    pub fn through(nic: &mut Nic, frames: Vec<Frame>) -> Self {
        let mut passages = Self::default();
        passages.problem = Self::heard_through(nic, frames, &mut passages);
        passages
    }

    /// Sends frames through a NIC, heard by somebody; says why not all of them completed.
    pub fn heard_through(nic: &mut Nic, frames: Vec<Frame>, listener: &mut dyn Listener) -> String {
        let mut frames = frames.into_iter();
        let mut source = || frames.next().map_or(Offer::End, Offer::Frame);
        match nic.run(LONGEST, &mut source, listener) {
            Outcome::Finished => String::new(),
            Outcome::Stuck(report) => report,
            _ => format!("it is not through after {LONGEST} of simulated time"),
        }
    }

    /// Gives the mean latency.
    pub fn latency_ns(&self) -> f64 {
        let sum: f64 = self.by_packet.values().map(Passage::latency_ns).sum();
        sum / self.by_packet.len() as f64
    }

    /// Gives the time from the first HER to the last completion.
    pub fn duration_ns(&self) -> f64 {
        let last = self.by_packet.values().map(|passage| passage.done_ns);
        last.fold(f64::NEG_INFINITY, f64::max) - self.first_her_ns()
    }

    /// Gives the median over packets of the latency's relative error, without its sign.
    pub fn median_error(&self, rtl: &Self) -> f64 {
        let errors = self.by_packet.iter().filter_map(|(packet, ours)| {
            let rtl = rtl.by_packet.get(packet)?.latency_ns();
            Some((ours.latency_ns() / rtl - 1.0).abs())
        });
        crate::median(errors.collect())
    }

    /// Counts the packets whose HER and completion come in the hardware's very cycles, from the first HER on, and all.
    pub fn in_its_cycles(&self, rtl: &Self) -> [usize; 2] {
        let (ours, theirs) = (self.first_her_ns(), rtl.first_her_ns());
        let same = rtl.by_packet.iter().filter(|(packet, rtl)| {
            let is_same = |ours_ns: f64, rtl_ns: f64| {
                ((ours_ns - ours) - (rtl_ns - theirs)).abs() < CYCLE_NS / 2.0
            };
            self.by_packet.get(packet).is_some_and(|it| {
                is_same(it.her_ns, rtl.her_ns) && is_same(it.done_ns, rtl.done_ns)
            })
        });
        [same.count(), rtl.by_packet.len()]
    }

    /// Gives when the first HER was handed over.
    fn first_her_ns(&self) -> f64 {
        self.by_packet.values().map(|passage| passage.her_ns).fold(f64::INFINITY, f64::min)
    }

    /// Compares which packets completed; gives a failure if not the same ones did.
    pub fn completion_failure(&self, row: &str, rtl: &Self) -> Option<Comparison> {
        if self.by_packet.keys().eq(rtl.by_packet.keys()) {
            return None;
        }
        let (ours, theirs) = (self.by_packet.len() as f64, rtl.by_packet.len() as f64);
        let failure = Comparison::new(row, "completed", ours, theirs, Tolerance::Never);
        Some(failure.with_note(self.problem.clone()).with_packets(self.in_its_cycles(rtl)))
    }
}

impl Hears<Spin> for Passages {
    fn hear(&mut self, event: &Event<'_>) {
        if let Event::PacketDone(record) = event {
            let passage = Passage { her_ns: record.her.ns(), done_ns: record.completion.ns() };
            self.by_packet.insert(record.tag as u32, passage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages(times: &[(u32, f64, f64)]) -> Passages {
        let passage = |&(packet, her_ns, done_ns)| (packet, Passage { her_ns, done_ns });
        times.iter().map(passage).collect()
    }

    #[test]
    fn packets_are_compared_one_by_one() {
        let rtl = passages(&[(0, 0.0, 100.0), (1, 10.0, 210.0), (2, 20.0, 420.0)]);
        let ours = passages(&[(0, 5.0, 105.0), (1, 10.0, 220.0), (2, 20.0, 380.0)]);
        assert!((ours.median_error(&rtl) - 0.05).abs() < 1e-9);
        assert_eq!((rtl.duration_ns(), ours.duration_ns()), (420.0, 375.0));
        assert!(ours.completion_failure("row", &rtl).is_none());
    }

    #[test]
    fn packets_in_the_very_cycles_are_counted_from_the_first_on() {
        let rtl = passages(&[(0, 0.0, 100.0), (1, 10.0, 210.0), (2, 20.0, 420.0)]);
        let ours = passages(&[(0, 5.0, 105.0), (1, 15.0, 216.0), (2, 25.0, 425.0)]);
        assert_eq!(ours.in_its_cycles(&rtl), [2, 3], "the second one is a cycle late");
        assert_eq!(passages(&[(0, 5.0, 105.0)]).in_its_cycles(&rtl), [1, 3]);
    }

    #[test]
    fn a_packet_that_does_not_complete_fails_its_row() {
        let rtl = passages(&[(0, 0.0, 100.0), (1, 10.0, 210.0)]);
        let failure = passages(&[(1, 10.0, 210.0)]).completion_failure("row", &rtl);
        let failure = failure.expect("it fails");
        assert!(!failure.pass && failure.ours == 1.0);
        assert_eq!(failure.packets[1], 2, "the one that is missing counts");
        // The right number of packets, but not the right ones.
        let others = passages(&[(0, 0.0, 100.0), (2, 10.0, 210.0)]);
        assert!(others.completion_failure("row", &rtl).is_some_and(|failure| !failure.pass));
    }
}
