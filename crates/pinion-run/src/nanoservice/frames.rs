//! The frames of a run: those that pass the node's pins come in; a capture of what left, a line per
//! frame as CSV and the times from request to answer go out. It holds the frames of a window, to
//! write them in order of time, and the requests that have no answer yet.
//!
//! A time goes from the first flit of a message's first packet to that of the answer's. An answer
//! belongs to the oldest request from its peer and port to its context, or, with a load, to the one
//! that carries the same time of sending.

use std::collections::{HashMap, HashSet};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use pinion_nanopu::Cycle;
use pinion_net::capture::{CaptureWriter, LinkType};
use pinion_net::frame::lnic::{Flags, Header};
use pinion_net::load::flits;
use pinion_sim::Clock;

use super::run::PEER_IP;
use super::waiting::{Key, Waiting};
use super::wire::{Direction, Wire};
use pinion_app::error::{Error, Result};
use pinion_observe::report::Histogram;
use pinion_output::{OutputFile, Partial};

const HEAD: [&str; 17] = [
    "frame",
    "direction",
    "first_flit_cycle",
    "last_flit_cycle",
    "first_flit_ns",
    "bytes",
    "flags",
    "src_ip",
    "src_context",
    "dst_ip",
    "dst_context",
    "msg_len",
    "pkt_offset",
    "pull_offset",
    "tx_msg_id",
    "wire_to_wire_ns",
    "malformed",
];

/// Bounds the peers that are known.
const MOST_PEERS: usize = 1 << 16;

/// Chooses what is written about frames.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// Name of the capture of frames that left.
    pub pcap_out: Option<PathBuf>,
    /// Name of the CSV file with a line per frame.
    pub packets: Option<PathBuf>,
}

/// Tells how answers find their requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// The oldest request of that peer, port and context.
    Oldest,
    /// The one that carries this word of payload.
    Word(usize),
}

/// Counts frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Number of frames that arrived.
    pub frames_in: u64,
    /// Number of their bytes.
    pub bytes_in: u64,
    /// Number of frames that left.
    pub frames_out: u64,
    /// Number of their bytes.
    pub bytes_out: u64,
    /// Number of bytes of messages in the data packets that left.
    pub payload_out: u64,
    /// When the first frame arrived.
    pub first_in: Option<Cycle>,
    /// When the last frame had arrived or left.
    pub last: Cycle,
    /// Number of messages that left for addresses from which nothing came.
    pub strays: u64,
    /// The address of the last of them.
    pub stray_ip: u32,
}

/// Hears of every frame.
pub struct Frames {
    wire: Wire,
    matching: Matching,
    clock: Clock,
    waiting: Waiting,
    /// The addresses from which messages came, and the last one of them.
    peers: HashSet<u32>,
    last_peer: u32,
    /// The last generation of each id and context that went to another address.
    strays: HashMap<(u16, u16), u16>,
    among_others: bool,
    rows: Vec<(Cycle, bool, Row)>,
    csv: Option<(csv::Writer<BufWriter<OutputFile>>, Partial, PathBuf)>,
    pcap: Option<CaptureWriter>,
    written: u64,
    error: Option<Error>,
    /// Number of frames.
    pub counts: Counts,
    /// The distribution of times from request to answer.
    pub latency: Histogram,
}

/// A line of the table.
struct Row {
    last: Cycle,
    bytes: usize,
    header: std::result::Result<Header, &'static str>,
    latency: Option<Cycle>,
}

