//! Translated regions against an evaluation step by step: random ones, the same registers, cycles and counts.

use pinion_sim::random::Xorshift64;
use pinion_translate::{
    Condition, Counts, Operand, Operation, Region, Step, Target, Touch, Translator, What,
};

const REGIONS: u32 = 150;
const RUNS: u32 = 20;
/// A budget that is enough for each region that goes forwards alone.
const LONG: u64 = 400;
const OPERATIONS: [Operation; 14] = {
    use Operation::*;
    [Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And, Mul, Mulh, Mulhsu, Mulhu]
};
const TOUCHES: [Touch; 17] = {
    use Touch::*;
    [Lb, Lbu, Lh, Lhu, Lw, Sb, Sh, Sw, Add, Swap, Xor, And, Or, Min, Max, Minu, Maxu]
};
const CONDITIONS: [Condition; 6] = {
    use Condition::*;
    [Eq, Ne, Lt, Ge, Ltu, Geu]
};

fn compute(operation: Operation, a: u32, b: u32) -> u32 {
    let (signed, wide) = ((a as i32, b as i32), (i64::from(a as i32), i64::from(b as i32)));
    match operation {
        Operation::Add => a.wrapping_add(b),
        Operation::Sub => a.wrapping_sub(b),
        Operation::Sll => a << (b & 31),
        Operation::Slt => (signed.0 < signed.1).into(),
        Operation::Sltu => (a < b).into(),
        Operation::Xor => a ^ b,
        Operation::Srl => a >> (b & 31),
        Operation::Sra => (signed.0 >> (b & 31)) as u32,
        Operation::Or => a | b,
        Operation::And => a & b,
        Operation::Mul => a.wrapping_mul(b),
        Operation::Mulh => ((wide.0 * wide.1) >> 32) as u32,
        Operation::Mulhsu => ((wide.0 * i64::from(b)) >> 32) as u32,
        Operation::Mulhu => ((u64::from(a) * u64::from(b)) >> 32) as u32,
    }
}

/// Accesses a word; gives what a register gets.
fn touch(touch: Touch, word: &mut [u8; 4], operand: u32) -> u32 {
    let before = u32::from_le_bytes(*word);
    let [first, second, ..] = *word;
    let half = u16::from_le_bytes([first, second]);
    let [low, high, ..] = operand.to_le_bytes();
    let mut becomes = |then: u32| *word = then.to_le_bytes();
    match touch {
        Touch::Lb => return first as i8 as u32,
        Touch::Lbu => return first.into(),
        Touch::Lh => return half as i16 as u32,
        Touch::Lhu => return half.into(),
        Touch::Lw => {}
        Touch::Sb => word[0] = low,
        Touch::Sh => [word[0], word[1]] = [low, high],
        Touch::Sw | Touch::Swap => becomes(operand),
        Touch::Add => becomes(before.wrapping_add(operand)),
        Touch::Xor => becomes(before ^ operand),
        Touch::And => becomes(before & operand),
        Touch::Or => becomes(before | operand),
        Touch::Min => becomes((before as i32).min(operand as i32) as u32),
        Touch::Max => becomes((before as i32).max(operand as i32) as u32),
        Touch::Minu => becomes(before.min(operand)),
        Touch::Maxu => becomes(before.max(operand)),
    }
    before
}

fn holds(condition: Condition, a: u32, b: u32) -> bool {
    match condition {
        Condition::Eq => a == b,
        Condition::Ne => a != b,
        Condition::Lt => (a as i32) < b as i32,
        Condition::Ge => a as i32 >= b as i32,
        Condition::Ltu => a < b,
        Condition::Geu => a >= b,
    }
}

/// What is to come out: place, cycles, the address of the access it stopped at, whether because the last cycle
/// came; of the last step whether it jumped, its cycles and its number.
type Outcome = (u32, u64, Option<u32>, bool, Option<(bool, u64, usize)>);

/// What a region works on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    x: [u32; 32],
    word: [u8; 4],
    retired: u64,
    counts: Counts,
}

/// Executes a region step by step.
fn evaluate(region: &Region, state: &mut State, budget: u64) -> Outcome {
    let State { x, word, retired, counts } = state;
    let (mut now, mut at) = (0, Some(0));
    let mut place = region.steps[0].place;
    let mut last = (false, 0, 0);
    loop {
        let Some(number) = at else { return (place, now, None, false, Some(last)) };
        let step = region.steps[number];
        let jump = |target: Target, now: &mut u64, counts: &mut Counts| {
            *now += u64::from(target.cycles);
            counts.branch += u64::from(target.cycles - 1 - target.fetch);
            counts.fetch += u64::from(target.fetch);
            (target.place, (true, u64::from(target.cycles), number))
        };
        (place, last) = match step.what {
            What::Access { base, offset } => {
                let address = x[usize::from(base)].wrapping_add(offset);
                return (place, now, Some(address), false, None);
            }
            What::Touch { touch: what, rd, rs2, cycles, load_use } => {
                x[usize::from(rd)] = touch(what, word, x[usize::from(rs2)]);
                x[0] = 0;
                now += u64::from(cycles);
                counts.load_use += u64::from(load_use);
                (step.next, (false, u64::from(cycles), number))
            }
            What::Compute { operation, rd, a, b, cycles } => {
                let read = |operand| match operand {
                    Operand::Register(number) => x[usize::from(number)],
                    Operand::Constant(value) => value,
                };
                x[usize::from(rd)] = compute(operation, read(a), read(b));
                x[0] = 0;
                now += u64::from(cycles);
                counts.arithmetic += u64::from(cycles) - 1;
                (step.next, (false, u64::from(cycles), number))
            }
            What::Branch { condition, a, b, target }
                if holds(condition, x[usize::from(a)], x[usize::from(b)]) =>
            {
                jump(target, &mut now, counts)
            }
            What::Branch { .. } => {
                now += 1;
                (step.next, (false, 1, number))
            }
            What::Jump { rd, link, target } => {
                x[usize::from(rd)] = link;
                x[0] = 0;
                jump(target, &mut now, counts)
            }
        };
        *retired += 1;
        if last.0 && now >= budget {
            return (place, now, None, true, Some(last));
        }
        let goes_there =
            |step: &Step| step.place == place && !matches!(step.what, What::Touch { .. });
        at = region.steps.iter().position(goes_there);
    }
}

