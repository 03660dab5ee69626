//! What was seen of a scenario, on the hardware or on ours: frames with their cycles, events,
//! retired instructions. Cycles count from the scenario's cycle 0.

use pinion_nanopu::event::Event;

/// Counts the payload words of a frame that are kept.
const WORDS_KEPT: usize = 6;
/// Counts the header bytes of a frame.
pub const HEADER_BYTES: usize = 64;
/// The flag of a packet of a message.
pub const DATA: u8 = 1;
/// The flag of an acknowledgement.
pub const ACK: u8 = 2;
/// The flag of a negative acknowledgement.
pub const NACK: u8 = 4;
/// The flag of a PULL.
pub const PULL: u8 = 8;

const FLAG_NAMES: [(u8, &str); 5] =
    [(DATA, "DATA"), (ACK, "ACK"), (NACK, "NACK"), (PULL, "PULL"), (16, "CHOP")];

/// Names flags, joined by `+`.
pub fn kind(flags: u8) -> String {
    let names = FLAG_NAMES.iter().filter(|(bit, _)| flags & bit != 0);
    names.map(|(_, name)| *name).collect::<Vec<_>>().join("+")
}

/// Gives the flags of names joined by `+`.
pub fn flags(kind: &str) -> Option<u8> {
    kind.split('+').filter(|name| !name.is_empty()).try_fold(0, |flags, name| {
        let (bit, _) = FLAG_NAMES.iter().find(|(_, known)| *known == name)?;
        Some(flags | bit)
    })
}

/// Tells in which direction a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the node.
    In,
    /// From the node.
    Out,
}

/// Holds the header fields that the results list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// What the frame is.
    pub flags: u8,
    /// IPv4 address it comes from.
    pub src_ip: u32,
    /// IPv4 address it goes to.
    pub dst_ip: u32,
    /// Context that sends.
    pub src_context: u16,
    /// Context that is to receive.
    pub dst_context: u16,
    /// Bytes of the whole message.
    pub msg_len: u16,
    /// Number of the packet in its message.
    pub pkt_offset: u8,
    /// Pull offset in packets.
    pub pull_offset: u16,
    /// Id the sender gave the message.
    pub tx_msg_id: u16,
    /// Where the sender's buffer starts.
    pub buf_ptr: u16,
    /// Size class of the sender's buffer.
    pub buf_size_class: u8,
}

impl Fields {
    /// Reads the fields where they stand, whatever kind of frame it is; a frame that is too short
    /// has zeros in the place of what is missing.
    pub fn of(frame: &[u8]) -> Self {
        let byte = |at: usize| frame.get(at).copied().unwrap_or(0);
        let half = |at: usize| u16::from_be_bytes([byte(at), byte(at + 1)]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        Self {
            flags: byte(34),
            src_ip: word(26),
            dst_ip: word(30),
            src_context: half(35),
            dst_context: half(37),
            msg_len: half(39),
            pkt_offset: byte(41),
            pull_offset: half(42),
            tx_msg_id: half(44),
            buf_ptr: half(46),
            buf_size_class: byte(48),
        }
    }

    /// Tells whether the frame is a packet of a message.
    pub fn is_data(&self) -> bool {
        self.flags & DATA != 0
    }

    /// Names the first field in which `other` differs, with both values.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("src_ip", self.src_ip, other.src_ip),
            ("dst_ip", self.dst_ip, other.dst_ip),
            ("src_context", self.src_context.into(), other.src_context.into()),
            ("dst_context", self.dst_context.into(), other.dst_context.into()),
            ("msg_len", self.msg_len.into(), other.msg_len.into()),
            ("pkt_offset", self.pkt_offset.into(), other.pkt_offset.into()),
            ("pull_offset", self.pull_offset.into(), other.pull_offset.into()),
            ("tx_msg_id", self.tx_msg_id.into(), other.tx_msg_id.into()),
            ("buf_ptr", self.buf_ptr.into(), other.buf_ptr.into()),
            ("buf_size_class", self.buf_size_class.into(), other.buf_size_class.into()),
        ];
        if self.flags != other.flags {
            return Some(format!("kind {}, not {}", kind(self.flags), kind(other.flags)));
        }
        let different = pairs.iter().find(|(_, ours, theirs)| ours != theirs);
        different.map(|(name, ours, theirs)| format!("{name} {ours:#x}, not {theirs:#x}"))
    }
}

