//! Which figures there are.

use super::Figure;
use pinion_app::error::{Error, Result};

/// Ends the names of groups of figures.
const ALL: &str = "all";

/// Lists every figure.
pub fn figures() -> Vec<Box<dyn Figure>> {
    let mut figures = super::pspin::figures();
    figures.extend(super::fpspin::figures());
    figures.extend(super::nanopu::figures());
    figures
}

/// Lists the figures that a name stands for: `all`, `pspin-all`, `fpspin-all`,
/// `nanopu-all`, or one figure's.
///
/// # Errors
/// When there is none; names the nearest.
pub fn select(name: &str) -> Result<Vec<Box<dyn Figure>>> {
    let Some(group) = name.strip_suffix(ALL) else { return Ok(vec![find(name)?]) };
    let mut figures = figures();
    figures.retain(|figure| figure.name().starts_with(group));
    let is_group = group.is_empty() || group.ends_with('-');
    if figures.is_empty() || !is_group { Err(unknown(name, &names())) } else { Ok(figures) }
}

/// Finds a figure by its name.
///
/// # Errors
/// When there is none; names the nearest.
pub fn find(name: &str) -> Result<Box<dyn Figure>> {
    let found = figures().into_iter().find(|figure| figure.name() == name);
    found.ok_or_else(|| unknown(name, &names()))
}

fn names() -> Vec<&'static str> {
    figures().iter().map(|figure| figure.name()).collect()
}

fn unknown(name: &str, names: &[&str]) -> Error {
    let nearest = names.iter().min_by_key(|other| strsim::damerau_levenshtein(name, other));
    let hint = nearest.map_or_else(String::new, |nearest| format!("did you mean `{nearest}`? "));
    Error::Usage(format!("there is no figure `{name}`; {hint}there are {}", names.join(", ")))
}
