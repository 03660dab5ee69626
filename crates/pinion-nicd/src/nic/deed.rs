//! What host programs do to a NIC, as a recording has it: a line of JSON for each deed, in the order in
//! which they were answered. Reads and questions change nothing and are not kept; what programs write
//! into shared memory is kept where the NIC reads it.

use nix::unistd::Uid;
use pinion_app::error::{Error, Result};
use pinion_host::News;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::message::Kind;
use super::serve::Asker;

/// An image as it came, or what was wrong with its file.
pub type Brought = Option<std::result::Result<Vec<u8>, String>>;

/// A deed.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Deed {
    /// A message that changes something.
    Message {
        /// Number of its connection.
        from: u64,
        /// The process.
        pid: i32,
        /// Its user.
        user: u32,
        /// Its name.
        program: String,
        /// What the message is about.
        kind: u16,
        /// Its body.
        body: Bytes,
        /// The file that came with it.
        image: Option<Image>,
    },
    /// A program has gone.
    Gone {
        /// Number of its connection.
        from: u64,
    },
    /// Packets of a context did not leave in time.
    Stayed,
    /// What a program had written into memory that it shares when the NIC read there.
    Wrote {
        /// Number of the read, from 0.
        read: u64,
        /// Where in host memory.
        address: u64,
        /// The bytes.
        bytes: Bytes,
    },
}

/// A file that came with a message.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    /// What it holds.
    Bytes(Bytes),
    /// Why it is none.
    Refused(String),
}

/// Bytes, which stand in a line as hexadecimal digits.
#[derive(Debug, PartialEq)]
pub struct Bytes(pub Vec<u8>);

impl Deed {
    /// Describes a message; `None`: it changes nothing.
    pub fn of(asker: Asker<'_>, kind: Kind, body: &[u8], image: &Brought) -> Option<Self> {
        if matches!(kind, Kind::Hello | Kind::Read | Kind::Status | Kind::Log) {
            return None;
        }
        let image = image.as_ref().map(|image| match image {
            Ok(bytes) => Image::Bytes(Bytes(bytes.clone())),
            Err(why) => Image::Refused(why.clone()),
        });
        Some(Self::Message {
            from: asker.number,
            pid: asker.pid,
            user: asker.user.as_raw(),
            program: asker.program.to_owned(),
            kind: kind as u16,
            body: Bytes(body.to_vec()),
            image,
        })
    }

    /// Describes what a program wrote.
    pub fn wrote(News { read, address, bytes }: News) -> Self {
        Self::Wrote { read, address, bytes: Bytes(bytes) }
    }

    /// Writes it as a line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("plain data: {error}"))
    }

    /// Reads a line.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(line: &str) -> Result<Self> {
        serde_json::from_str(line).map_err(|error| {
            Error::Usage(format!("the recording is damaged: what a host program did: {error}"))
        })
    }
}

impl Image {
    /// Gives it as it came.
    pub fn brought(self) -> std::result::Result<Vec<u8>, String> {
        match self {
            Self::Bytes(Bytes(bytes)) => Ok(bytes),
            Self::Refused(why) => Err(why),
        }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        let digits =
            |byte: &u8| [byte >> 4, byte & 15].map(|four| char::from(DIGITS[four as usize]));
        to.serialize_str(&self.0.iter().flat_map(digits).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
        let byte = |two: &[u8]| match two {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        let bytes =
            bytes.ok_or_else(|| serde::de::Error::custom("no bytes as hexadecimal digits"))?;
        Ok(Self(bytes))
    }
}

/// Gives who asks again, of a recorded message.
pub fn asker(from: u64, pid: i32, user: u32, program: &str) -> Asker<'_> {
    Asker { number: from, pid, user: Uid::from_raw(user), program }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deed_is_read_as_written() {
        let asker = asker(3, 77, 1000, "ping \"x\"\n");
        let image = Some(Ok(vec![0x7f, b'E', 0, 255]));
        let message = Deed::of(asker, Kind::Attach, &[1, 2, 0xfe], &image).unwrap();
        assert!(message.line().contains("\"body\":\"0102fe\""), "{}", message.line());
        let refused = Deed::of(asker, Kind::Load, &[], &Some(Err("unsealed".to_owned()))).unwrap();
        let wrote = Deed::wrote(News { read: 9, address: 1 << 40, bytes: vec![1] });
        for deed in [message, refused, wrote, Deed::Gone { from: 3 }, Deed::Stayed] {
            assert!(!deed.line().contains('\n'));
            assert_eq!(Deed::read(&deed.line()).unwrap(), deed);
        }
        assert_eq!(Deed::of(asker, Kind::Read, &[], &None), None);
        for damaged in [
            "",
            "{}",
            "{\"gone\":{\"from\":-1}}",
            "{\"wrote\":{\"read\":1,\"address\":2,\"bytes\":\"123\"}}",
        ] {
            assert!(Deed::read(damaged).is_err(), "{damaged}");
        }
    }
}
