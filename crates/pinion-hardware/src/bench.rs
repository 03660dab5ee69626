//! A block, cycle by cycle. In: inputs and what is expected. Out: outputs, the first difference, the waves of
//! the cycles before.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pinion_sim::block::{Block, Port};

use crate::HardwareError;
use crate::library::{Found, Library};
use crate::loaded::{Loaded, position};
use crate::stuck::Turns;
use crate::waves::{self, Row};

/// Cycles that a waveform shows.
pub const WINDOW: usize = 200;

/// Simulates a block in a machine.
#[derive(Debug)]
pub struct Bench {
    title: String,
    file: PathBuf,
    block: Loaded,
    turns: Turns,
    ports: Vec<Found>,
    /// By the adapter's port: the library's.
    places: Vec<usize>,
    clock: usize,
    expected: Vec<(usize, u64)>,
    /// Of wide ports: the port, the word, its value.
    expected_words: Vec<(usize, usize, u32)>,
    streams: Vec<Stream>,
    is_settled: bool,
    stopped: Option<String>,
    cycle: u64,
    rows: VecDeque<Row>,
    waves: PathBuf,
}

/// Is a valid/ready stream between a block and a neighbour.
#[derive(Debug)]
struct Stream {
    name: String,
    valid: usize,
    ready: usize,
    is_input: bool,
    /// Cycles since valid came up and nothing was taken.
    waits: u64,
    /// Cycles since valid was up.
    silent: u64,
}

impl Bench {
    /// Makes a block that has been reset. Its title names it; its waves go to a file of a folder.
    ///
    /// # Errors
    /// When the library cannot be loaded, or the block stops at its reset.
    pub fn new(
        library: &Library,
        wanted: &[Port],
        (title, file): (String, PathBuf),
        folder: &Path,
    ) -> Result<Self, HardwareError> {
        let block = Loaded::new(library)?;
        let ports = library.ports.clone();
        let lacks = |name: &str| HardwareError::Load {
            path: library.path.clone(),
            problem: format!("it has no port {name}"),
        };
        let place = |name: &str| position(&ports, name).ok_or_else(|| lacks(name));
        let places = wanted.iter().map(|port| place(port.name)).collect::<Result<Vec<_>, _>>()?;
        let (clock, reset) = (place("clock")?, place("reset")?);
        let stream = |port: &Port| {
            let name = port.name.strip_suffix("_valid")?;
            let ready = position(&ports, &format!("{name}_ready"))?;
            let valid = position(&ports, port.name)?;
            let (name, is_input) = (name.to_owned(), port.is_input);
            Some(Stream { name, valid, ready, is_input, waits: 0, silent: 0 })
        };
        let streams = wanted.iter().filter_map(stream).collect();
        let waves = folder.join(format!("{}.vcd", title.replace(' ', "-")));
        let turns = Turns::new(&title);
        let mut bench = Self {
            title,
            file,
            block,
            turns,
            ports,
            places,
            clock,
            expected: Vec::new(),
            expected_words: Vec::new(),
            streams,
            is_settled: false,
            stopped: None,
            cycle: 0,
            rows: VecDeque::with_capacity(WINDOW),
            waves,
        };
        bench.block.put(reset, 1);
        for value in [0, 1, 0, 1] {
            bench.block.put(clock, value);
            bench.settle();
            bench.is_settled = false;
        }
        bench.block.put(reset, 0);
        bench.block.put(clock, 0);
        match bench.stopped.take() {
            Some(problem) => {
                Err(HardwareError::Usage(format!("{} stops at its reset: {problem}", bench.title)))
            }
            None => Ok(bench),
        }
    }

    fn settle(&mut self) {
        if self.is_settled || self.stopped.is_some() {
            return;
        }
        self.is_settled = true;
        self.stopped = self.turns.count(|| self.block.eval()).err();
    }

    fn value(&self, port: usize) -> String {
        let mut words = Vec::new();
        self.block.words(port, &mut words);
        let mut text = String::new();
        for word in words.iter().rev() {
            // Leading words of zeros say nothing.
            if !text.is_empty() {
                let _ = write!(text, "{word:08x}");
            } else if *word != 0 {
                let _ = write!(text, "{word:x}");
            }
        }
        if text.is_empty() { "0".into() } else { text }
    }

