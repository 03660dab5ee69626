//! What is simulated: the driver's configuration and the environment come in, a machine goes out.
//!
//! `PINION_MACHINE` names the machine (a name or a file; `pspin`), `PINION_SET` changes numbers of
//! it (`KEY=VALUE`, separated by blanks), `PINION_FAITHFUL=0` takes the paper's machine instead of
//! what the published hardware and its models do. Fields of the configuration count where they
//! differ from the defaults; what `PINION_SET` names, counts in any case.

use std::env;
use std::path::{Path, PathBuf};

use pinion_sim::config::Loaded;
use pinion_sim::machine;
use pinion_spin::Machine;
use pinion_spin::machine::AllocatorKind;

use crate::error::{Error, Result};
use crate::slm;
use crate::types::PspinConf;

/// The machine that is simulated unless the environment names another.
const PSPIN: &str = include_str!("../../../machines/pspin.toml");
/// FPsPIN's machine, by name.
const FPSPIN: &str = include_str!("../../../machines/fpspin.toml");
/// Bytes to which the published network and PCIe models apply their gaps (one beat).
const BEAT_BYTES: u32 = 64;

/// Says what is simulated.
#[derive(Debug)]
pub struct Settings {
    /// The machine.
    pub machine: Machine,
    /// Whether it follows the published hardware where that differs from the paper.
    pub faithful: bool,
    /// Largest packet that handlers should send, in bytes.
    pub max_packet_bytes: u32,
    /// Folder of memory images, if there are any.
    pub images: Option<PathBuf>,
    /// ELF that the environment names.
    pub elf: Option<PathBuf>,
}

/// Holds what the environment says.
#[derive(Debug, Default)]
pub struct Environment {
    machine: Option<String>,
    set: Vec<String>,
    faithful: Option<String>,
    elf: Option<PathBuf>,
    hardware: Option<PathBuf>,
}

impl Environment {
    /// Reads it.
    pub fn read() -> Self {
        let text = |name| env::var(name).ok().filter(|value: &String| !value.is_empty());
        let words = |value: String| value.split_whitespace().map(str::to_owned).collect();
        Self {
            machine: text("PINION_MACHINE"),
            set: text("PINION_SET").map(words).unwrap_or_default(),
            faithful: text("PINION_FAITHFUL"),
            elf: text("PINION_ELF").map(PathBuf::from),
            hardware: text("PSPIN_HW").map(PathBuf::from),
        }
    }

    fn names(&self, key: &str) -> bool {
        self.set.iter().any(|set| set.split('=').next().is_some_and(|name| name.trim() == key))
    }

    fn is_faithful(&self) -> Result<bool> {
        match self.faithful.as_deref() {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(other) => Err(Error::Environment {
                name: "PINION_FAITHFUL",
                value: other.to_owned(),
                problem: "write 1, as published (the default), or 0, as in the paper".to_owned(),
            }),
        }
    }
}

impl Settings {
    /// Makes the machine. `images` is the configuration's folder of memory images.
    pub fn new(
        conf: &PspinConf,
        images: Option<PathBuf>,
        environment: &Environment,
    ) -> Result<Self> {
        let faithful = environment.is_faithful()?;
        let name = environment.machine.as_deref().unwrap_or("pspin");
        let mut machine = load_machine(name, &environment.set, faithful)?;
        apply(&mut machine, conf, environment, faithful)?;
        let published = environment.hardware.as_ref().map(|dir| dir.join("sim_files/slm_files"));
        let images = images.or(published).filter(|folder| slm::has_images(folder));
        let (max_packet_bytes, elf) = (conf.no_conf.max_pkt_size, environment.elf.clone());
        Ok(Self { machine, faithful, max_packet_bytes, images, elf })
    }

    /// Says whether a range lies in one of the NIC's memories.
    pub fn has_memory(&self, address: u32, bytes: usize) -> bool {
        let machine = &self.machine;
        let l1 = (0..machine.cluster.count)
            .map(|cluster| (machine.l1.base + cluster * machine.l1.stride, machine.l1.bytes));
        let others = [
            (machine.l2_handler.base, machine.l2_handler.bytes),
            (machine.l2_packet.base, machine.l2_packet.bytes),
            (machine.program.base, machine.program.bytes),
        ];
        l1.chain(others).any(|(base, size)| {
            let offset = address.checked_sub(base).map(u64::from);
            offset.is_some_and(|offset| offset + bytes as u64 <= u64::from(size))
        })
    }
}

