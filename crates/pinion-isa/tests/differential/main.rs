//! Compares our harts with QEMU on random programs: every block's registers by a running
//! signature, then all of memory.
//!
//! A program is a few dozen blocks of random instructions of all extensions, partly in user mode
//! under PMP, with traps, run round after round on registers that change each time. The seed is
//! printed with the command that replays it; `PINION_DIFF_SEED` and `PINION_DIFF_INSTRUCTIONS`
//! choose others. Compiled programs are compared too, among them the handlers of the examples;
//! `PINION_DIFF_ELF` names more of them.

mod assembler;
mod elf;
mod examples;
mod float;
mod frame;
mod generate;
mod layout;
mod qemu;
mod random;
mod shapes;

use generate::{Kind, Program};
use pinion_isa::flat::{FlatMachine, Stop};
use pinion_isa::{Extensions, HartConfig, Xlen, decode, disassemble};

const BLOCKS: u32 = 64;
const BLOCK_LENGTH: u32 = 400;
/// Instructions of one program, about.
const PROGRAM_INSTRUCTIONS: u64 = 2_000_000;

fn environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.replace('_', "").parse(),
    };
    Some(parsed.unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn config(kind: Kind, wide: bool) -> HartConfig {
    HartConfig { extensions: kind.extensions(wide), mtvec_mask: !2, ..HartConfig::default() }
}

fn run_ours<X: Xlen>(kind: Kind, program: &Program) -> FlatMachine<X> {
    let wide = X::BITS == 64;
    let base = X::from_u64(u64::from(layout::BASE));
    let mut machine = FlatMachine::<X>::new(&config(kind, wide), base, layout::BYTES);
    machine.load(base, &program.memory).expect("it fits");
    let code = &program.memory[..layout::CODE_BYTES as usize];
    machine.load_code(base, code).expect("it fits");
    let stop = machine.run(100 * PROGRAM_INSTRUCTIONS);
    assert_eq!(stop, Stop::Finished(0), "our hart did not reach the end");
    machine
}

fn word(memory: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes"))
}

/// Describes the first differences: a trap, a block, or else just a place in memory.
fn explain(program: &Program, ours: &[u8], theirs: &[u8], extensions: Extensions) -> String {
    let trap_log = (layout::TRAP_LOG - layout::BASE) as usize;
    let mut traps = (trap_log..trap_log + layout::TRAP_LOG_BYTES as usize).step_by(32);
    let mut text = String::new();
    if let Some(at) = traps.find(|&at| ours[at..at + 32] != theirs[at..at + 32]) {
        let seen = |memory: &[u8]| {
            [0, 8, 16, 24].map(|offset| format!("{:x}", word(memory, at + offset))).join(" ")
        };
        text = format!(
            "trap {} differs (mcause, mepc, mtval, mstatus):\nours {}\nQEMU {}\n",
            (at - trap_log) / 32,
            seen(ours),
            seen(theirs)
        );
    }
    let log = (layout::LOG - layout::BASE) as usize;
    let differs = |index: usize| word(ours, log + 8 * index) != word(theirs, log + 8 * index);
    if let Some(entry) = (0..layout::LOG_ENTRIES as usize).find(|&index| differs(index)) {
        let (round, block) = (entry / program.blocks.len(), entry % program.blocks.len());
        text.push_str(&format!("block {block} in round {round} ends with other registers:\n"));
        text.push_str(&listing(program, block, extensions));
    }
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(0) & !7;
    let (us, them) = (word(ours, at), word(theirs, at));
    format!("{text}memory differs first at offset {at:#x}: ours {us:#x}, QEMU {them:#x}")
}

fn listing(program: &Program, block: usize, extensions: Extensions) -> String {
    let (mut pc, end) = program.blocks[block];
    let mut text = String::new();
    while pc < end {
        let bits = word(&program.memory, (pc - layout::BASE) as usize) as u32;
        let instruction = decode(bits, extensions);
        let assembly = disassemble(&instruction, u64::from(pc));
        text.push_str(&format!("{pc:08x}: {bits:08x} {assembly}\n"));
        pc += u32::from(instruction.length);
    }
    text
}

/// What a program did on both sides.
#[derive(Default)]
struct Compared {
    executed: u64,
    traps: u64,
}

/// Runs one program on both sides.
fn compare_once<X: Xlen>(
    emulator: &str,
    kind: Kind,
    seed: u64,
    rounds: u32,
) -> Result<Compared, String> {
    let wide = X::BITS == 64;
    let program = generate::program(seed, kind, wide, BLOCKS, BLOCK_LENGTH, rounds);
    let ours = run_ours::<X>(kind, &program);
    let theirs = qemu::run(emulator, &program.memory, kind);
    if ours.memory() != theirs.memory || theirs.code != Some(0) {
        return Err(explain(&program, ours.memory(), &theirs.memory, kind.extensions(wide)));
    }
    let traps = (layout::SAVE - layout::BASE) as usize + layout::TRAPS as usize;
    Ok(Compared { executed: ours.hart.instret, traps: word(ours.memory(), traps) })
}

/// Runs random programs on both sides until enough instructions have been compared.
fn compare<X: Xlen>(test: &str, kind: Kind, instructions: u64) {
    let Some(emulator) = qemu::find(X::BITS == 64) else { return };
    let total = environment("PINION_DIFF_INSTRUCTIONS").unwrap_or(instructions);
    let mut seed = environment("PINION_DIFF_SEED").unwrap_or(0x5049_4e49_4f4e);
    let rounds = (PROGRAM_INSTRUCTIONS / u64::from(BLOCKS * (BLOCK_LENGTH + 200))) as u32;
    let mut all = Compared::default();
    while all.executed < total {
        let replay = format!(
            "PINION_DIFF_SEED={seed:#x} PINION_DIFF_INSTRUCTIONS=1 \
             cargo test -p pinion-isa --test differential {test}"
        );
        println!("replay with: {replay}");
        match compare_once::<X>(emulator, kind, seed, rounds) {
            Ok(compared) => {
                all.executed += compared.executed;
                all.traps += compared.traps;
            }
            Err(difference) => {
                // Fewer rounds show it more plainly, if they show it at all.
                let plain = [1, 4, 16]
                    .into_iter()
                    .find_map(|rounds| compare_once::<X>(emulator, kind, seed, rounds).err());
                panic!("{}\nreplay with: {replay}", plain.unwrap_or(difference));
            }
        }
        seed = seed.wrapping_add(1);
    }
    let Compared { executed, traps } = all;
    println!("{executed} instructions, {traps} traps: same registers and memory");
}

#[test]
fn rv32_like_qemu() {
    compare::<u32>("rv32_like_qemu", Kind::Integer, 30_000_000);
}

#[test]
fn rv64_like_qemu() {
    compare::<u64>("rv64_like_qemu", Kind::Integer, 10_000_000);
}

#[test]
fn rv32_float_like_qemu() {
    compare::<u32>("rv32_float_like_qemu", Kind::Float, 10_000_000);
}

#[test]
fn rv64_float_like_qemu() {
    compare::<u64>("rv64_float_like_qemu", Kind::Float, 10_000_000);
}

#[test]
fn compiled_programs_like_qemu() {
    let Some(emulator) = qemu::find(false) else { return };
    let mut programs = elf::compile();
    let more = std::env::var_os("PINION_DIFF_ELF").unwrap_or_default();
    programs.extend(std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty()));
    for program in programs {
        elf::compare::<u32>(emulator, &program, Kind::Integer);
    }
}

fn compare_float_programs<X: Xlen>() {
    let wide = X::BITS == 64;
    let Some(emulator) = qemu::find(wide) else { return };
    for program in elf::compile_float(wide) {
        elf::compare::<X>(emulator, &program, Kind::Float);
    }
}

#[test]
fn compiled_float_programs_like_qemu() {
    compare_float_programs::<u32>();
    compare_float_programs::<u64>();
}

#[test]
fn examples_like_qemu() {
    let Some(emulator) = qemu::find(false) else { return };
    if !elf::compiler_found() {
        return;
    }
    for example in examples::compile() {
        example.compare(emulator);
    }
}
