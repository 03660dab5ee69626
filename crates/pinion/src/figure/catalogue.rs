//! Which figures there are.

use super::Figure;
use crate::error::{Error, Result};

/// Lists every figure.
pub fn figures() -> Vec<Box<dyn Figure>> {
    super::nanopu::figures()
}

/// Finds a figure by its name.
///
/// # Errors
/// When there is none; names the nearest.
pub fn find(name: &str) -> Result<Box<dyn Figure>> {
    let names: Vec<&str> = figures().iter().map(|figure| figure.name()).collect();
    let found = figures().into_iter().find(|figure| figure.name() == name);
    found.ok_or_else(|| unknown(name, &names))
}

fn unknown(name: &str, names: &[&str]) -> Error {
    let nearest = names.iter().min_by_key(|other| strsim::damerau_levenshtein(name, other));
    let hint = nearest.map_or_else(String::new, |nearest| format!("did you mean `{nearest}`? "));
    Error::Usage(format!("there is no figure `{name}`; {hint}there are {}", names.join(", ")))
}
