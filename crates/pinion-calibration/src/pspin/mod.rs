//! Rows of PsPIN: a program, its handlers and the packets they get; each packet's passage is
//! compared. Timing comes from the units; nothing here knows any row by name.

pub mod applications;
pub mod instructions;
mod passage;
pub mod set;

use pinion_isa::elf::Image;
use pinion_sim::Time;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{Classification, ContextId, ExecutionContext, Frame, Handler, Machine, Nic};

use super::{Comparison, Jobs, Tolerance};
use passage::{Passage, Passages};
use pinion_app::app::HOST_MEMORY_BASE;
use pinion_app::error::{Error, Result};
use set::{Measured, Row, ScenarioPacket, Set};

/// The absolute error a row may have in any case, in ns.
pub const TOLERANCE_NS: f64 = 2.0;

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
/// When the set is unreadable, or a row cannot be run at all.
pub fn compare<'a>(
    set: &Set,
    machine: &Machine,
    filter: Option<&str>,
    jobs: impl Into<Jobs<'a>>,
) -> Result<Vec<Comparison>> {
    let rows = set.rows(filter)?;
    super::side_by_side(&rows, jobs.into(), |row| compare_row(set, machine, row))
}

fn compare_row(set: &Set, machine: &Machine, row: &Row) -> Result<Vec<Comparison>> {
    let rtl = measured(&set.results(row)?);
    let ours = run_row(set, machine, row)?;
    if let Some(failure) = ours.completion_failure(&row.row, &rtl) {
        return Ok(vec![failure]);
    }
    let packets = ours.in_its_cycles(&rtl);
    let latency = (ours.latency_ns(), rtl.latency_ns());
    if row.scenario.starts_with("single_") || row.scenario.starts_with("slow_") {
        return Ok(vec![comparison(row, "latency_ns", latency.0, latency.1).with_packets(packets)]);
    }
    let duration = comparison(row, "duration_ns", ours.duration_ns(), rtl.duration_ns());
    Ok(vec![
        duration.with_packets(packets),
        comparison(row, "burst_latency_ns", latency.0, latency.1),
    ])
}

/// Gives the passages on the hardware.
fn measured(results: &[Measured]) -> Passages {
    let passage = |it: &Measured| (it.packet, Passage { her_ns: it.her_ns, done_ns: it.done_ns });
    results.iter().map(passage).collect()
}

/// Runs a row's program on its packets.
fn run_row(set: &Set, machine: &Machine, row: &Row) -> Result<Passages> {
    let (mut nic, frames) = nic_and_frames(set, machine, row)?;
    Ok(Passages::through(&mut nic, frames))
}

/// Loads a row's program, and makes its packets.
fn nic_and_frames(set: &Set, machine: &Machine, row: &Row) -> Result<(Nic, Vec<Frame>)> {
    let path = set.program(row);
    let image = Image::read(&path)?;
    let context = context(&image, row)?;
    let nic = nic(machine, &image, vec![context])?;
    let scenario = set.scenario(row)?;
    let packets = scenario.iter().map(|it| (ContextId(0), *it));
    let frames = frames(packets, |packet| set::contents(packet.packet, packet.bytes));
    let frames = frames.map_err(|why| Error::Usage(format!("{}: {why}", row.row)))?;
    Ok((nic, frames))
}

/// Builds a NIC whose packets come with their messages.
fn nic(machine: &Machine, image: &Image, contexts: Vec<ExecutionContext>) -> Result<Nic> {
    let engine = MatchingEngine::new(Vec::new(), Limits::default())
        .map_err(|error| Error::part("cannot set up the matching engine", error))?;
    Nic::new(machine.clone(), image, contexts, engine)
        .map_err(|error| Error::part(format!("cannot load {}", image.name), error))
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

/// The longest time in which a scenario's packets arrive: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Bytes of the longest packet of a scenario, as captures have them.
const LONGEST_BYTES: u32 = 262_144;

/// Makes a scenario's frames: each arrives a cycle after the one before, or after its pause.
///
/// # Errors
/// Which packet has no bytes or too many, or comes after more than an hour.
fn frames(
    packets: impl Iterator<Item = (ContextId, ScenarioPacket)>,
    mut contents: impl FnMut(&ScenarioPacket) -> Vec<u8>,
) -> std::result::Result<Vec<Frame>, String> {
    let mut arrival_ns: u64 = 0;
    let frame = |(context, packet): (ContextId, ScenarioPacket)| {
        let number = packet.packet;
        if !(1..=LONGEST_BYTES).contains(&packet.bytes) {
            let wrong = packet.bytes;
            return Err(format!(
                "packet {number} of its scenario has {wrong} bytes; packets have 1 to {LONGEST_BYTES}"
            ));
        }
        let arrival = Time::from_ns(arrival_ns);
        arrival_ns = arrival_ns.saturating_add(packet.wait_cycles.max(1));
        if arrival_ns > LONGEST_NS {
            return Err(format!("the pause after packet {number} of its scenario is too long"));
        }
        Ok(Frame {
            arrival,
            bytes: contents(&packet),
            skip: 0,
            classification: Some(Classification {
                context,
                message: packet.message,
                end_of_message: packet.end_of_message != 0,
                l1_bytes: packet.l1_bytes,
            }),
            tag: u64::from(packet.packet),
        })
    };
    packets.map(frame).collect()
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
    fn packets_that_no_hardware_was_given_are_refused() {
        let given = |bytes, wait_cycles| {
            let packet = ScenarioPacket {
                packet: 3,
                message: 0,
                bytes,
                l1_bytes: 0,
                end_of_message: 1,
                wait_cycles,
            };
            frames([(ContextId(0), packet)].into_iter(), |_| vec![0; 64]).map(|frames| frames.len())
        };
        assert_eq!(given(64, 400), Ok(1));
        for bytes in [0, LONGEST_BYTES + 1, u32::MAX] {
            assert!(given(bytes, 400).unwrap_err().contains("packet 3 of its scenario has"));
        }
        for pause in [LONGEST_NS + 1, u64::MAX / 1000 + 1, u64::MAX] {
            assert!(given(64, pause).unwrap_err().contains("the pause after packet 3"));
        }
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
