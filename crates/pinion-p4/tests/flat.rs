//! What is compiled does what the program says: held against an interpreter that follows its steps one by
//! one, with random packets.

mod support;

use pinion_p4::flat::{Flat, Interface, Packet, Rejected, Units, Words, index};
use pinion_p4::lnic::Pipelines;
use pinion_p4::program::{
    Key, Program, Slot, Step, StepKind, Target, Value, ValueKind, binary, mask, unary,
};
use pinion_sim::random::Xorshift64;
use support::{HEAD, check, program};

/// What an extern answers: something that depends on all of the request.
fn answer(request: u128) -> u128 {
    request.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ request
}

/// Follows a program's steps.
struct Interpreter<'p> {
    program: &'p Program,
    values: Vec<u128>,
    out: Vec<bool>,
}

impl Interpreter<'_> {
    fn value(&self, value: &Value) -> u128 {
        let width = value.width;
        match &value.kind {
            ValueKind::Constant(number) => *number,
            ValueKind::Slot { slot, .. } => self.values[*slot as usize],
            ValueKind::Unary(operator, inner) => unary(*operator, self.value(inner), width),
            ValueKind::Binary(operator, one, other) => {
                binary(*operator, self.value(one), self.value(other), one.width)
            }
            ValueKind::Slice(inner, low) => mask(self.value(inner) >> low, width),
            ValueKind::Resize(inner) => mask(self.value(inner), width),
            ValueKind::Join(one, other) => self.value(one) << other.width | self.value(other),
            ValueKind::Choice(parts) => {
                self.value(&parts[if self.value(&parts[0]) != 0 { 1 } else { 2 }])
            }
        }
    }

    fn bits(&self, slot: Slot) -> u32 {
        self.program.slots[slot as usize].width
    }

    /// Follows steps; false if the block ended.
    fn steps(&mut self, steps: &[Step], packet: &mut &[bool]) -> Result<bool, Rejected> {
        for step in steps {
            match &step.kind {
                StepKind::Set(slot, value) => self.values[*slot as usize] = self.value(value),
                StepKind::SetBits(slot, low, value) => {
                    let bits = mask(u128::MAX, value.width) << low;
                    let new = self.value(value) << low;
                    let place = &mut self.values[*slot as usize];
                    *place = *place & !bits | new;
                }
                StepKind::Copy(from, to, count) => {
                    let (from, to) = (*from as usize, *to as usize);
                    self.values.copy_within(from..from + *count as usize, to);
                }
                StepKind::If(condition, then, otherwise) => {
                    let branch = if self.value(condition) != 0 { then } else { otherwise };
                    if !self.steps(branch, packet)? {
                        return Ok(false);
                    }
                }
                StepKind::Validate(number, valid) => {
                    let valid_slot = self.program.headers[*number as usize].valid;
                    self.values[valid_slot as usize] = u128::from(*valid);
                }
                StepKind::Extract(number) => {
                    let header = &self.program.headers[*number as usize];
                    self.values[header.valid as usize] = 1;
                    for slot in header.first..header.first + header.fields {
                        let width = self.bits(slot) as usize;
                        let (field, rest) =
                            packet.split_at_checked(width).ok_or(Rejected::Short)?;
                        *packet = rest;
                        let number = field.iter().fold(0, |n, bit| n << 1 | u128::from(*bit));
                        self.values[slot as usize] = number;
                    }
                }
                StepKind::Emit(number, _) => {
                    let header = &self.program.headers[*number as usize];
                    if self.values[header.valid as usize] == 0 {
                        continue;
                    }
                    for slot in header.first..header.first + header.fields {
                        let value = self.values[slot as usize];
                        self.out
                            .extend((0..self.bits(slot)).rev().map(|bit| value >> bit & 1 != 0));
                    }
                }
                StepKind::Apply(number, request, response) => {
                    let external = &self.program.externs[*number as usize];
                    let asked = (0..external.request.len()).fold(0u128, |sum, n| {
                        sum.wrapping_mul(31) ^ self.values[*request as usize + n]
                    });
                    for n in 0..external.response.len() {
                        let slot = *response + n as Slot;
                        self.values[slot as usize] =
                            mask(answer(asked + n as u128), self.bits(slot));
                    }
                }
                StepKind::Begin(first, count) => {
                    self.values[*first as usize..(*first + *count) as usize].fill(0);
                }
                StepKind::Exit => return Ok(false),
            }
        }
        Ok(true)
    }

    fn parse(&mut self, mut packet: &[bool]) -> Result<(), Rejected> {
        let mut at = Target::State(0);
        loop {
            let state = match at {
                Target::Accept => return Ok(()),
                Target::Reject => return Err(Rejected::Refused),
                Target::State(number) => &self.program.states[number],
            };
            self.steps(&state.steps, &mut packet)?;
            let on: Vec<u128> = state.on.iter().map(|value| self.value(value)).collect();
            let fits = |key: &Key, value: u128| match key {
                Key::Any => true,
                Key::Mask(number, bits) => value & bits == number & bits,
                Key::Range(first, last) => (*first..=*last).contains(&value),
            };
            let case = state
                .cases
                .iter()
                .find(|case| case.keys.iter().zip(&on).all(|(key, value)| fits(key, *value)));
            at = case.map_or(Target::Reject, |case| case.to);
        }
    }
}

