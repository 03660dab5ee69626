//! How fast the native engine is: each example's handler called by the engine, with matching,
//! messages, copies and protection, and by a hand-written loop over packets in memory (`loop.c`).
//!
//! `cargo bench -p pinion-native` prints both, and what they differ by. The bar is 1.5 times the
//! loop's time for a handler that does something.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;

use pinion_native::{Engine, Incoming, Setup};
use pinion_net::generator::{Generator, GeneratorSpec};
use pinion_spin::listener::Deaf;
use pinion_spin::{ExecutionContext, Listener};

/// Packets in memory: as many as fit into 256 KiB of cache, at most 4,096.
const MEMORY_BYTES: usize = 256 << 10;
/// The hand-written loop goes round so often per measurement.
const ROUNDS: usize = 2;
/// Measures so often, both in turn, and takes the best.
const REPEATS: usize = 40;
/// Chooses the packets measured, and those that start the fetching handler and the loop.
const RULES: [&str; 3] = ["udp", "tcp", "icmp"];
/// IP protocol numbers of the latter two.
const FETCH: u8 = 6;
const LOOP: u8 = 1;

/// Is a handler to measure.
struct Case {
    folder: &'static str,
    handler: &'static str,
    bytes: usize,
    /// Content of handler memory.
    image: Option<&'static str>,
    /// More of the generator's specification.
    traffic: &'static str,
    /// Whether packets have addresses and ports of the example's capture.
    captured: bool,
}

const PLAIN: Case =
    Case { folder: "", handler: "", bytes: 64, image: None, traffic: "", captured: false };
/// Sources as in the use case's standard traffic.
const SOURCES: &str = ",src=10.12.0.0,sources=65536";

const CASES: [Case; 8] = [
    Case { folder: "empty", handler: "empty_ph", ..PLAIN },
    Case {
        folder: "filter",
        handler: "filter_ph",
        image: Some("table.bin"),
        captured: true,
        ..PLAIN
    },
    Case {
        folder: "filtering",
        handler: "filtering_ph",
        image: Some("table.bin"),
        traffic: SOURCES,
        ..PLAIN
    },
    Case {
        folder: "filtering",
        handler: "filtering_ph",
        bytes: 512,
        image: Some("table.bin"),
        traffic: SOURCES,
        ..PLAIN
    },
    Case { folder: "ping_pong", handler: "pingpong_l1_ph", ..PLAIN },
    Case { folder: "ping_pong", handler: "pingpong_l1_ph", bytes: 1024, ..PLAIN },
    Case { folder: "icmp_echo", handler: "icmp_echo_ph", bytes: 1024, ..PLAIN },
    Case { folder: "reduce", handler: "reduce_ph", bytes: 1024, ..PLAIN },
];

fn main() {
    println!(
        "{:<16}{:>6}{:>12}{:>12}{:>8}{:>14}{:>16}",
        "handler", "bytes", "loop ns", "engine ns", "ratio", "more ns", "packets/s"
    );
    for case in &CASES {
        let Some((by_loop, by_engine)) = measure(case) else {
            println!("there is no C compiler here: nothing to measure");
            return;
        };
        println!(
            "{:<16}{:>6}{:>12.1}{:>12.1}{:>8.2}{:>14.1}{:>16.0}",
            case.handler,
            case.bytes,
            by_loop,
            by_engine,
            by_engine / by_loop,
            by_engine - by_loop,
            1e9 / by_engine
        );
    }
}

