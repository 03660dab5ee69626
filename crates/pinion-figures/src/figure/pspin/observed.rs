//! What a NIC did with a figure's packets. In: everything it says. Out: rates, latencies, how many
//! HPUs were used.
//!
//! Rates are those of the steady middle: what happens before a quarter of the packets are through is
//! warming up (cold instruction caches, empty queues), after three quarters the end may show.

use std::collections::BTreeMap;

use pinion_sim::Time;
use pinion_spin::{
    Event, HandlerKind, HandlerRecord, Hears, InstructionRecord, Interest, Machine, Nic, Outcome,
    PacketRecord, RunningTask, Spin, Totals, Traffic, UnitEvent, UnitEventKind, Units,
};

use pinion_app::error::{Error, Result};

/// Holds what a NIC did.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// Each packet's way, in order of completion.
    pub packets: Vec<PacketRecord>,
    /// Each handler's run, in order of ends.
    pub handlers: Vec<HandlerRecord>,
    /// When packets left, and their bytes.
    pub departures: Vec<(Time, u64)>,
    /// When host memory was written, and how many bytes.
    pub host_writes: Vec<(Time, u64)>,
    /// When handlers wrote to standard output.
    pub marks: Vec<Time>,
    /// The fine trace, where it was asked for.
    pub units: Vec<UnitEvent>,
    /// The NIC's counters at the end.
    pub totals: Totals,
    faults: Option<String>,
    with_units: bool,
    /// The machine, where accesses outside the own L1 are counted.
    machine: Option<Machine>,
    misses: u64,
}

/// Runs a NIC until all traffic is through; `units` asks for the fine trace.
///
/// # Errors
/// When packets stay inside or are dropped, or a handler goes wrong.
pub(super) fn observe(nic: &mut Nic, traffic: &mut dyn Traffic, units: bool) -> Result<Observed> {
    let mut observed = Observed { with_units: units, ..Observed::default() };
    let outcome = nic.run(Time::MAX, traffic, &mut observed);
    observed.conclude(&outcome, nic.totals())
}

/// Runs an application's units until all traffic is through, without the fine trace; `machine` asks for
/// accesses outside the own L1.
///
/// # Errors
/// As [`observe`].
pub(super) fn observe_units(
    units: &mut Units,
    traffic: &mut dyn Traffic,
    machine: Option<Machine>,
) -> Result<Observed> {
    let mut observed = Observed { machine, ..Observed::default() };
    let outcome = units.run(Time::MAX, traffic, &mut observed);
    observed.conclude(&outcome, units.totals())
}

impl Observed {
    /// Checks that the run can be used.
    fn conclude(mut self, outcome: &Outcome, totals: Totals) -> Result<Self> {
        let observed = &mut self;
        observed.totals = totals;
        let problem = match (outcome, observed.faults.take()) {
            (_, Some(fault)) => Some(fault),
            (Outcome::Finished, None) => observed.totals.conserved().err().or_else(|| {
                let dropped = observed.totals.dropped_total();
                (dropped > 0).then(|| format!("{dropped} packets were dropped"))
            }),
            (Outcome::Stuck(report), None) => Some(report.clone()),
            (other, None) => Some(format!("it ended with {other:?}")),
        };
        match problem {
            None => Ok(self),
            Some(problem) => Err(Error::Usage(format!("the run cannot be used: {problem}"))),
        }
    }
}

impl Hears<Spin> for Observed {
    fn interest(&self) -> Interest {
        Interest {
            handlers: true,
            host_writes: true,
            units: self.with_units,
            instructions: self.machine.is_some(),
            ..Interest::default()
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::PacketDone(record) => self.packets.push((*record).clone()),
            Event::HandlerDone(record) => self.handlers.push((*record).clone()),
            Event::Departed { time, frame, .. } => {
                self.departures.push((*time, frame.len() as u64));
            }
            Event::HostWrite { time, data, .. } => {
                self.host_writes.push((*time, data.len() as u64));
            }
            Event::Output { time, .. } => self.marks.push(*time),
            Event::Unit(unit) => self.units.push(*unit),
            Event::Instruction(record) => {
                let is_payload = |task: RunningTask| task.kind == HandlerKind::Payload;
                let misses = |machine: &Machine| is_miss(machine, record);
                let counts = record.task.is_some_and(is_payload);
                self.misses += u64::from(counts && self.machine.as_ref().is_some_and(misses));
            }
            Event::HandlerFault { fault, pc, address, .. } => {
                let first = || format!("a handler went wrong: {fault:?} at {pc:#x}, {address:#x}");
                self.faults.get_or_insert_with(first);
            }
            Event::Unmatched { .. }
            | Event::Dropped { .. }
            | Event::MessageEvicted { .. }
            | Event::HandlerStarted { .. }
            | Event::PacketTaken { .. }
            | Event::Transfer(_)
            | Event::HostRead { .. } => {}
        }
    }
}

