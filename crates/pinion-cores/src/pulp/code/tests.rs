//! What micro-operations say, and which blocks are made and forgotten.

use super::*;

const BASE: u32 = 0x1d00_0000;
const ADDI: u32 = 0x0015_8593; // addi a1, a1, 1
const C_ADDI: u32 = 0x0585; // c.addi a1, 1
const LW: u32 = 0x0005_a603; // lw a2, 0(a1)
const SW: u32 = 0x00c5_a023; // sw a2, 0(a1)
const NOP: u32 = 0x0000_0013;
const ADD: u32 = 0x00c6_0633; // add a2, a2, a2

fn code(words: &[u32]) -> Code {
    let mut code = Code::new(BASE, 64, Extensions::PSPIN);
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let lengths = words.iter().flat_map(|word| {
        let is_long = word & 3 == 3;
        [true, true, is_long, is_long]
    });
    let kept: Vec<u8> =
        bytes.zip(lengths).filter_map(|(byte, is_kept)| is_kept.then_some(byte)).collect();
    code.load(BASE, &kept);
    code
}

fn runs(code: &Code, places: [usize; 4]) -> [u16; 4] {
    places.map(|place| code.micro()[place].run)
}

#[test]
fn a_run_ends_where_something_else_begins() {
    let mut code = code(&[C_ADDI, ADDI, ADDI, LW]);
    let whole = [3, 2, 1, 0];
    assert_eq!(runs(&code, [0, 1, 3, 5]), whole);
    code.invalidate(BASE + 6, 4);
    assert_eq!(runs(&code, [0, 1, 3, 5])[..3], [2, 1, 0], "the third went");
    code.load(BASE + 6, &SW.to_le_bytes());
    assert_eq!(code.micro()[3].kind, Kind::Sw);
    assert_eq!(runs(&code, [0, 1, 3, 5])[..3], [2, 1, 0]);
    code.load(BASE + 6, &[ADDI.to_le_bytes(), LW.to_le_bytes()].concat());
    assert_eq!(runs(&code, [0, 1, 3, 5]), whole, "as before");
}

#[test]
fn a_change_far_behind_reaches_the_whole_run() {
    let mut code = code(&[ADDI; 15]);
    assert_eq!(code.micro()[0].run, 15);
    code.invalidate(BASE + 56, 1);
    assert_eq!(code.micro()[0].run, 14);
}

#[test]
fn a_longest_run_is_cut() {
    let places = usize::from(LONGEST_RUN) + 64;
    let mut code = Code::new(BASE, places * 2, Extensions::PSPIN);
    code.load(BASE, &(C_ADDI as u16).to_le_bytes().repeat(places));
    let cuts = code.micro().iter().filter(|micro| micro.kind == Kind::Other).count();
    assert_eq!(cuts, 1, "one is left to the interpreter");
    assert!(code.micro().iter().all(|micro| micro.run <= LONGEST_RUN));
}

#[test]
fn only_what_loads_is_waited_for() {
    let stalls = |words: &[u32]| code(words).micro()[0].flags.stalls_next();
    assert_eq!(stalls(&[LW, ADD]), 1);
    assert_eq!(stalls(&[LW, NOP]), 0);
    assert_eq!(stalls(&[SW, NOP]), 0, "a store loads nothing, not even x0");
}

#[test]
fn what_is_jumped_to_soon_is_known() {
    const JALR: u32 = 0x0006_00e7; // jalr ra, 0(a2)
    let is_jumped_to = |words: &[u32]| code(words).micro()[0].flags.is_jumped_to();
    assert!(is_jumped_to(&[LW, JALR]));
    assert!(is_jumped_to(&[LW, NOP, JALR]));
    assert!(!is_jumped_to(&[LW, NOP, NOP, JALR]));
    assert!(!is_jumped_to(&[SW, JALR]), "a store loads nothing");
    let kind = |words: &[u32]| code(words).micro()[0].kind;
    assert_eq!(kind(&[ADD, JALR]), Kind::Other, "the interpreter remembers it");
    assert_eq!(kind(&[ADD, NOP, JALR]), Kind::Add);
    let mut code = code(&[LW, NOP, NOP]);
    code.load(BASE + 8, &JALR.to_le_bytes());
    assert!(code.micro()[0].flags.is_jumped_to(), "it came later");
}

fn costs() -> Costs {
    let section = super::super::section::Pipeline {
        load_use_cycles: 1,
        response_cycles: 0,
        branch_taken_cycles: 3,
        jump_cycles: 2,
        jump_behind_access: true,
        jump_waits_for_register: true,
        mul_cycles: 1,
        mulh_cycles: 5,
        division: super::super::section::Division::LeadingZeros,
        div_base_cycles: 3,
        csr_cycles: 2,
        csr_status_cycles: 4,
        trap_cycles: 4,
        mret_cycles: 4,
    };
    Costs::new(&section, 16, false)
}

#[test]
fn a_short_way_is_not_worth_a_block_unless_it_is_a_loop() {
    const BNE_BACK: u32 = 0xfeb5_1ee3; // bne a0, a1, to the instruction before it
    let mut code = code(&[ADDI, ADD, LW, ADDI, BNE_BACK]);
    code.set_translated(true);
    for place in [0, 6] {
        code.translate_some((place, FEWEST_WORTH_IT), &(0..32), &costs());
    }
    let blocks = [0, 6].map(|place| code.micro()[place].block != 0);
    assert_eq!(blocks, [false, pinion_translate::AVAILABLE]);
}

#[test]
fn blocks_are_forgotten_with_what_they_depend_on() {
    let costs = costs();
    let mut code = code(&[ADDI, ADD, ADDI, LW, ADDI, ADD, ADDI]);
    let blocks = |code: &Code| [0, 8].map(|place| code.micro()[place].block != 0);
    let translate = |code: &mut Code| {
        code.translate(0, 0..32, &costs);
        code.translate(8, 0..32, &costs);
    };
    translate(&mut code);
    assert_eq!(blocks(&code), [false; 2], "nothing is to be translated");
    code.set_translated(true);
    translate(&mut code);
    let all = [pinion_translate::AVAILABLE; 2];
    assert_eq!(blocks(&code), all);
    code.invalidate(BASE + 8, 1);
    assert_eq!(blocks(&code), [false, all[1]], "the third instruction of the first");
    code.load(BASE + 8, &ADDI.to_le_bytes());
    translate(&mut code);
    assert_eq!(blocks(&code), all, "as before");
    code.translate(6, 0..32, &costs);
    let begins_with_access = |code: &Code| code.micro()[6].block != 0;
    assert_eq!(begins_with_access(&code), all[0], "the load, and what is behind it");
    code.invalidate(BASE + 22, 1);
    assert!(!begins_with_access(&code), "the second instruction behind it");
    code.clear();
    assert_eq!(blocks(&code), [false; 2]);
}
