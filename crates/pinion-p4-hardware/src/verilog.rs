//! A circuit as SystemVerilog. In: a program's [`Design`]. Out: the text of its module, with the ports that
//! it has.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::design::{Design, LENGTH_BITS, Part, Request};
use super::names::{literal, plain, range};
use super::shared::Shared;
use super::values::{Definition, Writer};
use super::{Answer, Ports, UnitPorts};
use pinion_p4::graph::{Kind, NodeId};
use pinion_p4::program::{Program, Slot};

/// Characters of a line of the text, or little more.
const LINE: usize = 100;

/// Writes the module of a design.
pub(super) fn write(
    program: &Program,
    design: &Design,
    module: &str,
    about: &str,
    shared: &[Shared],
) -> (String, Ports) {
    let mut writer = Writer {
        program,
        design,
        module,
        shared,
        last: program.stages.cycles.max(1),
        names: HashMap::new(),
        defined: BTreeMap::new(),
        used: HashMap::new(),
        text: String::new(),
    };
    writer.find();
    writer.choose_names();
    let ports = writer.ports();
    writer.module(&ports, about);
    (writer.text, ports)
}

/// A port of a module.
pub(super) struct Port {
    /// Its direction.
    pub way: &'static str,
    pub bits: u32,
    pub name: String,
    /// It leads to a register array between controls.
    pub is_inner: bool,
}

impl Port {
    /// Makes one that leads out of everything.
    pub(super) fn outer(way: &'static str, bits: u32, name: &str) -> Self {
        Self { way, bits, name: name.to_owned(), is_inner: false }
    }
}

/// Writes the declarations of ports, and ends the head of their module.
pub(super) fn declarations(ports: &[Port]) -> String {
    let mut text = String::new();
    let width = ports.iter().map(|port| range(port.bits).len()).max().unwrap_or(0);
    for (n, Port { way, bits, name, .. }) in ports.iter().enumerate() {
        let comma = if n + 1 < ports.len() { "," } else { "" };
        let _ = writeln!(text, "    {way} wire {:width$}{name}{comma}", range(*bits));
    }
    text + ");\n"
}

/// Lists the ports of a program's module.
pub(super) fn port_list(ports: &Ports, shared: &[Shared], program: &Program) -> Vec<Port> {
    let (input, output) = ("input ", "output");
    let mut list: Vec<Port> = Vec::new();
    let mut add = |way, bits, name: &str| list.push(Port::outer(way, bits, name));
    add(input, 1, "clock");
    add(input, 1, "reset");
    add(input, 1, "in_valid");
    add(output, 1, "in_ready");
    if ports.header_bits > 0 {
        add(input, ports.header_bits, "in_header");
        add(input, LENGTH_BITS, "in_length");
    }
    ports.inputs.iter().for_each(|(_, name, bits)| add(input, *bits, name));
    for unit in ports.units.iter().filter(|unit| unit.is_port()) {
        let name = &unit.name;
        add(output, 1, &format!("{name}_request_valid"));
        add(input, 1, &format!("{name}_request_ready"));
        unit.request.iter().for_each(|(port, bits)| add(output, *bits, port));
        if unit.answer == Answer::Port {
            add(input, 1, &format!("{name}_response_valid"));
            add(output, 1, &format!("{name}_response_ready"));
            unit.response.iter().for_each(|(port, bits)| add(input, *bits, port));
        }
    }
    add(output, 1, "out_valid");
    add(input, 1, "out_ready");
    if ports.header_bits > 0 {
        add(output, 1, "out_taken");
        add(output, 1, "out_short");
        add(output, LENGTH_BITS, "out_payload");
    }
    ports.outputs.iter().for_each(|(_, name, bits)| add(output, *bits, name));
    if ports.sent_bits > 0 {
        add(output, ports.sent_bits, "out_header");
        add(output, LENGTH_BITS, "out_header_bytes");
    }
    for unit in ports.units.iter().filter(|unit| unit.answer == Answer::Beside) {
        let Some(array) = Shared::find(shared, &program.externs[unit.external]) else { continue };
        let mut inner = |way, bits, port: &str| {
            list.push(Port { way, bits, name: format!("{}_{port}", unit.name), is_inner: true });
        };
        array.request().into_iter().for_each(|(port, bits)| inner(output, bits, port));
        inner(input, array.width, "new_value");
    }
    list
}

