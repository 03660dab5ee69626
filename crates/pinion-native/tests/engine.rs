//! The engine as a library: one at a time, messages in order on one worker and on several, crashes.
//! What the command makes of it, and every example against the simulator: `tests/native`.

mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pinion_isa::elf::Image;
use pinion_native::{Engine, Incoming, NativeError, Setup};
use pinion_net::generator::{Generator, GeneratorSpec};
use pinion_spin::{
    Event, ExecutionContext, Fault, HandlerKind, Hears, Interest, Listener, Machine, Spin,
};

/// Is held by the test that has the engine.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn program(folder: &str, file: &str) -> Option<Image> {
    let source = support::root().join(folder).join(file);
    support::compile(file.trim_end_matches(".c"), &[source], &[])
}

fn setup<'a>(
    machine: &'a Machine,
    image: &'a Image,
    contexts: &'a [ExecutionContext],
    packets: u32,
    workers: u32,
) -> Setup<'a> {
    let matching = support::matching(&["udp"], packets);
    Setup {
        machine,
        image,
        contexts,
        matching,
        workers,
        observed: true,
        handlers: true,
        counted: false,
    }
}

fn offer(engine: &mut Engine, spec: &str, listener: &mut dyn Listener) {
    let spec: GeneratorSpec = spec.parse().unwrap();
    for (tag, frame) in Generator::new(spec).enumerate() {
        let incoming = Incoming { bytes: &frame.bytes, skip: 0, tag: tag as u64 };
        engine.offer(incoming, listener);
    }
    engine.settle(listener);
}

/// Notes handlers in the order they are reported, with message and times, and faults.
#[derive(Default)]
struct Notes {
    handlers: Vec<(u64, HandlerKind, u64, u64)>,
    packets: Vec<(u64, u32)>,
    faults: Vec<Fault>,
}

impl Hears<Spin> for Notes {
    fn interest(&self) -> Interest {
        Interest { handlers: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::HandlerDone(record) => {
                self.handlers.push((record.packet, record.kind, record.start.ps(), record.end.ps()))
            }
            Event::PacketDone(record) => self.packets.push((record.packet, record.message)),
            Event::HandlerFault { fault, .. } => self.faults.push(*fault),
            _ => {}
        }
    }
}

#[test]
fn one_engine_runs_in_a_process_at_a_time() {
    let _turn = turn();
    let Some(image) = program("examples/empty", "empty.c") else { return };
    let (machine, contexts) =
        (support::machine(), support::contexts(&image, &[["", "empty_ph", ""]]));
    for _ in 0..2 {
        let engine = Engine::new(setup(&machine, &image, &contexts, 1, 1)).unwrap();
        let second = Engine::new(setup(&machine, &image, &contexts, 1, 1)).map(|_| ());
        assert!(matches!(second, Err(NativeError::AddressTaken { .. })), "{second:?}");
        drop(engine);
    }
    let many = Engine::new(setup(&machine, &image, &contexts, 1, 33)).map(|_| ());
    assert!(matches!(many, Err(NativeError::TooManyWorkers { workers: 33, hpus: 32 })));
}

#[test]
fn headers_come_before_payloads_and_completions_behind() {
    let _turn = turn();
    let Some(image) = program("examples/empty", "empty.c") else { return };
    let handlers = [["empty_hh", "empty_ph", "empty_th"]];
    let (machine, contexts) = (support::machine(), support::contexts(&image, &handlers));
    for workers in [1, 3] {
        let mut engine = Engine::new(setup(&machine, &image, &contexts, 8, workers)).unwrap();
        let mut notes = Notes::default();
        offer(&mut engine, "udp,size=128,messages=40,packets=8,order=interleaved:16", &mut notes);
        let totals = engine.totals();
        assert_eq!((totals.processed, totals.resident, totals.faults), (320, 0, 0));
        assert_eq!(totals.conserved(), Ok(()));
        assert_eq!(notes.handlers.len(), 40 * (1 + 8 + 1));
        for message in 0..40 {
            let of_message = |packet: u64| {
                notes.packets.iter().any(|&(other, id)| other == packet && id == message)
            };
            let times = |kind: HandlerKind| {
                let all = notes.handlers.iter();
                let own = all.filter(|(packet, other, ..)| *other == kind && of_message(*packet));
                own.map(|&(_, _, start, end)| (start, end)).collect::<Vec<_>>()
            };
            let header = times(HandlerKind::Header);
            let payloads = times(HandlerKind::Payload);
            let completion = times(HandlerKind::Completion);
            assert_eq!((header.len(), payloads.len(), completion.len()), (1, 8, 1));
            // A handler's end is reported without the clock's own time, never later than it was.
            assert!(payloads.iter().all(|payload| payload.0 >= header[0].1), "message {message}");
            assert!(
                payloads.iter().all(|payload| payload.1 <= completion[0].0),
                "message {message}"
            );
        }
    }
}

