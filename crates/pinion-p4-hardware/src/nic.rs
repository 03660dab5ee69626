//! A pipeline in its place in the nanoPU's NIC (`hardware/rtl/nanopu/nanopu_nic.sv`): a module whose ports are the
//! same for all programs, `p4_ingress_program` or `p4_egress_program`. In: a program's hardware. Out: that module, with
//! the program's pipeline inside, or what of the program the NIC has nothing for.

use std::fmt::Write as _;

use super::names::range;
use super::{Answer, Control, UnitPorts, Whole};
use pinion_p4::lnic::unit::normal;
use pinion_p4::program::{Program, StepKind, visit};

/// Bits of the headers that the NIC has in front of payload.
const HEADER_BITS: u32 = 512;
/// Most stages of an ingress pipeline: a packet is through it before the next one is looked up.
const MOST_CYCLES: u32 = 9;

/// A module for the NIC.
#[derive(Clone, Debug)]
pub struct InNic {
    /// Its name.
    pub module: &'static str,
    /// Its text.
    pub text: String,
}

/// Ports of `p4_ingress_program`: direction, bits, name.
const INGRESS: &[(&str, u32, &str)] = &[
    ("input", 1, "clock"),
    ("input", 1, "reset"),
    ("output", 6, "cycles"),
    ("input", 1, "in_valid"),
    ("input", HEADER_BITS, "in_header"),
    ("input", 16, "rtt_pkts"),
    ("input", 1, "answer_duplicates"),
    ("output", 1, "lookup_valid"),
    ("output", 1, "lookup_received"),
    ("output", 32, "lookup_ip"),
    ("output", 16, "lookup_context"),
    ("output", 16, "lookup_number"),
    ("output", 16, "lookup_bytes"),
    ("output", 8, "lookup_packet"),
    ("output", 16, "lookup_target"),
    ("input", 1, "answer_fail"),
    ("input", 16, "answer_id"),
    ("input", 1, "answer_new_message"),
    ("input", 1, "answer_new_packet"),
    ("input", 1, "answer_last"),
    ("input", 1, "answer_no_buffer"),
    ("output", 1, "control_valid"),
    ("output", 8, "control_flags"),
    ("output", 168, "control_data"),
    ("output", 1, "delivered_valid"),
    ("output", 16, "delivered_number"),
    ("output", 38, "delivered_packets"),
    ("output", 1, "credit_valid"),
    ("output", 16, "credit_number"),
    ("output", 1, "credit_again"),
    ("output", 8, "credit_packet"),
    ("output", 1, "credit_more"),
    ("output", 16, "credit_packets"),
    ("output", 1, "done_valid"),
    ("output", 1, "done_taken"),
];

/// Ports of `p4_egress_program`.
const EGRESS: &[(&str, u32, &str)] = &[
    ("input", 1, "clock"),
    ("input", 1, "reset"),
    ("input", 1, "in_valid"),
    ("input", 48, "next_mac"),
    ("input", 48, "own_mac"),
    ("input", 32, "own_ip"),
    ("input", 16, "rtt_pkts"),
    ("input", 8, "in_flags"),
    ("input", 168, "in_data"),
    ("input", 16, "in_bytes"),
    ("output", 1, "out_valid"),
    ("output", HEADER_BITS, "out_header"),
    ("output", 1, "out_opens"),
    ("output", 16, "out_window"),
];

