//! A nanoservice on its machine: a program and a machine file come in, a node with the program in
//! memory goes out.

use std::sync::Arc;
use std::time::Duration;

use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::machine::transport::TransportKind;
use pinion_nanopu::node::{Node, NodeError, Program};
use pinion_nanopu::transport::{self, Address, Transport};
use pinion_sim::Clock;
use pinion_sim::config::Loaded;

use pinion_app::app::Options;
use pinion_app::error::{Error, Result};
use pinion_app::machine;
use pinion_app::manifest::{Manifest, Nanoservice};
use pinion_app::service::Service;
use pinion_spin::EngineCore;

/// Names the machine's number of harts.
const COUNT: &str = "core.count";

/// How long a live run waits for an acknowledgement: a peer beyond a kernel takes its time.
const TIMEOUT: Duration = Duration::from_millis(10);
/// Names the machine's number that says so.
const TIMEOUT_KEY: &str = "transmit.timer.timeout_cycles";

/// Holds the machine that a nanoservice runs on.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The machine and how its file was written.
    pub machine: Arc<Loaded<Machine>>,
    /// How the node is called on the network.
    pub address: Address,
    /// The clock of cores and NIC.
    pub clock: Clock,
    /// The program in memory and decoded, which all nodes share.
    program: Arc<Program>,
}

/// Loads a nanoservice's machine, for a program that is linked for so many harts.
fn load(
    described: &Nanoservice,
    machine: &str,
    harts: Option<u32>,
    options: &Options,
) -> Result<Loaded<Machine>> {
    let mut overrides = described.set.clone();
    overrides.extend(described.transport_overrides());
    overrides.extend(harts.map(|harts| format!("{COUNT}={harts}")));
    overrides.extend(options.overrides.iter().cloned());
    machine::load(machine, &overrides, options.faithful)
}

/// Tells whether an application is a nanoservice on a machine whose transport is P4 programs.
///
/// # Errors
/// When the machine is none.
pub fn has_programs(manifest: &Manifest, options: &Options) -> Result<bool> {
    let Some(described) = manifest.nanoservice() else { return Ok(false) };
    let machine = options.machine.as_ref().unwrap_or(&manifest.app.machine);
    Ok(load(described, machine, None, options)?.value.transport.is_programmed())
}

impl Setup {
    /// Loads the service's machine: the manifest's numbers change the machine file's, those of the
    /// command line both.
    ///
    /// # Errors
    /// When the machine is none, or has fewer harts than the program is linked for.
    pub fn new(service: &Service, options: &Options) -> Result<Self> {
        let mut machine = load(service.described(), &service.machine, service.harts, options)?;
        machine.value.transport.interpreted = options.engine_core == EngineCore::Interpreter;
        let wrong = |key: &str, problem: String| Error::from(machine.error_at(key, problem));
        let (linked, count) = (service.harts.unwrap_or(1), machine.value.core.count);
        if count < linked {
            let problem = format!(
                "{count} harts, but the program is linked for {linked}; write harts = {count} \
                 under [nanoservice] in its app.toml"
            );
            return Err(wrong(COUNT, problem));
        }
        let address = machine.value.address.parse();
        let address =
            address.map_err(|(key, text)| wrong(key, format!("`{text}` is no MAC address")))?;
        let clock = Clock::from_hz(machine.value.clock.frequency_mhz * 1_000_000);
        let program = Program::load(&machine.value, &service.image);
        let program = Arc::new(program.map_err(|error| cannot_start(service, error))?);
        Ok(Self { machine: Arc::new(machine), address, clock, program })
    }

    /// Makes the machine wait as long for acknowledgements as peers beyond a kernel take, unless its
    /// number was given.
    pub fn wait_for_peers(&mut self) {
        let is_set = |key: &str| self.machine.entries.iter().any(|e| e.key == key && e.overridden);
        if !is_set(TIMEOUT_KEY) {
            let mhz = self.machine.value.clock.frequency_mhz;
            Arc::make_mut(&mut self.machine).value.transmit.timer.timeout_cycles =
                TIMEOUT.as_micros() as u64 * mhz;
        }
    }

    /// Makes a node in reset with the program in memory and its arguments at hand.
    ///
    /// # Errors
    /// When the program does not fit, or the machine's numbers do not fit together.
    pub fn node(&self, service: &Service) -> Result<Node> {
        self.node_with(service, service.arguments())
    }

    /// Makes a node whose program has these arguments, its name first.
    ///
    /// # Errors
    /// As [`Setup::node`].
    pub fn node_with(&self, service: &Service, arguments: Vec<String>) -> Result<Node> {
        let node = Node::with_program(&self.machine.value, self.address, &self.program);
        let mut node = node.map_err(|error| cannot_start(service, error))?;
        node.memory_mut().host.arguments = arguments;
        Ok(node)
    }

    /// Gives the same machine with another place in the network.
    #[must_use]
    pub fn at(&self, address: Address) -> Self {
        let (machine, program) = (Arc::clone(&self.machine), Arc::clone(&self.program));
        Self { machine, address, clock: self.clock, program }
    }

    /// Makes one of the machine's transport, to take frames apart and write them.
    pub fn transport(&self) -> Box<dyn Transport> {
        transport::build(&self.machine.value.transport, 1)
    }

    /// Gives the number by which ports on the wire are higher than contexts.
    pub fn port_base(&self) -> u16 {
        match self.machine.value.transport.frames() {
            TransportKind::Udp => self.machine.value.transport.udp.port_base,
            _ => 0,
        }
    }
}

fn cannot_start(service: &Service, error: NodeError) -> Error {
    Error::part(format!("cannot start {}", service.built.elf.display()), error)
}
