//! What was measured, kept as it comes. In: a key and a row, one line of JSON each, appended. Out:
//! the rows of earlier sweeps by their keys.
//!
//! A line is written at once and whole, and is on the disk before the next point. What a sudden end
//! leaves of the last one is not read, and the next sweep marks it and begins a new line behind it, so
//! the file is never rewritten and two sweeps may share it. Any other line that cannot be read is refused:
//! a journal of a later version, or a damaged one, is not taken for one that has less.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Measured, Numbers};
use pinion_app::assets::fnv1a;
use pinion_app::error::{Error, Result};
use pinion_output::OutputFile;

/// Version of what stands in a line.
const FORMAT: u64 = 1;
/// Ends a line that was cut off.
const CUT_OFF: &str = "#cut off";

/// What the journal keeps of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What was measured.
    pub measured: Measured,
    /// What went wrong in the run, if something did.
    pub problem: Option<String>,
}

/// Keeps rows by their keys.
pub struct Journal {
    path: PathBuf,
    file: Mutex<OutputFile>,
    known: HashMap<u64, Entry>,
    numbers: &'static Numbers,
}

impl Journal {
    /// Opens a journal, reading what it has unless all is to be run anew.
    ///
    /// # Errors
    /// When the file cannot be read or written, or holds what no sweep of this version has written.
    pub fn open(path: &Path, numbers: &'static Numbers, fresh: bool) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
        }
        let text = match pinion_input::bytes(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::file("read", path, error)),
        };
        let known = match fresh {
            true => HashMap::new(),
            false => read_all(numbers, path, &text)?,
        };
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let mut file =
            OutputFile::open(path, &options).map_err(|error| Error::file("write", path, error))?;
        if fresh {
            file.set_len(0).map_err(|error| Error::file("write", path, error))?;
        } else if !text.is_empty() && !text.ends_with('\n') {
            let end = format!("{CUT_OFF}\n");
            file.write_all(end.as_bytes()).map_err(|error| Error::file("write", path, error))?;
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), known, numbers })
    }

    /// Gives what is known of a point.
    pub fn find(&self, key: u64) -> Option<&Entry> {
        self.known.get(&key)
    }

    /// Keeps what a point gave; `settings` is for people who read the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&self, key: u64, settings: Value, entry: &Entry) -> Result<()> {
        let mut line = entry.to_json(self.numbers, key);
        line["format"] = FORMAT.into();
        line["point"] = settings;
        line["check"] = digest(&line).into();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write_all(format!("{line}\n").as_bytes());
        let kept = written.and_then(|()| file.sync_data());
        kept.map_err(|error| Error::file("write", &self.path, error))
    }
}

impl Entry {
    /// Gives it with its key, for [`Entry::from_json`].
    pub fn to_json(&self, numbers: &Numbers, key: u64) -> Value {
        json!({
            "key": format!("{key:016x}"),
            "measured": self.measured.to_json(numbers),
            "problem": self.problem,
        })
    }

    /// Reads what [`Entry::to_json`] wrote, and its key; `None` when that is something else.
    pub fn from_json(numbers: &Numbers, value: &Value) -> Option<(u64, Self)> {
        let key = u64::from_str_radix(value.get("key")?.as_str()?, 16).ok()?;
        let measured = Measured::from_json(numbers, value.get("measured")?)?;
        let problem = value.get("problem").and_then(Value::as_str).map(str::to_owned);
        Some((key, Self { measured, problem }))
    }
}

/// Reads all lines but those that were cut off.
fn read_all(numbers: &Numbers, path: &Path, text: &str) -> Result<HashMap<u64, Entry>> {
    let mut known = HashMap::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let Some(line) = line.strip_suffix('\n') else { break };
        if line.ends_with(CUT_OFF) {
            continue;
        }
        let entry = read(numbers, line).map_err(|why| {
            Error::Usage(format!(
                "{}, line {}: {why}; remove the line, or begin anew with --fresh",
                path.display(),
                number + 1
            ))
        })?;
        known.extend(entry);
    }
    Ok(known)
}

/// Digests what stands in a line.
fn digest(line: &Value) -> String {
    format!("{:016x}", fnv1a(line.to_string().into_bytes()))
}

