//! What a sweep will do. In: a request. Out: every point with its machine and traffic, checked, and
//! the programs they need: the numbers of a machine that programs are linked against differ along
//! some axes (clusters, cores) and not along others.

use std::path::PathBuf;
use std::sync::Mutex;

use pinion_net::generator::GeneratorSpec;
use pinion_sim::config::ConfigError;
use pinion_spin::Machine;

use super::grid::LOAD;
use super::{Axis, Request, Subject, Target, grid};
use pinion_app::app;
use pinion_app::assets::fnv1a;
use pinion_app::build::{self, Layout, place};
use pinion_app::error::{Error, Result, paragraph};
use pinion_app::manifest::{Manifest, StandardTraffic};
use pinion_app::{machine, traffic};

/// The work of a packet beside that of its bytes, in the same unit: about what the handlers and
/// the hardware around them take where a byte takes one instruction.
const PACKET_WORK: f64 = 300.0;

/// A sweep that can be run.
pub struct Plan {
    pub(super) request: Request,
    pub(super) axes: Vec<Axis>,
    pub(super) points: Vec<Point>,
    pub(super) programs: Vec<Program>,
    pub(super) machine: String,
    /// Held while a program is built as it is loaded: one after the other.
    pub(super) loading: Mutex<()>,
}

/// A point of the grid.
pub(super) struct Point {
    /// A value for each axis.
    pub values: Vec<String>,
    /// What it takes, or why it cannot be run.
    pub setting: std::result::Result<Setting, String>,
}

/// What a point takes.
pub(super) struct Setting {
    /// Changes numbers of the machine.
    pub overrides: Vec<String>,
    /// Describes the packets or the requests.
    pub traffic: Asked,
    /// The place of its program, unless that was made elsewhere.
    pub program: Option<usize>,
    /// How long it will take, for comparing points.
    pub work: f64,
}

/// What a point is asked to do.
#[derive(Debug)]
pub(super) enum Asked {
    /// Packets for handlers.
    Packets(Box<GeneratorSpec>),
    /// A load for a nanoservice.
    Load(String),
    /// What a nanoservice's folder or a cluster's file has.
    Own,
}

/// A program for some of the points.
pub(super) struct Program {
    /// The numbers it is linked against.
    pub layout: Layout,
    /// Where it goes: a folder of its own, so that several can be built at a time.
    pub elf: PathBuf,
}

/// Makes the points of a request and checks them.
///
/// # Errors
/// What is wrong with every point: no packets, an unknown key, a value of the wrong form, a machine
/// or program that is not there. What is wrong with some of them stands in their rows.
pub fn plan(mut request: Request) -> Result<Plan> {
    if let Some(manifest) = request.subject.manifest() {
        let untrusted =
            build::Options { untrusted: request.untrusted, ..build::Options::default() };
        build::untrusted::check(manifest, &untrusted)?;
    }
    check(&mut request)?;
    let axes = grid::axes(&request.subject, &request.set, request.seed.as_deref())?;
    let machine = match (&request.subject, &request.machine) {
        (Subject::Handlers(manifest), given) => {
            let name = given.as_ref().unwrap_or(&manifest.app.machine);
            load(name, &manifest.app.set, request.faithful)?.name
        }
        (Subject::Nanoservice(manifest), given) => {
            given.clone().unwrap_or_else(|| manifest.app.machine.clone())
        }
        (Subject::Cluster(_), given) => given.clone().unwrap_or_else(|| "as its file says".into()),
    };
    let mut plan = Plan {
        axes,
        points: Vec::new(),
        programs: Vec::new(),
        machine,
        loading: Mutex::new(()),
        request,
    };
    for values in grid::product(&plan.axes) {
        let setting = plan.setting(&values)?;
        plan.points.push(Point { values, setting });
    }
    Ok(plan)
}

fn load(name: &str, set: &[String], faithful: bool) -> Result<Machine> {
    Ok(machine::load::<Machine>(name, set, faithful)?.value)
}

