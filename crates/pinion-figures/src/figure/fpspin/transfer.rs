//! A file sent by SLMP. A figure's file asks for it with `run.kind = "transfer"`.

use std::sync::Arc;

use pinion_sim::Time;
use pinion_sim::random::Xorshift64;
use pinion_spin::ExecutionContext;

use super::bench::Bench;
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::pspin::programs::Programs;
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_run::cosim::{self, Cosim, Flow, Idle, Senders, SendersPlan};

/// Bytes of a page of host memory; one belongs to each HPU, the next to the messages' records.
const PAGE_BYTES: u64 = 4096;
/// Longer than any transfer.
const LIMIT: Time = Time::from_ns(60_000_000_000);
const MESSAGE_ID: u32 = 1;

/// Runs transfers.
pub(in crate::figure) struct Transfers {
    pub programs: Arc<Programs>,
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transfer {
    file_bytes: u64,
    window: u32,
    threads: u32,
    payload_bytes: usize,
}

impl Kind for Transfers {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("machine", true),
            ("on", false),
            ("host", true),
            ("file_bytes", true),
            ("window", true),
            ("threads", true),
            ("payload_bytes", true),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["mbit_s", "dropped", "handler_us"]
    }

    fn takes_machine(&self) -> bool {
        true
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let bench = Bench::new(&self.programs, asked, setting)?;
        let transfer = Transfer {
            file_bytes: asked.whole("file_bytes")?,
            window: asked.whole("window")? as u32,
            threads: asked.whole("threads")? as u32,
            payload_bytes: asked.whole("payload_bytes")? as usize,
        };
        let done = send(&bench, transfer)?;
        Ok(vec![Record::from([
            ("mbit_s", done.mbit_s.into()),
            ("dropped", done.dropped.into()),
            ("handler_us", done.handler_us.into()),
        ])])
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
        payload_bytes: transfer.payload_bytes,
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
    Xorshift64::new(0x2545_f491_4f6c_dd1d).bytes(bytes as usize)
}
