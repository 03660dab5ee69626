//! Reads a capture packet by packet. In: a pcap or pcapng file. Out: [`TimedFrame`]s in file
//! order. Holds one record at a time.
//!
//! Formats: draft-ietf-opsawg-pcap (classic, both byte orders, micro- and nanoseconds, and the
//! "modified" variant) and draft-ietf-opsawg-pcapng.

use super::pcapng::Section;
use super::record::{PS_PER_S, Record};
use super::source::Source;
use super::{CaptureError, LinkType, TimedFrame};
use pcap_parser::pcap::{PcapHeader, parse_pcap_header};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest record taken for real; the formats' usual maximum is 256 KiB.
const MAX_RECORD_BYTES: usize = 16 << 20;
/// Bytes of a classic file header.
const PCAP_HEADER_BYTES: usize = 24;
/// Bytes of a classic record header.
const RECORD_HEADER_BYTES: usize = 16;

/// Says what to do with packets of which the recorder kept only the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CutPackets {
    /// Reports [`CaptureError::CutPacket`]; reading can go on after it.
    #[default]
    Refuse,
    /// Delivers what is there; [`TimedFrame::is_cut`] tells.
    Keep,
}

enum Format {
    Classic { header: PcapHeader, record_header_bytes: usize },
    Ng(Section),
}

/// Reads a capture; an iterator over its packets that ends at the first fatal error.
pub struct CaptureReader {
    path: PathBuf,
    source: Source,
    format: Format,
    cut: CutPackets,
    link: Option<LinkType>,
    first_time_ps: Option<i128>,
    /// The first record of a pcapng file, read ahead because its interface tells the link type.
    pending: Option<Record>,
    packets_read: u64,
    done: bool,
}

