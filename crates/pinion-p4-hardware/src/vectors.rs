//! What a pipeline must do with packets, as the model does it: for whatever drives the hardware beside it. In:
//! a program, its ports, frames or a seed. Out: lines of text.
//!
//! First the ports, a line each: `module NAME`, `cycles N`, `input PORT BITS`, `unit NAME FROM TO 0|1` (it
//! answers by ports), `request PORT BITS` and `response PORT BITS` of the unit before, `output PORT BITS`,
//! then `packets`. Then a line for each packet, words in hexadecimal with spaces between: its inputs; for each unit 1
//! if it is asked, the request, and what it answers; its outputs. A `-` is of no concern. Where controls share
//! register arrays, `timed` stands in front of `packets`, and the cycle in which a packet comes begins its line.

use std::fmt::Write as _;

use pinion_sim::random::SplitMix64;

use super::{Answer, ENTRIES, Hardware};
use pinion_p4::flat::{Flat, Interface, Packet, Rejected, Units, Words, index};
use pinion_p4::lnic::unit::{Array, Place, Unit};
use pinion_p4::program::{Key, Program, Slot, StepKind, Target, ValueKind};

/// States that a random packet is led through at most.
const MOST_STATES: usize = 64;
/// Bytes behind the headers of random frames, at most.
const MOST_PAYLOAD: u64 = 64;

/// Makes lines for packets, one after the other: register arrays last from one to the next.
pub struct Vectors<'p> {
    program: &'p Program,
    hardware: &'p Hardware,
    flat: Flat,
    packet: Packet,
    reference: Reference,
    random: SplitMix64,
    /// By input: what does not change, of the NIC's numbers.
    still: Vec<Option<u128>>,
}

/// Answers a program's externs, and takes note of what they were asked.
struct Reference {
    /// By extern: what it does itself.
    units: Vec<Own>,
    /// By extern: bits of its answer's fields.
    responses: Vec<Vec<u32>>,
    /// By extern: request and answer.
    asked: Vec<Option<(Vec<u128>, Vec<u128>)>>,
    random: SplitMix64,
    requests: Vec<Vec<u32>>,
}

/// What an extern does without a unit beside the pipeline.
enum Own {
    Array(Array, Vec<u64>),
    Delay,
    /// Nothing: whoever makes the vectors answers.
    Nothing,
}

/// Draws a number of so many bits: often a small one, none, or all ones.
fn draw(random: &mut SplitMix64, width: u32) -> u128 {
    let all = u128::MAX >> (128 - width.clamp(1, 128));
    let number = u128::from(random.draw()) << 64 | u128::from(random.draw());
    match random.draw() % 8 {
        0 => 0,
        1 => all,
        2..=4 => number & all & (u128::MAX >> (127 - random.draw() % u64::from(width.max(1)))),
        _ => number & all,
    }
}

fn read(words: &Words, register: pinion_p4::flat::Register, width: u32) -> u128 {
    let low = words[index(register)];
    let high = if width > 64 { words[index(register + 1)] } else { 0 };
    u128::from(high) << 64 | u128::from(low)
}

impl Units for Reference {
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words) {
        let site = &flat.sites[site];
        let number = site.external;
        let fields = site.request.iter().zip(&self.requests[number]);
        let request: Vec<u128> = fields
            .map(|(register, width)| register.map_or(0, |at| read(registers, at, *width)))
            .collect();
        let field = |place: Place| place.map_or(0, |place| request[place] as u64);
        let answer: Vec<u128> = match &mut self.units[number] {
            Own::Array(array, entries) => vec![array.change(entries, &field).into()],
            Own::Delay => request.clone(),
            Own::Nothing => {
                self.responses[number].iter().map(|width| draw(&mut self.random, *width)).collect()
            }
        };
        for (value, (register, width)) in
            answer.iter().zip(site.response.iter().zip(&self.responses[number]))
        {
            if let Some(register) = register {
                registers[index(*register)] = *value as u64;
                if *width > 64 {
                    registers[index(*register + 1)] = (*value >> 64) as u64;
                }
            }
        }
        self.asked[number] = Some((request, answer));
    }
}