/// Answers externs of compiled programs alike.
struct Alike<'p>(&'p Program);

impl Units for Alike<'_> {
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words) {
        let site = &flat.sites[site];
        let external = &self.0.externs[site.external];
        let asked = site.request.iter().fold(0u128, |sum, register| {
            sum.wrapping_mul(31) ^ register.map_or(0, |at| u128::from(registers[index(at)]))
        });
        for (n, register) in site.response.iter().enumerate() {
            let value = mask(answer(asked + n as u128), external.response[n].1);
            if let Some(register) = register {
                registers[index(*register)] = value as u64;
            }
        }
    }
}

fn to_bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 != 0)).collect()
}

/// Runs random packets through a program, both ways.
fn hold(text: &str, random: &mut Xorshift64) {
    let checked = check(text);
    let said = checked.found.to_text(&checked.sources, false);
    let program = checked.program.unwrap_or_else(|| panic!("{said}"));
    let drop = program.find("smeta.drop").unwrap();
    let decided = [drop];
    let interface = Interface { decided: &decided, deparses: true, ..Interface::default() };
    let flat = Flat::compile(&program, &interface).unwrap();
    let mut packet = Packet::new(&flat);
    let mut taken = 0;
    for round in 0..400 {
        let count = 24 + random.draw() as usize % 36;
        let mut bytes = random.bytes(count);
        if !random.draw().is_multiple_of(4) {
            bytes[12..14].copy_from_slice(&[8, 0]);
        }
        let slots = program.slots.len();
        let mut reference =
            Interpreter { program: &program, values: vec![0; slots], out: Vec::new() };
        let ours = packet.parse(&flat, &bytes);
        let theirs = reference.parse(&to_bits(&bytes));
        assert_eq!(ours.err(), theirs.err(), "round {round} of\n{text}");
        if ours.is_err() {
            continue;
        }
        taken += 1;
        let mut out = vec![7];
        packet.process(&flat, &[], &mut Alike(&program), &mut out);
        reference.steps(&program.control, &mut &[][..]).unwrap();
        reference.steps(&program.deparser, &mut &[][..]).unwrap();
        assert_eq!(to_bits(&out[1..]), reference.out, "round {round} of\n{text}");
        let dropped = packet.get(flat.decided(drop).unwrap());
        assert_eq!(
            u128::from(dropped),
            reference.values[drop as usize],
            "round {round} of\n{text}"
        );
    }
    assert!(taken > 50, "{taken} packets were taken by\n{text}");
}

