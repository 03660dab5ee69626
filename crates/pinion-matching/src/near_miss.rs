//! Why a packet matches no context. In: rulesets and a packet's bytes. Out: of the context that came
//! nearest the first rule that failed, what it wanted and what the packet has, in words where the
//! rule looks at a header's field.

use std::fmt;
use std::net::Ipv4Addr;

use super::rule::word_at;
use super::{Compare, Layout, Mode, Rule, Ruleset};

/// Says by how much a packet missed a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// The context.
    pub context: u32,
    /// How its rules combine.
    pub mode: Mode,
    /// Its rules that failed.
    pub failed: u32,
    /// All of its rules.
    pub rules: u32,
    /// What the first of those that failed looks at.
    pub field: String,
    /// What it wants there.
    pub wanted: String,
    /// What the packet has there.
    pub seen: String,
}

impl fmt::Display for NearMiss {
    /// Writes `destination port 9330 is wanted, the packet has 9000 (1 of 3 comparisons failed)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, rules, field, wanted, seen, .. } = self;
        write!(f, "{field} {wanted} is wanted, the packet has {seen}")?;
        match self.mode {
            Mode::And if *rules > 1 => write!(f, " ({failed} of {rules} comparisons failed)"),
            Mode::Or if *rules > 1 => write!(f, " (nor does another of {rules} comparisons hold)"),
            _ => Ok(()),
        }
    }
}

/// Finds the context that a packet missed by the fewest rules, the first of several; `None` where a
/// context takes the packet, or none has rules that a packet can match.
pub(super) fn nearest<'a>(
    rulesets: impl Iterator<Item = (u32, &'a Ruleset)>,
    packet: &[u8],
    (compare, layout): (Compare, Layout),
) -> Option<NearMiss> {
    let mut best: Option<((u32, u32), u32, &Ruleset, &Rule)> = None;
    for (context, ruleset) in rulesets {
        if ruleset.matches(packet, compare) {
            return None;
        }
        // What no packet can match was meant to match none.
        let fails = |rule: &&Rule| **rule != Rule::NEVER && !rule.matches(packet, compare);
        let can_match = ruleset.mode == Mode::Or || !ruleset.rules.contains(&Rule::NEVER);
        let failing = || ruleset.rules.iter().filter(fails);
        let wrong_bits = |rule: &&Rule| (seen(rule, packet) ^ rule.start).count_ones();
        let (count, rule) = match ruleset.mode {
            Mode::And => (failing().count() as u32, failing().next()),
            Mode::Or => (1, failing().min_by_key(wrong_bits)),
        };
        let Some(rule) = rule.filter(|_| can_match) else { continue };
        let distance = (count, wrong_bits(&rule));
        if best.is_none_or(|(least, ..)| distance < least) {
            best = Some((distance, context, ruleset, rule));
        }
    }
    let ((failed, _), context, ruleset, rule) = best?;
    let (field, wanted, seen) = explain(ruleset, rule, packet, layout);
    let (mode, rules) = (ruleset.mode, ruleset.rules.len() as u32);
    Some(NearMiss { context, mode, failed, rules, field, wanted, seen })
}

fn seen(rule: &Rule, packet: &[u8]) -> u32 {
    word_at(packet, rule.index as usize * 4) & rule.mask
}

