//! Exceptions. In: errors of the library, and panics. Out: those of `pinion._errors`, which say what the
//! command says.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pinion_app::Error;
use pinion_sim::config::ConfigError;
use pyo3::prelude::*;

/// Does work with the interpreter released; what goes wrong becomes an exception.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> pinion_app::Result<T> + Send,
) -> PyResult<T> {
    caught(py, work)?.map_err(|panic| internal(py, panic.as_ref(), None))
}

/// Does the same; a defect names the command that does this, too.
pub fn detached_as<T: Send>(
    py: Python<'_>,
    command: &[&str],
    work: impl FnOnce() -> pinion_app::Result<T> + Send,
) -> PyResult<T> {
    caught(py, work)?.map_err(|panic| internal(py, panic.as_ref(), Some(&shell(command))))
}

/// Does work that needs the interpreter; a panic becomes an exception, too.
pub fn attached<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| Err(internal(py, panic.as_ref(), None)))
}

/// Writes a command as a shell takes it.
pub fn shell<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Does the same as [`detached`], and gives a panic to the caller.
pub fn caught<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> pinion_app::Result<T> + Send,
) -> PyResult<std::thread::Result<T>> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(Ok(value)) => Ok(Ok(value)),
        Ok(Err(error)) => Err(exception(py, &error)),
        Err(panic) => Ok(Err(panic)),
    }
}

/// Gives the exception for an error.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let message = pinion_app::error::paragraph(error);
    match error {
        Error::Config(ConfigError::Read { .. }) => make(py, "FileError", &message),
        Error::Config(_) => make(py, "ConfigError", &message),
        Error::File { .. } => make(py, "FileError", &message),
        Error::CompilerMissing(_) => make(py, "CompilerError", &message),
        Error::CompilerFailed { output, .. } => {
            let output = String::from_utf8_lossy(output);
            make(py, "CompilerError", &format!("{}\n{message}", output.trim_end()))
        }
        Error::Program { .. } | Error::Elf(_) => make(py, "ProgramError", &message),
        Error::Capture(_) | Error::Generator(_) | Error::Fault(_) | Error::Load(_) => {
            make(py, "PacketError", &message)
        }
        Error::Usage(_) => usage(py, &message),
        _ => make(py, "Error", &message),
    }
}

/// Gives the exception for what cannot be used so.
pub fn usage(py: Python<'_>, message: &str) -> PyErr {
    make(py, "UsageError", message)
}

/// Gives the exception for a run that was interrupted; it holds what was done until then.
pub fn interrupted(py: Python<'_>, result: Py<PyAny>) -> PyErr {
    let made = class(py, "Interrupted").and_then(|class| {
        let made = class.call1(("the run was interrupted; `result` has what was done",))?;
        made.setattr("result", result)?;
        Ok(made)
    });
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Gives the exception for a defect of Pinion; the command shows it again, where one is known.
pub fn internal(py: Python<'_>, panic: &(dyn std::any::Any + Send), replay: Option<&str>) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    let mut text = format!("{text}; this is a defect of pinion, please report it");
    if let Some(replay) = replay {
        text.push_str(&format!(" with what it takes to see it again:\n{replay}"));
    }
    let error = make(py, "InternalError", &text);
    // Without the attribute the text still has it.
    let _ = error.value(py).setattr("replay", replay);
    error
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("pinion._errors")?.getattr(name)
}

fn make(py: Python<'_>, name: &str, message: &str) -> PyErr {
    let made = class(py, name).and_then(|class| class.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}
