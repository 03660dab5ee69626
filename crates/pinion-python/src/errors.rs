//! Exceptions. In: errors of the library, and panics. Out: those of `pinion._errors`, which say what the
//! command says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use pinion_app::Error;
use pinion_net::capture::CaptureError;
use pinion_sim::config::ConfigError;
use pyo3::prelude::*;

/// Whether the next work is a defect, to try what is said then.
static IS_TRIED: AtomicBool = AtomicBool::new(false);

/// Makes the next work of the package a defect, for tests of what is said then.
#[pyfunction]
pub fn _defect() {
    IS_TRIED.store(true, Ordering::Relaxed);
}

fn tried<T>(work: impl FnOnce() -> T) -> T {
    assert!(!IS_TRIED.swap(false, Ordering::Relaxed), "a tested defect");
    work()
}

/// Does work of the package's own that is not what a tested defect is in.
pub fn untried<T>(work: impl FnOnce() -> T) -> T {
    let is_tried = IS_TRIED.swap(false, Ordering::Relaxed);
    let done = work();
    IS_TRIED.store(is_tried, Ordering::Relaxed);
    done
}

/// Does work with the interpreter released; what goes wrong becomes an exception. `again` gives the command
/// that does it once more, for a defect.
pub fn detached<T: Send>(
    py: Python<'_>,
    again: impl FnOnce() -> String,
    work: impl FnOnce() -> pinion_app::Result<T> + Send,
) -> PyResult<T> {
    caught(py, work)?.map_err(|panic| internal(py, panic.as_ref(), &again()))
}

/// Does the same; a defect names a command of Pinion.
pub fn detached_as<T: Send>(
    py: Python<'_>,
    command: &[&str],
    work: impl FnOnce() -> pinion_app::Result<T> + Send,
) -> PyResult<T> {
    detached(py, || shell(command), work)
}

/// Does work that needs the interpreter; a panic becomes an exception, too.
pub fn attached<T>(
    py: Python<'_>,
    again: impl FnOnce() -> String,
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(|| tried(work)));
    done.unwrap_or_else(|panic| Err(internal(py, panic.as_ref(), &again())))
}

/// Does what Python asked of an object; a panic becomes an exception, with the command that asks it again.
pub fn guarded<T>(
    again: impl FnOnce() -> String,
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    shielded(again, || tried(work))
}

/// Does the same with what guards its work itself, and is not what a tested defect is in.
pub fn shielded<T>(
    again: impl FnOnce() -> String,
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| Err(Python::attach(|py| internal(py, panic.as_ref(), &again()))))
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
    match py.detach(|| catch_unwind(AssertUnwindSafe(|| tried(work)))) {
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
        Error::File { .. }
        | Error::Capture(CaptureError::Open { .. } | CaptureError::Read { .. }) => {
            make(py, "FileError", &message)
        }
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

/// Gives the exception for a defect of Pinion, which the command shows again.
pub fn internal(py: Python<'_>, panic: &(dyn std::any::Any + Send), replay: &str) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    let what = "this is a defect of pinion, please report it with what it takes to see it again";
    let error = make(py, "InternalError", &format!("{text}; {what}:\n{replay}"));
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
