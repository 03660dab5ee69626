//! How busy the units of a sPIN NIC were over time: HPUs, packet buffer, scheduler, DMA engines, commands,
//! banks, links. In: what units say. Out: a table of means over stretches of the run, and a chart.

use rustc_hash::FxHashMap as HashMap;

use pinion_isa::Class as Kind;
use pinion_sim::{Clock, Time};
use pinion_spin::{Event, Hears, Interest, Machine, Spin, UnitEvent, UnitEventKind};

use crate::plot::{Panel, panels};
use crate::trace::{Tracer, clock};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};

/// Stretches at most; with more, two become one.
const STRETCHES: usize = 256;
/// Cycles of a stretch at first.
const FIRST_CYCLES: u64 = 16;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Hpus,
    Packets,
    Waiting,
    Dma,
    Commands,
    Banks,
    In,
    Out,
}

const ALL: [(What, &str, &str); 8] = [
    (What::Hpus, "hpus_busy", "HPUs that run handlers"),
    (What::Packets, "packets_inside", "packets in the L2 packet buffer"),
    (What::Waiting, "tasks_waiting", "tasks between scheduler and HPU"),
    (What::Dma, "dma_transfers", "transfers in the clusters' DMA engines"),
    (What::Commands, "commands_open", "commands that are issued and not done"),
    (What::Banks, "l1_accesses", "accesses to L1 in a cycle"),
    (What::In, "in_gbit_s", "packets in, Gbit/s"),
    (What::Out, "out_gbit_s", "packets out, Gbit/s"),
];

/// Sums over stretches of time, all equally long.
#[derive(Clone, Debug)]
struct Sums {
    cycles: u64,
    sums: Vec<f64>,
}

impl Sums {
    fn new() -> Self {
        Self { cycles: FIRST_CYCLES, sums: Vec::new() }
    }

    /// Adds `amount` for each cycle of a time.
    fn add(&mut self, from: u64, to: u64, amount: f64) {
        while to / self.cycles >= STRETCHES as u64 {
            self.halve();
        }
        let last = (to.saturating_sub(1).max(from) / self.cycles) as usize;
        if self.sums.len() <= last {
            self.sums.resize(last + 1, 0.0);
        }
        let mut at = from;
        while at < to {
            let stretch = at / self.cycles;
            let end = ((stretch + 1) * self.cycles).min(to);
            self.sums[stretch as usize] += (end - at) as f64 * amount;
            at = end;
        }
    }

    fn halve(&mut self) {
        self.cycles *= 2;
        let pairs = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.sums = pairs;
    }
}

/// Hears how busy units are.
pub struct Occupancy {
    app: String,
    machine: String,
    clock: Clock,
    l1: std::ops::Range<u32>,
    sums: [Sums; ALL.len()],
    running: HashMap<(u32, u32), u64>,
    inside: HashMap<u64, u64>,
    waiting: HashMap<(u32, u32), u64>,
    commands: HashMap<(u32, u32, u32), u64>,
    end: u64,
}

impl Occupancy {
    /// Makes a listener for an application's machine.
    pub fn new(app: &App) -> Self {
        let machine: &Machine = &app.machine.value;
        let l1 = &machine.l1;
        let clusters = machine.cluster.count * machine.units.count.max(1);
        Self {
            app: app.manifest.app.name.clone(),
            machine: machine.name.clone(),
            clock: clock(app),
            l1: l1.base..l1.base + clusters * l1.stride,
            sums: std::array::from_fn(|_| Sums::new()),
            running: HashMap::default(),
            inside: HashMap::default(),
            waiting: HashMap::default(),
            commands: HashMap::default(),
            end: 0,
        }
    }

    fn add(&mut self, what: What, from: u64, to: u64, amount: f64) {
        self.sums[what as usize].add(from, to, amount);
        self.end = self.end.max(to);
    }

    /// Adds bits that passed within a cycle, as a rate.
    fn pass(&mut self, what: What, time: Time, bytes: u64) {
        let cycle = self.clock.cycle_at(time);
        let ns = self.clock.time(1).ns();
        self.add(what, cycle, cycle + 1, bytes as f64 * 8.0 / ns);
    }

    fn unit(&mut self, event: &UnitEvent) {
        let UnitEvent { kind, cluster, hpu, id, address, cycle } = *event;
        let command = (cluster, hpu, id);
        match kind {
            UnitEventKind::TaskOut => {
                self.waiting.insert((cluster, address), cycle);
            }
            UnitEventKind::HpuTask => {
                if let Some(since) = self.waiting.remove(&(cluster, address)) {
                    self.add(What::Waiting, since, cycle, 1.0);
                }
            }
            UnitEventKind::CommandIssue => {
                self.commands.insert(command, cycle);
            }
            UnitEventKind::CommandResponse => {
                if let Some(since) = self.commands.remove(&command) {
                    self.add(What::Commands, since, cycle, 1.0);
                }
            }
            _ => {}
        }
    }

