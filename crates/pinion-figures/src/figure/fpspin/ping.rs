//! Pings of the NIC by ICMP or UDP, answered by the host, by handlers, or by both. A figure's file asks
//! for it with `run.kind = "ping"`.

use std::sync::Arc;

use pinion_sim::Time;
use pinion_spin::Nic;

use super::bench::{Bench, flags_address};
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::pspin::programs::Programs;
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_run::cosim::{self, Actor, Cosim, Echo, Idle, Kernel, Ping, PingPlan, Poller, Protocol};

/// The port that the example echoes.
const UDP_PORT: u16 = 9500;
/// Longer than any run.
const LIMIT: Time = Time::from_ns(100_000_000_000);

/// Runs pings.
pub(in crate::figure) struct Pings {
    pub programs: Arc<Programs>,
}

impl Kind for Pings {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("machine", true),
            ("on", false),
            ("host", true),
            // `ICMP` or `UDP`.
            ("protocol", true),
            // Who answers: `Host`, `FPsPIN` or `Host+FPsPIN`.
            ("mode", true),
            ("payload_bytes", true),
            ("pings", true),
            ("interval_us", true),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["rtt_us", "handler_us"]
    }

    fn takes_machine(&self) -> bool {
        true
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let bench = Bench::new(&self.programs, asked, setting)?;
        let (rtt_us, handler_us) = round_trip(&bench, asked)?;
        Ok(vec![Record::from([("rtt_us", rtt_us.into()), ("handler_us", handler_us.into())])])
    }
}

/// Gives the median round trip and the mean time of a handler, in µs.
fn round_trip(bench: &Bench<'_>, asked: &Asked<'_>) -> Result<(f64, Option<f64>)> {
    let (example, protocol) = match asked.text("protocol")? {
        "ICMP" => ("icmp_echo", Protocol::Icmp),
        "UDP" => ("udp_echo", Protocol::Udp { port: UDP_PORT }),
        _ => return Err(asked.wrong("protocol", "`ICMP` or `UDP`")),
    };
    let plan = PingPlan {
        protocol,
        payload_bytes: asked.whole("payload_bytes")? as usize,
        count: asked.whole("pings")? as u32,
        interval_ns: asked.whole("interval_us")? * 1000,
    };
    let client = Ping::new(&bench.host, plan)?;
    match asked.text("mode")? {
        "Host" => {
            let app = bench.app(&handlers(example))?;
            run(bench, &app, cosim::unmatched_nic(&app)?, Kernel::new(&bench.host), client)
        }
        "FPsPIN" => {
            let app = bench.app(&handlers(example))?;
            run(bench, &app, cosim::nic(&app)?, Idle, client)
        }
        "Host+FPsPIN" => {
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
        _ => Err(asked.wrong("mode", "`Host`, `FPsPIN` or `Host+FPsPIN`")),
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
