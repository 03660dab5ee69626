//! Every number of the machine file, alone and several together, is refused or makes a node that
//! runs: it may serve nobody, but it neither panics nor hangs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pinion_isa::elf::Image;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::{Node, Progress};
use pinion_sim::config;

use crate::{echo, support};

/// Numbers at which things change or break.
const EDGES: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "63",
    "64",
    "128",
    "1000",
    "65535",
    "65536",
    "1048576",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "-1",
    "\"\"",
];

/// Runs end here.
const END: u64 = 24_000;

fn load(overrides: &[String]) -> Result<config::Loaded<Machine>, config::ConfigError> {
    config::load_file(&support::root().join("machines/nanopu.toml"), overrides)
}

/// Lists the keys that hold a number.
fn keys() -> Vec<String> {
    let entries = load(&[]).expect("the published machine").entries;
    let is_number = |value: &str| value.parse::<u64>().is_ok();
    let entries = entries.into_iter().filter(|entry| !entry.key.starts_with("faithful"));
    entries.filter(|entry| is_number(&entry.value)).map(|entry| entry.key).collect()
}

/// Runs a node that echoes for a while, when there is one of this machine; tells whether there is.
fn run(machine: &Machine, image: &Image) -> bool {
    let Ok(address) = machine.address.parse() else { return false };
    let Ok(mut node) = Node::new(machine, address, image) else { return false };
    let mut frames = 0u64;
    let mut sink = |_: u64, _: u64, _: &[u8]| frames += 1;
    for id in 0..4u16 {
        node.inject(18_000 + 400 * u64::from(id), &echo::message(id, &[id as u8; 40]));
    }
    let progress = node.run_until(END, &mut sink, &mut Deaf);
    assert!(!matches!(progress, Progress::Exited { .. }), "{progress:?}");
    true
}

/// Tries overrides; tells whether there is such a machine.
fn attempt(overrides: &[String], image: &Image) -> bool {
    let Ok(machine) = load(overrides) else { return false };
    let go = || run(&machine.value, image);
    catch_unwind(AssertUnwindSafe(go))
        .unwrap_or_else(|_| panic!("--machine nanopu --set {}", overrides.join(" --set ")))
}

#[test]
fn every_key_is_refused_or_runs() {
    let image = support::image("echo");
    let (mut ran, mut refused) = (0, 0);
    for key in keys() {
        for edge in EDGES {
            match attempt(&[format!("{key}={edge}"), "memory.size=16MiB".into()], &image) {
                true => ran += 1,
                false => refused += 1,
            }
        }
    }
    println!("{ran} ran, {refused} were refused");
    assert!(ran > 300 && refused > 300, "{ran} ran, {refused} were refused");
}

#[test]
fn whatever_passes_the_checks_runs() {
    let mut random = support::Random::new(0x5eed, "whatever_passes");
    let mut below = |limit: usize| random.below(limit as u64) as usize;
    let (keys, image) = (keys(), support::image("echo"));
    let mut ran = 0;
    for round in 0..150 {
        let mut overrides = vec!["memory.size=16MiB".to_owned()];
        for _ in 0..2 + below(3) {
            let (key, edge) = (&keys[below(keys.len())], EDGES[below(12)]);
            overrides.push(format!("{key}={edge}"));
        }
        println!("round {round}: {overrides:?}");
        ran += u32::from(attempt(&overrides, &image));
    }
    assert!(ran > 20, "only {ran} machines ran: the test tests nothing");
}
