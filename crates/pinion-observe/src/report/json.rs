//! The summary for machines: the keys are a promise, new ones may be added.

use serde_json::{Value, json};

use pinion_spin::listener::DropReason;

use super::ending::Report;
use super::summary::Summary;
use crate::document::Document;
use crate::fault::Explained;
use crate::words::written;

impl Report for Summary {
    fn texts(&self) -> [String; 2] {
        [written(|out| self.write_text(out)), written(|out| self.write_trouble(out))]
    }

    fn has_failures(&self) -> bool {
        self.totals.faults > 0 || self.ending.is_failure() || self.imbalance.is_some()
    }

    fn to_json(&self) -> Value {
        let totals = &self.totals;
        let dropped =
            |reason: DropReason| (reason.name().to_owned(), json!(self.dropped_for(reason)));
        let dropped: serde_json::Map<String, Value> =
            DropReason::ALL.into_iter().map(dropped).collect();
        let mut all = json!({
            "document": Document::PacketHandlers.head(),
            "app": self.app,
            "machine": self.machine,
            "engine": if self.native.is_some() { "native" } else { "simulator" },
            "ending": self.ending.name(),
            "simulated_ns": self.simulated.ns(),
            "active_ns": self.active.ns(),
            "host_seconds": self.host.as_secs_f64(),
            "slowdown": self.slowdown(),
            "cycles": self.cycles,
            "instructions": totals.instructions,
            "ipc": self.ipc(),
            "simulated_mips": self.simulated_mips(),
            "packets": {
                "in": totals.packets_in,
                "matched": totals.matched,
                "processed": totals.processed,
                "out": totals.packets_out,
                "to_host": totals.unmatched,
                "dropped": dropped,
                "resident": totals.resident,
                "handler_errors": totals.faults,
            },
            "bytes": {
                "in": totals.bytes_in,
                "processed": self.processed_bytes,
                "out": totals.bytes_out,
                "to_host_memory": totals.host_bytes,
            },
            "host_writes": totals.host_writes,
            "latency_ns": self.latency,
            "arrival_to_departure_ns": self.transit,
            "throughput_gbit_s": self.throughput_gbit_s(),
            "out_gbit_s": self.out_gbit_s(),
            "hpus": self.hpus,
            "hpu_utilisation": self.hpu_utilisation(),
            "faults": self.faults.iter().map(Explained::to_json).collect::<Vec<_>>(),
            "handlers": self.handlers_json(),
            "remarks": self.remarks,
        });
        if let Some(frames) = self.kernel_dropped {
            all["packets"]["dropped_by_kernel"] = json!(frames);
        }
        if let Some(native) = &self.native {
            all["workers"] = json!(native.workers);
            all["engine_seconds"] = json!(native.engine.as_secs_f64());
            all["packets_per_second"] = json!(self.packets_per_second());
        }
        all
    }
}

impl Summary {
    fn handlers_json(&self) -> Vec<Value> {
        let row = |row: &super::HandlerRow| {
            json!({
                "context": row.context,
                "handler": row.symbol,
                "kind": row.kind,
                "runs": row.runs,
                "failed": row.failed,
                "instructions": row.instructions,
                "stall_cycles": row.stalls.total(),
                "duration_ns": row.quantiles(),
            })
        };
        self.handlers.iter().map(row).collect()
    }
}