impl<'p> Vectors<'p> {
    /// Begins with a seed.
    ///
    /// # Errors
    /// The program has more operations or values than the model takes.
    pub fn new(program: &'p Program, hardware: &'p Hardware, seed: u64) -> Result<Self, String> {
        let ports = &hardware.ports;
        let inputs: Vec<Slot> = ports.inputs.iter().map(|(slot, ..)| *slot).collect();
        let decided: Vec<Slot> = ports.outputs.iter().map(|(slot, ..)| *slot).collect();
        let interface = Interface {
            inputs: &inputs,
            decided: &decided,
            deparses: true,
            ..Interface::default()
        };
        let flat = Flat::compile(program, &interface)?;
        let packet = Packet::new(&flat);
        let mut random = SplitMix64::new(seed);
        let unit = |external| match Unit::bind(external) {
            Ok(Unit::Array(array)) => Own::Array(array, vec![0; ENTRIES]),
            Ok(Unit::Delay { .. }) => Own::Delay,
            _ => Own::Nothing,
        };
        let bits = |fields: &[(String, u32)]| fields.iter().map(|(_, bits)| *bits).collect();
        let externs = &program.externs;
        let reference = Reference {
            units: externs.iter().map(unit).collect(),
            responses: externs.iter().map(|external| bits(&external.response)).collect(),
            requests: externs.iter().map(|external| bits(&external.request)).collect(),
            asked: vec![None; externs.len()],
            random: SplitMix64::new(random.draw()),
        };
        let still = ports.inputs.iter().map(|(slot, _, width)| {
            let name = &program.slots[*slot as usize].name;
            name.starts_with("meta.params.").then(|| draw(&mut random, *width))
        });
        let still = still.collect();
        Ok(Self { program, hardware, flat, packet, reference, random, still })
    }

    /// Exchanges what a register array holds.
    pub(super) fn exchange(&mut self, external: usize, with: &mut Vec<u64>) {
        if let Own::Array(_, entries) = &mut self.reference.units[external] {
            std::mem::swap(entries, with);
        }
    }

    /// Writes what the ports are.
    pub fn head(&self) -> String {
        self.ports() + "packets\n"
    }

    /// Does the same for lines that begin with a cycle.
    pub(super) fn timed_head(&self) -> String {
        self.ports() + "timed\npackets\n"
    }

    fn ports(&self) -> String {
        let ports = &self.hardware.ports;
        let mut text = format!("module {}\ncycles {}\n", self.hardware.module, ports.cycles);
        let mut line = |kind: &str, port: &str, bits: u32| {
            let _ = writeln!(text, "{kind} {port} {bits}");
        };
        if ports.header_bits > 0 {
            line("input", "in_header", ports.header_bits);
            line("input", "in_length", super::design::LENGTH_BITS);
        }
        ports.inputs.iter().for_each(|(_, port, bits)| line("input", port, *bits));
        for unit in ports.units.iter().filter(|unit| unit.is_port()) {
            let answers = u8::from(unit.answer == Answer::Port);
            line("unit", &format!("{} {} {}", unit.name, unit.from, unit.to), answers.into());
            unit.request.iter().for_each(|(port, bits)| line("request", port, *bits));
            if unit.answer == Answer::Port {
                unit.response.iter().for_each(|(port, bits)| line("response", port, *bits));
            }
        }
        if ports.header_bits > 0 {
            line("output", "out_taken", 1);
            line("output", "out_short", 1);
            line("output", "out_payload", super::design::LENGTH_BITS);
        }
        ports.outputs.iter().for_each(|(_, port, bits)| line("output", port, *bits));
        if ports.sent_bits > 0 {
            line("output", "out_header", ports.sent_bits);
            line("output", "out_header_bytes", super::design::LENGTH_BITS);
        }
        text
    }

    /// Writes the line of a packet: a frame, or a random one.
    pub fn line(&mut self, frame: Option<&[u8]>) -> String {
        let drawn = match frame {
            Some(_) => Vec::new(),
            None => self.frame(),
        };
        let frame = frame.unwrap_or(&drawn);
        let frame = &frame[..frame.len().min(u16::MAX.into())];
        let ports = &self.hardware.ports;
        let mut words: Vec<String> = Vec::new();
        if ports.header_bits > 0 {
            let bytes = (0..ports.header_bits as usize / 8).map(|n| frame.get(n).unwrap_or(&0));
            words.push(bytes.map(|byte| format!("{byte:02x}")).collect());
            words.push(format!("{:x}", frame.len()));
        }
        for ((slot, _, width), still) in ports.inputs.iter().zip(&self.still) {
            let value = still.unwrap_or_else(|| draw(&mut self.random, *width));
            words.push(format!("{value:x}"));
            let register = self.flat.register(*slot);
            self.packet.set(register, value as u64);
            if *width > 64 {
                self.packet.set(register.map(|register| register + 1), (value >> 64) as u64);
            }
        }
        self.reference.asked.fill(None);
        let mut out = Vec::new();
        let parsed = self.packet.parse(&self.flat, frame);
        if parsed.is_ok() {
            self.packet.process(&self.flat, &[], &mut self.reference, &mut out);
        }
        for unit in ports.units.iter().filter(|unit| unit.is_port()) {
            let asked = &self.reference.asked[unit.external];
            words.push(u8::from(asked.is_some()).to_string());
            let answers = unit.answer == Answer::Port;
            let response = if answers { unit.response.len() } else { 0 };
            match asked {
                Some((request, answer)) => {
                    let all = request.iter().chain(answer.iter().take(response));
                    words.extend(all.map(|value| format!("{value:x}")));
                }
                None => words.extend(vec!["-".to_owned(); unit.request.len() + response]),
            }
        }
        self.outputs(parsed, &out, &mut words);
        words.join(" ")
    }

