//! The pipeline: one instruction after the other, each in the cycles that Rocket gives it.

use pinion_isa::{Cause, Class, Exception, Instruction, Op, Outcome, Privilege, csr};

use super::code::{Code, NET_RX, NET_TX, Slot};
use super::data::AccessEnd;
use super::network::{self, Network, is_network_csr};
use super::predictor::Flow;
use super::{Activity, Core, Failure, RETIRE, multiply_divide};
use crate::Cycle;
use crate::memory::Memory;

/// Says whether the core goes on.
type Going = bool;

impl Core {
    /// Runs until the next instruction would decode in cycle `limit` or later, or until the
    /// network's state is needed of a cycle that is not settled.
    ///
    /// The caller has settled the network up to [`Network::known_until`] and calls again, with
    /// more, when this core's [`Core::key`] is the smallest.
    pub fn run<N: Network>(
        &mut self,
        limit: Cycle,
        code: &mut Code,
        memory: &mut Memory,
        network: &mut N,
    ) {
        self.limit = limit;
        self.code_range = code.range();
        self.look_for_interrupts(memory, network);
        while matches!(self.activity, Activity::Running) {
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
            if !self.issue(slot, pc, t, memory, network) {
                return;
            }
            if let Some(ahead) = self.ahead.take() {
                self.fetch_ahead(ahead, code, memory);
            }
            if self.code_changed {
                self.code_changed = false;
                code.clear();
            }
            if memory.devices.exit.is_some() {
                self.activity = Activity::Stopped;
            }
        }
    }

    /// Gives the cycle in which the instruction leaves decode, its operands being ready.
    #[inline(always)]
    fn operands(&self, i: &Instruction, arrival: Cycle) -> Cycle {
        if self.all_ready <= arrival {
            return arrival;
        }
        let ready = |register: u8| self.ready[usize::from(register & 63)];
        arrival.max(ready(i.rs1)).max(ready(i.rs2)).max(ready(i.rd)).max(ready(i.rs3))
    }

    /// Tells whether a store of up to eight bytes may change decoded code.
    #[inline(always)]
    fn changes_code(&self, address: u64) -> bool {
        let (base, bytes) = self.code_range;
        address.wrapping_add(8).wrapping_sub(base) < bytes + 8
    }

    /// Notes the decode cycle from which a register may be used or overwritten.
    #[inline(always)]
    fn set_ready(&mut self, register: u8, at: Cycle) {
        self.ready[usize::from(register & 63)] = at;
        self.all_ready = self.all_ready.max(at);
    }

