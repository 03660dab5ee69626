//! The floating-point unit: pipelined operations that share a port for their results, and a divider
//! that works on one number at a time (RTL FPU.scala, DivSqrtRecFN_small).

use pinion_isa::{Class, Instruction};

use super::Core;
use crate::Cycle;

/// Cycles that the ring of bits looks ahead, and how far it is used before it is turned on.
const PORT_CYCLES: Cycle = u64::BITS as Cycle;
const PORT_LEEWAY_CYCLES: Cycle = 48;
/// Bits of a number's fraction (IEEE 754).
const SINGLE_FRACTION_BITS: u32 = 23;
const DOUBLE_FRACTION_BITS: u32 = 52;
/// Where a decoded instruction keeps its format: 0 is single precision (RISC-V, `fmt`).
const FORMAT_SHIFT: u32 = 25;
const FORMAT_BITS: i32 = 0b11;

impl Core {
    /// Gives the cycle from which the instruction's result port is free, if it needs one.
    pub(super) fn float_slot(&mut self, i: &Instruction, t: Cycle) -> Option<Cycle> {
        let mut t = t;
        if matches!(i.class, Class::FloatDiv | Class::FloatSqrt) {
            return Some(t.max(self.float_divider_free));
        }
        let Some(latency) = self.float_latency(i) else { return Some(t) };
        loop {
            let port = t + latency;
            let distance = port.saturating_sub(self.float_ports_base);
            if distance >= PORT_CYCLES {
                self.float_ports = 0;
                self.float_ports_base = t;
                continue;
            }
            if self.float_ports >> distance & 1 == 0 {
                if distance > PORT_LEEWAY_CYCLES {
                    let shift = t - self.float_ports_base;
                    self.float_ports >>= shift.min(PORT_CYCLES - 1);
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

    pub(super) fn float_latency(&self, i: &Instruction) -> Option<Cycle> {
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

    pub(super) fn float_result(&mut self, i: &Instruction, operands: [u64; 2], t: Cycle) {
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
    pub(super) fn divide_cycles(&self, i: &Instruction, [a, b]: [u64; 2]) -> Cycle {
        let (mask, cycles) = if single(i) {
            ((1 << SINGLE_FRACTION_BITS) - 1, self.timing.float_divide_single_cycles)
        } else {
            ((1 << DOUBLE_FRACTION_BITS) - 1, self.timing.float_divide_double_cycles)
        };
        cycles + u64::from(a & mask < b & mask)
    }

    pub(super) fn root_cycles(&self, i: &Instruction, a: u64) -> Cycle {
        let (exponent, cycles) = if single(i) {
            (a >> SINGLE_FRACTION_BITS, self.timing.float_root_single_cycles)
        } else {
            (a >> DOUBLE_FRACTION_BITS, self.timing.float_root_double_cycles)
        };
        // The bias is odd: an odd field is an even exponent.
        cycles - u64::from(exponent & 1 == 0)
    }
}

/// Tells whether a floating-point instruction works in single precision.
fn single(i: &Instruction) -> bool {
    i.imm >> FORMAT_SHIFT & FORMAT_BITS == 0
}
