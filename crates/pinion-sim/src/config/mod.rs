//! The one TOML loader: machine files and app manifests.
//!
//! In: the text of a file and a list of overrides (`cluster.count=8`). Out: the caller's typed
//! structure and the list of every leaf with its annotation, in file order, for `pinion machine
//! show`. Every error tells file, line, column, the line itself and, for an unknown key, the
//! nearest valid one.
//!
//! A leaf may be written plainly (`count = 4`) or with where it comes from:
//!
//! ```toml
//! count = { value = 4, unit = "clusters", source = "paper, table II", note = "…" }
//! ```
//!
//! Any table with a `value` that is not itself a table is such a leaf; `unit`, `source` and `note`
//! are optional, other keys are refused. The structure sees plain values only, so it must not have
//! a field named `value`. Quantities whose unit is a scale go into the value (`"64KiB"`, `"100us"`,
//! see [`units`]); `unit` is for the reader. Structures should say
//! `#[serde(deny_unknown_fields)]`: that is what makes a misspelt key an error.

mod document;
mod error;
mod overrides;
pub mod units;

pub use error::{ConfigError, Location};
pub use units::{Bytes, Duration};

use std::path::Path;

use serde::de::DeserializeOwned;

use document::Document;

/// Describes one leaf of a loaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Names the leaf, as an override would: `cluster.count`, `context[0].name`.
    pub key: String,
    /// Shows the value in TOML's notation, after overrides.
    pub value: String,
    /// Tells the unit, where the file does.
    pub unit: Option<String>,
    /// Tells where the number comes from (paper section, table, RTL module), where the file does.
    pub source: Option<String>,
    /// Adds what the reader should know, where the file does.
    pub note: Option<String>,
    /// Tells whether an override replaced the file's value.
    pub overridden: bool,
    span: std::ops::Range<usize>,
}

/// Holds a loaded file: the typed value and how it was written.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// Holds what the file says, overrides applied.
    pub value: T,
    /// Lists every leaf in file order.
    pub entries: Vec<Entry>,
    /// Names the file in messages.
    pub origin: String,
    text: String,
}

impl<T> Loaded<T> {
    /// Makes an error that points at the leaf `key`, for checks that come after loading (a handler
    /// that does not exist, a size that does not fit). Falls back to the first leaf under `key`,
    /// then to the start of the file.
    pub fn error_at(&self, key: &str, problem: impl Into<String>) -> ConfigError {
        let offset = self
            .entries
            .iter()
            .find(|entry| entry.key == key)
            .or_else(|| self.entries.iter().find(|entry| entry.key.starts_with(key)))
            .map_or(0, |entry| entry.span.start);
        ConfigError::Invalid {
            at: Box::new(Location::of(&self.origin, &self.text, offset)),
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    /// Replaces the value, keeping how the file was written.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Loaded<U> {
        Loaded {
            value: convert(self.value),
            entries: self.entries,
            origin: self.origin,
            text: self.text,
        }
    }
}

/// Loads a file from disk; see [`load`].
///
/// # Errors
/// Those of [`load`], and [`ConfigError::Read`] when the file cannot be read.
pub fn load_file<T: DeserializeOwned>(
    path: &Path,
    overrides: &[String],
) -> Result<Loaded<T>, ConfigError> {
    let origin = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Read { path: origin.clone(), source })?;
    load(&origin, &text, overrides)
}

/// Loads TOML text named `origin` in messages, applies `overrides` (each `key=value` in TOML's
/// value syntax, a bare word being a string) and gives the typed value and its entries.
///
/// # Errors
/// Syntax errors, unknown keys (in the text or in an override), ill-typed values.
pub fn load<T: DeserializeOwned>(
    origin: &str,
    text: &str,
    overrides: &[String],
) -> Result<Loaded<T>, ConfigError> {
    let overrides = overrides::parse_all(overrides)?;
    let document = Document::parse(origin, text, &overrides)?;
    let entries = document.entries.clone();
    let value = document.deserialize()?;
    Ok(Loaded { value, entries, origin: origin.to_owned(), text: text.to_owned() })
}

#[cfg(test)]
mod tests;
