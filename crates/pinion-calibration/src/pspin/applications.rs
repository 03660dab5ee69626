//! Applications on PsPIN: an example's program with its contexts' memories and captured packets, run
//! on the hardware and here; every packet's latency is compared, and the whole run's time.
//!
//! The NIC gets each packet at the cycle at which the hardware's inbound engine was given it, so a
//! difference is the model's and not the pacing's.

use std::path::{Path, PathBuf};

use pinion_isa::elf::Image;
use pinion_net::capture::CaptureReader;
use pinion_sim::config::{self, Loaded};
use pinion_spin::{ContextId, ExecutionContext, Handler, Machine};
use serde::{Deserialize, Deserializer, de};

use super::passage::Passages;
use super::set::{Measured, ScenarioPacket};
use super::{frames, measured, nic};
use crate::{Comparison, Jobs, Tolerance, read, side_by_side};
use pinion_app::error::{Error, Result};

/// The median per-packet error that a run may have whose packets come one by one.
pub const SPREAD_TOLERANCE: f64 = 0.03;
/// The median per-packet error that a run may have whose packets come all at once.
pub const BURST_TOLERANCE: f64 = 0.05;

/// Describes one run of an example, a line of `index.csv`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Run {
    /// Name of the run and its folder.
    pub run: String,
    /// Name of the example and its program.
    pub example: String,
    /// How the packets come.
    pub kind: Kind,
}

/// Tells how a run's packets come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// At a pace that the NIC keeps up with.
    Spread,
    /// Back to back.
    Burst,
}

/// Describes one packet of a run; it has a context besides what a row's packet has.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Packet {
    packet: u32,
    context: u32,
    message: u32,
    bytes: u32,
    l1_bytes: u32,
    end_of_message: u8,
    wait_cycles: u64,
}

/// Describes where a context lay on the hardware; a handler at 0 is none.
#[derive(Debug, Clone, Deserialize)]
struct Placed {
    name: String,
    #[serde(deserialize_with = "hexadecimal")]
    handler_memory: u64,
    #[serde(deserialize_with = "hexadecimal")]
    handler_memory_bytes: u64,
    #[serde(deserialize_with = "hexadecimal")]
    host_memory: u64,
    #[serde(deserialize_with = "hexadecimal")]
    host_memory_bytes: u64,
    #[serde(deserialize_with = "hexadecimal")]
    header_handler: u64,
    #[serde(deserialize_with = "hexadecimal")]
    payload_handler: u64,
    #[serde(deserialize_with = "hexadecimal")]
    completion_handler: u64,
    #[serde(deserialize_with = "hexadecimal")]
    scratchpad_offset: u64,
    #[serde(deserialize_with = "hexadecimal")]
    scratchpad_bytes: u64,
}

fn hexadecimal<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.strip_prefix("0x").ok_or_else(|| de::Error::custom("write it as 0x…"))?;
    u64::from_str_radix(digits, 16).map_err(de::Error::custom)
}

/// Reads what `app.toml` says about the contexts' contents: the rest of it is in `contexts.csv`.
#[derive(Debug, Deserialize)]
struct Contents {
    context: Vec<Images>,
}

#[derive(Debug, Deserialize)]
struct Images {
    name: String,
    handler_memory_image: Option<PathBuf>,
    host_memory_image: Option<PathBuf>,
}

/// Names a folder of application runs.
#[derive(Debug, Clone)]
pub struct Set {
    dir: PathBuf,
}

