//! Reads a specification. In: text. Out: a [`GeneratorSpec`], or an error that names what is wrong
//! and the nearest right word.

use super::{GeneratorError, GeneratorSpec, Kind, Order, Payload, SizeMix, Syn, Ycsb};
use crate::capture::LinkType;
use crate::frame::{Endpoints, SLMP_PORT};
use crate::pacing::WireBits;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::str::FromStr;

const KINDS: [(&str, Kind); 4] =
    [("udp", Kind::Udp), ("icmp", Kind::Icmp), ("raw", Kind::Raw), ("slmp", Kind::Slmp)];

/// Every key and the kinds it applies to.
const KEYS: [(&str, &[Kind]); 24] = [
    ("size", ALL),
    ("count", ALL),
    ("messages", ALL),
    ("packets", ALL),
    ("bytes", ALL),
    ("order", ALL),
    ("rate", ALL),
    ("wire", ALL),
    ("link", IP),
    ("src", IP),
    ("dst", IP),
    ("smac", ALL),
    ("dmac", ALL),
    ("sources", IP),
    ("sport", &[Kind::Udp, Kind::Slmp]),
    ("dport", &[Kind::Udp]),
    ("id", &[Kind::Icmp, Kind::Raw, Kind::Slmp]),
    ("syn", &[Kind::Slmp]),
    ("payload", ALL),
    ("below", ALL),
    ("records", ALL),
    ("theta", ALL),
    ("reads", ALL),
    ("seed", ALL),
];
const ALL: &[Kind] = &[Kind::Udp, Kind::Icmp, Kind::Raw, Kind::Slmp];
const IP: &[Kind] = &[Kind::Udp, Kind::Icmp, Kind::Slmp];

type Pairs = BTreeMap<&'static str, String>;

impl FromStr for GeneratorSpec {
    type Err = GeneratorError;

    fn from_str(text: &str) -> Result<Self, GeneratorError> {
        Self::default().with(text, &[], "")
    }
}

impl GeneratorSpec {
    /// Reads a specification (see the module for its form).
    ///
    /// # Errors
    /// Names the wrong part and the nearest right word.
    pub fn parse(text: &str) -> Result<Self, GeneratorError> {
        text.parse()
    }

    /// Changes a specification as text says. Keys in `refused` do not apply to `context`.
    ///
    /// # Errors
    /// Names the wrong part and the nearest right word.
    pub fn with(self, text: &str, refused: &[&str], context: &str) -> Result<Self, GeneratorError> {
        let mut parts = text.split(',').map(str::trim);
        let kind = read_kind(parts.next().unwrap_or_default())?;
        let pairs = read_pairs(kind, parts)?;
        if let Some(key) = refused.iter().find(|key| pairs.contains_key(*key)) {
            let (key, context) = ((*key).to_string(), context.to_string());
            return Err(GeneratorError::NotApplicable { key, context });
        }
        let mut spec = Self { kind, ..self };
        read_traffic(&mut spec, &pairs)?;
        read_payload(&mut spec, &pairs)?;
        read_addresses(&mut spec, &pairs)?;
        read_counts(&mut spec, &pairs)?;
        spec.check_sizes()?;
        read_message_bytes(&mut spec, &pairs)?;
        Ok(spec)
    }
}

fn read_kind(word: &str) -> Result<Kind, GeneratorError> {
    if let Some(&(_, kind)) = KINDS.iter().find(|(name, _)| *name == word) {
        return Ok(kind);
    }
    let nearest = nearest(word, KINDS.iter().map(|&(name, _)| name));
    Err(GeneratorError::UnknownKind { kind: word.to_string(), nearest })
}

fn read_pairs<'a>(
    kind: Kind,
    parts: impl Iterator<Item = &'a str>,
) -> Result<Pairs, GeneratorError> {
    let mut pairs = Pairs::new();
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            return Err(GeneratorError::NotAPair { part: part.to_string() });
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(&(name, kinds)) = KEYS.iter().find(|(name, _)| *name == key) else {
            // Only what this kind of traffic takes helps.
            let names =
                || KEYS.iter().filter(|(_, kinds)| kinds.contains(&kind)).map(|&(name, _)| name);
            return Err(GeneratorError::UnknownKey {
                kind,
                key: key.to_string(),
                nearest: nearest(key, names()),
                all: names().collect::<Vec<_>>().join(", "),
            });
        };
        if !kinds.contains(&kind) {
            let context = kind.to_string();
            return Err(GeneratorError::NotApplicable { key: key.to_string(), context });
        }
        if pairs.insert(name, value.to_string()).is_some() {
            return Err(GeneratorError::Repeated { key: key.to_string() });
        }
    }
    Ok(pairs)
}

