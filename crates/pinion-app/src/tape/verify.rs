//! A tape whose recording has not been ended. In: its files, wherever they were cut off. Out: the same up to the last
//! slice that is over, if they are as they were recorded.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crc32fast::Hasher;
use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};

use super::{DID, FRAME, FRAMES, HEAD, HOST, PEER, READY, STEPS, SUM, UNTIL, row, trim_steps};
use crate::error::{Error, Result};

/// Names the frames' file while it is written again.
const AGAIN: &str = "live.again.pcap";

/// Cuts off what a tape has behind its last finished slice, and holds the slices before against what they added up to
/// when they were recorded; gives their number.
///
/// # Errors
/// When it cannot be read or written, or is not as it was recorded.
pub fn verify(folder: &Path) -> Result<usize> {
    let damaged = |line: usize, why: &str| {
        Error::Usage(format!("the recording is damaged: {STEPS}, line {line}: {why}"))
    };
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).map_err(|error| Error::file("read", &path, error))
    };
    // Behind the last slice, too, no row is whole that nobody wrote.
    let is_known = |line: &[u8]| {
        let kind = line.split(|byte| *byte == b',').next().unwrap_or_default();
        [HEAD[0], FRAME, UNTIL, DID, READY, PEER, SUM].iter().any(|known| known.as_bytes() == kind)
    };
    let all = read(STEPS)?;
    let rows = all.split_inclusive(|byte| *byte == b'\n');
    if let Some(row) = rows.take_while(|row| row.ends_with(b"\n")).position(|row| !is_known(row)) {
        return Err(damaged(row + 1, "that is no row of a tape"));
    }
    let (steps, slices) = trim_steps(&folder.join(STEPS), all)?;
    if slices == 0 {
        return Ok(0);
    }
    let steps = String::from_utf8(steps).map_err(|_| damaged(1, "it is no text"))?;
    let host = if folder.join(HOST).exists() { read(HOST)? } else { Vec::new() };
    let (mut deeds, mut host_bytes) = (host.split_inclusive(|byte| *byte == b'\n'), 0);
    let mut frames = CaptureReader::open(folder.join(FRAMES))?;
    // What was recorded, written again: so the capture's own bytes are compared, too.
    let again = folder.join(AGAIN);
    let mut written = CaptureWriter::create(&again, LinkType::Ethernet)?;
    let mut sum = Hasher::new();
    for (line, number) in steps.split_terminator('\n').zip(1..) {
        let (what, value) = line.split_once(',').ok_or_else(|| damaged(number, "no number"))?;
        if what == SUM && value.parse() != Ok(sum.clone().finalize()) {
            let why = format!(
                "what stands before, or its part of {FRAMES} or {HOST}, is not as it was recorded"
            );
            return Err(damaged(number, &why));
        }
        sum.update(row(what, value).as_bytes());
        match what {
            FRAME => {
                let missing = || damaged(number, &format!("{FRAMES} ends before"));
                let frame = frames.next_frame()?.ok_or_else(missing)?;
                let arrival = value.parse().map_err(|_| damaged(number, "no number"))?;
                written.write(arrival, &frame.bytes)?;
                sum.update(&frame.bytes);
            }
            DID => {
                let missing = || damaged(number, &format!("{HOST} has no line {value}"));
                let deed = deeds.next().ok_or_else(missing)?;
                host_bytes += deed.len();
                sum.update(deed.strip_suffix(b"\n").unwrap_or(deed));
            }
            _ => {}
        }
    }
    written.finish()?;
    let frames = folder.join(FRAMES);
    if !begins(&frames, &again).map_err(|error| Error::file("read", &frames, error))? {
        return Err(Error::Usage(format!(
            "the recording is damaged: {FRAMES} is not as it was recorded"
        )));
    }
    // What came behind the last slice is in neither, whole or not.
    std::fs::rename(&again, &frames).map_err(|error| Error::file("write", &frames, error))?;
    if host_bytes < host.len() {
        let path = folder.join(HOST);
        let whole = std::fs::write(&path, &host[..host_bytes]);
        whole.map_err(|error| Error::file("write", &path, error))?;
    }
    Ok(slices)
}

