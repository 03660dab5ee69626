//! A small application on a nanoPU, or on the same core behind a DMA NIC. A figure's file asks for it
//! with `run.kind = "application"`.

use std::sync::Arc;

use super::{Application, Bench, NODES};
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use pinion_app::error::Result;

/// Runs applications.
pub(in crate::figure) struct Applications {
    pub bench: Arc<dyn Bench>,
}

impl Kind for Applications {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        // A smaller size is run too, for a line through both.
        &[("application", true), ("size", true), ("node", true), ("smaller", false)]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["cycles", "period_ps", "smaller_cycles"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let node = asked.text("node")?;
        if !NODES.contains(&node) {
            return Err(asked.wrong("node", &format!("one of {}", NODES.join(", "))));
        }
        let cycles = |size: u64| {
            let name = asked.text("application")?.to_owned();
            let run = Application { name, size, dma_nic: node == NODES[1] };
            self.bench.application(&run, setting)
        };
        let smaller = asked.whole_if_any("smaller")?.map(cycles).transpose()?;
        let cycles = cycles(asked.whole("size")?)?;
        let period_ps = self.bench.clock(setting)?.period_ps();
        Ok(vec![Record::from([
            ("cycles", cycles.into()),
            ("period_ps", period_ps.into()),
            ("smaller_cycles", smaller.map(|cycles| cycles as f64).into()),
        ])])
    }
}