/// What an ingress pipeline asks of the NIC's units: the extern, the field of its request, where it goes. All others
/// are 0.
const ASKED: &[(&str, &str, &str)] = &[
    ("getrxmsginfo", "valid", "lookup_valid"),
    ("getrxmsginfo", "markreceived", "lookup_received"),
    ("getrxmsginfo", "srcip", "lookup_ip"),
    ("getrxmsginfo", "srccontext", "lookup_context"),
    ("getrxmsginfo", "txmsgid", "lookup_number"),
    ("getrxmsginfo", "msglen", "lookup_bytes"),
    ("getrxmsginfo", "pktoffset", "lookup_packet"),
    ("getrxmsginfo", "dstcontext", "lookup_target"),
    ("ctrlpktevent", "valid", "control_valid"),
    ("ctrlpktevent", "flags", "control_flags"),
    ("deliveredevent", "valid", "delivered_valid"),
    ("deliveredevent", "txmsgid", "delivered_number"),
    ("deliveredevent", "deliveredpkts", "delivered_packets"),
    ("credittobtxevent", "valid", "credit_valid"),
    ("credittobtxevent", "txmsgid", "credit_number"),
    ("credittobtxevent", "rtx", "credit_again"),
    ("credittobtxevent", "rtxpktoffset", "credit_packet"),
    ("credittobtxevent", "updatecredit", "credit_more"),
    ("credittobtxevent", "newcredit", "credit_packets"),
];

/// What packetization and packet generator carry of a packet, the highest bits first: names of `lnic.p4`, and bits.
const CARRIED: &[(&str, u32)] = &[
    ("dstip", 32),
    ("dstcontext", 16),
    ("srccontext", 16),
    ("msglen", 16),
    ("pktoffset", 8),
    ("credit", 16),
    ("txmsgid", 16),
    ("bufptr", 16),
    ("bufsizeclass", 8),
    ("rank", 8),
    ("generation", 16),
];

/// What reassembly answers.
const ANSWERED: &[(&str, &str)] = &[
    ("fail", "answer_fail"),
    ("rxmsgid", "answer_id"),
    ("isnewmsg", "answer_new_message"),
    ("isnewpkt", "answer_new_packet"),
    ("islastpkt", "answer_last"),
    ("hasnobuffer", "answer_no_buffer"),
    // It does not remember messages that are delivered: a packet of one begins another.
    ("isfinishedmsg", "1'b0"),
];

/// A field of the packet generator's other names.
fn carried_name(name: &str) -> &str {
    match name {
        "grantoffset" => "credit",
        "grantprio" => "rank",
        other => other,
    }
}

impl InNic {
    /// Puts a program's hardware in its place.
    ///
    /// # Errors
    /// What it asks of the NIC that `nanopu_nic` does not have.
    pub fn of(whole: &Whole) -> Result<Self, String> {
        let [packets] = &whole.controls[..] else {
            return Err("it handles events, which nanopu_nic does not tell".to_owned());
        };
        if let Some(table) = packets.program.tables.first() {
            return Err(format!("the table {} has no unit in nanopu_nic", table.name));
        }
        match packets.hardware.ports.header_bits {
            0 => egress(packets),
            HEADER_BITS => ingress(packets),
            bits => Err(format!(
                "its longest headers have {} bytes, and nanopu_nic gives the first {} of a frame",
                bits / 8,
                HEADER_BITS / 8
            )),
        }
    }
}

/// Connections of an instance, and wires that need not be read by anybody.
#[derive(Default)]
struct Instance {
    ports: String,
    wires: String,
    unread: Vec<String>,
}

impl Instance {
    fn connect(&mut self, port: &str, to: &str) {
        let comma = if self.ports.is_empty() { "" } else { "," };
        let _ = write!(self.ports, "{comma}\n        .{port}({to})");
    }

    /// Connects an output to a wire of its name.
    fn wire(&mut self, port: &str, bits: u32) {
        let _ = writeln!(self.wires, "    wire {}pipeline_{port};", range(bits));
        self.unread.push(format!("pipeline_{port}"));
        self.connect(port, &format!("pipeline_{port}"));
    }
}

