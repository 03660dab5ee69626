//! Rules by name. In: text such as `udp.dport=9330`, `ip.src=10.0.0.0/8`, `u32(9, 0xffff0000,
//! 0x24720000, 0x24720000)`. Out: the comparisons it stands for.
//!
//! A name may need two or three comparisons that all must hold; exact ones on the same word are
//! merged, so `udp.sport=1` and `udp.dport=2` together still need no more than four. Names of
//! FPsPIN's library (`ip`, `udp`, …) are its comparisons. Names that look behind the IP header
//! (ports, `icmp.echo`, `slmp`) also require, in the words they look at anyway, that the header has
//! no options and the packet is no fragment: otherwise the ports would lie elsewhere. With packets
//! that begin at the IP header those two checks would cost comparisons of their own and are left
//! out.

use super::message::parse_number;
use super::ruleset::check_reach;
use super::{Limits, MatchError, Mode, Rule};
use std::net::Ipv4Addr;

/// Says what packets begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// The Ethernet header (FPsPIN).
    #[default]
    Ethernet,
    /// The IP header (PsPIN's own drivers).
    Ip,
}

/// Every name, and what its value looks like if it takes one.
const NAMES: [(&str, &str); 22] = [
    ("true", ""),
    ("all", ""),
    ("false", ""),
    ("none", ""),
    ("arp", ""),
    ("eth.type", "0x0800"),
    ("ip", ""),
    ("ip.proto", "17"),
    ("ip.src", "10.0.0.1"),
    ("ip.dst", "10.0.0.0/24"),
    ("icmp", ""),
    ("icmp.echo", ""),
    ("icmp.echo_reply", ""),
    ("tcp", ""),
    ("tcp.sport", "1024-65535"),
    ("tcp.dport", "80"),
    ("udp", ""),
    ("udp.sport", "1024-65535"),
    ("udp.dport", "9330"),
    ("slmp", ""),
    ("slmp.eom", ""),
    ("slmp.syn", ""),
];

const ICMP: u32 = 1;
const TCP: u32 = 6;
const UDP: u32 = 17;
const SLMP_PORT: u32 = 9330;
/// The u16 of flags begins an SLMP header, behind Ethernet, IP and UDP headers.
const SLMP_FLAGS_BYTE: u32 = 42;
/// The UDP or TCP source port; ICMP's type and code.
const TRANSPORT_BYTE: u32 = 34;

/// Makes the comparisons of several rules that all must match, or of which one must.
///
/// # Errors
/// Names the rule that is none, contradicts another, looks too far, or does not fit.
pub fn compile_rules<T: AsRef<str>>(
    texts: &[T],
    mode: Mode,
    limits: &Limits,
    layout: Layout,
) -> Result<Vec<Rule>, MatchError> {
    let mut rules = Vec::new();
    for text in texts {
        let text = text.as_ref().trim();
        let parsed = parse_rule(text, layout)?;
        for rule in &parsed {
            check_reach(&format!("rule `{text}`"), rule.last_byte(), limits)?;
        }
        match mode {
            Mode::Or if parsed.len() > 1 => {
                let (rule, needed) = (text.to_string(), parsed.len());
                return Err(MatchError::OrNeedsSingle { rule, needed });
            }
            Mode::Or => rules.extend(parsed),
            Mode::And => {
                for rule in parsed {
                    add(&mut rules, rule, text)?;
                }
            }
        }
    }
    if rules.len() > limits.rules as usize {
        return Err(MatchError::TooManyRules { needed: rules.len(), available: limits.rules });
    }
    Ok(rules)
}

/// Adds a comparison that must hold too; merges it where that loses nothing.
fn add(rules: &mut Vec<Rule>, rule: Rule, text: &str) -> Result<(), MatchError> {
    if rule == Rule::ALWAYS || rules.contains(&rule) {
        return Ok(());
    }
    let mergeable =
        |other: &&mut Rule| other.index == rule.index && other.is_exact() && rule.is_exact();
    let Some(other) = rules.iter_mut().find(mergeable) else {
        rules.push(rule);
        return Ok(());
    };
    if (other.start ^ rule.start) & other.mask & rule.mask != 0 {
        return Err(MatchError::Contradiction { rule: text.to_string() });
    }
    *other = Rule::exact(rule.index, other.mask | rule.mask, other.start | rule.start);
    Ok(())
}