/// Reads a line; `None`: another build wrote it, whose points are none of ours. The error says what it is
/// instead of a line.
fn read(numbers: &Numbers, line: &str) -> std::result::Result<Option<(u64, Entry)>, String> {
    let damaged = |what: &str| format!("the journal is damaged: {what}");
    let mut value: Value =
        serde_json::from_str(line).map_err(|error| damaged(&format!("no JSON: {error}")))?;
    match value.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => {}
        None if value.get("check").is_none() => return Ok(None),
        None => return Err(damaged("it has no format")),
        Some(format) => {
            return Err(format!(
                "a later Pinion wrote it: format {format}, this one knows {FORMAT}"
            ));
        }
    }
    let check = value.as_object_mut().and_then(|line| line.remove("check"));
    if check.as_ref().and_then(Value::as_str) != Some(&digest(&value)) {
        return Err(damaged("it is not as it was written"));
    }
    Ok(Entry::from_json(numbers, &value))
}

#[cfg(test)]
mod tests {
    use super::super::OF_HANDLERS;
    use super::*;

    fn entry(number: f64) -> Entry {
        let mut numbers = vec![Some(number); OF_HANDLERS.metrics.len()];
        numbers[3] = None;
        Entry { measured: Measured(numbers), problem: Some("a \"quoted\"\nproblem".to_owned()) }
    }

    #[test]
    fn what_was_kept_comes_back_to_the_last_digit_and_a_torn_line_does_not() {
        let dir = std::env::temp_dir().join(format!("pinion-journal-{}", std::process::id()));
        let path = dir.join("deeper/sweep.jsonl");
        let numbers = [0.1 + 0.2, 1e300 / 3.0, 123_456.789_012_345_67, 2f64.sqrt()];
        for (key, number) in numbers.iter().enumerate() {
            let journal = Journal::open(&path, &OF_HANDLERS, false).unwrap();
            assert_eq!(journal.known.len(), key);
            journal.keep(key as u64, json!({}), &entry(*number)).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        let journal = Journal::open(&path, &OF_HANDLERS, false).unwrap();
        assert_eq!(journal.known.len(), numbers.len() - 1);
        for (key, number) in numbers.iter().enumerate().take(numbers.len() - 1) {
            assert_eq!(journal.find(key as u64), Some(&entry(*number)));
        }
        journal.keep(9, json!({}), &entry(9.0)).unwrap();
        assert_eq!(Journal::open(&path, &OF_HANDLERS, false).unwrap().find(9), Some(&entry(9.0)));
        assert!(Journal::open(&path, &OF_HANDLERS, true).unwrap().known.is_empty());
        assert!(Journal::open(&path, &OF_HANDLERS, false).unwrap().known.is_empty());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_no_sweep_wrote_is_refused_with_its_line() {
        let dir = std::env::temp_dir().join(format!("pinion-journal-of-{}", std::process::id()));
        let path = dir.join("sweep.jsonl");
        let journal = Journal::open(&path, &OF_HANDLERS, false).unwrap();
        journal.keep(1, json!({}), &entry(1.0)).unwrap();
        journal.keep(2, json!({}), &entry(2.0)).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        let future = whole.replacen("\"format\":1", "\"format\":2", 2);
        let second = whole.lines().nth(1).unwrap();
        let cases = [
            (future, "line 1: a later Pinion wrote it: format 2"),
            (
                whole.replacen("\"format\"", "\"formet\"", 1),
                "line 1: the journal is damaged: it has no format",
            ),
            (whole.replacen(second, &second[..40], 1), "line 2: the journal is damaged: no JSON"),
            (whole.replacen("1.0", "1.5", 1), "line 1: the journal is damaged: it is not as"),
            (format!("{whole}\n"), "line 3: the journal is damaged: no JSON"),
        ];
        for (text, said) in cases {
            fs::write(&path, &text).unwrap();
            let error = Journal::open(&path, &OF_HANDLERS, false).err().expect(said).to_string();
            assert!(error.contains(said) && error.contains("sweep.jsonl"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "it was left as it was");
            assert!(Journal::open(&path, &OF_HANDLERS, true).is_ok());
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