fn read_traffic(spec: &mut GeneratorSpec, pairs: &Pairs) -> Result<(), GeneratorError> {
    if let Some(text) = pairs.get("size") {
        let expected = "bytes as `512`, or bytes:weight pairs as `64:7/570:4/1518:1`";
        spec.sizes = read_mix(text).ok_or_else(|| bad("size", text, expected))?;
    }
    if let Some(text) = pairs.get("rate") {
        spec.rate = text.parse()?;
    }
    let wires = [("frame", WireBits::Frame), ("ethernet", WireBits::Ethernet)];
    choose(&mut spec.wire, pairs, "wire", &wires)?;
    let links = [("ethernet", LinkType::Ethernet), ("ip", LinkType::RawIp)];
    choose(&mut spec.link, pairs, "link", &links)?;
    let syns = [("none", Syn::None), ("ends", Syn::Ends), ("all", Syn::All)];
    choose(&mut spec.syn, pairs, "syn", &syns)?;
    if let Some(text) = pairs.get("order") {
        let expected = "`sequential`, `interleaved` or `interleaved:16`";
        spec.order = read_order(text).ok_or_else(|| bad("order", text, expected))?;
    }
    number(&mut spec.seed, pairs, "seed", "a whole number")?;
    number(&mut spec.id, pairs, "id", "a whole number below 2^32")
}

fn read_payload(spec: &mut GeneratorSpec, pairs: &Pairs) -> Result<(), GeneratorError> {
    let fills = [
        ("random", Payload::Random),
        ("zero", Payload::Zero),
        ("ramp", Payload::Ramp),
        ("integers", Payload::Integers { below: u32::MAX }),
        ("ycsb", Payload::Ycsb(Ycsb::default())),
    ];
    choose(&mut spec.payload, pairs, "payload", &fills)?;
    let needs = [("below", "integers"), ("records", "ycsb"), ("theta", "ycsb"), ("reads", "ycsb")];
    let given = pairs.get("payload").map_or("random", String::as_str);
    let is_wrong = |(key, fill): &&(&str, &str)| pairs.contains_key(key) && *fill != given;
    if let Some((key, _)) = needs.iter().find(is_wrong) {
        let context = format!("payload={given}");
        return Err(GeneratorError::NotApplicable { key: (*key).to_string(), context });
    }
    match &mut spec.payload {
        Payload::Random | Payload::Zero | Payload::Ramp => Ok(()),
        Payload::Integers { below } => {
            within(below, pairs, "below", 1..=u32::MAX, "a whole number from 1 to 4294967295")
        }
        Payload::Ycsb(ycsb) => {
            let records = "a number of keys from 1 to 4294967295";
            within(&mut ycsb.records, pairs, "records", 1..=u32::MAX, records)?;
            within(&mut ycsb.theta, pairs, "theta", 0.0..=100.0, "an exponent from 0 to 100")?;
            within(&mut ycsb.reads, pairs, "reads", 0.0..=1.0, "a share from 0 to 1")
        }
    }
}

/// Cuts messages of a fixed number of bytes into frames.
fn read_message_bytes(spec: &mut GeneratorSpec, pairs: &Pairs) -> Result<(), GeneratorError> {
    let Some(text) = pairs.get("bytes") else { return Ok(()) };
    if let Some(key) = ["count", "packets"].into_iter().find(|key| pairs.contains_key(key)) {
        let context = "bytes=".to_string();
        return Err(GeneratorError::NotApplicable { key: key.to_string(), context });
    }
    let bytes = text.parse().ok().filter(|bytes| (1..=1 << 40).contains(bytes));
    let expected = "a number of bytes from 1 to 1099511627776";
    spec.message_bytes = Some(bytes.ok_or_else(|| bad("bytes", text, expected))?);
    spec.cut_messages()
}

fn read_addresses(spec: &mut GeneratorSpec, pairs: &Pairs) -> Result<(), GeneratorError> {
    let Endpoints { mut src, mut dst, .. } = spec.ends;
    let address = "an IPv4 address as `10.0.0.1`";
    number::<Ipv4Addr>(&mut src, pairs, "src", address)?;
    number::<Ipv4Addr>(&mut dst, pairs, "dst", address)?;
    spec.ends = Endpoints::between(src, dst);
    for (key, mac) in [("smac", &mut spec.ends.src_mac), ("dmac", &mut spec.ends.dst_mac)] {
        let Some(text) = pairs.get(key) else { continue };
        if spec.link == LinkType::RawIp {
            let context = "link=ip".to_string();
            return Err(GeneratorError::NotApplicable { key: key.to_string(), context });
        }
        *mac = read_mac(text)
            .ok_or_else(|| bad(key, text, "a hardware address as `02:00:00:00:00:01`"))?;
    }
    if spec.kind == Kind::Slmp {
        spec.dst_port = SLMP_PORT;
    }
    let sources = "a number of addresses from 1 to 4294967295";
    within(&mut spec.sources, pairs, "sources", 1..=u32::MAX, sources)?;
    let port = "a port from 0 to 65535";
    number(&mut spec.src_port, pairs, "sport", port)?;
    number(&mut spec.dst_port, pairs, "dport", port)
}

