use super::*;

fn cache() -> (InstructionCache, QueuedPort) {
    let mut cache = InstructionCache::new(&machine(), 0);
    cache.turn_on(0);
    (cache, program_port(&machine()))
}

/// Lets cores ask for a line, each at a cycle; gives when each one's data come.
fn data<const N: usize>(
    (cache, port): &mut (InstructionCache, QueuedPort),
    line: u32,
    cores: [(usize, u64); N],
) -> [u64; N] {
    let answers = cores.map(|(core, at)| cache.request(core, line, (at, at), port));
    let last = cores.iter().map(|&(_, at)| at).max().unwrap_or(0);
    std::array::from_fn(|index| match answers[index] {
        Answer::Data(at) => at,
        Answer::Later(_) => {
            let mut now = last;
            loop {
                match cache.serve(cores[index].0, now, port) {
                    Ok(at) => break at,
                    Err(again) => now = again,
                }
            }
        }
    })
}

#[test]
fn shares_refills_between_cores() {
    let mut both = cache();
    assert_eq!(data(&mut both, 100, [(0, 1000), (3, 1003)]), [1009, 1009]);
    assert_eq!(data(&mut both, 100, [(5, 2000)]), [2001]);
    assert_eq!(both.0.misses(), 1);
}

/// As the last line of row cold_line-single_by8: five cores share the refill, two come as it is
/// written, and for the last one the line is refilled once more.
#[test]
fn cores_that_come_too_late_look_again_or_refill_again() {
    let mut both = cache();
    let came = data(&mut both, 100, std::array::from_fn::<_, 8, _>(|core| (core, 1000)));
    assert_eq!(came.map(|at| at - 1000), [9, 9, 9, 9, 9, 10, 11, 16]);
    assert_eq!(both.0.misses(), 2);
}

/// RTL icache_intc: of cores that wait, a tree chooses, whose flags count what was taken.
#[test]
fn the_controller_prefers_another_core_after_each() {
    let mut both = cache();
    // Three are taken, so that the next is preferred whose index is 3.
    data(&mut both, 100, [(0, 1000), (1, 1000), (2, 1000)]);
    let came = data(&mut both, 200, std::array::from_fn::<_, 8, _>(|core| (core, 2000)));
    assert_eq!(came.map(|at| at - 2000), [10, 11, 16, 9, 9, 9, 9, 9]);
}

/// Row capacity: of 320 lines in sequence, the second time through 256 lines of cache, 122 missed
/// on the RTL. With the oldest replaced all of them would.
#[test]
fn replaces_at_random() {
    let mut both = cache();
    let mut now = 100;
    let mut pass = || {
        let before = both.0.misses();
        for line in 0..320 {
            [now] = data(&mut both, line, [(0, now)]);
        }
        both.0.misses() - before
    };
    assert_eq!(pass(), 320);
    assert!((100..145).contains(&pass()));
}

/// Lines come and go at random; each way to look around finds the same of them.
#[test]
fn looks_around_as_if_line_by_line() {
    let mut both = cache();
    let mut random = pinion_sim::random::Xorshift32::new(5);
    let first = both.0.first_line;
    let mut found = 0;
    for round in 0..400 {
        let line = first + random.draw() % 300;
        data(&mut both, line, [(0, 1000 + 20 * round)]);
        for near in line - 40..line + 40 {
            // The cycle in which it comes, too.
            for now in [1000 + 20 * round, 1009 + 20 * round, 1020 + 20 * round] {
                let around = both.0.around(near, now, 32);
                assert_eq!(around, port::around_one_by_one(&both.0, near, now, 32), "{near} {now}");
                found = found.max(around[0] + around[1]);
            }
        }
    }
    assert!(found > 3, "no lines beside each other: {found}");
}
