//! `fpspin-fig8`: files by SLMP: throughput and failed transfers over window, threads and file size
//! (FPsPIN paper, figure 8). Code, since what was sent must be what is there, and which transfers there
//! are depends on window, threads and packets together.

use std::sync::Arc;

use pinion_sim::Time;
use pinion_spin::ExecutionContext;

use super::bench::{self, Bench};
use super::published::{self, PUBLISHED};
use crate::figure::pspin::programs::Programs;
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_run::cosim::{self, Cosim, Flow, Idle, Senders, SendersPlan};

/// Bytes of a page of host memory; one belongs to each HPU, the next to the messages' records.
const PAGE_BYTES: u64 = 4096;
/// Longer than any transfer.
const LIMIT: Time = Time::from_ns(60_000_000_000);
const MESSAGE_ID: u32 = 1;

pub(super) struct Fig8 {
    pub programs: Arc<Programs>,
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transfer {
    file_bytes: u64,
    window: u32,
    threads: u32,
}

impl Transfer {
    /// Reads a point: the curve names two of the three numbers, the third varies along it.
    fn of(point: &Point) -> Result<Self> {
        let curve = bench::split(&point.curve).0;
        let mut numbers = [None; 3];
        for part in curve.split(", ") {
            let words: Vec<&str> = part.split(' ').collect();
            let (place, number) = match words[..] {
                [number, "B"] => (0, number),
                ["window", number] => (1, number),
                [number, "thread" | "threads"] => (2, number),
                _ => return Err(unreadable(curve)),
            };
            numbers[place] = Some(number.parse::<u64>().map_err(|_| unreadable(curve))?);
        }
        if numbers.iter().filter(|number| number.is_none()).count() != 1 {
            return Err(unreadable(curve));
        }
        let [file_bytes, window, threads] = numbers.map(|number| number.unwrap_or(point.x as u64));
        Ok(Self { file_bytes, window: window as u32, threads: threads as u32 })
    }
}

fn unreadable(curve: &str) -> Error {
    Error::Usage(format!(
        "the curve `{curve}` must name two of file, window and threads: `13107200 B, 2 threads`"
    ))
}

impl Figure for Fig8 {
    fn name(&self) -> &'static str {
        "fpspin-fig8"
    }

    fn takes_machine(&self) -> bool {
        true
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("curve"),
            Column::number("file", "B", 0),
            Column::number("window", "", 0),
            Column::number("threads", "", 0),
            Column::number("throughput", "Mbit/s", 1),
            Column::number("dropped", "packets", 0),
            Column::number("published", "Mbit/s", 1),
            Column::number("published_failed", "", 2),
            Column::number("handler", "µs", 2),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let points = bench::points(&["windows", "threads", "files"], parameters)?;
        // More threads than the window has packets, or fewer packets than the window: not published.
        let payload = parameters.whole("payload_bytes")?;
        let mut kept = Vec::new();
        for point in points {
            let transfer = Transfer::of(&point)?;
            let packets = transfer.file_bytes.div_ceil(payload.max(1));
            let window = u64::from(transfer.window);
            if transfer.window >= transfer.threads && packets >= window {
                kept.push(point);
            }
        }
        Ok(kept)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let bench = Bench::new(&self.programs, &point.curve, setting)?;
        let transfer = Transfer::of(point)?;
        let done = send(&bench, transfer)?;
        let parameters = setting.parameters;
        let at = published::at(parameters, &point.curve, None, point.x)?;
        let failed = published::at(parameters, &format!("failed {}", point.curve), None, point.x)?;
        let Transfer { file_bytes, window, threads } = transfer;
        let row = |curve: String, throughput: Cell, rest: [Cell; 4]| {
            let numbers = [file_bytes, u64::from(window), u64::from(threads)];
            let mut row: Row = vec![curve.into()];
            row.extend(numbers.map(Cell::from));
            row.push(throughput);
            row.extend(rest);
            row
        };
        let ours = [done.dropped.into(), at.clone(), failed, done.handler_us.into()];
        let mut rows = vec![row(point.curve.clone(), done.mbit_s.into(), ours)];
        if at != Cell::Missing {
            let empty = std::array::from_fn(|_| Cell::Missing);
            rows.push(row(format!("{PUBLISHED}{}", point.curve), at, empty));
        }
        Ok(rows)
    }
}

