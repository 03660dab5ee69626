//! What a message is: which packets belong together, and which is the last. In: text as a manifest
//! has it. Out: the engine's setting.

use super::{FlowFields, Layout, MatchError, Rule, parse_rule};

/// Says which packets of a context belong to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageId {
    /// Every packet is a message.
    PerPacket,
    /// Packets of one flow; each message of a flow gets an id of its own.
    Flow(FlowFields),
    /// Packets with the same value of a field, which is the id.
    Field {
        /// Where the field's 32-bit word begins, which the engine reads in the machine's order.
        offset_bytes: u32,
        /// Bits of the word that count.
        mask: u32,
        /// How far the masked word is shifted right; at most 31.
        shift: u32,
    },
}

impl MessageId {
    /// Where SLMP keeps its message id: the word at byte 44, which FPsPIN's hardware always takes.
    pub const SLMP: Self = Self::Field { offset_bytes: 44, mask: u32::MAX, shift: 0 };

    /// Reads `packet`, `context` (all packets of the context are one flow), `flow`,
    /// `flow:src,sport` or `field:offset=44,mask=0x3ff,shift=0`.
    ///
    /// # Errors
    /// [`MatchError::BadMessage`].
    pub fn parse(text: &str) -> Result<Self, MatchError> {
        let wrong =
            |problem: String| MatchError::BadMessage { text: text.trim().to_string(), problem };
        match text.trim().split_once(':').unwrap_or((text.trim(), "")) {
            ("packet", "") => Ok(Self::PerPacket),
            ("context", "") => Ok(Self::Flow(FlowFields::NONE)),
            ("flow", "") => Ok(Self::Flow(FlowFields::ALL)),
            ("slmp", "") => Ok(Self::SLMP),
            ("flow", fields) => parse_fields(fields).map(Self::Flow).map_err(wrong),
            ("field", settings) => parse_field(settings).map_err(wrong),
            (word, _) => Err(wrong(format!("`{word}` is none of the known forms"))),
        }
    }
}

fn parse_fields(text: &str) -> Result<FlowFields, String> {
    let mut fields = FlowFields::NONE;
    for name in text.split(',').map(str::trim) {
        *match name {
            "src" => &mut fields.src,
            "dst" => &mut fields.dst,
            "proto" => &mut fields.proto,
            "sport" => &mut fields.sport,
            "dport" => &mut fields.dport,
            _ => return Err(format!("`{name}` is no field of a flow")),
        } = true;
    }
    Ok(fields)
}

fn parse_field(settings: &str) -> Result<MessageId, String> {
    let (mut offset, mut mask, mut shift) = (None, u32::MAX, 0);
    for setting in settings.split(',').map(str::trim) {
        let value = setting.split_once('=').and_then(|(_, value)| parse_number(value));
        match (setting.split_once('=').map(|(name, _)| name.trim()), value) {
            (Some("offset"), Some(value)) => offset = Some(value),
            (Some("mask"), Some(value)) => mask = value,
            (Some("shift"), Some(value)) if value < 32 => shift = value,
            (Some("shift"), Some(value)) => return Err(format!("shift {value} is above 31")),
            _ => return Err(format!("`{setting}` is none of offset=, mask= and shift=")),
        }
    }
    let offset_bytes = offset.ok_or("the field's offset is missing")?;
    Ok(MessageId::Field { offset_bytes, mask, shift })
}

/// Reads a decimal or `0x…` number.
pub(super) fn parse_number(text: &str) -> Option<u32> {
    let text = text.trim();
    let plain = |text: &str| text.starts_with(|c: char| c.is_ascii_hexdigit());
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if plain(digits) => u32::from_str_radix(digits, 16).ok(),
        None if plain(text) => text.parse().ok(),
        _ => None,
    }
}

/// Says which packet is a message's last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndOfMessage {
    /// Every packet.
    #[default]
    Always,
    /// No packet; the message lasts as long as the run.
    Never,
    /// A packet that this rule matches (FPsPIN's fourth rule).
    Rule(Rule),
    /// The n-th packet of a message; n is at least 1.
    Packets(u32),
}

impl EndOfMessage {
    /// Reads `always`, `never`, `packets=N`, or a rule that needs one comparison.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub fn parse(text: &str, layout: Layout) -> Result<Self, MatchError> {
        let text = text.trim();
        match text {
            "always" => return Ok(Self::Always),
            "never" => return Ok(Self::Never),
            _ => {}
        }
        if let Some(count) = text.strip_prefix("packets=") {
            return match parse_number(count) {
                None => Err(MatchError::BadValue {
                    rule: text.to_string(),
                    value: count.to_string(),
                    expected: "a number of packets".to_string(),
                }),
                Some(0) => Err(MatchError::NoPackets { text: text.to_string() }),
                Some(count) => Ok(Self::Packets(count)),
            };
        }
        match parse_rule(text, layout)?[..] {
            [rule] => Ok(Self::Rule(rule)),
            ref rules => {
                let (rule, needed) = (text.to_string(), rules.len());
                Err(MatchError::EndNeedsSingle { rule, needed })
            }
        }
    }
}