/// Holds a frame and when it passed the pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which way it went.
    pub direction: Direction,
    /// It is one of the script's.
    pub script: bool,
    /// Its name in the script; empty for frames from elsewhere.
    pub label: String,
    /// When its first flit passed.
    pub first: i64,
    /// When its last flit passed.
    pub last: i64,
    /// Number of its bytes.
    pub bytes: usize,
    /// Its header.
    pub fields: Fields,
    /// The CRC-32 of the whole frame.
    pub crc32: u32,
    /// The first six words of payload of a packet of data.
    pub words: Vec<u64>,
    /// The whole frame; empty where only the hash is known.
    pub frame: Vec<u8>,
}

impl Record {
    /// Records a frame.
    pub fn new(direction: Direction, first: i64, last: i64, frame: Vec<u8>) -> Self {
        let fields = Fields::of(&frame);
        let payload = frame.get(HEADER_BYTES..).unwrap_or(&[]);
        let words = match fields.is_data() {
            true => payload.chunks(8).take(WORDS_KEPT).map(word).collect(),
            false => Vec::new(),
        };
        Self {
            direction,
            script: false,
            label: String::new(),
            first,
            last,
            bytes: frame.len(),
            fields,
            crc32: crc32(&frame),
            words,
            frame,
        }
    }

    /// Tells whether the node sent it as part of a message.
    pub fn is_data_out(&self) -> bool {
        self.direction == Direction::Out && self.fields.is_data()
    }

    /// Tells whether the script sent it as part of a message.
    pub fn is_request(&self) -> bool {
        self.script && self.direction == Direction::In && self.fields.is_data()
    }
}

/// Reads a big-endian number of up to eight bytes.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Holds an instruction that retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// When it retired.
    pub at: i64,
    /// Where.
    pub hart: u8,
    /// Its address.
    pub pc: u64,
}

/// Holds what was seen of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    /// Holds every frame in order of its first flit.
    pub frames: Vec<Record>,
    /// What happened inside, in order of time.
    pub events: Vec<(i64, Event)>,
    /// The instructions around traps, in order of time.
    pub commits: Vec<Commit>,
    /// What the program exited with, if it did.
    pub exit_code: Option<i32>,
    /// Why the node stopped by itself, if it did.
    pub stopped: Option<String>,
}

impl Observation {
    /// Gives the frames that left from cycle 0 on.
    pub fn out(&self) -> impl Iterator<Item = &Record> {
        self.frames.iter().filter(|frame| frame.direction == Direction::Out && frame.first >= 0)
    }

    /// Gives the packets of data that left from cycle 0 on.
    pub fn data_out(&self) -> impl Iterator<Item = &Record> {
        self.out().filter(|frame| frame.fields.is_data())
    }

    /// Gives the packets of data that the script sent.
    pub fn requests(&self) -> impl Iterator<Item = &Record> {
        self.frames.iter().filter(|frame| frame.is_request())
    }

    /// Gives the packets of data that the script sent after the warm-up.
    pub fn warm_requests(&self) -> impl Iterator<Item = &Record> {
        self.requests().filter(|frame| !super::set::warms(&frame.label))
    }

    /// Gives the cycle in which the first frame of the script behind the warm-up begins.
    pub fn warm_from(&self) -> i64 {
        let script = self.frames.iter().filter(|frame| frame.script);
        let first =
            script.filter(|frame| !super::set::warms(&frame.label)).map(|frame| frame.first);
        first.min().unwrap_or(0)
    }
}

/// Computes the CRC-32 of zlib: reflected, polynomial 0xedb88320.
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = nibbles();
    let update = |crc: u32, &byte: &u8| {
        let crc = crc ^ u32::from(byte);
        let crc = (crc >> 4) ^ TABLE[(crc & 15) as usize];
        (crc >> 4) ^ TABLE[(crc & 15) as usize]
    };
    !bytes.iter().fold(!0, update)
}

const fn nibbles() -> [u32; 16] {
    let mut table = [0; 16];
    let mut index = 0;
    while index < 16 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 4 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_zlibs() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn kinds_are_sums_of_flags() {
        assert_eq!(kind(10), "ACK+PULL");
        assert_eq!(flags("NACK+PULL"), Some(12));
        assert_eq!(flags("PUSH"), None);
        let fields = Fields::of(&[0; 20]);
        let other = Fields { flags: 1, ..fields };
        assert_eq!(fields.difference(&fields), None);
        assert_eq!(other.difference(&fields).unwrap(), "kind DATA, not ");
        let other = Fields { buf_ptr: 16, ..fields };
        assert_eq!(other.difference(&fields).unwrap(), "buf_ptr 0x10, not 0x0");
    }
}