impl Observed {
    /// Gives the rate at which packets complete, in Gbit/s of the packets' bytes.
    pub(super) fn inbound_gbit_s(&self) -> Option<f64> {
        let done = self.packets.iter().map(|record| (record.completion, record.bytes.into()));
        steady_gbit_s(&done.collect::<Vec<_>>())
    }

    /// Gives the rate at which packets complete, in packets per nanosecond.
    pub(super) fn packets_per_ns(&self) -> Option<f64> {
        let (first, last) = steady(self.packets.len())?;
        let time = self.packets[last].completion.since(self.packets[first].completion).ns();
        (time > 0.0).then(|| (last - first) as f64 / time)
    }

    /// Gives the rate at which packets leave.
    pub(super) fn outbound_gbit_s(&self) -> Option<f64> {
        steady_gbit_s(&self.departures)
    }

    /// Gives the rate at which host memory is written.
    pub(super) fn host_gbit_s(&self) -> Option<f64> {
        steady_gbit_s(&self.host_writes)
    }

    /// Gives the mean time from HER to completion in the steady middle, in ns.
    pub(super) fn latency_ns(&self) -> Option<f64> {
        let (first, last) = steady(self.packets.len())?;
        let times = self.packets[first..last].iter().map(|r| r.completion.since(r.her).ns());
        Some(times.sum::<f64>() / (last - first) as f64)
    }

    /// Gives the mean time of a handler in the steady middle, from taking the task to the doorbell,
    /// in ns.
    pub(super) fn handler_ns(&self) -> Option<f64> {
        self.mean_of_handlers(|record| record.end.since(record.start).ns())
    }

    /// Gives the mean number of instructions of a handler, the runtime's included.
    pub(super) fn handler_instructions(&self) -> Option<f64> {
        self.mean_of_handlers(|record| record.instructions as f64)
    }

    /// Gives the mean of something over the handlers of the steady middle.
    pub(super) fn mean_of_handlers(&self, value: impl Fn(&HandlerRecord) -> f64) -> Option<f64> {
        let (first, last) = steady(self.handlers.len())?;
        Some(self.handlers[first..last].iter().map(value).sum::<f64>() / (last - first) as f64)
    }

    /// Gives the mean number of accesses of a payload handler outside the own L1; needs the machine.
    pub(super) fn misses_per_handler(&self) -> Option<f64> {
        let payload = self.handlers.iter().filter(|record| record.kind == HandlerKind::Payload);
        let count = payload.count();
        (self.machine.is_some() && count > 0).then(|| self.misses as f64 / count as f64)
    }

    /// Tells how many HPUs were used; needs the fine trace.
    pub(super) fn hpus(&self) -> Hpus {
        let (from, to) = self.steady_cycles();
        Hpus::of(&self.units, from, to)
    }

    /// Gives the cycles that bound the steady middle; needs the fine trace.
    pub(super) fn steady_cycles(&self) -> (u64, u64) {
        let back = self.units.iter().filter(|unit| unit.kind == UnitEventKind::FeedbackMpq);
        let ends: Vec<u64> = back.map(|unit| unit.cycle).collect();
        steady(ends.len()).map_or((0, 0), |(first, last)| (ends[first], ends[last]))
    }
}

/// Tells whether an instruction accesses another cluster's L1 or L2; devices are neither. The paper
/// counts these as L1 misses: PsPIN has no data cache.
fn is_miss(machine: &Machine, record: &InstructionRecord) -> bool {
    let Some(address) = record.address else { return false };
    let within = |base: u32, bytes: u32| address.wrapping_sub(base) < bytes;
    let l1 = &machine.l1;
    let in_l2 = within(machine.l2_handler.base, machine.l2_handler.bytes)
        || within(machine.l2_packet.base, machine.l2_packet.bytes);
    let in_l1_of = |cluster: u32| within(l1.base + cluster * l1.stride, l1.bytes);
    in_l2 || (0..machine.cluster.count).any(|one| one != record.cluster && in_l1_of(one))
}