#[test]
fn programs_do_what_they_say() {
    let mut random = Xorshift64::new(0xf1a7);
    for (locals, apply) in [
        (
            "",
            "if (hdr.ipv4.isValid()) { hdr.ipv4.ttl = hdr.ipv4.ttl - 1; hdr.ipv4.src = hdr.ipv4.dst; }",
        ),
        (
            "",
            "hdr.eth.dst = hdr.eth.src; hdr.eth.src[15:8] = hdr.eth.src[7:0]; smeta.drop = hdr.eth.type[0:0];",
        ),
        (
            "",
            "hdr.eth.dst = hdr.eth.src ^ 48w0xffff; hdr.eth.src = ~hdr.eth.src; hdr.eth.type = -hdr.eth.type;",
        ),
        (
            "",
            "bit<96> both = hdr.eth.dst ++ hdr.eth.src; both = both + 1; both[70:60] = both[10:0]; \
             hdr.eth.dst = both[95:48]; hdr.eth.src = (bit<48>) (both >> 3); \
             if (both > 96w0x7fff_ffff_ffff_ffff_ffff_ffff) { smeta.drop = 1; }",
        ),
        (
            "",
            "bit<128> w = (bit<128>) hdr.eth.dst << 70; w = w | (128w7 << 100); \
             hdr.eth.src = w[127:80]; bit<128> v = hdr.eth.type == 0x800 ? w : ~w; \
             if (v == w && v[3:0] == 0 || !(w < v)) { hdr.eth.dst = v[60:13]; }",
        ),
        (
            "UserExtern<bit<16>, bit<16>>(2) one; UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) two;",
            "bit<16> a; one.apply(hdr.eth.type, a); ifElseRaw_resp_t r; \
             two.apply({ a, a > 3, a + 1, 2, 16w5, a[7:0] }, r); hdr.eth.type = r.new_val; \
             if (r.new_val[0:0] == 1) { exit; } smeta.drop = 1;",
        ),
        (
            "",
            "bit<8> n = 0; if (hdr.eth.dst[3:0] == 1) { n = 5; } else if (hdr.eth.dst[3:0] < 9) { \
             n = hdr.eth.src[7:0] << hdr.eth.dst[2:0]; } else { bit<8> m = n + 9; n = m >> 1; } \
             hdr.eth.dst[47:40] = n; eth_t copy = hdr.eth; copy.type = 16w3 - copy.type; hdr.eth = copy; \
             if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 100) { hdr.ipv4.setInvalid(); }",
        ),
        (
            "",
            "hdr.ndp.setValid(); hdr.ndp.flags = 3; hdr.ndp.src_context = hdr.eth.type; \
             hdr.ndp.dst_context = 9; hdr.ndp.msg_len = hdr.eth.type + 1; hdr.ndp.pkt_offset = 0; \
             hdr.ndp.pull_offset = 0xffff; hdr.ndp.tx_msg_id = 1; hdr.ndp.buf_ptr = 2; \
             hdr.ndp.buf_size_class = 1; hdr.ndp.padding = (bit<104>) hdr.eth.src << 40; hdr.ndp.answers = 5;",
        ),
        (
            "",
            "bit<8> s; if (hdr.eth.dst[0:0] == 1) { s = 4; } hdr.eth.src[7:0] = s; \
             hdr.eth.dst[7:0] = hdr.ipv4.ttl; hdr.eth.dst[9:9] = (bit<1>) (hdr.ipv4.tos == 0 || s == 4);",
        ),
    ] {
        hold(&program(locals, apply), &mut random);
    }
}

/// More ways than are kept apart: they meet behind each condition.
#[test]
fn programs_of_many_ways_do_what_they_say() {
    let mut random = Xorshift64::new(0xf1a8);
    let mut apply = String::from("bit<16> n = 1; bit<96> w = 5;\n");
    for bit in 0..60 {
        let (one, other) = (bit % 48, (bit * 7 + 3) % 48);
        apply += &format!(
            "if (hdr.eth.dst[{one}:{one}] == 1 && hdr.eth.src[{other}:{other}] == 0) {{ n = n + {bit}; \
             if (n[1:0] == 2) {{ w = w + (bit<96>) n; }} }} else {{ n = n ^ hdr.eth.type; }}\n"
        );
        if bit == 40 {
            apply += "if (n == 77) { exit; } if (n[2:0] == 5) { hdr.ipv4.setInvalid(); }\n";
        }
    }
    apply += "hdr.eth.type = n; hdr.eth.dst = w[95:48]; hdr.eth.src = w[47:0];";
    hold(&program("", &apply), &mut random);
}

