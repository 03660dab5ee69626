//! The lean loop against the interpreter, its reference, with translated code and without: random programs,
//! the same state at every stop.

use std::ops::Range;

use pinion_cores::port::{Answer, Destinations, HeldLines, InstructionPort, Stop};
use pinion_cores::pulp::behind_access::run_behind_access;
use pinion_cores::pulp::code::{Code, block_of};
use pinion_cores::pulp::lean::{Start, run_lean};
use pinion_cores::pulp::run_ahead::{Unwatched, run_ahead};
use pinion_cores::pulp::section::{Division, Pipeline};
use pinion_cores::pulp::{Core, Costs};
use pinion_isa::{Class, Extensions, HartConfig, Instruction, MemoryKind, Outcome};
use pinion_sim::random::Xorshift64;

const BASE: u32 = 0x1d00_0000;
const PROGRAM_BYTES: usize = 512;
const NEAR: u32 = 0x1000_0000;
const NEAR_BYTES: u32 = 0x1000;
const LINE_SHIFT: u32 = 4;
const LINE_BYTES: u32 = 1 << LINE_SHIFT;
const PROGRAMS: u64 = 400;
const STOPS: u64 = 400;
/// Places of a program that are translated before it runs, and stops between which another one is.
const PLACES: u64 = 8;
const STOPS_EACH: u64 = 20;
/// Stops between which an access is, with what is behind it, if it is to near memory.
const NEAR_STOPS_EACH: u64 = 2;

/// A cache that has some lines from some cycle on.
#[derive(Clone)]
struct Lines {
    ready: Vec<u64>,
    changes: u64,
}

impl HeldLines for Lines {
    fn line_shift(&self) -> u32 {
        LINE_SHIFT
    }

    fn has(&self, line: u32, now: u64) -> bool {
        let index = line.wrapping_sub(BASE >> LINE_SHIFT) as usize;
        self.ready.get(index).is_some_and(|&ready| ready <= now)
    }

    fn gives(&self, line: u32, from: u64) -> Option<u64> {
        self.has(line, from).then_some(from + 1)
    }

    fn changes(&self) -> u64 {
        self.changes
    }
}

impl InstructionPort for Lines {
    fn keeps(&self, _: u64) -> bool {
        true
    }

    fn request(&mut self, line: u32, now: u64) -> Answer {
        let index = line.wrapping_sub(BASE >> LINE_SHIFT) as usize;
        let Some(ready) = self.ready.get_mut(index) else { return Answer::Data(now + 1) };
        if *ready == u64::MAX {
            *ready = now + 9;
            self.changes += 1;
        }
        Answer::Data((*ready).max(now + 1))
    }

    fn serve(&mut self) -> Result<u64, u64> {
        unreachable!("every request is answered at once")
    }
}

#[derive(Clone, Copy)]
struct Port<'a>(&'a Lines);

impl HeldLines for Port<'_> {
    fn line_shift(&self) -> u32 {
        LINE_SHIFT
    }

    fn has(&self, line: u32, now: u64) -> bool {
        self.0.has(line, now)
    }

    fn gives(&self, line: u32, from: u64) -> Option<u64> {
        self.0.gives(line, from)
    }

    fn changes(&self) -> u64 {
        self.0.changes
    }
}

impl Destinations for Port<'_> {
    fn is_near(&self, address: u32) -> bool {
        address.wrapping_sub(NEAR) < NEAR_BYTES
    }

    fn destination(&self, instruction: &Instruction, address: u32) -> Stop {
        let plain = matches!(instruction.class, Class::Load | Class::Store | Class::Amo);
        if self.is_near(address) && plain { Stop::Near(address) } else { Stop::Shared }
    }
}

/// A core, its cache and its time.
#[derive(Clone)]
struct Bench {
    core: Core,
    lines: Lines,
    time: u64,
}

fn pipeline(ri5cy: bool) -> Pipeline {
    Pipeline {
        load_use_cycles: u64::from(ri5cy),
        response_cycles: u64::from(!ri5cy),
        branch_taken_cycles: 3,
        jump_cycles: 2,
        jump_behind_access: ri5cy,
        jump_waits_for_register: ri5cy,
        mul_cycles: if ri5cy { 1 } else { 3 },
        mulh_cycles: 5,
        division: if ri5cy { Division::LeadingZeros } else { Division::Fixed },
        div_base_cycles: 3,
        csr_cycles: 2,
        csr_status_cycles: 5,
        trap_cycles: 4,
        mret_cycles: 4,
    }
}

