//! What a simulation adds up to, and how `pspinsim_fini` prints it.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use pinion_sim::Time;
use pinion_spin::{HandlerKind, HandlerRecord, PacketRecord};

use crate::settings::Settings;

/// Counts what went through.
#[derive(Debug, Default)]
pub struct Statistics {
    machine: String,
    faithful: bool,
    period_ps: f64,
    inbound: Flow,
    latency_sum_ps: u64,
    latency_min_ps: Option<u64>,
    latency_max_ps: u64,
    outbound: Flow,
    host_writes: Flow,
    host_reads: Flow,
    handlers: BTreeMap<HandlerKind, Row>,
    hpus: BTreeMap<(u32, u32), Row>,
    /// Cycles in which a HER waited for the MPQ engine.
    pub her_stall_cycles: u64,
    /// Cycles simulated since the cores had booted.
    pub cycles: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// Bytes that the host wrote to NIC memory.
    pub nic_memory_written_bytes: u64,
    /// Bytes that the host read from NIC memory.
    pub nic_memory_read_bytes: u64,
    /// Handlers that went wrong, and refused commands.
    pub faults: u64,
}

/// Counts things that pass one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    count: u64,
    bytes: u64,
    first: Option<Time>,
    last: Time,
}

impl Flow {
    fn add(&mut self, time: Time, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
        self.first.get_or_insert(time);
        self.last = self.last.max(time);
    }

    fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.count.max(1) as f64
    }

    /// Gives the mean time from one to the next in ns; `None` for less than two.
    fn gap_ns(&self) -> Option<f64> {
        let span = self.last.since(self.first?).ps() as f64 / 1000.0;
        (self.count > 1).then(|| span / (self.count - 1) as f64)
    }

    /// Gives the rate in Gbit/s, where there is one.
    fn gbit_s(&self) -> Option<f64> {
        self.gap_ns().filter(|gap| *gap > 0.0).map(|gap| self.mean_bytes() * 8.0 / gap)
    }

    fn rate(&self) -> String {
        match (self.gbit_s(), self.gap_ns()) {
            (Some(rate), Some(gap)) => format!("{rate:.3} Gbit/s, one every {gap:.3} ns"),
            _ => "too few for a rate".to_owned(),
        }
    }
}

/// Adds up handlers.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    runs: u64,
    busy_ps: u64,
    instructions: u64,
    failed: u64,
}

impl Row {
    fn add(&mut self, record: &HandlerRecord) {
        self.runs += 1;
        self.busy_ps += record.end.since(record.start).ps();
        self.instructions += record.instructions;
        self.failed += u64::from(record.failed);
    }
}

impl Statistics {
    /// Counts for a machine.
    pub fn new(settings: &Settings) -> Self {
        Self {
            machine: settings.machine.name.clone(),
            faithful: settings.faithful,
            period_ps: 1e6 / settings.machine.clock.frequency_mhz as f64,
            ..Self::default()
        }
    }

    /// Counts a packet whose completion came back.
    pub fn processed(&mut self, record: &PacketRecord) {
        self.inbound.add(record.completion, u64::from(record.bytes));
        let latency = record.completion.since(record.inbound).ps();
        self.latency_sum_ps += latency;
        self.latency_max_ps = self.latency_max_ps.max(latency);
        self.latency_min_ps = Some(self.latency_min_ps.map_or(latency, |min| min.min(latency)));
    }

    /// Counts a packet that left.
    pub fn departed(&mut self, time: Time, bytes: usize) {
        self.outbound.add(time, bytes as u64);
    }

    /// Counts a beat written to host memory.
    pub fn host_written(&mut self, time: Time, bytes: usize) {
        self.host_writes.add(time, bytes as u64);
    }

    /// Counts a beat read from host memory.
    pub fn host_read(&mut self, time: Time, bytes: usize) {
        self.host_reads.add(time, bytes as u64);
    }

