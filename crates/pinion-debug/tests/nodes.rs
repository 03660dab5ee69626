//! Debugged nanoservices and nodes of clusters: every position shows what the node had there, forward and
//! back lead to the same places, and looking takes nothing away.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use pinion_app::app::Options;
use pinion_app::service::Service;
use pinion_app::tape::Tape;
use pinion_debug::{
    Access, Event, Goal, Position, Reason, Task, Timeline, Watchpoint, Wrong, among,
};
use pinion_isa::{Extensions, decode};
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_net::fabric::Alone;
use pinion_run::cluster::{self, NodeTracer, Plan, Tracing};
use pinion_run::nanoservice::live::Recorded;
use pinion_run::nanoservice::run::{self, RunOptions, Settling};
use pinion_run::nanoservice::{Outputs, Setup, Traffic};
use pinion_run::watch::Unobserved;
use pinion_sim::probe::Hears;
use pinion_sim::random::Xorshift64;

/// A service time of 0 would end `nanopu_service`.
const LOAD: &str = "requests=60,gap=exp:400,service=300,seed=3";

/// An instruction of a run that nobody stops.
#[derive(Clone, Copy)]
struct Retired {
    hart: u8,
    at: u64,
    pc: u64,
    registers: [u64; 32],
}

/// Keeps every instruction, the words that harts took, and the frames that came.
#[derive(Default)]
struct Kept {
    retired: Vec<Retired>,
    taken: Vec<(u64, u64)>,
    frames: Vec<(u64, Vec<u8>)>,
}

impl Hears<NanoPu> for Kept {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Retired { hart, at, pc, registers, .. } => {
                self.retired.push(Retired { hart, at, pc, registers: *registers });
            }
            Told::Taken { at, word: Some(word), .. } => self.taken.push((at, word)),
            Told::Arrived { first_flit, frame } => self.frames.push((first_flit, frame.to_vec())),
            _ => {}
        }
    }
}

