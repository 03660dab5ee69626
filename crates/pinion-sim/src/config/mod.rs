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

use document::{Changes, Document};

/// Describes one leaf of a loaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name of the leaf, as an override would: `cluster.count`, `context[0].name`.
    pub key: String,
    /// Shows the value in TOML's notation, after overrides.
    pub value: String,
    /// Tells the unit, where the file does.
    pub unit: Option<String>,
    /// Where the number comes from (paper section, table, RTL module), where the file does.
    pub source: Option<String>,
    /// Adds what the reader should know, where the file does.
    pub note: Option<String>,
    /// Whether an override replaced the file's value.
    pub overridden: bool,
    span: std::ops::Range<usize>,
    /// Where the value stands in the file that builds on this one.
    changed_at: Option<std::ops::Range<usize>>,
}

/// Holds a loaded file: the typed value and how it was written.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// What the file says, overrides applied.
    pub value: T,
    /// Lists every leaf in file order.
    pub entries: Vec<Entry>,
    /// Name of the file in messages.
    pub origin: String,
    text: String,
    /// Name and text of the file that this one builds on.
    base: Option<(String, String)>,
}

impl<T> Loaded<T> {
    /// Makes an error that points at the leaf `key`, for checks that come after loading (a handler
    /// that does not exist, a size that does not fit), or at the override that gave it its value. Falls
    /// back to the first leaf under `key`, then to the start of the file.
    pub fn error_at(&self, key: &str, problem: impl Into<String>) -> ConfigError {
        let entries = &self.entries;
        let exact = entries.iter().find(|entry| entry.key == key);
        let found = exact.or_else(|| entries.iter().find(|entry| entry.key.starts_with(key)));
        if let Some(Entry { key, value, .. }) = found.filter(|entry| entry.overridden) {
            return ConfigError::OverrideValue {
                text: format!("{key}={value}"),
                problem: problem.into(),
            };
        }
        let at = match (&self.base, found) {
            (Some((origin, text)), Some(entry)) if entry.changed_at.is_none() => {
                Location::of(origin, text, entry.span.start)
            }
            (_, found) => {
                let span = found.map(|entry| entry.changed_at.as_ref().unwrap_or(&entry.span));
                Location::of(&self.origin, &self.text, span.map_or(0, |span| span.start))
            }
        };
        ConfigError::Invalid { at: Box::new(at), key: key.to_owned(), problem: problem.into() }
    }

    /// Gives the file's text, and that of the file that it builds on.
    pub fn texts(&self) -> (&str, Option<&str>) {
        (&self.text, self.base.as_ref().map(|(_, text)| text.as_str()))
    }

    /// Replaces the value, keeping how the file was written.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Loaded<U> {
        Loaded {
            value: convert(self.value),
            entries: self.entries,
            origin: self.origin,
            text: self.text,
            base: self.base,
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
    let text = pinion_input::text(path)
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
    let document = Document::parse(origin, text, &overrides, None)?;
    let entries = document.entries.clone();
    let value = document.deserialize()?;
    Ok(Loaded { value, entries, origin: origin.to_owned(), text: text.to_owned(), base: None })
}

/// Does the same for a text that may build on another: with a key `base = "NAME"` at its top it only
/// says what differs from the file that `find` gives for the name (origin and text).
///
/// # Errors
/// Those of [`load`]; a key that the other file does not have, another base in it; those of `find`.
pub fn load_on_base<T: DeserializeOwned, E: From<ConfigError>>(
    origin: &str,
    text: &str,
    overrides: &[String],
    find: impl FnOnce(&str) -> Result<(String, String), E>,
) -> Result<Loaded<T>, E> {
    let Some((name, changes)) = Changes::parse(origin, text)? else {
        return Ok(load(origin, text, overrides)?);
    };
    let (base, base_text) = find(&name)?;
    if Changes::parse(&base, &base_text)?.is_some() {
        return Err(changes.wrong_base(&base).into());
    }
    let overrides = overrides::parse_all(overrides)?;
    let document = Document::parse(&base, &base_text, &overrides, Some(&changes))?;
    let entries = document.entries.clone();
    let value = document.deserialize()?;
    let (origin, text) = (origin.to_owned(), text.to_owned());
    Ok(Loaded { value, entries, origin, text, base: Some((base, base_text)) })
}

#[cfg(test)]
mod tests;
