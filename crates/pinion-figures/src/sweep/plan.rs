//! What a sweep will do. In: a request. Out: every point with its machine and traffic, checked, and
//! the programs they need: the numbers of a machine that programs are linked against differ along
//! some axes (clusters, cores) and not along others.

use std::path::PathBuf;

use pinion_net::generator::GeneratorSpec;
use pinion_sim::config::ConfigError;
use pinion_spin::Machine;

use super::{Axis, Request, Target, grid};
use pinion_app::app;
use pinion_app::assets::fnv1a;
use pinion_app::build::{self, Layout, place};
use pinion_app::error::{Error, Result, paragraph};
use pinion_app::manifest::StandardTraffic;
use pinion_app::traffic;

/// Is the work of a packet beside that of its bytes, in the same unit: about what the handlers and
/// the hardware around them take where a byte takes one instruction.
const PACKET_WORK: f64 = 300.0;

/// Is a sweep that can be run.
pub struct Plan {
    pub(super) request: Request,
    pub(super) axes: Vec<Axis>,
    pub(super) points: Vec<Point>,
    pub(super) programs: Vec<Program>,
    pub(super) machine: String,
    /// Tells builds of Pinion apart.
    pub(super) pinion: String,
}

/// Is a point of the grid.
pub(super) struct Point {
    /// Holds a value for each axis.
    pub values: Vec<String>,
    /// Is what it takes, or why it cannot be run.
    pub setting: std::result::Result<Setting, String>,
}

/// Is what a point takes.
pub(super) struct Setting {
    /// Changes numbers of the machine.
    pub overrides: Vec<String>,
    /// Describes the packets.
    pub packets: GeneratorSpec,
    /// Is the place of its program, unless that was made elsewhere.
    pub program: Option<usize>,
    /// Says how long it will take, for comparing points.
    pub work: f64,
}

/// Is a program for some of the points.
pub(super) struct Program {
    /// Holds the numbers it is linked against.
    pub layout: Layout,
    /// Is where it goes: a folder of its own, so that several can be built at a time.
    pub elf: PathBuf,
}

/// Makes the points of a request and checks them.
///
/// # Errors
/// What is wrong with every point: no packets, an unknown key, a value of the wrong form, a machine
/// or program that is not there. What is wrong with some of them stands in their rows.
pub fn plan(mut request: Request) -> Result<Plan> {
    let untrusted = build::Options { untrusted: request.untrusted, ..build::Options::default() };
    build::untrusted::check(&request.manifest, &untrusted)?;
    check(&mut request)?;
    let axes = grid::axes(&request.set, request.seed.as_deref())?;
    let name = request.machine.clone().unwrap_or_else(|| request.manifest.app.machine.clone());
    let base = pinion_app::machine::load::<pinion_spin::Machine>(
        &name,
        &request.manifest.app.set,
        request.faithful,
    )?;
    let mut plan = Plan {
        axes,
        points: Vec::new(),
        programs: Vec::new(),
        machine: base.value.name,
        pinion: identity(),
        request,
    };
    for values in grid::product(&plan.axes) {
        let setting = plan.setting(&name, &values)?;
        plan.points.push(Point { values, setting });
    }
    Ok(plan)
}

/// Checks what all points share.
fn check(request: &mut Request) -> Result<()> {
    let app = &request.manifest.app;
    if request.manifest.nanoservice().is_some() {
        return Err(Error::Usage(format!(
            "{} is a nanoservice, and sweeps run packet handlers; `pinion run --load` measures one \
             load at a time, and the figures nanopu-* sweep theirs",
            app.name
        )));
    }
    if request.jobs == 0 {
        return Err(Error::Usage("--jobs 0: at least one point runs at a time".to_owned()));
    }
    if request.cc.is_some() && (app.elf.is_some() || request.elf.is_some()) {
        return Err(Error::Usage("the program was made elsewhere: --cc does not apply".to_owned()));
    }
    if request.build_dir.is_some() && (app.elf.is_some() || request.elf.is_some()) {
        let problem = "the program was made elsewhere: --build-dir does not apply";
        return Err(Error::Usage(problem.to_owned()));
    }
    if let Some(elf) = request.elf.as_ref().or(app.elf.as_ref()) {
        pinion_isa::elf::Image::read(elf)?;
    }
    if let Some(spec) = &request.generate {
        let generate = spec.parse()?;
        request.manifest.traffic = Some(StandardTraffic { generate, text: spec.clone() });
    }
    if request.manifest.traffic.is_none() {
        return Err(Error::Usage(format!(
            "{} has no [traffic] in its app.toml: add it, or give packets with --generate SPEC, for \
             example --generate 'udp,size=512,count=10000,rate=400g'",
            request.manifest.app.name
        )));
    }
    Ok(())
}

