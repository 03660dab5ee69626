//! Code does what the interpreter does: random programs, with random packets and answers, step by step.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pinion_p4::flat::{Flat, Interface, Packet, Units, Words, index};
use pinion_p4::lnic::Pipelines;
use pinion_p4::lnic::unit::Unit;
use pinion_p4::preprocessor::Files;
use pinion_p4::{library::Library, load};
use pinion_p4_translate::forms::{Request, Source, of};
use pinion_p4_translate::translate;
use pinion_sim::random::Xorshift64;

/// Bytes of the record.
const RECORD: usize = 80;

/// A program in memory, with the library behind it.
struct Text<'t>(&'t str);

impl Files for Text<'_> {
    fn read(&self, name: &str, from: Option<&str>, own: bool) -> Result<(String, String), String> {
        match from {
            None => Ok((name.to_owned(), self.0.to_owned())),
            Some(_) => Library.read(name, from, own),
        }
    }
}

/// Gives a program of whose frames the control finds Ethernet's and IPv4's headers at their places.
fn program(externs: &str, apply: &str) -> String {
    let parameters = "inout full_ingress_metadata_t meta, inout standard_metadata_t smeta";
    format!(
        "#include <core.p4>
#include <xsa.p4>
#include \"lnic.p4\"
#include \"ndp.p4\"
parser P(packet_in packet, out headers hdr, {parameters}) {{
    state start {{ packet.extract(hdr.eth); packet.extract(hdr.ipv4); transition accept; }}
}}
control C(inout headers hdr, {parameters}) {{
    {externs}
    apply {{ {apply} }}
}}
control D(packet_out packet, in headers hdr, {parameters}) {{ apply {{ packet.emit(hdr); }} }}
XilinxPipeline(P(), C(), D()) main;
"
    )
}

/// Answers something that depends on all that it was ever asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Mixed {
    state: u64,
    asked: usize,
}

impl Units for Mixed {
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words) {
        let site = &flat.sites[site];
        self.asked += 1;
        for register in &site.request {
            let value = register.map_or(5, |register| registers[index(register)]);
            self.state = self.state.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value;
        }
        for register in site.response.iter().flatten() {
            self.state = self.state.rotate_left(9).wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
            registers[index(*register)] = self.state >> 48;
        }
    }
}

const FIELDS: [(&str, u32); 9] = [
    ("hdr.eth.dst", 48),
    ("hdr.eth.src", 48),
    ("hdr.eth.type", 16),
    ("hdr.ipv4.tos", 8),
    ("hdr.ipv4.total_len", 16),
    ("hdr.ipv4.src", 32),
    ("hdr.ipv4.dst", 32),
    ("hdr.ipv4.ttl", 8),
    ("a", 16),
];

/// Writes a value of 16 bits.
fn value(random: &mut Xorshift64, depth: u32) -> String {
    let mut pick = |most: u64| random.draw() % most;
    let kind = if depth == 0 { pick(2) } else { pick(9) };
    let part = |random: &mut Xorshift64| value(random, depth.saturating_sub(1));
    match kind {
        0 => format!("16w{}", random.draw() % 0x1_0000),
        1 => {
            let (name, width) = FIELDS[random.draw() as usize % FIELDS.len()];
            match width {
                16 => name.to_owned(),
                8 => format!("((bit<16>) {name})"),
                _ => {
                    let low = random.draw() % u64::from(width - 15);
                    format!("{name}[{}:{low}]", low + 15)
                }
            }
        }
        2 => format!("({} << {}[4:0])", part(random), part(random)),
        3 => format!("({} >> {}[4:0])", part(random), part(random)),
        4 => format!("({} ? {} : {})", condition(random, 1), part(random), part(random)),
        5 => format!("({}[7:0] ++ {}[11:4])", part(random), part(random)),
        operator => {
            let operators = [["+", "-"], ["&", "|"], ["^", "+"]][operator as usize - 6];
            let operator = operators[random.draw() as usize % 2];
            format!("({} {operator} {})", part(random), part(random))
        }
    }
}