/// Makes a program: bits at random, with more of what is an instruction, and jumps that stay inside.
fn program(random: &mut Xorshift64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < PROGRAM_BYTES {
        let bits = random.draw() as u32;
        let (rd, rs1, rs2) = (bits & 7, bits >> 3 & 7, bits >> 6 & 7);
        let registers = rd << 7 | rs1 << 15 | rs2 << 20;
        let short = i32::from((bits >> 9 & 63) as i8) - 32;
        let branch = (short as u32 & 0x1e) << 7
            | (short as u32 >> 11 & 1) << 7
            | if short < 0 { 0xfe00_0000 | 0x80 } else { 0 };
        match bits >> 16 & 15 {
            0 => bytes.extend((0x67 | registers & 0xf_ff80).to_le_bytes()), // jalr
            1..=3 => bytes.extend((bits as u16 & !3 | 1).to_le_bytes()),    // compressed, any
            4 => bytes.extend(
                (registers & !0x1f0_0f80 | branch | 0x63 | (bits >> 20 & 7) << 12).to_le_bytes(),
            ),
            5 => bytes.extend(
                (0x6f
                    | rd << 7
                    | (short as u32 & 0x1e) << 20
                    | if short < 0 { 0xfff0_0000 } else { 0 })
                .to_le_bytes(),
            ),
            6 => bytes.extend(
                (0x03
                    | rd << 7
                    | 8 << 15
                    | [0, 1, 2, 4, 5][bits as usize >> 20 & 3] << 12
                    | (bits >> 4 & 0x7f0_0000))
                    .to_le_bytes(),
            ),
            7 => bytes.extend(
                (0x23 | 8 << 15 | rs2 << 20 | [0, 1, 2][bits as usize >> 20 & 1] << 12)
                    .to_le_bytes(),
            ),
            8 => bytes.extend(
                (0x202f
                    | rd << 7
                    | 8 << 15
                    | rs2 << 20
                    | [0, 1, 4, 8, 12, 16, 20, 24, 28][(bits >> 20) as usize % 9] << 27)
                    .to_le_bytes(),
            ),
            9 => bytes.extend((0x0200_0033 | registers | (bits >> 20 & 7) << 12).to_le_bytes()),
            10 => bytes.extend((0xc000_2073 | rd << 7).to_le_bytes()), // csrr cycle
            11 => bytes.extend(bits.to_le_bytes()),
            _ => bytes.extend(
                (0x13 | registers & 0xf_ff80 | (bits >> 20 & 7) << 12 | (bits & 0x1f) << 20)
                    .to_le_bytes(),
            ),
        }
    }
    bytes.truncate(PROGRAM_BYTES);
    bytes
}

/// Says of which loads the machine remembers when a jump may use their register.
#[derive(Clone, Copy)]
enum Remembers {
    All,
    JumpedTo,
}

/// Does what the machine does at a stop, the same for both: an access loads a number made of its
/// address and cycle, an instruction that is not fetched yet is.
fn go_on(bench: &mut Bench, (code, costs): (&Code, &Costs), stop: &Stop, remembers: Remembers) {
    if accesses(bench, code, stop, remembers) {
        if matches!(stop, Stop::Near(_)) {
            bench.time += costs.response;
            bench.core.stalls.load_use += costs.response;
        }
    } else {
        // Nowhere to go: on with some other instruction.
        let somewhere = bench.core.hart.instret as u32 * 6 % PROGRAM_BYTES as u32;
        bench.core.hart.pc = BASE + somewhere;
        bench.core.jumped = true;
        bench.time += 2;
    }
}

fn accesses(bench: &mut Bench, code: &Code, stop: &Stop, remembers: Remembers) -> bool {
    let pc = bench.core.hart.pc;
    match stop {
        Stop::Trap(_) => return false,
        Stop::Near(_) | Stop::Private => {}
        Stop::Shared => {
            if !bench.core.buffer.covers(pc) && code.get(pc).is_some() {
                let arrival = bench.core.arrival(bench.time);
                let fetched = bench.core.buffer.fetch(&arrival, code, &mut bench.lines);
                let executes = fetched.expect("every request is answered at once");
                bench.core.fetched(bench.time, executes);
                bench.time = executes;
                return true;
            }
        }
    }
    let Some(instruction) = code.get(pc) else { return false };
    let Outcome::Access(access) = bench.core.hart.execute(instruction) else { return false };
    let value = loaded(access.address, bench.time);
    let loads = access.kind != MemoryKind::Store;
    bench.core.loaded = if loads { access.rd } else { u8::MAX };
    bench.core.hart.complete_integer(&access, value);
    bench.core.waited = waits(value);
    bench.time += 1 + u64::from(waits(value));
    match remembers {
        Remembers::All => bench.core.performed(&access, bench.time),
        Remembers::JumpedTo => {
            bench.core.executed(&code.micro()[code.place(pc) as usize], bench.time);
        }
    }
    true
}

