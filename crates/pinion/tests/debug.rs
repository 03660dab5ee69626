//! A debugged run, as a library and by gdb's protocol: every position shows what the machine had there,
//! forward and back lead to the same places, and what cannot be is said plainly.

#[path = "debug/client.rs"]
mod client;
#[allow(dead_code)]
mod outside;

use std::path::Path;

use client::Session;
use outside::Folder;
use pinion::app::{App, Options};
use pinion::debug::{Event, Goal, Position, Reason, Timeline, Wrong};
use pinion::report::Outputs;
use pinion::tape::{Played, Tape};
use pinion::trace::Tracer;
use pinion::traffic::Packets;
use pinion::watch::Unobserved;
use pinion_isa::Class;
use pinion_sim::Time;
use pinion_sim::random::Xorshift64;
use pinion_spin::{Hears, InstructionRecord, Interest, Offer, Outcome, Spin, Traffic as _};

const SPEC: &str = "udp,size=512,count=60,seed=4";

fn packets() -> Packets {
    Packets::generate(SPEC, None, None).unwrap()
}

/// Keeps every instruction of a run that nobody stops.
#[derive(Default)]
struct Kept(Vec<InstructionRecord>);

impl Hears<Spin> for Kept {
    fn interest(&self) -> Interest {
        Interest { instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &pinion_spin::Event<'_>) {
        if let pinion_spin::Event::Instruction(record) = event {
            self.0.push(**record);
        }
    }
}

impl Tracer for Kept {}

fn instructions(app: &App, packets: Packets) -> Vec<InstructionRecord> {
    let mut kept = Kept::default();
    let outputs = Outputs::default();
    pinion::run::trace(app, packets, &outputs, &mut Unobserved, &mut kept).unwrap();
    kept.0
}

fn hart(record: &InstructionRecord) -> u32 {
    record.cluster * 8 + record.hpu
}

fn seed() -> u64 {
    let given = std::env::var("PINION_DEBUG_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(0x5eed)
}

#[test]
fn registers_and_memory_are_those_of_the_instructions() {
    let folder = Folder::new("debug-truth");
    let app = App::load(&folder.calibration("words", "reduce"), &Options::default()).unwrap();
    shows_what_instructions_did(&app, packets);
}

#[test]
fn a_live_run_that_was_recorded_is_shown_as_it_ran() {
    let folder = Folder::new("debug-live");
    let app = App::load(&folder.calibration("words", "reduce"), &Options::default()).unwrap();
    // What a live run keeps: frames, and the ends of its slices; some have none, some end in the middle
    // of handlers.
    let tape = Tape::create(&folder.0).unwrap();
    let mut live = packets();
    let mut slice = 0;
    while let Offer::Frame(frame) = live.next() {
        while frame.arrival.ps() >= slice {
            slice += 700_000;
            tape.ran(slice);
        }
        tape.frame(frame.arrival, &frame.bytes);
    }
    tape.ran(slice + 50_000_000);
    tape.finish().unwrap();
    shows_what_instructions_did(&app, || Packets::live(Played::open(&folder.0).unwrap()));
}

/// Compares positions with the instructions of a run that nobody stops.
fn shows_what_instructions_did(app: &App, packets: impl Fn() -> Packets) {
    let records = instructions(app, packets());
    let seed = seed();
    let mut random = Xorshift64::new(seed);
    let mut timeline = Timeline::new(app, packets()).unwrap();
    let mut loads = 0;
    for _ in 0..150 {
        let record = &records[random.draw() as usize % records.len()];
        let hart = hart(record);
        let what = format!("{record:?}; again with PINION_DEBUG_SEED={seed}");
        timeline.go(true, Goal::Position(Position::before(record.cycle, hart))).unwrap();
        assert_eq!(timeline.pc(hart), u64::from(record.pc), "{what}");
        let x = timeline.registers(hart);
        let sources = record.instruction.sources().map(|source| x[usize::from(source & 31)]);
        assert_eq!(sources, record.sources.map(u64::from), "{what}");
        let task = timeline.task(hart).map(|task| (task.packet, task.message, task.handler));
        let recorded = record.task;
        let recorded =
            recorded.map(|task| (Some(task.packet), task.message.into(), Some(task.kind)));
        assert_eq!(task, recorded, "{what}");
        let (rd, class) = (usize::from(record.instruction.rd & 31), record.instruction.class);
        if let Some(address) = record.address
            && class == Class::Load
            && record.instruction.op.mnemonic() == "lw"
        {
            let mut word = [0; 4];
            // What a unit answers is no memory.
            if timeline.read(hart, address.into(), &mut word) == 4 && address < 0x1d00_0000 {
                assert_eq!(u32::from_le_bytes(word), record.result, "{what}");
                loads += 1;
            }
        }
        timeline.go(true, Goal::Position(Position::after(record.cycle, hart))).unwrap();
        assert_eq!(timeline.registers(hart)[rd], u64::from(record.result), "{what}");
    }
    assert!(loads > 5, "{loads} loads compared");
}

#[test]
fn steps_forward_and_back_meet() {
    let folder = Folder::new("debug-steps");
    let app = App::load(&folder.calibration("words", "reduce"), &Options::default()).unwrap();
    let records = instructions(&app, packets());
    let seed = seed();
    let mut random = Xorshift64::new(seed);
    let mut timeline = Timeline::new(&app, packets()).unwrap();
    for _ in 0..12 {
        let record = &records[random.draw() as usize % (records.len() / 2)];
        let hart = hart(record);
        let start = Position::before(record.cycle, hart);
        timeline.go(true, Goal::Position(start)).unwrap();
        let step = Goal::Step { hart, range: (0, 0) };
        let count = 1 + random.draw() as usize % 40;
        let mut way = Vec::new();
        for _ in 0..count {
            way.push((timeline.pc(hart), timeline.registers(hart)));
            assert_eq!(timeline.go(true, step).unwrap().reason, Reason::Stepped);
        }
        for (pc, registers) in way.into_iter().rev() {
            assert_eq!(timeline.go(false, step).unwrap().reason, Reason::Stepped);
            let what = format!("{record:?}, {count}; again with PINION_DEBUG_SEED={seed}");
            assert_eq!((timeline.pc(hart), timeline.registers(hart)), (pc, registers), "{what}");
        }
        assert_eq!(timeline.position(), start);
    }
}

#[test]
fn stops_are_the_same_in_both_directions() {
    let folder = Folder::new("debug-both");
    let app = App::load(&folder.calibration("words", "reduce"), &Options::default()).unwrap();
    let entry = app.contexts[0].payload_handler.as_ref().unwrap().address;
    let mut timeline = Timeline::new(&app, packets()).unwrap();
    timeline.conditions.breakpoints.push(entry.into());
    let mut there = Vec::new();
    loop {
        let arrival = timeline.go(true, Goal::Condition).unwrap();
        if arrival.reason == Reason::End {
            break;
        }
        assert_eq!(arrival.reason, Reason::Breakpoint);
        let hart = arrival.hart.unwrap();
        assert_eq!(timeline.pc(hart), u64::from(entry));
        there.push((timeline.position(), timeline.task(hart).unwrap().packet.unwrap()));
    }
    assert_eq!(there.len(), 60, "one for each packet");
    assert!(there.is_sorted());
    let mut back = Vec::new();
    while timeline.go(false, Goal::Condition).unwrap().reason == Reason::Breakpoint {
        let hart = (0..timeline.harts())
            .find(|hart| Position::before(timeline.position().cycle, *hart) == timeline.position());
        let task = timeline.task(hart.expect("it stands before an instruction")).unwrap();
        back.push((timeline.position(), task.packet.unwrap()));
    }
    assert_eq!(timeline.position(), Position::of_units(0));
    back.reverse();
    assert_eq!(there, back);
    // What stops at packets stops at the same places.
    timeline.conditions.breakpoints.clear();
    for (position, packet) in there.into_iter().step_by(7) {
        timeline.conditions.events = vec![Event::Packet(packet)];
        let forward = position > timeline.position();
        let arrival = timeline.go(forward, Goal::Condition).unwrap();
        assert!(matches!(arrival.reason, Reason::Entered(task) if task.packet == Some(packet)));
        assert_eq!(timeline.position(), position);
    }
}

#[test]
fn a_fault_stops_before_the_instruction_in_both_directions() {
    let folder = Folder::new("debug-fault");
    let path = folder.calibration("memory", "handler_l2_st");
    let manifest = std::fs::read_to_string(path.join("app.toml")).unwrap();
    // Its handler stores to handler memory, and has none.
    let manifest = manifest.replace("handler_memory = \"64KiB\"", "handler_memory = 0");
    std::fs::write(path.join("app.toml"), manifest).unwrap();
    let app = App::load(&path, &Options::default()).unwrap();
    let mut timeline = Timeline::new(&app, packets()).unwrap();
    let arrival = timeline.go(true, Goal::Condition).unwrap();
    let fault = Reason::Fault(Wrong::Exception { mcause: 7, address: Some(0x1c30_0000) });
    assert_eq!(arrival.reason, fault);
    let (position, hart) = (timeline.position(), arrival.hart.unwrap());
    let there = (timeline.pc(hart), timeline.registers(hart));
    let store = app.image.symbol("handler_l2_st").unwrap();
    assert!((store.address..store.address + store.size.max(64)).contains(&there.0));
    assert!(timeline.csr(hart, 0x342).is_none(), "mcause is that of the trap to come");
    let mut stops = vec![position];
    while let Reason::Fault(_) = timeline.go(true, Goal::Condition).unwrap().reason {
        stops.push(timeline.position());
    }
    assert_eq!(stops.len(), 60, "each packet's handler, once");
    while let Some(stop) = stops.pop() {
        timeline.go(false, Goal::Condition).unwrap();
        assert_eq!(timeline.position(), stop);
    }
    assert_eq!(timeline.position(), position);
    assert_eq!((timeline.pc(hart), timeline.registers(hart)), there);
}

/// Lists the numbers of a state.
fn numbers(state: impl FnOnce(&mut dyn FnMut(&str, u64))) -> Vec<(String, u64)> {
    let mut numbers = Vec::new();
    state(&mut |name, value| numbers.push((name.to_owned(), value)));
    numbers
}

#[test]
fn a_debugged_run_is_the_run() {
    let folder = Folder::new("debug-same");
    let app = App::load(&folder.calibration("words", "reduce"), &Options::default()).unwrap();
    let mut plain = app.nic().unwrap();
    let mut traffic = packets().skip(app.skipped_bytes());
    assert_eq!(plain.run(Time::MAX, &mut traffic, &mut pinion_sim::probe::Deaf), Outcome::Finished);
    let mut timeline = Timeline::new(&app, packets()).unwrap();
    let mut random = Xorshift64::new(9);
    for _ in 0..6 {
        let cycle = random.draw() % 4000;
        timeline.go(true, Goal::Position(Position::of_units(cycle))).unwrap();
    }
    assert_eq!(timeline.go(true, Goal::Condition).unwrap().reason, Reason::End);
    assert_eq!(numbers(|tell| timeline.state(tell)), numbers(|tell| plain.state(tell)));
}

/// Gives the thread that a stop names.
fn thread_of(stop: &str) -> String {
    let rest = stop.split("thread:").nth(1).unwrap_or_else(|| panic!("{stop}"));
    rest.split(';').next().unwrap().to_owned()
}

#[test]
fn gdb_sets_out_and_turns_back() {
    let folder = Folder::new("debug-gdb");
    let app = folder.calibration("words", "reduce").display().to_string();
    let session = Session::start(&[&app, "--generate", SPEC]);
    let mut gdb = session.connect();
    let supported = gdb.ask("qSupported:swbreak+;hwbreak+;vContSupported+");
    for feature in ["ReverseStep+", "ReverseContinue+", "swbreak+", "qXfer:features:read+"] {
        assert!(supported.contains(feature), "{feature}: {supported}");
    }
    assert_eq!(gdb.ask("QStartNoAckMode"), "OK");
    gdb.no_acknowledgements();
    let description = gdb.ask("qXfer:features:read:target.xml:0,ffb");
    assert!(description.contains("riscv:rv32") && description.contains("mcause"), "{description}");
    assert_eq!(gdb.ask("qfThreadInfo").matches(',').count(), 31, "32 HPUs");

    // To a handler, and what is there.
    let loaded = App::load(Path::new(&app), &Options::default()).unwrap();
    let entry = loaded.contexts[0].payload_handler.as_ref().unwrap().address;
    assert_eq!(gdb.ask(&format!("Z0,{entry:x},2")), "OK");
    let stop = gdb.ask("vCont;c");
    assert!(stop.starts_with("T05") && stop.contains("swbreak"), "{stop}");
    let thread = thread_of(&stop);
    let before = gdb.registers();
    assert_eq!(before[32], entry);
    let name = gdb.ask_text(&format!("qThreadExtraInfo,{thread}"));
    assert!(name.contains("packet 0 of context all"), "{name}");
    let word = gdb.ask(&format!("m{entry:x},4"));
    assert_eq!(word.len(), 8, "{word}");
    assert!(gdb.ask("m00000004,4").starts_with('E'), "no memory is there");
    assert!(gdb.ask(&format!("M{entry:x},2:0000")).starts_with('E'), "nothing is written");
    assert!(gdb.ask(&format!("P20={:08x}", entry.swap_bytes())).starts_with('E'));

    // A step, and back.
    assert!(gdb.ask(&format!("vCont;s:{thread}")).starts_with("T05"));
    let behind = gdb.registers();
    assert_ne!(behind[32], entry);
    gdb.ask(&format!("Hc{thread}"));
    let back = gdb.ask("bs");
    assert!(back.starts_with("T05") && thread_of(&back) == thread, "{back}");
    assert_eq!(gdb.registers(), before);

    // To the next packet's handler, back to the first one's, to the beginning.
    let next = gdb.ask("vCont;c");
    assert!(next.contains("swbreak"), "{next}");
    gdb.ask("Hc0");
    assert_eq!(gdb.ask("bc"), stop);
    assert_eq!(gdb.registers(), before);
    assert!(gdb.ask("bc").contains("replaylog:begin"));

    // To a packet, ahead and behind; to the end.
    assert!(gdb.ask(&format!("z0,{entry:x},2")) == "OK");
    gdb.monitor("break packet 30");
    let at_packet = gdb.ask("vCont;c");
    assert!(at_packet.starts_with("T02"), "{at_packet}");
    assert!(gdb.monitor("cycle").contains("packet 30 of context all"));
    assert!(gdb.monitor("delete packet 30").contains("stops no more"));
    assert!(gdb.ask("vCont;c").contains("replaylog:end"));
    gdb.monitor("goto packet 30");
    assert_eq!(gdb.ask("vCont;c"), at_packet);
    assert!(gdb.monitor("packets").contains("packet 30 of context all"));
    assert!(gdb.monitor("break context none").contains("there is no context `none`, but all"));
    assert!(gdb.monitor("host all+16 4").ends_with(": 00 00 00 00  ....\n"));
    assert!(gdb.monitor("host all+1048576 4").contains("has 1048576 bytes of host memory"));
    assert!(gdb.monitor("frobnicate").contains("no such command"));
    assert_eq!(gdb.ask("D"), "OK");
    let (status, said) = session.end();
    assert_eq!(status, Some(0));
    assert!(said.contains("has no debug information"), "{said}");
}

#[test]
fn watchpoints_stop_behind_writes_and_before_them() {
    let folder = Folder::new("debug-watch");
    let app = folder.calibration("words", "reduce");
    let loaded = App::load(&app, &Options::default()).unwrap();
    let records = instructions(&loaded, packets());
    let store = records.iter().find(|record| {
        matches!(record.instruction.op.mnemonic(), "sw" | "amoadd.w")
            && record.task.is_some_and(|task| task.packet == 20)
            && record.address.is_some_and(|address| address >> 24 == 0x10)
    });
    let store = store.expect("the handler changes words");
    let address = store.address.unwrap();
    let session = Session::start(&[&app.display().to_string(), "--generate", SPEC]);
    let mut gdb = session.connect();
    gdb.monitor("goto packet 20");
    // gdb steps past a breakpoint before it goes on: that leads nowhere else.
    assert!(gdb.ask("vCont;s:1").starts_with("T05"));
    assert!(!gdb.monitor("cycle").contains("packet 20 "));
    gdb.ask("vCont;c");
    assert!(gdb.monitor("cycle").contains("packet 20 "));
    assert_eq!(gdb.ask(&format!("Z2,{address:x},4")), "OK");
    let stop = gdb.ask("vCont;c");
    assert!(stop.contains(&format!("watch:{address:x}")), "{stop}");
    let kept = if store.instruction.class == Class::Amo { store.found as u32 } else { 0 };
    assert_eq!(gdb.word(address), kept.wrapping_add(store.sources[1]), "it is written");
    gdb.ask("Hc0");
    let back = gdb.ask("bc");
    assert!(back.contains(&format!("watch:{address:x}")), "{back}");
    assert_eq!(gdb.word(address), store.found as u32, "it is not written yet");
    assert_eq!(gdb.registers()[32], store.pc);
    gdb.send("k");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn an_interruption_stops_and_a_lost_connection_ends() {
    let folder = Folder::new("debug-lost");
    let app = folder.calibration("words", "reduce").display().to_string();
    let many = "udp,size=512,count=400000";
    let session = Session::start(&[&app, "--generate", many]);
    let mut gdb = session.connect();
    gdb.send("vCont;c");
    std::thread::sleep(std::time::Duration::from_millis(300));
    gdb.interrupt();
    let stop = gdb.receive();
    assert!(stop.starts_with("T02"), "{stop}");
    assert!(!gdb.monitor("cycle").starts_with("cycle 0 "), "it went on");
    gdb.send("vCont;c");
    drop(gdb);
    let (status, problem) = session.end();
    assert_eq!(status, Some(2), "{problem}");
    assert!(problem.contains("the connection to gdb was lost in cycle"), "{problem}");
}

#[test]
fn what_cannot_be_debugged_is_said() {
    let folder = Folder::new("debug-refused");
    let app = folder.calibration("words", "reduce").display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let asked = |more: &[&str]| {
        let begin = ["debug", &app, "--generate", SPEC].map(str::to_owned);
        begin.into_iter().chain(more.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>()
    };
    let foreign =
        folder.write("gdb", "#!/bin/sh\necho The target architecture is set to \"i386\".\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&foreign, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let foreign = foreign.display().to_string();
    let refused: [(&[&str], &[&str]); 7] = [
        (&["--listen", &taken], &["the port is in use", &taken]),
        (&["--listen", "nowhere"], &["ADDRESS:PORT"]),
        (&["--gdb", "/nowhere/gdb"], &["cannot start /nowhere/gdb"]),
        (&["--gdb", &foreign], &["does not know RISC-V", "gdb-multiarch"]),
        (&["--engine", "native"], &["--engine native", "debugger"]),
        (&["--pcap-out", "out.pcap"], &["--pcap-out goes with `pinion run`"]),
        (&["--threads", "2"], &["--threads"]),
    ];
    for (more, parts) in refused {
        let arguments = asked(more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        folder.refuses(&arguments, parts);
    }
}
