//! A parsed file: annotated TOML and overrides come in, a plain tree with spans and the list of
//! leaves go out.

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue, Error};

use super::error::nearest;
use super::overrides::Override;
use super::{ConfigError, Entry, Location};

/// Names the file that another one builds on.
const BASE_KEY: &str = "base";

const ANNOTATION_KEYS: [&str; 3] = ["unit", "source", "note"];

/// A file's tree without annotations, and what they said.
pub(super) struct Document<'a> {
    origin: &'a str,
    text: &'a str,
    overrides: &'a [Override<'a>],
    used: Vec<bool>,
    changes: Option<&'a Changes<'a>>,
    changed: Vec<bool>,
    root: Option<Spanned<DeTable<'a>>>,
    pub entries: Vec<Entry>,
    /// The leaves' values, in the order they were visited.
    values: Vec<DeValue<'a>>,
}

/// What a file says that builds on another one.
pub(super) struct Changes<'a> {
    pub origin: &'a str,
    pub text: &'a str,
    /// Its leaves but `base`, and what they say.
    leaves: Vec<(Entry, DeValue<'a>)>,
    /// Where the value of `base` stands.
    base_at: usize,
}

impl<'a> Changes<'a> {
    /// Reads a file; `None`: it builds on none. Gives the name of the one it builds on too.
    pub fn parse(origin: &'a str, text: &'a str) -> Result<Option<(String, Self)>, ConfigError> {
        let mut document = Document::read(origin, text, &[], None)?;
        let values = std::mem::take(&mut document.values);
        let all = std::mem::take(&mut document.entries).into_iter().zip(values);
        let (base, leaves): (Vec<_>, Vec<_>) = all.partition(|(entry, _)| entry.key == BASE_KEY);
        let Some((entry, value)) = base.into_iter().next() else { return Ok(None) };
        let Some(name) = value.as_str() else {
            return Err(ConfigError::Invalid {
                at: document.at(entry.span.start),
                key: entry.key,
                problem: "expected the name of the file that this one builds on".to_owned(),
            });
        };
        let base_at = entry.span.start;
        Ok(Some((name.to_owned(), Self { origin, text, leaves, base_at })))
    }

    /// Makes the error of a file that builds on one that builds on another.
    pub fn wrong_base(&self, base: &str) -> ConfigError {
        ConfigError::Invalid {
            at: Box::new(Location::of(self.origin, self.text, self.base_at)),
            key: BASE_KEY.to_owned(),
            problem: format!(
                "{base} has a base itself; name a file that has none, and says all that a machine has"
            ),
        }
    }
}

