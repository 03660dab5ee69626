//! What a host does with a NIC that runs: programs, execution contexts, rules and memory come and go
//! while packets do (FPsPIN §IV-B). In the order in which a host program needs it: stop fetching,
//! reset, write the image, start fetching, program the context, enable matching.
//!
//! Nothing here takes simulated time but the cores' boot: how long a host needs for its accesses is
//! the host's affair.

#[cfg(target_os = "linux")]
use std::{ops::Range, os::fd::OwnedFd};

use pinion_host::Window;
#[cfg(target_os = "linux")]
use pinion_host::{Exchange, SharedRegion};
use pinion_isa::elf::Image;

use super::contexts::handlers;
use super::{Nic, SetupError};
use crate::cluster::hpu::Waiting;
use crate::context::Handlers;
use crate::dispatcher::Dispatcher;
use crate::listener::{DropReason, Event, Listener};
use crate::matching::{ContextMatch, MatchingEngine};
use crate::memory::Place;
use crate::mpq_engine::MpqEngine;
use crate::task::Packets;
use crate::{ContextId, ExecutionContext, Machine};

/// Says why a NIC that runs does not do what its host asks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// Packets are inside.
    #[error("{packets} packets are inside; let them out first, or reset the NIC")]
    PacketsInside {
        /// How many.
        packets: u32,
    },
    /// The context's packets are inside.
    #[error("context {context} still has {packets} packets inside from before it was released")]
    ContextInUse {
        /// The context's number.
        context: u32,
        /// How many packets.
        packets: u32,
    },
    /// There is no such context.
    #[error("there is no context {context}: the machine has {available}, from 0 on")]
    NoContext {
        /// What was asked for.
        context: u32,
        /// How many there are.
        available: u32,
    },
    /// No program runs that the image could be loaded beside.
    #[error("no program runs on the NIC yet: start one first")]
    NoProgram,
    /// The window of host memory cannot be there.
    #[error(
        "{bytes} bytes of host memory at {address:#x} cannot be mapped: a window has whole pages of \
         4 KiB and lies apart from others"
    )]
    BadWindow {
        /// Where.
        address: u64,
        /// How large.
        bytes: usize,
    },
    /// Program or context do not fit, or the program does not boot.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The kernel gives no shared memory.
    #[error("no shared memory for the NIC's handler memory: {0}")]
    SharedMemory(#[from] std::io::Error),
}

/// Address at which each cluster sees its own L1, and distance of the clusters' addresses.
fn own_l1(machine: &Machine, address: u32) -> Option<u32> {
    let offset = address.wrapping_sub(machine.l1.alias);
    (offset < machine.l1.bytes).then_some(offset)
}

/// Names how this computer executes what cores do. No result depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineCore {
    /// What is executed often is translated to its own instructions, where Pinion is built so.
    #[default]
    Translated,
    /// All of it is interpreted.
    Interpreter,
}

impl Nic {
    /// Makes a NIC without a program: its cores are held in reset, it has as many empty contexts as
    /// the matching engine has rulesets, and every frame takes the ordinary way to the host.
    ///
    /// # Errors
    /// When the machine's numbers do not fit together.
    pub fn blank(machine: Machine) -> Result<Self, SetupError> {
        machine.check().map_err(|(key, problem)| SetupError::Machine { key, problem })?;
        let matching = machine.matching_engine(Vec::new()).expect("no rules always fit");
        let contexts = vec![ExecutionContext::default(); machine.matching.rulesets as usize];
        let mut nic = Self::assemble(machine, contexts, matching);
        nic.hold_cores();
        nic.begin();
        Ok(nic)
    }

    /// Says whether a program runs on the cores.
    pub fn has_program(&self) -> bool {
        self.clusters.cores.iter().any(|core| core.waiting != Waiting::Ever)
    }

    /// Resets the cores, writes a program into the memories and boots it. Contexts, rules, what else
    /// is in the memories, and time are kept.
    ///
    /// # Errors
    /// When packets are inside, or the program does not fit or boot; the NIC has no program then.
    pub fn start(&mut self, program: &Image) -> Result<(), ControlError> {
        let packets = self.shared.packets.live();
        if packets > 0 {
            return Err(ControlError::PacketsInside { packets });
        }
        self.reset_units();
        let booted = self.load_program(program).and_then(|()| self.boot());
        if booted.is_err() {
            self.reset_units();
            self.hold_cores();
        }
        self.shared.last_progress = self.shared.wheel.now();
        let now = self.shared.wheel.now();
        self.inbound.wake_inbound(&mut self.shared, now + 1);
        Ok(booted?)
    }

