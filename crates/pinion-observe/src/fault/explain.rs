//! What is said of a fault, whatever machine it happened on: the record, the program and what is
//! wrong come in; source, calls, instruction and packet go out, ready to be written.

use pinion_isa::{Class, REGISTER_NAMES, decode, disassemble};
use pinion_spin::listener::Fault as FaultKind;

use super::endless::{self, Loop};
use super::packet;
use super::program::{Code, Debug, Place, Program};
use super::record::{Fault, Registers};
use super::unwind::{Call, unwind};

/// Names x86-64's registers in the order of DWARF's numbers.
const X86_NAMES: [&str; 17] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15", "rip",
];

/// Says what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Name of the kind, for programs.
    pub name: &'static str,
    /// Says it in words.
    pub words: String,
}

impl Wrong {
    /// Names and says what is wrong.
    pub fn new(name: &'static str, words: impl Into<String>) -> Self {
        Self { name, words: words.into() }
    }
}

/// A call on the way to the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The instruction's address.
    pub pc: u64,
    /// Where it is in the source.
    pub place: Place,
    /// Whether the compiler put the function's code into its caller.
    pub is_inlined: bool,
    /// Number of calls that are the same, one behind the other.
    pub times: usize,
}

/// A fault with everything that can be said of it.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The record.
    pub fault: Fault,
    /// Name of the context, or the program.
    pub context: String,
    /// What is wrong.
    pub wrong: Wrong,
    /// Name of the function around the instruction and how far into it that is, where known.
    pub place: Option<String>,
    /// The line of the user's that led there.
    pub source: Option<String>,
    /// The calls, the innermost first.
    pub frames: Vec<Frame>,
    /// The loops that a handler was in when the watchdog ended it, the innermost first.
    pub loops: Vec<Loop>,
    /// The instruction in assembler syntax, where that is known.
    pub instruction: Option<String>,
    /// What the packet's headers say.
    pub headers: Vec<String>,
}

/// Says all there is to say of a fault.
pub(super) fn explain(
    fault: Fault,
    context: String,
    wrong: Wrong,
    program: Option<&Program<'_>>,
    starts_with_ip: bool,
) -> Explained {
    let headers = match fault.handler() {
        Some(_) if !fault.packet.is_empty() => packet::headers(&fault.packet, starts_with_ip),
        _ => Vec::new(),
    };
    let mut explained = Explained {
        instruction: instruction(&fault),
        place: program.and_then(|program| program.describe(fault.pc)),
        fault,
        context,
        wrong,
        source: None,
        frames: Vec::new(),
        loops: Vec::new(),
        headers,
    };
    if let Some(program) = program {
        explained.follow(program);
    }
    explained
}

impl Explained {
    /// Finds out who called whom.
    fn follow(&mut self, program: &Program<'_>) {
        let debug = program.debug();
        let fault = &self.fault;
        let start = match fault.registers {
            // Behind a call out of the program, the record names the caller.
            Registers::X86(registers) => registers[16],
            _ => fault.pc,
        };
        let mut calls = unwind(&debug, start, &fault.registers, &fault.stack);
        if matches!(fault.registers, Registers::X86(_))
            && matches!(fault.kind, FaultKind::BadCommand { .. })
            && let Some(first) = calls.first_mut()
        {
            first.within = first.pc.wrapping_sub(1); // it has called the engine
        }
        self.frames = frames(&debug, &calls);
        self.place = self.place.take().or_else(|| {
            let known = calls.iter().map(|call| call.within).find(|at| debug.has_code(*at));
            // Calls that a handler ends with leave no trace of it.
            let handler = fault.handler().map(|origin| u64::from(origin.handler));
            let from = known.or(handler).and_then(|at| program.describe(at))?;
            Some(format!("from {from}"))
        });
        let places = || self.frames.iter().map(|frame| &frame.place);
        let own = places().find(|place| place.line.is_some() && !place.is_of_sdk());
        self.source =
            own.or_else(|| places().find(|place| place.line.is_some())).and_then(Place::source);
        if matches!(fault.kind, FaultKind::Watchdog { .. }) {
            let each = calls.iter().filter(|call| debug.has_code(call.within));
            self.loops = match fault.trail.is_empty() {
                true => {
                    each.filter_map(|call| endless::around(program, &debug, call.within)).collect()
                }
                false => endless::walked(program, &debug, &fault.trail),
            };
        }
    }

    /// Tells whether the watchdog ended both in the same loops.
    pub fn is_same_loop(&self, other: &Self) -> bool {
        matches!(self.fault.kind, FaultKind::Watchdog { .. })
            && (&self.context, self.fault.kind, &self.loops)
                == (&other.context, other.fault.kind, &other.loops)
    }

