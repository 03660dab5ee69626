//! Variables, registers, and expressions: their values in words, and what those are made of.

use pinion_isa::REGISTER_NAMES;
use serde::Deserialize;
use serde_json::{Value, json};

use super::requests::{Answer, Session, read};
use crate::symbols::{Answer as Found, Content, Frame, Names, Value as Held};

/// Elements of an array that are listed unless the editor says which.
const ELEMENTS_MAX: u64 = 1000;

/// Something that an editor can open.
#[derive(Clone, Debug)]
pub enum Node {
    /// The variables of a call.
    Locals(u64),
    /// Those of no function, of the call's file.
    Globals(u64),
    /// A call's registers.
    Registers(u64),
    /// A hart's CSRs.
    Csrs(u32),
    /// The parts of a value.
    Parts {
        /// Whose memory it is in.
        hart: u32,
        /// The value.
        value: Held,
        /// What it is called.
        name: String,
    },
}

/// What was told to an editor with a number, until the run goes on.
#[derive(Debug, Default)]
pub struct Handles {
    frames: Vec<(u32, Frame)>,
    nodes: Vec<Node>,
}

impl Handles {
    pub fn clear(&mut self) {
        self.frames.clear();
        self.nodes.clear();
    }

    pub fn add_frame(&mut self, hart: u32, frame: Frame) -> u64 {
        self.frames.push((hart, frame));
        self.frames.len() as u64
    }

    pub fn frame(&self, id: u64) -> Result<(u32, Frame), String> {
        let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        let found = index.and_then(|index| self.frames.get(index)).cloned();
        found.ok_or_else(|| format!("there is no call {id} at this stop"))
    }

    pub fn add(&mut self, node: Node) -> u64 {
        self.nodes.push(node);
        self.nodes.len() as u64
    }