    fn outputs(&self, parsed: Result<usize, Rejected>, sent: &[u8], words: &mut Vec<String>) {
        let ports = &self.hardware.ports;
        if ports.header_bits > 0 {
            words.push(u8::from(parsed.is_ok()).to_string());
            words.push(u8::from(parsed == Err(Rejected::Short)).to_string());
            words.push(parsed.map_or("-".to_owned(), |bytes| format!("{bytes:x}")));
        }
        for (slot, _, width) in &ports.outputs {
            words.push(match (parsed, self.flat.decided(*slot)) {
                (Ok(_), Some(register)) => {
                    let high = if *width > 64 { self.packet.get(register + 1) } else { 0 };
                    let low = self.packet.get(register);
                    format!("{:x}", u128::from(high) << 64 | u128::from(low))
                }
                _ => "-".to_owned(),
            });
        }
        if ports.sent_bits > 0 && parsed.is_ok() {
            let mut bytes = sent.to_vec();
            bytes.resize(ports.sent_bits as usize / 8, 0);
            words.push(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
            words.push(format!("{:x}", sent.len()));
        } else if ports.sent_bits > 0 {
            words.extend(["-".to_owned(), "-".to_owned()]);
        }
    }

    /// Draws a frame that goes some way through the parser: keys of cases that are drawn, too, stand
    /// where its states look for them.
    fn frame(&mut self) -> Vec<u8> {
        let (program, random) = (self.program, &mut self.random);
        let longest = u64::from(self.hardware.ports.header_bits / 8);
        let count = match random.draw() % 16 {
            0 => random.draw() % (longest + 1),
            _ => longest + random.draw() % MOST_PAYLOAD,
        };
        let mut bytes: Vec<u8> = (0..count).map(|_| draw(random, 8) as u8).collect();
        let mut places = vec![None; program.slots.len()];
        let (mut at, mut number) = (0, 0);
        for _ in 0..MOST_STATES {
            let Some(state) = program.states.get(number) else { break };
            for step in &state.steps {
                let StepKind::Extract(header) = step.kind else { continue };
                let header = &program.headers[header as usize];
                for slot in header.first..header.first + header.fields {
                    places[slot as usize] = Some(at);
                    at += program.slots[slot as usize].width;
                }
            }
            // Most ways are to end well.
            let mut cases: Vec<_> = state.cases.iter().collect();
            if random.draw() % 16 != 0 {
                cases.retain(|case| case.to != Target::Reject);
            }
            if cases.is_empty() {
                break;
            }
            let case = cases[(random.draw() % cases.len() as u64) as usize];
            for (value, key) in state.on.iter().zip(&case.keys) {
                let ValueKind::Slot { slot, .. } = value.kind else { continue };
                let Some(place) = places[slot as usize] else { continue };
                let drawn = draw(random, value.width);
                let (number, mask) = match *key {
                    Key::Any => continue,
                    Key::Mask(number, mask) => (number, mask),
                    Key::Range(first, last) => {
                        let span = last.saturating_sub(first).saturating_add(1);
                        (first + drawn % span.max(1), u128::MAX)
                    }
                };
                let number = number & mask | drawn & !mask;
                for bit in 0..value.width {
                    let to = (place + bit) as usize;
                    let set = number >> (value.width - 1 - bit) & 1 != 0;
                    if let Some(byte) = bytes.get_mut(to / 8) {
                        let mask = 0x80 >> (to % 8);
                        *byte = if set { *byte | mask } else { *byte & !mask };
                    }
                }
            }
            match case.to {
                Target::State(next) => number = next,
                Target::Accept | Target::Reject => break,
            }
        }
        bytes
    }
}