    fn values(&self, which: impl Fn(&Found) -> bool) -> String {
        let shown = self.ports.iter().enumerate().filter(|(_, port)| which(port));
        let shown = shown.map(|(index, port)| format!("{} {}", port.name, self.value(index)));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Gives all that a reader wants of the cycle.
    fn look(&self) -> String {
        let is_state = |port: &Found| port.name.starts_with("state_");
        let is_clock = |port: &Found| port.name == "clock" || port.name == "reset";
        let mut text = format!(
            "in (hexadecimal): {}\n  out: {}",
            self.values(|port| port.is_input && !is_clock(port)),
            self.values(|port| !port.is_input && !is_state(port))
        );
        let state = self.values(is_state);
        if !state.is_empty() {
            let _ = write!(text, "\n  the block's state: {state}");
        }
        text
    }

    /// Writes the last cycles; says where they are.
    fn write_waves(&self) -> String {
        let first = (self.cycle + 1).saturating_sub(self.rows.len() as u64);
        let written = waves::write(&self.waves, &self.title, &self.ports, first, self.rows.iter());
        match written {
            Ok(()) => format!("{} has the last {} cycles", self.waves.display(), self.rows.len()),
            Err(error) => format!("{} cannot be written: {error}", self.waves.display()),
        }
    }

    fn record(&mut self) {
        let mut row = if self.rows.len() == WINDOW {
            self.rows.pop_front().unwrap_or_default()
        } else {
            Row::default()
        };
        row.words.clear();
        for port in 0..self.ports.len() {
            self.block.words(port, &mut row.words);
        }
        row.expected.clone_from(&self.expected);
        self.rows.push_back(row);
        for stream in &mut self.streams {
            let (valid, ready) =
                (self.block.get(stream.valid) != 0, self.block.get(stream.ready) != 0);
            stream.waits = if valid && !ready { stream.waits + 1 } else { 0 };
            stream.silent = if valid { 0 } else { stream.silent + 1 };
        }
    }
}

impl Block for Bench {
    fn put(&mut self, port: usize, value: u64) {
        self.block.put(self.places[port], value);
        self.is_settled = false;
    }

    fn put_word(&mut self, port: usize, word: usize, value: u32) {
        self.block.put_word(self.places[port], word, value);
        self.is_settled = false;
    }

    fn get(&mut self, port: usize) -> u64 {
        self.settle();
        self.block.get(self.places[port])
    }

    fn expect(&mut self, port: usize, value: u64) {
        let port = self.places[port];
        self.expected.retain(|(other, _)| *other != port);
        self.expected.push((port, value));
    }

    fn expect_word(&mut self, port: usize, word: usize, value: u32) {
        self.expected_words.push((self.places[port], word, value));
    }

    fn end_cycle(&mut self) -> Result<(), String> {
        self.settle();
        self.record();
        if let Some(problem) = &self.stopped {
            let (title, file) = (&self.title, self.file.display());
            return Err(format!("{title} ({file}) stops with {problem}\n  {}", self.write_waves()));
        }
        let differs = |(port, value): &&(usize, u64)| self.block.get(*port) != *value;
        let mut differing: Vec<String> = self
            .expected
            .iter()
            .filter(differs)
            .map(|(port, value)| {
                let (name, is) = (&self.ports[*port].name, self.block.get(*port));
                format!("{name} is {is:#x} and the model's {value:#x}")
            })
            .collect();
        let mut words = Vec::new();
        for &(port, word, value) in &self.expected_words {
            words.clear();
            self.block.words(port, &mut words);
            let is = words.get(word).copied().unwrap_or(0);
            if is != value {
                let (name, low) = (&self.ports[port].name, 32 * word);
                differing.push(format!(
                    "{name} from bit {low} on is {is:#x} and the model's {value:#x}"
                ));
            }
        }
        if !differing.is_empty() {
            return Err(format!(
                "{} ({}) differs from the model: {}\n  {}\n  {}",
                self.title,
                self.file.display(),
                differing.join(", "),
                self.look(),
                self.write_waves()
            ));
        }
        self.expected.clear();
        self.expected_words.clear();
        self.block.put(self.clock, 1);
        self.is_settled = false;
        self.settle();
        self.block.put(self.clock, 0);
        self.is_settled = false;
        self.cycle += 1;
        Ok(())
    }

    fn describe(&self) -> String {
        let mut lines = vec![format!(
            "{} is hardware ({}), {} cycles after its reset",
            self.title,
            self.file.display(),
            self.cycle
        )];
        for stream in &self.streams {
            let (name, waits, silent) = (&stream.name, stream.waits, stream.silent);
            lines.push(match (stream.is_input, waits) {
                (true, 1..) => format!(
                    "{name}_valid is up and {name}_ready has not come for {waits} cycles: its \
                     neighbour waits for {}",
                    self.title
                ),
                (false, 1..) => {
                    format!("it offers {name}, which nobody has taken for {waits} cycles")
                }
                (false, 0) => format!("it has not had {name}_valid up for {silent} cycles"),
                (true, 0) => continue,
            });
        }
        lines.push(self.look());
        lines.push(self.write_waves());
        lines.join("\n  ")
    }
}