    /// Counts what has begun and has not ended up to the end of the run.
    fn close(&mut self, now: u64) {
        let open = [
            (What::Hpus, self.running.drain().map(|(_, since)| since).collect::<Vec<_>>()),
            (What::Packets, self.inside.drain().map(|(_, since)| since).collect()),
            (What::Waiting, self.waiting.drain().map(|(_, since)| since).collect()),
            (What::Commands, self.commands.drain().map(|(_, since)| since).collect()),
        ];
        for (what, since) in open {
            since.into_iter().for_each(|since| self.add(what, since, now.max(since), 1.0));
        }
        self.end = self.end.max(now);
    }

    /// Gives each row's cycle and the means of the stretch behind it.
    fn rows(&self) -> Vec<(u64, [f64; ALL.len()])> {
        let mut sums = self.sums.clone();
        let cycles = sums.iter().map(|sums| sums.cycles).max().unwrap_or(FIRST_CYCLES);
        for sums in &mut sums {
            while sums.cycles < cycles {
                sums.halve();
            }
        }
        let stretches = self.end.div_ceil(cycles);
        let row = |stretch: u64| {
            let from = stretch * cycles;
            // The last one may be shorter.
            let long = (self.end - from).min(cycles).max(1) as f64;
            let mean =
                |index: usize| sums[index].sums.get(stretch as usize).map_or(0.0, |sum| sum / long);
            (from, std::array::from_fn(mean))
        };
        (0..stretches).map(row).collect()
    }

    /// Writes a row per stretch of time as CSV.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn to_csv(&self) -> Result<String> {
        let failed = |error: csv::Error| Error::Usage(format!("cannot write the table: {error}"));
        let mut writer = csv::Writer::from_writer(Vec::new());
        let head = ["cycle", "ns"].into_iter().chain(ALL.iter().map(|(_, name, _)| *name));
        writer.write_record(head).map_err(failed)?;
        for (cycle, means) in self.rows() {
            let ns = format!("{}", self.clock.time(cycle).ns());
            let means = means.iter().map(|mean| format!("{mean:.4}"));
            let row = [cycle.to_string(), ns].into_iter().chain(means);
            writer.write_record(row).map_err(failed)?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(error.into_error().into()))?;
        Ok(String::from_utf8(bytes).expect("CSV of texts is text"))
    }

    /// Draws a panel for each kind of unit, in SVG.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_svg(&self) -> Result<String> {
        let rows = self.rows();
        let us = |cycle: u64| self.clock.time(cycle).ns() / 1e3;
        let panel = |(index, (_, _, title)): (usize, &(What, &str, &str))| {
            let steps = rows.iter().map(|(cycle, means)| (us(*cycle), means[index]));
            Panel { title: (*title).to_owned(), steps: steps.collect() }
        };
        let all: Vec<Panel> = ALL.iter().enumerate().map(panel).collect();
        let title = format!("{} on {}: how busy its units were", self.app, self.machine);
        panels(&title, "time, µs", us(self.end), &all)
    }
}

impl Hears<Spin> for Occupancy {
    fn interest(&self) -> Interest {
        Interest { handlers: true, units: true, instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::HandlerStarted { time, cluster, hpu, .. } => {
                self.running.insert((*cluster, *hpu), self.clock.cycle_at(*time));
            }
            Event::HandlerDone(record) => {
                self.running.remove(&(record.cluster, record.hpu));
                let ran = [record.start, record.end].map(|time| self.clock.cycle_at(time));
                self.add(What::Hpus, ran[0], ran[1], 1.0);
            }
            Event::PacketTaken { record, .. } => {
                self.inside.insert(record.packet, self.clock.cycle_at(record.inbound));
                self.pass(What::In, record.inbound, u64::from(record.bytes));
            }
            Event::PacketDone(record) => {
                if let Some(since) = self.inside.remove(&record.packet) {
                    self.add(What::Packets, since, self.clock.cycle_at(record.completion), 1.0);
                }
            }
            Event::Departed { time, frame, .. } => {
                self.pass(What::Out, *time, frame.len() as u64);
            }
            Event::Transfer(transfer) => {
                let took = [transfer.issued, transfer.done].map(|time| self.clock.cycle_at(time));
                self.add(What::Dma, took[0], took[1], 1.0);
            }
            Event::Instruction(record) => {
                let is_l1 = record.address.is_some_and(|address| self.l1.contains(&address));
                if is_l1 && record.instruction.class != Kind::EventLoad {
                    self.add(What::Banks, record.cycle, record.cycle + 1, 1.0);
                }
            }
            Event::Unit(event) => self.unit(event),
            _ => {}
        }
    }
}

impl Tracer for Occupancy {
    fn finish(&mut self, now: Time) -> Result<()> {
        self.close(self.clock.cycle_at(now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_whole_when_stretches_grow() {
        let mut sums = Sums::new();
        let mut whole = 0.0;
        for step in 0..5_000u64 {
            let (from, to) = (step * 7, step * 7 + step % 40);
            sums.add(from, to, 2.0);
            whole += (to - from) as f64 * 2.0;
        }
        assert!(sums.sums.len() <= STRETCHES && sums.cycles > FIRST_CYCLES);
        assert!((sums.sums.iter().sum::<f64>() - whole).abs() < 1e-6);
    }
}
