//! Our node as what scenarios are run on: the nanoPU machine with its faithful overrides, its
//! harts, window and timeout as the scenario wants them.

use std::fmt;

use pinion_isa::elf::Image;
use pinion_nanopu::event::{Event, NanoPu, Retirements, Told};
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::{Cycle, node};
use pinion_sim::probe::Hears;

use super::drive::{self, Device, FrameOut, Progress};
use super::observation::{Commit, Observation};
use super::set::{Scenario, ScriptFrame};
use super::{Runner, mrets};
use pinion_app::error::{Error, Result};
use pinion_app::machine;

/// Names the machine that is compared.
const MACHINE: &str = "nanopu";
/// The cycle from reset, modulo a round, in which the hardware's scan of the timers compares
/// the first one (fitted to the transport_timeout scenarios).
const SCAN_PHASE: i64 = 130;
/// Counts the cycles of a round of the scan.
const SCAN_CYCLES: i64 = 256;

/// Counts the cycles before and behind the loading of a program (fitted to ubench, which is large, and to
/// threads_startup_demotion, where the idle timer tells when the program began).
const BOOT_CYCLES: Cycle = 1115;
/// Counts the cycles of loading 10,000 bytes (fitted likewise).
const LINK_CYCLES_PER_10000_BYTES: Cycle = 11_771;

/// Does something to each node before its scenario begins, such as to put blocks of hardware beside its units.
type Prepare = Box<dyn Fn(&mut node::Node, &Machine) -> Result<()> + Send + Sync>;

/// Runs scenarios on a node like the RTL's.
pub struct Model {
    machine: Machine,
    prepare: Option<Prepare>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Model {
    /// Loads the machine with its faithful overrides.
    ///
    /// # Errors
    /// When its file is wrong.
    pub fn load() -> Result<Self> {
        Self::faithful_with(&[])
    }

    /// Loads the machine with its faithful overrides, and these.
    ///
    /// # Errors
    /// When its file is wrong or an override does not fit.
    pub fn faithful_with(overrides: &[String]) -> Result<Self> {
        Ok(Self {
            machine: machine::load::<Machine>(MACHINE, overrides, true)?.value,
            prepare: None,
        })
    }

    /// Loads the machine with these overrides alone.
    ///
    /// # Errors
    /// When its file is wrong or an override does not fit.
    pub fn with(overrides: &[String]) -> Result<Self> {
        Ok(Self {
            machine: machine::load::<Machine>(MACHINE, overrides, false)?.value,
            prepare: None,
        })
    }

    /// Does something to each node before its scenario begins; a scenario fails with what goes wrong with a block that
    /// this puts there.
    #[must_use]
    pub fn prepared(
        self,
        prepare: impl Fn(&mut node::Node, &Machine) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { prepare: Some(Box::new(prepare)), ..self }
    }

    fn device(&self, machine: &Machine, image: &Image) -> Result<NodeDevice> {
        let failed = |error| Error::part(format!("cannot load {}", image.name), error);
        let address = self.machine.address.parse().map_err(|(key, text)| {
            Error::Usage(format!("machine {MACHINE}: {key}: `{text}` is no address"))
        })?;
        let node = node::Node::new(machine, address, image).map_err(failed)?;
        Ok(NodeDevice { node, ears: Ears::new(machine.core.count, mrets(image)) })
    }
}

impl Runner for Model {
    fn observe(
        &self,
        scenario: &Scenario,
        script: &[ScriptFrame],
        image: &Image,
    ) -> Result<Observation> {
        let mut machine = self.machine.clone();
        machine.core.count = scenario.harts;
        machine.core.start_cycle = loading_cycles(image);
        machine.transport.rtt_packets = scenario.rtt_pkts;
        machine.transmit.timer.timeout_cycles = scenario.timeout_cycles;
        let zero = drive::zero(&mut self.device(&machine, image)?, scenario, script)?;
        let ahead = scenario.cycles_from_reset_to_cycle_0 as i64 - zero as i64;
        let phase = (SCAN_PHASE - ahead).rem_euclid(SCAN_CYCLES);
        machine.transmit.timer.scan_phase_cycles = phase as u64;
        let mut device = self.device(&machine, image)?;
        if let Some(prepare) = &self.prepare {
            prepare(&mut device.node, &machine)?;
        }
        let run = drive::run(&mut device, scenario, script);
        if let Some(failure) = device.node.hardware_failure() {
            return Err(Error::Usage(failure.to_owned()));
        }
        let run = run?;
        let mut observation = run.observation;
        let zero = run.zero as i64;
        let Ears { mut events, mut commits, .. } = device.ears;
        events.sort_by_key(|&(at, _)| at);
        commits.sort_by_key(|commit| commit.at);
        let events = events.into_iter().map(|(at, event)| (at as i64 - zero, event));
        observation.events = events.filter(|&(at, _)| at >= 0).collect();
        let commits = commits.into_iter().map(|commit| Commit { at: commit.at - zero, ..commit });
        observation.commits = commits.collect();
        Ok(observation)
    }
}

/// Gives the cycles that the hardware takes from reset to the program's first instruction: what it
/// takes in any case, and what the debug link takes for the program.
fn loading_cycles(image: &Image) -> Cycle {
    let bytes: u64 = image.segments.iter().map(|segment| segment.memory_bytes).sum();
    BOOT_CYCLES + bytes * LINK_CYCLES_PER_10000_BYTES / 10_000
}

struct NodeDevice {
    node: node::Node,
    ears: Ears,
}

impl Device for NodeDevice {
    fn inject(&mut self, first: Cycle, frame: &[u8]) {
        self.node.inject(first, frame);
    }