    /// Writes a further program's segments beside the one that runs, whose runtime its handlers
    /// use; what it wants in each cluster's L1 is put there.
    ///
    /// # Errors
    /// When no program runs, or a segment lies outside the memories.
    pub fn load(&mut self, program: &Image) -> Result<(), ControlError> {
        if !self.has_program() {
            return Err(ControlError::NoProgram);
        }
        self.write_segments(program)?;
        for segment in &program.segments {
            let Some(offset) = own_l1(&self.shared.machine, segment.address as u32) else {
                continue;
            };
            let bytes = u32::try_from(segment.data.len()).unwrap_or(u32::MAX);
            for cluster in 0..self.shared.machine.cluster.count {
                let place = Place::L1 { cluster, offset };
                if let Some(there) = self.shared.memories.slice_mut(place, bytes) {
                    there.copy_from_slice(&segment.data);
                }
            }
        }
        Ok(())
    }

    /// Drops every packet inside and stops the cores until [`Nic::start`].
    pub fn reset(&mut self, listener: &mut dyn Listener) {
        let time = self.now();
        for _ in 0..self.shared.packets.live() {
            self.shared.totals.count_drop(DropReason::Reset);
            listener.hear(&Event::Dropped { time, reason: DropReason::Reset, frame: &[] });
        }
        self.shared.packets = Packets::default();
        self.inbound.reset(&self.shared.machine);
        self.reset_units();
        self.hold_cores();
        let now = self.shared.wheel.now();
        self.inbound.wake_inbound(&mut self.shared, now + 1);
    }

    /// Puts everything that holds no packet into the state after reset.
    fn reset_units(&mut self) {
        self.shared.totals.instructions += self.clusters.instructions();
        self.shared.wheel.clear();
        self.shared.alarms = 0;
        let machine = &self.shared.machine;
        (self.inbound.frames_wake, self.inbound.her_wake) = Default::default();
        self.mpq = MpqEngine::new(machine);
        self.dispatcher = Dispatcher::new(machine);
        self.clusters.reset(machine);
        self.commands.reset(machine);
    }

    fn hold_cores(&mut self) {
        self.clusters.cores.iter_mut().for_each(|core| core.waiting = Waiting::Ever);
    }

    fn check_context(&self, ContextId(context): ContextId) -> Result<usize, ControlError> {
        let available = self.shared.contexts.list.len() as u32;
        match context < available {
            true => Ok(context as usize),
            false => Err(ControlError::NoContext { context, available }),
        }
    }

    /// Gives the number of a context's packets inside.
    pub fn packets_of(&self, id: ContextId) -> u32 {
        self.shared.packets.live_of(id)
    }

    /// Programs a context; which packets go to it is [`Nic::matching_mut`]'s to say.
    ///
    /// # Errors
    /// When there is no such context, packets of its last owner are inside, or it does not fit.
    pub fn set_context(
        &mut self,
        id: ContextId,
        context: ExecutionContext,
    ) -> Result<(), ControlError> {
        let index = self.check_context(id)?;
        let packets = self.packets_of(id);
        if packets > 0 && self.shared.contexts.released[index] {
            return Err(ControlError::ContextInUse { context: id.0, packets });
        }
        context.check(&self.shared.machine)?;
        self.shared.contexts.iommu.clear(id.0);
        let window = u64::from(context.host_memory_bytes);
        self.shared
            .contexts
            .iommu
            .add_window(id.0, Window::read_write(context.host_memory_address, window));
        if !context.handler_memory_image.is_empty() {
            let (address, image) = (context.handler_memory_address, &context.handler_memory_image);
            self.shared.memories.write(address, image);
        }
        self.shared.contexts.handlers[index] = handlers(&context);
        self.shared.contexts.list[index] = context;
        self.shared.contexts.released[index] = false;
        self.shared.contexts.changes += 1;
        Ok(())
    }

