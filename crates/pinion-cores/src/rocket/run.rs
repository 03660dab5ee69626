//! The pipeline: one instruction after the other, each in the cycles that Rocket gives it.
//!
//! In: slots of decoded code. Out: instructions retired. An instruction waits for its words, for its
//! operands, and for room where it sends (RTL RocketCore.scala).

use pinion_isa::{Cause, Class, Exception, Instruction, Outcome, is_compressed};

use super::code::{Code, Kind, NET_RX, NET_TX, Slot};
use super::data::AccessEnd;
use super::network::Network;
use super::predictor::Flow;
use super::{Activity, Change, Core, REGISTERS, RETIRE, multiply_divide};
use crate::Cycle;
use crate::port::MemoryPort;

/// Cycles from the decode stage of a jump to that of the first instruction that may use its return
/// address.
pub(super) const LINK_USE_CYCLES: Cycle = 2;
/// Registers of the floating-point unit.
const FLOAT_REGISTERS: usize = REGISTERS / 2;

/// Says whether the core goes on.
pub(super) type Going = bool;

impl Core {
    /// Runs until the next instruction would decode in cycle `limit` or later, or until the
    /// network's state is needed of a cycle that is not settled.
    ///
    /// The caller has settled the network up to [`Network::known_until`] and calls again, with
    /// more, when this core's [`Core::key`] is the smallest.
    pub fn run<M: MemoryPort, N: Network>(
        &mut self,
        limit: Cycle,
        code: &mut Code,
        memory: &mut M,
        network: &mut N,
    ) {
        self.limit = limit;
        self.look_for_interrupts(memory, network);
        let leaves_out = !network.hears_retired();
        while matches!(self.activity, Activity::Running) {
            if leaves_out && !self.protected {
                self.run_lean(code, memory, network);
                if self.activity != Activity::Running {
                    return;
                }
            }
            let pc = self.hart.pc;
            let filled;
            let slot = match code.get(pc) {
                Some(slot) if !self.protected => slot,
                _ => match self.fetch_slowly(pc, code, memory) {
                    Ok(slot) => {
                        filled = slot;
                        &filled
                    }
                    Err(exception) => {
                        let at = self.decode + 1;
                        if at >= self.limit {
                            self.key = at;
                            return;
                        }
                        self.trap(exception, at, network);
                        continue;
                    }
                },
            };
            let arrival = self.arrive(pc, &slot.instruction, memory);
            let t = self.operands(&slot.instruction, arrival);
            if !leaves_out {
                self.operand_wait = t - arrival;
            }
            if t >= self.limit {
                self.key = t;
                return;
            }
            if t >= self.attention
                && let Some(at) = self.interrupted(arrival, t, memory, network)
            {
                self.take_interrupt(at, memory, network);
                if let Some(ahead) = self.ahead.take() {
                    self.fetch_ahead(ahead, code, memory);
                }
                continue;
            }
            if slot.kind == Kind::Ready && leaves_out && self.leave_start_out(pc, t, code, network)
            {
                continue;
            }
            if !self.issue(slot, pc, t, memory, network) {
                return;
            }
            if let Some(ahead) = self.ahead.take() {
                self.fetch_ahead(ahead, code, memory);
            }
            if self.turned {
                self.turned = false;
                if leaves_out {
                    self.end_turn(pc, code);
                }
            }
            match std::mem::take(&mut self.change) {
                Change::Nothing => {}
                Change::Stored(address) => code.forget(address),
                Change::Everything => code.clear(),
            }
            if memory.has_ended() {
                self.activity = Activity::Stopped;
            }
        }
    }

    /// Gives the cycle in which the instruction leaves decode, its operands being ready.
    #[inline(always)]
    pub(super) fn operands(&self, i: &Instruction, arrival: Cycle) -> Cycle {
        if self.all_ready <= arrival {
            return arrival;
        }
        let ready = |register: u8| self.ready[usize::from(register) % REGISTERS];
        arrival.max(ready(i.rs1)).max(ready(i.rs2)).max(ready(i.rd)).max(ready(i.rs3))
    }

