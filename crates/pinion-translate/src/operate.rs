//! Makes code of what an instruction does with values and with the bytes that it accesses.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value};
use cranelift_frontend::FunctionBuilder;

use crate::region::{Condition, Operation, Touch};

/// Computes what an operation gives.
pub fn compute(builder: &mut FunctionBuilder, operation: Operation, a: Value, b: Value) -> Value {
    let ins = builder.ins();
    match operation {
        Operation::Add => ins.iadd(a, b),
        Operation::Sub => ins.isub(a, b),
        // Cranelift's shifts take their amount modulo the width, as RISC-V's do.
        Operation::Sll => ins.ishl(a, b),
        Operation::Srl => ins.ushr(a, b),
        Operation::Sra => ins.sshr(a, b),
        Operation::Xor => ins.bxor(a, b),
        Operation::Or => ins.bor(a, b),
        Operation::And => ins.band(a, b),
        Operation::Mul => ins.imul(a, b),
        Operation::Mulh => ins.smulhi(a, b),
        Operation::Mulhu => ins.umulhi(a, b),
        Operation::Slt => less(builder, IntCC::SignedLessThan, a, b),
        Operation::Sltu => less(builder, IntCC::UnsignedLessThan, a, b),
        Operation::Mulhsu => {
            let a = builder.ins().sextend(I64, a);
            let b = builder.ins().uextend(I64, b);
            let product = builder.ins().imul(a, b);
            let high = builder.ins().ushr_imm(product, 32);
            builder.ins().ireduce(I32, high)
        }
    }
}

fn less(builder: &mut FunctionBuilder, comparison: IntCC, a: Value, b: Value) -> Value {
    let is_less = builder.ins().icmp(comparison, a, b);
    builder.ins().uextend(I32, is_less)
}

/// Gives how Cranelift names a condition.
pub fn comparison(condition: Condition) -> IntCC {
    match condition {
        Condition::Eq => IntCC::Equal,
        Condition::Ne => IntCC::NotEqual,
        Condition::Lt => IntCC::SignedLessThan,
        Condition::Ge => IntCC::SignedGreaterThanOrEqual,
        Condition::Ltu => IntCC::UnsignedLessThan,
        Condition::Geu => IntCC::UnsignedGreaterThanOrEqual,
    }
}

/// Accesses the bytes at `word`; gives what was there, as a register gets it.
pub fn access(builder: &mut FunctionBuilder, word: Value, touch: Touch, operand: Value) -> Value {
    // Its address is a multiple of its size in the hart's memory, not in this computer's.
    let flags = MemFlags::new().with_notrap();
    let ins = builder.ins();
    match touch {
        Touch::Lb => return ins.sload8(I32, flags, word, 0),
        Touch::Lbu => return ins.uload8(I32, flags, word, 0),
        Touch::Lh => return ins.sload16(I32, flags, word, 0),
        Touch::Lhu => return ins.uload16(I32, flags, word, 0),
        Touch::Lw => return ins.load(I32, flags, word, 0),
        Touch::Sb => ins.istore8(flags, operand, word, 0),
        Touch::Sh => ins.istore16(flags, operand, word, 0),
        Touch::Sw => ins.store(flags, operand, word, 0),
        _ => return modify(builder, word, touch, operand),
    };
    operand // nobody keeps it
}

/// Performs an atomic.
fn modify(builder: &mut FunctionBuilder, word: Value, touch: Touch, operand: Value) -> Value {
    let flags = MemFlags::new().with_notrap();
    let before = builder.ins().load(I32, flags, word, 0);
    let ins = builder.ins();
    let then = match touch {
        Touch::Add => ins.iadd(before, operand),
        Touch::Xor => ins.bxor(before, operand),
        Touch::And => ins.band(before, operand),
        Touch::Or => ins.bor(before, operand),
        Touch::Min => ins.smin(before, operand),
        Touch::Max => ins.smax(before, operand),
        Touch::Minu => ins.umin(before, operand),
        Touch::Maxu => ins.umax(before, operand),
        _ => operand, // it swaps
    };
    builder.ins().store(flags, then, word, 0);
    before
}