impl Frames {
    /// Opens the outputs.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn new(outputs: &Outputs, wire: Wire, matching: Matching, clock: Clock) -> Result<Self> {
        let pcap = outputs.pcap_out.as_ref();
        let pcap = pcap.map(|path| CaptureWriter::create(path, LinkType::Ethernet)).transpose()?;
        let csv = outputs.packets.as_deref().map(open).transpose()?;
        Ok(Self { csv, pcap, ..Self::silent(wire, matching, clock) })
    }

    /// Writes nothing.
    pub fn silent(wire: Wire, matching: Matching, clock: Clock) -> Self {
        Self {
            wire,
            matching,
            clock,
            waiting: Waiting::default(),
            peers: HashSet::from([PEER_IP]),
            last_peer: PEER_IP,
            strays: HashMap::new(),
            among_others: false,
            rows: Vec::new(),
            csv: None,
            pcap: None,
            written: 0,
            error: None,
            counts: Counts::default(),
            latency: Histogram::default(),
        }
    }

    /// Takes no address for a stray: this node writes to others before it hears of them.
    #[must_use]
    pub fn among_others(self) -> Self {
        Self { among_others: true, ..self }
    }

    /// Hears of a frame that arrives.
    pub fn arrived(&mut self, first: Cycle, frame: &[u8]) {
        let last = first + flits(frame.len()) - 1;
        let counts = &mut self.counts;
        counts.frames_in += 1;
        counts.bytes_in += frame.len() as u64;
        counts.first_in.get_or_insert(first);
        counts.last = counts.last.max(last);
        let parsed = self.wire.parse(Direction::In, frame);
        // What acknowledges a message comes from anywhere.
        if let Ok((header, _)) = &parsed
            && header.flags.has(Flags::DATA)
            && !self.among_others
            && header.src_ip != self.last_peer
            && self.peers.len() < MOST_PEERS
        {
            self.peers.insert(header.src_ip);
            self.last_peer = header.src_ip;
        }
        if let Ok((header, payload)) = &parsed
            && header.flags == Flags::DATA
            && header.pkt_offset == 0
        {
            let key = (header.src_ip, header.src_context, header.dst_context);
            // Where messages have ids, the same one again is the same message.
            let (id, have_ids) = (header.tx_msg_id, self.wire.acknowledges());
            let is_again = |last: &(u16, Cycle)| have_ids && last.0 == id;
            self.waiting.put(self.key(key, payload), (id, first), is_again);
        }
        if self.csv.is_some() {
            self.note(first, Direction::In, (last, None), frame);
        }
    }

    /// Hears of a frame that leaves.
    pub fn left(&mut self, first: Cycle, last: Cycle, frame: &[u8]) {
        let counts = &mut self.counts;
        counts.frames_out += 1;
        counts.bytes_out += frame.len() as u64;
        counts.last = counts.last.max(last);
        let mut latency = None;
        let parsed = self.wire.parse(Direction::Out, frame);
        if let Ok((header, payload)) = &parsed
            && header.flags.has(Flags::DATA)
        {
            self.counts.payload_out += payload.len() as u64;
            if header.pkt_offset == 0 {
                let is_known = header.dst_ip == self.last_peer || self.among_others;
                if !is_known && !self.peers.contains(&header.dst_ip) {
                    // A packet that is sent again has its message's generation, where there is one.
                    let (id, generation) = (header.tx_msg_id, header.pull_offset);
                    let last = self.strays.insert((id, header.src_context), generation);
                    self.counts.strays += u64::from(generation == 0 || last != Some(generation));
                    self.counts.stray_ip = header.dst_ip;
                }
                let key = (header.dst_ip, header.dst_context, header.src_context);
                let request = self.waiting.take(self.key(key, payload));
                latency = request.map(|(_, arrived)| first.saturating_sub(arrived));
            }
        }
        if let Some(cycles) = latency {
            self.latency.record(self.clock.time(cycles));
        }
        if let Some(writer) = &mut self.pcap {
            let written = writer.write(self.clock.time(first).ps(), frame);
            note_error(&mut self.error, written.map_err(Error::from));
        }
        if self.csv.is_some() {
            self.note(first, Direction::Out, (last, latency), frame);
        }
    }

    fn key(&self, (ip, port, context): (u32, u16, u16), payload: &[u8]) -> Key {
        match self.matching {
            Matching::Oldest => (ip, port, context, 0),
            Matching::Word(word) => {
                let bytes = payload.get(8 * word..8 * word + 8).and_then(|b| b.try_into().ok());
                (0, 0, 0, bytes.map_or(0, u64::from_be_bytes))
            }
        }
    }

    /// Keeps a frame for its line.
    fn note(
        &mut self,
        first: Cycle,
        direction: Direction,
        (last, latency): (Cycle, Option<Cycle>),
        frame: &[u8],
    ) {
        let header = self.wire.parse(direction, frame).map(|(header, _)| header);
        let row = Row { last, bytes: frame.len(), header, latency };
        self.rows.push((first, direction == Direction::In, row));
    }

    /// Writes the frames before `cycle`; none earlier will come.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn settle(&mut self, cycle: Cycle) -> Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Some((writer, _, path)) = &mut self.csv else { return Ok(()) };
        self.rows.sort_by_key(|(first, ..)| *first);
        let settled = self.rows.partition_point(|(first, ..)| *first < cycle);
        for (first, is_in, row) in self.rows.drain(..settled) {
            let cells = cells(self.written, first, is_in, &row, self.clock);
            self.written += 1;
            let failed = |error| Error::file("write", path, std::io::Error::other(error));
            writer.write_record(cells).map_err(failed)?;
        }
        Ok(())
    }

    /// Gives what was counted so far.
    pub fn so_far(&self) -> (Counts, &Histogram) {
        (self.counts, &self.latency)
    }

    /// Completes the outputs.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&mut self) -> Result<(Counts, Histogram)> {
        self.settle(Cycle::MAX)?;
        if let Some(pcap) = self.pcap.take() {
            pcap.finish()?;
        }
        if let Some((mut writer, partial, path)) = self.csv.take() {
            writer.flush().map_err(|error| Error::file("write", &path, error))?;
            partial.keep()?;
        }
        Ok((self.counts, std::mem::take(&mut self.latency)))
    }
}

fn note_error(kept: &mut Option<Error>, result: Result<()>) {
    if let Err(error) = result {
        kept.get_or_insert(error);
    }
}

fn open(path: &Path) -> Result<(csv::Writer<BufWriter<OutputFile>>, Partial, PathBuf)> {
    let (file, partial) = Partial::create(path)?;
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    let failed = |error| Error::file("write", path, std::io::Error::other(error));
    writer.write_record(HEAD).map_err(failed)?;
    Ok((writer, partial, path.to_owned()))
}

fn cells(number: u64, first: Cycle, is_in: bool, row: &Row, clock: Clock) -> Vec<String> {
    let ns = |cycles: Cycle| format!("{}", clock.time(cycles).ns());
    let mut cells = vec![
        number.to_string(),
        if is_in { "in" } else { "out" }.to_owned(),
        first.to_string(),
        row.last.to_string(),
        ns(first),
        row.bytes.to_string(),
    ];
    let latency = row.latency.map_or_else(String::new, ns);
    match &row.header {
        Err(reason) => {
            cells.resize(HEAD.len() - 2, String::new());
            cells.extend([latency, (*reason).to_owned()]);
        }
        Ok(header) => cells.extend([
            header.flags.to_string(),
            std::net::Ipv4Addr::from(header.src_ip).to_string(),
            header.src_context.to_string(),
            std::net::Ipv4Addr::from(header.dst_ip).to_string(),
            header.dst_context.to_string(),
            header.msg_len.to_string(),
            header.pkt_offset.to_string(),
            header.pull_offset.to_string(),
            header.tx_msg_id.to_string(),
            latency,
            String::new(),
        ]),
    }
    cells
}
