//! Runs the cases in `tests/filetests/*.txt`: instructions, state before, state after.
//!
//! ```text
//! case addi wraps around
//!   fff58513 addi a0,a1,-1
//!   before a1=0
//!   after a0=0xffffffff
//! ```
//! Each instruction stands as its bits and our disassembly. `before` and `after` set and check
//! registers, memory words (`[0x2000]=1`), CSRs by name, `mode=user`, and `pc` (the code lies at
//! 0x1000). `after` also knows `trap=illegal-instruction` with `value=`. What `after` does not
//! name must not have changed; the program counter must have gone straight on. A line `rv64` makes
//! the cases after it run on 64-bit registers, `strict` on a core that traps misaligned accesses,
//! `float` on a core with floating point, turned on, `xpulp` on one with Xpulp. Floating-point registers are written with the
//! format's letter, as `1.5d`, `-infs` and `nand` (the canonical NaN), or as their bits, `0x…`;
//! `fcsr` must not have changed either unless `after` names it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use pinion_isa::csr::number::MSTATUS;
use pinion_isa::flat::{FlatMachine, Stop};
use pinion_isa::{
    Extensions, FLOAT_REGISTER_NAMES, HartConfig, Op, Privilege, REGISTER_NAMES, Xlen, csr_number,
    decode, disassemble,
};

const BASE: u64 = 0x1000;
const MEMORY_BYTES: usize = 0x4000;

#[derive(Default, Clone)]
struct Case {
    name: String,
    line: usize,
    wide: bool,
    strict: bool,
    float: bool,
    xpulp: bool,
    code: Vec<(u32, String)>,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
}

impl Case {
    fn config(&self) -> HartConfig {
        let extensions = match (self.float, self.wide) {
            (false, false) => Extensions::PSPIN,
            (false, true) => Extensions::RV64IMAC,
            (true, false) => Extensions::RV32GC,
            (true, true) => Extensions::RV64GC,
        };
        let extensions = if self.xpulp { extensions.with(Extensions::XPULP) } else { extensions };
        HartConfig { extensions, trap_misaligned: self.strict, ..HartConfig::default() }
    }
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let (mut wide, mut strict, mut float, mut xpulp) = (false, false, false, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let assignments = || {
            rest.split_whitespace().map(|pair| {
                let (name, value) = pair.split_once('=').expect("name=value");
                (name.to_owned(), value.to_owned())
            })
        };
        let last = cases.last_mut();
        match (first, last) {
            ("", _) => {}
            ("rv64", _) => wide = true,
            ("strict", _) => strict = true,
            ("float", _) => float = true,
            ("xpulp", _) => xpulp = true,
            ("case", _) => {
                let name = rest.to_owned();
                let line = index + 1;
                cases.push(Case { name, line, wide, strict, float, xpulp, ..Case::default() });
            }
            ("before", Some(case)) => case.before.extend(assignments()),
            ("after", Some(case)) => case.after.extend(assignments()),
            (bits, Some(case)) => {
                let word = u32::from_str_radix(bits, 16).expect("hexadecimal bits");
                case.code.push((word, rest.trim().to_owned()));
            }
            (_, None) => panic!("line {}: before the first case", index + 1),
        }
    }
    cases
}

fn number<X: Xlen>(text: &str) -> X {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    let value = value.unwrap_or_else(|_| panic!("`{text}` is not a number"));
    X::from_u64(if negative { value.wrapping_neg() } else { value })
}

fn register(name: &str) -> Option<usize> {
    REGISTER_NAMES.iter().position(|known| *known == name)
}

fn float_register(name: &str) -> Option<usize> {
    FLOAT_REGISTER_NAMES.iter().position(|known| *known == name)
}

/// Gives the bits of a floating-point register.
fn float_bits(text: &str) -> u64 {
    const BOX: u64 = 0xffff_ffff << 32;
    if text.starts_with("0x") {
        return number(text);
    }
    let (digits, format) = text.split_at(text.len() - 1);
    match (digits, format) {
        ("nan", "s") => BOX | 0x7fc0_0000,
        ("nan", "d") => 0x7ff8 << 48,
        (_, "s") => BOX | u64::from(digits.parse::<f32>().expect("a number").to_bits()),
        (_, "d") => digits.parse::<f64>().expect("a number").to_bits(),
        _ => panic!("`{text}` does not end with its format, s or d"),
    }
}

fn memory_address(name: &str) -> Option<u64> {
    let inner = name.strip_prefix('[')?.strip_suffix(']')?;
    Some(number::<u64>(inner))
}

struct Run<X> {
    machine: FlatMachine<X>,
    stop: Stop<X>,
    errors: String,
}

impl<X: Xlen> Run<X> {
    fn prepare(case: &Case) -> FlatMachine<X> {
        let config = case.config();
        let mut machine = FlatMachine::<X>::new(&config, X::from_u64(BASE), MEMORY_BYTES);
        machine.stop_on_trap = true;
        let mut code = Vec::new();
        for (word, text) in &case.code {
            let instruction = decode(*word, config.extensions);
            let pc = BASE + code.len() as u64;
            assert_eq!(&disassemble(&instruction, pc), text, "case `{}`", case.name);
            code.extend(&word.to_le_bytes()[..usize::from(instruction.length)]);
        }
        machine.load_code(X::from_u64(BASE), &code).expect("it fits");
        machine.hart.write_csr(MSTATUS, X::from_u32(0x3800)); // MPP and FS: initial
        for (name, value) in &case.before {
            if let Some(index) = register(name) {
                machine.hart.x[index] = number(value);
            } else if let Some(index) = float_register(name) {
                machine.hart.f[index] = float_bits(value);
            } else if let Some(address) = memory_address(name) {
                let word = number::<u32>(value).to_le_bytes();
                machine.load(X::from_u64(address), &word).expect("it fits");
            } else if name == "mode" {
                machine.hart.privilege = mode(value);
            } else {
                let csr = csr_number(name).unwrap_or_else(|| panic!("`{name}` is nothing known"));
                machine.hart.write_csr(csr, number(value));
            }
        }
        if machine.hart.privilege == Privilege::User {
            // Everything is allowed by the last entry, unless the case sets others.
            machine.hart.pmp.set(15, 0b11111, X::MAX);
        }
        machine
    }

