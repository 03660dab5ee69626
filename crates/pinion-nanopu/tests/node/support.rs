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
