//! Translated regions against an evaluation step by step: random ones, the same registers, cycles and counts.

use pinion_sim::random::Xorshift64;
use pinion_translate::{
    Condition, Counts, Operand, Operation, Region, Step, Target, Translator, What,
};

const REGIONS: u32 = 150;
const RUNS: u32 = 20;
const OPERATIONS: [Operation; 14] = {
    use Operation::*;
    [Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And, Mul, Mulh, Mulhsu, Mulhu]
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

/// What is to come out: place, cycle, whether at an access and because the last cycle came; of the last
/// step whether it jumped, its cycles and its number.
type Outcome = (u32, u64, bool, bool, Option<(bool, u64, usize)>);

/// Executes a region step by step.
fn evaluate(
    region: &Region,
    x: &mut [u32; 32],
    mut now: u64,
    yields_at: u64,
    counts: &mut Counts,
) -> Outcome {
    let mut place = region.steps[0].place;
    let mut last = (false, 0, 0);
    loop {
        let Some(at) = region.steps.iter().position(|step| step.place == place) else {
            return (place, now, false, false, Some(last));
        };
        let step = region.steps[at];
        let jump = |target: Target, now: &mut u64, counts: &mut Counts| {
            *now += u64::from(target.cycles);
            counts.branch += u64::from(target.cycles - 1 - target.fetch);
            counts.fetch += u64::from(target.fetch);
            (target.place, (true, u64::from(target.cycles), at))
        };
        (place, last) = match step.what {
            What::Access => return (place, now, true, false, None),
            What::Compute { operation, rd, a, b, cycles } => {
                let read = |operand| match operand {
                    Operand::Register(number) => x[usize::from(number)],
                    Operand::Constant(value) => value,
                };
                x[usize::from(rd)] = compute(operation, read(a), read(b));
                x[0] = 0;
                now += u64::from(cycles);
                counts.arithmetic += u64::from(cycles) - 1;
                (step.next, (false, u64::from(cycles), at))
            }
            What::Branch { condition, a, b, target }
                if holds(condition, x[usize::from(a)], x[usize::from(b)]) =>
            {
                jump(target, &mut now, counts)
            }
            What::Branch { .. } => {
                now += 1;
                (step.next, (false, 1, at))
            }
            What::Jump { rd, link, target } => {
                x[usize::from(rd)] = link;
                x[0] = 0;
                jump(target, &mut now, counts)
            }
        };
        counts.retired += 1;
        if last.0 && now >= yields_at {
            return (place, now, false, true, Some(last));
        }
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
    for place in 0..steps {
        let target = Target {
            place: random.draw() as u32 % (steps + 2),
            cycles: 2 + (random.draw() % 3) as u16,
            fetch: (random.draw() % 2) as u16,
        };
        let what = match random.draw() % 12 {
            0 if place > 0 => What::Access,
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
    Region { steps: all }
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
            let mut expected_x = x;
            let now = random.draw() >> 20;
            let yields_at = now + random.draw() % 300;
            let mut counts = Counts { retired: 5, branch: 6, arithmetic: 7, fetch: 8 };
            let mut expected_counts = counts;
            let (place, then, access, yields, last) =
                evaluate(&region, &mut expected_x, now, yields_at, &mut expected_counts);
            let left = block.execute(&mut x, now, yields_at, &mut counts);
            let at = format!("region {number}, run {run}: {region:?}");
            assert_eq!((left.place(), left.now), (place, then), "{at}");
            assert_eq!((left.at_access(), left.yields()), (access, yields), "{at}");
            if let Some(last) = last {
                assert_eq!((left.jumped(), left.last_cycles(), left.last_step()), last, "{at}");
            }
            assert_eq!(counts, expected_counts, "{at}");
            assert_eq!(x, expected_x, "{at}");
            retired += counts.retired - 5;
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
