//! What came in during a live run, and when: frames come in as the simulation takes them, and the
//! moments up to which it then ran; out of the two files the same slices come again.
//!
//! `live.pcap` holds the frames. `live.csv` has a row for each, with the picosecond of its arrival, and
//! behind the frames of a slice a row with the moment up to which it ran (picoseconds of a sPIN NIC,
//! cycles of a nanoPU or a cluster). Where slices end changes what a live run gives, for a frame that was
//! not there yet cannot be taken: so they are repeated as they were. Each slice is in both files when it
//! is over, whatever becomes of the process then. Where host programs use the NIC, what they did is in a
//! third file, `host.jsonl`, a line for each, and a row says in front of which slice's end it was. Behind each slice's end
//! a row has the CRC-32 of all rows, frames and lines until then, in the rows' order.

mod verify;

use std::collections::VecDeque;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crc32fast::Hasher;
use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};
use pinion_output::OutputFile;
use pinion_sim::Time;

use crate::error::{Error, Result};

pub use verify::verify;

/// Names the frames' file.
pub const FRAMES: &str = "live.pcap";
/// Names the file of what happened when.
pub const STEPS: &str = "live.csv";

/// Names the file of what host programs did.
pub const HOST: &str = "host.jsonl";
/// Names all files of a tape; not each tape has each.
pub const NAMES: [&str; 3] = [FRAMES, HOST, STEPS];

/// Begins a frame's row.
const FRAME: &str = "frame";
/// Begins the row of a slice's end.
const UNTIL: &str = "until";
/// Begins the row of what a host program did: its line in the file.
const DID: &str = "host";
/// Begins the row that says when programs were ready, in cycles.
const READY: &str = "ready";
/// Begins the row that says the hardware address of the wire's other side.
const PEER: &str = "peer";
/// Begins the row that says what everything before adds up to.
const SUM: &str = "sum";
/// Heads the rows.
const HEAD: [&str; 2] = ["what", "value"];

/// Keeps what comes in during a live run. Copies keep it in the same place.
#[derive(Clone)]
pub struct Tape(Arc<Mutex<Writing>>);

struct Writing {
    frames: Option<CaptureWriter>,
    steps: Option<csv::Writer<BufWriter<OutputFile>>>,
    /// What host programs did, once one did something, and its lines.
    host: Option<(BufWriter<OutputFile>, u64)>,
    /// Frames have come since the last slice was over.
    has_new: bool,
    path: PathBuf,
    /// What everything until now adds up to.
    sum: Hasher,
    error: Option<Error>,
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Tape")
    }
}

