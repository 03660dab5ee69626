//! FPsPIN's machine: latencies, slots, the receive FIFO, and a host whose programs come and go.

use pinion_host::SharedRegion;
use pinion_sim::{Time, config};
use pinion_spin::matching::{ContextMatch, MessageId, Mode, Rule, Ruleset};
use pinion_spin::{
    ContextId, ControlError, DropReason, ExecutionContext, Fault, Frame, Machine, Nic, Offer,
    Outcome,
};

use crate::harness::{self, FIRST_HANDLER, Recorder, finish, image};

const HANDLER_MEMORY: u32 = 0x1c08_0000;
const RETURN: u32 = 0x0000_8067;
/// jal zero, 0
const LOOP: u32 = 0x0000_006f;

fn machine(overrides: &[&str]) -> Machine {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let text = |name: &str| {
        std::fs::read_to_string(harness::root().join(format!("machines/{name}.toml"))).unwrap()
    };
    let loaded = config::load_on_base::<Machine, config::ConfigError>(
        "fpspin.toml",
        &text("fpspin"),
        &overrides,
        |_| Ok(("pspin.toml".to_owned(), text("pspin"))),
    );
    loaded.unwrap_or_else(|error| panic!("{error}")).value
}

/// A context with one payload handler of a program.
fn context(program: &str, handler: &str) -> ExecutionContext {
    let context = harness::context(&image(program), ["", handler, ""]);
    ExecutionContext { handler_memory_address: HANDLER_MEMORY, ..context }
}

/// Matches frames whose first word is `value`; the message is the word at byte 44.
fn rules(value: u32) -> ContextMatch {
    let first = Rule::exact(0, u32::MAX, value);
    ContextMatch {
        ruleset: Ruleset::from_fpspin(Mode::And, [first, Rule::ALWAYS, Rule::ALWAYS, Rule::NEVER]),
        message: MessageId::Field { offset_bytes: 44, mask: u32::MAX, shift: 0 },
        enabled: true,
    }
}

/// A frame of `bytes` bytes with a first word and a message's number.
fn frame(arrival_ns: u64, first: u32, message: u32, bytes: usize) -> Frame {
    let mut data = vec![0x5a; bytes];
    data[..4].copy_from_slice(&first.to_be_bytes());
    data[44..48].copy_from_slice(&message.to_le_bytes()); // as the matcher reads it
    let arrival = Time::from_ns(arrival_ns);
    Frame { arrival, bytes: data, skip: 0, classification: None, tag: 0 }
}

/// A NIC that runs a program's handler as context 0 for frames that begin with 1.
fn running(machine: Machine, program: &str, handler: &str) -> Nic {
    let mut nic = Nic::blank(machine).unwrap();
    nic.start(&image(program)).unwrap();
    nic.set_context(ContextId(0), context(program, handler)).unwrap();
    nic.matching_mut().set_context(0, rules(1)).unwrap();
    nic
}

/// Runs frames as far as they come; the source may have more later.
fn feed(nic: &mut Nic, frames: Vec<Frame>, until: Time) -> (Outcome, Recorder) {
    let mut recorder = Recorder::default();
    let mut frames = frames.into_iter();
    let mut next = || frames.next().map_or(Offer::Nothing, Offer::Frame);
    let outcome = nic.run(until, &mut next, &mut recorder);
    (outcome, recorder)
}

#[test]
fn the_way_in_takes_what_table_2_says() {
    for (bytes, ingress_cycles) in [(64, 8), (1536, 70)] {
        let mut nic = running(machine(&[]), "empty", "ph");
        let at = nic.now().ns() as u64 + 1_000;
        let heard = finish(&mut nic, vec![frame(at, 1, 0, bytes)]);
        let record = &heard.packets[0];
        let cycles = (record.her.ps() - record.arrival.ps()) / 25_000;
        // Crossing 3, matching 4; the arrival lies between two edges.
        assert!((7 + ingress_cycles..=8 + ingress_cycles).contains(&cycles), "{bytes}: {cycles}");
    }
}

#[test]
fn what_the_fifo_cannot_hold_is_lost_and_counted() {
    let mut nic = running(machine(&["inbound.fifo_bytes=30000"]), "words", "histogram");
    let burst = (0..1000).map(|index| frame(5_000_000, 1, index, 1500)).collect();
    let heard = finish(&mut nic, burst);
    let lost = heard.dropped.iter().filter(|(why, _)| *why == DropReason::FifoFull).count();
    // 20 frames wait in the FIFO, one of them is taken each few cycles while the others arrive at once.
    assert!((900..=980).contains(&lost), "{lost}");
    assert_eq!(heard.packets.len() + lost, 1000);
    let numbers: Vec<u32> = heard.packets.iter().map(|record| record.message).collect();
    assert!(numbers.iter().all(|&number| number < 100), "those that came first");

    let mut patient = running(machine(&["inbound.fifo_bytes=0"]), "words", "histogram");
    let burst = (0..1000).map(|index| frame(5_000_000, 1, index, 1500)).collect();
    assert_eq!(finish(&mut patient, burst).packets.len(), 1000);
}

