//! A generator specification with every choice made. In: text or fields. Out: the same, checked.

use super::GeneratorError;
use crate::capture::LinkType;
use crate::frame::{
    ETHERNET_HEADER_BYTES, Endpoints, ICMP_ECHO_HEADER_BYTES, IPV4_HEADER_BYTES, SlmpHeader,
    UDP_HEADER_BYTES,
};
use crate::pacing::{Rate, WireBits};
use rand_core::Rng;
use std::fmt;
use std::net::Ipv4Addr;

/// Says what the frames carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// UDP datagrams.
    #[default]
    Udp,
    /// ICMP echo requests.
    Icmp,
    /// Frames of the local-experiment EtherType.
    Raw,
    /// SLMP packets, FPsPIN's message protocol over UDP.
    Slmp,
}

/// Says how messages take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// One after the other.
    #[default]
    Sequential,
    /// So many at a time, a packet of each in turn; `u32::MAX` for all.
    Interleaved(u32),
}

/// Says which SLMP packets ask for an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syn {
    /// None: nothing is acknowledged.
    None,
    /// The first and the last of a message.
    #[default]
    Ends,
    /// Every one.
    All,
}

/// Says what fills the frames.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Payload {
    /// Seeded random bytes.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// 0, 1, 2 … 255, 0 … in every frame.
    Ramp,
    /// Random 32-bit little-endian integers below a bound.
    Integers {
        /// The bound; never 0.
        below: u32,
    },
    /// A request to a key-value store in each frame.
    Ycsb(Ycsb),
}

/// Describes requests as the YCSB benchmark makes them: which keys, and how many of them read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ycsb {
    /// Number of keys.
    pub records: u32,
    /// Exponent of the Zipf distribution of their popularity: 0 is uniform.
    pub theta: f64,
    /// Share of requests that read; the others update.
    pub reads: f64,
}

impl Default for Ycsb {
    /// YCSB's 1,000 records and its workload A (half reads), with the exponent of the PsPIN paper
    /// (§IV-C).
    fn default() -> Self {
        Self { records: 1000, theta: 1.1, reads: 0.5 }
    }
}

/// Holds frame sizes and how often each comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeMix {
    entries: Vec<(usize, u32)>,
    total: u64,
}

impl SizeMix {
    /// Makes frames of one size.
    pub fn fixed(bytes: usize) -> Self {
        Self { entries: vec![(bytes, 1)], total: 1 }
    }

    /// Makes a mix of (bytes, weight); `None` if all weights are 0.
    pub fn weighted(entries: Vec<(usize, u32)>) -> Option<Self> {
        let total = entries.iter().map(|&(_, weight)| u64::from(weight)).sum();
        (total > 0).then_some(Self { entries, total })
    }

    /// Returns the sizes and weights.
    pub fn entries(&self) -> &[(usize, u32)] {
        &self.entries
    }

    pub(super) fn draw(&self, random: &mut impl Rng) -> usize {
        let [(only, _)] = self.entries[..] else {
            let pick = (u128::from(random.next_u64()) * u128::from(self.total)) >> 64;
            let mut left = pick as u64;
            for &(bytes, weight) in &self.entries {
                if left < u64::from(weight) {
                    return bytes;
                }
                left -= u64::from(weight);
            }
            return self.entries[0].0; // not reached: `pick` is below the sum of the weights
        };
        only
    }
}

/// Describes synthetic traffic; made from text with `parse` (see the module).
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorSpec {
    /// What the frames carry.
    pub kind: Kind,
    /// Frame sizes, without FCS.
    pub sizes: SizeMix,
    /// Number of messages.
    pub messages: u32,
    /// Frames of each message.
    pub packets: u64,
    /// Bytes behind the headers in all frames of a message, which then decide how many frames it
    /// has and how long the last one is.
    pub message_bytes: Option<u64>,
    /// How messages take turns.
    pub order: Order,
    /// Data rate.
    pub rate: Rate,
    /// Bits the rate counts.
    pub wire: WireBits,
    /// What frames begin with.
    pub link: LinkType,
    /// Addresses.
    pub ends: Endpoints,
    /// First source port.
    pub src_port: u16,
    /// Number of source addresses, from the first one on, that messages draw theirs from.
    pub sources: u32,
    /// Destination port.
    pub dst_port: u16,
    /// First message id.
    pub id: u32,
    /// SLMP packets that ask for acknowledgement.
    pub syn: Syn,
    /// What fills the frames.
    pub payload: Payload,
    /// Chooses sizes and random payload.
    pub seed: u64,
}

impl Default for GeneratorSpec {
    fn default() -> Self {
        Self {
            kind: Kind::Udp,
            sizes: SizeMix::fixed(512),
            messages: 1,
            packets: 1000,
            message_bytes: None,
            order: Order::Sequential,
            rate: Rate::Unlimited,
            wire: WireBits::Frame,
            link: LinkType::Ethernet,
            ends: Endpoints::default(),
            src_port: 49152,
            sources: 1,
            dst_port: 9000,
            id: 0,
            syn: Syn::Ends,
            payload: Payload::Random,
            seed: 1,
        }
    }
}

impl GeneratorSpec {
    /// Makes the usual traffic between two addresses.
    pub fn between(src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Self { ends: Endpoints::between(src, dst), ..Self::default() }
    }

