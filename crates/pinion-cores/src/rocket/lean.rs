//! The lean loop: instructions that concern nobody but the core, its caches and its memory, one after the
//! other, without asking each time what only others can change.
//!
//! In: slots of decoded code. Out: instructions retired in the cycles of the reference (`run.rs`). What
//! is not for this loop it leaves to the reference untouched: misses, traps, interrupts, devices, all of the
//! network but polls, and whatever is seldom. Nobody hears of single instructions here.

use pinion_isa::{Instruction, Outcome};

use super::code::{Code, Kind};
use super::network::{Network, csr};
use super::predictor::Flow;
use super::run::LINK_USE_CYCLES;
use super::{Activity, Core, RETIRE};
use crate::Cycle;
use crate::port::MemoryPort;

/// Integer registers.
const INTEGERS: usize = 32;

impl Core {
    /// Runs until an instruction comes that is not for this loop, or that cannot decode before the
    /// core's limit and the next interrupt.
    pub(super) fn run_lean<M: MemoryPort, N: Network>(
        &mut self,
        code: &mut Code,
        memory: &mut M,
        network: &mut N,
    ) {
        self.poll_again(code, memory, network);
        if self.activity != Activity::Running {
            return;
        }
        let mut end = self.limit.min(self.attention);
        loop {
            if self.turns.repeats {
                self.repeat_turns(code, memory);
            }
            let pc = self.hart.pc;
            let Some(&slot) = code.get(pc) else { return };
            if matches!(slot.kind, Kind::Ready | Kind::Other) {
                return;
            }
            let i = &slot.instruction;
            let arrival = self.arrive(pc, i, memory);
            let t = self.operands(i, arrival);
            if t >= end {
                return;
            }
            let goes_on = match slot.kind {
                Kind::Plain => {
                    self.hart.execute(i);
                    self.decode = t;
                    self.takes_write_port(i.rd, t);
                    continue;
                }
                Kind::Branch => self.branch_lean(i, pc, t),
                Kind::Jump | Kind::JumpRegister => self.jump_lean(slot.kind, i, pc, t),
                Kind::Load => self.load_lean(i, pc, t, memory),
                Kind::Poll => {
                    if !self.poll_lean(i, pc, t, network) {
                        return;
                    }
                    self.poll_again(code, memory, network);
                    if self.activity != Activity::Running {
                        return;
                    }
                    end = self.limit.min(self.attention);
                    continue;
                }
                Kind::Idle => {
                    self.idle_lean(i, pc, t, network);
                    end = self.limit.min(self.attention);
                    continue;
                }
                _ => self.store_lean(i, pc, t, code, memory),
            };
            if let Some(ahead) = self.ahead.take() {
                self.fetch_ahead(ahead, code, memory);
            }
            if self.turned {
                self.turned = false;
                self.end_turn(pc, code);
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Polls, if what the network holds then is settled; `false`: it is not, or the core sleeps now.
    #[inline(always)]
    fn poll_lean<N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        network: &mut N,
    ) -> bool {
        let now = t + RETIRE;
        if network.known_until() <= now {
            return false;
        }
        let Some(words) = network.read_csr(csr::MESSAGES_READY, now) else { return false };
        self.hart.x[usize::from(i.rd) % INTEGERS] = words;
        self.csr_done(i, pc, t);
        self.set_ready(i.rd, t + self.timing.csr_use_cycles);
        if words == 0 {
            self.poll(pc, t);
        }
        self.activity == Activity::Running
    }

    #[inline(always)]
    pub(super) fn idle_lean<N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        network: &mut N,
    ) {
        let now = t + RETIRE;
        if network.write_csr(csr::USER_COMMAND, csr::IDLE_COMMAND, now) {
            self.limit = self.limit.min(now);
        }
        self.csr_done(i, pc, t);
    }

    /// Ends an access to a CSR of the network.
    #[inline(always)]
    fn csr_done(&mut self, i: &Instruction, pc: u64, t: Cycle) {
        self.hart.pc = pc.wrapping_add(u64::from(i.length));
        self.hart.instret += 1;
        self.decode = t;
        if self.unit_register != 0 {
            self.wants_write_port(t);
        }
    }

    #[inline(always)]
    pub(super) fn branch_lean(&mut self, i: &Instruction, pc: u64, t: Cycle) -> bool {
        let taken = match self.hart.execute(i) {
            Outcome::Branched => true,
            Outcome::NotTaken => false,
            _ => return false,
        };
        self.decode = t;
        let target = pc.wrapping_add(i.imm as i64 as u64);
        self.steer(Flow::Branch, i, pc, target, taken, t);
        self.turned = taken && i.imm < 0;
        true
    }

    #[inline(always)]
    pub(super) fn jump_lean(&mut self, kind: Kind, i: &Instruction, pc: u64, t: Cycle) -> bool {
        let Outcome::Jumped = self.hart.execute(i) else { return false };
        self.decode = t;
        let flow = match kind {
            Kind::Jump => Flow::jump(i),
            _ => {
                if i.rd != 0 {
                    self.set_ready(i.rd, t + LINK_USE_CYCLES);
                }
                Flow::register(i)
            }
        };
        self.steer(flow, i, pc, self.hart.pc, true, t);
        if self.unit_register != 0 {
            self.wants_write_port(t);
        }
        true
    }

    #[inline(always)]
    fn load_lean<M: MemoryPort>(&mut self, i: &Instruction, pc: u64, t: Cycle, memory: &M) -> bool {
        let Outcome::Access(access) = self.hart.execute(i) else { return false };
        self.behind = pc.wrapping_add(u64::from(i.length));
        let Some((value, done)) = self.load_near(access.address, access.bytes, t, memory) else {
            return false;
        };
        self.hart.complete_integer(&access, value);
        self.decode = done;
        if i.rd != 0 {
            self.loaded(i, access.bytes, done);
        }
        if self.unit_register != 0 {
            self.wants_write_port(done);
        }
        true
    }

    #[inline(always)]
    fn store_lean<M: MemoryPort>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        code: &mut Code,
        memory: &mut M,
    ) -> bool {
        let Outcome::Access(access) = self.hart.execute(i) else { return false };
        self.behind = pc.wrapping_add(u64::from(i.length));
        if !self.store_near(&access, t, memory) {
            return false;
        }
        self.hart.complete_integer(&access, 0);
        self.decode = t;
        code.forget(access.address);
        if memory.has_ended() {
            self.activity = Activity::Stopped;
        }
        self.activity == Activity::Running
    }
}
