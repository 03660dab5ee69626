//! One instruction at a time on random registers and memory, with CKB's virtual machine. Not compared, since it
//! has no such thing or decides otherwise: CSRs and privileges, fences, reservations, and accesses outside memory
//! or, by atomics, across their alignment (it does not look).

use ckb_vm::decoder::{Decoder, build_decoder};
use ckb_vm::instructions::{Register, execute};
use ckb_vm::machine::VERSION2;
use ckb_vm::memory::Memory as _;
use ckb_vm::memory::flat::FlatMemory;
use ckb_vm::{CoreMachine, Error, ISA_A, ISA_IMC, Machine};
use pinion_isa::{Access, Cause, Extensions, Hart, HartConfig, MemoryKind, Outcome, Xlen, decode};
use pinion_sim::random::SplitMix64;

use crate::cases::{below, value, word};

/// Bytes of memory, from address 0.
const BYTES: usize = 1 << 16;
/// Where data lies; code lies behind it.
const DATA: u64 = 0x4000;
const CODE: u64 = 0x8000;
/// Every opcode of RV64IMAC but SYSTEM's and MISC-MEM's.
const OPCODES: [u32; 12] = [0x03, 0x13, 0x17, 0x1b, 0x23, 0x2f, 0x33, 0x37, 0x3b, 0x63, 0x67, 0x6f];

struct Ckb<R: Register> {
    pc: R,
    next: R,
    registers: [R; 32],
    memory: FlatMemory<R>,
    trap: Option<Cause>,
}

impl<R: Register> CoreMachine for Ckb<R> {
    type REG = R;
    type MEM = FlatMemory<R>;
    fn pc(&self) -> &R {
        &self.pc
    }
    fn update_pc(&mut self, pc: R) {
        self.next = pc;
    }
    fn commit_pc(&mut self) {
        self.pc = self.next.clone();
    }
    fn memory(&self) -> &Self::MEM {
        &self.memory
    }
    fn memory_mut(&mut self) -> &mut Self::MEM {
        &mut self.memory
    }
    fn registers(&self) -> &[R] {
        &self.registers
    }
    fn set_register(&mut self, index: usize, value: R) {
        self.registers[index] = value;
    }
    fn version(&self) -> u32 {
        VERSION2
    }
    fn isa(&self) -> u8 {
        ISA_IMC | ISA_A
    }
}

impl<R: Register> Machine for Ckb<R> {
    fn ecall(&mut self) -> Result<(), Error> {
        self.trap = Some(Cause::EnvironmentCallFromMachine);
        Ok(())
    }
    fn ebreak(&mut self) -> Result<(), Error> {
        self.trap = Some(Cause::Breakpoint);
        Ok(())
    }
}

/// What an instruction did.
#[derive(Debug, PartialEq, Eq)]
enum Did {
    Ran,
    Trapped(Cause),
    /// It reaches outside memory.
    Outside,
}

/// Runs one instruction of ours.
fn ours<X: Xlen>(hart: &mut Hart<X>, bits: u32, memory: &mut [u8]) -> Did {
    let instruction = decode(bits, hart.extensions());
    match hart.execute(&instruction) {
        Outcome::Access(access) => match perform(&access, memory) {
            Some(value) => {
                hart.complete(&access, X::from_u64(value));
                Did::Ran
            }
            None => Did::Outside,
        },
        Outcome::Trap(exception) => Did::Trapped(exception.cause),
        _ => Did::Ran,
    }
}

fn perform<X: Xlen>(access: &Access<X>, memory: &mut [u8]) -> Option<u64> {
    let (at, bytes) = (access.address.to_u64(), usize::from(access.bytes));
    let at = usize::try_from(at)
        .ok()
        .filter(|at| at.checked_add(bytes).is_some_and(|end| end <= BYTES))?;
    let place = &mut memory[at..at + bytes];
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(place);
    let old = u64::from_le_bytes(word);
    let new = match access.kind {
        MemoryKind::Load => return Some(old),
        MemoryKind::Store => access.data,
        MemoryKind::Amo(op) => op.apply(X::from_u64(old), access.data, access.bytes),
        MemoryKind::LoadReserved | MemoryKind::StoreConditional | MemoryKind::EventLoad => {
            return None;
        }
    };
    place.copy_from_slice(&new.to_u64().to_le_bytes()[..bytes]);
    Some(old)
}

/// Runs one instruction of theirs.
fn theirs<R: Register>(ckb: &mut Ckb<R>, decoder: &mut Decoder) -> Did {
    let done = decoder.decode_raw(&mut ckb.memory, ckb.pc.to_u64()).and_then(|it| execute(it, ckb));
    match (done, ckb.trap.take()) {
        (Ok(()), None) => Did::Ran,
        (_, Some(cause)) => Did::Trapped(cause),
        (Err(Error::InvalidInstruction { .. } | Error::InvalidOp(_)), _) => {
            Did::Trapped(Cause::IllegalInstruction)
        }
        (Err(_), _) => Did::Outside,
    }
}

