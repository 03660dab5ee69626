//! P4 programs, and packets that go through those that Pinion comes with.

use std::sync::{Arc, OnceLock};

use pinion_p4::flat::{Flat, Interface, Packet};
use pinion_p4::library::Library;
use pinion_p4::load;
use pinion_p4::preprocessor::Files;
use pinion_p4::program::{Program, TableShape};
use pinion_p4::table::entries::read;

use super::{Target, text};

pub const P4: Target = Target::text("p4", p4, 800)
    .seeds(&["sdk/p4/*/ingress.p4", "sdk/p4/*/egress.p4", "sdk/p4/include/*.p4"])
    .words(&[
        "bit<8>",
        "header",
        "struct",
        "state",
        "transition",
        "select",
        "apply",
        "extern",
        "#define X",
        "#include \"self.p4\"",
        "hdr",
        "smeta",
        "0xffffffffffffffffffffffffffffffff",
        "8w255",
    ]);
pub const P4_ENTRIES: Target =
    Target::text("p4_entries", p4_entries, 5000).seeds(&["examples/*/tables.txt"]).words(&[
        "add",
        "remove",
        "default",
        "at 100",
        "servers",
        "tunnels",
        "collectors",
        "networks",
        "->",
        "&&&",
        "/24",
        "_",
        "priority 3",
        "10.0.0.1",
        "02:00:00:00:00:01",
        "tunnel(10.0.0.1, 7)",
        "0xffffffffffffffffffffffffffffffff",
        "0b1",
    ]);
pub const P4_PACKETS: Target = Target::bytes("p4_packets", p4_packets, 10_000);

/// A program whose file is the input.
struct Text<'t>(&'t str);

impl Files for Text<'_> {
    fn read(&self, name: &str, from: Option<&str>, own: bool) -> Result<(String, String), String> {
        match from {
            None => Ok((name.to_owned(), self.0.to_owned())),
            Some(_) if name == "self.p4" => Ok((name.to_owned(), self.0.to_owned())),
            // No file of this computer is read.
            Some(_) if name.contains(['/', '\\']) => Err("there is no such file".to_owned()),
            Some(_) => Library.read(name, from, own),
        }
    }
}

fn p4(input: &[u8]) -> String {
    let text = text(input);
    let checked = match load("input.p4", &Text(&text)) {
        Ok(checked) => checked,
        Err(error) => return error,
    };
    let mut said = checked.found.to_text(&checked.sources, false);
    if let Some(program) = &checked.program {
        let interface = Interface { deparses: true, ..Interface::default() };
        match Flat::compile(program, &interface) {
            Ok(_) => said.push_str("compiled"),
            Err(error) => said.push_str(&error.to_string()),
        }
    }
    said
}

fn p4_entries(input: &[u8]) -> String {
    static SHAPES: OnceLock<Vec<Arc<TableShape>>> = OnceLock::new();
    let shapes = SHAPES.get_or_init(|| {
        let files = [
            "vxlan/ingress",
            "vxlan/egress",
            "balancer/ingress",
            "telemetry/ingress",
            "cache/ingress",
        ];
        let programs = files.map(|file| program(&format!("sdk/p4/{file}.p4")));
        programs.into_iter().flat_map(|program| program.tables).map(Arc::new).collect()
    });
    match read("input.txt", &text(input), shapes) {
        Ok(changes) => format!("{} changes", changes.len()),
        Err(why) => why,
    }
}

fn p4_packets(input: &[u8]) -> String {
    static PROGRAMS: OnceLock<Vec<Flat>> = OnceLock::new();
    let programs =
        PROGRAMS.get_or_init(|| ["ndp", "udp", "dctcp", "vxlan", "cache"].map(shipped).into());
    let parse = |flat: &Flat| format!("{:?}", Packet::new(flat).parse(flat, input).err());
    programs.iter().map(parse).collect()
}

fn program(file: &str) -> Program {
    let program = load(file, &Library).ok().and_then(|checked| checked.program);
    program.unwrap_or_else(|| panic!("{file} is no program"))
}

fn shipped(name: &str) -> Flat {
    let program = program(&format!("sdk/p4/{name}/ingress.p4"));
    let compiled = Flat::compile(&program, &Interface::default());
    compiled.unwrap_or_else(|error| panic!("{name}: {error}"))
}
