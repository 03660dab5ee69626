//! How fast a NIC is simulated: handlers of the calibration programs under full load, and idle time.
//!
//! `cargo bench -p pinion-spin` prints simulated instructions per second of one host core, beside the
//! RTL's cycles per second in Verilator, about 250.

use std::path::PathBuf;

use divan::Bencher;
use divan::counter::ItemsCount;
use pinion_isa::elf::Image;
use pinion_sim::{Time, config};
use pinion_spin::listener::Deaf;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{
    Classification, ContextId, ExecutionContext, Frame, Handler, Machine, Nic, Offer, Outcome,
};

fn main() {
    divan::main();
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn nic(program: &str, handler: &str) -> Nic {
    let machine: Machine = config::load_file(&root().join("machines/pspin.toml"), &[])
        .expect("the published machine")
        .value;
    let image = Image::read(&root().join(format!("tests/calibration/pspin/elf/{program}.elf")))
        .expect("a calibration program");
    let symbol = image.require(handler).expect("its handler");
    let context = ExecutionContext {
        payload_handler: Some(Handler {
            name: handler.to_owned(),
            address: symbol.address as u32,
            bytes: symbol.size as u32,
        }),
        handler_memory_address: 0x1c30_0000,
        handler_memory_bytes: 64 << 10,
        host_memory_address: 1 << 60,
        host_memory_bytes: 256 << 20,
        scratchpad_bytes: 16 << 10,
        ..ExecutionContext::default()
    };
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    Nic::new(machine, &image, vec![context], engine).expect("it boots")
}

/// Makes `count` packets of `bytes` bytes in eight messages, `gap_ns` apart.
fn frames(count: u64, bytes: usize, gap_ns: u64) -> Vec<Frame> {
    let frame = |index: u64| {
        let mut state = 0x9e37_79b9u32.wrapping_mul(index as u32 + 1);
        let mut content = vec![0; bytes];
        for byte in &mut content {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        Frame {
            arrival: Time::from_ns(index * gap_ns),
            bytes: content,
            skip: 0,
            classification: Some(Classification {
                context: ContextId(0),
                message: (index % 8) as u32,
                end_of_message: index + 8 >= count,
                l1_bytes: bytes as u32,
            }),
            tag: 0,
        }
    };
    (0..count).map(frame).collect()
}

/// Runs, and gives the NIC back so that taking it down is not measured.
fn run(mut nic: Nic, frames: Vec<Frame>) -> Nic {
    let mut frames = frames.into_iter();
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    let outcome = nic.run(Time::MAX, &mut next, &mut Deaf);
    assert_eq!(outcome, Outcome::Finished);
    nic
}

type Load = (u64, usize, u64);

fn bench(bencher: Bencher, (program, handler): (&str, &str), (count, bytes, gap_ns): Load) {
    let inputs = || (nic(program, handler), frames(count, bytes, gap_ns));
    let (first, load) = inputs();
    let instructions = run(first, load).totals().instructions;
    bencher
        .counter(ItemsCount::new(instructions))
        .with_inputs(inputs)
        .bench_values(|(nic, frames)| run(nic, frames));
}

/// All 32 HPUs add 1,024 B packets word by word into L1 with atomics: the project's speed bar.
#[divan::bench]
fn reduce_1024(bencher: Bencher) {
    bench(bencher, ("words", "reduce"), (2_000, 1024, 0));
}

/// Word by word into registers.
#[divan::bench]
fn aggregate_1024(bencher: Bencher) {
    bench(bencher, ("words", "aggregate"), (2_000, 1024, 0));
}

/// Nothing but registers: cores that run far ahead of each other.
#[divan::bench]
fn alu_64(bencher: Bencher) {
    bench(bencher, ("alu", "ph1000"), (1_000, 64, 0));
}

/// Nothing but scheduling: few instructions, many packets.
#[divan::bench]
fn empty_64(bencher: Bencher) {
    bench(bencher, ("empty", "ph"), (20_000, 64, 0));
}

/// A millisecond between packets: what idle time costs.
#[divan::bench]
fn idle(bencher: Bencher) {
    bench(bencher, ("empty", "ph"), (100, 64, 1_000_000));
}
