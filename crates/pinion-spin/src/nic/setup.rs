//! Builds a NIC: checks machine, program and contexts, loads memories, boots the cores.

use pinion_host::{Iommu, Window};
use pinion_isa::elf::Image;
use pinion_isa::{Cause, Op, disassemble_xpulp};
use pinion_sim::{Clock, Wheel};

use super::contexts::handlers;
use super::standstill::{Standstill, Step};
use super::{Due, Nic};
use crate::cluster::Clusters;
use crate::cluster::hpu::{Core, Waiting};
use crate::command_unit::CommandUnit;
use crate::dispatcher::Dispatcher;
use crate::hardware::InLoop;
use crate::inbound::InboundEngine;
use crate::listener::{Deaf, Interest};
use crate::matching::MatchingEngine;
use crate::memory::Memories;
use crate::mpq_engine::MpqEngine;
use crate::shared::{Contexts, Shared};
use crate::task::Packets;
use crate::{ExecutionContext, Machine, Totals};

/// Says why a NIC could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The machine's numbers do not fit together.
    #[error("the machine's `{key}` cannot be used: {problem}")]
    Machine {
        /// The key in the machine file.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The program has a segment outside the NIC's memories.
    #[error(
        "the program's segment at {address:#010x} ({bytes} bytes) lies outside the NIC's memories; \
         was it linked with the SDK's linker script for this machine?"
    )]
    SegmentOutside {
        /// Its address.
        address: u32,
        /// Its size.
        bytes: u32,
    },
    /// Nothing stands at the reset address.
    #[error(
        "the program has no code at the reset address {address:#010x}, where every core starts; \
         link it with the SDK's runtime"
    )]
    NoResetCode {
        /// The reset address.
        address: u32,
    },
    /// A handler lies outside the program memory.
    #[error(
        "handler `{handler}` of context `{context}` lies at {address:#010x}, outside the program \
         memory ({base:#010x}, {bytes} bytes)"
    )]
    HandlerOutside {
        /// The context's name.
        context: String,
        /// The handler's name.
        handler: String,
        /// Its address.
        address: u32,
        /// Address of the program memory.
        base: u32,
        /// Its size.
        bytes: u32,
    },
    /// A context's memory does not fit.
    #[error("context `{context}`: {what} does not fit: {problem}")]
    DoesNotFit {
        /// The context's name.
        context: String,
        /// Which of its memories.
        what: &'static str,
        /// How far off it is.
        problem: String,
    },
    /// The cores never came to wait for tasks.
    #[error("the program does not boot: {0}")]
    NoBoot(String),
}

/// Cycles within which the cores must have booted.
const BOOT_LIMIT_CYCLES: u64 = 2_000_000;

impl Nic {
    /// Builds a NIC, loads the program and boots its cores.
    ///
    /// `matching` decides about frames that come without classification.
    ///
    /// # Errors
    /// If program or contexts do not fit the machine, or the program does not boot.
    pub fn new(
        machine: Machine,
        program: &Image,
        contexts: Vec<ExecutionContext>,
        matching: MatchingEngine,
    ) -> Result<Self, SetupError> {
        machine.check().map_err(|(key, problem)| SetupError::Machine { key, problem })?;
        for context in &contexts {
            context.check(&machine)?;
        }
        let mut nic = Self::assemble(machine, contexts, matching);
        nic.load_program(program)?;
        nic.boot()?;
        nic.begin();
        Ok(nic)
    }

    pub(super) fn assemble(
        machine: Machine,
        contexts: Vec<ExecutionContext>,
        matching: MatchingEngine,
    ) -> Self {
        let mut iommu = Iommu::new();
        for (index, context) in contexts.iter().enumerate() {
            let bytes = u64::from(context.host_memory_bytes);
            iommu.add_window(index as u32, Window::read_write(context.host_memory_address, bytes));
        }
        let contexts = Contexts {
            handlers: contexts.iter().map(handlers).collect(),
            released: vec![false; contexts.len()],
            changes: 0,
            list: contexts,
            iommu,
        };
        Self {
            matching,
            inbound: InboundEngine::new(&machine),
            mpq: MpqEngine::new(&machine),
            dispatcher: Dispatcher::new(&machine),
            clusters: Clusters::new(&machine),
            commands: CommandUnit::new(&machine),
            standstill: Standstill::default(),
            shared: Shared {
                clock: Clock::from_hz(machine.clock.frequency_mhz * 1_000_000),
                wheel: Wheel::new(),
                epoch: 0,
                alarms: 0,
                last_progress: 0,
                contexts,
                packets: Packets::default(),
                memories: Memories::new(&machine),
                totals: Totals::default(),
                interest: Interest::default(),
                hardware: InLoop::default(),
                scratch: Vec::with_capacity(machine.inbound.max_packet_bytes as usize),
                machine,
            },
        }
    }

