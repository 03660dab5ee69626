//! RV64 in lock-step with the specification in Sail: integer instructions, jumps, CSRs, traps, `mret`, both
//! privileges. Loads, stores, atomics, compressed halves, upper halves of products, `subw` and floating point are not
//! translated; QEMU and CKB-VM have those. Not compared either, as the privileged architecture leaves them to the core: what a register
//! holds of a value that is reserved in it, counters, triggers, and the registers that version 1.12 has added to
//! what our cores implement (`menvcfg`, `mconfigptr`).

use pinion_isa::{Extensions, Hart, HartConfig, Outcome, Privilege, decode, disassemble};
use pinion_sim::random::SplitMix64;
use softcore_rv64::prelude::bv;
use softcore_rv64::registers::GeneralRegister;
use softcore_rv64::{Core, ExecutionResult, config, new_core, raw};

use crate::cases::{below, pick, value, word};

/// Steps after which both sides begin anew: locked entries stay locked.
const ROUND: u64 = 500;
const OPCODES: [u32; 9] = [0x13, 0x17, 0x1b, 0x33, 0x37, 0x3b, 0x63, 0x67, 0x6f];
/// ecall, ebreak, mret, wfi, fence, fence.i, sret, and two that are nothing.
const SYSTEM: [u32; 9] = [
    0x73,
    0x0010_0073,
    0x3020_0073,
    WFI,
    0x0ff0_000f,
    0x100f,
    0x1020_0073,
    0x7020_0073,
    0x0000_4073,
];
const WFI: u32 = 0x1050_0073;
const TW: u32 = 1 << 21;
const MSTATUS: u16 = 0x300;
const MTVEC: u16 = 0x305;
/// Registers that software works with.
const KNOWN: [u16; 14] = [
    MSTATUS, 0x301, 0x304, MTVEC, 0x306, 0x340, 0x341, 0x342, 0x343, 0x3a0, 0x3a2, 0x3b0, 0x3b7,
    0x3bf,
];
/// MIE, MPIE, MPP, MPRV, TW, UXL: what both have of `mstatus`.
const STATUS_BITS: u64 = 1 << 3 | 1 << 7 | 3 << 11 | 1 << 17 | 1 << 21 | 3 << 32;
const MPP: u64 = 3 << 11;
/// FS, VS and XS: the specification keeps them on a core that has nothing of the kind.
const MORE_STATE: u64 = 0xff << 9 & !MPP;

/// What the specification is asked with: an RV64IMAC core with user mode and sixteen entries of protection.
pub const CONFIG: raw::Config = {
    let mut it = config::MINIMAL;
    it.extensions.A.supported = true;
    it.extensions.M.supported = true;
    it.extensions.U.supported = true;
    it.extensions.Zca.supported = true;
    it.extensions.Zicntr.supported = true;
    it.extensions.Zifencei.supported = true;
    it.base.mtval_has_illegal_instruction_bits = true;
    it.memory.pmp.count = 16;
    it.memory.pmp.grain = 0;
    it
};

/// Registers that are left to the core, or to a later version of the architecture.
fn is_left_out(csr: u16) -> bool {
    let is_counter = matches!(csr, 0xb00..=0xb9f | 0xc00..=0xc9f | 0x320..=0x33f);
    is_counter || matches!(csr, 0x7a0..=0x7af | 0x30a | 0xf15 | 0x301 | 0x344)
}

struct Both {
    ours: Hart<u64>,
    theirs: Core,
}

fn begin() -> Both {
    let extensions = Extensions::RV64IMAC;
    let config = HartConfig { extensions, mtvec_mask: !2, ..HartConfig::default() };
    let (mut ours, mut theirs) = (Hart::new(&config, 0), new_core(CONFIG));
    theirs.reset();
    for (csr, value) in [(MSTATUS, 0), (MTVEC, 0x8000_0000), (0x306, 0)] {
        ours.write_csr(csr, value);
        theirs.set_csr(u64::from(csr), value);
    }
    Both { ours, theirs }
}

/// Draws an instruction.
fn draw(random: &mut SplitMix64) -> u32 {
    match below(random, 8) {
        0..4 => word(random, &OPCODES),
        4 => pick(random, &SYSTEM),
        _ => {
            let csr = match below(random, 4) {
                0 => below(random, 4096) as u16,
                _ => pick(random, &KNOWN),
            };
            let fields = random.draw() as u32 & 0x000f_ff80;
            u32::from(csr) << 20 | fields | pick(random, &[1, 2, 3, 5, 6, 7]) << 12 | 0x73
        }
    }
}

/// Tells whether an instruction writes what is reserved where it is written, or is one that the translation
/// cannot execute: `mulh` and its like, whose products have 128 bits, and `subw`.
fn is_beyond(hart: &Hart<u64>, bits: u32) -> bool {
    let is_upper = bits & 0xfe00_007f == 0x0200_0033 && matches!(bits >> 12 & 7, 1..=3);
    if is_upper || bits & 0xfe00_707f == 0x4000_003b {
        return true;
    }
    // Without supervisor mode it may wait in user mode (3.1.6.5, 3.3.3); the specification never does.
    if bits == WFI && hart.privilege == Privilege::User && hart.csr.mstatus & TW == 0 {
        return true;
    }
    if bits & 0x7f != 0x73 || bits >> 12 & 3 == 0 {
        return false;
    }
    let (csr, source) = ((bits >> 20) as u16, bits >> 15 & 31);
    if is_left_out(csr) {
        return true;
    }
    let old = hart.read_csr(csr).unwrap_or(0);
    let operand = match bits >> 14 & 1 {
        1 => u64::from(source),
        _ => hart.x[source as usize],
    };
    let new = match bits >> 12 & 3 {
        1 => operand,
        2 => old | operand,
        _ => old & !operand,
    };
    match csr {
        MSTATUS => !matches!(new & MPP, 0 | MPP) || new & MORE_STATE != 0,
        MTVEC => new & 2 != 0,
        // Only these counters are there.
        0x306 => new & !0b101 != 0,
        // Write without read; and nothing but zero in two bits.
        0x3a0 | 0x3a2 => new.to_le_bytes().iter().any(|it| it & 3 == 2 || it & 0x60 != 0),
        _ => false,
    }
}

