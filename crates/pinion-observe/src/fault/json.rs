//! A fault for machines: the keys are a promise, new ones may be added.

use pinion_spin::listener::Fault as FaultKind;
use serde_json::{Map, Value, json};

use super::explain::{Explained, Frame, missing_instruction};
use super::packet::SHOWN_BYTES;
use super::record::{Fault, Origin, Registers};
use crate::words::kind_name;

impl Explained {
    /// Gives the fault as JSON.
    pub fn to_json(&self) -> Value {
        let fault = &self.fault;
        let (kind, cause) = match fault.kind {
            FaultKind::Exception { cause } => ("exception", json!(cause)),
            FaultKind::Watchdog { limit_cycles } => ("watchdog", json!(limit_cycles)),
            FaultKind::Released => ("released", Value::Null),
            FaultKind::BadCommand { what } => ("bad_command", json!(what)),
            FaultKind::HpuLost => ("hpu_lost", Value::Null),
        };
        let mut all = json!({
            "ns": fault.time.ns(),
            "count": fault.count,
            "kind": kind,
            "cause": cause,
            "wrong": self.wrong.name,
            "words": self.wrong.words,
            "pc": fault.pc,
            "place": self.place,
            "source": self.source,
            "address": fault.address,
            "missing": missing_instruction(fault),
            "instruction": self.instruction,
            "backtrace": self.frames.iter().map(Frame::to_json).collect::<Vec<_>>(),
            "registers": self.registers_json(),
        });
        if matches!(fault.kind, FaultKind::Watchdog { .. }) {
            let each = self.loops.iter();
            all["loops"] =
                each.map(|one| json!({ "function": one.function, "lines": one.lines })).collect();
        }
        match &fault.origin {
            Origin::Handler(origin) => {
                all["context"] = json!(self.context);
                all["handler"] = json!(kind_name(origin.kind));
                all["message"] = json!(origin.message);
                all["packet"] = json!(origin.packet);
                all["cluster"] = json!(origin.cluster);
                all["hpu"] = json!(origin.hpu);
                all["packet_bytes"] = json!(fault.packet.len());
                all["packet_head"] = json!(head(fault));
                all["headers"] = json!(self.headers);
            }
            Origin::Thread(thread) => {
                all["program"] = json!(self.context);
                all["hart"] = json!(thread.hart);
                all["context"] = json!(thread.context);
                all["message"] = match thread.message {
                    Some(message) => json!({
                        "address": message.address,
                        "port": message.port,
                        "bytes": message.bytes,
                        "done": message.is_done,
                        "head": head(fault),
                    }),
                    None => Value::Null,
                };
            }
        }
        all
    }

    fn registers_json(&self) -> Value {
        let all = self.registers().into_iter();
        let width = if matches!(self.fault.registers, Registers::Rv32(_)) { 10 } else { 18 };
        // As text: numbers of 64 bits are more than many readers of JSON take.
        let map: Map<String, Value> = all
            .map(|(name, value)| (name.to_owned(), json!(format!("{value:#0width$x}"))))
            .collect();
        Value::Object(map)
    }
}

/// Writes the first bytes of the packet or message in hexadecimal.
fn head(fault: &Fault) -> String {
    fault.packet.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

impl Frame {
    fn to_json(&self) -> Value {
        json!({
            "pc": self.pc,
            "function": self.place.function,
            "file": self.place.file,
            "line": self.place.line,
            "inlined": self.is_inlined,
            "calls": self.times,
        })
    }
}