    fn node(&self, id: u64) -> Result<Node, String> {
        let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        let found = index.and_then(|index| self.nodes.get(index)).cloned();
        found.ok_or_else(|| format!("there is no variable {id} at this stop"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    variables_reference: u64,
    #[serde(default)]
    start: u64,
    #[serde(default)]
    count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expression {
    expression: String,
    frame_id: Option<u64>,
}

/// Writes an address as the editor gives it back.
pub fn reference(address: u64) -> String {
    format!("{address:#x}")
}

impl Session<'_, '_> {
    /// Reads an address as it was written, or a number.
    pub fn address(&self, text: &str) -> Result<u64, String> {
        let value = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        value.map_err(|_| format!("`{text}` is no address"))
    }

    pub fn variables(&mut self, arguments: Value) -> Answer {
        let Opened { variables_reference, start, count } = read(arguments)?;
        let told = match self.handles.node(variables_reference)? {
            Node::Locals(frame) => self.named_variables(frame, false)?,
            Node::Globals(frame) => self.named_variables(frame, true)?,
            Node::Registers(frame) => registers(&self.handles.frame(frame)?.1),
            Node::Csrs(hart) => self.csrs(hart),
            Node::Parts { hart, value, name } => {
                let count = if count == 0 { ELEMENTS_MAX } else { count };
                let range = start..start.saturating_add(count);
                let children = self.symbols.children(&value, range, &self.memory(hart));
                let mut told = Vec::new();
                for child in children {
                    let full = match &child.suffix {
                        Some(suffix) => format!("{name}{suffix}"),
                        None => format!("*{name}"),
                    };
                    told.push(self.variable(hart, &child.name, &full, child.value));
                }
                told
            }
        };
        Ok(json!({ "variables": told }))
    }

    fn named_variables(&mut self, id: u64, of_file: bool) -> Result<Vec<Value>, String> {
        let (hart, frame) = self.handles.frame(id)?;
        let found = match of_file {
            true => self.symbols.globals_near(frame.within),
            false => self.symbols.locals(&frame),
        };
        let memory = self.memory(hart);
        let held: Vec<(String, Held)> = found
            .into_iter()
            .map(|variable| {
                let content = self.symbols.find(variable, Some(&frame), &memory);
                let value = Held { type_id: variable.type_id, content, bits: None };
                (variable.name.clone(), value)
            })
            .collect();
        drop(memory);
        let told = held.into_iter().map(|(name, value)| self.variable(hart, &name, &name, value));
        Ok(told.collect())
    }

    /// Tells a value: in words, and with a number where it has parts.
    fn variable(&mut self, hart: u32, name: &str, full: &str, value: Held) -> Value {
        let mut told = self.valued("value", hart, full, value);
        told["name"] = json!(name);
        told["evaluateName"] = json!(full);
        told
    }

    fn valued(&mut self, key: &str, hart: u32, full: &str, value: Held) -> Value {
        let text = self.symbols.text(&value, &self.memory(hart));
        let (is_indexed, parts) = self.symbols.parts(&value);
        let mut told = json!({
            "type": self.symbols.type_of(value.type_id).name,
            "variablesReference": 0,
        });
        told[key] = json!(text);
        let pointed = self.symbols.pointed_at(&value, &self.memory(hart));
        if let Some(address) = pointed.or(value.address()) {
            told["memoryReference"] = json!(reference(address));
        }
        if parts > 0 && value.content != Content::Gone {
            let kind = if is_indexed { "indexedVariables" } else { "namedVariables" };
            told[kind] = json!(parts);
            let name = full.to_owned();
            told["variablesReference"] = json!(self.handles.add(Node::Parts { hart, value, name }));
        }
        told
    }

    fn csrs(&self, hart: u32) -> Vec<Value> {
        let timeline = &self.console.timeline;
        let known = timeline.machine().csrs().iter().map(|(name, number)| {
            let value = timeline.csr(hart, *number).map(|value| format!("{value:#010x}"));
            // The core has changed it already.
            let value = value.unwrap_or_else(|| "<unavailable>".to_owned());
            json!({
                "name": name,
                "value": value,
                "variablesReference": 0,
                "evaluateName": format!("${name}"),
            })
        });
        known.collect()
    }

    /// Works an expression out, in a call if one is named.
    pub fn work_out(&self, text: &str, frame: Option<u64>) -> Result<(u32, Found), String> {
        let call = frame.map(|id| self.handles.frame(id)).transpose()?;
        let hart = call.as_ref().map_or(self.console.focus, |(hart, _)| *hart);
        let frame = match call {
            Some((_, frame)) => Some(frame),
            None => self.calls(hart).into_iter().next(),
        };
        let register = |name: &str| self.register(hart, frame.as_ref(), name);
        let memory = self.memory(hart);
        let names = Names { frame: frame.as_ref(), memory: &memory, register: &register };
        Ok((hart, self.symbols.evaluate(text, &names)?))
    }

    fn register(&self, hart: u32, frame: Option<&Frame>, name: &str) -> Option<u64> {
        if name == "pc" {
            return frame.map(|frame| frame.pc);
        }
        let timeline = &self.console.timeline;
        if let Some((_, number)) = timeline.machine().csrs().iter().find(|(csr, _)| *csr == name) {
            return timeline.csr(hart, *number);
        }
        let by_number = || name.strip_prefix('x')?.parse().ok();
        let by_name = REGISTER_NAMES.iter().position(|known| *known == name);
        let number: usize = if name == "fp" { 8 } else { by_name.or_else(by_number)? };
        frame?.registers.get(number).copied().flatten()
    }

    pub fn evaluate(&mut self, arguments: Value) -> Answer {
        let Expression { expression, frame_id } = read(arguments)?;
        let words: Vec<&str> = expression.split_whitespace().collect();
        if let ["monitor" | "mon", command @ ..] = &words[..] {
            if let Some(id) = frame_id {
                self.console.focus = self.handles.frame(id)?.0;
            }
            let said = self.console.obey(command)?;
            return Ok(json!({ "result": said.trim_end(), "variablesReference": 0 }));
        }
        match self.work_out(&expression, frame_id)? {
            (hart, Found::Value(value)) => Ok(self.valued("result", hart, &expression, value)),
            (_, Found::Number(number)) => Ok(json!({
                "result": format!("{number:#x}"),
                "memoryReference": reference(number),
                "variablesReference": 0,
            })),
            (_, Found::Computed(number)) => {
                Ok(json!({ "result": number.to_string(), "variablesReference": 0 }))
            }
        }
    }

    /// Finds where something lies that an editor shows, and its bytes.
    pub fn place_of(
        &self,
        node: Option<u64>,
        frame: Option<u64>,
        name: &str,
    ) -> Result<(u64, u64), String> {
        let within = match node.map(|id| self.handles.node(id)).transpose()? {
            Some(Node::Parts { hart, value, .. }) => {
                let memory = self.memory(hart);
                let children = self.symbols.children(&value, 0..ELEMENTS_MAX, &memory);
                Some(children.into_iter().find(|child| child.name == name).map(|c| c.value))
            }
            Some(Node::Locals(id) | Node::Globals(id)) => {
                return self.lies(name, self.work_out(name, Some(id))?.1);
            }
            Some(_) => return Err("a register is in no memory".to_owned()),
            None => None,
        };
        let found = match within {
            Some(value) => Found::Value(value.ok_or_else(|| format!("it has no `{name}`"))?),
            None => self.work_out(name, frame)?.1,
        };
        self.lies(name, found)
    }

    fn lies(&self, name: &str, found: Found) -> Result<(u64, u64), String> {
        let Found::Value(value) = found else { return Err(format!("`{name}` is a number")) };
        let bytes = self.symbols.type_of(value.type_id).bytes.max(1);
        let address = value.address().ok_or_else(|| format!("`{name}` is in no memory here"));
        Ok((address?, bytes))
    }
}

fn registers(frame: &Frame) -> Vec<Value> {
    let known = frame.registers.iter().zip(REGISTER_NAMES).map(|(value, name)| (name, *value));
    let all = [("pc", Some(frame.pc))].into_iter().chain(known);
    let row = |(name, value): (&str, Option<u64>)| {
        json!({
            "name": name,
            "value": value.map_or("<not saved>".to_owned(), |value| format!("{value:#010x}")),
            "variablesReference": 0,
            "evaluateName": format!("${name}"),
            "memoryReference": value.map(reference),
        })
    };
    all.map(row).collect()
}