fn csrs() -> impl Iterator<Item = u16> {
    [MSTATUS, 0x304, MTVEC, 0x306, 0x340, 0x341, 0x342, 0x343, 0x3a0, 0x3a2]
        .into_iter()
        .chain(0x3b0..0x3c0)
}

fn masked(csr: u16, value: u64) -> u64 {
    if csr == MSTATUS { value & STATUS_BITS } else { value }
}

impl Both {
    /// Executes one instruction on both sides; tells whether it trapped.
    fn step(&mut self, pc: u64, bits: u32) -> bool {
        self.ours.pc = pc;
        (self.theirs.PC, self.theirs.nextPC) = (bv(pc), bv(pc.wrapping_add(4)));
        let instruction = decode(bits, self.ours.extensions());
        let trapped = match self.ours.execute(&instruction) {
            Outcome::Trap(exception) => {
                self.ours.take_trap(exception);
                true
            }
            _ => false,
        };
        let instruction = self.theirs.decode_instr(bits);
        self.specified(bits, instruction);
        trapped
    }

    /// Executes an instruction as the specification's own step does, which is not translated.
    fn specified(&mut self, bits: u32, instruction: raw::ast) {
        let core = &mut self.theirs;
        let (privilege, control) = match raw::execute(core, instruction) {
            ExecutionResult::Retire_Success(()) | ExecutionResult::Wait_For_Interrupt(()) => return,
            ExecutionResult::Illegal_Instruction(()) => {
                return raw::handle_illegal(core, bv(u64::from(bits)));
            }
            ExecutionResult::Trap((privilege, control, _)) => (privilege, control),
            ExecutionResult::Memory_Exception((address, trap)) => {
                let raw::virtaddr::Virtaddr(address) = address;
                // A breakpoint's address or zero: the privileged architecture allows both (3.1.16).
                let is_breakpoint = matches!(trap, raw::ExceptionType::E_Breakpoint(()));
                let excinfo = (!is_breakpoint).then_some(address);
                let trap = raw::sync_exception { trap, excinfo, ext: None };
                (core.mode(), raw::ctl_result::CTL_TRAP(trap))
            }
            other => panic!("the specification has no {other:?} without extensions"),
        };
        let pc = core.PC;
        let pc = raw::exception_handler(core, privilege, control, pc);
        raw::set_next_pc(core, pc);
    }

    /// Gives the first difference.
    fn difference(&mut self) -> Option<String> {
        let (pc, theirs) = (self.ours.pc, self.theirs.nextPC.bits());
        if pc != theirs {
            return Some(format!("we go on at {pc:#x}, Sail at {theirs:#x}"));
        }
        let is_machine = self.theirs.mode() == raw::Privilege::Machine;
        if is_machine != (self.ours.privilege == Privilege::Machine) {
            return Some(format!(
                "we are in {:?}, Sail in {:?}",
                self.ours.privilege,
                self.theirs.mode()
            ));
        }
        for register in 1..32_u8 {
            let (us, them) = (
                self.ours.x[usize::from(register)],
                self.theirs.get(GeneralRegister::new(register)),
            );
            if us != them {
                return Some(format!("x{register} is {us:#x}, in Sail {them:#x}"));
            }
        }
        for csr in csrs() {
            let us = self.ours.read_csr(csr).unwrap_or(0);
            let them = raw::read_CSR(&mut self.theirs, bv(u64::from(csr))).bits();
            if masked(csr, us) != masked(csr, them) {
                return Some(format!("register {csr:#x} is {us:#x}, in Sail {them:#x}"));
            }
        }
        None
    }
}

pub fn compare(seed: u64, instructions: u64) -> Result<String, String> {
    let mut random = SplitMix64::new(seed);
    let (mut both, mut compared, mut traps) = (begin(), 0, 0_u64);
    for number in 0..instructions {
        if number % ROUND == 0 {
            both = begin();
        }
        if number % 8 == 0 {
            for register in 1..32_u8 {
                let drawn = value(&mut random, 0x8000_0000);
                both.ours.x[usize::from(register)] = drawn;
                both.theirs.set(GeneralRegister::new(register), drawn);
            }
        }
        let bits = draw(&mut random);
        if is_beyond(&both.ours, bits) {
            continue;
        }
        let pc = value(&mut random, 0x8000_0000) & !1;
        let was = both.ours.privilege;
        compared += 1;
        traps += u64::from(both.step(pc, bits));
        if let Some(difference) = both.difference() {
            let text = disassemble(&decode(bits, both.ours.extensions()), pc);
            return Err(format!(
                "step {number}: {bits:#010x} {text} at {pc:#x} in {was:?}: {difference}"
            ));
        }
    }
    Ok(format!("{compared} instructions, {traps} traps: the same registers and CSRs"))
}
