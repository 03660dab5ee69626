//! What a core sees of the network: x30, x31, the network's CSRs, the interrupt line.

use crate::Cycle;

/// Bit of `mip` and `mie` of the thread scheduler's interrupt.
pub const INTERRUPT: u32 = 16;

/// Numbers of the network's CSRs (RTL Instructions.scala, CSR.scala of the nanoPU's Rocket).
pub mod csr {
    /// `lmsgsrdy`: words wait for the running context.
    pub const MESSAGES_READY: u16 = 0x052;
    /// `lcurcontext`: the running context.
    pub const CONTEXT: u16 = 0x053;
    /// `lniccmd`: binds the context, restarts the timers.
    pub const NIC_COMMAND: u16 = 0x054;
    /// `lcurpriority`: the priority that a bind gives.
    pub const PRIORITY: u16 = 0x055;
    /// `lnicucmd`: message done, idle.
    pub const USER_COMMAND: u16 = 0x056;
    /// What `lnicucmd` takes for: nothing to do, ask for another thread.
    pub const IDLE_COMMAND: u64 = 1 << 1;
    /// `lnicrdy`: the NIC is out of reset.
    pub const NIC_READY: u16 = 0x057;
    /// `ltargetcontext`: the context the scheduler wants to run.
    pub const TARGET_CONTEXT: u16 = 0x058;
    /// `ltargetpriority`: its priority.
    pub const TARGET_PRIORITY: u16 = 0x059;
    /// `lmsgcycles`: bound of a message's processing.
    pub const MESSAGE_CYCLES: u16 = 0x060;
    /// `lidlecycles`: idle time after which a context is rotated out.
    pub const IDLE_CYCLES: u16 = 0x061;
}

/// Tells whether a CSR is one of the network's.
pub const fn is_network_csr(number: u16) -> bool {
    matches!(number, 0x052..=0x061)
}

/// What a core has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Cycles that this instruction waited for its operands; 0 where nobody hears of instructions.
    pub operands: Cycle,
    /// Cycles since reset in which the core slept or polled in vain, as far as they were left out.
    pub idle: Cycle,
}

/// What a core sees of the network. All cycles are the core's own; `known_until` says how much of
/// the network's future is settled.
pub trait Network {
    /// Gives the first cycle of which the network's state is not settled yet.
    fn known_until(&self) -> Cycle;
    /// Gives the cycle until which [`csr::NIC_READY`] reads 0, whatever anybody does.
    fn ready_at(&self) -> Cycle {
        0
    }
    /// Reads a CSR in an instruction that retires in `now`; `None` if there is no such CSR.
    fn read_csr(&mut self, csr: u16, now: Cycle) -> Option<u64>;
    /// Writes a CSR in an instruction that retires in `now`; tells whether others must see that before
    /// anything decodes later.
    fn write_csr(&mut self, csr: u16, value: u64, now: Cycle) -> bool;
    /// Gives what a poll that retires in `now` finds, behind an idle command that retires in `idle`, if the
    /// program gives one; none, and nothing has happened, if that is not settled, or if others must see the
    /// command before anything decodes later.
    fn poll_again(&mut self, idle: Option<Cycle>, now: Cycle) -> Option<u64> {
        let _ = (idle, now);
        None
    }
    /// Gives the cycle before which polls of a loop that does nothing else may decode, should the core's limit
    /// come before: who acts until then concerns no such loop, and nobody sees where it is.
    fn poll_limit(&self) -> Cycle {
        0
    }
    /// Pops a word for an instruction that decodes in `now`; `None` from an empty queue.
    fn pop(&mut self, now: Cycle) -> Option<u64>;
    /// Sends a word that is written in `now`.
    fn send(&mut self, word: u64, now: Cycle);
    /// Tells whether a word written in `now` has room; without, the core waits.
    fn room(&mut self, now: Cycle) -> bool;
    /// Gives the first cycle from `from` to `to` in which the interrupt line is up.
    fn pulse(&mut self, from: Cycle, to: Cycle) -> Option<Cycle>;
    /// Tells whether somebody wants to know of every instruction that retires.
    fn hears_retired(&self) -> bool {
        true
    }
    /// Hears that an instruction retired, what the core has waited for and what its registers hold then, if
    /// somebody wants to know.
    fn retired(&mut self, at: Cycle, pc: u64, waits: Waits, registers: &[u64; 32]) {
        let _ = (at, pc, waits, registers);
    }
    /// Hears that the instruction that retires next changes memory, and what was there before, from the
    /// address on, if somebody wants to know.
    fn stored(&mut self, address: u64, bytes: u8, found: u64) {
        let _ = (address, bytes, found);
    }
    /// Hears that an instruction takes an exception instead of retiring: its address, `mcause` and
    /// `mtval`, if somebody wants to know.
    fn excepted(&mut self, at: Cycle, pc: u64, cause: u32, value: u64) {
        let _ = (at, pc, cause, value);
    }
    /// Hears that a trap was taken.
    fn trapped(&mut self, at: Cycle);
}