impl Tape {
    /// Begins the two files in a folder.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(STEPS);
        let file =
            OutputFile::create(&path).map_err(|error| Error::file("create", &path, error))?;
        let frames = CaptureWriter::create(folder.join(FRAMES), LinkType::Ethernet)?;
        let frames = Some(frames.under_its_name()?);
        let steps = Some(csv::Writer::from_writer(BufWriter::new(file)));
        let (sum, error) = (Hasher::new(), None);
        let mut writing = Writing { frames, steps, host: None, has_new: true, path, sum, error };
        writing.row(HEAD[0], HEAD[1]);
        Ok(Self(Arc::new(Mutex::new(writing))))
    }

    /// Keeps a frame that the simulation takes.
    pub fn frame(&self, arrival: Time, frame: &[u8]) {
        let mut writing = self.writing();
        if let Some(frames) = &mut writing.frames {
            let written = frames.write(arrival.ps(), frame);
            writing.note(written.map_err(Error::from));
        }
        writing.has_new = true;
        writing.row(FRAME, &arrival.ps().to_string());
        writing.sum.update(frame);
    }

    /// Keeps that the simulation ran up to a moment with the frames before.
    pub fn ran(&self, until: u64) {
        let mut writing = self.writing();
        writing.row(UNTIL, &until.to_string());
        let sum = writing.sum.clone().finalize();
        writing.row(SUM, &sum.to_string());
        writing.flush();
    }

    /// Keeps what a host program did: a line of its own, in this order.
    pub fn host(&self, line: &str) {
        let mut writing = self.writing();
        match writing.host_line(line) {
            Ok(number) => {
                writing.row(DID, &number.to_string());
                writing.sum.update(line.as_bytes());
            }
            Err(error) => writing.note(Err(error)),
        }
    }

    /// Keeps the cycle in which programs were ready.
    pub fn ready(&self, cycle: u64) {
        self.writing().row(READY, &cycle.to_string());
    }

    /// Keeps the hardware address of the wire's other side.
    pub fn peer(&self, mac: [u8; 6]) {
        let mac = mac.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        self.writing().row(PEER, &mac.to_string());
    }

    /// Ends the files.
    ///
    /// # Errors
    /// When something could not be written, now or before.
    pub fn finish(&self) -> Result<()> {
        let mut writing = self.writing();
        writing.has_new = true;
        writing.flush();
        (writing.steps, writing.host) = (None, None);
        if let Some(frames) = writing.frames.take() {
            writing.note(frames.finish().map(drop).map_err(Error::from));
        }
        writing.error.take().map_or(Ok(()), Err)
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writing {
    fn row(&mut self, what: &str, value: &str) {
        self.sum.update(row(what, value).as_bytes());
        let Some(steps) = &mut self.steps else { return };
        let written = steps.write_record([what, value]);
        self.note(written.map_err(|error| Error::part("cannot record", error)));
    }

    /// Writes a line of what host programs did; gives its number, from 1.
    fn host_line(&mut self, line: &str) -> Result<u64> {
        let path = self.path.with_file_name(HOST);
        if self.host.is_none() {
            let file =
                OutputFile::create(&path).map_err(|error| Error::file("create", &path, error))?;
            self.host = Some((BufWriter::new(file), 0));
        }
        let Some((file, lines)) = &mut self.host else { return Ok(0) };
        writeln!(file, "{line}").map_err(|error| Error::file("write", &path, error))?;
        *lines += 1;
        Ok(*lines)
    }

    /// Lets the files have all of what came: the steps last, so that none is there without what it was.
    fn flush(&mut self) {
        if let Some(frames) = self.frames.as_mut().filter(|_| std::mem::take(&mut self.has_new)) {
            let flushed = frames.flush();
            self.note(flushed.map_err(Error::from));
        }
        if let Some((host, _)) = &mut self.host {
            let flushed = host.flush().map_err(|error| Error::file("write", &self.path, error));
            self.note(flushed);
        }
        if let Some(steps) = &mut self.steps {
            let flushed = steps.flush().map_err(|error| Error::file("write", &self.path, error));
            self.note(flushed);
        }
    }

    fn note(&mut self, written: Result<()>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }
}

/// Gives a row as it stands in the file.
fn row(what: &str, value: &str) -> String {
    format!("{what},{value}\n")
}

/// Cuts off what a tape has behind its last finished slice; gives the slices' number.
///
/// # Errors
/// When it cannot be read or written.
pub fn trim(folder: &Path) -> Result<usize> {
    let path = folder.join(STEPS);
    let text = std::fs::read(&path).map_err(|error| Error::file("read", &path, error))?;
    trim_steps(&path, text).map(|(_, slices)| slices)
}

/// Cuts off what steps have behind the last slice that is over, in their file, too; gives the rest and the slices' number.
fn trim_steps(path: &Path, mut text: Vec<u8>) -> Result<(Vec<u8>, usize)> {
    let (mut length, mut whole, mut slices) = (0, 0, 0);
    // A line that was cut off may look like a shorter number.
    for line in text.split_inclusive(|byte| *byte == b'\n').take_while(|line| line.ends_with(b"\n"))
    {
        length += line.len();
        if line.strip_prefix(SUM.as_bytes()).is_some_and(|rest| rest.starts_with(b",")) {
            (whole, slices) = (length, slices + 1);
        }
    }
    text.truncate(whole);
    std::fs::write(path, &text).map_err(|error| Error::file("write", path, error))?;
    Ok((text, slices))
}

/// A slice of a live run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Slice {
    /// When its frames arrive.
    arrivals: VecDeque<Time>,
    /// What host programs did before its end.
    host: Vec<String>,
    /// The moment up to which it runs; `None`: nothing runs any more.
    until: Option<u64>,
}

/// What came in during a live run, to come in again.
pub struct Played {
    frames: CaptureReader,
    slices: VecDeque<Slice>,
    /// The cycle in which programs were ready.
    pub ready: u64,
    /// The hardware address of the wire's other side.
    pub peer: [u8; 6],
    /// Number of the frames.
    pub count: u64,
}

