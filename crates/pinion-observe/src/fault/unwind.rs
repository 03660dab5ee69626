//! Who called whom: registers and stack at an instruction come in, the calls that led there go out,
//! by the call frame information that compilers write (`.debug_frame`). Code without any, as the
//! loop that calls handlers, ends the way; the innermost may lack it, as a jump to nowhere does: the
//! return address tells where it came from.

use addr2line::gimli::{
    CfaRule, DebugFrame, Register, RegisterRule, UnwindContext, UnwindSection, UnwindTableRow,
};

use super::program::{Debug, Slice};
use super::record::Registers;

/// Limits the calls that are followed.
const DEPTH_MAX: usize = 1024;
/// X86-64's stack pointer and its column for the return address.
const X86_STACK_POINTER: u16 = 7;
const X86_RETURN: u16 = 16;
/// RISC-V's stack pointer and return address.
const RISCV_STACK_POINTER: u16 = 2;
const RISCV_RETURN: u16 = 1;

/// A call on the way: where in a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The instruction's address; of all but the innermost, what follows the call.
    pub pc: u64,
    /// An address within the instruction: its own, or of the call in front of `pc`.
    pub within: u64,
}

/// A call on the way, and what its function has.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The call.
    pub call: Call,
    /// Registers by DWARF's numbers, as they are in it; `None`: not known any more.
    pub registers: Vec<Option<u64>>,
    /// The canonical frame address (DWARF's CFA), if call frame information tells it.
    pub cfa: Option<u64>,
    /// Where it returns to, though nothing be known of the code there.
    pub returns_to: Option<u64>,
}

/// The state of the way back.
struct State<'a> {
    registers: Vec<Option<u64>>,
    stack: &'a (u64, Vec<u8>),
    stack_pointer: u16,
    return_column: u16,
    word_bytes: usize,
}

impl State<'_> {
    fn new<'a>(registers: &Registers, stack: &'a (u64, Vec<u8>)) -> State<'a> {
        let (count, stack_pointer, return_column, word_bytes) = match registers {
            Registers::Rv32(_) => (32, RISCV_STACK_POINTER, RISCV_RETURN, 4),
            Registers::Rv64(_) => (32, RISCV_STACK_POINTER, RISCV_RETURN, 8),
            Registers::X86(_) => (17, X86_STACK_POINTER, X86_RETURN, 8),
        };
        let registers = (0..count).map(|number| registers.get(number)).collect();
        State { registers, stack, stack_pointer, return_column, word_bytes }
    }

    fn get(&self, register: Register) -> Option<u64> {
        self.registers.get(usize::from(register.0)).copied().flatten()
    }

    fn read(&self, address: u64) -> Option<u64> {
        let (first, bytes) = self.stack;
        let offset = usize::try_from(address.checked_sub(*first)?).ok()?;
        let word = bytes.get(offset..offset.checked_add(self.word_bytes)?)?;
        Some(word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// Goes back without call frame information, as behind a jump to nowhere or in a function of
    /// assembly: the return address is where calls put it.
    fn leave_plainly(&mut self) -> Option<u64> {
        if self.return_column != X86_RETURN {
            return self.registers[usize::from(RISCV_RETURN)];
        }
        let top = self.registers[usize::from(X86_STACK_POINTER)]?;
        self.registers[usize::from(X86_STACK_POINTER)] = Some(top.wrapping_add(8));
        self.read(top)
    }

    /// Finds the canonical frame address by a row of call frame information.
    fn cfa(&self, row: &UnwindTableRow<usize>) -> Option<u64> {
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        Some(self.get(register)?.wrapping_add_signed(offset))
    }

    /// Goes back by a row of call frame information; gives the return address.
    fn leave(&mut self, row: &UnwindTableRow<usize>) -> Option<u64> {
        let cfa = self.cfa(row)?;
        let mut before = self.registers.clone();
        for (register, rule) in row.registers() {
            let value = match *rule {
                RegisterRule::Undefined => None,
                RegisterRule::SameValue => self.get(*register),
                RegisterRule::Offset(offset) => self.read(cfa.wrapping_add_signed(offset)),
                RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(offset)),
                RegisterRule::Register(other) => self.get(other),
                _ => None,
            };
            if let Some(slot) = before.get_mut(usize::from(register.0)) {
                *slot = value;
            }
        }
        before[usize::from(self.stack_pointer)] = Some(cfa);
        self.registers = before;
        self.registers[usize::from(self.return_column)]
    }
}

/// Follows the calls back from an instruction, the innermost first.
pub fn unwind(
    debug: &Debug<'_>,
    pc: u64,
    registers: &Registers,
    stack: &(u64, Vec<u8>),
) -> Vec<Call> {
    frames(debug, pc, registers, stack).into_iter().map(|frame| frame.call).collect()
}

/// Does the same, and tells what each function has.
pub fn frames(
    debug: &Debug<'_>,
    pc: u64,
    registers: &Registers,
    stack: &(u64, Vec<u8>),
) -> Vec<Frame> {
    let mut state = State::new(registers, stack);
    let mut frames: Vec<Frame> = Vec::new();
    let mut context = UnwindContext::new();
    let mut at = Call { pc, within: pc };
    while frames.len() < DEPTH_MAX {
        let stack_before = state.registers[usize::from(state.stack_pointer)];
        let mut frame =
            Frame { call: at, registers: state.registers.clone(), cfa: None, returns_to: None };
        let row = row_at(debug, &mut context, at.within);
        let back = match row {
            Some(row) => {
                frame.cfa = state.cfa(row);
                state.leave(row)
            }
            None if frames.is_empty() => state.leave_plainly(),
            // What has no call frame information calls handlers, and is none of them.
            None => break,
        };
        frame.returns_to = back;
        frames.push(frame);
        let Some(back) = back.filter(|back| debug.has_code(back.wrapping_sub(1))) else { break };
        let next = Call { pc: back, within: back - 1 };
        if next == at && state.registers[usize::from(state.stack_pointer)] == stack_before {
            break; // a return address that was never saved: the way is lost
        }
        at = next;
    }
    frames
}

fn row_at<'c>(
    debug: &Debug<'_>,
    context: &'c mut UnwindContext<usize>,
    address: u64,
) -> Option<&'c UnwindTableRow<usize>> {
    if !debug.has_code(address) {
        return None;
    }
    let bases = Default::default();
    let find = DebugFrame::<Slice<'_>>::cie_from_offset;
    debug.frames.unwind_info_for_address(&bases, context, address, find).ok()
}