#[test]
fn a_crash_ends_its_handler_and_nothing_else() {
    let _turn = turn();
    let Some(image) = program("tests/native/crash", "crash.c") else { return };
    let machine = support::machine();
    for (handler, wanted) in [
        ("null_load_ph", Fault::Exception { cause: 5 }),
        ("division_ph", Fault::Exception { cause: pinion_native::ARITHMETIC_CAUSE }),
        ("overrun_ph", Fault::Exception { cause: 7 }),
    ] {
        let contexts = support::contexts(&image, &[["", handler, ""]]);
        for workers in [1, 2] {
            let mut engine = Engine::new(setup(&machine, &image, &contexts, 1, workers)).unwrap();
            let mut notes = Notes::default();
            offer(&mut engine, "udp,size=128,count=50", &mut notes);
            assert_eq!(engine.totals().processed, 50, "{handler}");
            assert_eq!(notes.faults, vec![wanted; 50], "{handler}");
        }
    }
}

/// Notes what leaves and what goes wrong, by packet.
#[derive(Default, Debug, PartialEq)]
struct Outcome {
    sent: Vec<(u64, Vec<u8>)>,
    faults: Vec<(u64, u32, Fault, u32)>,
}

impl Hears<Spin> for Outcome {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::Departed { packet, frame, .. } => self.sent.push((packet, frame.to_vec())),
            Event::HandlerFault { packet, message, fault, pc, .. } => {
                self.faults.push((packet, message, fault, pc));
            }
            _ => {}
        }
    }
}

#[test]
fn packets_that_wait_for_each_other_fare_as_those_that_do_not() {
    let _turn = turn();
    let Some(image) = program("tests/native/crash", "crash.c") else { return };
    let machine = support::machine();
    let good = "good_ph";
    let handlers = [
        ["", good, ""],
        ["", "null_load_ph", ""],
        ["", "bad_command_ph", ""],
        ["", "endless_ph", ""],
        [good, good, good],
    ];
    let contexts = support::contexts(&image, &handlers);
    let rules: Vec<String> = (0..5).map(|port| format!("udp.dport={}", 9000 + port)).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    // Runs of good ones, longer than wait at a time, with others in between; sizes from 64 B to 2 KiB.
    let frames: Vec<Vec<u8>> = (0..400u32)
        .map(|index| {
            let port = match index {
                100 => 9003,
                _ if index % 67 == 5 => 9001,
                _ if index % 29 == 7 => 9002,
                _ if index % 23 == 9 => 9004,
                _ => 9000,
            };
            let size = if index % 50 < 40 { 64 } else { 64 + index * 4 };
            let spec = format!("udp,count=1,dport={port},size={size},seed={index}");
            Generator::new(spec.parse().unwrap()).next().unwrap().bytes
        })
        .collect();
    let ways = [(true, false), (false, false), (false, true)];
    let [one_by_one, together, at_once] = ways.map(|(observed, at_once)| {
        let setup = Setup {
            matching: support::matching(&rules, 1),
            observed,
            handlers: false,
            ..setup(&machine, &image, &contexts, 1, 1)
        };
        let mut engine = Engine::new(setup).unwrap();
        let mut outcome = Outcome::default();
        let mut incoming = (0..).zip(&frames).map(|(tag, bytes)| Incoming { bytes, skip: 0, tag });
        while let Some(frame) = incoming.next() {
            let tag = frame.tag;
            engine.offer(frame, &mut outcome);
            let totals = engine.totals();
            assert_eq!((totals.conserved(), totals.matched), (Ok(()), tag + 1));
            if at_once {
                // Some are there already, as of whoever offers some more.
                engine.offer_all(incoming.by_ref().take(150), &mut outcome);
            }
        }
        let totals = engine.totals();
        assert_eq!((totals.packets_in, totals.matched, totals.conserved()), (400, 400, Ok(())));
        engine.settle(&mut outcome);
        let mut counts = [0; 4];
        assert!(engine.read_host(contexts[0].host_memory_address, &mut counts));
        assert_eq!((engine.totals().processed, engine.totals().resident), (400, 0));
        outcome
    });
    assert!(one_by_one.faults.len() > 15 && one_by_one.sent.len() > 350);
    let watchdog = |(_, _, fault, _): &&_| matches!(fault, Fault::Watchdog { .. });
    assert_eq!(one_by_one.faults.iter().filter(watchdog).count(), 1);
    let kinds = |outcome: &Outcome| -> Vec<(u64, u32, Fault)> {
        outcome.faults.iter().map(|&(packet, message, fault, _)| (packet, message, fault)).collect()
    };
    for other in [together, at_once] {
        assert_eq!(kinds(&one_by_one), kinds(&other));
        assert_eq!(one_by_one.sent, other.sent);
    }
}

#[test]
fn a_program_without_the_runtime_is_refused() {
    let _turn = turn();
    let Some(mut image) = program("examples/empty", "empty.c") else { return };
    let (machine, contexts) =
        (support::machine(), support::contexts(&image, &[["", "empty_ph", ""]]));
    image.symbols.retain(|symbol| symbol.name != "pinion_native_services");
    let refused = Engine::new(setup(&machine, &image, &contexts, 1, 1)).map(|_| ());
    assert!(matches!(refused, Err(NativeError::NoRuntime(_))));
}
