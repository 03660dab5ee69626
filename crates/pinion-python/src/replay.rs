//! How to see a defect again. In: what a function of Python was asked. Out: the command that asks the same,
//! which an `InternalError` names.

use std::any::Any;
use std::path::{Path, PathBuf};

use pinion_app::app::Options;
use pinion_app::build::BuildType;
use pinion_net::capture::{CaptureWriter, LinkType};
use pyo3::prelude::*;

use crate::app::App;
use crate::errors;
use crate::packets::Source;

/// What was asked, in the words of the command.
#[derive(Clone)]
pub struct Replay {
    words: Vec<String>,
    /// Said of frames without times of their own.
    is_paced: bool,
}

impl Replay {
    /// Puts the words together.
    pub fn new(verb: &str, app: &App, options: &Options, asked: Vec<String>) -> Self {
        let mut words = vec!["pinion".to_owned(), verb.to_owned()];
        let path = std::path::absolute(&app.path).unwrap_or_else(|_| app.path.clone());
        words.push(path.display().to_string());
        let mut with = |option: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([option.to_owned(), value]);
            }
        };
        let shown = |path: &PathBuf| path.display().to_string();
        with("--elf", options.elf.as_ref().map(shown));
        with("--cc", options.build.cc.clone());
        with("--build-dir", options.build.folder.as_ref().map(shown));
        let is_debug = options.build.build_type == BuildType::Debug;
        with("--build-type", is_debug.then(|| "debug".to_owned()));
        with("--machine", options.machine.clone());
        for set in &options.overrides {
            with("--set", Some(set.clone()));
        }
        words.extend(asked);
        words.extend(options.faithful.then(|| "--faithful".to_owned()));
        let is_paced = words.iter().any(|word| word == "--pace");
        Self { words, is_paced }
    }

    /// Does work with the interpreter released, as [`errors::detached`]; a defect names the command.
    pub fn detached<T: Send>(
        self,
        packets: Option<&Bound<'_, PyAny>>,
        py: Python<'_>,
        work: impl FnOnce() -> pinion_app::Result<T> + Send,
    ) -> PyResult<T> {
        errors::caught(py, work)?.map_err(|panic| {
            let source = Source::read(packets).unwrap_or(Source::Standard);
            self.defect(py, panic.as_ref(), source)
        })
    }

    /// Gives the exception for a defect, with the command and what came in.
    pub fn defect(self, py: Python<'_>, panic: &(dyn Any + Send), source: Source) -> PyErr {
        let mut words = self.words.clone();
        words.extend(self.incoming(source).into_iter().flatten());
        errors::internal(py, panic, Some(&errors::shell(&words)))
    }

    /// Says what comes in; frames go to a file.
    fn incoming(&self, source: Source) -> Option<Vec<String>> {
        let pair = |option: &str, value: String| Some(vec![option.to_owned(), value]);
        match source {
            Source::Standard => None,
            Source::Capture(path) => pair("--pcap-in", path.display().to_string()),
            Source::Generator(spec) => pair("--generate", spec),
            Source::Load(spec) => pair("--load", spec),
            Source::Messages(path) => pair("--messages", path.display().to_string()),
            Source::Frames(frames) => {
                let file = format!("pinion-defect-{}.pcap", std::process::id());
                let path: &Path = &std::env::temp_dir().join(file);
                let mut writer = CaptureWriter::create(path, LinkType::Ethernet).ok()?;
                for frame in &frames {
                    writer.write(frame.time_ps, &frame.bytes).ok()?;
                }
                writer.finish().ok()?;
                let mut words = pair("--pcap-in", path.display().to_string())?;
                if !self.is_paced {
                    words.extend(["--pace".to_owned(), "recorded".to_owned()]);
                }
                Some(words)
            }
        }
    }
}

/// Goes the way of `run` into a defect, for tests of what is said then.
#[pyfunction]
#[pyo3(signature = (app, packets=None, *, machine=None, seed=None))]
pub fn _defect(
    py: Python<'_>,
    app: &Bound<'_, PyAny>,
    packets: Option<&Bound<'_, PyAny>>,
    machine: Option<&Bound<'_, PyAny>>,
    seed: Option<u64>,
) -> PyResult<()> {
    let app = App::of(app)?;
    let asked = seed.map(|seed| vec!["--seed".to_owned(), seed.to_string()]).unwrap_or_default();
    let options = app.options(machine)?;
    Replay::new("run", &app, &options, asked).detached(packets, py, || panic!("a tested defect"))
}
