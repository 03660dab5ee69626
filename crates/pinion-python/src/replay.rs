//! How to see a defect again. In: what a function of Python was asked. Out: the command that asks the same,
//! which an `InternalError` names.

use std::path::{Path, PathBuf};

use pinion_app::app::Options;
use pinion_app::build::BuildType;
use pinion_net::capture::{CaptureWriter, LinkType};
use pyo3::prelude::*;

use crate::again::Origin;
use crate::app::App;
use crate::packets::Source;
use crate::{again, errors};

/// What was asked, in the words of the command.
pub struct Replay {
    words: Vec<String>,
    /// What no option asks for, as keywords of `pinion.run`.
    keywords: Vec<String>,
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
        Self { words, keywords: Vec::new(), is_paced }
    }

    /// Also asks for what no option of the command asks for.
    #[must_use]
    pub fn with(self, keywords: Vec<String>) -> Self {
        Self { keywords, ..self }
    }

    /// Does work with the interpreter released, as [`errors::detached`]; a defect names the command.
    pub fn detached<T: Send>(
        &self,
        packets: Option<&Bound<'_, PyAny>>,
        py: Python<'_>,
        work: impl FnOnce() -> pinion_app::Result<T> + Send,
    ) -> PyResult<T> {
        errors::detached(py, || self.command(packets), work)
    }

    /// Gives the command, with what came in.
    pub fn command(&self, packets: Option<&Bound<'_, PyAny>>) -> String {
        let words = self.whole(packets);
        match self.keywords.is_empty() {
            true => errors::shell(&words),
            false => again::script(&[in_python(&words, &self.keywords)]),
        }
    }

    /// Says what makes again what a call gave.
    pub fn origin(self, packets: Option<&Bound<'_, PyAny>>) -> Origin {
        let packets = packets.map(|packets| packets.clone().unbind());
        Origin::new(move |asked| {
            let made = Python::attach(|py| {
                let packets = packets.as_ref().map(|packets| packets.bind(py));
                in_python(&self.whole(packets), &self.keywords)
            });
            again::script(&[made + asked])
        })
    }

    fn whole(&self, packets: Option<&Bound<'_, PyAny>>) -> Vec<String> {
        let source = Source::read(packets).unwrap_or(Source::Standard);
        let mut words = self.words.clone();
        words.extend(self.incoming(source).into_iter().flatten());
        words
    }

    /// Says what comes in; frames go to a file.
    fn incoming(&self, source: Source) -> Option<Vec<String>> {
        let pair = |option: &str, value: String| Some(vec![option.to_owned(), value]);
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        match source {
            Source::Standard => None,
            Source::Capture(path) => pair("--pcap-in", absolute(path).display().to_string()),
            Source::Generator(spec) => pair("--generate", spec),
            Source::Load(spec) => pair("--load", spec),
            Source::Messages(path) => pair("--messages", absolute(path).display().to_string()),
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

/// Writes a command that runs an application as a call of `pinion.run`, `why` or `profile`.
fn in_python(words: &[String], keywords: &[String]) -> String {
    let (mut app, mut run, mut set) = (vec![again::text(&words[2])], Vec::new(), Vec::new());
    let (mut machine, mut packets, mut is_faithful) = (None, "None".to_owned(), false);
    let mut rest = words[3..].iter();
    while let Some(option) = rest.next() {
        let name = option.trim_start_matches("--").replace('-', "_");
        match name.as_str() {
            "faithful" => is_faithful = true,
            "check" | "p99" => run.push(format!("{name}=True")),
            _ => {
                let word = rest.next().map_or("", String::as_str);
                let text = again::text(word);
                let is_number = word.parse::<u64>().is_ok();
                match name.as_str() {
                    "elf" | "cc" | "build_dir" => app.push(format!("{name}={text}")),
                    "build_type" => app.push("debug=True".to_owned()),
                    "machine" => machine = Some(text),
                    "set" => {
                        let (key, value) = word.split_once('=').unwrap_or((word, ""));
                        set.push(format!("{}: {}", again::text(key), again::text(value)));
                    }
                    "pcap_in" => packets = text,
                    "generate" => packets = format!("pinion.Generator({text})"),
                    "load" => packets = format!("pinion.Load({text})"),
                    "messages" => packets = format!("pinion.Messages({text})"),
                    "peer" if word == "ack" => run.push("peer=True".to_owned()),
                    "peer" => run.push("peer=False".to_owned()),
                    "link" if is_number => run.push(format!("link_cycles={word}")),
                    _ if is_number => run.push(format!("{name}={word}")),
                    _ => run.push(format!("{name}={text}")),
                }
            }
        }
    }
    let set = format!("{{{}}}", set.join(", "));
    match machine {
        Some(name) => {
            let faithful = if is_faithful { ", faithful=True" } else { "" };
            run.push(format!("machine=pinion.Machine({name}, {set}{faithful})"));
        }
        None if set.len() > 2 => run.push(format!("set={set}")),
        None => {}
    }
    run.extend(keywords.iter().cloned());
    let given = [vec![format!("pinion.App({})", app.join(", ")), packets], run].concat();
    format!("pinion.{}({})", words[1], given.join(", "))
}