/// Writes a module: its ports, what is in it, and the instance of the pipeline.
fn module(
    name: &'static str,
    ports: &[(&str, u32, &str)],
    pipeline: &str,
    body: &str,
    instance: &Instance,
) -> InNic {
    let mut list = String::new();
    for (n, (direction, bits, port)) in ports.iter().enumerate() {
        let comma = if n + 1 < ports.len() { "," } else { "" };
        let _ = writeln!(list, "    {direction:6} wire {:8}{port}{comma}", range(*bits));
    }
    let inputs = ports.iter().filter(|(direction, ..)| *direction == "input");
    let mut unread: Vec<_> = inputs.map(|(.., port)| *port).collect();
    unread.extend(instance.unread.iter().map(String::as_str));
    let text = format!(
        "// {name}: {pipeline} in its place in nanopu_nic, made by `pinion p4 hardware --nic`.\n\
         `default_nettype none\n\n\
         module {name} (\n{list});\n{}{body}\n    {pipeline} pipeline ({}\n    );\n\n    \
         wire unused = &{{\n        1'b0,\n        {}\n    }};\nendmodule\n\n`default_nettype wire\n",
        instance.wires,
        instance.ports,
        unread.join(",\n        "),
    );
    InNic { module: name, text }
}

/// Tells whether anybody reads a place.
fn is_read(program: &Program, slot: u32) -> bool {
    let mut is_read = false;
    for steps in [&program.control, &program.deparser] {
        visit(steps, &mut |step| match &step.kind {
            StepKind::Set(_, value) | StepKind::SetBits(_, _, value) | StepKind::If(value, ..) => {
                value.reads(&mut |read| is_read |= read == slot);
            }
            StepKind::Copy(from, _, count) => is_read |= (*from..*from + *count).contains(&slot),
            StepKind::Apply(number, request, _) => {
                let fields = program.externs[*number as usize].request.len() as u32;
                is_read |= (*request..*request + fields).contains(&slot);
            }
            _ => {}
        });
    }
    is_read
}

/// Refuses answers of reassembly that the NIC's does not give.
fn check_answers(program: &Program, unit: &UnitPorts) -> Result<(), String> {
    let mut problem = None;
    visit(&program.control, &mut |step| {
        let StepKind::Apply(number, _, response) = step.kind else { return };
        if number as usize != unit.external {
            return;
        }
        let fields = &program.externs[unit.external].response;
        for (slot, (field, _)) in (response..).zip(fields) {
            let is_known = ANSWERED.iter().any(|(known, _)| *known == normal(field));
            if !is_known && is_read(program, slot) {
                problem = Some(format!("nanopu_nic's reassembly does not answer {field}"));
            }
        }
    });
    problem.map_or(Ok(()), Err)
}

/// The name of a field, of its port's.
fn field<'n>(unit: &UnitPorts, port: &'n str, part: &str) -> &'n str {
    port.strip_prefix(&format!("{}_{part}_", unit.name)).unwrap_or(port)
}

