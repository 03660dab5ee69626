//! Finds the SDK, the machine files, the figures' files and the examples they run: `PINION_SDK` first,
//! then the checkout the executable was built in, then the copies embedded in the executable
//! ([`pinion_assets`]), unpacked once into the user's cache (module `unpack`).

mod unpack;

use std::env;
use std::path::{Path, PathBuf};

use pinion_sim::config::{self, Loaded};
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Finds the folder with the SDK's headers, runtime and settings.
///
/// # Errors
/// When `PINION_SDK` names no SDK, or the embedded one cannot be unpacked.
pub fn sdk_dir() -> Result<PathBuf> {
    if let Some(dir) = env::var_os("PINION_SDK").map(PathBuf::from) {
        if dir.join("sdk.toml").is_file() {
            return Ok(dir);
        }
        return Err(Error::Usage(format!(
            "PINION_SDK is {}, where there is no sdk.toml; set it to the sdk folder or unset it",
            dir.display()
        )));
    }
    match repository() {
        Some(root) => Ok(root.join("sdk")),
        None => unpack::folder("sdk"),
    }
}

/// Finds the folder with the figures' files and the handlers they run.
///
/// # Errors
/// When the embedded ones cannot be unpacked.
pub fn figures_dir() -> Result<PathBuf> {
    match repository() {
        Some(root) => Ok(root.join("figures")),
        None => unpack::folder("figures"),
    }
}

/// Finds the folder of an example that comes with Pinion.
///
/// # Errors
/// When there is none of that name, or the embedded ones cannot be unpacked.
pub fn example_dir(name: &str) -> Result<PathBuf> {
    let examples = match repository() {
        Some(root) => root.join("examples"),
        None => unpack::folder("examples")?,
    };
    let dir = examples.join(name);
    if ["app.toml", "cluster.toml"].iter().any(|file| dir.join(file).is_file()) {
        return Ok(dir);
    }
    Err(Error::Usage(format!("there is no example `{name}` in {}", examples.display())))
}

/// Finds the checkout the executable belongs to.
pub fn repository() -> Option<PathBuf> {
    pinion_assets::checkout()
}

/// Finds Pinion's folder in the user's cache, made if need be: ours alone. `purpose` and `instead` say
/// in an error what it is for, and what to do.
///
/// # Errors
/// When no folder for caches is ours alone.
pub fn cache_dir(purpose: &str, instead: &str) -> Result<PathBuf> {
    unpack::cache(purpose, instead)
}

/// Digests bytes (FNV-1a, 64 bits): enough to notice a change, no protection against malice.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Loads the host model `name`: a file, when it looks like a path, else one of those Pinion comes
/// with.
///
/// # Errors
/// When there is no such host model, its file is wrong or an override does not fit.
pub fn load_host<T: DeserializeOwned>(name: &str, overrides: &[String]) -> Result<Loaded<T>> {
    let (origin, text) = named_text(name, "host", "machines/hosts/", &hosts())?;
    Ok(config::load(&origin, &text, overrides)?)
}

/// Gives origin and text of a machine's file: of a path, when the name looks like one, else of one of
/// the machines Pinion comes with.
///
/// # Errors
/// When there is no such machine, or its file cannot be read.
pub fn machine_text(name: &str) -> Result<(String, String)> {
    named_text(name, "machine", "machines/", &machines())
}

/// Tells whether what names a machine is the path of a file, and not a machine that Pinion comes with.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// Gives the name of a machine that stands in a file of a folder: a path begins at the folder.
pub fn named_in(folder: &Path, name: &str) -> String {
    if is_path(name) { folder.join(name).display().to_string() } else { name.to_owned() }
}

/// Gives origin and text of a file that is named by its path, or by its name in a folder.
fn named_text(name: &str, what: &str, folder: &str, known: &[String]) -> Result<(String, String)> {
    if is_path(name) {
        let path = Path::new(name);
        let text = pinion_input::text(path).map_err(|error| Error::file("read", path, error))?;
        return Ok((name.to_owned(), text));
    }
    let relative = format!("{folder}{name}.toml");
    let text = own_text(&relative)?.ok_or_else(|| {
        Error::Usage(format!(
            "there is no {what} `{name}`; there are {}, or give the path of a {what} file \
             (./{name}.toml)",
            known.join(", ")
        ))
    })?;
    Ok((relative, text))
}

/// Loads a TOML file that Pinion comes with, by its path in the repository.
///
/// # Errors
/// When there is no such file, it is wrong or an override does not fit.
pub fn load_file<T: DeserializeOwned>(relative: &str, overrides: &[String]) -> Result<Loaded<T>> {
    let text = own_text(relative)?
        .ok_or_else(|| Error::Usage(format!("there is no `{relative}` in this build")))?;
    Ok(config::load(relative, &text, overrides)?)
}

/// Reads a file that Pinion comes with, by its path in the repository; `None`: there is none.
fn own_text(relative: &str) -> Result<Option<String>> {
    pinion_assets::text(relative).map_err(|(file, error)| Error::file("read", &file, error))
}

/// Reads a template of an application that is to be made, by its path in `templates/`.
///
/// # Errors
/// When there is none of that name, or it cannot be read.
pub fn template(name: &str) -> Result<String> {
    shipped(&format!("templates/{name}"))
}

/// Reads a file that Pinion comes with, by its name in a checkout.
///
/// # Errors
/// When this build has none of that name, or it cannot be read.
pub fn shipped(relative: &str) -> Result<String> {
    own_text(relative)?
        .ok_or_else(|| Error::Usage(format!("there is no `{relative}` in this build")))
}

/// Lists the machines Pinion comes with.
pub fn machines() -> Vec<String> {
    files_in("machines")
}

/// Lists the host models Pinion comes with.
pub fn hosts() -> Vec<String> {
    files_in("machines/hosts")
}

/// Lists the names of the TOML files in a folder, without those in folders below.
fn files_in(folder: &str) -> Vec<String> {
    let files = pinion_assets::names(folder).into_iter();
    let mut names: Vec<String> =
        files.filter_map(|file| file.strip_suffix(".toml").map(str::to_owned)).collect();
    names.sort();
    names
}
