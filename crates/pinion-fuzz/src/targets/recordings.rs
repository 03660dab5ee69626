//! Recordings: the archive, the tape of what came in live, and a sweep's journal.

use pinion_app::tape::{self, Played};
use pinion_figures::sweep::{Entry, Journal, OF_HANDLERS};
use pinion_record::{Recording, is_recording};

use super::{Target, folder, put, said};

/// Bytes of a tar archive's blocks.
const BLOCK: usize = 512;
/// Where a block's checksum stands.
const CHECKSUM: std::ops::Range<usize> = 148..156;

pub const RECORDING: Target =
    Target { mend: Some(mend), ..Target::bytes("recording", recording, 1000) };
pub const TAPE: Target = Target::text("tape", played, 2000).words(&[
    "frame,",
    "until,",
    "host,",
    "ready,",
    "peer,",
    "what,value",
    "18446744073709551615",
]);
pub const JOURNAL: Target = Target::text("journal", journal, 3000).words(&[
    "\"format\":1",
    "\"key\":\"00000000000000ff\"",
    "\"measured\":",
    "\"problem\":",
    "\"check\":",
    "null",
    "1e999",
    "#cut off",
    "\n",
]);

fn recording(input: &[u8]) -> String {
    let folder = folder();
    let path = put(folder.path(), "input.pinion", input);
    let is_one = is_recording(&path);
    match Recording::open(&path) {
        Ok(recording) => {
            let heads = format!("{:?} {}", recording.head().kind, said(recording.outcome()));
            format!("{is_one} {heads}")
        }
        Err(error) => format!("{is_one} {error}"),
    }
}

/// Gives every block that says it begins a file the checksum that it wants, and files those in the last one.
fn mend(input: &mut [u8]) {
    mend_files(input);
    for block in input.chunks_exact_mut(BLOCK) {
        if &block[257..262] != b"ustar" {
            continue;
        }
        block[CHECKSUM].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}

/// Writes over the digits of those checksums whose names stand behind them.
fn mend_files(input: &mut [u8]) {
    let (mut at, mut sums) = (0, Vec::new());
    while let Some(head) = input.get(at..at + BLOCK) {
        let text = |field: &[u8]| {
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
            String::from_utf8_lossy(&field[..end]).into_owned()
        };
        let name = text(&head[..100]);
        let Ok(size) = usize::from_str_radix(text(&head[124..136]).trim(), 8) else { return };
        let from = at + BLOCK;
        let Some(bytes) = from.checked_add(size).and_then(|end| input.get_mut(from..end)) else {
            return;
        };
        if name == "checksums.txt" {
            for line in bytes.split_mut(|byte| *byte == b'\n').filter(|line| line.len() > 9) {
                let own =
                    sums.iter().find(|(name, _): &&(String, u32)| name.as_bytes() == &line[9..]);
                if let Some((_, sum)) = own {
                    line[..8].copy_from_slice(format!("{sum:08x}").as_bytes());
                }
            }
        } else {
            sums.push((name, crc32fast::hash(bytes)));
        }
        at = from + size.next_multiple_of(BLOCK);
    }
}

/// The steps of a tape; behind a line of dashes what host programs did.
fn played(input: &[u8]) -> String {
    let folder = folder();
    let text = String::from_utf8_lossy(input);
    let (steps, host) = text.split_once("----\n").unwrap_or((&text, ""));
    put(folder.path(), tape::STEPS, steps.as_bytes());
    put(folder.path(), tape::HOST, host.as_bytes());
    let frames = crate::seeds::root().join("examples/icmp_echo/host_fpspin/one.pcap");
    let frames = std::fs::read(frames).unwrap_or_else(|error| panic!("a capture: {error}"));
    put(folder.path(), tape::FRAMES, &frames);
    let trimmed = said(tape::trim(folder.path()));
    let mut played = match Played::open(folder.path()) {
        Ok(played) => played,
        Err(error) => return format!("{trimmed} {error}"),
    };
    let mut slices = 0;
    loop {
        let host = played.host().len();
        loop {
            match played.frame() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return format!("{trimmed} {error}"),
            }
        }
        slices += 1 + host;
        if !played.turn() {
            return format!("{trimmed} {}", slices.min(4));
        }
    }
}

/// A journal's file; and each of its lines as if its digest were right.
fn journal(input: &[u8]) -> String {
    let folder = folder();
    let path = put(folder.path(), "journal.jsonl", input);
    let opened = said(Journal::open(&path, &OF_HANDLERS, false));
    let text = String::from_utf8_lossy(input);
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let read = lines.filter(|line| Entry::from_json(&OF_HANDLERS, line).is_some()).count();
    format!("{opened} {}", read.min(2))
}
