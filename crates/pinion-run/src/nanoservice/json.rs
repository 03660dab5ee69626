//! The summary for machines: the keys are a promise, new ones may be added.

use pinion_nanopu::transport::DropReason;
use serde_json::{Value, json};

use super::summary::Summary;
use pinion_observe::document::Document;
use pinion_observe::fault::Explained;
use pinion_observe::report::{Ending, Report};
use pinion_observe::words::written;

impl Report for Summary {
    fn texts(&self) -> [String; 2] {
        [written(|out| self.write_text(out)), written(|out| self.write_trouble(out))]
    }

    fn has_failures(&self) -> bool {
        self.ending.is_failure() || self.imbalance.is_some()
    }

    fn has_differences(&self) -> bool {
        !self.differences.is_empty()
    }

    fn to_json(&self) -> Value {
        let (receive, transmit) = (&self.receive, &self.transmit);
        let dropped = DropReason::ALL.into_iter();
        let dropped =
            dropped.map(|reason| (reason.name().to_owned(), receive.dropped(reason).into()));
        let dropped: serde_json::Map<String, Value> = dropped.collect();
        let mut all = json!({
            "document": Document::Nanoservice.head(),
            "app": self.app,
            "machine": self.machine,
            "transport": self.transport,
            "ending": self.ending.name(),
            "exit_code": match self.ending {
                Ending::Exited { code, .. } => json!(code),
                _ => Value::Null,
            },
            "stuck": match &self.ending {
                Ending::Stuck(report) => json!(report.lines().collect::<Vec<_>>()),
                _ => Value::Null,
            },
            "simulated_ns": self.simulated().ns(),
            "cycles": self.cycles,
            "ready_cycle": self.ready,
            "host_seconds": self.host.as_secs_f64(),
            "slowdown": self.slowdown(),
            "instructions": self.instructions,
            "simulated_mips": self.simulated_mips(),
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
            "latency_ns": self.latency,
            "harts": self.harts_json(),
            "nic": self.nic_json(),
            "load": self.load_json(),
            "faults": self.faults.iter().map(Explained::to_json).collect::<Vec<_>>(),
            "differences": self.differences,
            "warnings": self.warnings,
            "imbalance": self.imbalance,
            "remarks": self.remarks,
        });
        if let Some(frames) = self.kernel_dropped {
            all["packets"]["dropped_by_kernel"] = json!(frames);
        }
        all
    }
}

impl Summary {
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