    /// Executes an instruction that decodes in `t`; false when it must wait for the network.
    #[inline(always)]
    fn issue<N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        t: Cycle,
        memory: &mut Memory,
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
            if i.rd == self.unit_register {
                self.unit_register = 0;
            }
            if self.unit_register != 0 {
                self.wants_write_port(t);
            }
            if slot.writes_net {
                network.send(self.hart.x[usize::from(NET_TX)], t + RETIRE);
                self.effects += 1;
            }
            network.retired(t + RETIRE, pc);
            return true;
        }
        self.issue_other(slot, pc, t, memory, network)
    }

    #[inline(always)]
    fn issue_other<N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        t: Cycle,
        memory: &mut Memory,
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
                    if access.kind.writes() && self.changes_code(access.address) {
                        self.code_changed = true;
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
    fn issue_rare<N: Network>(
        &mut self,
        slot: &Slot,
        pc: u64,
        t: Cycle,
        memory: &mut Memory,
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
                    self.set_ready(i.rd, t + 2);
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
                let operands = [i.rs1, i.rs2].map(|r| self.hart.f[usize::from(r & 31)]);
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
    fn issued<N: Network>(&mut self, slot: &Slot, pc: u64, done: Cycle, network: &mut N) {
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
        network.retired(done + RETIRE, pc);
    }

    /// Sends a word of an instruction that is not a plain operation.
    #[inline(never)]
    fn send_late<N: Network>(&mut self, i: &Instruction, t: Cycle, network: &mut N) {
        let word = self.hart.x[usize::from(NET_TX)];
        self.effects += 1;
        match i.class {
            Class::Mul | Class::MulHigh | Class::Div => {
                if self.timing.unit_results {
                    let by_product = self.by_product(i);
                    network.send(by_product, t + RETIRE);
                }
                network.send(word, self.unit_done);
            }
            _ => network.send(word, t + RETIRE),
        }
    }

    /// Gives what the adder or logic unit makes of the operands of a multiplication or division:
    /// the word that the RTL sends before the product (quirk_tx_unit_results).
    fn by_product(&self, i: &Instruction) -> u64 {
        let [a, b] = [i.rs1, i.rs2].map(|source| self.hart.x[usize::from(source)]);
        match i.op {
            Op::Mul => a.wrapping_add(b),
            Op::Mulw => a.wrapping_add(b) as i32 as u64,
            Op::Mulh => a << (b & 63),
            Op::Mulhsu | Op::Mulhu => 0,
            Op::Div => a ^ b,
            Op::Divu => a >> (b & 63),
            Op::Divw => (a ^ b) as i32 as u64,
            Op::Divuw => ((a as u32) >> (b & 31)) as i32 as u64,
            Op::Rem | Op::Remw => a | b,
            _ => a & b,
        }
    }

    #[inline]
    fn pop<N: Network>(&mut self, pc: u64, t: Cycle, network: &mut N) {
        self.effects += 1;
        match network.pop(t) {
            Some(word) => self.hart.x[usize::from(NET_RX)] = word,
            None => {
                self.empty_reads += 1;
                self.first_empty_read.get_or_insert((pc, t));
            }
        }
    }

    /// Moves the result of the multiplier or divider on when an instruction that decodes in `t`
    /// takes the register file's port in the cycle it wants.
    #[inline(always)]
    fn wants_write_port(&mut self, t: Cycle) {
        if t + RETIRE == self.unit_done {
            self.unit_done += 1;
            self.set_ready(self.unit_register, self.unit_done);
        } else if t >= self.unit_done {
            self.unit_register = 0;
        }
    }

    fn settle_unit(&mut self, t: Cycle) {
        if t >= self.unit_done {
            self.unit_register = 0;
        }
    }

    #[inline(always)]
    fn loaded(&mut self, i: &Instruction, bytes: u8, t: Cycle) {
        let latency = if i.rd >= 32 {
            self.timing.float_load_use_cycles
        } else if bytes >= 4 {
            self.timing.load_use_cycles
        } else {
            self.timing.load_byte_use_cycles
        };
        self.set_ready(i.rd, t + latency);
    }

    #[inline(never)]
    fn issue_csr<N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        memory: &mut Memory,
        network: &mut N,
    ) -> Going {
        let number = i.csr();
        let now = t + RETIRE;
        if is_network_csr(number) {
            if network.known_until() <= now && self.reads_csr(i) {
                // It writes nothing before it has read: others may act up to its reading.
                self.key = t + 1;
                return false;
            }
            if !self.network_csr(i, pc, t, memory, network) {
                return true;
            }
        } else {
            self.hart.csr.cycle = now - self.stalled;
            self.effects += 1;
            let outcome = self.hart.execute(i);
            if let Outcome::Trap(exception) = outcome {
                self.trap(exception, t, network);
                return true;
            }
            self.decode = t;
            let writes = !matches!(i.op, Op::Csrrs | Op::Csrrc | Op::Csrrsi | Op::Csrrci)
                || (i.rs1 != 0 || i.imm >> 16 & 31 != 0);
            let quiet = (csr::number::MSCRATCH..=csr::number::MTVAL).contains(&number);
            if writes && !quiet {
                self.takes_back(pc.wrapping_add(u64::from(i.length)), t);
                self.redirect(t + self.timing.replay_cycles);
                self.system_changed(memory, network);
            }
        }
        if self.unit_register != 0 {
            self.wants_write_port(t);
        }
        if i.rd != 0 {
            self.set_ready(i.rd, t + self.timing.csr_use_cycles);
            if i.rd == NET_TX {
                network.send(self.hart.x[usize::from(NET_TX)], now);
                self.effects += 1;
            }
        }
        network.retired(now, pc);
        true
    }

    fn reads_csr(&self, i: &Instruction) -> bool {
        !matches!(i.op, Op::Csrrw | Op::Csrrwi) || i.rd != 0
    }

    /// Executes an access to one of the network's CSRs; false if it ended otherwise.
    fn network_csr<N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        memory: &mut Memory,
        network: &mut N,
    ) -> bool {
        let number = i.csr();
        let now = t + RETIRE;
        let old = if self.reads_csr(i) {
            match network.read_csr(number, now) {
                Some(old) => old,
                None => {
                    let illegal = Exception::new(Cause::IllegalInstruction, 0);
                    self.trap(illegal, t, network);
                    return false;
                }
            }
        } else {
            0
        };
        let immediate = (i.imm >> 16 & 31) as u64;
        let source = self.hart.x[usize::from(i.rs1 & 31)];
        let new = match i.op {
            Op::Csrrw => Some(source),
            Op::Csrrwi => Some(immediate),
            Op::Csrrs if i.rs1 != 0 => Some(old | source),
            Op::Csrrc if i.rs1 != 0 => Some(old & !source),
            Op::Csrrsi if immediate != 0 => Some(old | immediate),
            Op::Csrrci if immediate != 0 => Some(old & !immediate),
            _ => None,
        };
        if let Some(new) = new {
            let idle = number == network::csr::USER_COMMAND && new == 2;
            self.effects += u64::from(!idle);
            network.write_csr(number, new, now);
            // What follows from it must be settled before anything decodes later than it.
            self.limit = self.limit.min(now);
        }
        self.hart.set_x(i.rd, old);
        self.hart.pc = pc.wrapping_add(u64::from(i.length));
        self.hart.instret += 1;
        self.decode = t;
        if number == network::csr::MESSAGES_READY && old == 0 {
            self.poll(pc, t, memory);
        }
        true
    }

    /// Meets a poll that found nothing: when the loop does nothing but poll, the core may sleep.
    fn poll(&mut self, pc: u64, t: Cycle, memory: &Memory) {
        let _ = memory;
        let period = t - self.poll.at;
        let history = self.predictor.history();
        let same = self.poll.pc == pc
            && self.poll.history == history
            && self.poll.effects == self.effects
            && self.poll.registers == self.hart.x;
        let instructions = self.hart.instret - self.poll.retired;
        if same && period == self.poll.period {
            self.activity = Activity::Polling { period, instructions };
        }
        self.poll.pc = pc;
        self.poll.history = history;
        self.poll.at = t;
        self.poll.period = if same { period } else { 0 };
        self.poll.retired = self.hart.instret;
        self.poll.effects = self.effects;
        if !same {
            self.poll.registers = self.hart.x;
        }
    }

    /// Wakes a polling core: something of its network changes in cycle `at`, and nothing did
    /// before; a poll that retires in `at` or earlier finds nothing.
    pub fn wake_from_poll(&mut self, at: Cycle) {
        let Activity::Polling { period, instructions } = self.activity else { return };
        self.activity = Activity::Running;
        // The last poll that retires before the change can be seen; those between found nothing.
        let turns = at.saturating_sub(self.decode + RETIRE) / period;
        let skipped = turns * period;
        self.decode += skipped;
        self.fetch += skipped;
        for at in self.departed.iter_mut().chain(&mut self.entered) {
            *at += skipped;
        }
        self.poll.at += skipped;
        for ready in &mut self.ready {
            *ready += skipped;
        }
        self.all_ready += skipped;
        self.hart.instret += turns * instructions;
        self.polled.0 += skipped;
        self.polled.1 += turns * instructions;
        self.poll.retired = self.hart.instret;
        self.key = self.decode + 1;
        // Should the loop find nothing again it has to show its period anew.
        self.poll.period = 0;
    }

    /// Wakes a core from `wfi`: an interrupt that it enabled one by one is up from cycle `at` on.
    pub fn wake_from_wfi<N: Network>(&mut self, at: Cycle, memory: &Memory, network: &mut N) {
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

    #[cold]
    fn issue_system<N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        memory: &mut Memory,
        network: &mut N,
    ) -> Going {
        self.effects += 1;
        let outcome = self.hart.execute(i);
        self.decode = t;
        match outcome {
            Outcome::Trap(exception) => {
                self.trap(exception, t, network);
                return true;
            }
            Outcome::Fence => self.fence = true,
            Outcome::FenceI => {
                self.code_changed = true;
                self.takes_back(pc.wrapping_add(u64::from(i.length)), t);
                self.instruction_cache.clear();
                self.fetch_line = u64::MAX;
                let at = (t + self.timing.replay_cycles).max(self.memory_busy);
                self.redirect(at);
            }
            Outcome::Returned => {
                self.failure = None;
                self.takes_back(pc.wrapping_add(u64::from(i.length)), t);
                self.redirect(t + self.timing.replay_cycles);
                self.system_changed(memory, network);
            }
            Outcome::WaitForInterrupt => {
                self.activity = Activity::Waiting { since: t + RETIRE };
                self.system_changed(memory, network);
            }
            _ => {}
        }
        network.retired(t + RETIRE, pc);
        true
    }

    /// Gives the cycle from which the instruction's result port is free, if it needs one.
    fn float_slot(&mut self, i: &Instruction, t: Cycle) -> Option<Cycle> {
        let mut t = t;
        if matches!(i.class, Class::FloatDiv | Class::FloatSqrt) {
            return Some(t.max(self.float_divider_free));
        }
        let Some(latency) = self.float_latency(i) else { return Some(t) };
        loop {
            let port = t + latency;
            let distance = port.saturating_sub(self.float_ports_base);
            if distance >= 64 {
                self.float_ports = 0;
                self.float_ports_base = t;
                continue;
            }
            if self.float_ports >> distance & 1 == 0 {
                if distance > 48 {
                    let shift = t - self.float_ports_base;
                    self.float_ports >>= shift.min(63);
                    self.float_ports_base = t;
                    self.float_ports |= 1 << (port - t);
                } else {
                    self.float_ports |= 1 << distance;
                }
                return Some(t);
            }
            // Two results in one cycle: the later instruction is taken back and tried again.
            t += self.timing.replay_cycles;
            self.fetch = self.fetch.max(t);
        }
    }

    fn float_latency(&self, i: &Instruction) -> Option<Cycle> {
        let single = single(i);
        Some(match i.class {
            Class::FloatAdd | Class::FloatMul | Class::FloatFused if single => {
                self.timing.float_single_use_cycles
            }
            Class::FloatAdd | Class::FloatMul | Class::FloatFused => {
                self.timing.float_double_use_cycles
            }
            Class::IntToFloat | Class::FloatMove => self.timing.float_move_use_cycles,
            _ => return None,
        })
    }

    fn float_result(&mut self, i: &Instruction, operands: [u64; 2], t: Cycle) {
        let latency = match i.class {
            Class::FloatToInt => self.timing.float_to_int_use_cycles,
            Class::FloatDiv => self.divide_cycles(i, operands),
            Class::FloatSqrt => self.root_cycles(i, operands[0]),
            _ => self.float_latency(i).unwrap_or(1),
        };
        if matches!(i.class, Class::FloatDiv | Class::FloatSqrt) {
            self.float_divider_free = t + latency - 1;
        }
        if i.rd != 0 {
            self.set_ready(i.rd, t + latency);
        }
    }

    /// Gives the latency of a division: one cycle less when the significands' quotient is at least
    /// one, so that the last bit is not needed (RTL DivSqrtRecFN_small, `skipCycle2`).
    fn divide_cycles(&self, i: &Instruction, [a, b]: [u64; 2]) -> Cycle {
        let (mask, cycles) = if single(i) {
            ((1 << 23) - 1, self.timing.float_divide_single_cycles)
        } else {
            ((1 << 52) - 1, self.timing.float_divide_double_cycles)
        };
        cycles + u64::from(a & mask < b & mask)
    }

    fn root_cycles(&self, i: &Instruction, a: u64) -> Cycle {
        let (exponent, cycles) = if single(i) {
            (a >> 23, self.timing.float_root_single_cycles)
        } else {
            (a >> 52, self.timing.float_root_double_cycles)
        };
        // The bias is odd: an odd field is an even exponent.
        cycles - u64::from(exponent & 1 == 0)
    }

    /// Takes a synchronous exception of an instruction that decodes in `t`.
    #[cold]
    fn trap<N: Network>(&mut self, exception: Exception<u64>, t: Cycle, network: &mut N) {
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
        self.hart.take_trap(exception);
        network.trapped(t + RETIRE);
        self.redirect(t + self.timing.replay_cycles);
        self.update_protection();
        self.attention = Cycle::MAX;
    }

    /// Notes what interrupts may come, after anything that may have changed it.
    fn look_for_interrupts<N: Network>(&mut self, memory: &Memory, network: &N) {
        let enabled = self.hart.csr.mie;
        let open = self.hart.privilege == Privilege::User
            || self.hart.csr.mstatus & csr::mstatus::MIE != 0;
        self.attention = Cycle::MAX;
        if !open || enabled == 0 {
            return;
        }
        if enabled & 1 << network::INTERRUPT != 0
            && let Some(pulse) = network.pulse(self.decode + 1, Cycle::MAX)
        {
            self.attention = pulse;
        }
        if enabled & 1 << 7 != 0 {
            self.attention = self.attention.min(memory.devices.timer_at(self.id));
        }
        if enabled & 1 << 3 != 0 && memory.devices.software(self.id) {
            self.attention = 0;
        }
    }

    fn update_protection(&mut self) {
        let locked = (0..pinion_isa::PMP_ENTRIES)
            .any(|entry| self.hart.pmp.config(entry) & pinion_isa::PMP_LOCK != 0);
        self.protected = locked
            || self.hart.privilege == Privilege::User
            || self.hart.data_privilege() == Privilege::User;
    }

    fn system_changed<N: Network>(&mut self, memory: &Memory, network: &N) {
        self.update_protection();
        self.look_for_interrupts(memory, network);
    }

    /// Gives the cycle from `arrival` to `t` in which an enabled interrupt is up.
    #[cold]
    fn interrupted<N: Network>(
        &mut self,
        arrival: Cycle,
        t: Cycle,
        memory: &Memory,
        network: &N,
    ) -> Option<Cycle> {
        self.look_for_interrupts(memory, network);
        if self.attention == Cycle::MAX {
            return None;
        }
        let enabled = self.hart.csr.mie;
        let pulse =
            (enabled & 1 << network::INTERRUPT != 0).then(|| network.pulse(arrival, t)).flatten();
        let timer = memory.devices.timer_at(self.id);
        let timer = (enabled & 1 << 7 != 0 && timer <= t).then(|| timer.max(arrival));
        let software =
            (enabled & 1 << 3 != 0 && memory.devices.software(self.id)).then_some(arrival);
        [pulse, timer, software].into_iter().flatten().min()
    }

    /// Takes the interrupt that is up in cycle `at`.
    #[cold]
    fn take_interrupt<N: Network>(&mut self, at: Cycle, memory: &Memory, network: &mut N) {
        let mut pending = 0;
        if network.pulse(at, at).is_some() {
            pending |= 1 << network::INTERRUPT;
        }
        if memory.devices.timer_at(self.id) <= at {
            pending |= 1 << 7;
        }
        if memory.devices.software(self.id) {
            pending |= 1 << 3;
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

    #[cold]
    fn fetch_slowly(
        &mut self,
        pc: u64,
        code: &mut Code,
        memory: &Memory,
    ) -> Result<Slot, Exception<u64>> {
        let fault = Exception::new(Cause::InstructionAccessFault, pc);
        let half = |at: u64| {
            let offset = memory.offset(at, 2).ok_or(fault)?;
            let allowed = !self.protected
                || self.hart.pmp.check(at, 2, pinion_isa::AccessKind::Execute, self.hart.privilege);
            if allowed { Ok(memory.read(offset) as u16) } else { Err(fault) }
        };
        let low = u32::from(half(pc)?);
        let word = if low & 3 == 3 { low | u32::from(half(pc + 2)?) << 16 } else { low };
        Ok(code.fill(pc, word))
    }
}

/// Tells whether a floating-point instruction works in single precision.
fn single(i: &Instruction) -> bool {
    i.imm >> 25 & 3 == 0
}

#[cfg(test)]
mod tests;
