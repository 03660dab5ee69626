//! Tables changed while packets flow: a datagram to the control port has lines as a file of entries has, and is
//! answered by what came of them. In: a frame. Out: the changes, and the frame that answers.
//!
//! All lines of a datagram are made, or none: one that is wrong is answered by what is wrong with it.

use pinion_net::frame::internet_checksum;
use pinion_p4::table::Table;
use pinion_p4::table::entries::read_for;

use super::super::Made;

/// Bytes in front of a datagram: Ethernet, IPv4 without options, UDP.
const HEADERS_BYTES: usize = 42;
/// Where IPv4 says its length and its sum, and UDP its ports.
const TOTAL_LENGTH: usize = 16;
const CHECKSUM: usize = 24;
const IPV4: std::ops::Range<usize> = 14..34;
const PORTS: usize = 34;
/// Bytes of an answer, at most: what goes into a frame.
const LONGEST_ANSWER: usize = 1400;
/// What begins a frame of IPv4 without options.
const PLAIN: [u8; 3] = [0x08, 0x00, 0x45];
/// IPv4's number of UDP.
const UDP: u8 = 17;

/// A request to change tables.
pub(super) struct Request<'f> {
    head: [u8; HEADERS_BYTES],
    text: &'f [u8],
}

impl<'f> Request<'f> {
    /// Takes a frame for one, if it is a whole datagram to this port.
    pub(super) fn of(frame: &'f [u8], port: u16) -> Option<Self> {
        let (head, rest) = frame.split_first_chunk::<HEADERS_BYTES>()?;
        let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let is_datagram = head[12..15] == PLAIN && head[23] == UDP && half(20) & 0x3fff == 0;
        let length = usize::from(half(PORTS + 4)).checked_sub(8)?;
        let is_ours = is_datagram && half(PORTS + 2) == port;
        Some(Self { head: *head, text: rest.get(..length)? }).filter(|_| is_ours)
    }

    /// Reads the changes, and makes the frame that answers.
    pub(super) fn answer(&self, tables: &[Table]) -> Made {
        let text = String::from_utf8_lossy(self.text);
        let (changes, said) = match read_for("control", &text, tables.to_vec()) {
            Ok(changes) if changes.iter().any(|change| change.at > 0) => {
                (Vec::new(), "what is changed now has no cycle: leave out `at`\n".to_owned())
            }
            Ok(changes) => {
                let said = format!("ok, {}\n", changes.len());
                (changes, said)
            }
            Err(why) => (Vec::new(), why + "\n"),
        };
        let mut end = said.len().min(LONGEST_ANSWER);
        while !said.is_char_boundary(end) {
            end -= 1;
        }
        Made { payload: None, frames: vec![self.reply(&said.as_bytes()[..end])], changes }
    }

    /// Makes a datagram back to who asks.
    fn reply(&self, said: &[u8]) -> Vec<u8> {
        let mut frame = self.head.to_vec();
        let old = &self.head;
        frame[..6].copy_from_slice(&old[6..12]);
        frame[6..12].copy_from_slice(&old[..6]);
        frame[26..30].copy_from_slice(&old[30..34]);
        frame[30..34].copy_from_slice(&old[26..30]);
        frame[PORTS..PORTS + 2].copy_from_slice(&old[PORTS + 2..PORTS + 4]);
        frame[PORTS + 2..PORTS + 4].copy_from_slice(&old[PORTS..PORTS + 2]);
        let mut put =
            |at: usize, value: u16| frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
        put(TOTAL_LENGTH, (28 + said.len()) as u16);
        put(PORTS + 4, (8 + said.len()) as u16);
        // UDP's sum is not made (RFC 768 allows it over IPv4).
        put(PORTS + 6, 0);
        put(CHECKSUM, 0);
        let sum = internet_checksum(&frame[IPV4]);
        frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(said);
        frame.resize(frame.len().max(super::SHORTEST_FRAME_BYTES), 0);
        frame
    }
}