/// Tells whether an instruction is left to other references.
fn is_left_out<X: Xlen>(bits: u32, hart: &Hart<X>) -> bool {
    let instruction = decode(bits, hart.extensions());
    let mut looked = hart.clone();
    let is_misaligned_atomic = match looked.execute(&instruction) {
        Outcome::Trap(exception) => exception.cause == Cause::StoreMisaligned,
        _ => false,
    };
    let is_reservation = bits & 0x7f == 0x2f && matches!(bits >> 27, 2 | 3);
    // A shift by 32 or more of a register of 32 bits is none, or for extensions; theirs shifts by what is left.
    let is_wide_shift = match bits & 3 {
        3 => matches!(bits & 0x707f, 0x1013 | 0x5013) && bits >> 25 & 1 == 1,
        2 => bits & 0xf003 == 0x1002,
        _ => bits & 0xf003 == 0x9001 && matches!(bits >> 10 & 3, 0 | 1),
    };
    let is_wide_shift = X::BITS == 32 && is_wide_shift;
    let is_system = !matches!(bits, 0x73 | 0x0010_0073) && matches!(bits & 0x7f, 0x0f | 0x73);
    is_misaligned_atomic || is_reservation || is_wide_shift || is_system
}

pub trait Width: Xlen {
    type Theirs: Register;
    fn extensions() -> Extensions;
}

impl Width for u32 {
    type Theirs = u32;
    fn extensions() -> Extensions {
        Extensions::RV32IMAC
    }
}

impl Width for u64 {
    type Theirs = u64;
    fn extensions() -> Extensions {
        Extensions::RV64IMAC
    }
}

pub fn compare<X: Width>(seed: u64, cases: u64) -> Result<String, String> {
    let mut random = SplitMix64::new(seed);
    let mut decoder = build_decoder::<X::Theirs>(ISA_IMC | ISA_A, VERSION2);
    let config = HartConfig { extensions: X::extensions(), ..HartConfig::default() };
    let mut hart = Hart::<X>::new(&config, X::ZERO);
    let mut memory: Vec<u8> = (0..BYTES).map(|_| random.draw() as u8).collect();
    let mut ckb = Ckb::<X::Theirs> {
        pc: Register::zero(),
        next: Register::zero(),
        registers: std::array::from_fn(|_| Register::zero()),
        memory: FlatMemory::new_with_memory(BYTES),
        trap: None,
    };
    ckb.memory.store_bytes(0, &memory).map_err(|error| error.to_string())?;
    let (mut compared, mut trapped) = (0_u64, 0_u64);
    for case in 0..cases {
        // The decoder remembers by address.
        let pc = CODE + 2 * (case % 0x3000);
        if pc == CODE {
            decoder.reset_instructions_cache();
        }
        let bits = match below(&mut random, 16) {
            0..8 => word(&mut random, &OPCODES),
            8 => crate::cases::pick(&mut random, &[0x73, 0x0010_0073]),
            _ => u32::from(random.draw() as u16),
        };
        let bits = if pinion_isa::is_compressed(bits) { bits & 0xffff } else { bits };
        for register in 1..32_u8 {
            let drawn = X::from_u64(value(&mut random, DATA));
            hart.x[usize::from(register)] = drawn;
            ckb.registers[usize::from(register)] = Register::from_u64(drawn.to_u64());
        }
        hart.pc = X::from_u64(pc);
        ckb.pc = Register::from_u64(pc);
        if is_left_out(bits, &hart) {
            continue;
        }
        let length = if pinion_isa::is_compressed(bits) { 2 } else { 4 };
        let code = &bits.to_le_bytes()[..length];
        memory[pc as usize..pc as usize + length].copy_from_slice(code);
        ckb.memory.store_bytes(pc, code).map_err(|error| error.to_string())?;
        let before = hart.clone();
        let (us, them) = (ours(&mut hart, bits, &mut memory), theirs(&mut ckb, &mut decoder));
        if us == Did::Outside && them == Did::Outside {
            continue;
        }
        compared += 1;
        trapped += u64::from(matches!(us, Did::Trapped(_)));
        let mut same = us == them && memory[..] == ckb.memory[..];
        if us == Did::Ran {
            same &= hart.pc.to_u64() == ckb.pc.to_u64();
            same &= (0..32).all(|at| hart.x[at].to_u64() == ckb.registers[at].to_u64());
        }
        if !same {
            let instruction = decode(bits, X::extensions());
            let text = pinion_isa::disassemble(&instruction, pc);
            let registers: Vec<String> = (0..32)
                .filter(|&at| hart.x[at].to_u64() != ckb.registers[at].to_u64())
                .map(|at| {
                    format!(
                        "x{at} {:#x}, theirs {:#x}",
                        hart.x[at].to_u64(),
                        ckb.registers[at].to_u64()
                    )
                })
                .collect();
            return Err(format!(
                "case {case}: {bits:#010x} {text}: we {us:?} to {:#x}, they {them:?} to {:#x}; {registers:?}; \
                 before {:x?}",
                hart.pc.to_u64(),
                ckb.pc.to_u64(),
                before.x.map(Xlen::to_u64),
            ));
        }
    }
    Ok(format!("{compared} instructions, {trapped} of them trap, the same"))
}
