//! The bench of real nodes. In: what a figure wants run. Out: what a node did. Holds the programs
//! that were built.

mod application;
mod chain;
mod exchange;
mod loopback;
mod programs;
mod serve;
mod store;
mod throughput;

use pinion_isa::elf::Image;
use pinion_nanopu::Cycle;
use pinion_nanopu::event::Listener;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::{Node, NodeError, Progress, Sink};
use pinion_net::load::{LoadReport, LoadSpec};
use pinion_sim::Clock;

use super::{Application, Bench, Chain, ChainReport, Loopback, Service, Stage, Store, Throughput};
use crate::figure::Setting;
use pinion_app::error::{Error, Result};
use programs::Programs;

/// Names the machine.
const MACHINE: &str = "nanopu";

/// Makes nodes and runs them.
#[derive(Debug, Default)]
pub(in crate::figure) struct Nodes {
    programs: Programs,
}

impl Nodes {
    /// Loads the machine with the run's own overrides, then those that were asked for.
    fn machine(&self, own: &[String], setting: &Setting<'_>) -> Result<Machine> {
        let overrides: Vec<String> = own.iter().chain(setting.machine).cloned().collect();
        Ok(pinion_app::machine::load(MACHINE, &overrides, false)?.value)
    }
}

impl Bench for Nodes {
    fn clock(&self, setting: &Setting<'_>) -> Result<Clock> {
        let machine = self.machine(&[], setting)?;
        Ok(Clock::from_hz(machine.clock.frequency_mhz * 1_000_000))
    }

    fn loopback(&self, run: &Loopback, setting: &Setting<'_>) -> Result<Vec<Stage>> {
        loopback::loopback(self, run, setting)
    }

    fn throughput(&self, run: &Throughput, setting: &Setting<'_>) -> Result<u64> {
        throughput::throughput(self, run, setting)
    }

    fn serve(&self, run: &Service, load: LoadSpec, setting: &Setting<'_>) -> Result<LoadReport> {
        serve::serve(self, run, load, setting)
    }

    fn store(&self, run: &Store, load: LoadSpec, setting: &Setting<'_>) -> Result<LoadReport> {
        store::store(self, run, load, setting)
    }

    fn chain(&self, run: &Chain, setting: &Setting<'_>) -> Result<ChainReport> {
        chain::chain(run, setting)
    }

    fn application(&self, run: &Application, setting: &Setting<'_>) -> Result<u64> {
        application::application(self, run, setting)
    }
}

/// Makes a node with a program and its arguments.
fn node(machine: &Machine, image: &Image, arguments: &[&str]) -> Result<Node> {
    let address = machine.address.parse().map_err(|(key, text)| {
        Error::Usage(format!("machine {MACHINE}: {key}: `{text}` is no address"))
    })?;
    let mut node = Node::new(machine, address, image).map_err(failed(image))?;
    node.memory_mut().host.arguments = arguments.iter().map(|&text| text.into()).collect();
    Ok(node)
}

/// Says which program a node could not be made with.
fn failed(image: &Image) -> impl Fn(NodeError) -> Error {
    let what = format!("cannot load {}", image.name);
    move |error| Error::part(what.clone(), error)
}

/// Run against frames: a node, or the baseline's.
trait Runs {
    /// Takes a frame.
    fn inject(&mut self, first_flit: Cycle, frame: &[u8]);
    /// Runs every cycle before `end`.
    fn run_until(
        &mut self,
        end: Cycle,
        sink: &mut impl Sink,
        listener: &mut impl Listener,
    ) -> Progress;
    /// Gives what the program printed.
    fn console(&self) -> Vec<u8>;
}

impl Runs for Node {
    fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        Node::inject(self, first_flit, frame);
    }
    fn run_until(
        &mut self,
        end: Cycle,
        sink: &mut impl Sink,
        listener: &mut impl Listener,
    ) -> Progress {
        Node::run_until(self, end, sink, listener)
    }
    fn console(&self) -> Vec<u8> {
        self.memory().devices.console.clone()
    }
}
