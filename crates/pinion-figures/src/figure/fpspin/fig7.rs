//! `fpspin-fig7`: ping-pong by ICMP and UDP, answered by the host, by handlers, or by both (FPsPIN
//! paper, figure 7). Code, since each curve has other programs on the host's side.

use std::sync::Arc;

use pinion_sim::Time;
use pinion_spin::Nic;

use super::bench::{self, Bench, flags_address};
use super::published::{self, PUBLISHED};
use crate::figure::pspin::programs::Programs;
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_run::cosim::{self, Actor, Cosim, Echo, Idle, Kernel, Ping, PingPlan, Poller, Protocol};

/// Names protocol and mode.
const CURVES: [&str; 6] = [
    "ICMP, Host",
    "ICMP, FPsPIN",
    "ICMP, Host+FPsPIN",
    "UDP, Host",
    "UDP, FPsPIN",
    "UDP, Host+FPsPIN",
];
/// The port that the example echoes.
const UDP_PORT: u16 = 9500;
/// Longer than any run.
const LIMIT: Time = Time::from_ns(100_000_000_000);

pub(super) struct Fig7 {
    pub programs: Arc<Programs>,
}

impl Figure for Fig7 {
    fn name(&self) -> &'static str {
        "fpspin-fig7"
    }

    fn takes_machine(&self) -> bool {
        true
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("curve"),
            Column::number("payload", "B", 0),
            Column::number("rtt", "µs", 2),
            Column::number("published", "µs", 1),
            Column::number("handler", "µs", 2),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let names = CURVES.map(str::to_owned);
        let sizes = parameters.list("payload_bytes")?;
        let mut points = Vec::new();
        for curve in bench::curves(&names, parameters)? {
            points.extend(sizes.iter().map(|&x| Point {
                label: format!("{curve}, {x} B"),
                curve: curve.clone(),
                x,
                stream: x as u64,
                ..Point::default()
            }));
        }
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let bench = Bench::new(&self.programs, &point.curve, setting)?;
        let (rtt_us, handler_us) = round_trip(&bench, point)?;
        let at = published::at(setting.parameters, &point.curve, Some("published_bytes"), point.x)?;
        let curve = point.curve.as_str();
        let mut rows =
            vec![vec![curve.into(), point.x.into(), rtt_us.into(), at.clone(), handler_us.into()]];
        if at != Cell::Missing {
            let name = format!("{PUBLISHED}{curve}");
            rows.push(vec![name.into(), point.x.into(), at, Cell::Missing, Cell::Missing]);
        }
        Ok(rows)
    }
}

/// Gives the median round trip and the mean time of a handler, in µs.
fn round_trip(bench: &Bench<'_>, point: &Point) -> Result<(f64, Option<f64>)> {
    let name = bench::split(&point.curve).0;
    let (protocol, mode) = name
        .split_once(", ")
        .ok_or_else(|| Error::Usage(format!("`{name}` names no protocol and mode")))?;
    let (example, protocol) = match protocol {
        "ICMP" => ("icmp_echo", Protocol::Icmp),
        _ => ("udp_echo", Protocol::Udp { port: UDP_PORT }),
    };
    let plan = PingPlan {
        protocol,
        payload_bytes: point.x as usize,
        count: bench.parameters().whole("pings")? as u32,
        interval_ns: bench.parameters().whole("interval_us")? * 1000,
    };
    let client = Ping::new(&bench.host, plan)?;
    match mode {
        "Host" => {
            let app = bench.app(&handlers(example))?;
            run(bench, &app, cosim::unmatched_nic(&app)?, Kernel::new(&bench.host), client)
        }
        "FPsPIN" => {
            let app = bench.app(&handlers(example))?;
            run(bench, &app, cosim::nic(&app)?, Idle, client)
        }
        _ => {
            let app = bench.app(&format!("{example}/host_fpspin"))?;
            let program = Poller::new(
                &bench.host,
                Echo::new(&bench.host),
                app.contexts[0].host_memory_address,
                app.machine.value.hpus(),
                flags_address(&app)?,
            );
            run(bench, &app, cosim::nic(&app)?, program, client)
        }
    }
}

/// Names the folder of the handlers that answer themselves.
fn handlers(example: &str) -> String {
    match example {
        "icmp_echo" => "icmp_echo/fpspin".to_owned(),
        other => other.to_owned(),
    }
}

fn run(
    bench: &Bench<'_>,
    app: &App,
    nic: Nic,
    host: impl Actor,
    client: Ping,
) -> Result<(f64, Option<f64>)> {
    let mut cosim = Cosim::new(nic, &bench.host, host, client).skip(app.skipped_bytes());
    cosim.run(LIMIT)?;
    let handler_us = cosim.heard().handler_ns().map(|ns| ns / 1000.0);
    Ok((cosim.peer.median_us()?, handler_us))
}