impl<'a> Document<'a> {
    pub fn parse(
        origin: &'a str,
        text: &'a str,
        overrides: &'a [Override<'a>],
        changes: Option<&'a Changes<'a>>,
    ) -> Result<Self, ConfigError> {
        let mut document = Self::read(origin, text, overrides, changes)?;
        document.entries.sort_by_key(|entry| entry.span.start);
        document.refuse_unused_overrides()?;
        document.refuse_unused_changes()?;
        Ok(document)
    }

    fn read(
        origin: &'a str,
        text: &'a str,
        overrides: &'a [Override<'a>],
        changes: Option<&'a Changes<'a>>,
    ) -> Result<Self, ConfigError> {
        let mut root = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            at: Box::new(Location::of(origin, text, error.span().map_or(0, |span| span.start))),
            problem: error.message().to_owned(),
        })?;
        let mut document = Self {
            origin,
            text,
            overrides,
            used: vec![false; overrides.len()],
            changes,
            changed: vec![false; changes.map_or(0, |changes| changes.leaves.len())],
            root: None,
            entries: Vec::new(),
            values: Vec::new(),
        };
        document.visit_table("", root.get_mut())?;
        document.root = Some(root);
        Ok(document)
    }

    pub fn deserialize<T: DeserializeOwned>(mut self) -> Result<T, ConfigError> {
        let root = self.root.take().expect("parse always leaves a tree");
        T::deserialize(toml::Deserializer::from(root)).map_err(|error| self.explain(&error))
    }

    fn at(&self, offset: usize) -> Box<Location> {
        Box::new(Location::of(self.origin, self.text, offset))
    }

    fn visit_table(&mut self, prefix: &str, table: &mut DeTable<'a>) -> Result<(), ConfigError> {
        for (key, value) in table.iter_mut() {
            let dotted = match prefix {
                "" => key.get_ref().to_string(),
                _ => format!("{prefix}.{}", key.get_ref()),
            };
            self.visit_value(&dotted, value)?;
        }
        Ok(())
    }

    fn visit_value(
        &mut self,
        key: &str,
        value: &mut Spanned<DeValue<'a>>,
    ) -> Result<(), ConfigError> {
        let span = value.span();
        match value.get_mut() {
            DeValue::Table(table) if is_annotated(table) => {
                let mut entry = self.take_annotation(key, table, span)?;
                let mut plain = table.remove("value").expect("is_annotated found it");
                self.override_leaf(&mut entry, plain.get_mut());
                entry.span = plain.span();
                self.entries.push(entry);
                self.values.push(plain.get_ref().clone());
                *value = plain;
                Ok(())
            }
            DeValue::Table(table) => self.visit_table(key, table),
            DeValue::Array(items) if holds_tables(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.visit_value(&format!("{key}[{index}]"), item)?;
                }
                Ok(())
            }
            leaf => {
                let mut entry = Entry::new(key, span);
                self.override_leaf(&mut entry, leaf);
                self.entries.push(entry);
                self.values.push(leaf.clone());
                Ok(())
            }
        }
    }

    fn take_annotation(
        &self,
        key: &str,
        table: &DeTable<'a>,
        span: std::ops::Range<usize>,
    ) -> Result<Entry, ConfigError> {
        let mut entry = Entry::new(key, span);
        for (name, value) in table.iter().filter(|(name, _)| name.get_ref() != "value") {
            let slot = match name.get_ref().as_ref() {
                "unit" => &mut entry.unit,
                "source" => &mut entry.source,
                "note" => &mut entry.note,
                other => {
                    return Err(ConfigError::UnknownKey {
                        at: self.at(name.span().start),
                        key: other.to_owned(),
                        nearest: nearest(other, ANNOTATION_KEYS),
                        valid: std::iter::once("value")
                            .chain(ANNOTATION_KEYS)
                            .map(str::to_owned)
                            .collect(),
                    });
                }
            };
            *slot = Some(value.get_ref().as_str().map(str::to_owned).ok_or_else(|| {
                ConfigError::Invalid {
                    at: self.at(value.span().start),
                    key: format!("{key}.{}", name.get_ref()),
                    problem: "expected a string".to_owned(),
                }
            })?);
        }
        Ok(entry)
    }

    /// Replaces a leaf by what the file that builds on this one says, or by the last override that
    /// names it, and notes what the leaf says.
    fn override_leaf(&mut self, entry: &mut Entry, leaf: &mut DeValue<'a>) {
        let changes = self.changes.map_or(&[][..], |changes| &changes.leaves);
        for ((change, value), changed) in changes.iter().zip(&mut self.changed) {
            if change.key == entry.key {
                *leaf = value.clone();
                *changed = true;
                entry.changed_at = Some(change.span.clone());
                entry.unit = change.unit.clone().or_else(|| entry.unit.take());
                entry.source.clone_from(&change.source);
                entry.note.clone_from(&change.note);
            }
        }
        for (given, used) in self.overrides.iter().zip(&mut self.used) {
            if given.key == entry.key {
                *leaf = given.value.clone();
                *used = true;
                entry.overridden = true;
            }
        }
        entry.value = render(leaf);
    }

    fn refuse_unused_overrides(&self) -> Result<(), ConfigError> {
        let unused = self.overrides.iter().zip(&self.used).find(|(_, used)| !**used);
        let Some((given, _)) = unused else { return Ok(()) };
        Err(ConfigError::UnknownOverride {
            text: given.text.to_owned(),
            file: self.origin.to_owned(),
            key: given.key.to_owned(),
            nearest: nearest(given.key, self.keys_that_apply()),
        })
    }

    /// Lists the keys whose values mean something: where `core.model = "ri5cy"` chooses the table
    /// `core.ri5cy`, those of `core.ibex`, which has the same keys, mean nothing.
    fn keys_that_apply(&self) -> impl Iterator<Item = &str> {
        let keys = || self.entries.iter().map(|entry| entry.key.as_str());
        let names = move |table: &str| -> Vec<&str> {
            keys().filter_map(|key| key.strip_prefix(table)?.strip_prefix('.')).collect()
        };
        // Chosen tables, and the table each lies in.
        let chosen: Vec<(String, &str)> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let (parent, _) = entry.key.rsplit_once('.')?;
                let table = format!("{parent}.{}", entry.value.trim_matches('"'));
                (!names(&table).is_empty()).then_some((table, parent))
            })
            .collect();
        keys().filter(move |key| {
            let Some((table, _)) = key.rsplit_once('.') else { return true };
            let is_other = |(chosen, parent): &(String, &str)| {
                let beside = table.rsplit_once('.').is_some_and(|(above, _)| above == *parent);
                beside && table != chosen && names(table) == names(chosen)
            };
            !chosen.iter().any(is_other)
        })
    }

    fn refuse_unused_changes(&self) -> Result<(), ConfigError> {
        let Some(changes) = self.changes else { return Ok(()) };
        let unused = changes.leaves.iter().zip(&self.changed).find(|(_, changed)| !**changed);
        let Some(((change, _), _)) = unused else { return Ok(()) };
        let at = Location::of(changes.origin, changes.text, change.span.start);
        Err(ConfigError::UnknownKey {
            at: Box::new(at),
            key: change.key.clone(),
            nearest: nearest(&change.key, self.keys_that_apply()),
            valid: Vec::new(),
        })
    }

    /// Points at a leaf, where it got its value.
    fn at_entry(&self, entry: &Entry) -> Box<Location> {
        match (&entry.changed_at, self.changes) {
            (Some(span), Some(changes)) => {
                Box::new(Location::of(changes.origin, changes.text, span.start))
            }
            _ => self.at(entry.span.start),
        }
    }

    /// Turns serde's complaint into one with a place and a suggestion.
    fn explain(&self, error: &Error) -> ConfigError {
        let offset = error.span().map_or(0, |span| span.start);
        let problem = error.message().trim().to_owned();
        if problem.starts_with("unknown field") {
            let mut names = problem.split('`').skip(1).step_by(2).map(str::to_owned);
            let key = names.next().unwrap_or_default();
            let valid: Vec<String> = names.collect();
            let nearest = nearest(&key, valid.iter().map(String::as_str));
            return ConfigError::UnknownKey { at: self.at(offset), key, nearest, valid };
        }
        let entry = self.entries.iter().find(|entry| entry.span.contains(&offset));
        let key = entry.map_or_else(|| self.table_at(offset), |entry| entry.key.clone());
        if let Some(entry) = entry.filter(|entry| entry.overridden) {
            let given = self.overrides.iter().rev().find(|given| given.key == entry.key);
            let text = given.map_or_else(|| key.clone(), |given| given.text.to_owned());
            return ConfigError::Override { text, problem };
        }
        let at = entry.map_or_else(|| self.at(offset), |entry| self.at_entry(entry));
        ConfigError::Invalid { at, key, problem }
    }

    /// Names the table whose header stands at `offset`, for errors about a table as a whole (a
    /// missing key).
    fn table_at(&self, offset: usize) -> String {
        let line = self.text[offset.min(self.text.len())..].lines().next().unwrap_or("");
        match line.trim().trim_matches(['[', ']']) {
            header if line.trim_start().starts_with('[') => header.to_owned(),
            _ => "the file".to_owned(),
        }
    }
}

impl Entry {
    fn new(key: &str, span: std::ops::Range<usize>) -> Self {
        Self {
            key: key.to_owned(),
            value: String::new(),
            unit: None,
            source: None,
            note: None,
            overridden: false,
            span,
            changed_at: None,
        }
    }
}

/// Tells whether a table is a leaf written with its origin.
fn is_annotated(table: &DeTable<'_>) -> bool {
    table.get("value").is_some_and(|value| !value.get_ref().is_table())
}

fn holds_tables(items: &DeArray<'_>) -> bool {
    items.iter().any(|item| item.get_ref().is_table())
}

/// Writes a value in TOML's notation.
fn render(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => render_string(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(when) => when.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| render(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let pair = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
                format!("{} = {}", key.get_ref(), render(value.get_ref()))
            };
            format!("{{ {} }}", table.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

fn render_string(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