impl CaptureReader {
    /// Opens a capture file and reads its header.
    ///
    /// # Errors
    /// [`CaptureError::Open`], [`CaptureError::Foreign`], [`CaptureError::TruncatedHeader`] or
    /// [`CaptureError::UnsupportedLinkType`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let open = |source| CaptureError::Open { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(open)?;
        Self::from_reader(Box::new(file), path)
    }

    /// Reads a capture from any source of bytes; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn from_reader(
        reader: Box<dyn Read + Send>,
        name: impl AsRef<Path>,
    ) -> Result<Self, CaptureError> {
        let path = name.as_ref().to_path_buf();
        let mut source = Source::new(reader);
        let start = source
            .fill(PCAP_HEADER_BYTES)
            .map_err(|source| CaptureError::Open { path: path.clone(), source })?;
        let format = recognise(start, &path)?;
        let mut link = None;
        if let Format::Classic { header, .. } = &format {
            // The upper half tells about an FCS (draft-ietf-opsawg-pcap, §4).
            let number = header.network.0 as u32 & 0xffff;
            link = Some(supported(number, &path)?);
            source.consume(PCAP_HEADER_BYTES);
        }
        let mut reader = Self {
            path,
            source,
            format,
            cut: CutPackets::default(),
            link,
            first_time_ps: None,
            pending: None,
            packets_read: 0,
            done: false,
        };
        if link.is_none() {
            reader.pending = reader.next_ng()?;
            reader.link = reader.pending.as_ref().map(|record| record.link);
        }
        Ok(reader)
    }

    /// Sets what happens to packets that were cut when recorded.
    pub fn cut_packets(mut self, policy: CutPackets) -> Self {
        self.cut = policy;
        self
    }

    /// Returns what the packets begin with; Ethernet for a pcapng file without packets.
    pub fn link_type(&self) -> LinkType {
        self.link.unwrap_or_default()
    }

    /// Returns the number of whole packets delivered so far.
    pub fn packets_read(&self) -> u64 {
        self.packets_read
    }

    /// Returns the absolute time of the first packet in nanoseconds since 1970, once it was read.
    pub fn first_time_unix_ns(&self) -> Option<i128> {
        self.first_time_ps.map(|ps| ps.div_euclid(1000))
    }

    /// Reads the next packet, or `None` at a clean end.
    ///
    /// A packet that is older than the first one gets time 0.
    ///
    /// # Errors
    /// Says how many whole packets came before. After [`CaptureError::CutPacket`] and
    /// [`CaptureError::MixedLinkTypes`] the next call goes on with the next packet; after any
    /// other error the reader is at its end.
    pub fn next_frame(&mut self) -> Result<Option<TimedFrame>, CaptureError> {
        if self.done {
            return Ok(None);
        }
        match self.next_record() {
            Ok(Some(record)) => self.deliver(record).map(Some),
            other => {
                self.done = true;
                other.map(|_| None)
            }
        }
    }

    fn next_record(&mut self) -> Result<Option<Record>, CaptureError> {
        if let Some(record) = self.pending.take() {
            return Ok(Some(record));
        }
        match self.format {
            Format::Classic { .. } => self.next_classic(),
            Format::Ng(_) => self.next_ng(),
        }
    }

    fn deliver(&mut self, record: Record) -> Result<TimedFrame, CaptureError> {
        self.packets_read += 1;
        let first_link = *self.link.get_or_insert(record.link);
        if first_link != record.link {
            return Err(CaptureError::MixedLinkTypes {
                path: self.path.clone(),
                first: first_link,
                second: record.link,
                number: self.packets_read,
            });
        }
        let first = *self.first_time_ps.get_or_insert(record.time_ps);
        let time_ps = (record.time_ps - first).clamp(0, i128::from(u64::MAX)) as u64;
        // Some recorders leave the original length 0; the captured one is then all that is known.
        let original_bytes = record.original_bytes.max(record.bytes.len() as u32);
        let frame = TimedFrame { time_ps, bytes: record.bytes, original_bytes };
        if frame.is_cut() && self.cut == CutPackets::Refuse {
            return Err(CaptureError::CutPacket {
                path: self.path.clone(),
                number: self.packets_read,
                captured_bytes: frame.bytes.len() as u32,
                original_bytes,
            });
        }
        Ok(frame)
    }

    fn next_classic(&mut self) -> Result<Option<Record>, CaptureError> {
        let Format::Classic { header, record_header_bytes } = &self.format else {
            return Ok(None);
        };
        let (big, nano) = (header.is_bigendian(), header.is_nanosecond_precision());
        let header_bytes = *record_header_bytes;
        let Some(window) = self.window(header_bytes)? else { return Ok(None) };
        let word = |at: usize| {
            let raw = [window[at], window[at + 1], window[at + 2], window[at + 3]];
            if big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
        };
        let (seconds, fraction) = (word(0), word(4));
        let (captured, original_bytes) = (word(8) as usize, word(12));
        if captured > MAX_RECORD_BYTES {
            return Err(self.corrupt(format!("its next packet claims {captured} bytes")));
        }
        let record_bytes = header_bytes + captured;
        let Some(window) = self.window(record_bytes)? else { return Ok(None) };
        let bytes = window[header_bytes..record_bytes].to_vec();
        self.source.consume(record_bytes);
        let unit_ps = if nano { 1_000 } else { 1_000_000 };
        let time_ps = i128::from(seconds) * PS_PER_S + i128::from(fraction) * unit_ps;
        let link = self.link_type();
        Ok(Some(Record { time_ps, link, original_bytes, bytes }))
    }

    /// Reads pcapng blocks up to and with the next packet.
    fn next_ng(&mut self) -> Result<Option<Record>, CaptureError> {
        loop {
            let Some(window) = self.window(12)? else { return Ok(None) };
            let mut head = [0; 12];
            head.copy_from_slice(&window[..12]);
            let Format::Ng(section) = &mut self.format else { return Ok(None) };
            let block_bytes = match section.block_bytes(&head) {
                Ok(bytes) if bytes <= MAX_RECORD_BYTES => bytes,
                Ok(bytes) => {
                    return Err(self.corrupt(format!("its next block claims {bytes} bytes")));
                }
                Err(detail) => return Err(self.corrupt(detail)),
            };
            if self.window(block_bytes)?.is_none() {
                return Ok(None);
            }
            let Format::Ng(section) = &mut self.format else { return Ok(None) };
            let io = |source| CaptureError::Read {
                path: self.path.clone(),
                packets_read: self.packets_read,
                source,
            };
            let window = self.source.fill(block_bytes).map_err(io)?;
            let result = section.read_block(&window[..block_bytes]);
            self.source.consume(block_bytes);
            match result {
                Ok(None) => {}
                Ok(Some(packet)) => {
                    let link = supported(packet.link_number, &self.path)?;
                    return Ok(Some(packet.into_record(link)));
                }
                Err(detail) => return Err(self.corrupt(detail)),
            }
        }
    }

    /// Returns a window of at least `bytes` bytes; `None` at a clean end of the file.
    fn window(&mut self, bytes: usize) -> Result<Option<&[u8]>, CaptureError> {
        let (path, packets_read) = (&self.path, self.packets_read);
        let window = self.source.fill(bytes).map_err(|source| CaptureError::Read {
            path: path.clone(),
            packets_read,
            source,
        })?;
        match window.len() {
            0 => Ok(None),
            have if have < bytes => Err(CaptureError::TruncatedRecord {
                path: path.clone(),
                packets_read,
                have_bytes: have as u64,
                need_bytes: bytes as u64,
            }),
            _ => Ok(Some(window)),
        }
    }

    fn corrupt(&self, detail: String) -> CaptureError {
        let (path, packets_read) = (self.path.clone(), self.packets_read);
        CaptureError::Corrupt { path, packets_read, detail }
    }
}

