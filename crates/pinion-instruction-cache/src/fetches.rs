//! A core's prefetch buffer in front of the cluster's cache.

use pinion_cores::pulp::prefetch_buffer::{Arrival, PrefetchBuffer};
use pinion_isa::{DecodedProgram, Extensions};

use super::{InstructionCache, InstructionPort, program_port};
use pinion_sim::queued_port::QueuedPort;
use pinion_spin_machine::Machine;

const BASE: u32 = 0x1d00_0300;

struct Bench {
    buffer: PrefetchBuffer,
    cache: InstructionCache,
    port: QueuedPort,
    program: DecodedProgram<u32>,
    left: u64,
}

impl Bench {
    /// Takes a program as its instructions' lengths: `nop` and `c.nop`.
    fn new(lengths: &[u8]) -> Self {
        let machine: Machine = super::machine();
        let mut cache = InstructionCache::new(&machine, 0);
        cache.turn_on(0);
        let mut bytes = Vec::new();
        for &length in lengths {
            bytes.extend_from_slice(if length == 2 { &[1, 0] } else { &[0x13, 0, 0, 0] });
        }
        let extensions: Extensions = machine.extensions();
        let mut program = DecodedProgram::new(BASE, bytes.len(), extensions);
        program.load(BASE, &bytes);
        let buffer = PrefetchBuffer::default();
        Self { buffer, cache, port: program_port(&machine), program, left: 0 }
    }

    /// Goes to an offset; gives the cycle in which it leaves the decode stage.
    fn go(&mut self, offset: u32, time: u64, jumped: bool) -> u64 {
        let pc = BASE + offset;
        let mut time = time;
        if !self.buffer.covers(pc) && !self.buffer.enter(pc, time, &self.cache) {
            let mut now = time;
            time = loop {
                let left = self.left;
                let arrival = Arrival { pc, time: now, left, jumped, behind_wait: false };
                let (cache, program) = (&mut self.cache, &mut self.port);
                let mut port = InstructionPort { core: 0, now, cache, program };
                match self.buffer.fetch(&arrival, &self.program, &mut port) {
                    Ok(time) => break time,
                    Err(again) => now = again,
                }
            };
        }
        self.left = time;
        time
    }

    fn straight(&mut self, offsets: impl Iterator<Item = u32>, from: u64) -> Vec<u64> {
        let mut time = from;
        offsets
            .map(|offset| {
                time = self.go(offset, time, false) + 1;
                time - 1
            })
            .collect()
    }
}

/// Row cold_line: a cold line in sequence costs nine cycles instead of one; a cold jump 10.
#[test]
fn streams_cold_lines_in_twelve_cycles() {
    let mut bench = Bench::new(&[4; 12]);
    assert_eq!(bench.go(0, 102, true), 110, "jump in cycle 100");
    let times = bench.straight((1..9).map(|word| 4 * word), 111);
    assert_eq!(times, [111, 112, 113, 122, 123, 124, 125, 134]);
    assert_eq!(bench.go(0, 200, true), 200, "warm");
    assert_eq!(bench.straight((1..9).map(|word| 4 * word), 201)[7], 208);
}

/// Row back_aligned: a branch at a line's end waits for the next line, once.
#[test]
fn jumps_wait_for_what_was_asked_ahead() {
    let mut bench = Bench::new(&[4; 8]);
    bench.go(0, 102, true);
    assert_eq!(bench.straight([4, 8].into_iter(), 111), [111, 112]);
    assert_eq!(bench.go(0, 115, true), 123, "the branch left at 112");
    assert_eq!(bench.straight([4, 8].into_iter(), 124), [124, 125]);
    assert_eq!(bench.go(0, 128, true), 128);
}

/// Rows fwd_straddle and back_straddle: both lines are needed, one after the other.
#[test]
fn instructions_in_two_lines_wait_for_both() {
    let mut bench = Bench::new(&[4, 4, 4, 2, 4, 4, 4, 4]);
    assert_eq!(bench.go(14, 103, true), 119, "two cold lines");
    assert_eq!(bench.go(14, 203, true), 203, "its extra cycle is part of the jump's");
    let mut bench = Bench::new(&[4, 4, 4, 2, 4, 4, 4, 4]);
    bench.go(0, 102, true);
    assert_eq!(bench.straight([4, 8, 12, 14, 18].into_iter(), 111), [111, 112, 113, 122, 123]);
}

/// A line whose successor is not there costs nothing either, up to where the core asks for that one.
#[test]
fn enters_a_line_alone_as_far_as_nothing_is_asked_for() {
    let mut bench = Bench::new(&[4; 12]);
    bench.go(0, 102, true);
    let arrives = |bench: &mut Bench, offset: u32, time: u64| {
        bench.buffer.leave();
        bench.buffer.enter(BASE + offset, time, &bench.cache)
    };
    assert!(arrives(&mut bench, 4, 200));
    assert!(bench.buffer.covers(BASE) && !bench.buffer.covers(BASE + 8));
    assert!(!arrives(&mut bench, 8, 200), "its successor is in the last word");
    assert!(!arrives(&mut bench, 16, 200), "the next line is not there");
}
