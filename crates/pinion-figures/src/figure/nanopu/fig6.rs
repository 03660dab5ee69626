//! `nanopu-fig6`: an 80-to-1 incast, with NDP's trimming and without (nanoPU paper, figure 6).

use pinion_net::fabric::Alone;
use pinion_net::load::flits;

use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::app::Options;
use pinion_app::error::{Error, Result};
use pinion_app::{assets, build};
use pinion_run::cluster::{self, Ending, Plan, RunOptions, Summary};
use pinion_run::watch::Unobserved;

/// The example that runs.
const CLUSTER: &str = "nanopu_incast";
/// Names the cable to the server, in front of which the queue is.
const BOTTLENECK: &str = "server";
const TRIMMING: &str = "with NDP's trimming";
const DROPPING: &str = "without trimming";
/// Bytes of a client's packet: 64 of headers, 1,024 of message.
const PACKET_BYTES: usize = 1088;

pub(super) struct Fig6;

impl Figure for Fig6 {
    fn name(&self) -> &'static str {
        "nanopu-fig6"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("curve"),
            Column::number("time", "µs", 3),
            Column::number("queue", "KB", 3),
            Column::number("control", "KB", 3),
            Column::number("trimmed", "packets", 0),
            Column::number("dropped", "packets", 0),
            Column::number("last_byte", "µs", 3),
            Column::number("most", "packets", 0),
        ]
    }

    fn points(&self, _: &Definition, _: &Parameters) -> Result<Vec<Point>> {
        let point = |curve: &str| Point {
            label: curve.to_owned(),
            curve: curve.to_owned(),
            x: 0.0,
            stream: 0,
            ..Point::default()
        };
        Ok(vec![point(TRIMMING), point(DROPPING)])
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let overrides = overrides(setting, point.curve == TRIMMING)?;
        let build = build::Options::into_folder(setting.build_dir);
        let file = assets::example_dir(CLUSTER)?.join(cluster::FILE_NAME);
        let plan = Plan::load(&file, &Options { overrides, build, ..Options::default() })?;
        // Both curves run at the same time: a thread for each.
        let options =
            RunOptions { threads: 1, queues: vec![BOTTLENECK.to_owned()], ..RunOptions::default() };
        let summary = cluster::run(&plan, &options, &mut Alone, &mut Unobserved)?;
        let Some(summary) = summary.filter(|summary| summary.ending == Ending::Finished) else {
            return Err(Error::Usage("the server did not get every message".to_owned()));
        };
        if summary.has_failures() {
            return Err(Error::Usage(format!("the incast failed:\n{}", summary.to_text())));
        }
        let way_cycles = setting.parameters.whole("link_cycles")? + flits(PACKET_BYTES);
        Ok(rows(&point.curve, &summary, way_cycles))
    }
}

/// Makes the figure's parameters changes of the cluster's file and its machines.
fn overrides(setting: &Setting<'_>, trims: bool) -> Result<Vec<String>> {
    let whole = |name: &str| setting.parameters.whole(name);
    let queue = whole("queue_bytes")?;
    let mut overrides = vec![
        format!("client.count={}", whole("clients")?),
        format!("network.link.latency_cycles={}", whole("link_cycles")?),
        format!("network.switch.data_queue_bytes={queue}"),
        format!("network.switch.control_queue_bytes={queue}"),
        format!("network.switch.overflow={}", if trims { "trim" } else { "drop" }),
        format!("machine.transmit.timer.timeout_cycles={}", whole("timeout_cycles")?),
        format!("machine.transport.rtt_packets={}", whole("rtt_packets")?),
    ];
    overrides.extend(setting.machine.iter().map(|text| format!("machine.{text}")));
    Ok(overrides)
}

/// Makes the rows of a curve: how much waits, before and after each cycle in which that changes.
/// `way_cycles` is from a client's first flit until the switch has the packet: time 0 is when the
/// clients' first flits leave.
fn rows(curve: &str, summary: &Summary, way_cycles: u64) -> Vec<Row> {
    let Some(trace) = summary.queues.first() else { return Vec::new() };
    let start = trace.changes.first().map_or(0, |(cycle, ..)| cycle.saturating_sub(way_cycles));
    let us = |cycle: u64| (cycle - start) as f64 * summary.clock.period_ps() / 1e6;
    let (mut changes, mut most, mut last) = (Vec::<(u64, u64, u64)>::new(), 0, start);
    let mut waiting = 0;
    for &(cycle, data, control) in &trace.changes {
        if data < waiting {
            last = cycle + flits(PACKET_BYTES);
        }
        waiting = data;
        most = most.max(data);
        match changes.last_mut() {
            Some(change) if change.0 == cycle => *change = (cycle, data, control),
            _ => changes.push((cycle, data, control)),
        }
    }
    let count = |of: fn(&cluster::SwitchRow) -> u64| summary.switches.iter().map(of).sum::<u64>();
    let row = |cycle: u64, data: u64, control: u64| -> Row {
        vec![
            curve.into(),
            us(cycle).into(),
            (data as f64 / 1e3).into(),
            (control as f64 / 1e3).into(),
            count(|row| row.trimmed).into(),
            count(|row| row.dropped).into(),
            us(last).into(),
            (most / PACKET_BYTES as u64).into(),
        ]
    };
    let mut rows = vec![row(start, 0, 0)];
    let (mut data, mut control) = (0, 0);
    for (cycle, data_now, control_now) in changes {
        rows.push(row(cycle, data, control));
        rows.push(row(cycle, data_now, control_now));
        (data, control) = (data_now, control_now);
    }
    rows
}