impl Played {
    /// Opens the two files of a folder.
    ///
    /// # Errors
    /// When they cannot be read, or one of them is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let frames = CaptureReader::open(folder.join(FRAMES))?;
        let damaged = |line: usize, why: &str| {
            Error::Usage(format!("the recording is damaged: {STEPS}, line {line}: {why}"))
        };
        let path = folder.join(STEPS);
        let rows = csv::Reader::from_path(&path);
        let mut rows = rows.map_err(|error| Error::part(format!("cannot read {STEPS}"), error))?;
        let host = match std::fs::read_to_string(folder.join(HOST)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| Error::part(format!("cannot read {HOST}"), error))?,
        };
        let mut host = host.lines();
        let mut played = Self { frames, slices: VecDeque::new(), ready: 0, peer: [0; 6], count: 0 };
        let (mut slice, mut last) = (Slice::default(), (Time::ZERO, 0));
        for (row, line) in rows.records().zip(2..) {
            let row = row.map_err(|error| damaged(line, &error.to_string()))?;
            let value = row.get(1).and_then(|text| text.parse::<u64>().ok());
            let value = value.ok_or_else(|| damaged(line, "no number"))?;
            match row.get(0).unwrap_or_default() {
                FRAME if Time::from_ps(value) >= last.0 => {
                    last.0 = Time::from_ps(value);
                    slice.arrivals.push_back(last.0);
                    played.count += 1;
                }
                UNTIL if value >= last.1 => {
                    (slice.until, last.1) = (Some(value), value);
                    played.slices.push_back(std::mem::take(&mut slice));
                }
                // Whoever opens a recording has compared it.
                SUM => {}
                FRAME | UNTIL => return Err(damaged(line, "time goes back")),
                DID => {
                    let missing = || damaged(line, &format!("{HOST} has no line {value}"));
                    slice.host.push(host.next().ok_or_else(missing)?.to_owned());
                }
                READY => played.ready = value,
                PEER => played.peer.copy_from_slice(&value.to_be_bytes()[2..]),
                other => return Err(damaged(line, &format!("`{other}` is not known"))),
            }
        }
        if !slice.host.is_empty() {
            played.slices.push_back(slice);
        }
        Ok(played)
    }

    /// Takes what host programs did before the present slice's end.
    pub fn host(&mut self) -> Vec<String> {
        self.slices.front_mut().map(|slice| std::mem::take(&mut slice.host)).unwrap_or_default()
    }

    /// Gives the moment up to which the present slice runs; `None`: there is none any more.
    pub fn until(&self) -> Option<u64> {
        self.slices.front()?.until
    }

    /// Gives the present slice's next frame, and when it arrives.
    ///
    /// # Errors
    /// When the frames' file is damaged, or ends too soon.
    pub fn frame(&mut self) -> Result<Option<(Time, Vec<u8>)>> {
        let Some(slice) = self.slices.front_mut() else { return Ok(None) };
        let Some(arrival) = slice.arrivals.pop_front() else { return Ok(None) };
        let frame = self.frames.next_frame()?.ok_or_else(|| {
            Error::Usage(format!("the recording is damaged: {FRAMES} ends before {STEPS}"))
        })?;
        Ok(Some((arrival, frame.bytes)))
    }

    /// Goes on to the next slice; `false`: there is none.
    pub fn turn(&mut self) -> bool {
        self.slices.pop_front();
        !self.slices.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_come_again_as_they_were() {
        let folder = std::env::temp_dir().join(format!("pinion-tape-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tape = Tape::create(&folder).unwrap();
        tape.peer([2, 0, 0, 0, 0, 9]);
        tape.ran(40);
        tape.ready(40);
        tape.frame(Time::from_ps(1234), &[1; 60]);
        tape.frame(Time::from_ps(1234), &[2; 61]);
        tape.ran(90);
        tape.finish().unwrap();
        let mut played = Played::open(&folder).unwrap();
        assert_eq!((played.ready, played.peer, played.count), (40, [2, 0, 0, 0, 0, 9], 2));
        assert_eq!((played.until(), played.frame().unwrap()), (Some(40), None));
        assert!(played.turn());
        assert_eq!(played.frame().unwrap(), Some((Time::from_ps(1234), vec![1; 60])));
        assert_eq!(played.frame().unwrap(), Some((Time::from_ps(1234), vec![2; 61])));
        assert_eq!((played.frame().unwrap(), played.until()), (None, Some(90)));
        assert!(!played.turn());
        for (from, to, part) in [
            ("until,90", "until,9", "line 8: time goes back"),
            ("until,90", "until,x", "line 8: no number"),
            ("until,90", "untill,90", "`untill` is not known"),
        ] {
            let text = std::fs::read_to_string(folder.join(STEPS)).unwrap();
            std::fs::write(folder.join(STEPS), text.replace(from, to)).unwrap();
            let error = Played::open(&folder).err().unwrap().to_string();
            assert!(error.contains(part), "{error}");
            std::fs::write(folder.join(STEPS), text).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
