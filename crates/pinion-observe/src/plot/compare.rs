//! Published values beside ours. In: what was published, and the rows. Out: differences, and whether
//! each that is large has its reason.

use serde::Serialize;

use super::{Published, Table};
use pinion_app::error::{Error, Result};

/// The relative difference that needs no reason.
pub const TOLERANCE: f64 = 0.10;

/// Compares one published value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the value.
    pub name: String,
    /// What it is.
    pub what: String,
    /// Ours; `None` where it was not measured.
    pub ours: Option<f64>,
    /// The published number.
    pub paper: Option<f64>,
    /// The least that was published.
    pub from: Option<f64>,
    /// The most that was published.
    pub to: Option<f64>,
    /// The unit.
    pub unit: String,
    /// Where it stands.
    pub source: String,
    /// Ours over the published number, or the nearest bound, less 1; 0 within bounds.
    pub difference: Option<f64>,
    /// Judges it.
    pub verdict: Verdict,
    /// Gives the reason for a difference.
    pub reason: Option<String>,
}

/// Judges a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the tolerance.
    Agrees,
    /// Beyond, and the figure's file tells why.
    Explained,
    /// Beyond, without a reason.
    Differs,
    /// Not measured in this run.
    NotMeasured,
}

/// Puts the published values beside ours.
///
/// # Errors
/// When one is to be read off a column that there is not.
pub fn compare(published: &[Published], table: &Table) -> Result<Vec<Comparison>> {
    published.iter().map(|published| compare_one(published, table)).collect()
}

fn compare_one(published: &Published, table: &Table) -> Result<Comparison> {
    let Published { paper, from, to, .. } = *published;
    let wrong = |key: &str, problem: String| {
        Error::Usage(format!("published value `{}`: {key}: {problem}", published.name))
    };
    let ours = published.ours.over_table(table).map_err(|problem| wrong("ours", problem))?;
    let ours = ours.filter(|ours| ours.is_finite());
    let difference = ours.map(|ours| {
        let low = paper.or(from).filter(|&low| ours < low);
        let high = paper.or(to).filter(|&high| ours > high);
        low.or(high).map_or(0.0, |bound| relative(ours, bound))
    });
    let verdict = match difference {
        None => Verdict::NotMeasured,
        Some(difference) if difference.abs() <= TOLERANCE + 1e-9 => Verdict::Agrees,
        Some(_) if published.difference.is_some() => Verdict::Explained,
        Some(_) => Verdict::Differs,
    };
    let reason = published.difference.as_ref().map(|reason| reason.over_table(table));
    let reason = reason.transpose().map_err(|problem| wrong("difference", problem))?;
    Ok(Comparison {
        name: published.name.clone(),
        what: published.what.clone(),
        ours,
        paper,
        from,
        to,
        unit: published.unit.clone(),
        source: published.source.clone(),
        difference,
        verdict,
        reason: reason.filter(|_| verdict == Verdict::Explained),
    })
}

fn relative(ours: f64, published: f64) -> f64 {
    if published == 0.0 { ours } else { ours / published - 1.0 }
}

/// Gives the reasons of what differs, each once, with what it explains.
pub fn reasons(comparisons: &[Comparison]) -> Vec<(Vec<&str>, &str)> {
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    for comparison in comparisons.iter().filter(|one| one.verdict == Verdict::Explained) {
        let reason = comparison.reason.as_deref().unwrap_or_default().trim();
        match reasons.iter_mut().find(|(_, known)| *known == reason) {
            Some((explained, _)) => explained.push(&comparison.what),
            None => reasons.push((vec![&comparison.what], reason)),
        }
    }
    reasons
}

/// Gives the comparisons as lines of texts, the head first, for aligned printing.
pub fn comparison_rows(comparisons: &[Comparison]) -> Vec<Vec<String>> {
    let mut lines = vec![
        ["published value", "ours", "published", "difference", "", "source"]
            .map(str::to_owned)
            .to_vec(),
    ];
    lines.extend(comparisons.iter().map(|comparison| {
        let unit = &comparison.unit;
        let number = |value: f64| format!("{}{}{unit}", short(value), space(unit));
        let bounds = match (comparison.paper, comparison.from, comparison.to) {
            (Some(paper), _, _) => number(paper),
            (_, Some(from), Some(to)) => format!("{} to {}", short(from), number(to)),
            (_, Some(from), None) => format!("at least {}", number(from)),
            (_, None, Some(to)) => format!("at most {}", number(to)),
            (_, None, None) => String::new(),
        };
        let verdict = match comparison.verdict {
            Verdict::Agrees => "ok",
            Verdict::Explained => "explained below",
            Verdict::Differs => "DIFFERS",
            Verdict::NotMeasured => "not measured",
        };
        vec![
            comparison.what.clone(),
            comparison.ours.map_or_else(|| "–".to_owned(), number),
            bounds,
            comparison
                .difference
                .map_or_else(String::new, |difference| format!("{:+.1} %", difference * 100.0)),
            verdict.to_owned(),
            comparison.source.clone(),
        ]
    }));
    lines
}

fn space(unit: &str) -> &'static str {
    if unit.is_empty() { "" } else { " " }
}

/// Writes a number with four digits at least, and no more decimals than tell something.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
