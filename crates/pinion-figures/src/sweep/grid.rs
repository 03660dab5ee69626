//! The grid. In: `KEY=VALUE,VALUE…` texts and seeds. Out: axes, and the product of their values.

use pinion_net::pacing::Rate;
use pinion_sim::config::Bytes;

use super::Subject;
use pinion_app::error::{Error, Result};
use pinion_app::traffic;

/// Limits the points of a grid: a slip of the finger should not fill the memory.
pub const MOST_POINTS: usize = 10_000;

/// Begins keys of a nanoservice's load: `load.gap`.
pub(super) const LOAD: &str = "load.";

/// Names the axis of seeds.
pub(super) const SEED: &str = "seed";

/// Says what an axis changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A number of the machine, or of a cluster's file.
    Machine,
    /// The traffic: size, number or rate of packets; a key of the load.
    Traffic,
    /// The traffic's random numbers.
    Seed,
}

/// A key and the values it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The key.
    pub key: String,
    /// What it changes.
    pub target: Target,
    /// Its values.
    pub values: Vec<String>,
}

impl Axis {
    /// Gives the values as numbers; `None` when one is none. Sizes (`64KiB`) and rates (`100g`)
    /// are numbers of bytes and bits.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| number(value)).collect()
    }
}

/// Reads a value as a number.
pub(super) fn number(value: &str) -> Option<f64> {
    let plain = value.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
    let size = || value.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64);
    let rate = || match value.parse::<Rate>().ok()? {
        Rate::BitsPerSecond(bits) => Some(bits as f64),
        _ => None,
    };
    plain.or_else(size).or_else(rate)
}

/// Reads the axes of a grid.
pub(super) fn axes(subject: &Subject, set: &[String], seeds: Option<&str>) -> Result<Vec<Axis>> {
    let mut axes: Vec<Axis> = Vec::new();
    let seeds = seeds.map(|values| format!("{SEED}={values}"));
    for (text, is_seed) in
        set.iter().map(|text| (text, false)).chain(seeds.iter().map(|t| (t, true)))
    {
        let axis = axis(subject, text, is_seed)?;
        if axes.iter().any(|other| other.key == axis.key) {
            return Err(Error::Usage(format!(
                "--set {}=… is there twice; write all its values in one: {}=1,2,4",
                axis.key, axis.key
            )));
        }
        axes.push(axis);
    }
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
    match count.filter(|count| *count <= MOST_POINTS) {
        Some(_) => Ok(axes),
        None => Err(Error::Usage(format!(
            "the grid has {} points, and at most {MOST_POINTS} are swept at once; give fewer values",
            count.map_or("endlessly many".to_owned(), |count| count.to_string())
        ))),
    }
}

fn axis(subject: &Subject, text: &str, is_seed: bool) -> Result<Axis> {
    let refuse = |problem: String| Error::Usage(format!("--set {text}: {problem}"));
    let form = "write it as KEY=VALUE,VALUE,…, for example cluster.count=1,2,4,8";
    let (key, values) = text.split_once('=').ok_or_else(|| refuse(form.to_owned()))?;
    let key = key.trim();
    if key.is_empty() {
        return Err(refuse(form.to_owned()));
    }
    let values: Vec<String> = split(values).into_iter().map(|v| v.trim().to_owned()).collect();
    if let Some(place) = values.iter().position(String::is_empty) {
        let which = match values.len() {
            1 => format!("`{key}` has no values; {form}"),
            _ => format!("value {} of `{key}` is empty; {form}", place + 1),
        };
        return Err(match is_seed {
            true => Error::Usage(format!("--seed: {which}")),
            false => refuse(which),
        });
    }
    if let Some(place) = (1..values.len()).find(|&place| values[..place].contains(&values[place])) {
        return Err(refuse(format!("`{}` is there twice", values[place])));
    }
    let target = match key {
        SEED if is_seed => Target::Seed,
        SEED => return Err(refuse("seeds are given with --seed 1,2,3".to_owned())),
        key => target(subject, key).map_err(refuse)?,
    };
    let is_number = target == Target::Seed || key.starts_with("packet.");
    if is_number && target != Target::Machine {
        check(key, &values)?;
    }
    Ok(Axis { key: key.to_owned(), target, values })
}

/// Says what a key changes.
fn target(subject: &Subject, key: &str) -> std::result::Result<Target, String> {
    let load = key.strip_prefix(LOAD);
    match subject {
        Subject::Handlers(_) if traffic::KEYS.contains(&key) => Ok(Target::Traffic),
        Subject::Handlers(_) if key.starts_with("packet.") => {
            let keys = traffic::KEYS.join(", ");
            Err(format!("the traffic has no `{key}`; its keys are {keys}"))
        }
        Subject::Handlers(_) if load.is_some() => {
            Err("loads are a nanoservice's; handlers get packets (packet.bytes=…)".to_owned())
        }
        Subject::Nanoservice(_) if key.starts_with("packet.") => {
            Err("a nanoservice gets requests: give --load, and vary load.gap=…".to_owned())
        }
        Subject::Nanoservice(_) if load == Some("seed") => {
            Err("seeds are given with --seed 1,2,3".to_owned())
        }
        Subject::Nanoservice(_) if load.is_some() => Ok(Target::Traffic),
        _ => Ok(Target::Machine),
    }
}

