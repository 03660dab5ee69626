//! P4 programs, and packets that go through those that Pinion comes with.

use std::sync::OnceLock;

use pinion_p4::flat::{Flat, Interface, Packet};
use pinion_p4::library::Library;
use pinion_p4::load;
use pinion_p4::preprocessor::Files;

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

fn p4_packets(input: &[u8]) -> String {
    static PROGRAMS: OnceLock<Vec<Flat>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| ["ndp", "udp", "dctcp"].map(shipped).into());
    let parse = |flat: &Flat| format!("{:?}", Packet::new(flat).parse(flat, input).err());
    programs.iter().map(parse).collect()
}

fn shipped(name: &str) -> Flat {
    let checked = load(&format!("sdk/p4/{name}/ingress.p4"), &Library);
    let program = checked.ok().and_then(|checked| checked.program);
    let program = program.unwrap_or_else(|| panic!("{name} is no program"));
    let compiled = Flat::compile(&program, &Interface::default());
    compiled.unwrap_or_else(|error| panic!("{name}: {error}"))
}
