//! The summary for machines: the keys are a promise, new ones may be added.

use pinion_nanopu::transport::DropReason;
use serde_json::{Map, Value, json};

use super::summary::{Nanoservice, Summary};
use pinion_observe::document::Document;
use pinion_observe::report::{Ending, Section, as_keys};

impl Section for Nanoservice {
    const DOCUMENT: Document = Document::Nanoservice;

    fn write_counts(run: &Summary, out: &mut String) -> std::fmt::Result {
        run.section.write_text(run, out)
    }

    fn keys(run: &Summary) -> Map<String, Value> {
        let section = &run.section;
        let exit_code = match run.ending {
            Ending::Exited { code, .. } => Some(code),
            _ => None,
        };
        let stuck = match &run.ending {
            Ending::Stuck(report) => Some(report.lines().collect::<Vec<_>>()),
            _ => None,
        };
        let mut keys = section.counts();
        keys.extend(as_keys(json!({
            "exit_code": exit_code,
            "stuck": stuck,
            "ready_cycle": section.ready,
            "load": section.load_json(),
            "differences": run.differences,
            "warnings": run.warnings,
            "imbalance": run.imbalances.first(),
        })));
        keys
    }
}

impl Nanoservice {
    /// Gives what was counted, as a node of a cluster tells it too.
    pub(crate) fn counts(&self) -> Map<String, Value> {
        let (receive, transmit) = (&self.receive, &self.transmit);
        let dropped = DropReason::ALL.into_iter();
        let dropped =
            dropped.map(|reason| (reason.name().to_owned(), receive.dropped(reason).into()));
        let dropped: Map<String, Value> = dropped.collect();
        let mut keys = as_keys(json!({
            "transport": self.transport,
            "packets": {
                "in": self.frames.frames_in,
                "delivered": receive.delivered_packets,
                "control": receive.control,
                "trimmed": receive.trimmed,
                "dropped": dropped,
                "resident": receive.resident_packets + self.undecided(),
                "out": self.frames.frames_out,
            },
            "bytes": {
                "in": self.frames.bytes_in,
                "out": self.frames.bytes_out,
                "payload_out": self.frames.payload_out,
            },
            "messages": {
                "in": receive.delivered_messages,
                "out": transmit.messages,
                "out_delivered": transmit.delivered,
                "out_undelivered": self.undelivered,
            },
            "harts": self.harts_json(),
            "nic": self.nic_json(),
        }));
        if !self.pipelines.is_empty() {
            let pipeline = super::pipeline::to_json(&self.pipelines, &self.transmit);
            keys.insert("pipeline".to_owned(), pipeline);
        }
        keys
    }

    fn harts_json(&self) -> Vec<Value> {
        let row = |row: &super::summary::HartRow| {
            let mut value = json!(row);
            value["ipc"] = json!(row.ipc());
            value
        };
        self.harts.iter().map(row).collect()
    }

    fn nic_json(&self) -> Value {
        let counters = &self.transmit;
        json!({
            "words_out": counters.words,
            "words_lost": counters.words_lost,
            "words_unknown_context": counters.words_unknown_context,
            "words_refused": counters.words_refused,
            "messages_refused_empty": counters.refused_empty,
            "messages_refused_oversize": counters.refused_oversize,
            "data_packets": counters.packets,
            "data_packets_again": counters.packets_again,
            "timeouts": counters.timeouts,
            "control_frames": counters.control_frames,
            "acknowledgements": counters.acknowledgements,
            "negative_acknowledgements": counters.negative_acknowledgements,
            "pulls": counters.pulls,
            "control_frames_dropped": counters.control_frames_dropped,
            "stray_acknowledgements": counters.stray_acknowledgements,
            "stray_credits": counters.stray_credits,
            "unmatched_done": self.receive.unmatched_done,
        })
    }

    fn load_json(&self) -> Value {
        let Some(load) = &self.load else { return Value::Null };
        pinion_observe::load::to_json(load, self.clock)
    }
}
