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

/// RTL axi_ar_buffer: a line that is asked for takes a place in a buffer of two until the port's queue has
/// it; the controller waits, whoever comes, and its preference with it. Row ph1000-burst.
#[test]
fn the_controller_waits_for_room_in_the_buffer() {
    let mut both = cache();
    // Other clusters' requests keep the port's one entry a cycle busy.
    for cluster in 1..4 {
        (0..2).for_each(|_| both.1.ask(cluster, 1004));
    }
    let mut ask = |core, at| both.0.request(core, 100 * core as u32, (at, at), &mut both.1);
    assert_eq!([0, 1, 2, 4].map(|core| ask(core, 1000)), [Answer::Later(1003); 4]);
    // There is room for three; core 4 waits from 1006 to 1009, and core 3, which is preferred by then, goes first.
    assert_eq!(ask(3, 1005), Answer::Later(1008));
    let mut comes = |core| {
        let mut now = 1005;
        loop {
            match both.0.serve(core, now, &mut both.1) {
                Ok(at) => break at,
                Err(later) => now = later,
            }
        }
    };
    assert_eq!([0, 1, 2, 3, 4].map(&mut comes), [1009, 1017, 1025, 1027, 1029]);
}

/// A line stays in its place until the one that gets it has come.
#[test]
fn who_looks_soon_enough_finds_what_is_replaced() {
    let mut both = cache();
    let lines: Vec<u32> = (0..5).map(|way| 0x400 + 64 * way).collect();
    for (line, now) in lines[..4].iter().zip([1000, 1100, 1200, 1300]) {
        assert_eq!(data(&mut both, *line, [(0, now)]), [now + 9], "it is not there");
    }
    let before = both.0.misses();
    assert!(matches!(both.0.request(0, lines[4], (1400, 1400), &mut both.1), Answer::Later(_)));
    let came = both.0.serve(0, 1404, &mut both.1);
    assert_eq!(came, Ok(1409));
    let found = |both: &mut (InstructionCache, QueuedPort), now| {
        let there = lines[..4].iter().filter(|line| both.0.lines.is_there(**line, now));
        there.count()
    };
    // It is written in 1408.
    assert_eq!([1405, 1407, 1408].map(|now| found(&mut both, now)), [4, 4, 3]);
    assert!(!both.0.lines.is_there(lines[4], 1407) && both.0.lines.is_there(lines[4], 1408));
    assert_eq!(both.0.misses() - before, 1);
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
    let first = both.0.lines.first_line;
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
