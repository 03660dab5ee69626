//! The C functions. Each turns its arguments into ours, never lets a panic out, and tells what went
//! wrong on standard error before it returns `SPIN_ERR`.

pub mod pspinsim;
pub mod spin;

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::types::{FAILURE, SUCCESS};

/// Runs what a C function does.
fn call(function: &str, action: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(error)) => {
            tell(function, &error);
            FAILURE
        }
        Err(_) => {
            eprintln!("pinion: {function}: failed inside; this is an error of Pinion's");
            FAILURE
        }
    }
}

fn tell(function: &str, error: &Error) {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    eprintln!("pinion: {function}: {text}");
}

fn is_null(what: &str) -> Error {
    Error::Argument(format!("{what} is null"))
}

/// Reads a string of C.
///
/// # Safety
/// `text` is null or points to a string that ends with zero.
unsafe fn string(text: *const c_char, what: &str) -> Result<String> {
    if text.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map(str::to_owned)
        .map_err(|_| Error::Argument(format!("{what} is not UTF-8: {}", text.to_string_lossy())))
}

/// Reads a path.
///
/// # Safety
/// As [`string`].
unsafe fn path(text: *const c_char, what: &str) -> Result<PathBuf> {
    // SAFETY: as the caller promises.
    unsafe { string(text, what) }.map(PathBuf::from)
}
