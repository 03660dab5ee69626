//! CSRs and instructions of the system: most flush the pipeline, those of the network do not (RTL
//! CSR.scala).

use pinion_isa::{Cause, Exception, Instruction, Op, Outcome, csr};

use super::code::{NET_TX, immediate};
use super::network::{self, Network, is_network_csr};
use super::run::Going;
use super::{Activity, Change, Core, RETIRE};
use crate::Cycle;
use crate::port::MemoryPort;

/// Bits of an integer register's number.
const X_BITS: u8 = 31;

impl Core {
    #[inline(never)]
    pub(super) fn issue_csr<M: MemoryPort, N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        memory: &mut M,
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
            if !self.network_csr(i, pc, t, network) {
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
                || (i.rs1 != 0 || immediate(i) != 0);
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
        network.retired(now, pc, self.waits(), &self.hart.x);
        true
    }

    pub(super) fn reads_csr(&self, i: &Instruction) -> bool {
        !matches!(i.op, Op::Csrrw | Op::Csrrwi) || i.rd != 0
    }

    /// Executes an access to one of the network's CSRs; false if it ended otherwise.
    pub(super) fn network_csr<N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
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
        let immediate = immediate(i);
        let source = self.hart.x[usize::from(i.rs1 & X_BITS)];
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
            let idle = number == network::csr::USER_COMMAND && new == network::csr::IDLE_COMMAND;
            self.effects += u64::from(!idle);
            if network.write_csr(number, new, now) {
                self.limit = self.limit.min(now);
            }
        }
        self.hart.set_x(i.rd, old);
        self.hart.pc = pc.wrapping_add(u64::from(i.length));
        self.hart.instret += 1;
        self.decode = t;
        if number == network::csr::MESSAGES_READY && old == 0 {
            self.poll(pc, t);
        }
        true
    }

    #[cold]
    pub(super) fn issue_system<M: MemoryPort, N: Network>(
        &mut self,
        i: &Instruction,
        pc: u64,
        t: Cycle,
        memory: &mut M,
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
                self.change = Change::Everything;
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
        network.retired(t + RETIRE, pc, self.waits(), &self.hart.x);
        true
    }
}
