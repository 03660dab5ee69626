//! What can be wrong with a configuration, where, and what to do about it.

use std::fmt;

/// Points into a file: where it is and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Name of the file.
    pub file: String,
    /// Number of lines from 1.
    pub line: usize,
    /// Number of characters from 1.
    pub column: usize,
    /// The line, without the blanks around it.
    pub text: String,
}

impl Location {
    /// Finds line and column of the byte `offset` in `text`.
    pub fn of(file: &str, text: &str, offset: usize) -> Self {
        let offset = (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let before = &text[..offset.unwrap_or(0)];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_text = text[start..].lines().next().unwrap_or("");
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            text: line_text.trim().to_owned(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}, column {}", self.file, self.line, self.column)?;
        if !self.text.is_empty() {
            write!(f, " (`{}`)", self.text)?;
        }
        Ok(())
    }
}

/// Tells what is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Name of the file.
        path: String,
        /// Tells why.
        source: std::io::Error,
    },
    /// The text is not TOML.
    #[error("{at}: {problem}")]
    Syntax {
        /// Tells where.
        at: Box<Location>,
        /// What the parser expected.
        problem: String,
    },
    /// A key means nothing here.
    #[error("{at}: unknown key `{key}`{}", suggestion(nearest, valid))]
    UnknownKey {
        /// Tells where.
        at: Box<Location>,
        /// Name of the key.
        key: String,
        /// Name of the most similar valid key.
        nearest: Option<String>,
        /// Lists every valid key of that table.
        valid: Vec<String>,
    },
    /// A value has the wrong type or is out of its range, or a key is missing.
    #[error("{at}: `{key}`: {problem}")]
    Invalid {
        /// Tells where.
        at: Box<Location>,
        /// Name of the key.
        key: String,
        /// What is wrong with its value.
        problem: String,
    },
    /// An override is not of the form `key=value`, or its value does not fit.
    #[error("override `{text}`: {problem}")]
    Override {
        /// Repeats the override.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An override's value has the right type and is wrong all the same.
    #[error("override `{text}`: {problem}")]
    OverrideValue {
        /// Repeats the override.
        text: String,
        /// What is wrong with the value.
        problem: String,
    },
    /// An override names a key the file does not have.
    #[error("override `{text}`: {file} has no key `{key}`{}", suggestion(nearest, &[]))]
    UnknownOverride {
        /// Repeats the override.
        text: String,
        /// Name of the file.
        file: String,
        /// Name of the key.
        key: String,
        /// Name of the most similar key the file has.
        nearest: Option<String>,
    },
}

fn suggestion(nearest: &Option<String>, valid: &[String]) -> String {
    let mut text = String::new();
    if let Some(nearest) = nearest {
        text.push_str(&format!("; nearest valid key: `{nearest}`"));
    }
    if valid.len() > 1 {
        text.push_str(&format!("; valid here: {}", valid.join(", ")));
    }
    text
}

/// Finds the candidate most similar to `word`; none where nothing is similar. A key that ends in the
/// same name is: who writes `core.load_use_cycles` means `core.ri5cy.load_use_cycles`.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let score = |candidate: &&str| {
        let distance = strsim::damerau_levenshtein(word, candidate);
        (name(word) != name(candidate), distance)
    };
    let is_similar = |candidate: &&str| {
        let (is_other_name, distance) = score(candidate);
        let longer = word.chars().count().max(candidate.chars().count());
        !is_other_name || distance == 1 || distance * 5 <= longer * 2
    };
    candidates.into_iter().filter(is_similar).min_by_key(score).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_similar_is_suggested() {
        let keys =
            ["core.ri5cy.load_use_cycles", "core.ri5cy.branch_cycles", "cluster.count", "id"];
        let suggested = |word: &str| nearest(word, keys);
        assert_eq!(suggested("core.load_use_cycles").as_deref(), Some(keys[0]));
        assert_eq!(suggested("cluster.cont").as_deref(), Some("cluster.count"));
        assert_eq!(suggested("count").as_deref(), Some("cluster.count"));
        assert_eq!(suggested("ed").as_deref(), Some("id"));
        assert_eq!(suggested("transport.kind"), None);
        assert_eq!(suggested("harts"), None);
    }
}