    /// Notes the decode cycle from which a register may be used or overwritten.
    #[inline(always)]
    pub(super) fn set_ready(&mut self, register: u8, at: Cycle) {
        self.ready[usize::from(register) % REGISTERS] = at;
        self.all_ready = self.all_ready.max(at);
    }

    /// Executes an instruction that decodes in `t`; false when it must wait for the network.
    #[inline(always)]
    pub(super) fn issue<M: MemoryPort, N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        t: Cycle,
        memory: &mut M,
        network: &mut N,
    ) -> Going {
        let i = &slot.instruction;
        if slot.writes_net && !network.room(t + RETIRE) {
            self.key = t + 1;
            self.decode = t;
            return false;
        }
        if slot.reads_net {
            self.pop(pc, t, network);
        }
        let class = i.class;
        if class == Class::Alu {
            let outcome = self.hart.execute(i);
            debug_assert!(matches!(outcome, Outcome::Next));
            self.decode = t;
            self.takes_write_port(i.rd, t);
            if slot.writes_net {
                network.send(self.hart.x[usize::from(NET_TX)], t + RETIRE);
                self.effects += 1;
            }
            network.retired(t + RETIRE, pc, self.waits(), &self.hart.x);
            return true;
        }
        self.issue_other(slot, pc, t, memory, network)
    }

    #[inline(always)]
    pub(super) fn issue_other<M: MemoryPort, N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        t: Cycle,
        memory: &mut M,
        network: &mut N,
    ) -> Going {
        let i = &slot.instruction;
        let mut done = t;
        match i.class {
            Class::Branch => {
                let outcome = self.hart.execute(i);
                self.decode = t;
                if let Outcome::Trap(exception) = outcome {
                    self.trap(exception, t, network);
                    return true;
                }
                let taken = matches!(outcome, Outcome::Branched);
                let target = pc.wrapping_add(i.imm as i64 as u64);
                self.steer(Flow::Branch, i, pc, target, taken, t);
                self.turned = taken && i.imm < 0;
            }
            Class::Load
            | Class::Store
            | Class::LoadReserved
            | Class::StoreConditional
            | Class::Amo
            | Class::FloatLoad
            | Class::FloatStore => match self.hart.execute(i) {
                Outcome::Access(access) => {
                    self.behind = pc.wrapping_add(u64::from(i.length));
                    match self.access(&access, t, memory, network) {
                        Ok((value, at)) => {
                            self.hart.complete(&access, value);
                            done = at;
                            self.decode = at;
                            if i.rd != 0 {
                                self.loaded(i, access.bytes, at);
                            }
                        }
                        Err(AccessEnd::Trap(exception)) => {
                            self.trap(exception, t, network);
                            return true;
                        }
                        Err(AccessEnd::Interrupted(at)) => {
                            self.take_interrupt(at, memory, network);
                            return true;
                        }
                    }
                    if access.kind.writes() {
                        self.change = Change::Stored(access.address);
                    }
                }
                Outcome::Trap(exception) => {
                    self.trap(exception, t, network);
                    return true;
                }
                _ => unreachable!("a memory instruction accesses memory or traps"),
            },
            _ => return self.issue_rare(slot, pc, t, memory, network),
        }
        self.issued(slot, pc, done, network);
        true
    }

    /// Executes what is neither a plain operation, a branch, a load nor a store.
    #[inline(never)]
    pub(super) fn issue_rare<M: MemoryPort, N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        t: Cycle,
        memory: &mut M,
        network: &mut N,
    ) -> Going {
        let i = &slot.instruction;
        let mut done = t;
        match i.class {
            Class::Jump => {
                let outcome = self.hart.execute(i);
                self.decode = t;
                if let Outcome::Trap(exception) = outcome {
                    self.trap(exception, t, network);
                    return true;
                }
                self.steer(Flow::jump(i), i, pc, self.hart.pc, true, t);
            }
            Class::JumpRegister => {
                let outcome = self.hart.execute(i);
                self.decode = t;
                if let Outcome::Trap(exception) = outcome {
                    self.trap(exception, t, network);
                    return true;
                }
                if i.rd != 0 {
                    self.set_ready(i.rd, t + LINK_USE_CYCLES);
                }
                self.steer(Flow::register(i), i, pc, self.hart.pc, true, t);
            }
            Class::Mul | Class::MulHigh | Class::Div => {
                // The unit takes one at a time, and the next may decode when it answers.
                let start = if self.unit_done > t { self.unit_done } else { t };
                let [a, b] = [i.rs1, i.rs2].map(|source| self.hart.x[usize::from(source)]);
                self.settle_unit(start);
                self.hart.execute(i);
                self.decode = start;
                done = start;
                self.unit_done = start + multiply_divide::result_after_cycles(i, a, b);
                self.unit_register = i.rd;
                if i.rd != 0 {
                    self.set_ready(i.rd, self.unit_done);
                }
            }
            Class::Csr => return self.issue_csr(i, pc, t, memory, network),
            class if class.is_float() => {
                let Some(at) = self.float_slot(i, t) else {
                    unreachable!("floating-point instructions always find a slot")
                };
                let operands =
                    [i.rs1, i.rs2].map(|r| self.hart.f[usize::from(r) % FLOAT_REGISTERS]);
                if let Outcome::Trap(exception) = self.hart.execute(i) {
                    self.trap(exception, t, network);
                    return true;
                }
                self.decode = at;
                done = at;
                self.float_result(i, operands, at);
            }
            _ => return self.issue_system(i, pc, t, memory, network),
        }
        self.issued(slot, pc, done, network);
        true
    }

    /// Does what is left to do for an instruction that decoded for the last time in `done`.
    #[inline(always)]
    pub(super) fn issued<N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        done: Cycle,
        network: &mut N,
    ) {
        let i = &slot.instruction;
        if self.unit_register != 0
            && matches!(
                i.class,
                Class::Load
                    | Class::LoadReserved
                    | Class::StoreConditional
                    | Class::Amo
                    | Class::Jump
                    | Class::JumpRegister
                    | Class::FloatToInt
            )
        {
            self.wants_write_port(done);
        }
        if slot.writes_net {
            self.send_late(i, done, network);
        }
        network.retired(done + RETIRE, pc, self.waits(), &self.hart.x);
    }

    #[inline]
    pub(super) fn pop<N: Network>(&mut self, pc: u64, t: Cycle, network: &mut N) {
        self.effects += 1;
        match network.pop(t) {
            Some(word) => self.hart.x[usize::from(NET_RX)] = word,
            None => {
                self.empty_reads += 1;
                self.first_empty_read.get_or_insert((pc, t));
            }
        }
    }

    #[inline(always)]
    pub(super) fn loaded(&mut self, i: &Instruction, bytes: u8, t: Cycle) {
        let latency = if i.rd >= 32 {
            self.timing.float_load_use_cycles
        } else if bytes >= 4 {
            self.timing.load_use_cycles
        } else {
            self.timing.load_byte_use_cycles
        };
        self.set_ready(i.rd, t + latency);
    }

    #[cold]
    pub(super) fn fetch_slowly<M: MemoryPort>(
        &mut self,
        pc: u64,
        code: &mut Code,
        memory: &M,
    ) -> Result<Slot, Exception<u64>> {
        let fault = Exception::new(Cause::InstructionAccessFault, pc);
        let half = |at: u64| {
            let offset = memory.offset(at, 2).ok_or(fault)?;
            let allowed = !self.protected
                || self.hart.pmp.check(at, 2, pinion_isa::AccessKind::Execute, self.hart.privilege);
            if allowed { Ok(memory.read(offset) as u16) } else { Err(fault) }
        };
        let low = u32::from(half(pc)?);
        let word = if is_compressed(low) { low } else { low | u32::from(half(pc + 2)?) << 16 };
        Ok(code.fill(pc, word))
    }
}
