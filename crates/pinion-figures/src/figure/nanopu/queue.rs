//! How much waits before a cable of an example's cluster, a record before and after each change. A
//! figure's file asks for it with `run.kind = "queue"`.

use pinion_net::fabric::Alone;
use pinion_net::load::flits;

use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use pinion_app::app::Options;
use pinion_app::error::{Error, Result};
use pinion_app::{assets, build};
use pinion_observe::report::{Ending, Report as _};
use pinion_run::cluster::{self, Plan, RunOptions, Summary};
use pinion_run::watch::Unobserved;

/// Runs clusters.
pub(in crate::figure) struct Queues;

impl Kind for Queues {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("example", true),
            // In front of it is the queue.
            ("cable", true),
            // Of a packet of data, headers included.
            ("packet_bytes", true),
            // From who sends to the switch.
            ("link_cycles", true),
            // Changes of the cluster's file, `machine.…` of its machines.
            ("set", false),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["time", "queue_bytes", "control_bytes", "trimmed", "dropped", "last_byte", "most_packets"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let example = asked.text("example")?;
        let mut overrides = asked.texts("set")?;
        overrides.extend(setting.machine.iter().map(|text| format!("machine.{text}")));
        let build = build::Options::into_folder(setting.build_dir);
        let file = assets::example_dir(example)?.join(cluster::FILE_NAME);
        let plan = Plan::load(&file, &Options { overrides, build, ..Options::default() })?;
        // Points run at the same time: a thread for each.
        let queues = vec![asked.text("cable")?.to_owned()];
        let options = RunOptions { threads: 1, queues, ..RunOptions::default() };
        let summary = cluster::run(&plan, &options, &mut Alone, &mut Unobserved)?;
        let Some(summary) = summary.filter(|summary| summary.ending == Ending::Finished) else {
            return Err(Error::Usage(format!("{example} did not come to its end")));
        };
        if summary.has_failures() {
            return Err(Error::Usage(format!("{example} failed:\n{}", summary.to_text())));
        }
        let packet_bytes = asked.whole("packet_bytes")?.max(1);
        Ok(records(&summary, packet_bytes, asked.whole("link_cycles")?))
    }
}

/// Tells how much waits, before and after each cycle in which that changes. Time 0 is when the first
/// packet's first flit leaves who sends it.
fn records(summary: &Summary, packet_bytes: u64, link_cycles: u64) -> Vec<Record> {
    let Some(trace) = summary.section.queues.first() else { return Vec::new() };
    let packet_cycles = flits(packet_bytes as usize);
    let way_cycles = link_cycles + packet_cycles;
    let start = trace.changes.first().map_or(0, |(cycle, ..)| cycle.saturating_sub(way_cycles));
    let us = |cycle: u64| (cycle - start) as f64 * summary.section.clock.period_ps() / 1e6;
    let (mut changes, mut most, mut last) = (Vec::<(u64, u64, u64)>::new(), 0, start);
    let mut waiting = 0;
    for &(cycle, data, control) in &trace.changes {
        if data < waiting {
            last = cycle + packet_cycles;
        }
        waiting = data;
        most = most.max(data);
        match changes.last_mut() {
            Some(change) if change.0 == cycle => *change = (cycle, data, control),
            _ => changes.push((cycle, data, control)),
        }
    }
    let count =
        |of: fn(&cluster::SwitchRow) -> u64| summary.section.switches.iter().map(of).sum::<u64>();
    let record = |cycle: u64, data: u64, control: u64| -> Record {
        Record::from([
            ("time", us(cycle).into()),
            ("queue_bytes", data.into()),
            ("control_bytes", control.into()),
            ("trimmed", count(|row| row.trimmed).into()),
            ("dropped", count(|row| row.dropped).into()),
            ("last_byte", us(last).into()),
            ("most_packets", (most / packet_bytes).into()),
        ])
    };
    let mut records = vec![record(start, 0, 0)];
    let (mut data, mut control) = (0, 0);
    for (cycle, data_now, control_now) in changes {
        records.push(record(cycle, data, control));
        records.push(record(cycle, data_now, control_now));
        (data, control) = (data_now, control_now);
    }
    records
}