/// Makes what memory holds at an address in a cycle.
fn loaded(address: u32, time: u64) -> u32 {
    address.wrapping_mul(0x9e37_79b9) ^ time as u32
}

/// Says whether an access waits that finds something.
fn waits(value: u32) -> bool {
    value & 3 == 0
}

/// Does what [`go_on`] does and goes on behind it, in a block that begins with the access to near memory; says
/// why it stopped. `None`: nothing is done, no block is for it.
fn go_on_in_block(bench: &mut Bench, code: &Code, costs: &Costs, stop: &Stop) -> Option<Stop> {
    let (Bench { core, lines, time }, Stop::Near(address)) = (bench, stop) else { return None };
    let one = code.micro().get(code.place(core.hart.pc) as usize)?;
    let placed = block_of(code.translated_blocks(), one.block)?;
    let value = loaded(*address, *time);
    let is_for_it = placed.may_wait() || !waits(value);
    let port = Port(lines);
    if !is_for_it || !placed.is_reached(core, &port, BASE) {
        return None;
    }
    let Outcome::Access(access) = core.hart.execute(code.get(core.hart.pc)?) else { return None };
    let then = match access.kind {
        MemoryKind::Store => access.data,
        MemoryKind::Amo(amo) => amo.apply(value, access.data, access.bytes),
        _ => value,
    };
    *time += u64::from(waits(value));
    let mut word = value.to_le_bytes();
    let (block, program) = ((placed, &mut word, waits(value)), (code, code.micro()));
    let mut stop = Stop::Shared;
    let next = run_behind_access(core, port, costs, program, block, time, &mut stop);
    let bytes = usize::from(access.bytes);
    assert_eq!(word[..bytes], then.to_le_bytes()[..bytes], "what is in memory then");
    assert_eq!(word[bytes..], value.to_le_bytes()[bytes..], "and beside it");
    Some(next.map_or(stop, |access| {
        assert_eq!(access.place(), code.place(core.hart.pc));
        Stop::Near(access.address())
    }))
}

/// Chooses what lies around a place.
fn within(place: u32, random: &mut Xorshift64) -> Range<u32> {
    let mut some = || 32 + random.draw() as u32 % 64;
    place.saturating_sub(some())..place.saturating_add(some())
}

/// Compares a core that ran ahead with the reference.
fn assert_same_bench(bench: &Bench, reference: &Bench, at: &str) {
    assert_eq!(bench.time, reference.time, "{at}");
    assert_same(&bench.core, &reference.core, at);
}

/// Makes a program, a core and what its cache has.
fn bench(random: &mut Xorshift64, number: u64) -> (Costs, Code, Bench) {
    let costs = Costs::new(&pipeline(number.is_multiple_of(2)), LINE_BYTES, false);
    let mut code = Code::new(BASE, PROGRAM_BYTES, Extensions::PSPIN);
    code.load(BASE, &program(random));
    let mut core = Core::new(&HartConfig::default(), BASE);
    for register in 1..8 {
        core.hart.x[register] = random.draw() as u32 >> (random.draw() % 32);
    }
    core.hart.x[8] = NEAR + (random.draw() as u32 & 0x3ff);
    let ready = (0..PROGRAM_BYTES as u32 / LINE_BYTES)
        .map(|_| if random.draw().is_multiple_of(4) { u64::MAX } else { random.draw() % 200 });
    let lines = Lines { ready: ready.collect(), changes: 0 };
    let reference = Bench { core, lines, time: 10 };
    (costs, code, reference)
}

/// Fails unless two cores are in the same state.
fn assert_same(got: &Core, expected: &Core, at: &str) {
    assert_eq!(got.hart, expected.hart, "{at}");
    assert_eq!(got.stalls, expected.stalls, "{at}");
    let rest = |core: &Core| (core.loaded, core.jumped, core.left, core.waited, core.buffer.line());
    assert_eq!(rest(got), rest(expected), "{at}");
}

