//! Published medians that stand in a figure's file as lists, one for each curve.

use crate::figure::{Cell, Parameters};
use pinion_app::error::{Error, Result};

/// Begins the names of curves that were published.
pub(super) const PUBLISHED: &str = "published: ";

/// Gives the published number of a curve at `x`; nothing where none was published. Where along the
/// curve its numbers stand is another list, of the name of `places` or of its own.
///
/// # Errors
/// When the file's lists are not of one length.
pub(super) fn at(
    parameters: &Parameters,
    curve: &str,
    places: Option<&str>,
    x: f64,
) -> Result<Cell> {
    let key = format!("published_{}", key(curve));
    let own = format!("{key}_at");
    let places = places.unwrap_or(&own);
    // Other machines have none.
    let Ok(numbers) = parameters.list(&key) else { return Ok(Cell::Missing) };
    let places_of = parameters.list(places)?;
    if numbers.len() != places_of.len() {
        let (has, needs) = (numbers.len(), places_of.len());
        let problem =
            format!("`parameters.{key}` has {has} numbers, `parameters.{places}` {needs}");
        return Err(Error::Usage(problem));
    }
    let found = places_of.iter().position(|&place| place == x);
    Ok(found.map_or(Cell::Missing, |index| numbers[index].into()))
}

/// Turns a curve's name into a key: `ICMP, Host+FPsPIN` into `icmp_host_fpspin`.
fn key(curve: &str) -> String {
    let words = curve.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keys() {
        assert_eq!(key("ICMP, Host+FPsPIN"), "icmp_host_fpspin");
        assert_eq!(key("window 16, 2 threads"), "window_16_2_threads");
    }
}
