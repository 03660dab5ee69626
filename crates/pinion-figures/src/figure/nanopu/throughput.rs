//! A core that receives or sends messages as fast as it can. A figure's file asks for it with
//! `run.kind = "throughput"`.

use std::sync::Arc;

use super::{Bench, Throughput};
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use pinion_app::error::Result;

/// Bytes of headers in a packet (nanoPU artifact, one word of the datapath).
const HEADER_BYTES: u64 = 64;
/// Bytes of a message in a packet (nanoPU artifact, MAX_SEG_LEN).
const PACKET_BYTES: u64 = 1024;

/// Measures throughput.
pub(in crate::figure) struct Throughputs {
    pub bench: Arc<dyn Bench>,
}

impl Kind for Throughputs {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        // The length is `fixed` or `variable`, the direction `receive` or `send`.
        &[("length", true), ("direction", true), ("message_bytes", true), ("messages", true)]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["cycles", "seconds", "wire_bytes"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let one_of = |key: &str, [yes, no]: [&str; 2]| match asked.text(key)? {
            text if text == yes => Ok(true),
            text if text == no => Ok(false),
            _ => Err(asked.wrong(key, &format!("`{yes}` or `{no}`"))),
        };
        let run = Throughput {
            sends: one_of("direction", ["send", "receive"])?,
            fixed_length: one_of("length", ["fixed", "variable"])?,
            message_bytes: asked.whole("message_bytes")?,
            messages: asked.whole("messages")?,
        };
        let cycles = self.bench.throughput(&run, setting)?;
        let seconds = cycles as f64 / self.bench.clock(setting)?.hz();
        let packets = run.message_bytes.div_ceil(PACKET_BYTES).max(1);
        let wire_bytes = run.message_bytes + packets * HEADER_BYTES;
        Ok(vec![Record::from([
            ("cycles", cycles.into()),
            ("seconds", seconds.into()),
            ("wire_bytes", wire_bytes.into()),
        ])])
    }
}
