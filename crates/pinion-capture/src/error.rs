//! What can be wrong with a capture.

use super::LinkType;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Says what is wrong with a capture, where, and what to do.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("cannot open the capture {path}: {source}", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Reading failed below the format.
    #[error(
        "cannot read on in {path} after {packets_read} whole packets: {source}",
        path = path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Packets delivered before.
        packets_read: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{path} is not a pcap or pcapng capture: it begins with {found}{hint}",
        path = path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first bytes, in hexadecimal.
        found: String,
        /// What it seems to be and what to do, or empty.
        hint: &'static str,
    },
    /// The file ends within its first header.
    #[error(
        "{path} ends within the capture's header ({have_bytes} of {need_bytes} bytes): \
         the recording stopped before the first packet; record it again",
        path = path.display()
    )]
    TruncatedHeader {
        /// The file.
        path: PathBuf,
        /// Bytes there.
        have_bytes: u64,
        /// Bytes a header has.
        need_bytes: u64,
    },
    /// The file ends within a packet.
    #[error(
        "{path} ends within packet {number} ({have_bytes} of {need_bytes} bytes of its record): \
         the {packets_read} whole packets before it were read",
        path = path.display(), number = packets_read + 1
    )]
    TruncatedRecord {
        /// The file.
        path: PathBuf,
        /// Whole packets delivered before.
        packets_read: u64,
        /// Bytes of the record that are there.
        have_bytes: u64,
        /// Bytes the record says it has.
        need_bytes: u64,
    },
    /// The file contradicts its format.
    #[error(
        "{path} is damaged after {packets_read} whole packets: {detail}",
        path = path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Whole packets delivered before.
        packets_read: u64,
        /// What does not fit.
        detail: String,
    },
    /// The packets begin with a header that the machines do not take.
    #[error(
        "{path} holds packets of link type {number} ({name}); Ethernet (1) and raw IP (101) can \
         be read: record on a single Ethernet interface",
        path = path.display()
    )]
    UnsupportedLinkType {
        /// The file.
        path: PathBuf,
        /// The link type's number.
        number: u32,
        /// Its name.
        name: &'static str,
    },
    /// The interfaces of a pcapng file differ in link type.
    #[error(
        "{path} mixes packets of {first} and {second} (packet {number}); split it by interface",
        path = path.display()
    )]
    MixedLinkTypes {
        /// The file.
        path: PathBuf,
        /// Link type of the packets before.
        first: LinkType,
        /// Link type of this packet.
        second: LinkType,
        /// The packet's number, from 1.
        number: u64,
    },
    /// The recorder kept only the beginning of a packet.
    #[error(
        "packet {number} of {path} was cut when it was recorded ({captured_bytes} of \
         {original_bytes} bytes kept): record again with `tcpdump -s 0`",
        path = path.display()
    )]
    CutPacket {
        /// The file.
        path: PathBuf,
        /// The packet's number, from 1.
        number: u64,
        /// Bytes kept.
        captured_bytes: u32,
        /// Bytes the packet had.
        original_bytes: u32,
    },
    /// The output cannot be written.
    #[error("cannot write the capture {path}: {source}", path = path.display())]
    Write {
        /// The final name of the output.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A packet cannot be expressed in the output format.
    #[error("packet {number} cannot be written to {path}: {detail}", path = path.display())]
    Unwritable {
        /// The final name of the output.
        path: PathBuf,
        /// The packet's number, from 1.
        number: u64,
        /// Why.
        detail: String,
    },
}

impl From<pinion_output::OutputError> for CaptureError {
    fn from(error: pinion_output::OutputError) -> Self {
        Self::Write { path: error.path, source: error.source }
    }
}
