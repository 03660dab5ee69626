//! `pspin-latency`: where the nanoseconds of a packet go when nothing is in its way (PsPIN paper,
//! §IV-B1), and how long completions wait for each other when something is. Code, since a stage lies
//! between events of two runs.

use std::sync::Arc;

use pinion_spin::{UnitEvent, UnitEventKind};

use super::load::{Load, Pace};
use super::nic;
use super::observed::{Observed, observe};
use super::programs::{Programs, Source};
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::{Error, Result};

/// Names the stages: from what the units say to what they say next.
const STAGES: [(&str, UnitEventKind, UnitEventKind); 6] = [
    ("to the cluster scheduler", UnitEventKind::HerIn, UnitEventKind::ClusterTask),
    ("copy L2 to L1", UnitEventKind::ClusterTask, UnitEventKind::DmaResponse),
    ("to the HPU", UnitEventKind::DmaResponse, UnitEventKind::HpuTask),
    // Its two parts are told apart below.
    (RUN, UnitEventKind::HpuTask, UnitEventKind::HpuFeedbackPush),
    ("completion leaves the HPU", UnitEventKind::HpuFeedbackPush, UnitEventKind::HpuFeedback),
    ("completion to the NIC", UnitEventKind::HpuFeedback, UnitEventKind::FeedbackMpq),
];
const RUN: &str = "run";
const INVOKE: &str = "runtime calls the handler";
const RETURN: &str = "handler returns, doorbell";
const WHOLE: &str = "whole";
/// Instructions of `mark` before the store that is seen.
const BEFORE_MARK: f64 = 1.0;

/// Names the rows of a loaded machine.
const WAITS: [(&str, UnitEventKind, UnitEventKind); 2] = [
    ("longest wait for other HPUs", UnitEventKind::HpuFeedbackPush, UnitEventKind::HpuFeedback),
    ("longest wait for other clusters", UnitEventKind::HpuFeedback, UnitEventKind::FeedbackMpq),
];
const LOADED: &str = "loaded";

pub(super) struct Latency {
    pub programs: Arc<Programs>,
}

impl Figure for Latency {
    fn name(&self) -> &'static str {
        "pspin-latency"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("packet"),
            Column::text("stage"),
            Column::number("time", "ns", 1),
            Column::number("from", "ns", 1),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let point = |curve: &str, x: f64| Point {
            label: format!("{curve} {x} B"),
            curve: curve.to_owned(),
            x,
            stream: 0,
            ..Point::default()
        };
        let sizes = parameters.list("bytes")?;
        let mut points: Vec<Point> = sizes.into_iter().map(|x| point("alone", x)).collect();
        points.push(point(LOADED, parameters.number("loaded_bytes")?));
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let app = self.programs.app(Source::Figures, setting.machine, setting.build_dir)?;
        let run = |handler: &str, packets: u64, pace: Pace| {
            let (bytes, messages) = (point.x as u32, setting.parameters.whole("messages")? as u32);
            let load = Load { packets, bytes, messages, pace, argument: 0 };
            observe(&mut nic(&app, handler, &[])?, &mut load.traffic(), true)
        };
        let packet = format!("{} B", point.x);
        if point.curve == LOADED {
            let packets = setting.parameters.whole("loaded_packets")?;
            let rate = Pace::Rate(setting.parameters.whole("loaded_mbit_s")?);
            let observed = run("alu_0", packets, rate)?;
            return Ok(waits(&format!("{packet}, {LOADED}"), &observed));
        }
        let packets = setting.parameters.whole("packets")?;
        let pace = Pace::Apart(setting.parameters.whole("gap_ns")?);
        let empty = run("alu_0", packets, pace)?;
        let marked = run("mark", packets, pace)?;
        Ok(rows(&packet, &stages(&empty, &marked)?))
    }
}

/// Gives the stages of the last packet that came alone: name and nanoseconds.
fn stages(empty: &Observed, marked: &Observed) -> Result<Vec<(&'static str, f64)>> {
    let missing = || Error::Usage("a packet's way is not complete in the fine trace".to_owned());
    let period_ns = period_ns(empty).ok_or_else(missing)?;
    let mut stages = Vec::new();
    for (name, from, to) in STAGES {
        let cycles = last(&empty.units, to).zip(last(&empty.units, from)).ok_or_else(missing)?;
        let time = (cycles.0 as f64 - cycles.1 as f64) * period_ns;
        if name != RUN {
            stages.push((name, time));
            continue;
        }
        let task = last(&marked.units, UnitEventKind::HpuTask).ok_or_else(missing)?;
        let mark = marked.marks.last().ok_or_else(missing)?.ns();
        let invoke = mark - (task as f64 + BEFORE_MARK) * period_ns;
        stages.push((INVOKE, invoke));
        stages.push((RETURN, time - invoke));
    }
    Ok(stages)
}

/// Gives the cycle of the last event of a kind.
fn last(units: &[UnitEvent], kind: UnitEventKind) -> Option<u64> {
    units.iter().rev().find(|unit| unit.kind == kind).map(|unit| unit.cycle)
}

/// Gives the clock's period: the last completion is known in cycles and in time.
fn period_ns(observed: &Observed) -> Option<f64> {
    let cycle = last(&observed.units, UnitEventKind::FeedbackMpq)?;
    Some(observed.packets.last()?.completion.ns() / cycle as f64)
}

fn rows(packet: &str, stages: &[(&'static str, f64)]) -> Vec<Row> {
    let mut from = 0.0;
    let mut rows: Vec<Row> = Vec::new();
    for (stage, time) in stages {
        rows.push(vec![packet.into(), (*stage).into(), (*time).into(), from.into()]);
        from += time;
    }
    rows.push(vec![packet.into(), WHOLE.into(), from.into(), 0.0.into()]);
    rows
}

/// Gives the longest that completions wait for others in the steady middle, beyond the cycle that they
/// take alone.
fn waits(packet: &str, observed: &Observed) -> Vec<Row> {
    let (start, end) = observed.steady_cycles();
    let row = |(name, from, to): (&str, UnitEventKind, UnitEventKind)| -> Row {
        let mut longest = 0;
        let mut begun = std::collections::BTreeMap::new();
        for unit in &observed.units {
            // A packet's address is its own until its completion has come back.
            if unit.kind == from {
                begun.insert(unit.address, unit.cycle);
            } else if unit.kind == to
                && let Some(since) = begun.remove(&unit.address)
                && (start..=end).contains(&unit.cycle)
            {
                longest = longest.max((unit.cycle - since).saturating_sub(1));
            }
        }
        let period_ns = period_ns(observed).unwrap_or(f64::NAN);
        let time = longest as f64 * period_ns;
        vec![packet.into(), name.into(), time.into(), 0.0.into()]
    };
    WAITS.into_iter().map(row).collect()
}
