//! Traps and interrupts: what may come and when, what is taken, and who waits for it (`wfi`).
//!
//! The network's line is a pulse: it is lost while it is not enabled (RTL LNICQueues.scala).

use pinion_isa::{Exception, Privilege, csr};

use super::network::{self, Network};
use super::{Activity, Core, Failure, RETIRE};
use crate::Cycle;
use crate::port::MemoryPort;

/// Bit of `mip` and `mie` of the software interrupt (RISC-V privileged architecture, `mip`).
pub const SOFTWARE: u32 = 1 << 3;
/// Bit of the timer interrupt.
pub const TIMER: u32 = 1 << 7;
/// Bit of the thread scheduler's interrupt.
pub const NETWORK: u32 = 1 << network::INTERRUPT;

impl Core {
    /// Wakes a core from `wfi`: an interrupt that it enabled one by one is up from cycle `at` on.
    pub fn wake_from_wfi<M: MemoryPort, N: Network>(
        &mut self,
        at: Cycle,
        memory: &M,
        network: &mut N,
    ) {
        let Activity::Waiting { since } = self.activity else { return };
        self.activity = Activity::Running;
        self.stalled += at.saturating_sub(since);
        self.look_for_interrupts(memory, network);
        if self.hart.csr.mstatus & csr::mstatus::MIE != 0 {
            self.take_interrupt(at, memory, network);
        } else {
            self.decode = at;
            self.fetch = self.fetch.max(at);
            self.key = at + 1;
        }
    }

    /// Gives the interrupts that software enabled one by one (`mie`).
    pub fn enabled_interrupts(&self) -> u32 {
        self.hart.csr.mie
    }

    /// Takes a synchronous exception of an instruction that decodes in `t`.
    #[cold]
    pub(super) fn trap<N: Network>(
        &mut self,
        exception: Exception<u64>,
        t: Cycle,
        network: &mut N,
    ) {
        self.effects += 1;
        self.decode = t;
        if !exception.cause.is_interrupt() && self.failure.is_none() {
            self.failure = Some(Box::new(Failure {
                at: t,
                cause: u32::from(exception.cause.code()),
                pc: self.hart.pc,
                value: exception.value,
                registers: self.hart.x,
            }));
        }
        if !exception.cause.is_interrupt() && network.hears_retired() {
            let cause = u32::from(exception.cause.code());
            network.excepted(t + RETIRE, self.hart.pc, cause, exception.value);
        }
        self.hart.take_trap(exception);
        network.trapped(t + RETIRE);
        self.redirect(t + self.timing.replay_cycles);
        self.update_protection();
        self.attention = Cycle::MAX;
    }

    /// Notes what interrupts may come, after anything that may have changed it.
    pub(super) fn look_for_interrupts<M: MemoryPort, N: Network>(
        &mut self,
        memory: &M,
        network: &mut N,
    ) {
        let enabled = self.hart.csr.mie;
        let open = self.hart.privilege == Privilege::User
            || self.hart.csr.mstatus & csr::mstatus::MIE != 0;
        self.attention = Cycle::MAX;
        if !open || enabled == 0 {
            return;
        }
        if enabled & NETWORK != 0
            && let Some(pulse) = network.pulse(self.decode + 1, Cycle::MAX)
        {
            self.attention = pulse;
        }
        if enabled & TIMER != 0 {
            self.attention = self.attention.min(memory.timer_at(self.id));
        }
        if enabled & SOFTWARE != 0 && memory.software_interrupt(self.id) {
            self.attention = 0;
        }
    }

    pub(super) fn update_protection(&mut self) {
        let locked = (0..pinion_isa::PMP_ENTRIES)
            .any(|entry| self.hart.pmp.config(entry) & pinion_isa::PMP_LOCK != 0);
        self.protected = locked
            || self.hart.privilege == Privilege::User
            || self.hart.data_privilege() == Privilege::User;
    }

    pub(super) fn system_changed<M: MemoryPort, N: Network>(
        &mut self,
        memory: &M,
        network: &mut N,
    ) {
        self.update_protection();
        self.look_for_interrupts(memory, network);
    }

    /// Gives the cycle from `arrival` to `t` in which an enabled interrupt is up.
    #[cold]
    pub(super) fn interrupted<M: MemoryPort, N: Network>(
        &mut self,
        arrival: Cycle,
        t: Cycle,
        memory: &M,
        network: &mut N,
    ) -> Option<Cycle> {
        self.look_for_interrupts(memory, network);
        if self.attention == Cycle::MAX {
            return None;
        }
        let enabled = self.hart.csr.mie;
        let pulse = (enabled & NETWORK != 0).then(|| network.pulse(arrival, t)).flatten();
        let timer = memory.timer_at(self.id);
        let timer = (enabled & TIMER != 0 && timer <= t).then(|| timer.max(arrival));
        let software =
            (enabled & SOFTWARE != 0 && memory.software_interrupt(self.id)).then_some(arrival);
        [pulse, timer, software].into_iter().flatten().min()
    }

    /// Takes the interrupt that is up in cycle `at`.
    #[cold]
    pub(super) fn take_interrupt<M: MemoryPort, N: Network>(
        &mut self,
        at: Cycle,
        memory: &M,
        network: &mut N,
    ) {
        let mut pending = 0;
        if network.pulse(at, at).is_some() {
            pending |= NETWORK;
        }
        if memory.timer_at(self.id) <= at {
            pending |= TIMER;
        }
        if memory.software_interrupt(self.id) {
            pending |= SOFTWARE;
        }
        self.hart.csr.mip = pending;
        match self.hart.pending_interrupt() {
            Some(interrupt) => {
                self.takes_back(self.hart.pc, at);
                self.trap(interrupt, at, network);
            }
            None => self.decode = at,
        }
        self.hart.csr.mip = 0;
        self.key = self.decode + 1;
    }
}
