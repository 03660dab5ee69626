//! Which figures there are.

use std::path::Path;
use std::sync::Arc;

use super::Figure;
use super::engine::FromFile;
use super::kinds::Kinds;
use super::nanopu::{Bench, Nodes};
use super::pspin::programs::Programs;
use pinion_app::error::{Error, Result};

/// Ends the names of groups of figures.
const ALL: &str = "all";

/// Lists every figure.
pub fn figures() -> Vec<Box<dyn Figure>> {
    figures_on(Arc::new(Nodes::default()))
}

/// Lists them, the nanoPU's runs done by a bench.
pub(super) fn figures_on(bench: Arc<dyn Bench>) -> Vec<Box<dyn Figure>> {
    let programs = Arc::new(Programs::default());
    let kinds = Kinds::new(&programs, &bench);
    let mut figures = super::pspin::figures(&programs, &kinds);
    figures.extend(super::fpspin::figures(&kinds));
    figures.extend(super::nanopu::figures(&bench, &kinds));
    figures
}

/// Lists the figures that a name stands for: `all`, `pspin-all`, `fpspin-all`,
/// `nanopu-all`, one figure's, or the path of a figure's file.
///
/// # Errors
/// When there is none; names the nearest, if one is near.
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
/// When there is none; names the nearest, if one is near.
pub fn find(name: &str) -> Result<Box<dyn Figure>> {
    if name.contains('/') || name.ends_with(".toml") {
        let bench: Arc<dyn Bench> = Arc::new(Nodes::default());
        return FromFile::at(Path::new(name), &Kinds::new(&Arc::default(), &bench));
    }
    let found = figures().into_iter().find(|figure| figure.name() == name);
    found.ok_or_else(|| unknown(name, &names()))
}

fn names() -> Vec<String> {
    figures().iter().map(|figure| figure.name().to_owned()).collect()
}

/// Says that there is no such figure; names the nearest where one is near.
fn unknown(name: &str, names: &[String]) -> Error {
    let groups = names.iter().filter_map(|other| other.split_once('-'));
    let groups = groups.map(|(group, _)| format!("{group}-{ALL}"));
    let known: Vec<String> = names.iter().cloned().chain(groups).collect();
    let distance = |other: &&String| strsim::damerau_levenshtein(name, other);
    let nearest = known.iter().min_by_key(distance);
    let nearest = nearest.filter(|other| distance(other) <= name.chars().count() / 3);
    let hint = nearest.map_or_else(String::new, |nearest| format!("did you mean `{nearest}`? "));
    Error::Usage(format!("there is no figure `{name}`; {hint}there are {}", names.join(", ")))
}