/// Checks what all points share.
fn check(request: &mut Request) -> Result<()> {
    let usage = |problem: String| Err(Error::Usage(problem));
    if request.jobs == 0 {
        return usage("--jobs 0: at least one point runs at a time".to_owned());
    }
    let (name, is_load) = (request.subject.name().to_owned(), request.load.is_some());
    let (is_generate, is_elf) = (request.generate.is_some(), request.elf.is_some());
    match &request.subject {
        Subject::Handlers(_) if is_load => {
            return usage(format!("--load asks nanoservices, and {name} has packet handlers"));
        }
        Subject::Nanoservice(_) if is_generate => {
            return usage(format!(
                "--generate makes packets for handlers, and {name} is a nanoservice: give --load, \
                 for example --load requests=1000,gap=exp:2000"
            ));
        }
        Subject::Cluster(_) if is_load || is_generate || is_elf => {
            return usage(format!(
                "--load, --generate and --elf go with one node; cluster.toml says who asks whom in \
                 {name}, and --set GROUP.KEY=… varies it"
            ));
        }
        _ => {}
    }
    let Some(manifest) = request.subject.manifest() else { return Ok(()) };
    let elf = request.elf.as_ref().or(manifest.app.elf.as_ref()).cloned();
    let given = [("--cc", request.cc.is_some()), ("--build-dir", request.build_dir.is_some())];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given && elf.is_some()) {
        return usage(format!("the program was made elsewhere: {option} does not apply"));
    }
    match &mut request.subject {
        Subject::Handlers(manifest) => {
            if let Some(elf) = &elf {
                pinion_isa::elf::Image::read(elf)?;
            }
            if let Some(spec) = &request.generate {
                let generate = spec.parse()?;
                manifest.traffic = Some(StandardTraffic { generate, text: spec.clone() });
            }
            if manifest.traffic.is_none() {
                return usage(format!(
                    "{name} has no [traffic] in its app.toml: add it, or give packets with \
                     --generate SPEC, for example --generate 'udp,size=512,count=10000,rate=400g'"
                ));
            }
            Ok(())
        }
        _ => Ok(()),
    }
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

    /// Says what is measured.
    pub fn numbers(&self) -> &'static super::Numbers {
        self.request.subject.numbers()
    }

    /// Finds out what a point takes; the inner error is that of this point alone.
    fn setting(&mut self, values: &[String]) -> Result<std::result::Result<Setting, String>> {
        let with = |target| {
            let all = self.axes.iter().zip(values);
            all.filter(move |(axis, _)| axis.target == target)
        };
        let own = with(Target::Machine).map(|(axis, value)| format!("{}={value}", axis.key));
        let mut own: Vec<String> = own.collect();
        let seed = with(Target::Seed).find_map(|(_, value)| value.parse::<u64>().ok());
        let keys: Vec<(&str, &str)> = with(Target::Traffic)
            .map(|(axis, value)| (axis.key.as_str(), value.as_str()))
            .collect();
        let all_points = |error: Error| match error {
            Error::Config(
                error @ (ConfigError::Override { .. } | ConfigError::UnknownOverride { .. }),
            ) => Err(error.into()),
            error => Ok(Err(paragraph(&error))),
        };
        let manifest = match &self.request.subject {
            Subject::Handlers(manifest) => manifest,
            Subject::Nanoservice(manifest) => {
                let name = self.request.machine.as_ref().unwrap_or(&manifest.app.machine);
                let set: Vec<String> = manifest.app.set.iter().chain(&own).cloned().collect();
                let faithful = self.request.faithful;
                let machine = machine::load::<pinion_nanopu::machine::node::Machine>;
                if let Err(error) = machine(name, &set, faithful) {
                    return all_points(error);
                }
                let asked = asked(self.request.load.as_deref(), &keys, seed)?;
                return Ok(Ok(Setting {
                    overrides: own,
                    work: 1.0,
                    traffic: asked,
                    program: None,
                }));
            }
            Subject::Cluster(cluster) => {
                if let Err(error) = cluster.check(&own) {
                    return all_points(error);
                }
                own.extend(seed.map(|seed| format!("cluster.seed={seed}")));
                let traffic = Asked::Own;
                return Ok(Ok(Setting { overrides: own, work: 1.0, traffic, program: None }));
            }
        };
        let name = self.request.machine.as_ref().unwrap_or(&manifest.app.machine);
        let all = manifest.app.set.iter().chain(&own).cloned().collect::<Vec<_>>();
        let machine = match load(name, &all, self.request.faithful) {
            Ok(machine) => machine,
            Err(error) => return all_points(error),
        };
        let mut packets = match traffic::standard(manifest, &keys) {
            Ok(packets) => packets,
            Err(error) => return Ok(Err(paragraph(&error))),
        };
        if let Some(seed) = seed {
            packets.seed = seed;
        }
        let program = self.program(&manifest.clone(), &machine)?;
        let work = work(&packets);
        let traffic = Asked::Packets(Box::new(packets));
        Ok(Ok(Setting { overrides: own, work, traffic, program }))
    }

    /// Finds the program for a machine, or adds it.
    ///
    /// # Errors
    /// When there is no folder for programs.
    fn program(&mut self, manifest: &Manifest, machine: &Machine) -> Result<Option<usize>> {
        let Request { elf, build_dir, .. } = &self.request;
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

/// Puts a point's load together: the request's, with the point's keys instead of its own.
fn asked(load: Option<&str>, keys: &[(&str, &str)], seed: Option<u64>) -> Result<Asked> {
    let seed = seed.map(|seed| seed.to_string());
    let keys = keys.iter().map(|(key, value)| (key.strip_prefix(LOAD).unwrap_or(key), *value));
    let changes: Vec<(&str, &str)> =
        keys.chain(seed.as_deref().map(|seed| ("seed", seed))).collect();
    let Some(load) = load else {
        return match changes.first() {
            None => Ok(Asked::Own),
            Some((key, _)) => Err(Error::Usage(format!(
                "there is no load whose `{key}` could vary: give --load, for example --load \
                 requests=1000,gap=exp:2000"
            ))),
        };
    };
    let is_changed = |part: &&str| {
        let key = part.split_once('=').map_or(*part, |(key, _)| key).trim();
        changes.iter().any(|(changed, _)| *changed == key)
    };
    let kept = load.split(',').filter(|part| !part.trim().is_empty() && !is_changed(part));
    let new = changes.iter().map(|(key, value)| format!("{key}={value}"));
    let parts: Vec<String> = kept.map(str::to_owned).chain(new).collect();
    Ok(Asked::Load(parts.join(",")))
}

/// Says how long a run will take compared with others.
fn work(packets: &GeneratorSpec) -> f64 {
    let sizes = packets.sizes.entries();
    let weight: f64 = sizes.iter().map(|(_, weight)| f64::from(*weight)).sum();
    let bytes: f64 = sizes.iter().map(|(size, weight)| *size as f64 * f64::from(*weight)).sum();
    packets.total_frames() as f64 * (PACKET_WORK + bytes / weight.max(1.0))
}

/// Names the program that runs: another build of it may measure something else.
pub fn identity() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok();
    let file = file.map(|meta| (meta.len(), meta.modified().ok()));
    format!("{} {file:?}", env!("CARGO_PKG_VERSION"))
}