fn read_counts(spec: &mut GeneratorSpec, pairs: &Pairs) -> Result<(), GeneratorError> {
    let read = |key: &str, most: u64| -> Result<Option<u64>, GeneratorError> {
        let Some(text) = pairs.get(key) else { return Ok(None) };
        match text.parse() {
            Ok(n) if (1..=most).contains(&n) => Ok(Some(n)),
            _ => Err(bad(key, text, &format!("a whole number from 1 to {most}"))),
        }
    };
    let count = read("count", u64::MAX)?;
    let (messages, packets) =
        (read("messages", u64::from(u32::MAX))?, read("packets", u64::MAX >> 32)?);
    let split = |count: u64, by: u64| {
        let (messages, packets) = match messages {
            Some(messages) => (messages, count / by),
            None => (count / by, by),
        };
        let right = messages.checked_mul(packets) == Some(count) && messages <= u32::MAX.into();
        if right {
            Ok((messages, packets))
        } else {
            Err(GeneratorError::CountMismatch { count, messages, packets: packets.max(1) })
        }
    };
    let (messages, packets) = match (count, messages, packets) {
        (None, None, None) => (1, spec.packets),
        (Some(count), None, None) => (1, count),
        (None, messages, packets) => (messages.unwrap_or(1), packets.unwrap_or(1)),
        (Some(count), Some(messages), Some(packets)) => {
            if messages.checked_mul(packets) != Some(count) {
                return Err(GeneratorError::CountMismatch { count, messages, packets });
            }
            (messages, packets)
        }
        (Some(count), Some(by), None) | (Some(count), None, Some(by)) => split(count, by)?,
    };
    (spec.messages, spec.packets) = (messages as u32, packets);
    Ok(())
}

fn read_mix(text: &str) -> Option<SizeMix> {
    let mut entries = Vec::new();
    for part in text.split('/') {
        let (bytes, weight) = part.split_once(':').unwrap_or((part, "1"));
        entries.push((bytes.trim().parse().ok()?, weight.trim().parse().ok()?));
    }
    SizeMix::weighted(entries)
}

fn read_order(text: &str) -> Option<Order> {
    match text {
        "sequential" => Some(Order::Sequential),
        "interleaved" => Some(Order::Interleaved(u32::MAX)),
        _ => match text.strip_prefix("interleaved:")?.parse() {
            Ok(0) | Err(_) => None,
            Ok(most) => Some(Order::Interleaved(most)),
        },
    }
}

fn read_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts.next().filter(|part| matches!(part.len(), 1 | 2))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

fn choose<T: Copy>(
    field: &mut T,
    pairs: &Pairs,
    key: &str,
    choices: &[(&str, T)],
) -> Result<(), GeneratorError> {
    let Some(text) = pairs.get(key) else { return Ok(()) };
    let Some(&(_, choice)) = choices.iter().find(|(name, _)| name == text) else {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        return Err(bad(key, text, &names.join(" or ")));
    };
    *field = choice;
    Ok(())
}

fn number<T: FromStr>(
    field: &mut T,
    pairs: &Pairs,
    key: &str,
    expected: &str,
) -> Result<(), GeneratorError> {
    if let Some(text) = pairs.get(key) {
        *field = text.parse().map_err(|_| bad(key, text, expected))?;
    }
    Ok(())
}

/// Reads a number that must lie in a range.
fn within<T: FromStr + PartialOrd + Copy>(
    field: &mut T,
    pairs: &Pairs,
    key: &str,
    range: RangeInclusive<T>,
    expected: &str,
) -> Result<(), GeneratorError> {
    number(field, pairs, key, expected)?;
    match pairs.get(key) {
        Some(text) if !range.contains(field) => Err(bad(key, text, expected)),
        _ => Ok(()),
    }
}

fn bad(key: &str, value: &str, expected: &str) -> GeneratorError {
    let (key, value, expected) = (key.to_string(), value.to_string(), expected.to_string());
    GeneratorError::BadValue { key, value, expected }
}

fn nearest(word: &str, names: impl Iterator<Item = &'static str>) -> &'static str {
    names.min_by_key(|name| strsim::damerau_levenshtein(word, name)).unwrap_or_default()
}
