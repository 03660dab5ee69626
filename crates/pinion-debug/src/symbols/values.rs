//! Values in words, and what they are made of.

use super::Symbols;
use super::frames::Memory;
use super::types::{Kind, Shown, TypeId};

/// What is said of a value that is nowhere.
pub const GONE: &str = "<optimized out>";
/// What is said of memory that is not there.
const UNREADABLE: &str = "<no memory is there>";
/// Letters of a text that are shown, and elements of an array in one line.
const LETTERS_SHOWN: usize = 64;
const ELEMENTS_SHOWN: u64 = 8;

/// Says where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// At this address.
    Memory(u64),
    /// It has these bytes and is in no memory; `None`: not known.
    Bytes(Vec<Option<u8>>),
    /// Nowhere.
    Gone,
}

/// A value of a program.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its type.
    pub type_id: Option<TypeId>,
    /// Where it is.
    pub content: Content,
    /// Of a bit field: its first bit, and how many it has.
    pub bits: Option<(u64, u64)>,
}

/// A part of a value, and how C names it behind the value's own name.
#[derive(Clone, Debug)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// What is put behind the name of the whole; `None`: in front, an asterisk.
    pub suffix: Option<String>,
    /// The value.
    pub value: Value,
}

impl Value {
    /// Takes what lies at an address.
    pub fn at(address: u64, type_id: Option<TypeId>) -> Self {
        Self { type_id, content: Content::Memory(address), bits: None }
    }

    /// Gives where it lies, if it lies in memory.
    pub fn address(&self) -> Option<u64> {
        match self.content {
            Content::Memory(address) if self.bits.is_none() => Some(address),
            _ => None,
        }
    }

    /// Gives a part of it.
    fn part(&self, offset: u64, bytes: u64, type_id: Option<TypeId>) -> Self {
        let content = match &self.content {
            Content::Memory(address) => Content::Memory(address.wrapping_add(offset)),
            Content::Bytes(all) => {
                let (from, count) = (offset as usize, bytes as usize);
                let part = all.get(from..from.saturating_add(count));
                part.map_or(Content::Gone, |part| Content::Bytes(part.to_vec()))
            }
            Content::Gone => Content::Gone,
        };
        Self { type_id, content, bits: None }
    }
}