fn ingress(packets: &Control) -> Result<InNic, String> {
    let (program, hardware) = (packets.program, &packets.hardware);
    let (ports, cycles) = (&hardware.ports, hardware.ports.cycles);
    if cycles > MOST_CYCLES {
        return Err(format!(
            "its {cycles} stages are more than {MOST_CYCLES}, after which nanopu_nic looks up the next packet"
        ));
    }
    if ports.sent_bits > 0 {
        return Err("its deparser sends headers, for which nanopu_nic has no way back".to_owned());
    }
    let mut instance = Instance::default();
    for (port, to) in [("clock", "clock"), ("reset", "reset"), ("in_valid", "in_valid")] {
        instance.connect(port, to);
    }
    instance.wire("in_ready", 1);
    instance.connect("in_header", "in_header");
    // A frame that is shorter is dropped before.
    instance.connect("in_length", &format!("16'd{}", HEADER_BITS / 8));
    for (_, port, bits) in &ports.inputs {
        let to = match port.as_str() {
            "in_meta_params_rtt_pkts" => "rtt_pkts".to_owned(),
            "in_meta_params_answer_duplicates" => "answer_duplicates".to_owned(),
            "in_smeta_drop" | "in_smeta_reason" => format!("{bits}'d0"),
            other if other.starts_with("in_meta_meta_") => format!("{bits}'d0"),
            other => return Err(told_by_nobody(other)),
        };
        instance.connect(port, &to);
    }
    let mut body = format!("    assign cycles = 6'd{cycles};\n");
    let mut carried = vec![None; CARRIED.len()];
    let mut asked: Vec<&str> = Vec::new();
    for unit in ports.units.iter().filter(|unit| unit.is_port()) {
        let name = normal(&unit.name);
        if !ASKED.iter().any(|(known, ..)| *known == name) {
            return Err(format!("the extern {} has no unit in nanopu_nic", unit.name));
        }
        let valid = format!("{}_request_valid", unit.name);
        let all = [(valid.clone(), 1)];
        for (port, bits) in all.iter().chain(&unit.request) {
            instance.wire(port, *bits);
            let own = normal(field(unit, port, "request"));
            let to = ASKED.iter().find(|(known, field, _)| *known == name && *field == own);
            if let Some((.., to)) = to {
                let _ = writeln!(body, "    assign {to} = pipeline_{port};");
                asked.push(to);
            }
            let place = CARRIED.iter().position(|(field, _)| *field == carried_name(&own));
            if let (Some(place), "ctrlpktevent") = (place, name.as_str()) {
                carried[place] = Some(format!("pipeline_{port}"));
            }
        }
        instance.connect(&format!("{}_request_ready", unit.name), "1'b1");
        if unit.answer == Answer::Port {
            check_answers(program, unit)?;
            answers(unit, &mut body, &mut instance);
        }
    }
    if !asked.contains(&"lookup_valid") {
        return Err("it does not ask get_rx_msg_info, by which nanopu_nic puts messages together"
            .to_owned());
    }
    let all = CARRIED.iter().zip(carried);
    let all = all.map(|((_, bits), port)| port.unwrap_or(format!("{bits}'d0")));
    let _ = writeln!(body, "    assign control_data = {{{}}};", all.collect::<Vec<_>>().join(", "));
    for (_, bits, port) in INGRESS
        .iter()
        .filter(|(_, _, port)| ASKED.iter().any(|(.., to)| to == port) && !asked.contains(port))
    {
        let _ = writeln!(body, "    assign {port} = {bits}'d0;");
    }
    body += "    wire is_taken, is_dropped;\n    assign done_taken = is_taken & ~is_dropped;\n";
    for (port, to) in
        [("out_valid", "done_valid"), ("out_ready", "1'b1"), ("out_taken", "is_taken")]
    {
        instance.connect(port, to);
    }
    let mut drops = false;
    for (_, port, bits) in &ports.outputs {
        match port.as_str() {
            "out_smeta_drop" => {
                drops = true;
                instance.connect(port, "is_dropped");
            }
            "out_smeta_send" => {
                return Err("it sends packets back, for which nanopu_nic has no way".to_owned());
            }
            _ => instance.wire(port, *bits),
        }
    }
    if !drops {
        body += "    assign is_dropped = 1'b0;\n";
    }
    instance.wire("out_short", 1);
    instance.wire("out_payload", 16);
    Ok(module("p4_ingress_program", INGRESS, &hardware.module, &body, &instance))
}