fn region(random: &mut Xorshift64) -> Region {
    let steps = 2 + random.draw() as u32 % 24;
    let register = |random: &mut Xorshift64| (random.draw() % 8) as u8;
    let operand = |random: &mut Xorshift64| match random.draw() % 3 {
        0 => Operand::Constant(random.draw() as u32 >> (random.draw() % 32)),
        _ => Operand::Register((random.draw() % 8) as u8),
    };
    let mut all = Vec::new();
    let begins_with_access = random.draw().is_multiple_of(2);
    // Half of them go forwards alone.
    let goes_forwards = random.draw().is_multiple_of(2);
    for place in 0..steps {
        let first = if goes_forwards { place + 1 } else { 0 };
        let target = Target {
            place: first + random.draw() as u32 % (steps + 2 - first),
            cycles: 2 + (random.draw() % 3) as u16,
            fetch: (random.draw() % 2) as u16,
        };
        let what = match random.draw() % 12 {
            _ if place == 0 && begins_with_access => {
                let touch = TOUCHES[random.draw() as usize % TOUCHES.len()];
                let stores = matches!(touch, Touch::Sb | Touch::Sh | Touch::Sw);
                let rd = if stores { 0 } else { register(random) };
                let load_use = (random.draw() % 2) as u16;
                What::Touch { touch, rd, rs2: register(random), cycles: 1 + load_use, load_use }
            }
            0 if place > 0 => What::Access { base: register(random), offset: random.draw() as u32 },
            1 | 2 => What::Branch {
                condition: CONDITIONS[random.draw() as usize % CONDITIONS.len()],
                a: register(random),
                b: register(random),
                target,
            },
            3 => What::Jump { rd: register(random), link: random.draw() as u32, target },
            _ => What::Compute {
                operation: OPERATIONS[random.draw() as usize % OPERATIONS.len()],
                rd: register(random),
                a: operand(random),
                b: operand(random),
                cycles: 1 + (random.draw() % 4 / 3 * 2) as u16,
            },
        };
        all.push(Step { place, next: place + 1, what });
    }
    let budget = if random.draw().is_multiple_of(2) { LONG } else { 0 };
    Region { steps: all, budget }
}

#[test]
fn agrees_with_an_evaluation_step_by_step() {
    let seed = std::env::var("PINION_TEST_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-translate --test random");
    let mut random = Xorshift64::new(seed);
    let mut translator = Translator::new().expect("this computer is known");
    let mut retired = 0;
    for number in 0..REGIONS {
        let region = region(&mut random);
        let block = translator.translate(&region).expect("code");
        for run in 0..RUNS {
            let mut x = [0; 32];
            for register in &mut x[1..10] {
                *register = random.draw() as u32 >> (random.draw() % 32);
            }
            let word = (random.draw() as u32).to_le_bytes();
            let budget = region.budget + random.draw() % 300;
            let counts = Counts { load_use: 4, branch: 6, arithmetic: 7, fetch: 8 };
            let mut state = State { x, word, retired: 5, counts };
            let mut expected = state;
            let (place, cycles, access, yields, last) = evaluate(&region, &mut expected, budget);
            let State { x, word, retired: count, counts } = &mut state;
            let left = block.execute(x, word, budget, count, counts);
            let at = format!("region {number}, run {run}: {region:?}");
            assert_eq!((left.place(), left.cycles()), (place, cycles), "{at}");
            assert_eq!(left.at_access().then(|| left.address()), access, "{at}");
            assert_eq!(left.yields(), yields, "{at}");
            if let Some(last) = last {
                assert_eq!((left.jumped(), left.last_cycles(), left.last_step()), last, "{at}");
            }
            assert_eq!(state, expected, "{at}");
            retired += state.retired - 5;
        }
    }
    println!("{retired} instructions");
    assert!(retired > 10_000, "too little was tried");
}

#[test]
fn a_region_without_instructions_is_refused() {
    let mut translator = Translator::new().expect("this computer is known");
    let error = translator.translate(&Region::default()).expect_err("nothing to do").to_string();
    assert!(error.contains("0 instructions"), "{error}");
}