/// Writes a condition of bits of the packet.
fn condition(random: &mut Xorshift64, depth: u32) -> String {
    let kind = if depth == 0 { 0 } else { random.draw() % 5 };
    let mut part = || condition(random, depth.saturating_sub(1));
    match kind {
        0 => {
            let (side, bit) = (["dst", "src"][random.draw() as usize % 2], random.draw() % 3);
            format!("hdr.eth.{side}[{bit}:{bit}] == 1")
        }
        1 => format!("!({})", part()),
        2 | 3 => format!("({} && {})", part(), part()),
        _ => format!("({} || {})", part(), part()),
    }
}

/// What one part of a condition tells is known only where that part was asked.
#[test]
fn conditions_inside_conditions_do_what_they_say() {
    let mut random = Xorshift64::new(0xf1aa);
    for _ in 0..40 {
        let mut apply = String::from("bit<16> n = 1;\n");
        for number in 0..4 {
            let [one, other, third] = [0; 3].map(|_| condition(&mut random, 3));
            apply += &format!(
                "bool b{number} = {one}; if ({other}) {{ n = n + 7; }} else if (b{number} || {third}) \
                 {{ n = n << 1; }} hdr.eth.type = hdr.eth.type + (b{number} && {third} ? n : 3);\n"
            );
        }
        hold(&program("", &apply), &mut random);
    }
}

/// More ways through the parser than are followed one by one: each state is made once.
#[test]
fn parsers_of_many_ways_do_what_they_say() {
    let parameters = "inout full_ingress_metadata_t meta, inout standard_metadata_t smeta";
    let (mut fields, mut states, mut uses) = (String::new(), String::new(), String::new());
    for n in 0..10 {
        fields += &format!("one_t a{n}; two_t b{n};");
        states += &format!(
            "state s{n} {{ transition select(hdr.eth.dst[{n}:{n}]) {{ 0: a{n}; 1: b{n}; }} }}\n\
             state a{n} {{ packet.extract(hdr.a{n}); transition s{next}; }}\n\
             state b{n} {{ packet.extract(hdr.b{n}); transition select(hdr.b{n}.y) \
             {{ 200..255: reject; default: s{next}; }} }}\n",
            next = n + 1
        );
        uses += &format!(
            "if (hdr.b{n}.isValid()) {{ hdr.eth.src = hdr.eth.src + (bit<48>) hdr.b{n}.x; }}"
        );
    }
    let text = format!(
        "{HEAD}
header one_t {{ bit<8> x; }}
header two_t {{ bit<5> x; bit<11> y; }}
struct many {{ eth_t eth; {fields} }}
parser P(packet_in packet, out many hdr, {parameters}) {{
    state start {{ packet.extract(hdr.eth); transition s0; }}
    {states}
    state s10 {{ transition accept; }}
}}
control C(inout many hdr, {parameters}) {{ apply {{ {uses} }} }}
control D(packet_out packet, in many hdr, {parameters}) {{ apply {{ packet.emit(hdr); }} }}
XilinxPipeline(P(), C(), D()) main;
"
    );
    hold(&text, &mut Xorshift64::new(0xf1a9));
}