    /// Changes the size of the frames; messages of a fixed number of bytes keep it.
    ///
    /// # Errors
    /// When frames cannot be that small or large.
    pub fn set_frame_bytes(&mut self, bytes: usize) -> Result<(), GeneratorError> {
        self.sizes = SizeMix::fixed(bytes);
        self.check_sizes()?;
        self.cut_messages()
    }

    /// Changes how many frames there are: a single message gets longer or shorter; of several
    /// there are more or fewer.
    ///
    /// # Errors
    /// When the number is 0 or gives no whole messages.
    pub fn set_count(&mut self, count: u64) -> Result<(), GeneratorError> {
        let wrong = |expected: String| {
            let (key, value) = ("count".to_string(), count.to_string());
            Err(GeneratorError::BadValue { key, value, expected })
        };
        if self.messages == 1 && count > 0 {
            self.packets = count;
            self.message_bytes = None;
            return Ok(());
        }
        let messages = u32::try_from(count / self.packets);
        match messages {
            Ok(messages) if messages > 0 && count.is_multiple_of(self.packets) => {
                self.messages = messages;
                Ok(())
            }
            _ => wrong(format!("a multiple of the {} frames of a message", self.packets)),
        }
    }

    /// Works out how many frames a message of a fixed number of bytes has.
    pub(super) fn cut_messages(&mut self) -> Result<(), GeneratorError> {
        let Some(bytes) = self.message_bytes else { return Ok(()) };
        let (kind, header) = (format!("{} {}", self.link, self.kind), self.header_bytes());
        let &[(size, _)] = self.sizes.entries() else {
            return Err(GeneratorError::NotApplicable {
                key: "bytes".to_string(),
                context: "frames of mixed sizes".to_string(),
            });
        };
        let Some(body) = size.checked_sub(header).filter(|&body| body > 0) else {
            let max = self.max_frame_bytes();
            return Err(GeneratorError::BadSize { kind, size, min: header + 1, max });
        };
        self.packets = bytes.div_ceil(body as u64).max(1);
        Ok(())
    }

    /// Returns how many bytes the frame is long that would have `bytes` were its message not at
    /// its end.
    pub(super) fn frame_bytes(&self, bytes: usize, is_last: bool) -> usize {
        let Some(message) = self.message_bytes.filter(|_| is_last) else { return bytes };
        let header = self.header_bytes();
        let before = (self.packets - 1) * (bytes.saturating_sub(header)) as u64;
        header + message.saturating_sub(before) as usize
    }

    /// Returns the number of frames in all.
    pub fn total_frames(&self) -> u64 {
        u64::from(self.messages).saturating_mul(self.packets)
    }

    /// Returns the bytes of headers before a frame's body.
    pub fn header_bytes(&self) -> usize {
        let link = match self.link {
            LinkType::Ethernet => ETHERNET_HEADER_BYTES,
            LinkType::RawIp => 0,
        };
        link + match self.kind {
            Kind::Udp => IPV4_HEADER_BYTES + UDP_HEADER_BYTES,
            Kind::Icmp => IPV4_HEADER_BYTES + ICMP_ECHO_HEADER_BYTES,
            Kind::Slmp => IPV4_HEADER_BYTES + UDP_HEADER_BYTES + SlmpHeader::BYTES,
            Kind::Raw => 8, // the message's and the packet's number
        }
    }

    fn max_frame_bytes(&self) -> usize {
        match self.link {
            LinkType::Ethernet => ETHERNET_HEADER_BYTES + usize::from(u16::MAX),
            LinkType::RawIp => usize::from(u16::MAX),
        }
    }

    /// Checks the sizes against the headers they must hold.
    ///
    /// # Errors
    /// [`GeneratorError::BadSize`].
    pub fn check_sizes(&self) -> Result<(), GeneratorError> {
        let min = self.header_bytes();
        let max = self.max_frame_bytes();
        match self.sizes.entries.iter().find(|(size, _)| !(min..=max).contains(size)) {
            None => Ok(()),
            Some(&(size, _)) => {
                let kind = format!("{} {}", self.link, self.kind);
                Err(GeneratorError::BadSize { kind, size, min, max })
            }
        }
    }
}

impl Order {
    /// Returns how many of `messages` take turns at a time.
    pub fn at_a_time(self, messages: u32) -> u32 {
        match self {
            Self::Sequential => 1,
            Self::Interleaved(most) => most.clamp(1, messages.max(1)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::Raw => "raw",
            Self::Slmp => "slmp",
        })
    }
}

impl fmt::Display for SizeMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(bytes, _)] = self.entries[..] {
            return write!(f, "{bytes}");
        }
        for (i, (bytes, weight)) in self.entries.iter().enumerate() {
            write!(f, "{}{bytes}:{weight}", if i > 0 { "/" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for GeneratorSpec {
    /// Writes the choices that size a run, in the form `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, sizes, messages, packets, rate, seed, .. } = self;
        write!(f, "{kind},size={sizes},messages={messages}")?;
        match self.message_bytes {
            Some(bytes) => write!(f, ",bytes={bytes},rate={rate}")?,
            None => write!(f, ",packets={packets},rate={rate}")?,
        }
        if self.wire == WireBits::Ethernet {
            f.write_str(",wire=ethernet")?;
        }
        if self.link == LinkType::RawIp {
            f.write_str(",link=ip")?;
        }
        match self.order {
            Order::Sequential => {}
            Order::Interleaved(u32::MAX) => f.write_str(",order=interleaved")?,
            Order::Interleaved(n) => write!(f, ",order=interleaved:{n}")?,
        }
        write!(f, ",seed={seed}")
    }
}
