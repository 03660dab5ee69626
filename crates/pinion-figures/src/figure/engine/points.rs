//! Points of a figure's file. In: its series and their axes, the parameters. Out: the product of each
//! series' axes, in order.

use std::collections::BTreeMap;

use super::super::{Definition, Parameter, Parameters, Point};
use super::template::{expand, plain, resolve};
use pinion_app::error::Error;
use pinion_observe::plot::{AxisSpec, BesideSpec, RunSpec, SeriesSpec};

/// The most points of a figure.
const MOST: usize = 100_000;

/// What is wrong: a parameter, or what the file says.
pub(super) enum Problem {
    Parameter(Error),
    File(String),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Parameter(error)
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::File(problem)
    }
}

impl Problem {
    /// Makes an error, which names the file where that is not known yet.
    pub(super) fn in_file(self, name: impl Fn(&str) -> Error) -> Error {
        match self {
            Self::Parameter(error) => error,
            Self::File(problem) => name(&problem),
        }
    }
}

type Values = BTreeMap<String, Parameter>;

/// Lists the points.
pub(super) fn points(
    definition: &Definition,
    parameters: &Parameters,
) -> Result<Vec<Point>, Problem> {
    let Some(run) = &definition.run else { return Ok(Vec::new()) };
    let mut points = Vec::new();
    for outer in product(&run.axes, &Values::new(), parameters)? {
        for (index, series) in definition.series.iter().enumerate() {
            for (place, values) in
                product(&series.axes, &outer, parameters)?.into_iter().enumerate()
            {
                if !is_kept(run, &values, parameters)? {
                    continue;
                }
                let point = point(run, series, values, parameters)?;
                points.push(Point { series: index, is_first: place == 0, ..point });
                if points.len() > MOST {
                    return Err(format!("there are more than {MOST} points").into());
                }
            }
        }
    }
    if let Some(order) = &run.order {
        points.sort_by(|a, b| number(&a.values, order).total_cmp(&number(&b.values, order)));
    }
    Ok(points)
}

/// Tells whether a point is among those that the file wants.
fn is_kept(run: &RunSpec, values: &Values, parameters: &Parameters) -> Result<bool, String> {
    let Some(only) = &run.only else { return Ok(true) };
    let number = |name: &str| match values.get(name).or_else(|| parameters.value(name))? {
        Parameter::Number(number) => Some(Some(*number)),
        _ => None,
    };
    Ok(only.over_names(&number)?.is_some_and(|number| number > 0.0))
}

fn number(values: &Values, name: &str) -> f64 {
    match values.get(name) {
        Some(Parameter::Number(number)) => *number,
        _ => 0.0,
    }
}

/// Gives every choice of the axes' values, the last axis varying fastest.
fn product(
    axes: &[AxisSpec],
    outer: &Values,
    parameters: &Parameters,
) -> Result<Vec<Values>, Problem> {
    let mut all = vec![outer.clone()];
    for axis in axes {
        let mut more = Vec::new();
        for values in &all {
            for value in along(axis, values, parameters)? {
                let mut values = values.clone();
                for (name, beside) in &axis.beside {
                    let number = number_beside(beside, &value, &values, parameters)?;
                    values.insert(name.clone(), Parameter::Number(number));
                }
                values.insert(axis.name.clone(), value);
                more.push(values);
            }
            if more.len() > MOST {
                return Err(format!("there are more than {MOST} points").into());
            }
        }
        all = more;
    }
    Ok(all)
}

/// Lists an axis' values.
fn along(
    axis: &AxisSpec,
    outer: &Values,
    parameters: &Parameters,
) -> Result<Vec<Parameter>, Problem> {
    let name = |pattern: &str| expand(pattern, &|name| plain(outer.get(name)?));
    match (&axis.over, &axis.words, axis.of.as_slice()) {
        (Some(over), None, []) => {
            let mut numbers = Vec::new();
            for over in over.names() {
                numbers.extend(parameters.list(&name(over)?)?.iter().map(|n| n + axis.plus));
            }
            numbers.iter().try_for_each(|number| check(axis, *number))?;
            Ok(numbers.into_iter().map(Parameter::Number).collect())
        }
        (None, Some(words), []) => {
            Ok(parameters.words(&name(words)?)?.into_iter().map(Parameter::Text).collect())
        }
        (None, None, of @ [_, ..]) => Ok(of.to_vec()),
        _ => {
            let problem = "give one of `over`, `words` (a parameter) and `of` (words)";
            Err(format!("axis `{}`: {problem}", axis.name).into())
        }
    }
}

/// Gives what belongs to a place along an axis; no number where nothing does.
fn number_beside(
    beside: &BesideSpec,
    place: &Parameter,
    outer: &Values,
    parameters: &Parameters,
) -> Result<f64, Problem> {
    let name = |pattern: &str| expand(pattern, &|name| plain(outer.get(name)?));
    let (values, at) = (name(&beside.values)?, name(&beside.at)?);
    let (numbers, places) = (parameters.list(&values)?, parameters.list(&at)?);
    if numbers.len() != places.len() {
        let (has, needs) = (numbers.len(), places.len());
        let problem = format!("`parameters.{values}` has {has} numbers, `parameters.{at}` {needs}");
        return Err(problem.into());
    }
    let found = places.iter().position(|known| *place == Parameter::Number(*known));
    Ok(found.map_or(f64::NAN, |index| numbers[index]))
}

/// Refuses a number that cannot be along an axis.
fn check(axis: &AxisSpec, number: f64) -> Result<(), String> {
    let name = &axis.name;
    match (axis.step, axis.most) {
        (Some(step), _) if number < step || number % step != 0.0 => {
            Err(format!("axis `{name}`: {number} is no multiple of {step}"))
        }
        (_, Some(most)) if number > most => {
            Err(format!("axis `{name}`: {number} is more than {most}"))
        }
        _ => Ok(()),
    }
}

fn point(
    run: &RunSpec,
    series: &SeriesSpec,
    values: Values,
    parameters: &Parameters,
) -> Result<Point, Problem> {
    let named = |name: &str| values.get(name).or_else(|| parameters.value(name)).cloned();
    let text = |name: &str| named(name).as_ref().and_then(plain);
    let curve = expand(&series.name, &text)?;
    let shared = series.kind.is_none().then_some(&run.with);
    let mut told: BTreeMap<&String, &Parameter> = shared.into_iter().flatten().collect();
    told.extend(&series.with);
    let resolved = told.into_iter().map(|(key, value)| Ok((key.clone(), resolve(value, &named)?)));
    let with = resolved.collect::<Result<Values, String>>()?;
    let stream = match &run.stream {
        None => 0,
        Some(stream) => expand(stream, &text)?
            .parse::<f64>()
            .map_err(|_| format!("run.stream: `{stream}` is no number"))?
            as u64,
    };
    let named = |axis: &&AxisSpec| series.name.contains(&format!("{{{}}}", axis.name));
    let others = run.axes.iter().chain(&series.axes).filter(|axis| !named(axis));
    let shown =
        others.filter_map(|axis| Some(format!("{} {}", axis.name, plain(&values[&axis.name])?)));
    let mut label = vec![curve.clone()];
    label.extend(shown);
    let x = series.axes.last().map_or(0.0, |axis| number(&values, &axis.name));
    Ok(Point { label: label.join(", "), curve, x, stream, values, with, ..Point::default() })
}
