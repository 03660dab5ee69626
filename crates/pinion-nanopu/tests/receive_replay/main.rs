//! The receive side and the harts' interfaces against the RTL's event tables: the frames come in
//! when they came in there, the harts do what they did there, and every event must fall in the same
//! cycle.
//!
//! What the harts did is in the tables but for their idle writes and the CSR writes of the thread
//! switch. Those follow from the programs: they poll in a loop of six cycles, and a switch
//! writes its CSRs at fixed distances from the trap.

mod replay;
mod set;

use std::collections::BTreeMap;
use std::path::Path;

use pinion_nanopu::Cycle;
use pinion_nanopu::hart_interface::HartInterface;
use pinion_nanopu::machine::hart_interface::{HartInterfaceFixes, HartInterfaceSection};
use pinion_nanopu::machine::receive::{ReceiveFixes, ReceiveSection};
use pinion_nanopu::nic::receive::Receive;
use pinion_nanopu::transport::Transport;
use pinion_nanopu::transport::ndp::Ndp;
use pinion_nanopu::transport::p4::{Numbers, P4, Pipelines};

use replay::{Hart, Heard, Place, Replay};
use set::{Row, ZERO, frames, set, table};

/// Makes NDP: ours, or the program that comes with Pinion.
fn ndp(is_p4: bool, messages: usize) -> Box<dyn Transport> {
    if !is_p4 {
        return Box::new(Ndp::new(2, messages, false));
    }
    let numbers = Numbers { rtt_packets: 2, messages, ..Numbers::default() };
    let pipelines = Pipelines::load("sdk/p4/ndp/ingress.p4", "sdk/p4/ndp/egress.p4", None);
    Box::new(P4::new(pipelines.expect("NDP's programs").into(), numbers))
}

/// Replays a scenario; returns how many events agree and those that one side lacks.
fn replay(
    set: &Path,
    scenario: &str,
    program: &str,
    harts: usize,
    is_p4: bool,
) -> (usize, Vec<String>) {
    let (actions, mut expected) = table(set, scenario);
    let last = expected.iter().map(|(at, _)| *at).max().unwrap_or(ZERO);
    let end = actions.iter().map(|(at, ..)| *at).max().unwrap_or(ZERO).max(last);
    let section = ReceiveSection::artifact(ReceiveFixes::NONE);
    let transport = ndp(is_p4, section.reassembly.messages());
    let shape = HartInterfaceSection::artifact(HartInterfaceFixes::NONE);
    let known = (0..harts).map(|hart| {
        let mine = actions.iter().filter(|(_, core, _)| *core == hart);
        let mut mine: Vec<_> = mine.map(|&(at, _, action)| (at, action)).collect();
        mine.sort_unstable_by(|a, b| b.cmp(a));
        mine
    });
    let hart = Hart { polling: None, thread: 0, target: 0, places: [Place::Jump; 4] };
    let mut replay = Replay {
        receive: Receive::new(&section, transport, harts).unwrap(),
        interfaces: (0..harts as u8).map(|hart| HartInterface::new(hart, &shape)).collect(),
        harts: vec![hart; harts],
        threads: program.contains("threads"),
        known: known.collect(),
        inferred: BTreeMap::new(),
        entered: cycles_of(&expected, "core_rx_word", harts),
        pulses: cycles_of(&expected, "thread_interrupt", harts),
        heard: Heard(Vec::new()),
        end,
    };
    replay.boot(program);
    for (at, frame) in frames(set, scenario) {
        replay.receive.frame(at, &frame);
    }
    replay.run();
    let books = replay.receive.accounting();
    assert!(books.balances(), "{scenario}: {books:?}");
    let mut ours = replay.heard.0;
    ours.retain(|(at, _)| (ZERO..=last).contains(at));
    ours.sort();
    expected.sort();
    compare(&expected, &ours)
}

/// Lists by hart when an event happened.
fn cycles_of(events: &[Row], name: &str, harts: usize) -> Vec<Vec<Cycle>> {
    let of = |hart| {
        let start = format!("{name},{hart},");
        events.iter().filter(|row| row.1.starts_with(&start)).map(|row| row.0).collect()
    };
    (0..harts).map(of).collect()
}

/// Counts the events in both lists and tells those in one only.
fn compare(expected: &[Row], ours: &[Row]) -> (usize, Vec<String>) {
    let (mut same, mut differ) = (0, Vec::new());
    let (mut e, mut o) = (expected.iter().peekable(), ours.iter().peekable());
    let tell = |sign: char, row: &Row| format!("{sign} {} {}", row.0 as i64 - ZERO as i64, row.1);
    loop {
        match (e.peek(), o.peek()) {
            (None, None) => return (same, differ),
            (Some(a), Some(b)) if a == b => {
                same += 1;
                e.next();
                o.next();
            }
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                differ.push(tell('-', a));
                e.next();
            }
            (_, Some(b)) => {
                differ.push(tell('+', b));
                o.next();
            }
            (Some(_), None) => unreachable!("the arm above takes it"),
        }
    }
}

#[test]
fn every_event_falls_in_the_rtls_cycle() {
    let set = set();
    let index = set.join("scenarios/index.json");
    let Ok(index) = std::fs::read_to_string(&index) else {
        println!(
            "skipped: there is no {}; set PINION_NANOPU_SET to a set's folder",
            index.display()
        );
        return;
    };
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let only = std::env::var("PINION_SCENARIO").ok();
    let (mut wrong, mut total) = (0, 0);
    for entry in index.as_array().unwrap() {
        let text = |key: &str| entry[key].as_str().unwrap();
        let (name, program) = (text("name"), text("elf"));
        let traced = set.join(format!("traces/{name}_events.csv")).exists();
        if !traced || only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let harts = entry["harts"].as_u64().unwrap() as usize;
        let (same, differ) = replay(&set, name, program, harts, false);
        let written_in_p4 = replay(&set, name, program, harts, true);
        assert!(written_in_p4 == (same, differ.clone()), "{name} in P4: {:?}", written_in_p4.1);
        println!("{name}: {same} events agree, {} do not", differ.len());
        for line in differ.iter().take(if only.is_some() { 200 } else { 8 }) {
            println!("    {line}");
        }
        total += same;
        wrong += differ.len();
    }
    println!("in all: {total} events agree, {wrong} do not");
    assert!(total > 10_000 || only.is_some(), "the set's tables are nearly empty");
    assert_eq!(wrong, 0, "events that are only in the tables (-) or only ours (+) are above");
}