/// Loads a machine: the one that Pinion comes with, or a file.
fn load_machine(name: &str, changes: &[String], faithful: bool) -> Result<Machine> {
    let (origin, text) = machine_text(name)?;
    // As everywhere, a path in a file begins at the file's folder.
    let folder = path_of(name).and_then(Path::parent).unwrap_or(Path::new(""));
    let base_text = |base: &str| match path_of(base) {
        Some(path) => machine_text(&folder.join(path).display().to_string()),
        None => machine_text(base),
    };
    let machine: Loaded<Machine> = machine::load(&origin, &text, changes, faithful, base_text)?;
    if machine.value.units.count > 1 {
        let problem = "a driver has one PsPIN unit before it: set it to 1";
        return Err(machine.error_at("units.count", problem).into());
    }
    Ok(machine.value)
}

/// Gives the path that a machine's name is, if it is one.
fn path_of(name: &str) -> Option<&Path> {
    (name.contains('/') || name.ends_with(".toml")).then(|| Path::new(name))
}

/// Gives origin and text of a machine's file.
fn machine_text(name: &str) -> Result<(String, String)> {
    let path = Path::new(name);
    match name {
        "pspin" => Ok((name.to_owned(), PSPIN.to_owned())),
        "fpspin" => Ok((name.to_owned(), FPSPIN.to_owned())),
        _ if path.is_file() => match pinion_input::text(path) {
            Ok(text) => Ok((name.to_owned(), text)),
            Err(source) => Err(Error::File { path: path.to_owned(), source }),
        },
        _ => Err(Error::Environment {
            name: "PINION_MACHINE",
            value: name.to_owned(),
            problem: "write pspin, fpspin or the path of a machine file".to_owned(),
        }),
    }
}

/// Puts the configuration's numbers into the machine.
fn apply(
    machine: &mut Machine,
    conf: &PspinConf,
    environment: &Environment,
    faithful: bool,
) -> Result<()> {
    let default = PspinConf::DEFAULT;
    let (network, network_default) = (&conf.no_conf, &default.no_conf);
    let (pcie, pcie_default) = (&conf.pcie_slv_conf, &default.pcie_slv_conf);
    let clock_mhz = machine.clock.frequency_mhz;
    let rate = |field: &str, gap_ns: f64| {
        rate_mbit_s(gap_ns, faithful, clock_mhz).ok_or_else(|| Error::Configuration {
            field: field.to_owned(),
            problem: format!("{gap_ns} is no gap in ns per byte"),
        })
    };
    if network.network_G != network_default.network_G && !environment.names("network.rate_mbit_s") {
        machine.network.rate_mbit_s = rate("no_conf.network_G", network.network_G)?;
    }
    let queue = network.max_network_queue_len;
    if queue != network_default.max_network_queue_len && !environment.names("network.queue_packets")
    {
        machine.network.queue_packets = queue;
    }
    if pcie.pcie_G != pcie_default.pcie_G && !environment.names("pcie.rate_mbit_s") {
        machine.pcie.rate_mbit_s = rate("pcie_slv_conf.pcie_G", pcie.pcie_G)?;
    }
    if pcie.pcie_L != pcie_default.pcie_L && !environment.names("pcie.latency_ps") {
        // The published model compares it with picoseconds; nanoseconds are meant.
        machine.pcie.latency_ps = u64::from(pcie.pcie_L) * if faithful { 1 } else { 1000 };
    }
    let in_a_ring = machine.allocator.kind == AllocatorKind::Ring;
    if in_a_ring && !environment.names("inbound.max_packet_bytes") {
        // The published inbound engine takes whatever an L1 packet buffer's ring can hold.
        let ring = machine.l1.packet_buffer_bytes / machine.l1.packet_buffer_rings.max(1);
        machine.inbound.max_packet_bytes = ring.min(machine.l2_packet.bytes);
    }
    note_buffers(conf);
    machine.check().map_err(|(key, problem)| Error::Configuration {
        field: format!("`{key}` of the machine, with the numbers"),
        problem,
    })
}

/// Turns a gap into a rate in Mbit/s, 0 for none. The published models wait whole cycles after each
/// beat and drop fractions.
fn rate_mbit_s(gap_ns: f64, faithful: bool, clock_mhz: u64) -> Option<u64> {
    if !gap_ns.is_finite() || gap_ns < 0.0 {
        return None;
    }
    if faithful {
        let cycles = (gap_ns * f64::from(BEAT_BYTES)) as u64;
        return Some((u64::from(BEAT_BYTES) * 8 * clock_mhz).checked_div(cycles).unwrap_or(0));
    }
    Some(if gap_ns == 0.0 { 0 } else { (8_000.0 / gap_ns).round() as u64 })
}

