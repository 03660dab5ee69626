//! Recordings: the archive, the tape of what came in live, and a sweep's journal.

use std::path::Path;

use pinion_app::tape::{self, Played};
use pinion_figures::sweep::{Entry, Journal, OF_HANDLERS};
use pinion_net::capture::{CaptureError, CaptureWriter, LinkType};
use pinion_record::{Recording, is_recording};

use super::{Target, folder, put, said};

/// Bytes of a tar archive's blocks.
const BLOCK: usize = 512;
/// Where a block's checksum stands.
const CHECKSUM: std::ops::Range<usize> = 148..156;

pub const RECORDING: Target =
    Target { mend: Some(mend), ..Target::bytes("recording", recording, 1000) };
pub const TAPE: Target = Target { mend: Some(mend_sums), ..Target::text("tape", played, 2000) }
    .words(&[
        "frame,",
        "until,",
        "sum,",
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

/// Bytes of the frames that every tape has.
const FRAME: [u8; 60] = [0x5a; 60];

/// Writes the frames that steps speak of, as they would have been recorded.
fn capture(path: &Path, steps: &str) {
    let arrivals = steps.lines().filter_map(|line| line.strip_prefix("frame,")?.parse().ok());
    let write = || -> Result<u64, CaptureError> {
        let mut frames = CaptureWriter::create(path, LinkType::Ethernet)?;
        for arrival in arrivals {
            // A tape that was recorded has no frame of a time that has no place there.
            let _ = frames.write(arrival, &FRAME);
        }
        frames.finish()
    };
    write().unwrap_or_else(|error| panic!("a capture: {error}"));
}

/// Says in the rows of sums what those before add up to, in as many digits as stand there.
fn mend_sums(input: &mut [u8]) {
    let mut sum = crc32fast::Hasher::new();
    let end = input.windows(5).position(|part| part == b"----\n").unwrap_or(input.len());
    let (steps, host) = input.split_at_mut(end);
    let mut deeds = host.split(|byte| *byte == b'\n').skip(1);
    for line in steps.split_inclusive_mut(|byte| *byte == b'\n') {
        if line.len() == "sum,\n".len() + DIGITS && line.starts_with(b"sum,") {
            let text = format!("{:0DIGITS$}", sum.clone().finalize());
            line[4..4 + DIGITS].copy_from_slice(text.as_bytes());
        }
        sum.update(line);
        match line {
            [b'f', b'r', b'a', b'm', b'e', b',', ..] => sum.update(&FRAME),
            [b'h', b'o', b's', b't', b',', ..] => sum.update(deeds.next().unwrap_or_default()),
            _ => {}
        }
    }
}

/// Digits of a sum.
const DIGITS: usize = 10;

/// The steps of a tape; behind a line of dashes what host programs did.
fn played(input: &[u8]) -> String {
    let folder = folder();
    let text = String::from_utf8_lossy(input);
    let (steps, host) = text.split_once("----\n").unwrap_or((&text, ""));
    put(folder.path(), tape::STEPS, steps.as_bytes());
    put(folder.path(), tape::HOST, host.as_bytes());
    capture(&folder.path().join(tape::FRAMES), steps);
    let trimmed = said(tape::verify(folder.path()));
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