/// Tells whether a file begins with the whole of another.
fn begins(file: &Path, with: &Path) -> std::io::Result<bool> {
    let [mut file, mut with] =
        [BufReader::new(File::open(file)?), BufReader::new(File::open(with)?)];
    loop {
        let (here, there) = (file.fill_buf()?, with.fill_buf()?);
        let bytes = here.len().min(there.len());
        if there.is_empty() || here[..bytes] != there[..bytes] || bytes == 0 {
            return Ok(there.is_empty());
        }
        file.consume(bytes);
        with.consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use pinion_sim::Time;

    use super::*;
    use crate::tape::{NAMES, Played, Tape};

    /// Wherever the process ends, what was over is there.
    #[test]
    fn a_tape_that_is_cut_off_has_the_slices_before() {
        let folder = std::env::temp_dir().join(format!("pinion-cut-tape-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tape = two_slices(&folder);
        // Nothing is ended, and more is written than was over.
        let whole = files(&folder);
        let written = std::fs::read_to_string(folder.join(STEPS)).unwrap();
        let second = written.find("frame,2345\n").unwrap();
        assert!(written[second..].starts_with("frame,2345\nhost,1\nuntil,1000\nsum,"), "{written}");
        for more in ["frame,34", "frame,3456\n", "frame,3456\nuntil,5000\nsum,1", "sum"] {
            std::fs::write(folder.join(STEPS), format!("{written}{more}")).unwrap();
            assert_eq!(verify(&folder).unwrap(), 2, "{more}");
            let mut played = Played::open(&folder).unwrap();
            assert_eq!((played.count, played.until()), (2, Some(90)));
            played.frame().unwrap().unwrap();
            assert!(played.turn());
            assert_eq!(played.frame().unwrap(), Some((Time::from_ps(2345), vec![2; 61])));
        }
        // Wherever it is cut.
        for length in 0..=written.len() {
            std::fs::write(folder.join(STEPS), &written[..length]).unwrap();
            let slices = usize::from(length >= second) + usize::from(length == written.len());
            assert_eq!(verify(&folder).unwrap(), slices, "cut behind {length} of {written}");
            put(&folder, &whole);
        }
        drop(tape);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A byte that is another, or missing, in any of the files.
    #[test]
    fn a_tape_that_was_changed_is_refused() {
        let folder = std::env::temp_dir().join(format!("pinion-bad-tape-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        drop(two_slices(&folder));
        let whole = files(&folder);
        for (name, bytes) in NAMES.iter().zip(&whole) {
            for at in 0..bytes.len() {
                let change = [1, 0x20, 0x80][at % 3];
                let mut changed = bytes.clone();
                changed[at] ^= change;
                std::fs::write(folder.join(name), &changed).unwrap();
                match verify(&folder) {
                    Err(_) => {}
                    // The last slice's end is none any more: it is as if it were cut off.
                    Ok(slices) => assert!(slices < 2, "{name}, byte {at}: {changed:?}"),
                }
                put(&folder, &whole);
            }
        }
        assert_eq!(verify(&folder).unwrap(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn files(folder: &Path) -> [Vec<u8>; 3] {
        NAMES.map(|name| std::fs::read(folder.join(name)).unwrap())
    }

    fn put(folder: &Path, files: &[Vec<u8>; 3]) {
        let files = NAMES.iter().zip(files);
        files.for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).unwrap());
    }

    /// Records two slices, each with a frame; in the second somebody did something.
    fn two_slices(folder: &Path) -> Tape {
        let tape = Tape::create(folder).unwrap();
        tape.frame(Time::from_ps(1234), &[1; 60]);
        tape.ran(90);
        tape.frame(Time::from_ps(2345), &[2; 61]);
        tape.host("{\"kind\":\"gone\"}");
        tape.ran(1000);
        tape
    }
}
