//! Floating point (riscv-tests: uf, ud): every operation on special values, in every rounding mode, flags too.

use super::driver::{EBREAKS, SCRATCH};
use super::{Case, MACHINE, Suite, USER};
use crate::assembler::{csr, i, r, s};
use crate::generate::Kind;

const SINGLES: [u64; 20] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3fc0_0000,
    0x4049_0fdb,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0x3f80_0001,
    0x3f00_0001,
    0x4b00_0001,
    0x1f80_0000,
];
const DOUBLES: [u64; 20] = [
    0,
    0x8000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4009_21fb_5444_2d18,
    1,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x3ff0_0000_0000_0001,
    0x3fe0_0000_0000_0001,
    0x4330_0000_0000_0001,
    0x1ff0_0000_0000_0000,
];
/// Where conversions to integers change: halves, and both sides of the integers' limits.
const SINGLE_LIMITS: [u64; 14] = [
    0x3f00_0000,
    0xbf00_0000,
    0xbf7f_ffff,
    0x4020_0000,
    0xc060_0000,
    0x4eff_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0xcf00_0001,
    0x4f7f_ffff,
    0x4f80_0000,
    0x5eff_ffff,
    0x5f00_0000,
    0x5f80_0000,
];
const DOUBLE_LIMITS: [u64; 18] = [
    0x3fe0_0000_0000_0000,
    0xbfe0_0000_0000_0000,
    0xbfef_ffff_ffff_ffff,
    0x4004_0000_0000_0000,
    0xc00c_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41df_ffff_ffe0_0000,
    0x41e0_0000_0000_0000,
    0xc1e0_0000_0010_0000,
    0xc1e0_0000_0020_0000,
    0x41ef_ffff_ffe0_0000,
    0x41ef_ffff_fff0_0000,
    0x41f0_0000_0000_0000,
    0x43df_ffff_ffff_ffff,
    0x43e0_0000_0000_0000,
    0xc3e0_0000_0000_0001,
    0x43ef_ffff_ffff_ffff,
    0x47ef_ffff_f000_0000,
];
/// Five modes, the dynamic one, and one that is reserved.
const MODES: [u32; 7] = [0, 1, 2, 3, 4, 7, 5];

/// A format: its number in instructions, and whether it is boxed.
#[derive(Clone, Copy)]
struct Format {
    letter: &'static str,
    number: u32,
    values: &'static [u64],
    limits: &'static [u64],
}

const SINGLE: Format = Format { letter: "s", number: 0, values: &SINGLES, limits: &SINGLE_LIMITS };
const DOUBLE: Format = Format { letter: "d", number: 1, values: &DOUBLES, limits: &DOUBLE_LIMITS };

impl Format {
    fn register(self, value: u64) -> u64 {
        if self.number == 0 { 0xffff_ffff << 32 | value } else { value }
    }

    fn case(self, word: u32, values: [u64; 3]) -> Case {
        Case { f: values.map(|value| self.register(value)), ..Case::new(word, 0, 0) }
    }

    fn all(self) -> impl Iterator<Item = u64> {
        self.values.iter().chain(self.limits).copied()
    }
}

/// `uf`.
pub fn single(wide: bool) -> Suite {
    let mut suite = Suite::new("uf", wide, Kind::Float);
    of_format(&mut suite, SINGLE, wide);
    control(&mut suite);
    suite
}

/// `ud`.
pub fn double(wide: bool) -> Suite {
    let mut suite = Suite::new("ud", wide, Kind::Float);
    of_format(&mut suite, DOUBLE, wide);
    // Between the formats, and what is no boxed single.
    let mut cases = Vec::new();
    for mode in MODES {
        let narrow = r(0x53, mode, 0x20, 13, 10, 1);
        cases.extend(DOUBLE.all().map(|value| DOUBLE.case(narrow, [value, 0, 0])));
    }
    suite.add("fcvt.s.d", cases);
    let widen = r(0x53, 0, 0x21, 13, 10, 0);
    suite.add("fcvt.d.s", SINGLE.all().map(|value| SINGLE.case(widen, [value, 0, 0])));
    let mut unboxed = Vec::new();
    for funct7 in [0x00, 0x08, 0x10, 0x14, 0x50, 0x70] {
        for upper in [0, 0xffff_fffe, 0x7fff_ffff] {
            let word = r(0x53, 0, funct7, 13, 10, if funct7 == 0x70 { 0 } else { 11 });
            let mut case = SINGLE.case(word, [0x3f80_0000, 0x3f80_0000, 0]);
            case.f[0] = upper << 32 | 0x3f80_0000;
            unboxed.push(case);
        }
    }
    suite.add("unboxed", unboxed);
    compressed(&mut suite);
    suite
}

