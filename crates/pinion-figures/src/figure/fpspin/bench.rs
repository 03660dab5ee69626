//! What the figures share: an example on the machine that a curve is of, and the host's model.

use std::sync::Arc;

use pinion_host::HostModel;

use crate::figure::pspin::programs::{Programs, Source};
use crate::figure::{Parameters, Point, Setting};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_run::cosim;

/// Begins overrides of the host's numbers.
const HOST: &str = "host.";
/// Separates a curve's name from the machine that it is of, where that is not the first one.
const ON: &str = " on ";

/// Gives the names of curves: each on the first machine without its name, then on the others.
pub(super) fn curves(names: &[String], parameters: &Parameters) -> Result<Vec<String>> {
    let mut curves = names.to_vec();
    for machine in parameters.words("beside")? {
        let wanted = parameters.words("beside_curves")?;
        let both = names.iter().filter(|name| wanted.contains(name));
        curves.extend(both.map(|name| format!("{name}{ON}{machine}")));
    }
    Ok(curves)
}

/// Gives the points of the curves over each kind of thing that varies: `curves_over_KIND` at `KIND`.
pub(super) fn points(kinds: &[&str], parameters: &Parameters) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for kind in kinds {
        let names = parameters.words(&format!("curves_over_{kind}"))?;
        let xs = parameters.list(kind)?;
        for curve in curves(&names, parameters)? {
            points.extend(xs.iter().map(|&x| Point {
                label: format!("{curve}, {x} {kind}"),
                curve: curve.clone(),
                x,
                stream: 0,
                ..Point::default()
            }));
        }
    }
    Ok(points)
}

/// Splits a curve's name into what runs and the machine, where that is named.
pub(super) fn split(curve: &str) -> (&str, Option<&str>) {
    curve.split_once(ON).map_or((curve, None), |(name, machine)| (name, Some(machine)))
}

/// A run's surroundings.
pub(super) struct Bench<'a> {
    programs: &'a Programs,
    setting: &'a Setting<'a>,
    machine: String,
    overrides: Vec<String>,
    /// The host on both sides of the cable.
    pub host: HostModel,
}

impl<'a> Bench<'a> {
    /// Sets up a run of a curve.
    ///
    /// # Errors
    /// When there is no such host, or an override does not fit it.
    pub fn new(programs: &'a Programs, curve: &str, setting: &'a Setting<'a>) -> Result<Self> {
        let parameters = setting.parameters;
        let one = |name: &str| -> Result<String> {
            let words = parameters.words(name)?;
            words.into_iter().next().ok_or_else(|| Error::Usage(format!("no `parameters.{name}`")))
        };
        let first = setting.machine_name.map_or_else(|| one("machine"), |name| Ok(name.to_owned()));
        let machine = split(curve).1.map_or(first, |name| Ok(name.to_owned()))?;
        let (host, overrides): (Vec<String>, Vec<String>) =
            setting.machine.iter().cloned().partition(|text| text.trim_start().starts_with(HOST));
        let host: Vec<String> =
            host.iter().map(|text| text.trim_start()[HOST.len()..].to_owned()).collect();
        let host = cosim::load_host(&one("host")?, &host)?;
        Ok(Self { programs, setting, machine, overrides, host })
    }

    /// Gives an example on the curve's machine, with further changes of it.
    ///
    /// # Errors
    /// When it cannot be built or does not fit the machine.
    pub fn app(&self, example: &str) -> Result<Arc<App>> {
        let folder = self.setting.build_dir;
        let source = Source::Example(example);
        self.programs.app_on(source, Some(&self.machine), &self.overrides, folder)
    }

    /// Gives the figure's parameters.
    pub fn parameters(&self) -> &'a Parameters {
        self.setting.parameters
    }
}

/// Gives where the host's answers go in NIC memory: `__host_data.flag`.
///
/// # Errors
/// When the program has no such symbol.
pub(super) fn flags_address(app: &App) -> Result<u32> {
    Ok(app.image.require("__host_data")?.address as u32)
}