    /// Counts a handler that ended.
    pub fn handled(&mut self, record: &HandlerRecord) {
        self.handlers.entry(record.kind).or_default().add(record);
        self.hpus.entry((record.cluster, record.hpu)).or_default().add(record);
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let how = if self.faithful { "as published" } else { "as in the paper" };
        writeln!(out, "\n== Statistics: machine {}, {how} ==", self.machine)?;
        writeln!(out, "simulated: {} cycles, {} instructions", self.cycles, self.instructions)?;
        self.write_inbound(out)?;
        let (outbound, writes, reads) = (&self.outbound, &self.host_writes, &self.host_reads);
        writeln!(out, "NIC outbound engine:")?;
        writeln!(out, "    packets: {}; bytes: {}", outbound.count, outbound.bytes)?;
        writeln!(out, "    mean packet: {:.3} B", outbound.mean_bytes())?;
        writeln!(out, "    departures: {}", outbound.rate())?;
        writeln!(out, "Host memory, accessed by handlers:")?;
        for (name, flow) in [("writes", writes), ("reads", reads)] {
            let rate = flow.gbit_s().unwrap_or(0.0);
            let (beats, bytes) = (flow.count, flow.bytes);
            writeln!(out, "    {name}: {beats} beats; {bytes} bytes; {rate:.3} Gbit/s")?;
        }
        let (written, read) = (self.nic_memory_written_bytes, self.nic_memory_read_bytes);
        writeln!(out, "NIC memory, accessed by the host:")?;
        writeln!(out, "    bytes written: {written}; bytes read: {read}")?;
        self.write_handlers(out)
    }

    fn write_inbound(&self, out: &mut String) -> fmt::Result {
        let inbound = &self.inbound;
        let mean = self.latency_sum_ps as f64 / 1000.0 / inbound.count.max(1) as f64;
        let (min, max) = (self.latency_min_ps.unwrap_or(0), self.latency_max_ps);
        writeln!(out, "NIC inbound engine:")?;
        writeln!(out, "    packets: {}; bytes: {}", inbound.count, inbound.bytes)?;
        writeln!(out, "    mean packet: {:.3} B", inbound.mean_bytes())?;
        writeln!(out, "    completions: {}", inbound.rate())?;
        writeln!(
            out,
            "    packet latency: mean {mean:.3} ns; min {:.3} ns; max {:.3} ns",
            min as f64 / 1000.0,
            max as f64 / 1000.0
        )?;
        writeln!(out, "    HER stalls: {} cycles", self.her_stall_cycles)
    }

    fn write_handlers(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "Handlers:")?;
        for (kind, row) in &self.handlers {
            let name = match kind {
                HandlerKind::Header => "header",
                HandlerKind::Payload => "payload",
                HandlerKind::Completion => "completion",
            };
            let runs = row.runs.max(1) as f64;
            writeln!(
                out,
                "    {name}: {} runs; mean {:.3} cycles, {:.3} instructions; failed: {}",
                row.runs,
                row.busy_ps as f64 / self.period_ps / runs,
                row.instructions as f64 / runs,
                row.failed
            )?;
        }
        if self.faults > 0 {
            writeln!(out, "    faults: {}", self.faults)?;
        }
        writeln!(out, "HPUs (cluster.HPU: handlers, busy, instructions):")?;
        let all_ps = (self.cycles as f64 * self.period_ps).max(1.0);
        for ((cluster, hpu), row) in &self.hpus {
            writeln!(
                out,
                "    {cluster}.{hpu}: {}, {:.1} %, {}",
                row.runs,
                row.busy_ps as f64 / all_ps * 100.0,
                row.instructions
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out)?;
        f.write_str(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_two() {
        let mut flow = Flow::default();
        assert_eq!(flow.rate(), "too few for a rate");
        flow.add(Time::from_ns(10), 64);
        assert_eq!(flow.gbit_s(), None);
        flow.add(Time::from_ns(12), 64);
        assert_eq!(flow.rate(), "256.000 Gbit/s, one every 2.000 ns");
    }
}