/// Gives the places of the first and the last of `count` things in the steady middle.
fn steady(count: usize) -> Option<(usize, usize)> {
    let (first, last) = (count / 4, (3 * count / 4).min(count.checked_sub(1)?));
    (last > first).then_some((first, last))
}

/// Gives the rate of bytes in the steady middle: those after the first, over the time since it.
fn steady_gbit_s(done: &[(Time, u64)]) -> Option<f64> {
    let (first, last) = steady(done.len())?;
    let bytes: u64 = done[first + 1..=last].iter().map(|(_, bytes)| bytes).sum();
    let time = done[last].0.since(done[first].0).ns();
    (time > 0.0).then(|| bytes as f64 * 8.0 / time)
}

/// Counts HPUs that hold a packet: from the cycle in which the cluster's scheduler gives them the
/// task to that in which its completion leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Hpus {
    /// The most at a time in the steady middle.
    pub most: u32,
    /// The mean over the steady middle.
    pub mean: f64,
    /// The most at a time in the whole run.
    pub most_ever: u32,
}

impl Hpus {
    /// Counts from the fine trace; `from` and `to` bound the steady middle.
    fn of(units: &[UnitEvent], from: u64, to: u64) -> Self {
        let mut changes: Vec<(u64, i32, (u32, u32))> = units
            .iter()
            .filter_map(|unit| {
                let change = match unit.kind {
                    UnitEventKind::HpuTask => 1,
                    UnitEventKind::HpuFeedback => -1,
                    _ => return None,
                };
                Some((unit.cycle, change, (unit.cluster, unit.hpu)))
            })
            .collect();
        // What leaves in a cycle makes room for what comes in it.
        changes.sort_unstable();
        let mut held: BTreeMap<(u32, u32), i32> = BTreeMap::new();
        let mut hpus = Self::default();
        let (mut busy, mut area, mut before) = (0, 0, 0);
        for (cycle, change, hpu) in changes {
            area += u64::from(busy) * (cycle.clamp(from, to) - before.clamp(from, to));
            before = cycle;
            let count = held.entry(hpu).or_default();
            // The next task may be there while a completion waits to leave.
            busy -= u32::from(*count > 0);
            *count += change;
            busy += u32::from(*count > 0);
            hpus.most_ever = hpus.most_ever.max(busy);
            if (from..=to).contains(&cycle) {
                hpus.most = hpus.most.max(busy);
            }
        }
        hpus.mean = area as f64 / (to - from).max(1) as f64;
        hpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(cycle: u64, kind: UnitEventKind, hpu: u32) -> UnitEvent {
        UnitEvent { cycle, kind, cluster: 0, hpu, id: 0, address: 0 }
    }

    #[test]
    fn rates_are_those_of_the_steady_middle() {
        // Slow, then a packet of 64 B every 2 ns, then slow again.
        let times = [0, 100, 200, 202, 204, 206, 208, 400];
        let done: Vec<(Time, u64)> = times.iter().map(|&at| (Time::from_ns(at), 64)).collect();
        assert_eq!(steady_gbit_s(&done), Some(256.0));
        assert_eq!(steady_gbit_s(&done[..1]), None);
        assert_eq!(steady_gbit_s(&[]), None);
    }

    #[test]
    fn an_hpu_counts_once_whatever_it_holds() {
        use UnitEventKind::{HpuFeedback, HpuTask};
        let units = [
            unit(0, HpuTask, 0),
            unit(2, HpuTask, 1),
            unit(4, HpuTask, 0), // while its first completion waits
            unit(5, HpuFeedback, 0),
            unit(6, HpuFeedback, 1),
            unit(6, HpuTask, 2), // takes the place of what leaves
            unit(8, HpuFeedback, 0),
            unit(10, HpuFeedback, 2),
        ];
        let hpus = Hpus::of(&units, 0, 10);
        assert_eq!((hpus.most, hpus.most_ever), (2, 2));
        assert_eq!(hpus.mean, (2.0 + 2.0 * 6.0 + 2.0) / 10.0);
        let late = Hpus::of(&units, 8, 10);
        assert_eq!((late.most, late.most_ever, late.mean), (1, 2, 1.0));
    }
}
