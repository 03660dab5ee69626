//! What a NIC and its host programs say to each other: one message per packet of a SOCK_SEQPACKET
//! socket, a header and a body, numbers little-endian. The same as `sdk/fpspin/lib/protocol.h`.

/// Begins every message ("FPIN").
const MAGIC: u32 = 0x4e49_5046;
/// The version of everything here.
pub const VERSION: u16 = 1;
/// The size of the largest message.
pub const MESSAGE_BYTES: usize = 65536;
/// The most bytes of memory one message carries.
pub const PIECE_BYTES: u32 = 32768;
/// The size of a header.
pub const HEADER_BYTES: usize = 16;
/// The size of a name.
const NAME_BYTES: usize = 128;
/// Counts the HPUs whose requests are numbered in an answer.
pub const HPUS_MAX: usize = 128;
/// Counts the rules of a ruleset.
const RULES: usize = 4;

/// Says what a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Begins a connection.
    Hello = 1,
    /// Takes contexts.
    Attach,
    /// Loads another image.
    Load,
    /// Lets no more packets come.
    Unload,
    /// Changes rulesets.
    Rules,
    /// Reads NIC memory.
    Read,
    /// Writes NIC memory.
    Write,
    /// Answers a handler.
    Answer,
    /// Asks for the NIC's state.
    Status,
    /// Asks for handlers' output.
    Log,
    /// Takes the NIC for a debugger, asks for its programs, and hands the debugger's connection over.
    Debug,
}

impl Kind {
    /// Gives the kind of a number.
    pub fn of(number: u16) -> Option<Self> {
        let all = [
            Self::Hello,
            Self::Attach,
            Self::Load,
            Self::Unload,
            Self::Rules,
            Self::Read,
            Self::Write,
            Self::Answer,
            Self::Status,
            Self::Log,
            Self::Debug,
        ];
        all.into_iter().find(|kind| *kind as u16 == number)
    }
}

/// A message's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What it is about; `None`: nothing that is known.
    pub kind: Option<Kind>,
    /// The kind's number.
    pub kind_number: u16,
    /// The sender's version.
    pub version: u16,
    /// Number of the sender's questions.
    pub number: u32,
    /// 0, or says that the body is a complaint.
    pub status: u32,
}

impl Header {
    /// Makes a question's header.
    pub fn ask(kind: Kind, number: u32) -> Self {
        let kind_number = kind as u16;
        Self { kind: Some(kind), kind_number, version: VERSION, number, status: 0 }
    }

    /// Makes the header of an answer to this.
    pub fn answer(self, status: u32) -> Self {
        Self { version: VERSION, status, ..self }
    }

    /// Splits a message; `None`: it is none of ours.
    pub fn parse(message: &[u8]) -> Option<(Self, &[u8])> {
        let mut body = Body(message);
        if body.u32()? != MAGIC {
            return None;
        }
        let (version, kind_number) = (body.u16()?, body.u16()?);
        let (number, status) = (body.u32()?, body.u32()?);
        let kind = Kind::of(kind_number);
        Some((Self { kind, kind_number, version, number, status }, body.0))
    }

    /// Gives the header's bytes.
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.version.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.kind_number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..].copy_from_slice(&self.status.to_le_bytes());
        bytes
    }
}

/// Takes a body apart from the front; every part may be missing.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    /// Takes a number.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// Takes a long number.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Takes a name: what stands before its first zero.
    pub fn name(&mut self) -> Option<String> {
        let bytes: [u8; NAME_BYTES] = self.take()?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        Some(text.chars().filter(|letter| !letter.is_control()).collect())
    }

    /// Takes a ruleset.
    pub fn ruleset(&mut self) -> Option<Rules> {
        let is_or = match self.u32()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut rules = [[0; 4]; RULES];
        for number in rules.iter_mut().flatten() {
            *number = self.u32()?;
        }
        Some(Rules { is_or, rules })
    }

    /// Tells whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A ruleset as a message carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether one rule must match, or all.
    pub is_or: bool,
    /// Word, mask, start and end of each rule.
    pub rules: [[u32; 4]; RULES],
}

/// Puts a body together.
#[derive(Debug, Default)]
pub struct Builder(pub Vec<u8>);

impl Builder {
    /// Adds a number.
    pub fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds a long number.
    pub fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds address and bytes of an area.
    pub fn area(self, (address, bytes): (u32, u32)) -> Self {
        self.u32(address).u32(bytes)
    }

    /// Adds a name, cut to fit.
    pub fn name(mut self, text: &str) -> Self {
        let mut bytes = [0; NAME_BYTES];
        let length = text.len().min(NAME_BYTES - 1);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.0.extend(bytes);
        self
    }

    /// Adds bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_written() {
        let header = Header::ask(Kind::Rules, 7);
        let body = Builder::default().u32(1).u64(2).name("näme\0x").area((3, 4));
        let message = [&header.bytes()[..], &body.0].concat();
        let (read, rest) = Header::parse(&message).unwrap();
        assert_eq!(read, header);
        let mut rest = Body(rest);
        assert_eq!((rest.u32(), rest.u64()), (Some(1), Some(2)));
        assert_eq!(rest.name().unwrap(), "näme");
        assert_eq!((rest.u32(), rest.u32(), rest.u32()), (Some(3), Some(4), None));
        assert!(rest.is_empty());
    }

    #[test]
    fn garbage_is_none() {
        assert!(Header::parse(&[]).is_none());
        assert!(Header::parse(&[0; 100]).is_none());
        assert!(Header::parse(&MAGIC.to_le_bytes()).is_none());
        assert!(Body(&[0; 127]).name().is_none());
        assert!(Body(&[2; 100]).ruleset().is_none(), "a mode that is none");
        assert!(Body(&[0; 67]).ruleset().is_none());
        assert!(Body(&[0; 68]).ruleset().is_some());
        let unknown = Header { kind: None, kind_number: 99, version: 1, number: 0, status: 0 };
        assert_eq!(Header::parse(&unknown.bytes()).unwrap().0, unknown);
    }
}