    fn new(case: &Case) -> Self {
        let mut machine = Self::prepare(case);
        let mut stop = Stop::Limit;
        // A doubleword of floating point takes two steps on RV32.
        for _ in 0..2 * case.code.len() {
            if machine.hart.instret < case.code.len() as u64 && stop == Stop::Limit {
                stop = machine.run(1);
            }
        }
        Self { machine, stop, errors: String::new() }
    }

    fn compare(&mut self, what: &str, expected: X, found: X) {
        if expected != found {
            let _ = writeln!(self.errors, "  {what}={found:#x}, expected {expected:#x}");
        }
    }

    fn check(mut self, case: &Case) -> String {
        let hart = Self::prepare(case).hart;
        let before = hart.x;
        let value = |name: &str| case.after.get(name).map(|value| number::<X>(value));
        for (index, name) in REGISTER_NAMES.into_iter().enumerate() {
            let found = self.machine.hart.x[index];
            self.compare(name, value(name).unwrap_or(before[index]), found);
        }
        for (index, name) in FLOAT_REGISTER_NAMES.into_iter().enumerate() {
            let expected = case.after.get(name).map_or(hart.f[index], |text| float_bits(text));
            let found = self.machine.hart.f[index];
            if expected != found {
                let _ = writeln!(self.errors, "  {name}={found:#x}, expected {expected:#x}");
            }
        }
        let fcsr = value("fcsr").unwrap_or(X::from_u32(hart.csr.fcsr));
        self.compare("fcsr", fcsr, X::from_u32(self.machine.hart.csr.fcsr));
        let straight = if case.after.contains_key("trap") {
            BASE
        } else {
            let lengths = case.code.iter().map(|(word, _)| if word & 3 == 3 { 4 } else { 2 });
            BASE + lengths.sum::<u64>()
        };
        let pc = self.machine.hart.pc;
        self.compare("pc", value("pc").unwrap_or(X::from_u64(straight)), pc);
        self.check_trap(case);
        for (name, text) in &case.after {
            if let Some(address) = memory_address(name) {
                let bytes = self.machine.bytes(X::from_u64(address), 4).expect("in memory");
                let word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
                self.compare(name, X::from_u32(number(text)), X::from_u32(word));
            } else if let Some(csr) = csr_number(name) {
                let found = self.machine.hart.read_csr(csr).expect("it exists");
                self.compare(name, number(text), found);
            } else if name == "mode" && self.machine.hart.privilege != mode(text) {
                let _ = writeln!(self.errors, "  mode is not {text}");
            }
        }
        self.errors
    }

    fn check_trap(&mut self, case: &Case) {
        let expected = case.after.get("trap").map_or("none", String::as_str);
        let (found, value) = match self.stop {
            Stop::Trap(exception) => {
                (exception.cause.describe().replace(' ', "-"), exception.value)
            }
            _ => ("none".to_owned(), X::ZERO),
        };
        if found != expected {
            let _ = writeln!(self.errors, "  trap={found}, expected {expected}");
        }
        let expected = case.after.get("value").map_or(X::ZERO, |text| number(text));
        self.compare("value", expected, value);
    }
}

fn mode(name: &str) -> Privilege {
    match name {
        "user" => Privilege::User,
        "machine" => Privilege::Machine,
        _ => panic!("mode={name}: user or machine"),
    }
}

fn read(name: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    parse(&std::fs::read_to_string(folder.join(name)).expect("the file can be read"))
}

fn run_file(name: &str) {
    let cases = read(name);
    assert!(!cases.is_empty());
    let mut report = String::new();
    for case in &cases {
        let errors = match case.wide {
            true => Run::<u64>::new(case).check(case),
            false => Run::<u32>::new(case).check(case),
        };
        if !errors.is_empty() {
            let _ = writeln!(report, "{name}:{}: {}\n{errors}", case.line, case.name);
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

macro_rules! files {
    ($($test:ident $file:literal,)*) => {
        $(#[test] fn $test() { run_file($file); })*

        #[test]
        fn every_operation_has_a_case() {
            let mut missing = Op::ALL.to_vec();
            for file in [$($file,)*] {
                for case in read(file) {
                    let extensions = case.config().extensions;
                    for (word, _) in &case.code {
                        missing.retain(|op| *op != decode(*word, extensions).op);
                    }
                }
            }
            assert!(missing.is_empty(), "{missing:?}");
        }

        #[test]
        fn every_file_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
            for entry in std::fs::read_dir(folder).expect("the folder can be read") {
                let name = entry.expect("an entry").file_name();
                assert!([$($file,)*].iter().any(|known| name == *known), "{name:?} is not run");
            }
        }
    };
}

files! {
    integer "integer.txt",
    multiply "multiply.txt",
    memory "memory.txt",
    atomic "atomic.txt",
    control "control.txt",
    compressed "compressed.txt",
    csr "csr.txt",
    traps "traps.txt",
    misaligned "misaligned.txt",
    rv64 "rv64.txt",
    float "float.txt",
    float_rv64 "float_rv64.txt",
    xpulp "xpulp.txt",
}
