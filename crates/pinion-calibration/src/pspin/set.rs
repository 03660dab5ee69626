//! A set of ground truth on disk: `rows.csv`, `scenarios/`, `results/` and `elf/` come in, typed
//! rows go out.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::read;
use pinion_app::error::{Error, Result};
use pinion_sim::random::Xorshift32;

/// Names one row: a program with handlers and the packets it gets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Row {
    /// Name of the row.
    pub row: String,
    /// Name of the program (`elf/PROGRAM.elf`).
    pub program: String,
    /// Name of the header handler; empty for none.
    pub header_handler: String,
    /// Name of the payload handler; empty for none.
    pub payload_handler: String,
    /// Name of the completion handler; empty for none.
    pub completion_handler: String,
    /// Name of the packets (`scenarios/SCENARIO.csv`).
    pub scenario: String,
}

/// Describes one packet of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ScenarioPacket {
    /// Number of packets from 0.
    pub packet: u32,
    /// The message id.
    pub message: u32,
    /// Number of the packet's bytes.
    pub bytes: u32,
    /// Number of the bytes copied to L1.
    pub l1_bytes: u32,
    /// 1 for the message's last packet.
    pub end_of_message: u8,
    /// The inbound engine's pause after this packet, in cycles of 1 ns.
    pub wait_cycles: u64,
}

/// Holds what the hardware did with one packet, in ns from the row's first HER.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Measured {
    /// Number of packets from 0.
    pub packet: u32,
    /// When the inbound engine took the packet.
    pub inbound_ns: f64,
    /// When its HER was handed to the packet scheduler.
    pub her_ns: f64,
    /// When its completion came back.
    pub done_ns: f64,
}

/// Names a folder of ground truth.
#[derive(Debug, Clone)]
pub struct Set {
    dir: PathBuf,
}

impl Set {
    /// Opens a folder.
    ///
    /// # Errors
    /// When it holds no `rows.csv`.
    pub fn open(dir: &Path) -> Result<Self> {
        if !dir.join("rows.csv").is_file() {
            return Err(Error::Usage(format!(
                "{} holds none of rows.csv, index.csv and scenarios/index.json: give a folder of \
                 ground truth, of PsPIN (rows.csv, scenarios/, results/, elf/), of applications \
                 on PsPIN (index.csv, a folder per run) or of nanoPU (scenarios/index.json, \
                 results/, elf/)",
                dir.display()
            )));
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Gives the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the rows whose name contains `filter`.
    ///
    /// # Errors
    /// When `rows.csv` is unreadable or no row fits.
    pub fn rows(&self, filter: Option<&str>) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = read(&self.dir.join("rows.csv"))?;
        if let Some(filter) = filter {
            rows.retain(|row| row.row.contains(filter));
        }
        if rows.is_empty() {
            let filter = filter.map_or(String::new(), |text| format!(" with `{text}` in its name"));
            return Err(Error::Usage(format!("{} has no row{filter}", self.dir.display())));
        }
        Ok(rows)
    }

    /// Reads the packets of a row.
    ///
    /// # Errors
    /// When the scenario is missing or malformed.
    pub fn scenario(&self, row: &Row) -> Result<Vec<ScenarioPacket>> {
        let path = self.dir.join("scenarios").join(format!("{}.csv", row.scenario));
        let packets: Vec<ScenarioPacket> = read(&path)?;
        if packets.is_empty() {
            return Err(Error::Usage(format!("{} has no packets", path.display())));
        }
        Ok(packets)
    }

    /// Reads what the hardware did.
    ///
    /// # Errors
    /// When the results are missing or malformed.
    pub fn results(&self, row: &Row) -> Result<Vec<Measured>> {
        let path = self.dir.join("results").join(format!("{}.csv", row.row));
        let results: Vec<Measured> = read(&path)?;
        if results.is_empty() {
            return Err(Error::Usage(format!("{} has no results", path.display())));
        }
        finite(&path, &results)?;
        Ok(results)
    }

    /// Names the program of a row.
    pub fn program(&self, row: &Row) -> PathBuf {
        self.dir.join("elf").join(format!("{}.elf", row.program))
    }
}

/// Looks whether results are numbers to compare with.
///
/// # Errors
/// Which is none.
pub fn finite(path: &Path, results: &[Measured]) -> Result<()> {
    let is_none =
        |it: &&Measured| ![it.inbound_ns, it.her_ns, it.done_ns].iter().all(|ns| ns.is_finite());
    match results.iter().find(is_none) {
        None => Ok(()),
        Some(it) => {
            let problem = format!("packet {} has a time that is no number", it.packet);
            Err(Error::Usage(format!("{}: {problem}", path.display())))
        }
    }
}

/// Makes the contents of packet number `packet`: a xorshift32 stream, little-endian words.
pub fn contents(packet: u32, bytes: u32) -> Vec<u8> {
    let seed = 0x9e37_79b9_u32.wrapping_mul(packet.wrapping_add(1));
    Xorshift32::new(seed).bytes(bytes as usize)
}