    /// Writes a program's segments into the memories, and the contexts' images.
    pub(super) fn load_program(&mut self, program: &Image) -> Result<(), SetupError> {
        self.write_segments(program)?;
        let reset = self.shared.machine.reset_address();
        if self.clusters.program.get(reset).is_none() {
            return Err(SetupError::NoResetCode { address: reset });
        }
        for context in &self.shared.contexts.list {
            if !context.handler_memory_image.is_empty() {
                let address = context.handler_memory_address;
                self.shared.memories.write(address, &context.handler_memory_image);
            }
        }
        Ok(())
    }

    /// Writes a program's segments into the memories.
    pub(super) fn write_segments(&mut self, program: &Image) -> Result<(), SetupError> {
        for segment in &program.segments {
            let address = segment.load_address as u32;
            let outside =
                SetupError::SegmentOutside { address, bytes: segment.memory_bytes as u32 };
            if segment.memory_bytes == 0 {
                continue;
            }
            let fits = u32::try_from(segment.memory_bytes)
                .ok()
                .and_then(|whole| self.shared.memories.read(address, whole));
            if fits.is_none() || self.shared.memories.write(address, &segment.data).is_none() {
                return Err(outside);
            }
            self.clusters.program.load(address, &segment.data);
        }
        Ok(())
    }

    /// Says which instruction of Xpulp a core without it came to last, if it did.
    fn missing_instruction(&self, core: &Core) -> Option<String> {
        let csr = &core.model.hart.csr;
        let trapped = csr.mcause == Cause::IllegalInstruction.mcause::<u32>();
        let pc = if trapped { csr.mepc } else { core.model.hart.pc };
        let illegal = self.clusters.program.get(pc).filter(|found| found.op == Op::Illegal)?;
        let text = disassemble_xpulp(illegal.imm as u32, u64::from(pc))?;
        Some(format!("`{text}` at {pc:#010x} is of Xpulp, which `core.xpulp = true` enables; "))
    }

    /// Runs the cores from reset until all of them wait for tasks.
    pub(super) fn boot(&mut self) -> Result<(), SetupError> {
        let start = self.shared.wheel.now();
        for (core, state) in self.clusters.cores.iter().enumerate() {
            let generation = state.generation;
            self.shared.wheel.push(start, Due::Core { core: core as u16, generation });
        }
        let mut nothing = || crate::Offer::Nothing;
        let limit = start + BOOT_LIMIT_CYCLES;
        while !self.is_quiet() && !self.standstill.is_one() {
            let due = self.shared.wheel.pop_due().map(Step::Event);
            let Some(step) = due.or_else(|| self.next_step(limit)) else { break };
            self.standstill.note(step);
            self.take(step, &mut nothing, &mut Deaf);
        }
        let waiting =
            self.clusters.cores.iter().filter(|core| core.waiting == Waiting::Task).count();
        if waiting != self.clusters.cores.len() {
            let odd = self.clusters.cores.iter().find(|core| core.waiting != Waiting::Task);
            let missing = odd.and_then(|core| self.missing_instruction(core)).unwrap_or_default();
            let (id, pc, what) = odd.map_or((0, 0, Waiting::Ever), |core| {
                (
                    core.cluster * self.shared.machine.cluster.cores + core.index,
                    core.model.hart.pc,
                    core.waiting,
                )
            });
            return Err(SetupError::NoBoot(format!(
                "after {BOOT_LIMIT_CYCLES} cycles {waiting} of {} cores wait for tasks; core {id} \
                 is at {pc:#010x} ({}); {missing}the runtime must load the driver's register \
                 0x1b205000",
                self.clusters.cores.len(),
                match what {
                    Waiting::Nothing => "running",
                    Waiting::Event => "sleeping in the event unit",
                    Waiting::Ever => "lost after a trap without a handler",
                    _ => "waiting",
                }
            )));
        }
        for core in &mut self.clusters.cores {
            core.model.hart.instret = 0;
        }
        Ok(())
    }

    /// Makes the next cycle time zero.
    pub(super) fn begin(&mut self) {
        self.shared.epoch = self.shared.wheel.now() + 1;
        self.shared.last_progress = self.shared.epoch;
        // An event at the epoch moves the queue there: nothing is due before time zero.
        let epoch = self.shared.epoch;
        self.inbound.wake_inbound(&mut self.shared, epoch);
        self.shared.wheel.pop_until(self.shared.epoch);
        self.inbound.frames_wake.take(self.shared.epoch);
        self.shared.totals = Totals::default();
    }
}