impl Set {
    /// Tells whether a folder looks like a set of this kind.
    pub fn recognises(dir: &Path) -> bool {
        dir.join("index.csv").is_file()
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// When it holds no `index.csv`.
    pub fn open(dir: &Path) -> Result<Self> {
        if !Self::recognises(dir) {
            let problem = "holds no index.csv: give a folder of application runs";
            return Err(Error::Usage(format!("{} {problem}", dir.display())));
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Gives the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the runs whose name contains `filter`.
    ///
    /// # Errors
    /// When the index is unreadable or no run fits.
    pub fn runs(&self, filter: Option<&str>) -> Result<Vec<Run>> {
        let path = self.dir.join("index.csv");
        let mut runs: Vec<Run> = read(&path)?;
        runs.retain(|run| filter.is_none_or(|filter| run.run.contains(filter)));
        if runs.is_empty() {
            let filter = filter.map_or(String::new(), |text| format!(" with `{text}` in its name"));
            return Err(Error::Usage(format!("{} has no run{filter}", path.display())));
        }
        Ok(runs)
    }
}

/// Compares every run of a set whose name contains `filter`, `jobs` runs at a time.
///
/// # Errors
/// When the set is unreadable, or a run cannot be started at all.
pub fn compare<'a>(
    set: &Set,
    machine: &Machine,
    filter: Option<&str>,
    jobs: impl Into<Jobs<'a>>,
) -> Result<Vec<Comparison>> {
    let runs = set.runs(filter)?;
    side_by_side(&runs, jobs.into(), |run| {
        let dir = set.dir.join(&run.run);
        let path = dir.join("rtl_packets.csv");
        let rtl: Vec<Measured> = read(&path)?;
        super::set::finite(&path, &rtl)?;
        Ok(compare_run(run, &passages(&dir, machine, run)?, &measured(&rtl)))
    })
}

fn compare_run(run: &Run, ours: &Passages, rtl: &Passages) -> Vec<Comparison> {
    if let Some(failure) = ours.completion_failure(&run.run, rtl) {
        return vec![failure];
    }
    let limit = match run.kind {
        Kind::Spread => SPREAD_TOLERANCE,
        Kind::Burst => BURST_TOLERANCE,
    };
    let compare = |metric, ours, rtl| {
        Comparison::new(&run.run, metric, ours, rtl, Tolerance::RelativeOr(0.0))
    };
    let latency = compare("packet_latency_ns", ours.latency_ns(), rtl.latency_ns());
    vec![
        latency.with_error(ours.median_error(rtl), limit).with_packets(ours.in_its_cycles(rtl)),
        compare("duration_ns", ours.duration_ns(), rtl.duration_ns()),
    ]
}

/// Runs an example's program on the packets it got.
fn passages(dir: &Path, machine: &Machine, run: &Run) -> Result<Passages> {
    let image = Image::read(&dir.join(format!("{}.elf", run.example)))?;
    let placed: Vec<Placed> = read(&dir.join("contexts.csv"))?;
    let contents = contents(dir)?;
    let images = |name: &str| contents.context.iter().find(|images| images.name == name);
    let load = |image: Option<&PathBuf>| match image {
        None => Ok(Vec::new()),
        Some(file) => {
            let path = dir.join(file);
            pinion_input::bytes(&path).map_err(|error| Error::file("read", &path, error))
        }
    };
    let mut contexts = Vec::new();
    for place in &placed {
        let images = images(&place.name).and_then(|images| images.handler_memory_image.as_ref());
        contexts.push(context(&image, place, load(images)?));
    }
    let mut nic = nic(machine, &image, contexts)?;
    for place in &placed {
        let images = images(&place.name).and_then(|images| images.host_memory_image.as_ref());
        if !nic.write_host(place.host_memory, &load(images)?) {
            let problem = "its image does not fit into the simulated host's memory";
            return Err(Error::Usage(format!("{}, context {}: {problem}", run.run, place.name)));
        }
    }
    let packets: Vec<Packet> = read(&dir.join("scenario.csv"))?;
    let captured = captured(&dir.join("packets.pcap"), &packets)?;
    let packets = packets.iter().map(|it| {
        let packet = ScenarioPacket {
            packet: it.packet,
            message: it.message,
            bytes: it.bytes,
            l1_bytes: it.l1_bytes,
            end_of_message: it.end_of_message,
            wait_cycles: it.wait_cycles,
        };
        (ContextId(it.context), packet)
    });
    let mut captured = captured.into_iter();
    let frames = frames(packets, |_| captured.next().unwrap_or_default());
    let frames = frames.map_err(|why| Error::Usage(format!("{}: {why}", run.run)))?;
    Ok(Passages::through(&mut nic, frames))
}

fn contents(dir: &Path) -> Result<Contents> {
    let path = dir.join("app.toml");
    let text = pinion_input::text(&path).map_err(|error| Error::file("read", &path, error))?;
    let loaded: Loaded<Contents> = config::load(&path.display().to_string(), &text, &[])?;
    Ok(loaded.value)
}

/// Reads the packets' contents, which must be what the scenario says.
fn captured(path: &Path, packets: &[Packet]) -> Result<Vec<Vec<u8>>> {
    let mut reader = CaptureReader::open(path)?;
    let mut captured = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        captured.push(frame.bytes);
    }
    let lengths = packets.iter().map(|packet| packet.bytes as usize);
    if !lengths.eq(captured.iter().map(Vec::len)) {
        let problem = "its packets are not those of scenario.csv beside it";
        return Err(Error::Usage(format!("{}: {problem}", path.display())));
    }
    Ok(captured)
}

/// Makes a context as it lay on the hardware.
fn context(image: &Image, place: &Placed, contents: Vec<u8>) -> ExecutionContext {
    let handler = |address: u64| {
        let symbol = image.symbol_at(address);
        (address != 0).then(|| Handler {
            name: symbol.map_or_else(|| format!("{address:#x}"), |symbol| symbol.name.clone()),
            address: address as u32,
            bytes: symbol.map_or(u32::MAX, |symbol| symbol.size as u32),
        })
    };
    ExecutionContext {
        name: place.name.clone(),
        header_handler: handler(place.header_handler),
        payload_handler: handler(place.payload_handler),
        completion_handler: handler(place.completion_handler),
        handler_memory_address: place.handler_memory as u32,
        handler_memory_bytes: place.handler_memory_bytes as u32,
        handler_memory_image: contents,
        host_memory_address: place.host_memory,
        host_memory_bytes: place.host_memory_bytes as u32,
        scratchpad_offset: place.scratchpad_offset as u32,
        scratchpad_bytes: place.scratchpad_bytes as u32,
        ..ExecutionContext::default()
    }
}
