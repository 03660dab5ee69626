//! Reads what the RTL did: a scenario's frames and events.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pinion_net::frame::lnic::{Flags, Header, LNIC_HEADER_BYTES, NDP_PROTOCOL};

/// Finds the calibration set: `PINION_NANOPU_SET`, or the one of the repository.
pub fn folder() -> PathBuf {
    match std::env::var_os("PINION_NANOPU_SET") {
        Some(path) => path.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/nanopu"),
    }
}

/// Holds a scenario's entry in the index.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct Scenario {
    pub name: String,
    pub harts: usize,
    pub rtt_pkts: u16,
    pub timeout_cycles: u64,
    pub cycles_from_reset_to_cycle_0: i64,
    pub last_cycle: i64,
}

/// Lists the scenarios that have events.
pub fn scenarios(folder: &Path) -> Vec<Scenario> {
    let index = std::fs::read_to_string(folder.join("scenarios/index.json")).expect("the index");
    let all: Vec<Scenario> = serde_json::from_str(&index).expect("the index is JSON");
    let has_events = |s: &Scenario| folder.join(format!("traces/{}_events.csv", s.name)).exists();
    all.into_iter().filter(has_events).collect()
}

/// Holds a row of an event table, one per cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    pub cycle: i64,
    pub event: String,
    pub hart: Option<u8>,
    pub last: bool,
    /// The context that a thread interrupt wants to run.
    pub target: Option<u16>,
}

/// Holds a row of a results table.
#[derive(Clone, Debug)]
pub struct FrameRow {
    pub out: bool,
    pub first_flit: i64,
    pub last_flit: i64,
    pub bytes: usize,
    pub header: Header,
    pub crc: u32,
    /// The first six words of a data packet's payload, as bytes.
    pub payload_start: Vec<u8>,
}

impl FrameRow {
    /// Tells whether the frame is part of a message.
    pub fn data(&self) -> bool {
        self.header.flags.has(Flags::DATA)
    }
}

/// Splits a table into its rows' fields, without the head.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().skip(1).map(|l| l.split(',').map(str::to_owned).collect()).collect()
}

/// Reads a scenario's events, one entry per cycle, in order of cycles.
pub fn events(folder: &Path, scenario: &str) -> Vec<EventRow> {
    let mut events = Vec::new();
    for row in rows(&folder.join(format!("traces/{scenario}_events.csv"))) {
        let first: i64 = row[0].parse().expect("a cycle");
        let count: i64 = row[1].parse().expect("a count");
        for cycle in first..first + count {
            events.push(EventRow {
                cycle,
                event: row[2].clone(),
                hart: row[3].parse().ok(),
                last: row[4].contains("last"),
                target: row[4]
                    .split_once("top=")
                    .and_then(|(_, c)| u16::from_str_radix(c, 16).ok()),
            });
        }
    }
    events.sort_by_key(|event| event.cycle);
    events
}

/// Reads a scenario's frames in and out.
pub fn frames(folder: &Path, scenario: &str) -> Vec<FrameRow> {
    let read = |row: Vec<String>| {
        let number = |field: usize| row[field].parse::<i64>().expect("a number");
        let ip = |field: usize| u32::from_str_radix(&row[field], 16).expect("an address");
        let out = row[2] == "out";
        let (own, peer) = ([8, 0x11, 0x22, 0x33, 0x44, 8], [8, 0x55, 0x66, 0x77, 0x88, 8]);
        let (src_mac, dst_mac) = if out { (own, peer) } else { (peer, own) };
        FrameRow {
            out,
            bytes: number(6) as usize,
            first_flit: number(7),
            last_flit: number(8),
            header: Header {
                dst_mac,
                src_mac,
                protocol: NDP_PROTOCOL,
                src_ip: ip(9),
                dst_ip: ip(10),
                flags: flags(&row[5]),
                src_context: number(11) as u16,
                dst_context: number(12) as u16,
                msg_len: number(13) as u16,
                pkt_offset: number(14) as u8,
                pull_offset: number(15) as u16,
                tx_msg_id: number(16) as u16,
                buf_ptr: number(17) as u16,
                buf_size_class: number(18) as u8,
                ..Header::default()
            },
            crc: u32::from_str_radix(&row[19], 16).expect("a CRC"),
            payload_start: bytes(&row[20].replace(' ', "")),
        }
    };
    let known = |row: &Vec<String>| row[18].parse::<u8>().is_ok();
    rows(&folder.join(format!("results/{scenario}.csv")))
        .into_iter()
        .filter(known)
        .map(read)
        .collect()
}

/// Reads the payloads of the frames that are injected.
pub fn injected_payloads(folder: &Path, scenario: &str) -> Vec<Vec<u8>> {
    rows(&folder.join(format!("scenarios/{scenario}.csv")))
        .iter()
        .map(|row| bytes(&row[4]).split_off(LNIC_HEADER_BYTES.min(row[4].len() / 2)))
        .collect()
}

/// Reads flags as the tables write them.
fn flags(text: &str) -> Flags {
    let named: HashMap<_, _> = [
        ("DATA", Flags::DATA),
        ("ACK", Flags::ACK),
        ("NACK", Flags::NACK),
        ("PULL", Flags::PULL),
        ("CHOP", Flags::CHOP),
    ]
    .into();
    text.split('+').filter_map(|name| named.get(name)).fold(Flags::default(), |a, b| a.with(*b))
}

/// Reads hexadecimal digits.
fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes();
    let value = |d: u8| (d as char).to_digit(16).expect("hexadecimal") as u8;
    digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

/// Computes the CRC-32 of zlib.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