impl Settling for Kept {}

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn has_gcc() -> bool {
    let gcc = std::process::Command::new("riscv64-unknown-elf-gcc").arg("--version").output();
    if gcc.is_err() {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    gcc.is_ok()
}

fn load(name: &str) -> (Service, Setup) {
    load_with(name, &[])
}

fn load_with(name: &str, overrides: &[&str]) -> (Service, Setup) {
    let overrides = overrides.iter().map(|text| (*text).to_owned()).collect();
    let options = Options { overrides, ..Options::default() };
    let service = Service::load(Path::new(&example(name)), &options).unwrap();
    let setup = Setup::new(&service, &options).unwrap();
    (service, setup)
}

fn options(setup: &Setup) -> RunOptions {
    RunOptions::of(Traffic::load(LOAD, None, setup, true).unwrap())
}

fn debugged(name: &str) -> (Timeline, Service) {
    let (service, setup) = load(name);
    let again = load(name).0;
    let options = options(&setup);
    (Timeline::of(pinion_debug::service(service, &setup, options).unwrap()).unwrap(), again)
}

fn plain(name: &str) -> Kept {
    let (service, setup) = load(name);
    heard(&service, &setup, options(&setup))
}

fn heard(service: &Service, setup: &Setup, options: RunOptions) -> Kept {
    let mut kept = Kept::default();
    let outputs = Outputs::default();
    run::run(service, setup, options, &outputs, &mut Unobserved, &mut kept).unwrap();
    kept
}

#[test]
fn registers_of_a_nanoservice_are_those_of_its_run() {
    if !has_gcc() {
        return;
    }
    shows_what_ran(&plain("nanopu_service"), debugged("nanopu_service").0);
}

#[test]
fn a_live_run_of_a_nanoservice_is_shown_as_it_ran() {
    if !has_gcc() {
        return;
    }
    // What the other end would answer to what leaves then is no part of it, so nothing may wait for that.
    let (service, setup) = load_with("nanopu_service", &["transport.kind=udp"]);
    let asked = heard(&service, &setup, options(&setup));
    let folder = std::env::temp_dir().join(format!("pinion-debug-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // Slices without frames, with one and with several, that end wherever a program is.
    let tape = Tape::create(&folder).unwrap();
    tape.peer([2, 0, 0, 0, 0, 9]);
    let mut end = 0;
    for (at, frame) in asked.frames {
        while at >= end {
            end += 1_700;
            tape.ran(end);
        }
        tape.frame(setup.clock.time(at), &frame);
    }
    tape.ran(end + 50_000);
    tape.finish().unwrap();
    let live = || RunOptions::of(Traffic::Live(Recorded { folder: folder.clone(), kernel: None }));
    let kept = heard(&service, &setup, live());
    assert!(asked.taken.len() >= 3 * 60, "{}", asked.taken.len());
    assert_eq!(kept.taken.len(), asked.taken.len(), "every request was read");
    let debugged = pinion_debug::service(service, &setup, live()).unwrap();
    let mut timeline = Timeline::of(debugged).unwrap();
    assert_eq!(timeline.go(true, Goal::Condition).unwrap().reason, Reason::End);
    shows_what_ran(&kept, timeline);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Compares positions with the instructions of a run that nobody stops.
fn shows_what_ran(kept: &Kept, mut timeline: Timeline) {
    assert!(timeline.harts() > 1, "harts that share memory");
    let mut random = Xorshift64::new(0x5eed);
    for _ in 0..60 {
        let Retired { hart, at, pc, registers } =
            kept.retired[random.draw() as usize % kept.retired.len()];
        let hart = u32::from(hart);
        timeline.go(true, Goal::Position(Position::before(at, hart))).unwrap();
        assert_eq!(timeline.pc(hart), pc, "cycle {at}");
        timeline.go(true, Goal::Position(Position::after(at, hart))).unwrap();
        let mut there = timeline.registers(hart);
        // What the network's registers hold is no state of the hart.
        (there[30], there[31]) = (registers[30], registers[31]);
        assert_eq!(there, registers, "cycle {at}, hart {hart}, pc {pc:#x}");
    }
}

#[test]
fn steps_and_stops_of_a_nanoservice_are_the_same_in_both_directions() {
    if !has_gcc() {
        return;
    }
    let (mut timeline, service) = debugged("nanopu_echo");
    let main = service.image.symbol("main").unwrap().address;
    timeline.conditions.breakpoints.push(main);
    assert_eq!(timeline.go(true, Goal::Condition).unwrap().reason, Reason::Breakpoint);
    timeline.conditions.breakpoints.clear();
    timeline.conditions.events.push(Event::Context(0));
    let mut there = Vec::new();
    while let Reason::Entered(task) = timeline.go(true, Goal::Condition).unwrap().reason {
        assert_eq!(timeline.task(0), Some(task));
        there.push((timeline.position(), task.message));
    }
    assert_eq!(
        there.iter().map(|(_, message)| *message).collect::<Vec<_>>(),
        (0..60).collect::<Vec<_>>()
    );
    let mut back = Vec::new();
    while let Reason::Entered(task) = timeline.go(false, Goal::Condition).unwrap().reason {
        back.push((timeline.position(), task.message));
    }
    assert_eq!(timeline.position(), Position::of_units(0));
    back.reverse();
    assert_eq!(there, back);
    // One message, ahead and behind.
    timeline.conditions.events = vec![Event::Message(17)];
    let arrival = timeline.go(true, Goal::Condition).unwrap();
    assert!(matches!(arrival.reason, Reason::Entered(Task { message: 17, packet: None, .. })));
    assert_eq!(timeline.position(), there[17].0);
    // Steps from there, and back.
    let step = Goal::Step { hart: 0, range: (0, 0) };
    timeline.conditions.events.clear();
    let mut way = Vec::new();
    for _ in 0..200 {
        way.push((timeline.position(), timeline.pc(0), timeline.registers(0)));
        assert_eq!(timeline.go(true, step).unwrap().reason, Reason::Stepped);
    }
    for (position, pc, registers) in way.into_iter().rev() {
        assert_eq!(timeline.go(false, step).unwrap().reason, Reason::Stepped);
        assert_eq!((timeline.pc(0), timeline.registers(0)), (pc, registers), "{position:?}");
    }
}

#[test]
fn looking_at_the_network_register_takes_no_word() {
    if !has_gcc() {
        return;
    }
    let kept = plain("nanopu_echo");
    let (mut timeline, service) = debugged("nanopu_echo");
    let reads: HashMap<u64, bool> = kept
        .retired
        .iter()
        .map(|one| (one.pc, decode(service.image.word_at(one.pc).unwrap(), Extensions::RV64GC)))
        .map(|(pc, i)| (pc, i.rs1 == 30 || i.rs2 == 30))
        .collect();
    let readers: Vec<_> = kept.retired.iter().filter(|one| reads[&one.pc]).collect();
    assert_eq!(readers.len(), kept.taken.len());
    for (number, reader) in readers.iter().enumerate().step_by(29) {
        timeline.go(true, Goal::Position(Position::before(reader.at, 0))).unwrap();
        for _ in 0..3 {
            assert_eq!(timeline.head_word(0), Some(kept.taken[number].1), "word {number}");
        }
        timeline.go(true, Goal::Position(Position::after(reader.at, 0))).unwrap();
        let next = kept.taken.get(number + 1).filter(|(at, _)| *at <= reader.at + 1);
        if let Some((_, word)) = next {
            assert_eq!(timeline.head_word(0), Some(*word), "behind word {number}");
        }
    }
    // The run behind all that looking is the run.
    timeline.conditions.events = vec![Event::Message(59)];
    timeline.go(true, Goal::Position(Position::of_units(0))).unwrap();
    timeline.go(true, Goal::Condition).unwrap();
    let last = readers.iter().rev().find(|one| timeline.pc(0) == one.pc).unwrap();
    assert!(
        readers.iter().any(|one| Position::before(one.at, 0) == timeline.position()),
        "{}",
        last.at
    );
}

#[test]
fn memory_of_a_nanoservice_is_watched_in_both_directions() {
    if !has_gcc() {
        return;
    }
    let (mut timeline, service) = debugged("nanopu_service");
    let kept = plain("nanopu_service");
    // A store in the middle of the run, of a word that its hart has in a register then.
    let store =
        kept.retired.iter().enumerate().skip(kept.retired.len() / 2).find_map(|(at, one)| {
            let i = decode(service.image.word_at(one.pc)?, Extensions::RV64GC);
            let is_store = matches!(i.op.mnemonic(), "sd" | "sw");
            is_store.then(|| {
                (at, i, one.registers[usize::from(i.rs1)].wrapping_add_signed(i.imm.into()))
            })
        });
    let (number, instruction, address) = store.expect("the service stores");
    let one = kept.retired[number];
    let hart = u32::from(one.hart);
    timeline.go(true, Goal::Position(Position::before(one.at, hart))).unwrap();
    let mut found = [0; 8];
    assert_eq!(timeline.read(hart, address, &mut found), 8);
    timeline.conditions.watchpoints.push(Watchpoint {
        given: address,
        bytes: 4,
        access: Access::Write,
        places: vec![address],
    });
    let arrival = timeline.go(true, Goal::Condition).unwrap();
    assert!(matches!(arrival.reason, Reason::Watchpoint { by_unit: false, .. }), "{arrival:?}");
    assert_eq!(timeline.position(), Position::after(one.at, hart));
    let mut written = [0; 4];
    timeline.read(hart, address, &mut written);
    let stored = one.registers[usize::from(instruction.rs2)] as u32;
    assert_eq!(u32::from_le_bytes(written), stored, "behind the store");
    timeline.go(false, Goal::Condition).unwrap();
    assert_eq!(timeline.position(), Position::before(one.at, hart));
    let mut again = [0; 8];
    timeline.read(hart, address, &mut again);
    assert_eq!(again, found, "before it");
}

/// Begins to debug a node of an example's cluster.
fn node_of(example_name: &str, node: &str) -> (Timeline, Plan) {
    let file = Path::new(&example(example_name)).join("cluster.toml");
    let plan = Plan::load(&file, &Options::default()).unwrap();
    let number = plan.names.iter().position(|name| name == node).unwrap();
    let options = cluster::RunOptions::default();
    let debuggee = among::node(&plan, &options, number).unwrap().unwrap();
    (Timeline::of(debuggee).unwrap(), plan)
}

#[test]
fn a_node_of_a_cluster_goes_back_to_the_exact_event() {
    if !has_gcc() {
        return;
    }
    let (mut timeline, plan) = node_of("cluster_echo", "server");
    // What the same node does in a run that nobody stops.
    let kept = std::sync::Mutex::new(Kept::default());
    struct Shared<'a>(&'a std::sync::Mutex<Kept>);
    impl Hears<NanoPu> for Shared<'_> {
        fn interest(&self) -> Retirements {
            Retirements { retired: true, ..Retirements::default() }
        }
        fn hear(&mut self, told: &Told<'_>) {
            self.0.lock().unwrap().hear(told);
        }
    }
    impl Settling for Shared<'_> {}
    let number = plan.names.iter().position(|name| name == "server").unwrap();
    let nodes = vec![(number, NodeTracer::Nano(Box::new(Shared(&kept))))];
    let run = cluster::RunOptions { threads: 2, ..cluster::RunOptions::default() };
    let tracing = Tracing { nodes, network: None };
    cluster::trace(&plan, &run, &mut Alone, &mut Unobserved, tracing).unwrap();
    let kept = kept.into_inner().unwrap();
    timeline.conditions.events.push(Event::Context(0));
    let mut there = Vec::new();
    while let Reason::Entered(task) = timeline.go(true, Goal::Condition).unwrap().reason {
        there.push((timeline.position(), task.message, timeline.registers(0)));
        let position = timeline.position();
        let is_one = kept.retired.iter().any(|one| Position::before(one.at, 0) == position);
        assert!(is_one, "{position:?} is a place of the run");
    }
    assert_eq!(there.len(), 400, "four clients ask a hundred times each");
    for (position, message, registers) in there.iter().rev().take(150) {
        let arrival = timeline.go(false, Goal::Condition).unwrap();
        assert!(matches!(arrival.reason, Reason::Entered(task) if task.message == *message));
        assert_eq!((timeline.position(), timeline.registers(0)), (*position, *registers));
    }
    // What it has at any place is what it had in the run.
    let mut random = Xorshift64::new(7);
    for _ in 0..30 {
        let one = kept.retired[random.draw() as usize % kept.retired.len()];
        timeline.go(true, Goal::Position(Position::after(one.at, 0))).unwrap();
        let mut there = timeline.registers(0);
        (there[30], there[31]) = (one.registers[30], one.registers[31]);
        assert_eq!(there, one.registers, "cycle {}", one.at);
    }
}

#[test]
fn a_nic_in_a_cluster_shows_memory_of_the_cycle_itself() {
    if !has_gcc() {
        return;
    }
    let (mut timeline, plan) = node_of("cluster_filter", "filter");
    let number = plan.names.iter().position(|name| name == "filter").unwrap();
    assert!(plan.group_of(number).is_some());
    assert!(timeline.describe(0).starts_with("filter cluster 0 HPU 0"), "{}", timeline.describe(0));
    timeline.conditions.events.push(Event::Packet(11));
    let arrival = timeline.go(true, Goal::Condition).unwrap();
    let Reason::Entered(task) = arrival.reason else { panic!("{arrival:?}") };
    let hart = arrival.hart.unwrap();
    assert_eq!(task.packet, Some(11));
    // The handler's argument leads to the task, and that to the packet.
    let word = |timeline: &Timeline, address: u64| {
        let mut word = [0; 4];
        assert_eq!(timeline.read(hart, address, &mut word), 4, "{address:#x}");
        u64::from(u32::from_le_bytes(word))
    };
    let there = timeline.position();
    let argument = timeline.registers(hart)[10];
    let place = word(&timeline, argument);
    let packet: Vec<u64> =
        (0..10).map(|at| word(&timeline, word(&timeline, place) + 4 * at)).collect();
    // On and back: the same bytes, though the units have written since.
    timeline.go(true, Goal::Position(Position::of_units(there.cycle + 2_000))).unwrap();
    let back = timeline.go(false, Goal::Condition).unwrap();
    assert_eq!((timeline.position(), back.hart), (there, Some(hart)));
    let again: Vec<u64> =
        (0..10).map(|at| word(&timeline, word(&timeline, place) + 4 * at)).collect();
    assert_eq!(packet, again);
}

#[test]
fn going_back_is_quick() {
    if !has_gcc() {
        return;
    }
    let (mut timeline, _) = debugged("nanopu_service");
    timeline.conditions.events.clear();
    timeline.go(true, Goal::Condition).unwrap();
    let begun = Instant::now();
    let arrival = timeline.go(false, Goal::Condition).unwrap();
    assert_eq!(arrival.reason, Reason::Begin);
    // Whatever the machine is busy with: what is measured is in the book.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn an_exception_stops_before_its_instruction() {
    if !has_gcc() {
        return;
    }
    let app = std::env::temp_dir().join(format!("pinion-debug-fault-{}", std::process::id()));
    std::fs::create_dir_all(&app).unwrap();
    std::fs::write(
        app.join("app.toml"),
        "[app]\nname = \"bad\"\nsources = [\"bad.c\"]\n\n[nanoservice]\nharts = 1\n",
    )
    .unwrap();
    std::fs::write(
        app.join("bad.c"),
        "#include <lnic.h>\nint main(void) { lnic_add_context(0, 0); lnic_wait(); \
         *(volatile int *)8 = (int)lnic_read(); return 0; }\n",
    )
    .unwrap();
    let service = Service::load(&app, &Options::default()).unwrap();
    let _ = std::fs::remove_dir_all(&app);
    let setup = Setup::new(&service, &Options::default()).unwrap();
    let options = RunOptions::of(Traffic::load("requests=1", None, &setup, true).unwrap());
    let nano = pinion_debug::service(service, &setup, options).unwrap();
    let mut timeline = Timeline::of(nano).unwrap();
    let arrival = timeline.go(true, Goal::Condition).unwrap();
    assert_eq!(arrival.reason, Reason::Fault(Wrong::Exception { mcause: 7, address: Some(8) }));
    assert!(timeline.csr(0, 0x342).is_none(), "mcause is that of the trap to come");
    let there = timeline.position();
    assert_eq!(timeline.go(false, Goal::Condition).unwrap().reason, Reason::Begin);
    timeline.go(true, Goal::Condition).unwrap();
    assert_eq!(timeline.position(), there);
}