    fn run_until(&mut self, end: Cycle, out: &mut Vec<FrameOut>) -> Result<Progress> {
        let mut sink = |first: Cycle, last: Cycle, frame: &[u8]| {
            out.push(FrameOut { first, last, frame: frame.to_vec() });
        };
        Ok(match self.node.run_until(end, &mut sink, &mut self.ears) {
            node::Progress::Running | node::Progress::Quiet => Progress::Running,
            node::Progress::Exited { code, .. } => Progress::Exited(code),
            node::Progress::Stopped { why, at } => {
                Progress::Stopped(format!("{why}, {at} cycles from reset"))
            }
        })
    }
}

/// Keeps the events, and of each hart the instructions from a trap to the one behind its `mret`.
struct Ears {
    events: Vec<(Cycle, Event)>,
    commits: Vec<Commit>,
    mrets: Vec<u64>,
    /// What is still to be kept of each hart.
    keep: Vec<Keep>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    UpToReturn,
    One,
}

impl Ears {
    fn new(harts: u32, mrets: Vec<u64>) -> Self {
        let keep = vec![Keep::Nothing; harts as usize];
        Self { events: Vec::new(), commits: Vec::new(), mrets, keep }
    }
}

impl Hears<NanoPu> for Ears {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Event { at, event } => self.event(at, event),
            Told::Retired { hart, at, pc, .. } => self.retired(hart, at, pc),
            Told::Taken { .. }
            | Told::Stored { .. }
            | Told::Excepted { .. }
            | Told::Waypoint { .. }
            | Told::Arrived { .. }
            | Told::Left { .. } => {}
        }
    }
}

impl Ears {
    fn event(&mut self, at: Cycle, event: Event) {
        if let Event::Trap { hart } = event {
            self.keep[usize::from(hart)] = Keep::UpToReturn;
        }
        self.events.push((at, event));
    }

    fn retired(&mut self, hart: u8, at: Cycle, pc: u64) {
        let keep = &mut self.keep[usize::from(hart)];
        if *keep == Keep::Nothing {
            return;
        }
        self.commits.push(Commit { at: at as i64, hart, pc });
        *keep = match *keep {
            Keep::UpToReturn if self.mrets.contains(&pc) => Keep::One,
            Keep::UpToReturn => Keep::UpToReturn,
            Keep::Nothing | Keep::One => Keep::Nothing,
        };
    }
}