impl Iterator for CaptureReader {
    type Item = Result<TimedFrame, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_frame().transpose()
    }
}

fn supported(number: u32, path: &Path) -> Result<LinkType, CaptureError> {
    LinkType::from_number(number).ok_or_else(|| CaptureError::UnsupportedLinkType {
        path: path.to_path_buf(),
        number,
        name: LinkType::describe(number),
    })
}

fn recognise(start: &[u8], path: &Path) -> Result<Format, CaptureError> {
    let path = path.to_path_buf();
    let short = |need: usize| CaptureError::TruncatedHeader {
        path: path.clone(),
        have_bytes: start.len() as u64,
        need_bytes: need as u64,
    };
    if start.len() < 4 {
        return Err(short(PCAP_HEADER_BYTES));
    }
    if start[..4] == [0x0a, 0x0d, 0x0d, 0x0a] {
        return if start.len() < 12 { Err(short(28)) } else { Ok(Format::Ng(Section::default())) };
    }
    match parse_pcap_header(start) {
        Ok((_, header)) => {
            // The "modified" variant appends 8 bytes to each record header.
            let extra = if header.is_modified_format() { 8 } else { 0 };
            Ok(Format::Classic { header, record_header_bytes: RECORD_HEADER_BYTES + extra })
        }
        Err(pcap_parser::nom::Err::Incomplete(_)) => Err(short(PCAP_HEADER_BYTES)),
        Err(_) => {
            let found: Vec<String> = start[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            Err(CaptureError::Foreign { path, found: found.join(" "), hint: hint(start) })
        }
    }
}

fn hint(start: &[u8]) -> &'static str {
    match start {
        [0x1f, 0x8b, ..] => "; it is gzip-compressed: run `gunzip` on it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "; it is zstd-compressed: run `unzstd` on it first",
        [0xfd, b'7', b'z', b'X', ..] => "; it is xz-compressed: run `unxz` on it first",
        [b'P', b'K', ..] => "; it is a ZIP archive: unpack it first",
        [0x7f, b'E', b'L', b'F', ..] => "; it is an ELF program, not a capture",
        [b's', b'n', b'o', b'o', ..] => {
            "; it is a snoop capture: convert it with `editcap -F pcap`"
        }
        _ => "",
    }
}