/// Lets reassembly's answer wait until the pipeline wants it.
fn answers(unit: &UnitPorts, body: &mut String, instance: &mut Instance) {
    let known: Vec<(&String, &u32, &str)> = unit
        .response
        .iter()
        .map(|(port, bits)| {
            let own = normal(field(unit, port, "response"));
            let from = ANSWERED.iter().find(|(known, _)| *known == own);
            (port, bits, from.map_or("", |(_, from)| *from))
        })
        .collect();
    let mut valid = "lookup_valid".to_owned();
    let froms: Vec<String> = known
        .iter()
        .map(|(_, bits, from)| match *from {
            "" | "1'b0" => format!("{bits}'d0"),
            from => from.to_owned(),
        })
        .collect();
    let bits: u32 = known.iter().map(|(_, bits, _)| **bits).sum();
    let mut word = format!("{{{}}}", froms.join(", "));
    for stage in 0..unit.to - unit.from {
        let _ = writeln!(
            body,
            "    reg answered_{stage};\n    reg [{}:0] answer_{stage};\n    \
             always @(posedge clock) begin\n        \
             answered_{stage} <= ~reset & {valid};\n        answer_{stage} <= {word};\n    end",
            bits - 1
        );
        valid = format!("answered_{stage}");
        word = format!("answer_{stage}");
    }
    instance.connect(&format!("{}_response_valid", unit.name), &valid);
    instance.wire(&format!("{}_response_ready", unit.name), 1);
    let mut high = bits;
    for (port, bits, _) in known {
        high -= bits;
        let part = if *bits > 1 {
            format!("{word}[{}:{high}]", high + bits - 1)
        } else {
            format!("{word}[{high}]")
        };
        instance.connect(port, &part);
    }
}

fn told_by_nobody(port: &str) -> String {
    format!(
        "nanopu_nic does not tell it {}",
        port.trim_start_matches("in_").replacen("meta_params_", "meta.params.", 1)
    )
}

fn egress(packets: &Control) -> Result<InNic, String> {
    let hardware = &packets.hardware;
    let ports = &hardware.ports;
    if let Some(unit) = ports.units.iter().find(|unit| unit.is_port()) {
        return Err(format!("the extern {} has no unit on nanopu_nic's way out", unit.name));
    }
    if ports.sent_bits != HEADER_BITS {
        return Err(format!(
            "it sends headers of {} bytes, and nanopu_nic's have {}",
            ports.sent_bits / 8,
            HEADER_BITS / 8
        ));
    }
    let mut instance = Instance::default();
    for port in ["clock", "reset", "in_valid", "out_valid", "out_header"] {
        instance.connect(port, port);
    }
    for (_, port, bits) in &ports.inputs {
        let own = port.strip_prefix("in_meta_meta_").map(normal);
        let mut high = CARRIED.iter().map(|(_, bits)| bits).sum::<u32>();
        let place = own.as_deref().and_then(|own| {
            CARRIED.iter().find_map(|(field, bits)| {
                high -= bits;
                (*field == carried_name(own)).then_some((high, *bits))
            })
        });
        let to = match (port.as_str(), place) {
            (_, Some((low, width))) if width == *bits => {
                format!("in_data[{}:{low}]", low + width - 1)
            }
            ("in_meta_params_switch_mac_addr", _) => "next_mac".to_owned(),
            ("in_meta_params_nic_mac_addr", _) => "own_mac".to_owned(),
            ("in_meta_params_nic_ip_addr", _) => "own_ip".to_owned(),
            ("in_meta_params_rtt_pkts", _) => "rtt_pkts".to_owned(),
            ("in_meta_meta_flags", _) => "in_flags".to_owned(),
            ("in_meta_meta_payload_len", _) => "in_bytes".to_owned(),
            ("in_smeta_drop" | "in_meta_meta_window", _) => format!("{bits}'d0"),
            _ => return Err(told_by_nobody(port)),
        };
        instance.connect(port, &to);
    }
    let mut window = None;
    for (_, port, bits) in &ports.outputs {
        match port.as_str() {
            "out_smeta_drop" => return Err("it drops packets on their way out".to_owned()),
            "out_meta_meta_window" => window = Some(format!("pipeline_{port}")),
            _ => {}
        }
        instance.wire(port, *bits);
    }
    let body = format!(
        "    assign out_opens = 1'b{};\n    assign out_window = {};\n",
        u8::from(window.is_some()),
        window.as_deref().unwrap_or("16'd0"),
    );
    // The pipeline never waits, and all its headers are as long.
    instance.wire("in_ready", 1);
    instance.connect("out_ready", "1'b1");
    instance.wire("out_header_bytes", 16);
    Ok(module("p4_egress_program", EGRESS, &hardware.module, &body, &instance))
}
