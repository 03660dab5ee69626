//! A key-value store on four cores under a load, its requests by JBSQ or by the key. A figure's file
//! asks for it with `run.kind = "store"`.

use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution, Matching, StoreRequests};

use super::service::answers;
use super::sweep::Sweep;
use super::{Bench, Store};
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::{Cell, Setting};
use pinion_app::error::Result;

/// Cores of the example.
const CORES: u16 = 4;

/// Runs stores.
pub(in crate::figure) struct Stores {
    pub bench: Arc<dyn Bench>,
}

impl Kind for Stores {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            // `JBSQ`: one context for all cores; `static`: the key decides the core.
            ("assignment", true),
            ("pairs", true),
            ("value_bytes", true),
            ("link_cycles", true),
            // Of each core.
            ("gap_cycles", true),
            ("requests", true),
            ("window_cycles", true),
            // What a request takes, to bound how long the last ones are waited for.
            ("service_cycles", true),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[
            "offered", "answered", "p99", "p50", "mean", "missing", "p99_low", "p99_high",
            "requests", "p99_ns", "p50_ns", "mean_ns", "wrong", "cores",
        ]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let is_shared = match asked.text("assignment")? {
            "JBSQ" => true,
            "static" => false,
            _ => return Err(asked.wrong("assignment", "`JBSQ` or `static`")),
        };
        let keys = asked.whole("pairs")?;
        let store = Store { is_shared, pairs: keys, link_cycles: asked.whole("link_cycles")? };
        let service = Distribution::Fixed { cycles: asked.number("service_cycles")? };
        let sweep = Sweep {
            requests: asked.whole("requests")?,
            window_cycles: asked.whole("window_cycles")?,
            gap_cycles: asked.number("gap_cycles")? / f64::from(CORES),
        };
        let mut load = sweep.load(setting, service);
        load.contexts = if is_shared { Contexts::Fixed(0) } else { Contexts::Uniform(CORES) };
        load.matching = Matching::SentTime;
        let value_bytes = asked.whole("value_bytes")? as u16;
        load.store = Some(StoreRequests { keys, value_bytes });
        let report = self.bench.store(&store, load, setting)?;
        let mut record = answers(&report, &report.all, self.bench.clock(setting)?);
        record.insert("wrong", Cell::from(report.wrong));
        record.insert("cores", Cell::from(u64::from(CORES)));
        Ok(vec![record])
    }
}
