//! Threads, the calls of each, and what variables a call has.

use pinion_observe::fault::Registers;
use serde::Deserialize;
use serde_json::{Value, json};

use super::requests::{Answer, Session, State, read};
use super::variables::{Node, reference};
use crate::Width;
use crate::symbols::{Frame, Scene};

/// Calls that are listed at a time, unless fewer are asked for.
const FRAMES_MAX: u64 = 1000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    thread_id: u64,
    #[serde(default)]
    start_frame: u64,
    #[serde(default)]
    levels: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scopes {
    frame_id: u64,
}

impl Session<'_, '_> {
    pub fn threads(&self) -> Value {
        let name = |hart: u32| match self.state {
            // What they work at changes while it is read.
            State::Running { .. } => self.console.timeline.machine().name(hart),
            _ => self.console.timeline.describe(hart),
        };
        let harts = 0..self.console.timeline.harts();
        let threads: Vec<Value> =
            harts.map(|hart| json!({ "id": hart + 1, "name": name(hart) })).collect();
        json!({ "threads": threads })
    }

    /// Reads memory as a hart sees it.
    pub fn memory(&self, hart: u32) -> impl Fn(u64, &mut [u8]) -> usize {
        let timeline = &self.console.timeline;
        move |address, buffer| timeline.read(hart, address, buffer)
    }

    /// Lists the calls of a hart, the innermost first.
    pub fn calls(&self, hart: u32) -> Vec<Frame> {
        let timeline = &self.console.timeline;
        let memory = self.memory(hart);
        let x = timeline.registers(hart);
        let registers = match timeline.machine().width() {
            Width::Rv32 => Registers::Rv32(x.map(|value| value as u32)),
            Width::Rv64 => Registers::Rv64(x),
        };
        self.symbols.frames(&Scene { pc: timeline.pc(hart), registers, memory: &memory })
    }

    pub fn stack_trace(&mut self, arguments: Value) -> Answer {
        let Trace { thread_id, start_frame, levels } = read(arguments)?;
        let hart = self.hart(thread_id)?;
        let frames = self.calls(hart);
        let total = frames.len();
        let count = if levels == 0 { FRAMES_MAX } else { levels.min(FRAMES_MAX) };
        let chosen = frames.into_iter().skip(start_frame as usize).take(count as usize);
        let told: Vec<Value> = chosen.map(|frame| self.frame(hart, frame)).collect();
        Ok(json!({ "stackFrames": told, "totalFrames": total }))
    }

    fn frame(&mut self, hart: u32, frame: Frame) -> Value {
        let mut told = json!({
            "name": frame.function,
            "line": 0,
            "column": 0,
            "instructionPointerReference": reference(frame.pc),
        });
        if let Some((file, line)) = &frame.source {
            told["line"] = json!(line);
            told["column"] = json!(1);
            let name = file.rsplit('/').next();
            told["source"] = json!({ "name": name, "path": file });
        }
        told["id"] = json!(self.handles.add_frame(hart, frame));
        told
    }

    pub fn scopes(&mut self, arguments: Value) -> Answer {
        let Scopes { frame_id } = read(arguments)?;
        let (hart, frame) = self.handles.frame(frame_id)?;
        self.console.focus = hart;
        let globals = self.symbols.globals_near(frame.within).len();
        let file = frame.source.as_ref().and_then(|(file, _)| file.rsplit('/').next());
        let of_file = format!("Globals of {}", file.unwrap_or("the file"));
        let mut scopes = Vec::new();
        let mut add = |name: &str, hint: &str, node: Node| {
            let node = self.handles.add(node);
            scopes.push(json!({
                "name": name,
                "presentationHint": hint,
                "variablesReference": node,
                "expensive": false,
            }));
        };
        add("Locals", "locals", Node::Locals(frame_id));
        if globals > 0 {
            add(&of_file, "globals", Node::Globals(frame_id));
        }
        add("Registers", "registers", Node::Registers(frame_id));
        add("CSRs", "registers", Node::Csrs(hart));
        Ok(json!({ "scopes": scopes }))
    }
}
