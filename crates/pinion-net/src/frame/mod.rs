//! Frames: build them, take them apart, check their sums. In and out: bytes as a capture holds
//! them (no preamble, no FCS). Holds nothing.
//!
//! Headers are those of Ethernet II, IPv4 (RFC 791), UDP (RFC 768), ICMP echo (RFC 792), ARP
//! (RFC 826), SLMP, FPsPIN's message protocol, and the nanoPU's ([`lnic`]); etherparse knows the
//! first five.

mod build;
mod checksum;
pub mod lnic;
mod parse;
mod slmp;
mod udp;

pub use build::{
    Endpoints, build_arp_reply, build_arp_request, build_icmp_echo_reply, build_icmp_echo_request,
    build_raw_frame,
};
pub use checksum::{Checksums, internet_checksum, verify_checksums};
pub use parse::{ArpMessage, Content, Ethernet, Ipv4, Parsed, parse, parse_ip};
pub use slmp::{SLMP_PORT, SlmpHeader, build_slmp_frame};
pub use udp::{UdpFrames, build_udp_frame};

use thiserror::Error;

/// Bytes of an Ethernet header.
pub const ETHERNET_HEADER_BYTES: usize = 14;
/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER_BYTES: usize = 20;
/// Bytes of a UDP header.
pub const UDP_HEADER_BYTES: usize = 8;
/// Bytes of an ICMP echo header.
pub const ICMP_ECHO_HEADER_BYTES: usize = 8;
/// The EtherType for local experiments (IEEE 802), which frames of kind `raw` carry.
pub const ETHERTYPE_EXPERIMENTAL: u16 = 0x88b5;

/// Says why bytes are no frame, or why a frame cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The bytes contradict the headers in them.
    #[error("not a well-formed frame: {detail}")]
    Malformed {
        /// What does not fit.
        detail: String,
    },
    /// The payload does not fit the protocol's length field.
    #[error(
        "a payload of {payload_bytes} bytes is too long for a frame: the headers' length fields \
         end at 65,535 bytes"
    )]
    TooLong {
        /// Bytes asked for.
        payload_bytes: usize,
    },
}
