//! The shapes of riscv-tests, one group of cases for each instruction: edge operands, every register in every
//! role, results that replace an operand, `x0`, near and far targets, traps, memory protection.
//!
//! A case is data: one or two instructions, the registers, `fcsr`, `mstatus` and PMP entries they begin with. A
//! driver on the machine puts the instructions into a field of `ebreak`s, enters them by `mret`, and writes down
//! what it finds at the trap that ends them (see [`driver`]). What QEMU found is kept as a digest of each group in
//! `expected.txt`, so that no QEMU is needed; where there is one, it is asked again and differences are shown
//! case by case. `PINION_BLESS=1` writes QEMU's digests down.

mod compressed;
mod driver;
mod float;
mod integer;
mod machine;
mod memory;
mod protection;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pinion_isa::flat::{FlatMachine, Stop};
use pinion_isa::{Extensions, HartConfig, Xlen, decode, disassemble};

use crate::layout::BASE;
use crate::{generate::Kind, qemu};

/// Edges of integers, as both widths see them.
const EDGES: [u64; 18] = [
    0,
    1,
    2,
    u64::MAX,
    u64::MAX - 1,
    0x7fff_ffff,
    0xffff_ffff_8000_0000,
    0xffff_ffff,
    0x8000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x5555_5555_5555_5555,
    0xaaaa_aaaa_aaaa_aaaa,
    0x0123_4567_89ab_cdef,
    31,
    32,
    63,
    64,
];

/// What a case begins with.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The instructions; two compressed `ebreak`s are none.
    pub code: [u32; 2],
    /// `x10` to `x13`.
    pub x: [u64; 4],
    /// `f10` to `f12`.
    pub f: [u64; 3],
    /// `fcsr`.
    pub fcsr: u64,
    /// `mstatus`, whose MPP says at which privilege it runs.
    pub mstatus: u64,
    /// `pmpaddr0`, `pmpaddr1` and the first word of `pmpcfg0`.
    pub pmp: [u64; 3],
    /// Where it stands, from the first slot on: 0 or 2.
    pub place: u64,
}

impl Case {
    /// One instruction on two values.
    pub fn new(word: u32, first: u64, second: u64) -> Self {
        Self {
            code: [word, driver::EBREAKS],
            x: [first, second, 0x7777, 0x1234_5678],
            f: [0; 3],
            fcsr: 0,
            mstatus: MACHINE,
            pmp: [0; 3],
            place: 0,
        }
    }

    /// With another instruction behind it.
    pub fn then(self, word: u32) -> Self {
        Self { code: [self.code[0], word], ..self }
    }
}

/// `mstatus` of a case in machine mode, and in user mode, with floating point on.
pub const MACHINE: u64 = 0x7800;
/// See [`MACHINE`].
pub const USER: u64 = 0x6000;

/// Cases of one instruction.
pub struct Group {
    /// The instruction's name, or what is common to the cases.
    pub name: String,
    /// The cases.
    pub cases: Vec<Case>,
}

/// Cases that run as one program.
pub struct Suite {
    /// Its name, as riscv-tests would have it.
    pub name: String,
    /// Its groups.
    pub groups: Vec<Group>,
    /// Whether there is floating point.
    pub kind: Kind,
    /// Whether there are compressed instructions.
    pub compressed: bool,
    /// PMP entries 0 to 7 that are locked before the first case: addresses and configurations.
    pub locked: Vec<(u64, u8)>,
}

impl Suite {
    fn new(name: &str, wide: bool, kind: Kind) -> Self {
        let name = format!("rv{}{name}", if wide { 64 } else { 32 });
        Self { name, groups: Vec::new(), kind, compressed: true, locked: Vec::new() }
    }

    fn add(&mut self, name: &str, cases: impl IntoIterator<Item = Case>) {
        self.groups.push(Group { name: name.to_owned(), cases: cases.into_iter().collect() });
    }

    fn extensions(&self, wide: bool) -> Extensions {
        let all = self.kind.extensions(wide);
        if self.compressed { all } else { all.without(Extensions::C) }
    }
}

/// What both sides have of a suite: a record of each case.
type Records = Vec<[u64; driver::RECORD_WORDS]>;

fn ours<X: Xlen>(suite: &Suite, memory: &[u8]) -> Records {
    let extensions = suite.extensions(X::BITS == 64);
    let config = HartConfig { extensions, mtvec_mask: !2, ..HartConfig::default() };
    let base = X::from_u64(u64::from(BASE));
    let mut machine = FlatMachine::<X>::new(&config, base, memory.len());
    machine.load(base, memory).expect("it fits");
    let stop = machine.run(400_000_000);
    let at = driver::current(machine.memory());
    assert_eq!(stop, Stop::Finished(0), "{}: our hart did not end case {at}", suite.name);
    driver::records(machine.memory(), suite)
}

