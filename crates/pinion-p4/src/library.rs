//! The files that a program includes: its own beside it, and those that Pinion comes with (`core.p4`,
//! `xsa.p4`, `lnic.p4`, headers of protocols), which lie in `sdk/p4` of a checkout.

use std::path::{Path, PathBuf};

use crate::preprocessor::Files;

/// Where the library lies in a checkout.
const FOLDER: &str = "sdk/p4";

/// Reads files of this computer, and of the library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

/// Reads a file of what Pinion comes with, by its name in a checkout.
fn shipped(name: &str) -> Result<(String, String), String> {
    match pinion_assets::text(name) {
        Ok(Some(text)) => Ok((name.to_owned(), text)),
        Ok(None) => Err("there is no such file".to_owned()),
        Err((path, error)) => Err(format!("{}: {error}", path.display())),
    }
}

/// Reads a file of this computer, or of what Pinion comes with.
///
/// # Errors
/// What keeps it from being read.
pub fn text(name: &str) -> Result<String, String> {
    match pinion_input::text(name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            shipped(name).map(|(_, text)| text)
        }
        read => read.map_err(|error| reason(&error)),
    }
}

/// Says what keeps a file from being read.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::InvalidData => "it is no text (UTF-8)".to_owned(),
        _ => error.to_string(),
    }
}

/// Gives where a file lies that is named in another one.
fn beside(name: &str, from: Option<&str>) -> PathBuf {
    from.map(Path::new).and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}

impl Files for Library {
    fn read(&self, name: &str, from: Option<&str>, own: bool) -> Result<(String, String), String> {
        if own {
            let path = beside(name, from);
            match pinion_input::text(&path) {
                Ok(text) => return Ok((path.to_string_lossy().into_owned(), text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(reason(&error)),
            }
        }
        Shipped.read(name, from, own)
    }
}

/// Reads files of the library alone, whatever lies in the folder at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shipped;

impl Files for Shipped {
    fn read(&self, name: &str, from: Option<&str>, own: bool) -> Result<(String, String), String> {
        if own {
            // A file of the library includes others beside it.
            if let Ok(found) = shipped(&beside(name, from).to_string_lossy()) {
                return Ok(found);
            }
            if from.is_none() {
                return Err("there is no such file".to_owned());
            }
        }
        shipped(&format!("{FOLDER}/include/{name}"))
    }
}
