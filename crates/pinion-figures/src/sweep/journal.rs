//! What was measured, kept as it comes. In: a key and a row, one line of JSON each, appended. Out:
//! the rows of earlier sweeps by their keys.
//!
//! A line is written at once and whole, and is on the disk before the next point. What a sudden end
//! leaves of the last one is not read, and the next sweep begins a new line behind it, so the file is
//! never rewritten and two sweeps may share it.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Measured, Numbers};
use pinion_app::error::{Error, Result};

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
    file: Mutex<File>,
    known: HashMap<u64, Entry>,
    numbers: &'static Numbers,
}

impl Journal {
    /// Opens a journal, reading what it has unless all is to be run anew.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(path: &Path, numbers: &'static Numbers, fresh: bool) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
        }
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::file("read", path, error)),
        };
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let mut file = options.open(path).map_err(|error| Error::file("write", path, error))?;
        let known = match fresh {
            true => HashMap::new(),
            false => text.lines().filter_map(|line| read(numbers, line)).collect(),
        };
        if fresh {
            file.set_len(0).map_err(|error| Error::file("write", path, error))?;
        } else if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(|error| Error::file("write", path, error))?;
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
        line["point"] = settings;
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

/// Reads a line; one that is none says nothing.
fn read(numbers: &Numbers, line: &str) -> Option<(u64, Entry)> {
    Entry::from_json(numbers, &serde_json::from_str(line).ok()?)
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
}
