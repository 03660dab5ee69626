//! A block of one's own to begin with. In: a unit and a name. Out: a module with the unit's ports that does
//! what the unit does, and how to run it.

use crate::units::{self, Unit};

/// Splits a unit's text behind the list of its ports.
fn head_of(text: &str) -> Option<&str> {
    let begin = text.find("\nmodule ")? + 1;
    let end = text[begin..].find("\n);")? + begin;
    Some(&text[begin..end + 3])
}

/// Gives the comment that tells what goes in and out.
fn comment_of(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.starts_with("//"));
    lines.skip(1).map(|line| format!("{line}\n")).collect()
}

/// Lists the names that a list of parameters or ports declares.
fn names(text: &str, of: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with(of));
    let name = |line: &str| {
        let code = line.split("//").next()?.split('=').next()?;
        let word = code.trim().trim_end_matches(',').split_whitespace().last()?;
        Some(word.to_owned())
    };
    lines.filter_map(name).collect()
}

/// Gives the SystemVerilog of a block that is like a unit.
pub fn module(name: &str, like: Unit) -> String {
    let text = units::text(like);
    let head = head_of(text).unwrap_or_default();
    let renamed = head.replacen(&format!("module {like}"), &format!("module {name}"), 1);
    let connect = |names: Vec<String>| {
        let list: Vec<String> =
            names.iter().map(|name| format!("        .{name}({name})")).collect();
        list.join(",\n")
    };
    let parameters = connect(names(head, "parameter "));
    let ports: Vec<String> =
        head.lines().filter(|line| line.contains("put ")).map(str::to_owned).collect();
    let ports: Vec<String> =
        [names(&ports.join("\n"), "input "), names(&ports.join("\n"), "output ")].concat();
    let ports = connect(ports);
    format!(
        "// {name}: in the place of {like}.\n//\n{}`default_nettype none\n\n{renamed}\n    \
         // Here goes what it does. Until then the unit that Pinion comes with does it.\n    \
         {like} #(\n{parameters}\n    ) unit (\n{ports}\n    );\nendmodule\n\n`default_nettype wire\n",
        comment_of(text).split_once("//\n").map_or("", |(_, rest)| rest),
    )
}

/// Gives the files of a block that is like a unit: their names and texts. The units that Pinion comes with
/// are in `rtl/`, for tools that do not have them.
pub fn files(name: &str, like: Unit) -> Vec<(String, String)> {
    let fill = |text: &str| text.replace("@NAME@", name).replace("@UNIT@", like.name());
    let mut files = vec![
        (format!("{name}.sv"), module(name, like)),
        (format!("test_{name}.py"), fill(BENCH)),
        ("README.md".to_owned(), fill(README)),
    ];
    let units = units::FILES.iter().map(|(file, text)| (format!("rtl/{file}"), (*text).to_owned()));
    files.extend(units);
    files
}

const BENCH: &str = include_str!("skeleton/bench.py");
const README: &str = include_str!("skeleton/README.md");

#[cfg(test)]
mod tests {
    use pinion_app::machine;
    use pinion_nanopu::machine::node::Machine as NanoPu;

    use super::*;

    /// What machines need whose units can all be blocks.
    const SLOTS: [&str; 4] = [
        "allocator.kind=slots",
        "inbound.max_packet_bytes=1536",
        "pcie.latency_ps=0",
        "pcie.rate_mbit_s=0",
    ];
    const FEW: [&str; 2] = [
        "transmit.message_ids=16",
        "transmit.buffers=[{ bytes = 1024, count = 8 }, { bytes = 2048, count = 8 }]",
    ];

    #[test]
    fn every_unit_has_a_skeleton_with_its_ports() {
        let [slots, few] = [&SLOTS[..], &FEW].map(|set| set.iter().map(ToString::to_string));
        let (slots, few): (Vec<String>, Vec<String>) = (slots.collect(), few.collect());
        for unit in Unit::all() {
            let text = module("mine", unit);
            assert!(text.contains("module mine #("), "{text}");
            let needs = match unit {
                Unit::Spin(unit) => {
                    let machine = machine::load::<pinion_spin::Machine>("pspin", &slots, false);
                    unit.needs(&machine.expect("a machine").value)
                }
                Unit::NanoPu(unit) => {
                    // The ways in and out are the published hardware's.
                    let machine = machine::load::<NanoPu>("nanopu", &few, true);
                    unit.needs(&machine.expect("a machine").value)
                }
            };
            for port in needs.expect("a machine that fits").ports {
                assert!(text.contains(&format!(".{0}({0})", port.name)), "{} in {text}", port.name);
            }
            assert!(text.contains(".clock(clock)") && text.contains(".reset(reset)"));
        }
    }
}