#[test]
fn reads_of_what_is_not_there_are_counted_and_named() {
    let text = program("", "hdr.eth.dst[7:0] = hdr.ipv4.ttl;");
    let program = check(&text).program.unwrap();
    let interface = Interface { deparses: true, ..Interface::default() };
    let flat = Flat::compile(&program, &interface).unwrap();
    assert_eq!(flat.watched.len(), 1);
    assert_eq!(flat.watched[0].what, "hdr.ipv4.ttl, while hdr.ipv4 is not valid");
    let mut packet = Packet::new(&flat);
    for (ethertype, missed) in [([8, 0], 0), ([8, 1], 1), ([8, 0], 1), ([9, 9], 2)] {
        let mut bytes = [0xaa; 40];
        bytes[12..14].copy_from_slice(&ethertype);
        packet.parse(&flat, &bytes).unwrap();
        let mut out = Vec::new();
        packet.process(&flat, &[], &mut Alike(&program), &mut out);
        assert_eq!(packet.missed(), [missed]);
        assert_eq!(out[5], if ethertype == [8, 0] { 0xaa } else { 0 }, "it reads 0");
    }
}

#[test]
fn what_nobody_reads_costs_nothing() {
    let egress = pinion_p4::load("sdk/p4/ndp/egress.p4", &pinion_p4::library::Library).unwrap();
    let interface = Interface { deparses: true, ..Interface::default() };
    let flat = Flat::compile(&egress.program.unwrap(), &interface).unwrap();
    let [parser, control] = flat.operations();
    assert!(parser <= 1 && control <= 9, "{parser} and {control} operations");
}

#[test]
fn a_byte_whose_bits_are_asked_for_goes_every_way() {
    let set = |bit: u32| format!("(hdr.eth.dst & {bit}) != 0");
    let [one, two, four, sixteen] = [1, 2, 4, 16].map(set);
    let text = program(
        "",
        &format!(
            "smeta.reason = 0;
            if ({one}) {{
                smeta.reason = {sixteen} ? 8w1 : 2;
            }} else {{
                smeta.reason = 3;
                if ({two}) {{ smeta.reason = smeta.reason + 4; }}
                if ({four}) {{ smeta.reason = smeta.reason + 8; }}
                if ({two} && !({sixteen})) {{ smeta.reason = smeta.reason + 16; }}
            }}"
        ),
    );
    let checked = check(&text);
    let said = checked.found.to_text(&checked.sources, false);
    let checked = checked.program.unwrap_or_else(|| panic!("{said}"));
    let find = |name: &str| checked.find(name).unwrap();
    let reason = [find("smeta.reason")];
    let interface = Interface {
        fields: &[(find("hdr.eth.dst"), 0)],
        record_bytes: 80,
        valid: &[0],
        decided: &reason,
        ..Interface::default()
    };
    let flat = Flat::compile(&checked, &interface).unwrap();
    let mut packet = Packet::new(&flat);
    for byte in 0..=u8::MAX {
        let is = |bit: u8| byte & bit != 0;
        let also = |holds: bool, more: u64| if holds { more } else { 0 };
        let expected = match is(1) {
            true => 2 - u64::from(is(16)),
            false => 3 + also(is(2), 4) + also(is(4), 8) + also(is(2) && !is(16), 16),
        };
        let mut record = [0; 80];
        record[5] = byte;
        packet.process(&flat, &record, &mut Alike(&checked), &mut Vec::new());
        assert_eq!(packet.get(flat.decided(reason[0]).unwrap()), expected, "{byte:#x}");
    }
}

#[test]
fn what_the_nic_says_of_a_packet_is_sent_as_it_is() {
    // The others say something else, or not always the same.
    let wanted = [("ndp", Some(64)), ("homa", None), ("raw", None), ("udp", None), ("vxlan", None)];
    for (name, bytes) in wanted {
        let programs = Pipelines::shipped(name).unwrap_or_else(|(_, why)| panic!("{why}"));
        assert_eq!(programs.egress.flat.sends_record(), bytes, "{name}");
    }
    // Homa asks about data; what it answers it sends as the NIC says it.
    let homa = Pipelines::shipped("homa").unwrap_or_else(|(_, why)| panic!("{why}"));
    let sends = |flags: u8| {
        let mut headers = [0; 64];
        headers[34] = flags;
        homa.egress.flat.sends_this(&headers)
    };
    assert_eq!([1, 2, 8, 4].map(sends), [false, true, true, true]);
}