/// Makes the comparisons of one rule; all of them must hold.
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse_rule(text: &str, layout: Layout) -> Result<Vec<Rule>, MatchError> {
    let text = text.trim();
    if let Some(arguments) = text.strip_prefix("u32(").and_then(|rest| rest.strip_suffix(')')) {
        return parse_u32(text, arguments).map(|rule| vec![rule]);
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    };
    let Some(&(name, example)) = NAMES.iter().find(|(known, _)| *known == name) else {
        return Err(unknown(name));
    };
    let at = At { text, layout };
    match value {
        None if example.is_empty() => at.plain(name),
        None => Err(MatchError::NeedsValue { name: name.to_string(), example }),
        Some(_) if example.is_empty() => Err(MatchError::TakesNoValue { name: name.to_string() }),
        Some(value) => at.with_value(name, value),
    }
}

/// A rule's text, for messages, and where headers lie.
#[derive(Clone, Copy)]
struct At<'a> {
    text: &'a str,
    layout: Layout,
}

impl At<'_> {
    fn plain(self, name: &str) -> Result<Vec<Rule>, MatchError> {
        Ok(match name {
            "true" | "all" => vec![Rule::ALWAYS],
            "false" | "none" => vec![Rule::NEVER],
            "arp" => vec![self.ether_type(0x0806)?],
            "ip" => vec![self.ip()],
            "icmp" => self.protocol(ICMP),
            "tcp" => self.protocol(TCP),
            "udp" => self.protocol(UDP),
            // Type 8, code 0 (RFC 792); a reply is type 0.
            "icmp.echo" => self.behind_ip(ICMP, self.half(TRANSPORT_BYTE, 0xffff, 0x0800)),
            "icmp.echo_reply" => self.behind_ip(ICMP, self.half(TRANSPORT_BYTE, 0xffff, 0)),
            "slmp" => self.behind_ip(UDP, self.half(TRANSPORT_BYTE + 2, 0xffff, SLMP_PORT)),
            "slmp.eom" => vec![self.half(SLMP_FLAGS_BYTE, 0x8000, 0x8000)],
            "slmp.syn" => vec![self.half(SLMP_FLAGS_BYTE, 0x4000, 0x4000)],
            _ => return Err(unknown(name)),
        })
    }

    fn with_value(self, name: &str, value: &str) -> Result<Vec<Rule>, MatchError> {
        match name {
            "eth.type" => Ok(vec![self.ether_type(self.number(value, 0xffff)?)?]),
            "ip.proto" => Ok(self.protocol(self.number(value, 0xff)?)),
            "ip.src" => self.address(26, value),
            "ip.dst" => self.address(30, value),
            "udp.sport" => self.port(UDP, TRANSPORT_BYTE, value),
            "udp.dport" => self.port(UDP, TRANSPORT_BYTE + 2, value),
            "tcp.sport" => self.port(TCP, TRANSPORT_BYTE, value),
            "tcp.dport" => self.port(TCP, TRANSPORT_BYTE + 2, value),
            _ => Err(unknown(name)),
        }
    }

    /// Compares 16 bits at an even byte, counted from the Ethernet header.
    fn half(self, byte: u32, mask: u32, value: u32) -> Rule {
        let byte = match self.layout {
            Layout::Ethernet => byte,
            Layout::Ip => byte - 14,
        };
        let shift = if byte % 4 == 0 { 16 } else { 0 };
        Rule::exact(byte / 4, mask << shift, value << shift)
    }

    fn ether_type(self, number: u32) -> Result<Rule, MatchError> {
        match self.layout {
            Layout::Ethernet => Ok(self.half(12, 0xffff, number)),
            Layout::Ip => Err(MatchError::NoEthernet { rule: self.text.to_string() }),
        }
    }

    fn ip(self) -> Rule {
        match self.layout {
            Layout::Ethernet => self.half(12, 0xffff, 0x0800),
            // Version 4; PsPIN's own `ip_hdr_t` has the length (5) where the version belongs, and
            // no packet has version 5.
            Layout::Ip => {
                Rule { index: 0, mask: 0xf000_0000, start: 0x4000_0000, end: 0x5000_0000 }
            }
        }
    }

    fn protocol(self, number: u32) -> Vec<Rule> {
        // The protocol is the lower byte of its half-word, behind the time to live.
        vec![self.ip(), self.half(22, 0xff, number)]
    }

    fn behind_ip(self, protocol: u32, rule: Rule) -> Vec<Rule> {
        let mut rules = self.protocol(protocol);
        if self.layout == Layout::Ethernet {
            rules[0] = Rule::exact(3, 0xffff_ff00, 0x0800_4500); // version 4, 5 words of header
            rules[1] = Rule::exact(5, 0x3fff_00ff, protocol); // no further fragment, offset 0
        }
        rules.push(rule);
        rules
    }

    fn port(self, protocol: u32, byte: u32, value: &str) -> Result<Vec<Rule>, MatchError> {
        let (first, last) = value.split_once('-').unwrap_or((value, value));
        let (first, last) = (self.number(first, 0xffff)?, self.number(last, 0xffff)?);
        if last < first {
            return Err(self.bad(value, "a range of ports, the lower one first".to_string()));
        }
        let Rule { index, mask, start, .. } = self.half(byte, 0xffff, first);
        let end = self.half(byte, 0xffff, last).end;
        Ok(self.behind_ip(protocol, Rule { index, mask, start, end }))
    }

    fn address(self, byte: u32, value: &str) -> Result<Vec<Rule>, MatchError> {
        let (address, bits) = value.split_once('/').unwrap_or((value, "32"));
        let bits = self.number(bits, 32)?;
        let Ok(address) = address.trim().parse::<Ipv4Addr>() else {
            let expected = "an IPv4 address, or one with a prefix as 10.0.0.0/24";
            return Err(self.bad(value, expected.to_string()));
        };
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        let address = u32::from(address) & mask;
        // Behind Ethernet the addresses straddle words.
        let mut rules = vec![self.ip()];
        let high = self.half(byte, mask >> 16, address >> 16);
        let low = self.half(byte + 2, mask & 0xffff, address & 0xffff);
        for rule in [high, low].into_iter().filter(|rule| rule.mask != 0) {
            add(&mut rules, rule, self.text)?;
        }
        Ok(rules)
    }

    fn number(self, text: &str, most: u32) -> Result<u32, MatchError> {
        parse_number(text)
            .filter(|&number| number <= most)
            .ok_or_else(|| self.bad(text, format!("a number from 0 to {most} (decimal or 0x…)")))
    }

    fn bad(self, value: &str, expected: String) -> MatchError {
        MatchError::BadValue { rule: self.text.to_string(), value: value.to_string(), expected }
    }
}

fn parse_u32(text: &str, arguments: &str) -> Result<Rule, MatchError> {
    let bad = |value: &str, expected: &str| MatchError::BadValue {
        rule: text.to_string(),
        value: value.trim().to_string(),
        expected: expected.to_string(),
    };
    let mut numbers = [0; 4];
    let parts: Vec<&str> = arguments.split(',').collect();
    if parts.len() != 4 {
        return Err(bad(arguments, "of the form u32(index, mask, start, end)"));
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number =
            parse_number(part).ok_or_else(|| bad(part, "a number below 2^32 (decimal or 0x…)"))?;
    }
    let [index, mask, start, end] = numbers;
    Ok(Rule { index, mask, start, end })
}

fn unknown(name: &str) -> MatchError {
    let distance = |known: &&(&str, &str)| strsim::damerau_levenshtein(name, known.0);
    let &(nearest, example) = NAMES.iter().min_by_key(distance).unwrap_or(&NAMES[0]);
    let value = if example.is_empty() { "" } else { "=…" };
    MatchError::UnknownRule { name: name.to_string(), nearest: format!("{nearest}{value}") }
}
