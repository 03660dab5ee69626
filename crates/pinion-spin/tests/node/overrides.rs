//! Every machine that passes the checks can be run: random numbers for random keys, and whatever
//! [`Machine::check`] lets through must neither panic nor hang nor lose a packet.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pinion_sim::{Time, config};
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{Frame, Machine, Offer, Units};

use crate::harness::{Random, Recorder, context, image, messages, root};

/// Numbers at which things change: small ones, powers of two and their neighbours, limits.
const NUMBERS: [u64; 34] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    100,
    127,
    128,
    255,
    256,
    1000,
    1024,
    2048,
    4095,
    4096,
    10_000,
    65_536,
    1 << 20,
    1 << 22,
    (1 << 31) - 1,
    (1 << 32) - 1,
    (1 << 63) - 1,
];

/// Every word that some key takes.
const WORDS: [&str; 12] = [
    "drop",
    "back-pressure",
    "context",
    "rtl",
    "ri5cy",
    "ibex",
    "fixed",
    "leading-zeros",
    "old",
    "one",
    "all",
    "l2",
];

/// Ends a run after so much simulated time.
const RUN: Time = Time::from_ns(60_000);

/// Is a key of the machine file with its value.
type Leaf = (String, String);

/// What every key is set to, one key at a time.
const EDGES: [&str; 17] = [
    "0",
    "1",
    "2",
    "3",
    "63",
    "65536",
    "1048577",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "1.5",
    "\"\"",
];

/// Ends such a run.
const SHORT_RUN: Time = Time::from_ns(4_000);

/// Loads one of the machine files.
fn load(name: &str, overrides: &[String]) -> Result<config::Loaded<Machine>, config::ConfigError> {
    let text = |name: &str| {
        std::fs::read_to_string(root().join(format!("machines/{name}.toml"))).expect("a machine")
    };
    config::load_on_base(&format!("{name}.toml"), &text(name), overrides, |base| {
        Ok((format!("{base}.toml"), text(base)))
    })
}

fn leaves(name: &str) -> Vec<Leaf> {
    let loaded = load(name, &[]).expect("the published machine");
    let entries = loaded.entries.into_iter().map(|entry| (entry.key, entry.value));
    entries.filter(|(key, _)| key != "name" && !key.starts_with("faithful")).collect()
}

/// Chooses another value of the same kind.
fn other(random: &mut Random, value: &str) -> String {
    match value.parse::<u64>() {
        _ if value == "true" || value == "false" => random.pick(&["true", "false"]).to_owned(),
        Err(_) => random.pick(&WORDS).to_owned(),
        Ok(number) => match random.below(4) {
            0 => (number / random.pick(&[2, 4, 16])).to_string(),
            1 => number.saturating_mul(random.pick(&[2, 4, 16])).to_string(),
            2 => random.pick(&NUMBERS[..16]).to_string(),
            _ => random.pick(&NUMBERS).to_string(),
        },
    }
}

/// Runs a machine for a while, when it passes the checks; tells whether it did.
fn run(machine: Machine, until: Time, frames: Vec<Frame>, handlers: [&str; 3]) -> bool {
    if machine.check().is_err() {
        return false;
    }
    let image = image("words");
    let mut context = context(&image, handlers);
    context.scratchpad_bytes = context.scratchpad_bytes.min(machine.scratchpad_bytes());
    context.watchdog_cycles = machine.protection.watchdog.then_some(5_000);
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    let Ok(mut units) = Units::new(machine, &image, vec![context], engine) else { return false };
    let mut recorder = Recorder::default();
    let mut frames = frames.into_iter();
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    units.run(until, &mut next, &mut recorder);
    units.totals().conserved().unwrap_or_else(|problem| panic!("{problem}"));
    true
}

#[test]
fn whatever_passes_the_checks_runs() {
    let mut random = Random::seeded("whatever_passes_the_checks_runs");
    let leaves = leaves("pspin");
    let mut ran = 0;
    for round in 0..150 {
        let count = 1 + random.below(4);
        let overrides: Vec<String> = (0..count)
            .map(|_| {
                let (key, value) = &leaves[random.below(leaves.len() as u64) as usize];
                format!("{key}={}", other(&mut random, value))
            })
            .collect();
        let handlers = random.pick(&[
            ["aggregate", "aggregate", "to_host_done"],
            ["", "reduce", ""],
            ["", "", "to_host_done"],
        ]);
        let frames = messages(&mut random, 6, 5, &[8, 64, 200, 1024, 2048], 20);
        println!("round {round}: {overrides:?} {handlers:?}");
        let Ok(machine) = load("pspin", &overrides) else {
            continue;
        };
        let result = catch_unwind(AssertUnwindSafe(|| run(machine.value, RUN, frames, handlers)));
        ran += usize::from(result.unwrap_or_else(|_| {
            panic!("round {round}: a machine that passed the checks: {overrides:?} {handlers:?}")
        }));
    }
    assert!(ran > 30, "only {ran} machines ran: the test tests nothing");
}

/// Every key of every machine, alone, at the numbers where things break.
#[test]
fn every_key_is_refused_or_runs() {
    let mut random = Random::seeded("every_key_is_refused_or_runs");
    let handlers = ["aggregate", "aggregate", "to_host_done"];
    let (mut ran, mut refused) = (0, 0);
    for name in ["pspin", "fpspin", "pspin-2units"] {
        for (key, _) in leaves(name) {
            for edge in EDGES {
                let frames = messages(&mut random, 3, 3, &[8, 200, 1024], 20);
                let overrides = [format!("{key}={edge}")];
                let Ok(machine) = load(name, &overrides) else {
                    refused += 1;
                    continue;
                };
                let go = || run(machine.value, SHORT_RUN, frames, handlers);
                match catch_unwind(AssertUnwindSafe(go)) {
                    Ok(true) => ran += 1,
                    Ok(false) => refused += 1,
                    Err(_) => panic!("--machine {name} --set {key}={edge} passed the checks"),
                }
            }
        }
    }
    println!("{ran} ran, {refused} were refused");
    assert!(ran > 1000 && refused > 1000, "{ran} ran, {refused} were refused");
}

/// What a number is wrong for on its own is said of that number, not of the part of the machine it is in.
#[test]
fn a_wrong_number_is_named_by_its_key() {
    let none = ["branch_taken_cycles", "jump_cycles", "mul_cycles", "csr_cycles", "mret_cycles"];
    let pipelines =
        ["core.ri5cy", "core.ibex"].map(|part| none.map(|key| format!("{part}.{key}=0")));
    let large = ["load_cycles", "store_cycles", "amo_cycles", "load_port_cycles"];
    let memories =
        ["l2_handler", "l2_packet"].map(|part| large.map(|key| format!("{part}.{key}=4294967295")));
    let short = ["l2_packet.load_cycles=1", "l2_handler.store_cycles=1", "l2_handler.bytes=1024"];
    let others =
        [short.map(String::from).to_vec(), vec!["command.slot_turnaround_cycles=0".into()]];
    let all = pipelines.into_iter().flatten().chain(memories.into_iter().flatten());
    for wrong in all.chain(others.into_iter().flatten()) {
        let machine = load("pspin", std::slice::from_ref(&wrong)).expect("a number").value;
        let (key, problem) = machine.check().expect_err(&wrong);
        assert_eq!(Some(key), wrong.split('=').next(), "{wrong}: {problem}");
    }
}