/// Writes a condition.
fn condition(random: &mut Xorshift64, depth: u32) -> String {
    let kind = if depth == 0 { random.draw() % 2 } else { random.draw() % 5 };
    match kind {
        0 => {
            let operator = ["==", "!=", "<", "<=", ">"][random.draw() as usize % 5];
            format!("{} {operator} {}", value(random, 1), value(random, 1))
        }
        1 => format!("(hdr.ipv4.tos & {}) != 0", 1 << (random.draw() % 8)),
        2 => format!("!({})", condition(random, depth - 1)),
        3 => format!("({} && {})", condition(random, depth - 1), condition(random, depth - 1)),
        _ => format!("({} || {})", condition(random, depth - 1), condition(random, depth - 1)),
    }
}

/// Writes statements, and the externs that they ask, each once.
fn statements(random: &mut Xorshift64, depth: u32, externs: &mut String) -> String {
    let mut text = String::new();
    for _ in 0..2 + random.draw() % 3 {
        let kind = if depth == 0 { random.draw() % 6 } else { random.draw() % 9 };
        let new = value(random, 2);
        let number = externs.lines().count();
        let _ = match kind {
            0 | 1 => writeln!(text, "a = {new};"),
            2 => writeln!(text, "hdr.eth.type = {new}; hdr.ipv4.ttl = ({new})[9:2];"),
            3 => writeln!(text, "hdr.eth.dst[{0}:{1}] = {new};", 20 + depth, 5 + depth),
            4 => {
                *externs +=
                    &format!("UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) e{number};\n");
                writeln!(
                    text,
                    "e{number}.apply({{ a, {}, {new}, 2, {}, a[7:0] }}, r); a = r.new_val;",
                    condition(random, 1),
                    value(random, 1)
                )
            }
            5 => {
                *externs += &format!(
                    "UserExtern<bit<16>, bit<16>>(2) e{number}; UserExtern<bit<96>, bit<80>>(2) f{number};\n"
                );
                writeln!(
                    text,
                    "e{number}.apply({new}, a); f{number}.apply(hdr.eth.dst ++ hdr.eth.src, w); \
                     hdr.eth.src = w[79:32]; w = w + 3; hdr.ipv4.dst = w[31:0];"
                )
            }
            6 => writeln!(text, "if ({}) {{ exit; }}", condition(random, 2)),
            _ => writeln!(
                text,
                "if ({}) {{ {} }} else {{ {} }}",
                condition(random, 2),
                statements(random, depth - 1, externs),
                statements(random, depth - 1, externs)
            ),
        };
    }
    text
}

/// Runs random packets through a program, interpreted and as code.
fn hold(text: &str, random: &mut Xorshift64) {
    let checked = load("test.p4", &Text(text)).expect("it is there");
    let said = checked.found.to_text(&checked.sources, false);
    let program = checked.program.unwrap_or_else(|| panic!("{said}\n{text}"));
    let find = |name: &str| program.find(name).unwrap_or_else(|| panic!("{name}"));
    let mut fields = Vec::new();
    let mut bit = 0;
    for header in ["hdr.eth", "hdr.ipv4"] {
        let of = program.headers.iter().find(|of| of.name == header).expect("it is one");
        for slot in of.first..of.first + of.fields {
            fields.push((slot, bit));
            bit += program.slots[slot as usize].width;
        }
    }
    let decided = [find("smeta.drop"), find("meta.meta.msg_len")];
    let interface = Interface {
        fields: &fields,
        record_bytes: RECORD as u32,
        valid: &[0, 1],
        decided: &decided,
        deparses: true,
        ..Interface::default()
    };
    let flat = Flat::compile(&program, &interface).unwrap_or_else(|why| panic!("{why}\n{text}"));
    translate(&flat, &[]).expect("this computer is known");
    assert!(flat.has_code());
    let [mut one, mut other] = [(); 2].map(|()| (Packet::new(&flat), Mixed::default()));
    for round in 0..100 {
        let mut record = random.bytes(RECORD);
        if round % 3 == 0 {
            record[12..].fill(random.draw() as u8 & 3);
        }
        let [mut here, mut there] = [vec![7], vec![7]];
        one.0.interpret(&flat, &record, &mut one.1, &mut here);
        other.0.process(&flat, &record, &mut other.1, &mut there);
        assert_eq!(here, there, "round {round} of\n{text}");
        assert_eq!(one.1, other.1, "round {round} of\n{text}");
        assert_eq!(one.0.missed(), other.0.missed(), "round {round} of\n{text}");
        for slot in decided {
            let register = flat.decided(slot).expect("it is read");
            assert_eq!(one.0.get(register), other.0.get(register), "round {round} of\n{text}");
        }
    }
}