/// Says so when sizes of AXI buffers were chosen: those are not modelled.
fn note_buffers(conf: &PspinConf) {
    let default = PspinConf::DEFAULT;
    let sizes = |conf: &PspinConf| {
        let (inbound, outbound, pcie) = (conf.ni_conf, conf.no_conf, conf.pcie_slv_conf);
        [
            inbound.axi_aw_buffer,
            inbound.axi_w_buffer,
            inbound.axi_b_buffer,
            outbound.axi_ar_buffer,
            outbound.axi_r_buffer,
            pcie.axi_aw_buffer,
            pcie.axi_w_buffer,
            pcie.axi_ar_buffer,
            pcie.axi_b_buffer,
            pcie.axi_r_buffer,
        ]
    };
    if sizes(conf) != sizes(&default) {
        eprintln!(
            "pinion: pspinsim_init: sizes of AXI buffers are not modelled and have no effect"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(change: impl Fn(&mut PspinConf), set: &str, faithful: &str) -> Result<Settings> {
        let mut conf = PspinConf::DEFAULT;
        change(&mut conf);
        let environment = Environment {
            set: set.split_whitespace().map(str::to_owned).collect(),
            faithful: Some(faithful.to_owned()),
            ..Environment::default()
        };
        Settings::new(&conf, None, &environment)
    }

    #[test]
    fn the_defaults_do_not_throttle_as_published() {
        let machine = settings(|_| {}, "", "1").unwrap().machine;
        assert_eq!((machine.network.rate_mbit_s, machine.pcie.rate_mbit_s), (0, 0));
        let machine = settings(|_| {}, "", "0").unwrap().machine;
        assert_eq!((machine.network.rate_mbit_s, machine.pcie.latency_ps), (400_000, 2_000));
    }

    #[test]
    fn fpspin_is_known_by_name() {
        let environment = Environment { machine: Some("fpspin".into()), ..Environment::default() };
        let machine = Settings::new(&PspinConf::DEFAULT, None, &environment).unwrap().machine;
        assert_eq!((machine.cluster.count, machine.mpq.count), (2, 16));
    }

    #[test]
    fn a_base_lies_where_the_machines_file_does() {
        let folder = std::env::temp_dir().join(format!("pinion-settings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("whole.toml"), PSPIN).unwrap();
        for base in ["whole.toml", "pspin"] {
            let file = folder.join("mine.toml");
            std::fs::write(&file, format!("base = \"{base}\"\nname = \"mine\"\n")).unwrap();
            let machine = Some(file.display().to_string());
            let environment = Environment { machine, ..Environment::default() };
            let machine = Settings::new(&PspinConf::DEFAULT, None, &environment).unwrap().machine;
            assert_eq!(machine.name, "mine");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn gaps_become_rates() {
        // The published driver's constant for 200 Gbit/s: 2.38 cycles for 64 B, of which 2 count.
        let slow = |conf: &mut PspinConf| conf.no_conf.network_G = 0.037_252;
        assert_eq!(settings(slow, "", "1").unwrap().machine.network.rate_mbit_s, 256_000);
        assert_eq!(settings(slow, "", "0").unwrap().machine.network.rate_mbit_s, 214_754);
        let set = "network.rate_mbit_s=100000";
        assert_eq!(settings(slow, set, "1").unwrap().machine.network.rate_mbit_s, 100_000);
        let latency = |conf: &mut PspinConf| conf.pcie_slv_conf.pcie_L = 500;
        assert_eq!(settings(latency, "", "1").unwrap().machine.pcie.latency_ps, 500);
        assert_eq!(settings(latency, "", "0").unwrap().machine.pcie.latency_ps, 500_000);
    }

    #[test]
    fn nonsense_is_refused() {
        for gap in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(settings(|conf| conf.pcie_slv_conf.pcie_G = gap, "", "1").is_err());
        }
        assert!(settings(|conf| conf.no_conf.max_network_queue_len = 0, "", "1").is_err());
        assert!(settings(|_| {}, "cluster.count=99", "1").is_err());
        let error = settings(|_| {}, "", "maybe").unwrap_err().to_string();
        assert!(error.contains("PINION_FAITHFUL") && error.contains("write 1"), "{error}");
    }

    #[test]
    fn memories_have_ends() {
        let settings = settings(|_| {}, "", "1").unwrap();
        assert!(settings.has_memory(0x1c30_0000, 0x10_0000));
        assert!(!settings.has_memory(0x1c30_0000, 0x10_0001 + (4 << 20)));
        assert!(settings.has_memory(0x10c0_0000, 1 << 20));
        assert!(!settings.has_memory(0x1100_0000, 1) && !settings.has_memory(u32::MAX, 16));
    }
}
