//! Rows of PsPIN: a program, its handlers and the packets they get; each packet's passage is
//! compared. Timing comes from the units; nothing here knows any row by name.

pub mod set;

use pinion_isa::elf::Image;
use pinion_sim::Time;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{
    Classification, ContextId, Event, ExecutionContext, Frame, Handler, Listener, Machine, Nic,
    Offer, Outcome,
};

use super::{Comparison, Tolerance};
use crate::app::HOST_MEMORY_BASE;
use crate::error::{Error, Result};
use set::{Row, ScenarioPacket, Set};

/// Is the absolute error a row may have in any case, in ns.
pub const TOLERANCE_NS: f64 = 2.0;
/// Bounds a row's simulated time.
const LONGEST: Time = Time::from_ns(1_000_000_000);

/// Compares a metric of a row, in ns; under full load latency is only informative.
fn comparison(row: &Row, metric: &str, ours: f64, rtl: f64) -> Comparison {
    let tolerance = match metric {
        "burst_latency_ns" => Tolerance::Informative,
        _ => Tolerance::RelativeOr(TOLERANCE_NS),
    };
    Comparison::new(&row.row, metric, ours, rtl, tolerance)
}

/// Compares every row of a set whose name contains `filter`, `jobs` rows at a time.
///
/// # Errors
/// When the set is unreadable, or a row does not run at all.
pub fn compare(
    set: &Set,
    machine: &Machine,
    filter: Option<&str>,
    jobs: usize,
) -> Result<Vec<Comparison>> {
    let rows = set.rows(filter)?;
    super::side_by_side(&rows, jobs, |row| compare_row(set, machine, row))
}

/// Holds when a packet's HER was handed over and when its completion came back.
#[derive(Debug, Clone, Copy)]
struct Passage {
    her_ns: f64,
    done_ns: f64,
}

fn compare_row(set: &Set, machine: &Machine, row: &Row) -> Result<Vec<Comparison>> {
    let results = set.results(row)?;
    let rtl: Vec<Passage> = results
        .iter()
        .map(|result| Passage { her_ns: result.her_ns, done_ns: result.done_ns })
        .collect();
    let ours = run_row(set, machine, row)?;
    if ours.len() != rtl.len() {
        let problem = format!("{} packets completed, {} on the hardware", ours.len(), rtl.len());
        return Err(Error::Usage(format!("row {}: {problem}", row.row)));
    }
    let mut comparisons = Vec::new();
    if row.scenario.starts_with("single_") || row.scenario.starts_with("slow_") {
        comparisons.push(comparison(row, "latency_ns", latency(&ours), latency(&rtl)));
    } else {
        comparisons.push(comparison(row, "duration_ns", duration(&ours), duration(&rtl)));
        let metric = "burst_latency_ns";
        comparisons.push(comparison(row, metric, latency(&ours), latency(&rtl)));
    }
    Ok(comparisons)
}

fn latency(passages: &[Passage]) -> f64 {
    let sum: f64 = passages.iter().map(|passage| passage.done_ns - passage.her_ns).sum();
    sum / passages.len() as f64
}

fn duration(passages: &[Passage]) -> f64 {
    let first = passages.iter().map(|passage| passage.her_ns).fold(f64::INFINITY, f64::min);
    let last = passages.iter().map(|passage| passage.done_ns).fold(f64::NEG_INFINITY, f64::max);
    last - first
}

/// Runs a row's program on its packets.
fn run_row(set: &Set, machine: &Machine, row: &Row) -> Result<Vec<Passage>> {
    let path = set.program(row);
    let image = Image::read(&path)?;
    let context = context(&image, row)?;
    let engine = MatchingEngine::new(Vec::new(), Limits::default())
        .map_err(|error| Error::part("cannot set up the matching engine", error))?;
    let mut nic = Nic::new(machine.clone(), &image, vec![context], engine)
        .map_err(|error| Error::part(format!("cannot load {}", path.display()), error))?;
    let scenario = set.scenario(row)?;
    let mut passages = Passages::default();
    let outcome = nic.run(LONGEST, &mut source(scenario), &mut passages);
    if outcome != Outcome::Finished {
        let report = match outcome {
            Outcome::Stuck(report) => report,
            _ => format!("it is not through after {LONGEST} of simulated time"),
        };
        return Err(Error::Usage(format!("row {} does not end: {report}", row.row)));
    }
    Ok(passages.0)
}

/// Makes the execution context that every row of the ground truth was measured with.
fn context(image: &Image, row: &Row) -> Result<ExecutionContext> {
    let handler = |name: &str| -> Result<Option<Handler>> {
        if name.is_empty() {
            return Ok(None);
        }
        let symbol = image.require(name)?;
        Ok(Some(Handler {
            name: name.to_owned(),
            address: symbol.address as u32,
            bytes: symbol.size as u32,
        }))
    };
    Ok(ExecutionContext {
        name: row.row.clone(),
        header_handler: handler(&row.header_handler)?,
        payload_handler: handler(&row.payload_handler)?,
        completion_handler: handler(&row.completion_handler)?,
        handler_memory_address: 0x1c30_0000,
        handler_memory_bytes: 64 << 10,
        host_memory_address: HOST_MEMORY_BASE,
        host_memory_bytes: 256 << 20,
        scratchpad_bytes: 16 << 10,
        ..ExecutionContext::default()
    })
}

/// Hands a scenario's packets over: each a cycle after the one before, or after its pause.
fn source(scenario: Vec<ScenarioPacket>) -> impl FnMut() -> Offer {
    let mut packets = scenario.into_iter();
    let mut arrival_ns = 0;
    move || {
        let Some(packet) = packets.next() else { return Offer::End };
        let frame = Frame {
            arrival: Time::from_ns(arrival_ns),
            bytes: set::contents(packet.packet, packet.bytes),
            skip: 0,
            classification: Some(Classification {
                context: ContextId(0),
                message: packet.message,
                end_of_message: packet.end_of_message != 0,
                l1_bytes: packet.l1_bytes,
            }),
            tag: u64::from(packet.packet),
        };
        arrival_ns += packet.wait_cycles.max(1);
        Offer::Frame(frame)
    }
}

/// Notes every packet's passage.
#[derive(Debug, Default)]
struct Passages(Vec<Passage>);

impl Listener for Passages {
    fn hear(&mut self, event: &Event<'_>) {
        if let Event::PacketDone(record) = event {
            self.0.push(Passage { her_ns: record.her.ns(), done_ns: record.completion.ns() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scenario: &str) -> Row {
        Row {
            row: format!("x-{scenario}"),
            program: "x".to_owned(),
            header_handler: String::new(),
            payload_handler: String::new(),
            completion_handler: String::new(),
            scenario: scenario.to_owned(),
        }
    }

    #[test]
    fn five_percent_or_two_nanoseconds_pass() {
        let compare = |ours, rtl| comparison(&row("single_64"), "latency_ns", ours, rtl).pass;
        assert!(compare(29.0, 27.0) && !compare(29.1, 27.0));
        assert!(compare(1050.0, 1000.0) && !compare(949.0, 1000.0));
        assert!(comparison(&row("burst_64"), "burst_latency_ns", 9.0, 100.0).pass);
    }

    #[test]
    fn contents_are_the_documented_stream() {
        let data = set::contents(0, 6);
        assert_eq!(data.len(), 6);
        let mut state = 0x9e37_79b9_u32;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        assert_eq!(data[..4], state.to_le_bytes());
    }
}
