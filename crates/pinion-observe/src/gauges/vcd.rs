//! Writes gauges as a VCD file (Value Change Dump, IEEE 1364-2005, §18), which GTKWave and other viewers of
//! waveforms show. Units become scopes, the dots between them levels; the time is in picoseconds. Whoever
//! is not at work has no packet or message: `z`.

use std::io::Write;

use pinion_sim::Time;
use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, Writer};

use super::{Follower, Gauge};
use pinion_app::error::{Error, Result};

/// Writes a VCD file of a span of time.
pub struct Vcd<W: Write> {
    writer: Writer<W>,
    wires: Vec<Wire>,
    span: (Time, Time),
    /// The last time that was written.
    at: Option<Time>,
    is_over: bool,
}

/// A gauge in the file.
struct Wire {
    code: IdCode,
    bits: u32,
    value: Option<u64>,
}

/// Units within a unit, and its own gauges by their numbers.
#[derive(Default)]
struct Scope<'a> {
    name: &'a str,
    gauges: Vec<usize>,
    inside: Vec<Scope<'a>>,
}

impl<W: Write> Vcd<W> {
    /// Begins the file of a machine's gauges, from a time on and until one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(machine: &str, gauges: &[Gauge], span: (Time, Time), out: W) -> Result<Self> {
        let mut root = Scope { name: machine, ..Scope::default() };
        let paths: Vec<Vec<String>> = gauges.iter().map(|gauge| path(&gauge.unit)).collect();
        for (number, path) in paths.iter().enumerate() {
            let at = path.iter().fold(&mut root, |scope, name| scope.child(name));
            at.gauges.push(number);
        }
        let mut writer = Writer::new(out);
        let mut codes = vec![IdCode::FIRST; gauges.len()];
        let mut head = || {
            writer.version(concat!("pinion ", env!("CARGO_PKG_VERSION")))?;
            writer.timescale(1, TimescaleUnit::PS)?;
            root.write(&mut writer, gauges, &mut codes)?;
            writer.enddefinitions()
        };
        head().map_err(failed)?;
        let wire = |(gauge, code): (&Gauge, IdCode)| {
            let value = (!gauge.is_label).then_some(0);
            Wire { code, bits: gauge.bits, value }
        };
        let wires = gauges.iter().zip(codes).map(wire).collect();
        Ok(Self { writer, wires, span, at: None, is_over: false })
    }

    /// Writes that it is a time now; at the first one the values of all.
    fn go_to(&mut self, at: Time) -> std::io::Result<()> {
        if self.at.is_none() {
            self.writer.timestamp(self.span.0.ps())?;
            self.at = Some(self.span.0);
            self.writer.begin(SimulationCommand::Dumpvars)?;
            self.wires.iter().try_for_each(|wire| wire.write(&mut self.writer))?;
            self.writer.end()?;
        }
        if self.at != Some(at) {
            self.writer.timestamp(at.ps())?;
            self.at = Some(at);
        }
        Ok(())
    }

    fn write(&mut self, at: Time, gauge: usize, value: Option<u64>) -> std::io::Result<()> {
        let (from, to) = self.span;
        if at > from {
            // What was so at first is written before the value changes.
            self.go_to(at.min(to))?;
        }
        self.wires[gauge].value = value;
        if at > from && at < to { self.wires[gauge].write(&mut self.writer) } else { Ok(()) }
    }
}

impl<W: Write> Follower for Vcd<W> {
    fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()> {
        if self.is_over {
            return Ok(());
        }
        self.is_over = at >= self.span.1;
        self.write(at, gauge, value).map_err(failed)
    }

    fn end(&self) -> Time {
        self.span.1
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        let end = now.max(self.span.0).min(self.span.1);
        self.go_to(end.max(self.at.unwrap_or(end))).map_err(failed)?;
        self.writer.flush().map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::part("cannot write the trace", error)
}

/// Splits a unit's path into scopes' names: a number belongs to the name before it.
fn path(unit: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in unit.split('.').filter(|part| !part.is_empty()) {
        let part: String =
            part.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect();
        match names.last_mut() {
            Some(last) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
                last.push('_');
                last.push_str(&part);
            }
            _ => names.push(part),
        }
    }
    names
}

impl<'a> Scope<'a> {
    fn child(&mut self, name: &'a str) -> &mut Self {
        let place = self.inside.iter().position(|scope| scope.name == name);
        let place = place.unwrap_or_else(|| {
            self.inside.push(Scope { name, ..Scope::default() });
            self.inside.len() - 1
        });
        &mut self.inside[place]
    }

    fn write<W: Write>(
        &self,
        writer: &mut Writer<W>,
        gauges: &[Gauge],
        codes: &mut [IdCode],
    ) -> std::io::Result<()> {
        writer.add_module(self.name)?;
        for &gauge in &self.gauges {
            codes[gauge] = writer.add_wire(gauges[gauge].bits, &gauges[gauge].name)?;
        }
        self.inside.iter().try_for_each(|scope| scope.write(writer, gauges, codes))?;
        writer.upscope()
    }
}

impl Wire {
    fn write<W: Write>(&self, writer: &mut Writer<W>) -> std::io::Result<()> {
        match (self.value, self.bits) {
            (None, 1) => writer.change_scalar(self.code, Value::Z),
            (Some(value), 1) => writer.change_scalar(self.code, value != 0),
            (None, _) => writer.change_vector(self.code, [Value::Z]),
            (Some(value), _) => {
                // Digits in front are those that the first one says.
                let digits = (u64::BITS - value.leading_zeros()).max(1);
                let digit = |place| Value::from(value >> place & 1 == 1);
                writer.change_vector(self.code, (0..digits).rev().map(digit))
            }
        }
    }
}