    /// Releases a context: no packet matches it any more, its handlers that run are ended as by a
    /// watchdog, and its packets inside pass without handlers. [`Nic::packets_of`] says when the
    /// last one is out. Other contexts notice nothing.
    ///
    /// # Errors
    /// When there is no such context.
    pub fn clear_context(&mut self, id: ContextId) -> Result<(), ControlError> {
        let index = self.check_context(id)?;
        let now = self.shared.wheel.now();
        // An engine without a ruleset there has nothing to forget.
        let _ = self.matching.set_context(id.0, ContextMatch::none());
        self.inbound.forget();
        self.shared.contexts.iommu.clear(id.0);
        self.shared.contexts.handlers[index] = Handlers::default();
        // What starts yet is ended in its first cycle.
        self.shared.contexts.list[index] =
            ExecutionContext { watchdog_cycles: Some(1), ..ExecutionContext::default() };
        self.shared.contexts.released[index] = true;
        self.shared.contexts.changes += 1;
        self.mpq.end_context(now, id);
        self.mpq.wake_at(&mut self.shared, now + 1);
        for core in 0..self.clusters.drivers.len() {
            let running = self.clusters.drivers[core].running.as_ref();
            if running.is_some_and(|running| running.context == id.0 && running.started.is_some()) {
                self.clusters.drivers[core].deadline = now + 1;
                self.clusters.drivers[core].alarm = Some(now + 1);
                self.shared.push_alarm(core, now + 1);
            }
        }
        Ok(())
    }

    /// Gives the matching engine, whose rules may change at any time.
    pub fn matching_mut(&mut self) -> &mut MatchingEngine {
        self.inbound.forget();
        &mut self.matching
    }

    /// Lets host memory from an address on be a region that host programs map too.
    ///
    /// # Errors
    /// When it is not of whole pages, or meets another window.
    #[cfg(target_os = "linux")]
    pub fn map_host(&mut self, address: u64, region: SharedRegion) -> Result<(), ControlError> {
        let bytes = region.bytes();
        match self.commands.host.memory.map(address, region) {
            true => Ok(()),
            false => Err(ControlError::BadWindow { address, bytes }),
        }
    }

    /// Keeps what host programs write where the NIC reads, or gives it again; or neither.
    #[cfg(target_os = "linux")]
    pub fn exchange(&mut self, exchange: Option<Exchange>) {
        self.commands.host.memory.exchange(exchange);
    }

    /// Takes the window away that begins at an address.
    #[cfg(target_os = "linux")]
    pub fn unmap_host(&mut self, address: u64) {
        self.commands.host.memory.unmap(address);
    }

    /// Moves a window of L2 handler memory to where one other process can map it for reading, and
    /// gives its file. A file given before for the same bytes no longer shows what becomes of them.
    ///
    /// # Errors
    /// When the window does not lie in handler memory, is not of whole pages from its beginning on,
    /// or the kernel gives no such memory.
    #[cfg(target_os = "linux")]
    pub fn share_handler_memory(&mut self, window: Range<u32>) -> Result<OwnedFd, ControlError> {
        let base = self.shared.machine.l2_handler.base;
        let offset = |address: u32| address.wrapping_sub(base) as usize;
        Ok(self.shared.memories.share_handler_memory(offset(window.start)..offset(window.end))?)
    }

    /// Chooses how this computer executes what the cores do.
    pub fn set_engine_core(&mut self, engine_core: EngineCore) {
        self.clusters.program.set_translated(engine_core == EngineCore::Translated);
    }

    /// Counts the pieces of programs that are translated now.
    pub fn translated_blocks(&self) -> usize {
        self.clusters.program.blocks()
    }

    /// Zeroes all memories, so that the next program finds nothing of the last one's; the cores are
    /// held until [`Nic::start`].
    ///
    /// # Errors
    /// When packets are inside.
    pub fn clear_memories(&mut self) -> Result<(), ControlError> {
        let packets = self.shared.packets.live();
        if packets > 0 {
            return Err(ControlError::PacketsInside { packets });
        }
        self.hold_cores();
        self.shared.memories.clear();
        self.clusters.program.clear();
        Ok(())
    }
}