/// Checks the form of the traffic's values; whether they fit each other is seen point by point.
fn check(key: &str, values: &[String]) -> Result<()> {
    let problem = |value: &String| match key {
        "packet.rate" => value.parse::<Rate>().err().map(|error| error.to_string()),
        _ => value.parse::<u64>().err().map(|_| "write a whole number".to_owned()),
    };
    match values.iter().find_map(|value| Some((value, problem(value)?))) {
        None => Ok(()),
        Some((value, problem)) => Err(Error::Usage(format!("{key}={value}: {problem}"))),
    }
}

/// Splits values at commas outside brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0u32, None, 0);
    let mut parts = Vec::new();
    for (place, c) in text.char_indices() {
        match c {
            '"' | '\'' if quote.is_none() => quote = Some(c),
            c if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Gives the product of all values, the last axis varying fastest.
pub(super) fn product(axes: &[Axis]) -> Vec<Vec<String>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let extend = |point: &Vec<String>| {
            let point = point.clone();
            axis.values
                .iter()
                .map(move |value| {
                    let mut longer = point.clone();
                    longer.push(value.clone());
                    longer
                })
                .collect::<Vec<_>>()
        };
        points.iter().flat_map(extend).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handlers() -> Subject {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/reduce");
        Subject::load(path.as_ref()).unwrap()
    }

    fn of(subject: &Subject, set: &[&str], seeds: Option<&str>) -> Result<Vec<Axis>> {
        axes(subject, &set.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), seeds)
    }

    fn read(set: &[&str], seeds: Option<&str>) -> Result<Vec<Axis>> {
        of(&handlers(), set, seeds)
    }

    #[test]
    fn the_last_axis_varies_fastest() {
        let axes = read(&["cluster.count=1,2", "packet.bytes=64, 512"], Some("7,8")).unwrap();
        let targets: Vec<Target> = axes.iter().map(|axis| axis.target).collect();
        assert_eq!(targets, [Target::Machine, Target::Traffic, Target::Seed]);
        let points = product(&axes);
        assert_eq!(points.len(), 8);
        assert_eq!(points[0], ["1", "64", "7"]);
        assert_eq!(points[1], ["1", "64", "8"]);
        assert_eq!(points[7], ["2", "512", "8"]);
        assert_eq!(product(&[]), [Vec::<String>::new()]);
    }

    #[test]
    fn commas_in_brackets_and_quotes_belong_to_a_value() {
        assert_eq!(split("[1, 2],\"a,b\",{x=1,y=2},c"), ["[1, 2]", "\"a,b\"", "{x=1,y=2}", "c"]);
        assert_eq!(split("]],["), ["]]", "["]);
    }

    #[test]
    fn values_with_units_are_numbers() {
        let axes = read(&["l1.bytes=64KiB,1048576", "packet.rate=100g,2.5g", "x.y=drop"], None);
        let axes = axes.unwrap();
        assert_eq!(axes[0].numbers(), Some(vec![65_536.0, 1_048_576.0]));
        assert_eq!(axes[1].numbers(), Some(vec![100e9, 2.5e9]));
        assert_eq!(axes[2].numbers(), None);
        assert_eq!(number("max"), None);
    }

    #[test]
    fn mistakes_are_told() {
        for (set, seeds, part) in [
            ("cluster.count", None, "KEY=VALUE"),
            ("=1", None, "KEY=VALUE"),
            ("cluster.count=", None, "has no values"),
            ("cluster.count=1,,2", None, "value 2 of `cluster.count` is empty"),
            ("cluster.count=1,2,1", None, "`1` is there twice"),
            ("packet.byte=64", None, "packet.bytes, packet.count, packet.rate"),
            ("packet.bytes=many", None, "whole number"),
            ("packet.rate=fast", None, "400g"),
            ("seed=1", None, "--seed"),
            ("cluster.count=1", Some("x"), "seed=x: write a whole number"),
            ("cluster.count=1", Some(""), "--seed"),
        ] {
            let error = read(&[set], seeds).unwrap_err().to_string();
            assert!(error.contains(part), "{set} {seeds:?}: {error}");
        }
        let error = read(&["a.b=1", "a.b=2"], None).unwrap_err().to_string();
        assert!(error.contains("twice"), "{error}");
        let many: Vec<String> = (0..400).map(|n| n.to_string()).collect();
        let many = many.join(",");
        let error = read(&[&format!("a={many}"), &format!("b={many}")], None).unwrap_err();
        assert!(error.to_string().contains("160000 points"), "{error}");
    }
}