    /// Names the registers with their values.
    pub fn registers(&self) -> Vec<(&'static str, u64)> {
        fn named<T: Copy + Into<u64>>(
            names: &[&'static str],
            values: &[T],
        ) -> Vec<(&'static str, u64)> {
            names.iter().copied().zip(values.iter().map(|value| (*value).into())).collect()
        }
        match &self.fault.registers {
            Registers::Rv32(x) => named(&REGISTER_NAMES[1..], &x[1..]),
            Registers::Rv64(x) => named(&REGISTER_NAMES[1..], &x[1..]),
            Registers::X86(registers) => named(&X86_NAMES, registers),
        }
    }
}

/// Makes one of those that the watchdog ended in the same loops: it comes at any instruction.
pub fn merged(all: Vec<Explained>) -> Vec<Explained> {
    let mut kept: Vec<Explained> = Vec::new();
    for one in all {
        match kept.iter_mut().find(|other| other.is_same_loop(&one)) {
            Some(other) => other.fault.count += one.fault.count,
            None => kept.push(one),
        }
    }
    kept
}

fn frames(debug: &Debug<'_>, calls: &[Call]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for call in calls {
        let places = debug.places(call.within);
        let last = places.len().saturating_sub(1);
        let nowhere = places.is_empty().then_some(Place { function: None, file: None, line: None });
        for (index, place) in places.into_iter().chain(nowhere).enumerate() {
            let is_inlined = index < last;
            let frame = Frame { pc: call.pc, place, is_inlined, times: 1 };
            match frames.last_mut() {
                Some(before) if Frame { times: 1, ..before.clone() } == frame => before.times += 1,
                _ => frames.push(frame),
            }
        }
    }
    frames
}

/// Writes the instruction of a fault: its bits, and what they say.
fn instruction(fault: &Fault) -> Option<String> {
    let extensions = match fault.registers {
        Registers::Rv32(_) => pinion_isa::Extensions::PSPIN.with(pinion_isa::Extensions::XPULP),
        Registers::Rv64(_) => pinion_isa::Extensions::RV64GC,
        Registers::X86(_) => {
            let bytes = fault.instruction.iter().take(8);
            let text: Vec<String> = bytes.map(|byte| format!("{byte:02x}")).collect();
            return (!text.is_empty()).then(|| format!("bytes {}", text.join(" ")));
        }
    };
    let bytes = fault.instruction.get(..fault.instruction.len().min(4))?;
    if bytes.len() < 2 {
        return None;
    }
    let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    let instruction = decode(word, extensions);
    let bits = match instruction.length {
        2 => format!("{:04x}", word & 0xffff),
        _ => format!("{word:08x}"),
    };
    let text = match instruction.class {
        Class::Illegal => "no instruction".to_owned(),
        _ => disassemble(&instruction, fault.pc),
    };
    Some(format!("{bits} {text}"))
}

/// Says that an instruction is illegal; if the machine could have it, which key gives it.
pub(super) fn illegal(fault: &Fault) -> Wrong {
    match missing_instruction(fault) {
        Some(text) => Wrong::new("illegal_instruction", format!("illegal instruction: {text}")),
        None => Wrong::new(
            "illegal_instruction",
            format!("illegal instruction (bits {:#010x})", fault.address),
        ),
    }
}

/// Says which instruction the machine does not have, and the key that would give it, if that is why
/// a handler ended.
pub(super) fn missing_instruction(fault: &Fault) -> Option<String> {
    const ILLEGAL_INSTRUCTION: u32 = 2;
    if fault.kind != (FaultKind::Exception { cause: ILLEGAL_INSTRUCTION })
        || !matches!(fault.registers, Registers::Rv32(_))
    {
        return None;
    }
    let text = pinion_isa::disassemble_xpulp(u32::try_from(fault.address).ok()?, fault.pc)?;
    Some(format!("`{text}` is of Xpulp, which `core.xpulp = true` enables"))
}

/// Names an exception by its `mcause`.
pub(super) fn exception(cause: u32) -> String {
    let name = pinion_isa::exception_name(cause);
    name.map_or_else(|| format!("exception {cause}"), str::to_owned)
}

/// Tells what a program's code is by its registers.
impl Code {
    /// That of the sPIN machines' HPUs.
    pub const HPU: Self =
        Self::RiscV(pinion_isa::Extensions::PSPIN.with(pinion_isa::Extensions::XPULP));
    /// That of the nanoPU.
    pub const NANOPU: Self = Self::RiscV(pinion_isa::Extensions::RV64GC);
}
