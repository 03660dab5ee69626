//! `expect.toml`: an application's tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinion_sim::config::Duration;
use serde::Deserialize;

use crate::packet::{Packet, hexadecimal};
use pinion_app::error::{Error, Result};

/// Names the file beside a manifest.
pub const FILE_NAME: &str = "expect.toml";
/// Exit status of runs in which handlers or the program failed.
pub const FAILED: u8 = 3;

/// The tests of an application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The tests, in order.
    #[serde(default, rename = "run")]
    pub tests: Vec<Test>,
    /// Folder that paths in it are relative to.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// A run, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Says what is tested; without, what comes in does.
    #[serde(default)]
    pub name: String,
    /// Options of `pinion run` that it takes.
    #[serde(default)]
    pub options: Vec<String>,
    /// Packets that come in.
    #[serde(default, rename = "in")]
    pub packets_in: Vec<Packet>,
    /// A capture that comes in.
    pub input: Option<PathBuf>,
    /// Packets made to order.
    pub generate: Option<String>,
    /// Messages with their answers, of a nanoservice.
    pub messages: Option<PathBuf>,
    /// Requests to order, of a nanoservice.
    pub load: Option<String>,
    /// Packets that must leave, and no others.
    pub out: Option<Vec<Packet>>,
    /// A capture of them.
    pub output: Option<PathBuf>,
    /// Whether they must leave in this order.
    #[serde(default)]
    pub in_order: bool,
    /// Packets that no context must match, and no others, in this order.
    pub unmatched: Option<Unmatched>,
    /// Host memory as it must be left.
    #[serde(default)]
    pub host_memory: Vec<Host>,
    /// How many printed lines contain a text.
    #[serde(default)]
    pub printed: BTreeMap<String, usize>,
    /// The longest time from a packet's HER to its completion, or from wire to wire.
    pub latency_at_most: Option<Duration>,
    /// Whether memory and races are checked, as `pinion run --check` does; without, they are unless
    /// handlers are to fail.
    pub check: Option<bool>,
    /// Exit status of `pinion run`: 0, or 3 where handlers or the program fail.
    #[serde(default)]
    pub exit_status: u8,
    /// Numbers of packets, by their names in the summary.
    #[serde(default)]
    pub packets: BTreeMap<String, Wanted>,
    /// Numbers of the summary, by their place in its JSON: `latency_ns.p99`.
    #[serde(default)]
    pub summary: BTreeMap<String, Wanted>,
}

/// Packets that no context matches.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Unmatched {
    /// A capture of them.
    File(PathBuf),
    /// The packets.
    List(Vec<Packet>),
}

/// Host memory of a context.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Name of the context.
    pub context: String,
    /// Offset of the first byte.
    #[serde(default)]
    pub offset: u64,
    /// Bytes of a file.
    pub file: Option<PathBuf>,
    /// Bytes as hexadecimal digits.
    pub hex: Option<String>,
    /// Bytes as text.
    pub text: Option<String>,
    /// Bytes as 32-bit words, the least significant byte first.
    pub words: Option<Vec<u32>>,
}

/// A value, or its bounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Wanted {
    /// Exactly this number.
    Number(f64),
    /// Exactly this text.
    Text(String),
    /// A number within bounds.
    Bounds(Bounds),
}

impl Wanted {
    fn is_unbounded(&self) -> bool {
        matches!(self, Self::Bounds(Bounds { at_least: None, at_most: None }))
    }
}

/// Bounds of a number, themselves among it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The least.
    pub at_least: Option<f64>,
    /// The most.
    pub at_most: Option<f64>,
}