/// What became of a transfer.
struct Done {
    /// Its throughput; `None`: it failed.
    mbit_s: Option<f64>,
    dropped: u64,
    handler_us: Option<f64>,
}

fn send(bench: &Bench<'_>, transfer: Transfer) -> Result<Done> {
    let app = bench.app("slmp")?;
    let contexts = one_slot(&app, transfer.file_bytes)?;
    let region = contexts[0].host_memory_address + before(&app);
    let file: Arc<[u8]> = contents(transfer.file_bytes).into();
    let flow = Flow { message_id: MESSAGE_ID, message: file.clone(), threads: transfer.threads };
    let plan = SendersPlan {
        flows: vec![flow],
        begin_ps: 0,
        window: transfer.window,
        payload_bytes: bench.parameters().whole("payload_bytes")? as usize,
        all_compute: false,
    };
    let senders = Senders::new(&bench.host, plan);
    let nic = cosim::nic_with(&app, contexts)?;
    let mut cosim = Cosim::new(nic, &bench.host, Idle, senders).skip(app.skipped_bytes());
    cosim.run(LIMIT)?;
    let dropped = cosim.heard().dropped;
    let handler_us = cosim.heard().handler_ns().map(|ns| ns / 1000.0);
    let Some(finished_ps) = cosim.peer.finished_ps() else {
        if dropped == 0 {
            let problem = "the transfer did not end, and no packet was dropped";
            return Err(Error::Usage(problem.to_owned()));
        }
        return Ok(Done { mbit_s: None, dropped, handler_us });
    };
    let mut there = vec![0; file.len()];
    cosim.nic().read_host(region, &mut there);
    if there[..] != file[..] {
        return Err(Error::Usage(
            "the file in host memory is not the file that was sent".to_owned(),
        ));
    }
    let mbit_s = transfer.file_bytes as f64 * 8e6 / finished_ps as f64;
    Ok(Done { mbit_s: Some(mbit_s), dropped, handler_us })
}

/// Counts the bytes of host memory before the messages'.
fn before(app: &App) -> u64 {
    (u64::from(app.machine.value.hpus()) + 1) * PAGE_BYTES
}

/// Gives the example's context one slot, which holds the whole file.
fn one_slot(app: &App, file_bytes: u64) -> Result<Vec<ExecutionContext>> {
    let mut contexts = app.contexts.clone();
    let bytes = before(app) + file_bytes.next_multiple_of(PAGE_BYTES);
    contexts[0].host_memory_bytes = u32::try_from(bytes)
        .map_err(|_| Error::Usage(format!("a file of {file_bytes} bytes is too large")))?;
    // slmp_config_t: the number of slots.
    contexts[0].handler_memory_image = 1_u32.to_le_bytes().to_vec();
    Ok(contexts)
}

/// Makes a file.
fn contents(bytes: u64) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut file = Vec::with_capacity(bytes as usize + 8);
    while (file.len() as u64) < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        file.extend(state.to_le_bytes());
    }
    file.truncate(bytes as usize);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_name_two_numbers_of_three() {
        let point = |curve: &str| Point {
            label: String::new(),
            curve: curve.to_owned(),
            x: 7.0,
            stream: 0,
            ..Point::default()
        };
        let of = |curve: &str| Transfer::of(&point(curve));
        let transfer = |file_bytes, window, threads| Transfer { file_bytes, window, threads };
        assert_eq!(of("100 B, 2 threads").unwrap(), transfer(100, 7, 2));
        assert_eq!(of("window 4, 1 thread on pspin").unwrap(), transfer(7, 4, 1));
        assert_eq!(of("100 B, window 8").unwrap(), transfer(100, 8, 7));
        for wrong in ["100 B", "100 B, window 8, 2 threads", "fast, 2 threads", "x B, window 1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
