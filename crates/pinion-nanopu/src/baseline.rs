//! The baseline: the same core with a NIC that moves packets by DMA, for the comparisons that the
//! papers make (nanoservices draft, §5: "RISC-V with IceNIC").
//!
//! In and out: frames. Holds one core, its memory, and the NIC among its devices. x30 and x31 are no
//! network here; programs are compiled without them. Nothing is simulated but the core, which calls
//! the NIC when it reads or writes its registers: all the NIC does follows from those and the frames.

use pinion_isa::elf::Image;
use pinion_sim::node::tell_part;

use crate::Cycle;
use crate::core::code::Code;
use crate::core::{Activity, Core, CoreShape, Network, RETIRE};
use crate::event::Listener;
use crate::machine::dma_nic::DmaNicSection;
use crate::machine::error::MachineError;
use crate::machine::node::Machine;
use crate::memory::Memory;
pub use crate::memory::dma_nic::{BASE, Counts, DmaNic};
use crate::node::{Chip, NodeError, Progress, Sink, tell_core};

/// CSR that tells whether the NIC is out of reset.
const NIC_READY: u16 = crate::core::network::csr::NIC_READY;

/// Holds a baseline node. A clone is a deep copy, to come back to this cycle.
#[derive(Clone)]
pub struct Baseline {
    core: Core,
    memory: Memory,
    code: Code,
    now: Cycle,
}

/// Stands for the network that is not there.
struct NoNetwork;

impl Network for NoNetwork {
    fn known_until(&self) -> Cycle {
        Cycle::MAX
    }
    /// The boot code asks whether the NIC is ready; it is.
    fn read_csr(&mut self, csr: u16, _: Cycle) -> Option<u64> {
        Some(u64::from(csr == NIC_READY))
    }
    fn write_csr(&mut self, _: u16, _: u64, _: Cycle) -> bool {
        true
    }
    fn pop(&mut self, _: Cycle) -> Option<u64> {
        None
    }
    fn send(&mut self, _: u64, _: Cycle) {}
    fn room(&mut self, _: Cycle) -> bool {
        true
    }
    fn pulse(&mut self, _: Cycle, _: Cycle) -> Option<Cycle> {
        None
    }
    fn hears_retired(&self) -> bool {
        false
    }
    fn trapped(&mut self, _: Cycle) {}
}

impl Baseline {
    /// Makes a node in reset with one core of the machine and a program in memory.
    ///
    /// # Errors
    /// When the program does not fit, or the machine has no numbers of a DMA NIC.
    pub fn new(machine: &Machine, image: &Image) -> Result<Self, NodeError> {
        machine.check_numbers()?;
        let section = machine.dma_nic.as_ref().ok_or_else(|| MachineError {
            key: "dma_nic",
            problem: "is missing: the baseline has such a NIC".to_owned(),
        })?;
        check(section)?;
        let shape = CoreShape {
            core: &machine.core,
            instruction_cache: &machine.instruction_cache,
            data_cache: &machine.data_cache,
        };
        let core = Core::new(0, shape);
        let mut memory = Memory::new(&machine.memory, 1);
        memory.load(image)?;
        memory.dma_nic = Some(Box::new(DmaNic::new(section)));
        let (base, size) = (machine.memory.base_address, machine.memory.size.0);
        let code = Code::of(image, base, size, core.hart.extensions());
        Ok(Self { core, memory, code, now: 0 })
    }

    /// Takes a frame whose first flit is on the pins in cycle `first_flit`, which must not have
    /// passed; frames come in order and do not overlap.
    pub fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        if let Some(nic) = &mut self.memory.dma_nic {
            nic.inject(first_flit, frame);
        }
    }

    /// Runs everything that happens before cycle `end`; frames go to `sink` with cycles that may lie
    /// somewhat ahead.
    pub fn run_until(&mut self, end: Cycle, sink: &mut impl Sink) -> Progress {
        if self.core.activity == Activity::Running {
            self.core.run(end, &mut self.code, &mut self.memory, &mut NoNetwork);
        }
        self.now = self.now.max(end);
        if let Some(nic) = &mut self.memory.dma_nic {
            for frame in nic.leaving.drain(..) {
                sink.frame(frame.first, frame.last, &frame.frame);
            }
        }
        match (self.core.activity, self.memory.host.exit) {
            (_, Some(exit)) => {
                Progress::Exited { code: exit.code, at: self.core.decode_cycle() + RETIRE }
            }
            (Activity::Running, None) => Progress::Running,
            _ => Progress::Quiet,
        }
    }

    /// Gives the cycle before which everything has happened.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Gives memory and devices, the NIC among them.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Gives memory and devices, to set the program's arguments or look into it.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Gives the core.
    pub fn core(&self) -> &Core {
        &self.core
    }
}

impl Chip for Baseline {
    const TELLS_EVENTS: bool = false;

    fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        self.inject(first_flit, frame);
    }

    fn run_until(&mut self, end: Cycle, sink: &mut impl Sink, _: &mut impl Listener) -> Progress {
        self.run_until(end, sink)
    }

    fn now(&self) -> Cycle {
        self.now()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell_part("core.0", tell, |tell| tell_core(self.core(), tell));
    }
}

/// Checks the NIC's numbers.
fn check(section: &DmaNicSection) -> Result<(), MachineError> {
    let wrong = |key, problem: String| Err(MachineError { key, problem });
    if !(1..=15).contains(&section.queue_requests) {
        let problem = format!("must be from 1 to 15, not {}", section.queue_requests);
        return wrong("dma_nic.queue_requests", problem);
    }
    if section.beat_bytes == 0 {
        return wrong("dma_nic.beat_bytes", "must be at least 1".to_owned());
    }
    Ok(())
}