fn of_format(suite: &mut Suite, format: Format, wide: bool) {
    let name = |name: &str| format!("{name}.{}", format.letter);
    let pairs = || format.values.iter().flat_map(|a| format.values.iter().map(|b| (*a, *b)));
    let funct7 = |funct5: u32| funct5 << 2 | format.number;
    for (operation, funct5) in [("fadd", 0), ("fsub", 1), ("fmul", 2), ("fdiv", 3)] {
        let mut cases = Vec::new();
        for mode in MODES {
            let word = r(0x53, mode, funct7(funct5), 13, 10, 11);
            cases.extend(pairs().map(|(a, b)| format.case(word, [a, b, 0])));
        }
        suite.add(&name(operation), with_dynamic(cases));
    }
    let mut roots = Vec::new();
    for mode in MODES {
        let word = r(0x53, mode, funct7(0xb), 13, 10, 0);
        roots.extend(format.all().map(|value| format.case(word, [value, 0, 0])));
    }
    suite.add(&name("fsqrt"), with_dynamic(roots));
    for (operation, opcode) in
        [("fmadd", 0x43), ("fmsub", 0x47), ("fnmsub", 0x4b), ("fnmadd", 0x4f)]
    {
        let mut cases = Vec::new();
        for (number, (a, b)) in pairs().enumerate() {
            for (third, c) in
                format.values.iter().enumerate().filter(|(third, _)| third % 3 == number % 3)
            {
                let mode = MODES[(number + third) % 6];
                let word = r(opcode, mode, 12 << 2 | format.number, 13, 10, 11);
                cases.push(format.case(word, [a, b, *c]));
            }
        }
        suite.add(&name(operation), with_dynamic(cases));
    }
    for (operation, funct5, funct3) in [
        ("fsgnj", 4, 0),
        ("fsgnjn", 4, 1),
        ("fsgnjx", 4, 2),
        ("fmin", 5, 0),
        ("fmax", 5, 1),
        ("fle", 0x14, 0),
        ("flt", 0x14, 1),
        ("feq", 0x14, 2),
    ] {
        let word = r(0x53, funct3, funct7(funct5), 13, 10, 11);
        suite.add(&name(operation), pairs().map(|(a, b)| format.case(word, [a, b, 0])));
    }
    suite.add(
        &name("fclass"),
        format.all().map(|value| format.case(r(0x53, 1, funct7(0x1c), 13, 10, 0), [value, 0, 0])),
    );
    conversions(suite, format, wide);
    transfers(suite, format, wide);
}

/// Cases whose mode is the dynamic one get each mode from `fcsr`, reserved ones too.
fn with_dynamic(cases: Vec<Case>) -> Vec<Case> {
    let set = |(number, case): (usize, Case)| match case.code[0] >> 12 & 7 {
        7 => Case { fcsr: (number as u64 % 7) << 5, ..case },
        _ => case,
    };
    cases.into_iter().enumerate().map(set).collect()
}