/// A header's field: its first byte behind an Ethernet header, its bytes, its name, how its values
/// are written.
type Field = (u32, u32, &'static str, fn(u32) -> String);

const FIELDS: [Field; 9] = [
    (12, 2, "EtherType", ether_type),
    (14, 1, "IP version and header words", hex),
    (20, 2, "IP fragment flags and offset", hex),
    (23, 1, "IP protocol", protocol),
    (26, 4, "IP source", address),
    (30, 4, "IP destination", address),
    (34, 2, "source port", decimal),
    (36, 2, "destination port", decimal),
    (42, 2, "SLMP flags", hex),
];

/// Names what a rule looks at, what it wants and what there is; a field in words, else the bits.
fn explain(
    ruleset: &Ruleset,
    rule: &Rule,
    packet: &[u8],
    layout: Layout,
) -> (String, String, String) {
    let skipped = if layout == Layout::Ethernet { 0 } else { 14 };
    let found = seen(rule, packet);
    let is_exact = rule.start == rule.end;
    let wrong = if is_exact { found ^ rule.start } else { rule.mask };
    for (first, bytes, name, write) in FIELDS {
        let Some(first) = first.checked_sub(skipped) else { continue };
        // Which of the field's bytes does the rule look at, and which of them are wrong?
        let is_wrong = (first..first + bytes).any(|byte| byte_of(rule, wrong, byte) != 0);
        if !is_wrong {
            continue;
        }
        let collect = |pick: &dyn Fn(u32) -> u32| {
            (first..first + bytes).fold(0, |value, byte| value << 8 | pick(byte))
        };
        let seen = collect(&|byte| u32::from(packet.get(byte as usize).copied().unwrap_or(0)));
        if !is_exact {
            let ends = [rule.start, rule.end];
            let [from, to] = ends.map(|end| collect(&|byte| byte_of(rule, end, byte)));
            return (name.to_owned(), format!("{} to {}", write(from), write(to)), write(seen));
        }
        // An address is spread over two rules.
        let belongs = |other: &&Rule| match ruleset.mode {
            Mode::And => other.start == other.end,
            Mode::Or => *other == rule,
        };
        let all = || ruleset.rules.iter().filter(belongs);
        let or = |byte: u32, bits: fn(&Rule) -> u32| {
            all().fold(0, |value, rule| value | byte_of(rule, bits(rule), byte))
        };
        let mask = collect(&|byte| or(byte, |rule| rule.mask));
        let whole = u32::MAX >> (32 - 8 * bytes);
        let wanted = collect(&|byte| or(byte, |rule| rule.start & rule.mask));
        let name = match (name, icmp(packet, skipped)) {
            ("source port", true) => "ICMP type and code",
            (name, _) => name,
        };
        let write = if name.starts_with("ICMP") { hex } else { write };
        let wanted = match mask {
            mask if mask == whole => write(wanted),
            mask if bytes == 4 && mask.leading_ones() == mask.count_ones() => {
                format!("{}/{}", write(wanted), mask.leading_ones())
            }
            mask => return (name.to_owned(), bits(wanted, mask), format!("{seen:#x}")),
        };
        return (name.to_owned(), wanted, write(seen));
    }
    let field = format!("word at byte {}, bits {:#x}:", u64::from(rule.index) * 4, rule.mask);
    let wanted = match rule.start == rule.end {
        true => format!("{:#x}", rule.start),
        false => format!("{:#x} to {:#x}", rule.start, rule.end),
    };
    (field, wanted, format!("{found:#x}"))
}

/// Gives the bits of a byte of the packet in a word that a rule compares; 0 outside of its mask.
fn byte_of(rule: &Rule, word: u32, byte: u32) -> u32 {
    match byte.checked_sub(rule.index.saturating_mul(4)) {
        Some(place @ 0..4) => (word & rule.mask) >> (24 - 8 * place) & 0xff,
        _ => 0,
    }
}

fn icmp(packet: &[u8], skipped: u32) -> bool {
    packet.get((23 - skipped) as usize) == Some(&1)
}

fn bits(value: u32, mask: u32) -> String {
    format!("{value:#x} in the bits {mask:#x}")
}

fn hex(value: u32) -> String {
    format!("{value:#x}")
}

fn decimal(value: u32) -> String {
    value.to_string()
}

fn address(value: u32) -> String {
    Ipv4Addr::from(value).to_string()
}

fn ether_type(value: u32) -> String {
    named(hex(value), &[(0x0800, "IPv4"), (0x0806, "ARP"), (0x86dd, "IPv6")], value)
}

fn protocol(value: u32) -> String {
    named(decimal(value), &[(1, "ICMP"), (6, "TCP"), (17, "UDP")], value)
}

fn named(text: String, names: &[(u32, &str)], value: u32) -> String {
    match names.iter().find(|(number, _)| *number == value) {
        Some((_, name)) => format!("{text} ({name})"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_packets_and_wild_rules_are_no_reason_to_panic() {
        for (index, mask) in [(u32::MAX / 4, u32::MAX), (u32::MAX, 0), (3, 1), (8, 0xffff_0000)] {
            let wild = Rule { index, mask, start: 5, end: 9 };
            let ruleset = Ruleset { rules: vec![wild], ..Ruleset::default() };
            for bytes in 0..40 {
                let as_read = (Compare::BigEndian, Layout::Ethernet);
                let miss = nearest([(0, &ruleset)].into_iter(), &[9; 40][..bytes], as_read);
                assert!(!miss.unwrap().to_string().is_empty());
            }
        }
    }
}