#[test]
fn random_programs_do_the_same() {
    let mut random = Xorshift64::new(0xc0de);
    for _ in 0..40 {
        let mut apply = String::from("bit<16> a = 7; bit<80> w = 9; ifElseRaw_resp_t r;\n");
        let mut externs = String::new();
        apply += &statements(&mut random, 2, &mut externs);
        let _ = write!(
            apply,
            "meta.meta.msg_len = a; hdr.ipv4.identification = a; \
             if ({}) {{ smeta.drop = 1; hdr.ipv4.setInvalid(); }} hdr.eth.type = hdr.eth.type + (bit<16>) hdr.ipv4.tos;",
            condition(&mut random, 2)
        );
        hold(&program(&externs, &apply), &mut random);
    }
}

/// Code has no way back for a panic of whom it asks: it waits until the code is done, and does not end the process.
#[test]
fn a_panic_of_who_is_asked_comes_behind_the_code() {
    let mut random = Xorshift64::new(0xdead);
    let ndp = Pipelines::shipped("ndp").unwrap_or_else(|(_, why)| panic!("{why}"));
    let flat = &ndp.ingress.flat;
    translate(flat, &ndp.ingress.asked).expect("this computer is known");
    let mut panics = (0..100).filter_map(|_| {
        let (mut packet, record) = (Packet::new(flat), random.bytes(RECORD));
        // It answers no request that has a form.
        let ask = || packet.process(flat, &record, &mut Mixed::default(), &mut Vec::new());
        catch_unwind(AssertUnwindSafe(ask)).err()
    });
    let said = panics.next().expect("a site with a form is asked");
    let said = said.downcast_ref::<String>().expect("it is formatted");
    assert!(said.contains("is for those who answer it"), "{said}");
}

/// Gives the forms that sites of a program have, by unit.
fn forms(asked: &[Unit]) -> Vec<Option<usize>> {
    asked.iter().map(|unit| Request::of(unit).map(|request| request.form)).collect()
}

#[test]
fn what_the_packet_says_is_not_asked_for() {
    let homa = Pipelines::shipped("homa").unwrap_or_else(|(_, why)| panic!("{why}"));
    let found = forms(&homa.ingress.asked);
    assert!(found.iter().all(Option::is_some), "{found:?}");
    for form in [
        of::LOOKUP,
        of::DELIVERED,
        of::CREDIT,
        of::CONTROL,
        of::CONTROL_PACKET,
        of::CONTROL_OTHER,
        of::CURRENT,
        of::ORDER,
        of::GRANTED,
        of::PRIORITY_OWN,
    ] {
        assert!(found.contains(&Some(form)), "{form} of {found:?}");
    }
    assert_eq!(forms(&homa.egress.asked), [Some(of::PRIORITY)]);
    let ndp = Pipelines::shipped("ndp").unwrap_or_else(|(_, why)| panic!("{why}"));
    let found = forms(&ndp.ingress.asked);
    for form in [of::LOOKUP_FIRST, of::ARRAY] {
        assert!(found.contains(&Some(form)), "{form} of {found:?}");
    }
    // An array's bits and number are numbers of its requests.
    let array = ndp.ingress.asked.iter().find(|unit| matches!(unit, Unit::Array(_)));
    let request = Request::of(array.expect("it keeps credit")).expect("it has a form");
    let numbers = request.asked.iter().filter(|(_, source)| matches!(source, Source::Number(_)));
    assert!(numbers.count() >= 2, "{request:?}");
}