#[test]
fn agrees_with_the_interpreter() {
    let seed = std::env::var("PINION_TEST_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-cores --test lean");
    let mut random = Xorshift64::new(seed);
    let (mut near, mut shared, mut retired) = (0u64, 0u64, 0u64);
    let (mut translated, mut behind_access) = (0u64, 0u64);
    for number in 0..PROGRAMS {
        let (costs, plain, mut reference) = bench(&mut random, number);
        let mut lean = [reference.clone(), reference.clone()];
        let mut hot = plain.clone();
        hot.set_translated(true);
        for _ in 0..PLACES {
            let place = random.draw() as u32 % (PROGRAM_BYTES as u32 / 2);
            hot.translate(place, within(place, &mut random), &costs);
        }
        let mut codes = [plain, hot];
        // Why those have stopped that went on in a block.
        let mut stopped = [None, None];
        for stop_number in 0..STOPS {
            let port = Port(&reference.lines);
            let expected = run_ahead::<false, _, _>(
                &mut reference.core,
                &port,
                &costs,
                &codes[0],
                &mut reference.time,
                &mut Unwatched,
            );
            shared += u64::from(expected == Stop::Shared);
            near += u64::from(matches!(expected, Stop::Near(_)));
            for ((bench, code), stopped) in lean.iter_mut().zip(&mut codes).zip(&mut stopped) {
                let got = stopped.take().unwrap_or_else(|| {
                    let start = Start::of(&mut bench.core, code);
                    if stop_number % STOPS_EACH == 0 {
                        // Nothing, if it is not to translate.
                        code.translate(start.place, within(start.place, &mut random), &costs);
                    }
                    let one = code.micro().get(start.place as usize);
                    translated += u64::from(one.is_some_and(|one| one.block != 0));
                    let port = Port(&bench.lines);
                    run_lean(&mut bench.core, port, &costs, code, start, &mut bench.time)
                });
                let at =
                    format!("program {number}, stop {stop_number}, pc {:#x}", bench.core.hart.pc);
                assert_eq!(got, expected, "{at}");
                assert_same_bench(bench, &reference, &at);
                if matches!(got, Stop::Near(_)) && stop_number % NEAR_STOPS_EACH == 0 {
                    let place = code.place(bench.core.hart.pc);
                    code.translate(place, within(place, &mut random), &costs);
                }
                // Something else may change before the next one.
                if stop_number != STOPS / 2 {
                    *stopped = go_on_in_block(bench, code, &costs, &got);
                }
                behind_access += u64::from(stopped.is_some());
                if stopped.is_none() {
                    go_on(bench, (code, &costs), &got, Remembers::JumpedTo);
                }
            }
            go_on(&mut reference, (&codes[0], &costs), &expected, Remembers::All);
            if stop_number == STOPS / 2 {
                // A change of what the cache has, and of the program.
                let line = random.draw() as usize % reference.lines.ready.len();
                for bench in lean.iter_mut().chain([&mut reference]) {
                    bench.lines.ready[line] = u64::MAX;
                    bench.lines.changes += 1;
                }
                let place = (random.draw() as u32 % PROGRAM_BYTES as u32) & !3;
                for code in &mut codes {
                    code.load(BASE + place, &[0x13, 0x85, 0x15, 0x00]); // addi a0, a1, 1
                }
            }
        }
        retired += reference.core.hart.instret;
    }
    println!(
        "{retired} instructions, {near} stops at near memory, {shared} at what is shared; \
         {translated} times at a block, {behind_access} times in one that begins with an access"
    );
    assert!(near > 10_000 && shared > 10_000 && retired > 100_000, "too little was tried");
    let is_enough = translated > 4_000 && behind_access > 1_000;
    assert!(is_enough || !pinion_translate::AVAILABLE, "too little was translated");
}

