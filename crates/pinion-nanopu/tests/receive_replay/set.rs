//! What the set says: frames, what the harts did, and the events that are to be reproduced.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinion_nanopu::Cycle;
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

/// The replay's cycle of the set's cycle 0.
pub const ZERO: Cycle = 100_000;

pub fn set() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/nanopu");
    std::env::var_os("PINION_NANOPU_SET").map_or(default, PathBuf::from)
}

pub fn lines(path: PathBuf) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(fields).collect()
}

pub fn cycle(text: &str) -> Cycle {
    (ZERO as i64 + text.parse::<i64>().unwrap()) as Cycle
}

pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| {
        let eight = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
        (0..8).fold(crc ^ u32::from(byte), |crc, _| eight(crc))
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// Reads the frames that came in, with the cycles of their first flits.
pub fn frames(set: &Path, scenario: &str) -> Vec<(Cycle, Vec<u8>)> {
    let hex = |text: &str| -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len() / 2).map(|n| byte(2 * n)).collect()
    };
    let script = lines(set.join(format!("scenarios/{scenario}.csv")));
    let script: BTreeMap<u32, Vec<u8>> = script
        .iter()
        .map(|row| hex(row.last().unwrap()))
        .map(|frame| (crc32(&frame), frame))
        .collect();
    let rows = lines(set.join(format!("results/{scenario}.csv")));
    let arrived = rows.iter().filter(|row| row[2] == "in").map(|row| {
        let crc = u32::from_str_radix(&row[19], 16).unwrap();
        let ip = |text: &str| u32::from_str_radix(text, 16).unwrap();
        let number = |text: &str| text.parse().unwrap();
        let frame = script.get(&crc).cloned().unwrap_or_else(|| {
            let flag = |flags: Flags, name: &str| match name {
                "ACK" => flags.with(Flags::ACK),
                "NACK" => flags.with(Flags::NACK),
                "PULL" => flags.with(Flags::PULL),
                name => panic!("{scenario}: frame of kind {name} is not in the script"),
            };
            let header = Header {
                dst_mac: [0x08, 0x11, 0x22, 0x33, 0x44, 0x08],
                src_mac: [0x08, 0x55, 0x66, 0x77, 0x88, 0x08],
                protocol: NDP_PROTOCOL,
                src_ip: ip(&row[9]),
                dst_ip: ip(&row[10]),
                flags: row[5].split('+').fold(Flags::default(), flag),
                src_context: number(&row[11]),
                dst_context: number(&row[12]),
                msg_len: number(&row[13]),
                pkt_offset: number(&row[14]) as u8,
                pull_offset: number(&row[15]),
                tx_msg_id: number(&row[16]),
                buf_ptr: number(&row[17]),
                buf_size_class: number(&row[18]) as u8,
                ..Header::default()
            };
            header.frame(&[0; 64])
        });
        assert_eq!(crc32(&frame), crc, "{scenario}: a frame was not rebuilt right");
        (cycle(&row[7]), frame)
    });
    arrived.collect()
}

/// Is an event as the tables have it.
pub type Row = (Cycle, String);

/// What a hart does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Write(u16, u64),
    Pop,
    Unread(u32),
    Trap,
    /// The switch reads which context to run.
    Target,
    /// The switch goes there.
    Switch,
    /// The thread that was switched to goes on.
    Resume,
}

pub type Actions = Vec<(Cycle, usize, Action)>;

/// Reads the table of events: what the harts did, and what is to be reproduced.
pub fn table(set: &Path, scenario: &str) -> (Actions, Vec<Row>) {
    let (mut actions, mut events) = (Vec::new(), Vec::new());
    for row in lines(set.join(format!("traces/{scenario}_events.csv"))) {
        let (at, count) = (cycle(&row[0]), row[1].parse::<Cycle>().unwrap());
        for at in at..at + count {
            let hart = || row[3].parse().unwrap();
            match row[2].as_str() {
                "core_rx_pop" => actions.push((at, hart(), Action::Pop)),
                "core_rx_unread" => {
                    // One bit per pipeline stage whose read is undone.
                    let stages: u32 = row[4].parse().unwrap();
                    actions.push((at, hart(), Action::Unread(stages.count_ones())));
                }
                "msg_done" => actions.push((at, hart(), Action::Write(0x056, 1))),
                "trap" => actions.push((at, hart(), Action::Trap)),
                "ingress_in" | "ingress_out" | "reassembly_out" | "global_rx_out"
                | "core_rx_word" | "thread_interrupt" | "control_request" | "delivered"
                | "credit" => events.push((at, row[2..5].join(","))),
                _ => {}
            }
        }
    }
    (actions, events)
}