impl Writer<'_> {
    /// Lists the ports.
    fn ports(&self) -> Ports {
        let program = self.program;
        let slot = |slot: Slot| program.slots[slot as usize].clone();
        let mut inputs: Vec<Slot> = Vec::new();
        for (_, node) in self.defined.keys() {
            if let Kind::Input(slot) = self.design.graph.get(*node).kind
                && (slot as usize) < program.slots.len()
                && !inputs.contains(&slot)
            {
                inputs.push(slot);
            }
        }
        inputs.sort_unstable();
        let inputs = inputs.into_iter().map(|n| (n, self.input(n), slot(n).width)).collect();
        let outputs = self.design.outputs.iter();
        let outputs = outputs.map(|(number, node)| {
            let name = format!("out_{}", plain(&slot(*number).name));
            (*number, name, self.width(*node))
        });
        let mut units = Vec::new();
        for (number, request) in self.design.requests.iter().enumerate() {
            let Some(request) = request else { continue };
            let external = &program.externs[number];
            let name = plain(&external.name);
            let fields = |kind: &str, of: &[(String, u32)]| -> Vec<(String, u32)> {
                let port = |(field, bits): &(String, u32)| {
                    (format!("{name}_{kind}_{}", plain(field)), *bits)
                };
                of.iter().map(port).collect()
            };
            units.push(UnitPorts {
                external: number,
                name: name.clone(),
                from: request.from,
                to: request.to,
                answer: match (&request.part, request.is_event) {
                    (Part::Port, false) => Answer::Port,
                    (Part::Port, true) => Answer::None,
                    (Part::Shared(_), _) => Answer::Beside,
                    _ => Answer::Inside,
                },
                is_array: matches!(request.part, Part::Array(_) | Part::Shared(_)),
                request: fields("request", &external.request),
                response: fields("response", &external.response),
            });
        }
        let sent = self.design.sent.iter().flat_map(|(_, fields)| fields);
        Ports {
            cycles: self.last,
            header_bits: pinion_p4::stages::longest_headers(program),
            inputs,
            outputs: outputs.collect(),
            units,
            sent_bits: sent.map(|field| self.width(*field)).sum(),
        }
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        self.text += text.as_ref();
        self.text.push('\n');
    }

    fn module(&mut self, ports: &Ports, about: &str) {
        self.text += about;
        let list = port_list(ports, self.shared, self.program);
        self.line("`default_nettype none\n");
        match ports.has_arrays() {
            true => self.line(format!(
                "module {} #(\n    // Entries of each register array.\n    parameter integer ENTRIES = {}\n) (",
                self.module,
                super::ENTRIES
            )),
            false => self.line(format!("module {} (", self.module)),
        }
        self.text += &declarations(&list);
        self.flow(ports);
        for stage in 0..=self.last {
            self.stage(stage, ports);
        }
        self.leave(ports);
        self.unused(ports);
        self.line("endmodule\n\n`default_nettype wire");
    }

    /// Writes what lets the pipeline move on.
    fn flow(&mut self, ports: &Ports) {
        let last = self.last;
        self.line("    // By stage: a packet is there. All move on together, if nobody waits.");
        self.line(format!("    reg  [{last}:1] held;"));
        self.line("    wire advance;\n");
        self.line("    always @(posedge clock)");
        self.line("        if (reset) held <= 0;");
        match last {
            1 => self.line("        else if (advance) held <= in_valid;"),
            _ => self.line(format!(
                "        else if (advance) held <= {{held[{}:1], in_valid}};",
                last - 1
            )),
        }
        let units = ports.units.iter().filter(|unit| unit.is_port());
        for unit in units {
            let name = &unit.name;
            self.line(format!("    wire {name}_asks, {name}_waits;"));
        }
        self.line("");
    }

    /// Writes the condition that a packet is in a stage.
    pub(super) fn held(&self, stage: u32) -> String {
        match stage {
            0 => "in_valid".to_owned(),
            _ => format!("held[{stage}]"),
        }
    }

    /// Writes a stage: its registers, what is computed in it, and requests that leave.
    fn stage(&mut self, stage: u32, ports: &Ports) {
        let here: Vec<NodeId> = self
            .defined
            .range((stage, 0)..=(stage, u32::MAX))
            .map(|((_, node), _)| *node)
            .collect();
        let asks = ports.units.iter().any(|unit| unit.from == stage);
        if here.is_empty() && !asks {
            return;
        }
        self.line(format!("    // Stage {stage}."));
        let is_kept = |definition: &Definition| matches!(definition, Definition::Kept);
        let kept: Vec<NodeId> =
            here.iter().copied().filter(|node| is_kept(&self.defined[&(stage, *node)])).collect();
        for node in &kept {
            let (range, name) = (range(self.width(*node)), self.name(stage, *node));
            self.line(format!("    reg  {range}{name};"));
        }
        if !kept.is_empty() {
            self.line("    always @(posedge clock)\n        if (advance) begin");
            for node in &kept {
                let before = match self.delayed(*node) {
                    Some(given) if stage <= self.design.times[*node as usize] => given,
                    _ => *node,
                };
                let (name, before) = (self.name(stage, *node), self.all(stage - 1, before));
                self.line(format!("            {name} <= {before};"));
            }
            self.line("        end");
        }
        for node in here {
            let text = match (&self.defined[&(stage, node)], self.design.graph.get(node).kind) {
                (Definition::Kept, _) | (Definition::Port, Kind::Input(_)) => continue,
                (Definition::Port, Kind::Field(at)) => {
                    let high = ports.header_bits - 1 - at;
                    match self.width(node) {
                        1 => format!("in_header[{high}]"),
                        width => format!("in_header[{high}:{}]", high + 1 - width),
                    }
                }
                (Definition::Port, Kind::Fixed(external, field)) => {
                    let external = usize::from(external);
                    let unit = ports.units.iter().find(|unit| unit.external == external);
                    match unit {
                        Some(unit) if unit.is_array => format!("{}_new_value", unit.name),
                        Some(unit) => unit.response[field as usize].0.clone(),
                        None => continue,
                    }
                }
                _ => self.expression(stage, node),
            };
            let (range, name) = (range(self.width(node)), self.name(stage, node));
            let line = format!("    wire {range}{name} = {text};");
            match line.len() > LINE {
                true => self.line(line.replacen(" = ", " =\n        ", 1)),
                false => self.line(line),
            }
        }
        let design = self.design;
        for unit in ports.units.iter().filter(|unit| unit.from == stage) {
            let Some(request) = &design.requests[unit.external] else { continue };
            match &request.part {
                Part::Port => self.request(unit, request, ports),
                Part::Array(array) => self.array(unit, request, array),
                Part::Shared(array) => self.shared_array(unit, request, array),
                Part::Delay => {}
            }
        }
        self.line("");
    }

    /// Writes a request to a unit beside the pipeline.
    fn request(&mut self, unit: &UnitPorts, request: &Request, ports: &Ports) {
        let name = &unit.name;
        let (held, asked) = (self.held(unit.from), self.all(unit.from, request.asked));
        self.line(format!("    assign {name}_asks = {held} & {asked};"));
        for ((port, _), node) in unit.request.iter().zip(&request.fields) {
            let value = self.all(unit.from, *node);
            self.line(format!("    assign {port} = {value};"));
        }
        // Everybody else is ready.
        let mut others = vec![format!("{name}_asks"), self.has_left()];
        others.extend(self.ready(ports, Some(unit.external)));
        let others = others.join("\n        & ");
        self.line(format!("    assign {name}_request_valid = {others};"));
    }

    /// Writes the condition that nothing is in the last stage, or leaves it.
    fn has_left(&self) -> String {
        format!("(~held[{}] | out_ready)", self.last)
    }

    /// Lists what units must do for the pipeline to move on, without one of the requests.
    fn ready(&self, ports: &Ports, without: Option<usize>) -> Vec<String> {
        let mut terms = Vec::new();
        for unit in ports.units.iter().filter(|unit| unit.is_port()) {
            let name = &unit.name;
            if Some(unit.external) != without {
                terms.push(format!("(~{name}_asks | {name}_request_ready)"));
            }
            if unit.answer == Answer::Port {
                terms.push(format!("(~{name}_waits | {name}_response_valid)"));
            }
        }
        terms
    }

    /// Writes what leaves, and who waits for whom.
    fn leave(&mut self, ports: &Ports) {
        let (last, design) = (self.last, self.design);
        self.line("    // What leaves.");
        let mut leaves = vec![format!("held[{last}]")];
        leaves.extend(self.ready(ports, None));
        let leaves = leaves.join("\n        & ");
        self.line(format!("    assign out_valid = {leaves};"));
        if ports.header_bits > 0 {
            for (port, node) in [
                ("out_taken", design.taken),
                ("out_short", design.short),
                ("out_payload", design.payload),
            ] {
                let value = self.all(last, node);
                self.line(format!("    assign {port} = {value};"));
            }
        }
        for ((_, port, _), (_, node)) in ports.outputs.iter().zip(&design.outputs) {
            let value = self.all(last, *node);
            self.line(format!("    assign {port} = {value};"));
        }
        self.sent(ports);
        self.line("");
        for unit in ports.units.iter().filter(|unit| unit.is_port()) {
            let name = &unit.name;
            if unit.answer == Answer::Port
                && let Some(request) = &design.requests[unit.external]
            {
                let (held, asked) = (self.held(unit.to), self.all(unit.to, request.asked));
                self.line(format!("    assign {name}_waits = {held} & {asked};"));
                self.line(format!("    assign {name}_response_ready = {name}_waits & advance;"));
            } else {
                self.line(format!("    assign {name}_waits = 1'b0;"));
            }
        }
        let mut ready = vec![self.has_left()];
        ready.extend(self.ready(ports, None));
        let ready = ready.join("\n        & ");
        self.line(format!("    assign advance = {ready};"));
        self.line("    assign in_ready = advance;\n");
    }

    /// Writes the headers that are sent, each behind those before it that are sent, too.
    fn sent(&mut self, ports: &Ports) {
        if ports.sent_bits == 0 {
            return;
        }
        let (last, design) = (self.last, self.design);
        let (mut behind, mut bits, mut bytes) = (None::<String>, 0, Vec::new());
        let mut wires = Vec::new();
        for (n, (valid, fields)) in design.sent.iter().enumerate().rev() {
            let own: u32 = fields.iter().map(|field| self.width(*field)).sum();
            let fields: Vec<_> = fields.iter().map(|field| self.all(last, *field)).collect();
            let fields = fields.join(", ");
            let is_sent = self.all(last, *valid);
            let all = behind.iter().fold(fields, |all, behind| format!("{all}, {behind}"));
            let value = match self.is_constant(*valid) {
                true => format!("{{{all}}}"),
                false => {
                    let zeros = literal(0, own);
                    let rest = match &behind {
                        Some(behind) => format!("{{{behind}, {zeros}}}"),
                        None => zeros,
                    };
                    format!("{is_sent} ?\n        {{{all}}} : {rest}")
                }
            };
            bits += own;
            wires.push(format!("    wire {}headers_{n} = {value};", range(bits)));
            behind = Some(format!("headers_{n}"));
            let count = literal((own / 8).into(), LENGTH_BITS);
            bytes.push(match self.is_constant(*valid) {
                true => count,
                false => format!("({is_sent} ? {count} : {})", literal(0, LENGTH_BITS)),
            });
        }
        wires.into_iter().for_each(|wire| self.line(wire));
        self.line(format!("    assign out_header = {};", behind.unwrap_or_default()));
        bytes.reverse();
        self.line(format!("    assign out_header_bytes = {};", bytes.join(" + ")));
    }

    /// Says of what nobody reads that this is meant.
    fn unused(&mut self, ports: &Ports) {
        let mut names = vec!["1'b0".to_owned()];
        if ports.header_bits > 0 {
            names.push("in_header".to_owned());
        }
        for unit in ports.units.iter().filter(|unit| unit.is_port()) {
            if unit.answer == Answer::Port {
                names.extend(unit.response.iter().map(|(port, _)| port.clone()));
            } else {
                names.push(format!("{}_waits", unit.name));
            }
        }
        for unit in ports.units.iter().filter(|unit| unit.is_array) {
            names.push(format!("{}_new_value", unit.name));
        }
        for &(stage, node) in self.defined.keys() {
            let is_used = |bits: &Vec<bool>| bits.iter().all(|used| *used);
            if !self.used.get(&(stage, node)).is_some_and(is_used) {
                names.push(self.name(stage, node));
            }
        }
        let mut text = String::from("    wire unused = &{");
        let mut column = text.len();
        for (n, name) in names.iter().enumerate() {
            if column + name.len() > LINE {
                text += "\n        ";
                column = 8;
            }
            let _ = write!(text, "{name}{}", if n + 1 < names.len() { ", " } else { "" });
            column += name.len() + 2;
        }
        self.line(text + "};");
    }
}