#[test]
fn packets_beyond_a_large_slot_are_dropped_and_slots_stall_the_input() {
    let overrides = ["allocator.large_slots=2", "allocator.small_slots=2"];
    let mut nic = running(machine(&overrides), "words", "histogram");
    let sizes = [1500, 60, 1537, 1500, 60, 1500, 128, 129];
    let frames = sizes.iter().map(|&bytes| frame(5_000_000, 1, bytes as u32, bytes)).collect();
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.packets.len(), 7);
    assert_eq!(heard.dropped[0].0, DropReason::TooLarge);
}

#[test]
fn messages_of_payload_handlers_alone_need_no_end() {
    // 16 queues; no packet ends a message.
    let mut nic = running(machine(&[]), "empty", "ph");
    let at = nic.now().ns() as u64;
    let frames = (0..500).map(|index| frame(at + u64::from(index) * 500, 1, index * 77, 64));
    let heard = finish(&mut nic, frames.collect());
    assert_eq!((heard.packets.len(), heard.evicted.len()), (500, 0));
}

#[test]
fn a_blank_nic_hands_every_frame_to_the_host() {
    let mut nic = Nic::blank(machine(&[])).unwrap();
    assert!(!nic.has_program());
    let heard = finish(&mut nic, (0..50).map(|index| frame(index * 100, 1, 0, 64)).collect());
    assert_eq!(heard.unmatched.len(), 50);
    assert!(matches!(nic.load(&image("empty")), Err(ControlError::NoProgram)));
}

#[test]
fn programs_contexts_and_rules_come_and_go_between_packets() {
    let mut nic = Nic::blank(machine(&[])).unwrap();
    nic.start(&image("move")).unwrap();
    assert!(nic.has_program());
    let ids = [ContextId(0), ContextId(3)];
    nic.set_context(ids[0], context("move", "pingpong_l1")).unwrap();
    nic.set_context(ids[1], context("move", "to_host_l1")).unwrap();
    let wrong = nic.set_context(ContextId(4), context("move", "ph")).unwrap_err();
    assert_eq!(wrong.to_string(), "there is no context 4: the machine has 4, from 0 on");
    let mix = |start: u64| {
        (0..60).map(move |index| frame(start + index * 2_000, 1 + index as u32 % 3, 0, 64))
    };
    // The second context is added, then the first removed, with frames on their way all the time.
    nic.matching_mut().set_context(0, rules(1)).unwrap();
    let now = |nic: &Nic| nic.now().ns() as u64;
    let start = now(&nic);
    let (outcome, heard) = feed(&mut nic, mix(start).collect(), Time::MAX);
    assert_eq!((outcome, heard.departed.len(), heard.unmatched.len()), (Outcome::Idle, 20, 40));
    nic.matching_mut().set_context(3, rules(2)).unwrap();
    let start = now(&nic);
    let (_, heard) = feed(&mut nic, mix(start).collect(), Time::MAX);
    assert_eq!(
        (heard.departed.len(), heard.host_writes.len(), heard.unmatched.len()),
        (20, 20, 20)
    );
    nic.clear_context(ids[0]).unwrap();
    let start = now(&nic);
    let (_, heard) = feed(&mut nic, mix(start).collect(), Time::MAX);
    assert_eq!((heard.departed.len(), heard.host_writes.len(), heard.unmatched.len()), (0, 20, 40));
    // Another program: the context stays as it is programmed, time goes on.
    let before = nic.now();
    nic.start(&image("empty")).unwrap();
    assert!(nic.now() > before);
    nic.set_context(ids[0], context("empty", "ph")).unwrap();
    nic.matching_mut().set_context(0, rules(1)).unwrap();
    nic.clear_context(ids[1]).unwrap();
    let start = now(&nic);
    let (_, heard) = feed(&mut nic, mix(start).collect(), Time::MAX);
    assert_eq!((heard.packets.len(), heard.unmatched.len()), (20, 40));
    nic.totals().conserved().unwrap();
}

