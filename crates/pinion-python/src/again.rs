//! A call of Python, to be made again. In: what it was given, lines of a script. Out: the command that an
//! `InternalError` names.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors;

/// What a command can make again.
pub trait Made {
    /// Gives the command that makes it and then asks it something, as Python writes that behind it: `.text`.
    fn again(&self, asked: &str) -> String;
}

/// Has objects of a class made again by what an expression says of one: its [`Origin`].
macro_rules! made_by {
    ($class:ty, |$object:ident| $origin:expr) => {
        impl $crate::again::Made for $class {
            fn again(&self, asked: &str) -> String {
                let $object = self;
                $origin.again(asked)
            }
        }
    };
}
pub(crate) use made_by;

/// Writes, for what follows in Python what was made, the command that makes it and asks that.
type Written = dyn Fn(&str) -> String + Send + Sync;

/// What makes an object again; by default that is not known.
#[derive(Clone, Default)]
pub struct Origin(Option<Arc<Written>>);

impl Origin {
    /// Says what writes the command that makes it, and then asks what is given.
    pub fn new(written: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(written)))
    }

    /// Says that an expression of Python makes it.
    pub fn of(made: String) -> Self {
        Self::new(move |asked| script(&[format!("{made}{asked}")]))
    }

    /// Says what makes a part of it: `.table`.
    pub fn part(&self, part: &'static str) -> Self {
        let whole = self.clone();
        Self::new(move |asked| whole.again(&format!("{part}{asked}")))
    }

    /// Gives the command that makes it and asks that; nothing where it is not known.
    pub fn again(&self, asked: &str) -> String {
        self.0.as_ref().map_or_else(String::new, |written| written(asked))
    }
}

/// What a function was given, as Python writes it.
pub trait Given {
    /// Writes it.
    fn in_python(&self) -> String;
}

impl Given for &str {
    fn in_python(&self) -> String {
        text(self)
    }
}

impl Given for usize {
    fn in_python(&self) -> String {
        self.to_string()
    }
}

impl Given for Option<&Bound<'_, PyAny>> {
    fn in_python(&self) -> String {
        self.map_or_else(|| "None".to_owned(), shown)
    }
}

/// Bytes of a script that fits into a command; a longer one goes to a file.
const LONGEST_COMMAND: usize = 4096;

/// Gives the command that runs a script with this package.
pub fn script(lines: &[String]) -> String {
    let mut text = String::from("import pinion\n");
    text.push_str(&lines.join("\n"));
    if text.len() > LONGEST_COMMAND {
        let file = format!("pinion-defect-{}.py", std::process::id());
        let path = std::env::temp_dir().join(file);
        // Too long for a command, and yet better than none, where it cannot be kept.
        if std::fs::write(&path, &text).is_ok() {
            return errors::shell(&["python3", &path.display().to_string()]);
        }
    }
    errors::shell(&["python3", "-c", &text])
}

/// Writes a call of a function or class, in Python.
pub fn call(
    name: &str,
    given: &[&Bound<'_, PyAny>],
    keywords: &[(&str, Option<&Bound<'_, PyAny>>)],
) -> String {
    let given = given.iter().map(|value| shown(value));
    let keywords = keywords.iter().filter_map(|(key, value)| Some((*key, shown((*value)?))));
    called(name, given, keywords)
}

/// Gives the command that calls a class with a text and keywords.
pub fn with_keywords(name: &str, given: &str, keywords: Option<&Bound<'_, PyDict>>) -> String {
    let keywords = keywords.into_iter().flat_map(|dict| dict.iter());
    let keywords = keywords.map(|(key, value)| (key.to_string(), shown(&value)));
    script(&[called(name, std::iter::once(text(given)), keywords)])
}

/// Writes a call whose values are written.
fn called<K: std::fmt::Display>(
    name: &str,
    given: impl Iterator<Item = String>,
    keywords: impl Iterator<Item = (K, String)>,
) -> String {
    let keywords = keywords.map(|(key, value)| format!("{key}={value}"));
    format!("{name}({})", given.chain(keywords).collect::<Vec<_>>().join(", "))
}

/// Writes a value as Python has it; one of this package by what makes it.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    if let Some(made) = errors::untried(|| made(value)) {
        return made;
    }
    let path = value.py().import("os").and_then(|os| os.call_method1("fspath", (value,)));
    let text = path.as_ref().unwrap_or(value).repr();
    text.map_or_else(|_| "...".to_owned(), |text| text.to_string())
}

/// Writes what is pickled by the arguments that make it.
fn made(value: &Bound<'_, PyAny>) -> Option<String> {
    let class = value.get_type();
    if class.module().ok()? != "pinion" {
        return None;
    }
    let name = format!("pinion.{}", class.name().ok()?);
    let (given, keywords) = match value.call_method0("__getnewargs_ex__") {
        Ok(both) => both.extract::<(Bound<'_, PyTuple>, Bound<'_, PyDict>)>().ok()?,
        Err(_) => {
            let given = value.call_method0("__getnewargs__").ok()?;
            (given.cast_into().ok()?, PyDict::new(value.py()))
        }
    };
    let given = given.iter().map(|value| shown(&value));
    let keywords = keywords.iter().filter(|(_, value)| !value.is_none());
    Some(called(&name, given, keywords.map(|(key, value)| (key, shown(&value)))))
}

/// Writes a text as Python has it, whose texts JSON's are.
pub fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a frame as Python has it.
pub fn frame(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("bytes.fromhex(\"{digits}\")")
}
