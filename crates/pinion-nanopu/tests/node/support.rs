//! What the whole-machine tests share.

use std::path::{Path, PathBuf};

use pinion_isa::elf::Image;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::Node;

/// Gives the repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Loads the nanoPU machine with overrides.
pub fn machine(faithful: bool, overrides: &[&str]) -> Machine {
    let path = root().join("machines/nanopu.toml");
    let load = |overrides: &[String]| {
        pinion_sim::config::load_file::<Machine>(&path, overrides).unwrap_or_else(|e| panic!("{e}"))
    };
    let mut all: Vec<String> = Vec::new();
    if faithful {
        let pairs = load(&[]).value.faithful;
        all.extend(pairs.iter().map(|(key, value)| format!("{key}={value}")));
    }
    all.extend(overrides.iter().map(|&text| text.to_owned()));
    load(&all).value
}

/// Loads a program of the calibration set.
pub fn image(name: &str) -> Image {
    let path = root().join(format!("tests/calibration/nanopu/elf/{name}.elf"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Image::parse_for::<u64>(&bytes, name).unwrap_or_else(|e| panic!("{e}"))
}

/// Makes a node that runs a program of the calibration set.
pub fn node(machine: &Machine, program: &str) -> Node {
    let address = machine.address.parse().expect("an address");
    Node::new(machine, address, &image(program)).unwrap_or_else(|e| panic!("{e}"))
}

/// Draws numbers from the seed in PINION_TEST_SEED, and prints how to draw them again.
pub struct Random(u64);

impl Random {
    /// Starts with `seed` unless the environment says another, for the tests of this name.
    pub fn new(seed: u64, test: &str) -> Self {
        let asked = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = asked.unwrap_or(seed);
        println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-nanopu --test node {test}");
        Self(seed)
    }

    /// Draws a number below `limit`, which is at most 2^31 (a linear congruential generator, Knuth's
    /// MMIX).
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