impl Plan {
    /// Lists the axes of the grid.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Counts the points.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Counts the points at a time: no more than there are.
    pub fn workers(&self) -> usize {
        self.request.jobs.min(self.points.len()).max(1)
    }

    /// Finds out what a point takes; the inner error is that of this point alone.
    fn setting(
        &mut self,
        machine: &str,
        values: &[String],
    ) -> Result<std::result::Result<Setting, String>> {
        let with = |target| {
            let all = self.axes.iter().zip(values);
            all.filter(move |(axis, _)| axis.target == target)
        };
        let own = with(Target::Machine).map(|(axis, value)| format!("{}={value}", axis.key));
        let own: Vec<String> = own.collect();
        let all = self.request.manifest.app.set.iter().chain(&own).cloned().collect::<Vec<_>>();
        let machine = match pinion_app::machine::load::<pinion_spin::Machine>(
            machine,
            &all,
            self.request.faithful,
        ) {
            Ok(machine) => machine.value,
            Err(Error::Config(
                error @ (ConfigError::Override { .. } | ConfigError::UnknownOverride { .. }),
            )) => return Err(error.into()),
            Err(error) => return Ok(Err(paragraph(&error))),
        };
        let keys: Vec<(&str, &str)> = with(Target::Traffic)
            .map(|(axis, value)| (axis.key.as_str(), value.as_str()))
            .collect();
        let mut packets = match traffic::standard(&self.request.manifest, &keys) {
            Ok(packets) => packets,
            Err(error) => return Ok(Err(paragraph(&error))),
        };
        if let Some(seed) = with(Target::Seed).find_map(|(_, value)| value.parse().ok()) {
            packets.seed = seed;
        }
        let program = self.program(&machine)?;
        Ok(Ok(Setting { overrides: own, work: work(&packets), packets, program }))
    }

    /// Finds the program for a machine, or adds it.
    ///
    /// # Errors
    /// When there is no folder for programs.
    fn program(&mut self, machine: &Machine) -> Result<Option<usize>> {
        let Request { manifest, elf, build_dir, .. } = &self.request;
        if elf.is_some() || manifest.app.elf.is_some() {
            return Ok(None);
        }
        let layout = app::layout(machine);
        let digest = fnv1a(format!("{layout:?}").bytes());
        let folder = place::of_application(&manifest.dir, build_dir.as_deref())?;
        let folder = folder.join(format!("sweep-{digest:016x}"));
        let elf = folder.join(&manifest.app.name).with_extension("elf");
        let known = self.programs.iter().position(|program| program.elf == elf);
        Ok(Some(known.unwrap_or_else(|| {
            self.programs.push(Program { layout, elf });
            self.programs.len() - 1
        })))
    }
}

/// Says how long a run will take compared with others.
fn work(packets: &GeneratorSpec) -> f64 {
    let sizes = packets.sizes.entries();
    let weight: f64 = sizes.iter().map(|(_, weight)| f64::from(*weight)).sum();
    let bytes: f64 = sizes.iter().map(|(size, weight)| *size as f64 * f64::from(*weight)).sum();
    packets.total_frames() as f64 * (PACKET_WORK + bytes / weight.max(1.0))
}

/// Names this build of Pinion: what another one measured may be something else.
fn identity() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok();
    let file = file.map(|meta| (meta.len(), meta.modified().ok()));
    format!("{} {file:?}", env!("CARGO_PKG_VERSION"))
}