#[test]
fn releasing_a_context_ends_its_handlers_and_nobody_elses() {
    let mut nic = running(machine(&[]), "move", "to_host_l1");
    nic.set_context(ContextId(1), context("move", "pingpong_l1")).unwrap();
    nic.matching_mut().set_context(1, rules(2)).unwrap();
    // The first context's handler never returns.
    let handler = image("move").require("to_host_l1").unwrap().address as u32;
    assert!(nic.write_memory(handler, &LOOP.to_le_bytes()));
    let at = nic.now().ns() as u64;
    let frames = (0..80).map(|index| frame(at + index * 1_000, 1 + index as u32 % 2, 7, 64));
    let (_, heard) = feed(&mut nic, frames.collect(), Time::from_ns(at + 200_000));
    // All 16 HPUs loop in the end, and the others' packets wait behind them.
    let early = heard.departed.len();
    assert!((1..40).contains(&early), "{early}");
    let refused = nic.start(&image("empty")).unwrap_err().to_string();
    assert!(refused.starts_with(&format!("{} packets are inside", 80 - early)), "{refused}");
    nic.clear_context(ContextId(0)).unwrap();
    let busy = nic.set_context(ContextId(0), context("move", "ph")).unwrap_err();
    assert!(busy.to_string().contains("still has 40 packets inside"), "{busy}");
    let (outcome, heard) = feed(&mut nic, Vec::new(), Time::MAX);
    assert_eq!(outcome, Outcome::Idle);
    assert_eq!(early + heard.departed.len(), 40);
    assert!(heard.faults.iter().all(|reported| reported.fault == Fault::Released));
    assert!((16..=40).contains(&heard.faults.len()), "{}", heard.faults.len());
    assert_eq!(nic.packets_of(ContextId(0)), 0);
    // And the cores that were interrupted work again.
    assert!(nic.write_memory(handler, &RETURN.to_le_bytes()));
    nic.set_context(ContextId(0), context("move", "to_host_l1")).unwrap();
    nic.matching_mut().set_context(0, rules(1)).unwrap();
    let at = nic.now().ns() as u64;
    let frames = (0..64).map(|index| frame(at + index * 500, 1, index as u32, 64)).collect();
    let (_, heard) = feed(&mut nic, frames, Time::MAX);
    assert_eq!((heard.packets.len(), heard.faults.len()), (64, 0));
    nic.totals().conserved().unwrap();
}

#[test]
fn a_reset_drops_what_is_inside_and_the_next_program_runs() {
    let mut nic = running(machine(&[]), "empty", "ph");
    assert!(nic.write_memory(FIRST_HANDLER, &LOOP.to_le_bytes()));
    let at = nic.now().ns() as u64;
    let frames = (0..30).map(|index| frame(at + index * 500, 1, index as u32, 64)).collect();
    feed(&mut nic, frames, Time::from_ns(at + 100_000));
    let mut heard = Recorder::default();
    nic.reset(&mut heard);
    assert_eq!(heard.dropped.len(), 30);
    assert!(!nic.has_program());
    nic.start(&image("empty")).unwrap();
    let at = nic.now().ns() as u64;
    let frames = (0..30).map(|index| frame(at + index * 500, 1, index as u32, 64)).collect();
    let (outcome, heard) = feed(&mut nic, frames, Time::MAX);
    assert_eq!((outcome, heard.packets.len()), (Outcome::Idle, 30));
    nic.totals().conserved().unwrap();
}

#[test]
fn host_programs_see_what_handlers_write_and_handlers_what_they_write() {
    let mut nic = running(machine(&[]), "move", "to_host_l1");
    let region = SharedRegion::new("test", 1 << 20).unwrap();
    nic.map_host(harness::HOST, region.clone()).unwrap();
    let twice = nic.map_host(harness::HOST + 4096, region.clone()).unwrap_err();
    assert!(twice.to_string().contains("cannot be mapped"), "{twice}");
    let sent = frame(nic.now().ns() as u64, 1, 9, 200);
    feed(&mut nic, vec![sent.clone()], Time::MAX);
    let mut got = vec![0; 200];
    assert!(region.read(0, &mut got));
    assert_eq!(got, sent.bytes);
    nic.unmap_host(harness::HOST);
    let page = HANDLER_MEMORY..HANDLER_MEMORY + 4096;
    assert!(nic.share_handler_memory(page).is_ok());
    assert!(nic.write_memory(HANDLER_MEMORY, &[1, 2, 3]));
    assert_eq!(harness::memory(&nic, HANDLER_MEMORY, 3), [1, 2, 3]);
}

#[test]
fn a_run_is_the_same_with_and_without_a_host_that_looks() {
    let log = |look: bool| {
        let mut nic = running(machine(&[]), "move", "strided");
        if look {
            nic.share_handler_memory(HANDLER_MEMORY..HANDLER_MEMORY + 8192).unwrap();
            nic.map_host(harness::HOST, SharedRegion::new("test", 1 << 20).unwrap()).unwrap();
        }
        let at = nic.now().ns() as u64;
        let frames = (0..100).map(|index| frame(at + index * 300, 1, index as u32, 1000));
        finish(&mut nic, frames.collect()).log
    };
    assert_eq!(log(false), log(true));
}