/// FNV-1a of the records of a group.
fn digest(records: &[[u64; driver::RECORD_WORDS]]) -> u64 {
    let bytes = records.iter().flatten().flat_map(|word| word.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Lines of a suite in the file: its name, the group's, the number of cases, their digest.
fn lines(suite: &Suite, records: &Records) -> Vec<String> {
    let mut first = 0;
    let line = |group: &Group| {
        let own = &records[first..first + group.cases.len()];
        first += group.cases.len();
        format!("{} {} {} {:016x}", suite.name, group.name, own.len(), digest(own))
    };
    suite.groups.iter().map(line).collect()
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential/shapes/expected.txt"))
}

/// The lines of the file, by suite and group.
fn expected() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let keyed = |line: &str| {
        let mut words = line.splitn(3, ' ');
        Some((format!("{} {}", words.next()?, words.next()?), line.to_owned()))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(keyed).collect()
}

/// How many cases are shown.
const MOST_SHOWN: usize = 12;

/// The first cases that differ.
fn explain(suite: &Suite, wide: bool, ours: &Records, theirs: &Records) -> String {
    let cases =
        suite.groups.iter().flat_map(|group| group.cases.iter().map(|case| (&group.name, case)));
    let (mut text, mut count) = (String::new(), 0);
    for ((name, case), (ours, theirs)) in cases.zip(ours.iter().zip(theirs)) {
        if ours == theirs {
            continue;
        }
        count += 1;
        if count > MOST_SHOWN {
            continue;
        }
        let assembly = case.code.map(|word| {
            disassemble(&decode(word, suite.extensions(wide)), u64::from(driver::SLOT))
        });
        text.push_str(&format!("  {name}: {assembly:?} of {case:x?}\n"));
        for (field, (ours, theirs)) in driver::FIELDS.iter().zip(ours.iter().zip(theirs)) {
            if ours != theirs {
                text.push_str(&format!("    {field}: ours {ours:#x}, QEMU {theirs:#x}\n"));
            }
        }
    }
    format!("{count} cases differ\n{text}")
}

/// Runs a suite; gives QEMU's lines, where there is a QEMU, or what differs.
fn compare<X: Xlen>(suite: &Suite) -> Result<Option<Vec<String>>, String> {
    let wide = X::BITS == 64;
    let memory = driver::program(suite, wide);
    let ours = ours::<X>(suite, &memory);
    let mut off = qemu::off(suite.kind);
    if !suite.compressed {
        off.push("c");
    }
    let theirs = qemu::find(wide).map(|emulator| {
        let finished = qemu::run_without(emulator, &memory, &off);
        assert_eq!(finished.code, Some(0), "{}: QEMU did not reach the end", suite.name);
        driver::records(&finished.memory, suite)
    });
    if let Some(theirs) = theirs.as_ref().filter(|theirs| **theirs != ours) {
        return Err(format!("{}: {}", suite.name, explain(suite, wide, &ours, theirs)));
    }
    let found = lines(suite, &ours);
    println!("{}: {} groups, {} cases", suite.name, suite.groups.len(), ours.len());
    if std::env::var_os("PINION_BLESS").is_none() {
        let expected = expected();
        for line in &found {
            let key: Vec<&str> = line.splitn(3, ' ').collect();
            let kept = expected.get(&format!("{} {}", key[0], key[1]));
            if kept != Some(line) {
                return Err(format!(
                    "{line}: {} has {kept:?}; install qemu-system-misc to see which case differs, or \
                     write QEMU's down by PINION_BLESS=1 where cases changed",
                    file().display()
                ));
            }
        }
    }
    Ok(theirs.map(|theirs| lines(suite, &theirs)))
}

/// All suites of a register width.
fn suites(wide: bool) -> Vec<Suite> {
    let mut all = vec![
        integer::base(wide),
        integer::multiply(wide),
        memory::atomic(wide),
        compressed::all(wide),
        machine::all(wide),
        machine::fetch(wide),
        protection::open(wide),
        float::single(wide),
        float::double(wide),
    ];
    all.extend(protection::locked(wide));
    all
}

#[test]
fn shapes_of_every_instruction() {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    let mut all = true;
    for wide in [false, true] {
        for suite in suites(wide) {
            let found = if wide { compare::<u64>(&suite) } else { compare::<u32>(&suite) };
            match found {
                Ok(found) => {
                    all &= found.is_some();
                    lines.extend(found.unwrap_or_default());
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    if std::env::var_os("PINION_BLESS").is_some() {
        assert!(all, "only QEMU's answers are written down");
        let head = "# Suite, instruction, number of cases, digest of what QEMU 7.2 made of them; written by\n\
                    # PINION_BLESS=1 cargo test -p pinion-isa --test differential shapes\n";
        let text = format!("{head}{}\n", lines.join("\n"));
        std::fs::write(file(), text).expect("it can be written");
    }
}