impl Symbols<'_> {
    /// Reads a number as it stands in memory or registers.
    pub fn number(&self, value: &Value, memory: &Memory<'_>) -> Option<u64> {
        let shown = self.type_of(value.type_id);
        let word = self.word(value, shown.bytes, memory).ok()?;
        Some(match shown.kind {
            Kind::Signed | Kind::Letter { is_signed: true } | Kind::Enumeration { .. }
                if value.bits.is_none() =>
            {
                extended(word, shown.bytes * 8) as u64
            }
            _ => word,
        })
    }

    /// Reads up to eight bytes; or says why there are none.
    fn word(&self, value: &Value, bytes: u64, memory: &Memory<'_>) -> Result<u64, &'static str> {
        let count = (bytes as usize).min(8);
        let mut word = [0; 8];
        match &value.content {
            Content::Gone => return Err(GONE),
            Content::Memory(address) => {
                if memory(*address, &mut word[..count]) < count {
                    return Err(UNREADABLE);
                }
            }
            Content::Bytes(all) => {
                for (at, place) in word.iter_mut().enumerate().take(count) {
                    *place = all.get(at).copied().flatten().ok_or(GONE)?;
                }
            }
        }
        let word = u64::from_le_bytes(word);
        Ok(match value.bits {
            Some((first, count)) if count < 64 => word >> (first & 63) & ((1 << count) - 1),
            _ => word,
        })
    }

    /// Writes a value in one line.
    pub fn text(&self, value: &Value, memory: &Memory<'_>) -> String {
        self.text_at(value, memory, 0)
    }

    fn text_at(&self, value: &Value, memory: &Memory<'_>, depth: u32) -> String {
        let shown = self.type_of(value.type_id);
        if value.content == Content::Gone {
            return GONE.to_owned();
        }
        match &shown.kind {
            Kind::Structure { .. } | Kind::Array { .. } => {
                self.text_of_parts(value, &shown, memory, depth)
            }
            Kind::Function | Kind::Nothing => match value.content {
                Content::Memory(address) => {
                    let name = self.describe(address).map(|name| format!(" <{name}>"));
                    format!("{address:#x}{}", name.unwrap_or_default())
                }
                _ => "{…}".to_owned(),
            },
            kind => match self.word(value, shown.bytes, memory) {
                Err(why) => why.to_owned(),
                Ok(word) => {
                    let bits = value.bits.map_or(shown.bytes * 8, |(_, count)| count);
                    let text = scalar(kind, word, bits);
                    match kind {
                        Kind::Pointer { to } => text + &self.beside_pointer(word, *to, memory),
                        _ => text,
                    }
                }
            },
        }
    }

    /// Says what a pointer points to: text, or a function.
    fn beside_pointer(&self, address: u64, to: Option<TypeId>, memory: &Memory<'_>) -> String {
        match self.type_of(to).kind {
            Kind::Letter { is_signed: true } => match self.letters(address, memory) {
                Some(text) => format!(" {text}"),
                None => String::new(),
            },
            _ if self.has_code(address) => {
                self.describe(address).map_or(String::new(), |name| format!(" <{name}>"))
            }
            _ => String::new(),
        }
    }

    /// Reads a text that ends with a zero; `None`: there is no text.
    fn letters(&self, address: u64, memory: &Memory<'_>) -> Option<String> {
        let mut bytes = [0; LETTERS_SHOWN];
        let count = memory(address, &mut bytes);
        let bytes = bytes.get(..count).filter(|bytes| !bytes.is_empty())?;
        let end = bytes.iter().position(|byte| *byte == 0);
        let text = &bytes[..end.unwrap_or(count)];
        let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        let dots = if end.is_none() { "…" } else { "" };
        let text = text.iter().all(is_text).then(|| String::from_utf8_lossy(text))?;
        Some(format!("{text:?}{dots}"))
    }

    fn text_of_parts(
        &self,
        value: &Value,
        shown: &Shown,
        memory: &Memory<'_>,
        depth: u32,
    ) -> String {
        if depth > 1 {
            return "{…}".to_owned();
        }
        let (_, count) = self.parts(value);
        let parts = self.children(value, 0..count.min(ELEMENTS_SHOWN), memory);
        let is_array = matches!(shown.kind, Kind::Array { .. });
        let mut texts: Vec<String> = parts
            .iter()
            .map(|part| {
                let text = self.text_at(&part.value, memory, depth + 1);
                if is_array { text } else { format!("{} = {text}", part.name) }
            })
            .collect();
        if count > ELEMENTS_SHOWN {
            texts.push("…".to_owned());
        }
        format!("{{{}}}", texts.join(", "))
    }

    /// Gives the address that a pointer has.
    pub fn pointed_at(&self, value: &Value, memory: &Memory<'_>) -> Option<u64> {
        match self.type_of(value.type_id).kind {
            Kind::Pointer { .. } => self.number(value, memory),
            _ => None,
        }
    }

    /// Tells whether a value's parts are numbered, and how many there are.
    pub fn parts(&self, value: &Value) -> (bool, u64) {
        match self.type_of(value.type_id).kind {
            _ if value.content == Content::Gone => (false, 0),
            Kind::Structure { members } => (false, members.len() as u64),
            Kind::Array { count, .. } => (true, count),
            Kind::Pointer { to } => {
                let count = match self.type_of(to).kind {
                    Kind::Nothing | Kind::Function => 0,
                    Kind::Structure { members } => members.len() as u64,
                    _ => 1,
                };
                (false, count)
            }
            _ => (false, 0),
        }
    }

    /// Gives parts of a value: members, elements, what a pointer points to.
    pub fn children(
        &self,
        value: &Value,
        range: std::ops::Range<u64>,
        memory: &Memory<'_>,
    ) -> Vec<Child> {
        match self.type_of(value.type_id).kind {
            Kind::Structure { members } => {
                let chosen = members.into_iter().skip(range.start as usize);
                let count = range.end.saturating_sub(range.start) as usize;
                let child = |member: super::types::Member| {
                    let bytes = self.type_of(member.type_id).bytes;
                    let mut part = value.part(member.offset, bytes, member.type_id);
                    part.bits = member.bits;
                    let suffix = Some(match member.name.starts_with('<') {
                        true => String::new(),
                        false => format!(".{}", member.name),
                    });
                    Child { name: member.name, suffix, value: part }
                };
                chosen.take(count).map(child).collect()
            }
            Kind::Array { of, count } => {
                let bytes = self.type_of(of).bytes;
                let range = range.start..range.end.min(count);
                let child = |index: u64| {
                    let name = format!("[{index}]");
                    let part = value.part(index.saturating_mul(bytes), bytes, of);
                    Child { name: name.clone(), suffix: Some(name), value: part }
                };
                range.map(child).collect()
            }
            Kind::Pointer { to } => self.target(value, to, range, memory),
            _ => Vec::new(),
        }
    }

    /// Gives what a pointer points to: a structure's members at once.
    fn target(
        &self,
        value: &Value,
        to: Option<TypeId>,
        range: std::ops::Range<u64>,
        memory: &Memory<'_>,
    ) -> Vec<Child> {
        let Some(address) = self.number(value, memory) else { return Vec::new() };
        let target = Value::at(address, to);
        match self.type_of(to).kind {
            Kind::Structure { .. } => {
                let mut children = self.children(&target, 0..u64::MAX, memory);
                for child in &mut children {
                    child.suffix = child.suffix.take().map(|suffix| match suffix.get(1..) {
                        Some(name) => format!("->{name}"),
                        None => suffix,
                    });
                }
                children
            }
            Kind::Nothing | Kind::Function => Vec::new(),
            _ if range.start > 0 => Vec::new(),
            _ => vec![Child { name: "*".to_owned(), suffix: None, value: target }],
        }
    }
}