impl Host {
    /// Gives the bytes that are written; a file's path is relative to `folder`.
    ///
    /// # Errors
    /// What is wrong with what was written.
    pub fn bytes(&self, folder: &Path) -> std::result::Result<Vec<u8>, String> {
        let read = |path: &PathBuf| {
            let path = folder.join(path);
            pinion_input::bytes(&path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let in_words =
            |words: &Vec<u32>| Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect());
        let written = [
            self.file.as_ref().map(read),
            self.hex.as_ref().map(|text| hexadecimal(text)),
            self.text.as_ref().map(|text| Ok(text.clone().into_bytes())),
            self.words.as_ref().map(in_words),
        ];
        let mut written = written.into_iter().flatten();
        match (written.next(), written.next()) {
            (Some(bytes), None) => bytes,
            _ => Err("host_memory is one of file, words, hex and text".to_owned()),
        }
    }
}

impl Suite {
    /// Reads a file of tests.
    ///
    /// # Errors
    /// When it cannot be read, or is no such file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = pinion_input::text(path).map_err(|error| {
            if error.kind() != std::io::ErrorKind::NotFound {
                return Error::file("read", path, error);
            }
            Error::Usage(format!(
                "there is no {}: write [[run]] tables with name, in and out into it, as the one \
                 that `pinion new` makes",
                path.display()
            ))
        })?;
        let wrong = |problem: String| Error::Usage(format!("{}: {problem}", path.display()));
        let mut suite: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if suite.tests.is_empty() {
            return Err(wrong("it has no [[run]]".to_owned()));
        }
        suite.folder = path.parent().unwrap_or(Path::new(".")).to_owned();
        for (index, test) in suite.tests.iter_mut().enumerate() {
            if test.name.is_empty() {
                test.name = test.what_comes_in(index);
            }
        }
        for test in &suite.tests {
            let said = |problem| wrong(format!("run `{}`: {problem}", test.name));
            test.check(&suite.folder).map_err(said)?;
        }
        Ok(suite)
    }
}

impl Test {
    /// Says whether accesses are checked: where the test does not say, unless handlers are to fail.
    pub fn checks(&self) -> bool {
        self.check.unwrap_or(self.exit_status != FAILED)
    }

    /// Names it by what comes in, and the options.
    fn what_comes_in(&self, index: usize) -> String {
        let files = [&self.input, &self.messages].into_iter().flatten().next();
        let name = files.map(|file| file.display().to_string());
        let name = name.or_else(|| self.generate.clone()).or_else(|| self.load.clone());
        let name = name.unwrap_or_else(|| format!("run {}", index + 1));
        let options = self.options.join(" ");
        if options.is_empty() { name } else { format!("{name} {options}") }
    }

    /// Checks what can be checked before a run.
    fn check(&self, folder: &Path) -> std::result::Result<(), String> {
        let sources = [
            !self.packets_in.is_empty(),
            self.input.is_some(),
            self.generate.is_some(),
            self.messages.is_some(),
            self.load.is_some(),
        ];
        if sources.iter().filter(|given| **given).count() > 1 {
            return Err("what comes in is one of in, input, generate, messages and load".into());
        }
        if self.out.is_some() && self.output.is_some() {
            return Err("what leaves is one of out and output".into());
        }
        if self.in_order && self.out.is_none() && self.output.is_none() {
            return Err("in_order goes with out and output".into());
        }
        if self.exit_status != 0 && self.exit_status != FAILED {
            return Err("exit_status is 0, or 3 where handlers or the program fail".into());
        }
        let unmatched = match &self.unmatched {
            Some(Unmatched::List(list)) => Some(list),
            _ => None,
        };
        let lists = [Some(&self.packets_in), self.out.as_ref(), unmatched];
        for (name, list) in ["in", "out", "unmatched"].into_iter().zip(lists) {
            for (index, packet) in list.into_iter().flatten().enumerate() {
                let said = |problem| format!("{name}, packet {}: {problem}", index + 1);
                packet.check().map_err(said)?;
                if packet.at.is_some() && name != "in" {
                    return Err(said("at goes with packets that come in".to_owned()));
                }
            }
        }
        for host in &self.host_memory {
            host.bytes(folder)?;
        }
        let mut wanted = self.summary.iter().chain(&self.packets);
        if let Some((key, _)) = wanted.find(|(_, wanted)| wanted.is_unbounded()) {
            return Err(format!("{key}: write a value, at_least or at_most"));
        }
        Ok(())
    }

    /// Names the keys that only packet handlers have and that are given.
    pub fn of_handlers(&self) -> Option<&'static str> {
        let given = [
            ("in", !self.packets_in.is_empty()),
            ("generate", self.generate.is_some()),
            ("input", self.input.is_some()),
            ("out", self.out.is_some()),
            ("output", self.output.is_some()),
            ("unmatched", self.unmatched.is_some()),
            ("host_memory", !self.host_memory.is_empty()),
            ("packets", !self.packets.is_empty()),
        ];
        given.iter().find(|(_, given)| *given).map(|(key, _)| *key)
    }
}
