//! The targets, by what they read. Each takes any bytes and gives back what is said of them.

mod binaries;
mod captures;
mod debuggers;
mod documents;
mod frames;
mod messages;
mod programs;
mod recordings;
mod specs;

/// A reader, and what its inputs look like.
#[derive(Debug)]
pub struct Target {
    /// Its name, that of its folder in `corpus`.
    pub name: &'static str,
    /// Answers an input, and gives back in words how.
    pub run: fn(&[u8]) -> String,
    /// Files of this repository that are inputs to begin with.
    pub seeds: &'static [&'static str],
    /// Words that its format knows.
    pub words: &'static [&'static str],
    /// Whether its inputs are text.
    pub is_text: bool,
    /// Makes what changed fit again where a reader would look no further: checksums.
    pub mend: Option<fn(&mut [u8])>,
    /// Number of inputs in every run of the tests; some take longer than others.
    pub quick: u64,
}

impl Target {
    const fn text(name: &'static str, run: fn(&[u8]) -> String, quick: u64) -> Self {
        Self { name, run, seeds: &[], words: &[], is_text: true, mend: None, quick }
    }

    const fn bytes(name: &'static str, run: fn(&[u8]) -> String, quick: u64) -> Self {
        Self { is_text: false, ..Self::text(name, run, quick) }
    }

    const fn seeds(self, seeds: &'static [&'static str]) -> Self {
        Self { seeds, ..self }
    }

    const fn words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

/// All targets.
pub static TARGETS: [Target; 31] = [
    binaries::ELF,
    binaries::DEBUG_INFORMATION,
    binaries::CODE,
    captures::PCAP,
    captures::PCAPNG,
    documents::MACHINE,
    documents::APPLICATION,
    documents::CLUSTER,
    documents::MESSAGES,
    documents::EXPECT,
    documents::FIGURE,
    documents::BENCH,
    specs::GENERATE,
    specs::LOAD,
    specs::FAULTS,
    specs::SET,
    specs::RULES,
    specs::WORDS,
    specs::HARDWARE,
    frames::FRAMES,
    programs::P4,
    programs::P4_ENTRIES,
    programs::P4_PACKETS,
    messages::SOCKET,
    messages::EDITOR,
    messages::HTTP,
    debuggers::GDB,
    debuggers::CONSOLE,
    recordings::RECORDING,
    recordings::TAPE,
    recordings::JOURNAL,
];

/// Finds a target.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Says how a reader answered.
fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "taken".to_owned())
}

/// An input as text.
fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// A folder of this run's own.
fn folder() -> tempfile::TempDir {
    let made = tempfile::Builder::new().prefix("pinion-fuzz-").tempdir();
    made.unwrap_or_else(|error| panic!("cannot make a folder for inputs: {error}"))
}

/// Writes an input where a reader wants a file.
fn put(folder: &std::path::Path, name: &str, input: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, input).unwrap_or_else(|error| panic!("cannot write an input: {error}"));
    path
}
