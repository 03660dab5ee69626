//! Writes to replicas in a chain. A figure's file asks for it with `run.kind = "chain"`.

use std::sync::Arc;

use pinion_net::load::Latencies;

use super::{Bench, Chain};
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::{Cell, Setting};
use pinion_app::error::Result;

/// Runs chains.
pub(in crate::figure) struct Chains {
    pub bench: Arc<dyn Bench>,
}

impl Kind for Chains {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("replicas", true),
            ("pairs", true),
            ("writes", true),
            // 0: one write after the other.
            ("gap_cycles", true),
            ("link_cycles", true),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["offered", "mean", "p50", "p99", "client_ns", "writes"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let gap_cycles = asked.whole("gap_cycles")?;
        let run = Chain {
            replicas: asked.whole("replicas")?,
            pairs: asked.whole("pairs")?,
            writes: asked.whole("writes")?,
            gap_cycles,
            link_cycles: asked.whole("link_cycles")?,
        };
        let report = self.bench.chain(&run, setting)?;
        let clock = self.bench.clock(setting)?;
        let mut latencies = Latencies::new(true);
        for cycles in &report.latencies_cycles {
            latencies.record(*cycles);
        }
        let us = |cycles: Option<f64>| Cell::from(cycles.map(|c| c * clock.period_ps() / 1e6));
        let offered = (gap_cycles > 0).then(|| clock.hz() / gap_cycles as f64 / 1e6);
        Ok(vec![Record::from([
            ("offered", offered.unwrap_or(0.0).into()),
            ("mean", us(latencies.mean_cycles())),
            ("p50", us(latencies.quantile(0.5))),
            ("p99", us(latencies.quantile(0.99))),
            ("client_ns", (report.client_cycles * clock.period_ps() / 1e3).into()),
            ("writes", Cell::from(latencies.count())),
        ])])
    }
}