fn conversions(suite: &mut Suite, format: Format, wide: bool) {
    let funct7 = |funct5: u32| funct5 << 2 | format.number;
    let letter = format.letter;
    // On RV32 those of long integers are illegal.
    for (kind, integer) in ["w", "wu", "l", "lu"].into_iter().enumerate() {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for mode in MODES {
            let word = r(0x53, mode, funct7(0x18), 13, 10, kind as u8);
            to.extend(format.all().map(|value| format.case(word, [value, 0, 0])));
            let word = r(0x53, mode, funct7(0x1a), 13, 10, kind as u8);
            let more = [0x0100_0001, 0x00ff_ffff, 0x0020_0000_0000_0001, 0x7fff_ff80, 0xffff_ff80];
            let values = super::EDGES.into_iter().chain(more);
            from.extend(values.map(|value| Case::new(word, value, 0)));
        }
        suite.add(&format!("fcvt.{integer}.{letter}"), with_dynamic(to));
        suite.add(&format!("fcvt.{letter}.{integer}"), with_dynamic(from));
    }
    if format.number == 0 || wide {
        let bits = if format.number == 0 { "w" } else { "d" };
        let out = r(0x53, 0, funct7(0x1c), 13, 10, 0);
        suite.add(&format!("fmv.x.{bits}"), format.all().map(|v| format.case(out, [v, 0, 0])));
        let back = r(0x53, 0, funct7(0x1e), 13, 10, 0);
        suite.add(&format!("fmv.{bits}.x"), format.all().map(|value| Case::new(back, value, 0)));
    }
}

fn transfers(suite: &mut Suite, format: Format, wide: bool) {
    let width = format.number + 2;
    let name = ["w", "d"][format.number as usize];
    let middle = u64::from(SCRATCH) + 128;
    let places = || {
        [0, 4, 8, -8, 0x7ff, -0x800].into_iter().flat_map(|offset: i32| {
            // RV32 accesses doublewords in halves; misaligned ones are singles'.
            let most = if wide || width == 2 { 8 } else { 1 };
            (0..most).map(move |odd| (offset, (middle + odd).wrapping_sub(offset as u64)))
        })
    };
    let loads = places().map(|(offset, at)| Case::new(i(0x07, width, 13, 10, offset), at, 0));
    suite.add(&format!("fl{name}"), loads);
    let store = |offset| s(width, 10, 10, offset) & !0x7f | 0x27;
    let stores = places().map(|(offset, at)| Case {
        f: [0x1122_3344_5566_7788; 3],
        ..Case::new(store(offset), at, 0)
    });
    suite.add(&format!("fs{name}"), stores);
    let reserved = [0, 1, 4, 5, 6, 7].map(|width| Case::new(i(0x07, width, 13, 10, 0), middle, 0));
    suite.add(&format!("fl{name}-reserved"), reserved);
}

/// `fcsr` and its parts; floating point that is off.
fn control(suite: &mut Suite) {
    let mut cases = Vec::new();
    for number in [1, 2, 3] {
        for funct3 in [1, 2, 3, 5, 6, 7] {
            for source in [0, 10, 11, 31] {
                for fcsr in [0, 0xff, 0x45] {
                    let case = Case::new(csr(funct3, 13, number, source), 0xffff_ffa5, 0x1f);
                    cases.push(Case { fcsr, ..case.then(csr(2, 11, 3, 0)) });
                }
            }
        }
    }
    suite.add("fcsr", cases);
    let any = [
        r(0x53, 0, 0, 13, 10, 11),
        r(0x53, 0, 0x78, 13, 10, 0),
        i(0x07, 2, 13, 10, 0),
        s(2, 10, 10, 0) & !0x7f | 0x27,
        csr(2, 13, 3, 0),
        csr(5, 13, 1, 0),
        EBREAKS & !0xffff | 0x2188, // c.fld fa0,0(a1)
    ];
    let off = any.iter().flat_map(|word| {
        [MACHINE, USER].map(|mstatus| Case {
            mstatus: mstatus & !0x6000,
            ..Case::new(*word, u64::from(SCRATCH), u64::from(SCRATCH))
        })
    });
    suite.add("off", off);
}

/// Compressed loads and stores, every one.
fn compressed(suite: &mut Suite) {
    for quadrant in [0u32, 2] {
        for funct3 in [1u32, 3, 5, 7] {
            let halves = (0..1 << 11).map(|rest| funct3 << 13 | rest << 2 | quadrant);
            let place = u64::from(SCRATCH);
            let cases = halves.map(|half| Case {
                x: [place + 256, place + 16, place, place + 8],
                f: [0x1122_3344_5566_7788, 0x99aa_bbcc_ddee_ff00, 7],
                ..Case::new(EBREAKS & !0xffff | half, 0, 0)
            });
            suite.add(&format!("quadrant-{quadrant}-{funct3}"), cases);
        }
    }
}