/// Writes a number as its type has it.
fn scalar(kind: &Kind, word: u64, bits: u64) -> String {
    match kind {
        Kind::Signed => extended(word, bits).to_string(),
        Kind::Letter { is_signed } => {
            let number = if *is_signed { extended(word, bits) } else { word as i64 };
            match word as u8 {
                letter @ b' '..=b'~' => format!("{number} '{}'", char::from(letter)),
                _ => number.to_string(),
            }
        }
        Kind::Truth => if word == 0 { "false" } else { "true" }.to_owned(),
        Kind::Float if bits == 32 => f32::from_bits(word as u32).to_string(),
        Kind::Float if bits == 64 => f64::from_bits(word).to_string(),
        Kind::Pointer { .. } => format!("{word:#x}"),
        Kind::Enumeration { names } => {
            let found = names
                .iter()
                .find(|(number, _)| *number == word as i64 || *number == extended(word, bits));
            found.map_or_else(|| extended(word, bits).to_string(), |(_, name)| name.clone())
        }
        _ => word.to_string(),
    }
}

/// Extends a number of so many bits by its sign.
fn extended(word: u64, bits: u64) -> i64 {
    match 64_u64.checked_sub(bits) {
        Some(shift @ 0..64) => (word as i64) << shift >> shift,
        _ => word as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_their_types_have_them() {
        let names = vec![(-1, "NONE".to_owned()), (2, "TWO".to_owned())];
        let ages = Kind::Enumeration { names };
        let cases = [
            (&Kind::Signed, 0xffff_fffe, 32, "-2"),
            (&Kind::Unsigned, 0xffff_fffe, 32, "4294967294"),
            (&Kind::Letter { is_signed: true }, 65, 8, "65 'A'"),
            (&Kind::Letter { is_signed: true }, 0xff, 8, "-1"),
            (&Kind::Truth, 1, 8, "true"),
            (&Kind::Float, 0x3fc0_0000, 32, "1.5"),
            (&ages, 0xffff_ffff, 32, "NONE"),
            (&ages, 2, 32, "TWO"),
            (&ages, 3, 32, "3"),
            (&Kind::Signed, 5, 3, "-3"),
            (&Kind::Signed, u64::MAX, 64, "-1"),
        ];
        for (kind, word, bits, text) in cases {
            assert_eq!(scalar(kind, word, bits), text, "{kind:?}");
        }
    }
}
