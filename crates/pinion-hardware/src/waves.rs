//! Writes the last cycles of a block as a waveform (VCD): its ports, and what was expected of them.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use pinion_output::Partial;
use vcd::{IdCode, TimescaleUnit, Value};

use crate::library::Found;

/// Holds a cycle: all ports' values as words of 32 bits, and what was expected, by port.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The words, port after port.
    pub words: Vec<u32>,
    /// Ports of which something was expected, with it.
    pub expected: Vec<(usize, u64)>,
}

fn bits(words: &[u32], count: u32) -> Vec<Value> {
    let bit = |at: u32| words.get(at as usize / 32).is_some_and(|word| word >> (at % 32) & 1 == 1);
    (0..count).rev().map(|at| if bit(at) { Value::V1 } else { Value::V0 }).collect()
}

/// Writes rows, of which the first is that of cycle `first`.
pub fn write<'a>(
    path: &Path,
    module: &str,
    ports: &[Found],
    first: u64,
    rows: impl Iterator<Item = &'a Row>,
) -> io::Result<()> {
    let (file, partial) = Partial::create(path).map_err(|error| error.source)?;
    let mut file = BufWriter::new(file);
    let mut to = vcd::Writer::new(&mut file);
    to.comment("a cycle is two units of time; model_… is what the model did")?;
    to.timescale(1, TimescaleUnit::NS)?;
    to.add_module(module)?;
    let wires: Vec<IdCode> =
        ports.iter().map(|port| to.add_wire(port.bits, &port.name)).collect::<io::Result<_>>()?;
    let mut models = Vec::new();
    for port in ports {
        let name = format!("model_{}", port.name);
        models.push(if port.is_input { None } else { Some(to.add_wire(port.bits, &name)?) });
    }
    to.upscope()?;
    to.enddefinitions()?;
    for (cycle, row) in (first..).zip(rows) {
        to.timestamp(2 * cycle)?;
        let mut at = 0;
        for (port, wire) in ports.iter().zip(&wires) {
            let count = port.bits.div_ceil(32) as usize;
            let words = &row.words[at..at + count];
            at += count;
            let shown = if port.name == "clock" { &[0][..] } else { words };
            to.change_vector(*wire, bits(shown, port.bits))?;
        }
        for (index, (port, wire)) in ports.iter().zip(&models).enumerate() {
            let Some(wire) = wire else { continue };
            let expected = row.expected.iter().find(|(port, _)| *port == index);
            let shown = match expected {
                Some((_, value)) => bits(&[*value as u32, (*value >> 32) as u32], port.bits),
                None => vec![Value::X; port.bits as usize],
            };
            to.change_vector(*wire, shown)?;
        }
        to.timestamp(2 * cycle + 1)?;
        if let Some(clock) = ports.iter().position(|port| port.name == "clock") {
            to.change_vector(wires[clock], [Value::V1])?;
        }
    }
    to.flush()?;
    file.flush()?;
    partial.keep().map_err(|error| error.source)
}
