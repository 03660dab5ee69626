//! What goes in and out of a unit as the model has it: the scoreboard of a test bench. In: inputs and what is
//! expected, as a block beside the model is told. Out: a CSV file with a row for each cycle, behind a line with the
//! block's parameters.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use pinion_sim::block::{Block, Needs, Port};

use crate::HardwareError;

/// Writes a unit's ports; the model stays in its place.
#[derive(Debug)]
pub struct Recorder {
    title: String,
    path: PathBuf,
    file: BufWriter<File>,
    ports: Vec<Port>,
    /// By port: an input's words of 32 bits, the lowest first.
    inputs: Vec<Vec<u32>>,
    /// By port: what the model says of an output in this cycle, by words of 32 bits.
    outputs: Vec<Vec<Option<u32>>>,
    cycle: u64,
    line: String,
}

impl Recorder {
    /// Begins a file, with the parameters and the names of ports as its first lines.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(title: String, needs: &Needs, path: &Path) -> Result<Self, HardwareError> {
        let file = |action, error| HardwareError::file(action, path, error);
        let mut to = BufWriter::new(File::create(path).map_err(|error| file("create", error))?);
        let ports = &needs.ports;
        let names: Vec<&str> = ports.iter().map(|port| port.name).collect();
        let mut head = "#".to_owned();
        for (name, value) in &needs.parameters {
            let _ = write!(head, " {name}={value}");
        }
        writeln!(to, "{head}\ncycle,{}", names.join(",")).map_err(|error| file("write", error))?;
        Ok(Self {
            title,
            path: path.to_owned(),
            file: to,
            inputs: ports.iter().map(|port| vec![0; port.bits.div_ceil(32) as usize]).collect(),
            outputs: ports.iter().map(|port| vec![None; port.bits.div_ceil(32) as usize]).collect(),
            ports: ports.clone(),
            cycle: 0,
            line: String::new(),
        })
    }

    fn write_row(&mut self) -> std::io::Result<()> {
        let line = &mut self.line;
        line.clear();
        let _ = write!(line, "{}", self.cycle);
        for (port, (words, output)) in self.ports.iter().zip(self.inputs.iter().zip(&self.outputs))
        {
            line.push(',');
            if port.is_input {
                write_words(line, words);
            } else if let Some(words) = output.iter().copied().collect::<Option<Vec<u32>>>() {
                write_words(line, &words);
            }
        }
        line.push('\n');
        self.file.write_all(line.as_bytes())
    }
}

/// Writes words of 32 bits, the lowest first, as one number.
fn write_words(line: &mut String, words: &[u32]) {
    let begin = words.iter().rposition(|word| *word != 0).unwrap_or(0);
    let _ = write!(line, "{:x}", words[begin]);
    for word in words[..begin].iter().rev() {
        let _ = write!(line, "{word:08x}");
    }
}

impl Block for Recorder {
    fn put(&mut self, port: usize, value: u64) {
        for (word, part) in self.inputs[port].iter_mut().zip([value as u32, (value >> 32) as u32]) {
            *word = part;
        }
    }

    fn put_word(&mut self, port: usize, word: usize, value: u32) {
        self.inputs[port][word] = value;
    }

    fn get(&mut self, port: usize) -> u64 {
        let word = |at: usize| self.outputs[port].get(at).copied().flatten().unwrap_or(0);
        u64::from(word(0)) | u64::from(word(1)) << 32
    }

    fn expect(&mut self, port: usize, value: u64) {
        for (word, part) in self.outputs[port].iter_mut().zip([value as u32, (value >> 32) as u32])
        {
            *word = Some(part);
        }
    }

    fn expect_word(&mut self, port: usize, word: usize, value: u32) {
        if let Some(place) = self.outputs[port].get_mut(word) {
            *place = Some(value);
        }
    }

    fn end_cycle(&mut self) -> Result<(), String> {
        let written = self.write_row();
        self.outputs.iter_mut().for_each(|words| words.fill(None));
        self.cycle += 1;
        written.map_err(|error| format!("{} cannot be written: {error}", self.path.display()))
    }

    fn describe(&self) -> String {
        format!("{} has the ports of {} in {} cycles", self.path.display(), self.title, self.cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_inputs_as_they_are_and_outputs_that_the_model_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ports.csv");
        let ports = vec![Port::input("wide", 80), Port::input("narrow", 4), Port::output("out", 8)];
        let needs = Needs { ports, parameters: vec![("WIDE", 80), ("NARROW", 4)] };
        let mut recorder = Recorder::new("unit".to_owned(), &needs, &path).expect("a file");
        recorder.put_word(0, 2, 0xa);
        recorder.put(1, 3);
        recorder.expect(2, 0x1f);
        recorder.end_cycle().expect("a row");
        recorder.put(1, 0);
        recorder.end_cycle().expect("a row");
        drop(recorder);
        let text = std::fs::read_to_string(path).expect("a file");
        let wide = "a0000000000000000";
        let head = "# WIDE=80 NARROW=4\ncycle,wide,narrow,out";
        assert_eq!(text, format!("{head}\n0,{wide},3,1f\n1,{wide},0,\n"));
    }
}
