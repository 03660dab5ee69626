//! `pspin-fig9`: packets that come in and go out again, to the network or to host memory, from L1 or
//! from the L2 packet buffer (PsPIN paper, figure 9).

use std::sync::Arc;

use super::load::{Load, Pace};
use super::nic;
use super::observed::observe;
use super::programs::{Programs, Source};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// Names the curves, and their handlers.
const CURVES: [(&str, &str); 4] = [
    ("ping-pong from L1", "ping_pong_l1"),
    ("ping-pong from L2", "ping_pong_l2"),
    ("to host from L1", "to_host_l1"),
    ("to host from L2", "to_host_l2"),
];

pub(super) struct Fig9 {
    pub programs: Arc<Programs>,
}

impl Figure for Fig9 {
    fn name(&self) -> &'static str {
        "pspin-fig9"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::text("flow"),
            Column::number("bytes", "", 0),
            Column::number("throughput", "Gbit/s", 1),
            Column::number("inbound", "Gbit/s", 1),
            Column::number("instructions", "", 1),
            Column::number("handler", "ns", 1),
            Column::number("l1_stalls", "cycles", 2),
            Column::number("command_stalls", "cycles", 1),
        ]
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let sizes = parameters.list("bytes")?;
        let point = |curve: &str, x: f64| Point {
            label: format!("{curve}, {x} B"),
            curve: curve.to_owned(),
            x,
            stream: x as u64,
        };
        let all = CURVES.iter().flat_map(|(curve, _)| sizes.iter().map(move |&x| point(curve, x)));
        Ok(all.collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let mut overrides = vec![
            format!("network.rate_mbit_s={}", parameters.whole("network_mbit_s")?),
            format!("pcie.rate_mbit_s={}", parameters.whole("pcie_mbit_s")?),
        ];
        overrides.extend_from_slice(setting.machine);
        let app = self.programs.app(Source::Figures, &overrides, setting.build_dir)?;
        let load = Load {
            packets: parameters.whole("packets")?,
            bytes: point.x as u32,
            messages: parameters.whole("messages")? as u32,
            pace: Pace::BackToBack,
            argument: 0,
        };
        let handler = CURVES.iter().find(|(curve, _)| *curve == point.curve);
        let handler = handler.map_or("", |(_, handler)| handler);
        let observed = observe(&mut nic(&app, handler, &[])?, &mut load.traffic(), false)?;
        let out = match observed.departures.is_empty() {
            true => observed.host_gbit_s(),
            false => observed.outbound_gbit_s(),
        };
        Ok(vec![vec![
            point.curve.as_str().into(),
            point.x.into(),
            out.into(),
            observed.inbound_gbit_s().into(),
            observed.handler_instructions().into(),
            observed.handler_ns().into(),
            observed.mean_of_handlers(|record| record.stalls.l1 as f64).into(),
            observed.mean_of_handlers(|record| record.stalls.command as f64).into(),
        ]])
    }
}