/// A jump behind an access that waits goes meanwhile: its target's line is asked for before the access is over.
#[test]
fn a_line_that_is_jumped_to_comes_while_the_access_waits() {
    const JUMP: u32 = BASE + 4;
    const TARGET: u32 = BASE + 4 * LINE_BYTES;
    let mut code = Code::new(BASE, PROGRAM_BYTES, Extensions::PSPIN);
    let words = [0x0000_a023u32, 0x03c0_006f]; // sw zero, 0(ra); j 60 bytes on
    code.load(BASE, &words.map(u32::to_le_bytes).concat());
    let costs = Costs::new(&pipeline(true), LINE_BYTES, false);
    // The access is at the decode stage in cycle 100 and over in cycle 150.
    let executes = |goes_meanwhile: bool| {
        let mut lines = Lines { ready: vec![u64::MAX; PROGRAM_BYTES / 16], changes: 0 };
        lines.ready[0] = 0;
        let mut core = Core::new(&HartConfig::default(), BASE);
        assert!(core.buffer.enter(BASE, 100, &lines), "its own line is here");
        if goes_meanwhile {
            let jump = code.get(JUMP).expect("a jump");
            let (target, from) =
                costs.target_while_waiting(&core, (jump, JUMP), None, &code).expect("it jumps");
            assert_eq!((target, from), (TARGET, 0));
            core.buffer.jump_ahead(JUMP + 3, target, 101, &mut lines);
        }
        (core.hart.pc, core.jumped, core.left) = (TARGET, true, 151);
        let arrival = core.arrival(152);
        core.buffer.fetch(&arrival, &code, &mut lines).expect("every request is answered at once")
    };
    assert_eq!(executes(true), 152, "the line came in cycle 110");
    assert_eq!(executes(false), 160, "asked for in cycle 150, it comes in 159");
}

/// A jump behind what takes the execute stage for several cycles leaves the decode stage meanwhile: it costs no cycle
/// of its own more. Rows mulh_ind and div_ind.
#[test]
fn jumps_go_while_a_product_is_computed() {
    const JUMP: u32 = 0x0080_006f; // j 8 bytes on
    const FAR_LOAD: u32 = 0x0000_2283; // lw t0, 0(zero)
    let comes = |computes: u32, is_lean: bool| {
        let mut code = Code::new(BASE, PROGRAM_BYTES, Extensions::PSPIN);
        code.load(BASE, &[computes, JUMP, 0x13, FAR_LOAD].map(u32::to_le_bytes).concat());
        let costs = Costs::new(&pipeline(true), LINE_BYTES, false);
        let lines = Lines { ready: vec![0; PROGRAM_BYTES / 16], changes: 0 };
        let (mut core, mut time) = (Core::new(&HartConfig::default(), BASE), 100);
        let port = Port(&lines);
        let stop = match is_lean {
            true => run_lean(&mut core, port, &costs, &code, Start::NONE, &mut time),
            false => {
                run_ahead::<false, _, _>(&mut core, &port, &costs, &code, &mut time, &mut Unwatched)
            }
        };
        assert_eq!((stop, core.hart.pc), (Stop::Shared, BASE + 12));
        time
    };
    for is_lean in [false, true] {
        assert_eq!(comes(0x02a5_02b3, is_lean), 103, "mul t0, a0, a0: a cycle, and the jump two");
        assert_eq!(comes(0x02a5_12b3, is_lean), 106, "mulh: five, and the jump one");
        assert_eq!(comes(0x02a5_52b3, is_lean), 136, "divu by zero: 35, and the jump one");
    }
}

/// What comes to the decode stage while the instruction before it waits is a stage behind what was there before. Rows
/// handler_l2 and ld_word.
#[test]
fn lines_that_come_while_an_access_waits_cost_a_cycle() {
    let code = Code::new(BASE, PROGRAM_BYTES, Extensions::PSPIN);
    let leaves = |waited: bool, over: u64| {
        let mut lines = Lines { ready: vec![u64::MAX; PROGRAM_BYTES / 16], changes: 0 };
        lines.ready[0] = 0;
        let mut core = Core::new(&HartConfig::default(), BASE + 12);
        (core.jumped, core.left) = (false, 99);
        assert!(core.buffer.enter(BASE, 100, &lines), "its own line is here");
        let last = core.buffer.fetch(&core.arrival(100), &code, &mut lines);
        assert_eq!(last, Ok(100), "the last word asks for the next line in cycle 99");
        (core.hart.pc, core.left, core.waited) = (BASE + 16, 100, waited);
        core.buffer.fetch(&core.arrival(over), &code, &mut lines).expect("answered at once")
    };
    // The line comes in cycle 108.
    assert_eq!([101, 107, 108, 150].map(|over| leaves(false, over)), [109, 109, 109, 150]);
    assert_eq!([101, 107, 108, 150].map(|over| leaves(true, over)), [109, 109, 109, 151]);
}