/// Measures nanoseconds per packet: by the loop, and by the engine.
fn measure(case: &Case) -> Option<(f64, f64)> {
    let count = (MEMORY_BYTES / case.bytes).min(4096);
    let folder = support::root().join("examples").join(case.folder);
    let sources = [
        folder.join(case.folder).with_extension("c"),
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/loop.c"),
    ];
    let defines = [
        format!("HANDLER={}", case.handler),
        format!("COUNT={count}u"),
        format!("BYTES={}u", case.bytes),
        format!("ROUNDS={ROUNDS}u"),
    ];
    let image = support::compile(case.folder, &sources, &defines)?;
    let machine = support::machine();
    let handlers = [["", case.handler, ""], ["", "fetch_ph", ""], ["", "loop_ph", ""]];
    let mut contexts = support::contexts(&image, &handlers);
    share(&mut contexts);
    if let Some(name) = case.image {
        let bytes = std::fs::read(folder.join(name)).expect("the example's image");
        contexts[0].handler_memory_image = bytes;
    }
    let setup = Setup {
        machine: &machine,
        image: &image,
        contexts: &contexts,
        matching: support::matching(&RULES, 1),
        workers: 1,
        observed: false,
        handlers: false,
        counted: false,
    };
    let mut engine = Engine::new(setup).expect("the engine");
    let frames = frames(case, count);
    let flat: Vec<u8> = frames.concat();
    assert!(engine.write_host(contexts[0].host_memory_address, &flat));
    let mut best = (f64::MAX, f64::MAX);
    let packets = (count * ROUNDS) as f64;
    for _ in 0..REPEATS {
        offer(&mut engine, &trigger(FETCH));
        engine.poll(&mut Deaf);
        let looped = timed(|| {
            offer(&mut engine, &trigger(LOOP));
            engine.poll(&mut Deaf);
        });
        let taken = timed(|| {
            for _ in 0..ROUNDS {
                let frames = flat.chunks_exact(case.bytes);
                let frames = frames.map(|bytes| Incoming { bytes, skip: 0, tag: 0 });
                engine.offer_all(frames, &mut Deaf);
            }
            engine.poll(&mut Deaf);
        });
        best = (best.0.min(looped / packets), best.1.min(taken / packets));
    }
    let totals = engine.totals();
    assert_eq!(totals.faults, 0, "{}: handlers failed", case.handler);
    assert_eq!(totals.unmatched, 0, "{}: packets went elsewhere", case.handler);
    Some(best)
}

/// Gives the processor time of this thread that something takes, in nanoseconds: on a busy computer
/// the clock on the wall counts others' work.
fn timed(work: impl FnOnce()) -> f64 {
    let began = processor_time_ns();
    work();
    (processor_time_ns() - began) as f64
}

fn processor_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time to where it is told.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn offer(engine: &mut Engine, bytes: &[u8]) {
    let listener: &mut dyn Listener = &mut Deaf;
    engine.offer(Incoming { bytes, skip: 0, tag: 0 }, listener);
}

/// Lets all contexts have the first one's memory, with scratchpads that hold the packets.
fn share(contexts: &mut [ExecutionContext]) {
    let first = contexts[0].clone();
    for context in contexts {
        context.handler_memory_bytes = 512 << 10;
        context.handler_memory_address = first.handler_memory_address;
        context.host_memory_address = first.host_memory_address;
        context.scratchpad_offset = 0;
        context.scratchpad_bytes = 640 << 10;
        context.l1_bytes = None;
    }
}

/// Makes the packets.
fn frames(case: &Case, count: usize) -> Vec<Vec<u8>> {
    let spec = format!(
        "udp,size={},count={count},messages={count},dport=9000{}",
        case.bytes, case.traffic
    );
    let spec: GeneratorSpec = spec.parse().expect("a specification");
    let mut frames: Vec<Vec<u8>> = Generator::new(spec).map(|frame| frame.bytes).collect();
    if case.captured {
        // Source addresses and destination ports as in the example's capture: those in its table.
        let path = support::root().join("examples").join(case.folder).join("traffic.pcap");
        let mut reader = pinion_net::capture::CaptureReader::open(&path).expect("the capture");
        let mut sources = Vec::new();
        while let Ok(Some(frame)) = reader.next_frame() {
            sources.push(frame.bytes);
        }
        for (frame, source) in frames.iter_mut().zip(sources.iter().cycle()) {
            frame[26..30].copy_from_slice(&source[26..30]);
            frame[36..38].copy_from_slice(&source[36..38]);
        }
    }
    frames
}

/// Makes a packet that starts one of the bench's own handlers.
fn trigger(protocol: u8) -> Vec<u8> {
    let spec: GeneratorSpec = "udp,size=64,count=1".parse().expect("a specification");
    let mut frame = Generator::new(spec).next().expect("a frame").bytes;
    frame[23] = protocol;
    frame
}
