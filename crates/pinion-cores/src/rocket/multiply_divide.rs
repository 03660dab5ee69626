//! How long Rocket's iterative multiplier and divider works on given operands
//! (RTL MulDiv.scala: 8 bits of the multiplier a cycle, 1 bit of the quotient a cycle, both ending
//! early).

use pinion_isa::{Class, Instruction, Op};

use super::code::NET_TX;
use super::network::Network;
use super::{Core, RETIRE};
use crate::Cycle;

/// Bits of a register that a shift takes its distance from, and those of a shift of words.
const SHIFT_BITS: u64 = 63;
const WORD_SHIFT_BITS: u64 = 31;
/// Bits of a bit's position.
const POSITION_BITS: u32 = 63;

impl Core {
    /// Sends a word of an instruction that is not a plain operation.
    #[inline(never)]
    pub(super) fn send_late<N: Network>(&mut self, i: &Instruction, t: Cycle, network: &mut N) {
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
    pub(super) fn by_product(&self, i: &Instruction) -> u64 {
        let [a, b] = [i.rs1, i.rs2].map(|source| self.hart.x[usize::from(source)]);
        match i.op {
            Op::Mul => a.wrapping_add(b),
            Op::Mulw => a.wrapping_add(b) as i32 as u64,
            Op::Mulh => a << (b & SHIFT_BITS),
            Op::Mulhsu | Op::Mulhu => 0,
            Op::Div => a ^ b,
            Op::Divu => a >> (b & SHIFT_BITS),
            Op::Divw => (a ^ b) as i32 as u64,
            Op::Divuw => ((a as u32) >> (b & WORD_SHIFT_BITS)) as i32 as u64,
            Op::Rem | Op::Remw => a | b,
            _ => a & b,
        }
    }

    /// Notes that an operation that decodes in `t` writes a register, the multiplier's or divider's
    /// destination or another one.
    #[inline(always)]
    pub(super) fn takes_write_port(&mut self, register: u8, t: Cycle) {
        if self.unit_register != 0 {
            if register == self.unit_register {
                self.unit_register = 0;
            } else {
                self.wants_write_port(t);
            }
        }
    }

    /// Moves the result of the multiplier or divider on when an instruction that decodes in `t`
    /// takes the register file's port in the cycle it wants.
    #[inline(always)]
    pub(super) fn wants_write_port(&mut self, t: Cycle) {
        if t + RETIRE == self.unit_done {
            self.unit_done += 1;
            self.set_ready(self.unit_register, self.unit_done);
        } else if t >= self.unit_done {
            self.unit_register = 0;
        }
    }

    pub(super) fn settle_unit(&mut self, t: Cycle) {
        if t >= self.unit_done {
            self.unit_register = 0;
        }
    }
}

/// Gives the cycles from the decode stage of a multiplication or division to that of the first
/// instruction that may use its result, nothing else wanting the register file's port.
pub fn result_after_cycles(instruction: &Instruction, a: u64, b: u64) -> u64 {
    match instruction.op {
        Op::Mul => 2 + multiply(a),
        Op::Mulw => 2 + multiply_word(a as u32),
        Op::Mulh | Op::Mulhsu | Op::Mulhu => 2 + 8,
        Op::Div => 2 + divide(a, b, true, false),
        Op::Divu => 2 + divide(a, b, false, false),
        Op::Rem => 2 + divide(a, b, true, true),
        Op::Remu => 2 + divide(a, b, false, true),
        Op::Divw => 2 + divide(a as i32 as u64, b as i32 as u64, true, false),
        Op::Divuw => 2 + divide(u64::from(a as u32), u64::from(b as u32), false, false),
        Op::Remw => 2 + divide(a as i32 as u64, b as i32 as u64, true, true),
        _ => 2 + divide(u64::from(a as u32), u64::from(b as u32), false, true),
    }
}

/// Gives the cycles that the multiplier iterates: one per 8 bits of the first operand, at least two.
fn multiply(a: u64) -> u64 {
    let significant_bytes = u64::from(64 - a.leading_zeros()).div_ceil(8);
    (significant_bytes.max(1) + 1).min(8)
}

/// Gives the same for 32-bit operands, whose four bytes are looked at only.
fn multiply_word(a: u32) -> u64 {
    (u64::from(32 - a.leading_zeros()).div_ceil(8) + 1).min(4)
}

/// Gives the cycles that the divider works, with those that turn signs around.
fn divide(a: u64, b: u64, signed: bool, remainder: bool) -> u64 {
    let negative = |value: u64| signed && (value as i64) < 0;
    let (a_negative, b_negative) = (negative(a), negative(b));
    let size = |value: u64, negative: bool| if negative { value.wrapping_neg() } else { value };
    let (dividend, divisor) = (size(a, a_negative), size(b, b_negative));
    let by_zero = divisor == 0;
    let msb = |value: u64| 63 - (value | 1).leading_zeros();
    // Positions of the quotient that are known to be zero are skipped in the first cycle; the
    // difference of the positions wraps at six bits, as the hardware's does.
    let skipped = u64::from(!msb(dividend).wrapping_sub(msb(divisor)) & POSITION_BITS);
    let iterations = if by_zero || skipped == 0 { 65 } else { 66 - skipped };
    let negate_result = if remainder { a_negative } else { a_negative != b_negative && !by_zero };
    iterations + u64::from(a_negative || b_negative) + u64::from(negate_result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(op: Op, a: u64, b: u64) -> u64 {
        result_after_cycles(&Instruction::new(op, 1, 2, 3, 0), a, b)
    }

    #[test]
    fn follows_the_rtl_on_measured_operands() {
        // Rows of the calibration set's core_timing.csv, by test name.
        assert_eq!(cycles(Op::Mul, 3, 3), 4, "t_mul_independent");
        assert_eq!(cycles(Op::Mul, 1 << 32, 1), 8, "t_mul_chain_large");
        assert_eq!(cycles(Op::Mulhu, u64::MAX, u64::MAX), 10, "t_mulhu_chain");
        assert_eq!(cycles(Op::Div, 7, 3), 6, "t_div_small");
        assert_eq!(cycles(Op::Div, 1_000_000_000_000_000_000, 3), 63, "t_div_chain_1e18");
        assert_eq!(cycles(Op::Div, u64::MAX >> 1, 1), 67, "t_div_by_one");
        assert_eq!(cycles(Op::Div, -1_000_000_000i64 as u64, 7), 34, "t_div_neg");
        assert_eq!(cycles(Op::Div, 5, 0), 67, "t_div_by_zero");
        assert_eq!(cycles(Op::Divw, 1_000_000_000, 3), 33, "t_divw_chain");
        assert_eq!(cycles(Op::Remu, 1_000_000_000_000, 777), 35, "t_remu_chain");
    }
}
