//! `pspin-fig12`: what the use cases' payload handlers take: time, instructions, instructions a
//! second, and accesses outside the own L1 (PsPIN paper, figure 12 and §IV-C2).
//!
//! The paper counts as L1 misses a handler's accesses to other clusters' L1s or to L2: PsPIN has no
//! data cache. Misses of the instruction cache have a column of their own, in cycles that the core
//! waited for a line.

use std::sync::Arc;

use pinion_spin::{
    Event, HandlerKind, HandlerRecord, Hears, InstructionRecord, Interest, Machine, Spin,
};

use super::programs::{Programs, Source};
use super::use_cases::{CASES, Run, mean, steady_payload, time_ns};
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

pub(super) struct Fig12 {
    pub programs: Arc<Programs>,
}

/// Names the bars.
const PSPIN: &str = "PsPIN";

impl Figure for Fig12 {
    fn name(&self) -> &'static str {
        "pspin-fig12"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("use_case"),
            Column::text("architecture"),
            Column::number("time", "ns", 1),
            Column::number("mean", "ns", 1),
            Column::number("lower_whisker", "ns", 1),
            Column::number("lower_quartile", "ns", 1),
            Column::number("upper_quartile", "ns", 1),
            Column::number("upper_whisker", "ns", 1),
            Column::number("instructions", "", 1),
            Column::number("mips", "", 0),
            Column::number("ipc", "", 2),
            Column::number("l1_misses", "", 2),
            Column::number("instruction_cache_stalls", "cycles", 2),
            Column::number("remote_stalls", "cycles", 1),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let bytes = parameters.number("bytes")?;
        let point = |case: &str| Point {
            label: case.to_owned(),
            curve: case.to_owned(),
            x: bytes,
            stream: 0,
            ..Point::default()
        };
        Ok(CASES.iter().map(|case| point(case)).collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let run = Run {
            case: &point.curve,
            bytes: point.x as u32,
            rate: "max",
            most_packets: setting.parameters.whole("most_packets")?,
            seed: setting.seed,
        };
        let app =
            self.programs.app(Source::Example(run.case), setting.machine, setting.build_dir)?;
        let mut ears = Ears::new(&app.machine.value);
        run.listen(&self.programs, setting.machine, setting.build_dir, &mut ears)?;
        let handlers = steady_payload(&ears.handlers);
        let mut times: Vec<f64> = handlers.iter().map(|record| time_ns(record)).collect();
        times.sort_by(f64::total_cmp);
        let box_ns = Box5::of(&times);
        let instructions = mean(&handlers, |record| record.instructions as f64);
        let time = mean(&handlers, time_ns);
        let mips = instructions.zip(time).map(|(count, ns)| count / ns * 1000.0);
        let mhz = app.machine.value.clock.frequency_mhz as f64;
        Ok(vec![vec![
            run.case.into(),
            PSPIN.into(),
            box_ns.median.into(),
            time.into(),
            box_ns.low.into(),
            box_ns.lower.into(),
            box_ns.upper.into(),
            box_ns.high.into(),
            instructions.into(),
            mips.into(),
            mips.map(|mips| mips / mhz).into(),
            ears.misses_per_handler().into(),
            mean(&handlers, |record| record.stalls.fetch as f64).into(),
            mean(&handlers, |record| record.stalls.remote as f64).into(),
        ]])
    }
}

/// Holds what a box plot shows: quartiles, and whiskers at the outermost values within one and a
/// half times the distance of the quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Box5 {
    low: f64,
    lower: f64,
    median: f64,
    upper: f64,
    high: f64,
}

impl Box5 {
    fn of(sorted: &[f64]) -> Self {
        let at = |share: f64| {
            let place = share * sorted.len().saturating_sub(1) as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            match (sorted.get(below), sorted.get(above)) {
                (Some(a), Some(b)) => a + (b - a) * place.fract(),
                _ => f64::NAN,
            }
        };
        let (lower, median, upper) = (at(0.25), at(0.5), at(0.75));
        let reach = 1.5 * (upper - lower);
        let within = |value: &&f64| (lower - reach..=upper + reach).contains(*value);
        Self {
            low: sorted.iter().find(within).copied().unwrap_or(lower),
            lower,
            median,
            upper,
            high: sorted.iter().rev().find(within).copied().unwrap_or(upper),
        }
    }
}

/// Hears handlers and where their instructions reach.
struct Ears<'a> {
    machine: &'a Machine,
    handlers: Vec<HandlerRecord>,
    payload_handlers: u64,
    misses: u64,
}

impl<'a> Ears<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self { machine, handlers: Vec::new(), payload_handlers: 0, misses: 0 }
    }

    fn misses_per_handler(&self) -> Option<f64> {
        (self.payload_handlers > 0).then(|| self.misses as f64 / self.payload_handlers as f64)
    }

    /// Tells whether an instruction accesses another cluster's L1 or L2; devices are neither.
    fn is_miss(&self, record: &InstructionRecord) -> bool {
        let Some(address) = record.address else { return false };
        let within = |base: u32, bytes: u32| address.wrapping_sub(base) < bytes;
        let (l1, machine) = (&self.machine.l1, self.machine);
        let in_l2 = within(machine.l2_handler.base, machine.l2_handler.bytes)
            || within(machine.l2_packet.base, machine.l2_packet.bytes);
        let in_l1_of = |cluster: u32| within(l1.base + cluster * l1.stride, l1.bytes);
        in_l2 || (0..machine.cluster.count).any(|one| one != record.cluster && in_l1_of(one))
    }
}

impl Hears<Spin> for Ears<'_> {
    fn interest(&self) -> Interest {
        Interest { handlers: true, instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::HandlerDone(record) => {
                self.payload_handlers += u64::from(record.kind == HandlerKind::Payload);
                self.handlers.push((*record).clone());
            }
            Event::Instruction(record) => {
                let is_payload = |task: pinion_spin::RunningTask| task.kind == HandlerKind::Payload;
                if record.task.is_some_and(is_payload) && self.is_miss(record) {
                    self.misses += 1;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_quartiles_and_whiskers_without_outliers() {
        let box_ns = Box5::of(&[1.0, 2.0, 3.0, 4.0, 100.0]);
        assert_eq!((box_ns.lower, box_ns.median, box_ns.upper), (2.0, 3.0, 4.0));
        assert_eq!((box_ns.low, box_ns.high), (1.0, 4.0));
        assert!(Box5::of(&[]).median.is_nan());
    }
}
