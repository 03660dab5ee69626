//! A packet as people write it: `{ udp = "10.0.0.1:4000 > 10.0.0.2:9", text = "hello" }` comes in, a
//! frame goes out, or what a frame differs in.

use std::net::Ipv4Addr;

use pinion_net::frame::{
    self, Content, Endpoints, build_icmp_echo_reply, build_icmp_echo_request, build_udp_frame,
};
use pinion_sim::config::Duration;
use serde::Deserialize;

/// Bytes that a difference shows at most.
const SHOWN_BYTES: usize = 32;

/// A packet that comes in, or must come out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packet {
    /// Addresses and ports of a UDP datagram: `"A:PORT > B:PORT"`.
    udp: Option<String>,
    /// Addresses of an ICMP echo request: `"A > B"`.
    echo_request: Option<String>,
    /// Those of an echo reply.
    echo_reply: Option<String>,
    /// A whole frame, in hexadecimal digits.
    frame: Option<String>,
    /// Identifier and sequence number of an echo; 1 and 1 without.
    echo: Option<[u16; 2]>,
    /// The payload as text.
    text: Option<String>,
    /// The payload in hexadecimal digits.
    hex: Option<String>,
    /// The payload as 32-bit words, the least significant byte first.
    u32: Option<Vec<u32>>,
    /// The payload as 32-bit words, the most significant byte first.
    u32_be: Option<Vec<u32>>,
    /// The payload as so many zeros.
    zeros: Option<usize>,
    /// When it comes in, counted from the beginning; with the one before it without.
    pub at: Option<Duration>,
}

/// Addresses and ports on both sides.
type Ends = ((Ipv4Addr, u16), (Ipv4Addr, u16));

impl Packet {
    /// Makes the frame.
    ///
    /// # Errors
    /// What is wrong with what was written.
    pub fn build(&self) -> Result<Vec<u8>, String> {
        self.check()?;
        if let Some(text) = &self.frame {
            return hexadecimal(text);
        }
        let payload = self.payload()?.unwrap_or_default();
        let [id, sequence] = self.echo.unwrap_or([1, 1]);
        let built = if let Some(text) = &self.udp {
            let (from, to) = ends(text, true)?;
            build_udp_frame(&Endpoints::between(from.0, to.0), from.1, to.1, &payload)
        } else if let Some(text) = &self.echo_request {
            let (from, to) = ends(text, false)?;
            build_icmp_echo_request(&Endpoints::between(from.0, to.0), id, sequence, &payload)
        } else {
            let (from, to) = ends(self.echo_reply.as_deref().unwrap_or_default(), false)?;
            build_icmp_echo_reply(&Endpoints::between(from.0, to.0), id, sequence, &payload)
        };
        built.map_err(|error| error.to_string())
    }

    /// Checks that it says one thing, and not two.
    ///
    /// # Errors
    /// What is wrong with what was written.
    pub fn check(&self) -> Result<(), String> {
        let kinds = [&self.udp, &self.echo_request, &self.echo_reply, &self.frame];
        if kinds.iter().filter(|kind| kind.is_some()).count() != 1 {
            let why = "a packet is one of udp, echo_request, echo_reply and frame";
            return Err(why.to_owned());
        }
        let payloads = [
            self.text.is_some(),
            self.hex.is_some(),
            self.u32.is_some(),
            self.u32_be.is_some(),
            self.zeros.is_some(),
        ];
        let payloads = payloads.iter().filter(|given| **given).count();
        if payloads > 1 {
            return Err("a payload is one of text, hex, u32, u32_be and zeros".to_owned());
        }
        if self.frame.is_some() && payloads > 0 {
            return Err("frame is the whole packet: it takes no payload beside".to_owned());
        }
        if self.echo.is_some() && self.echo_request.is_none() && self.echo_reply.is_none() {
            return Err("echo goes with echo_request and echo_reply".to_owned());
        }
        if let Some(text) = &self.frame {
            hexadecimal(text)?;
        } else {
            let kind = kinds.into_iter().flatten().next().map_or("", String::as_str);
            ends(kind, self.udp.is_some())?;
        }
        self.payload().map(|_| ())
    }

    /// Gives the payload that is written; `None`: any.
    fn payload(&self) -> Result<Option<Vec<u8>>, String> {
        Ok(if let Some(text) = &self.text {
            Some(text.clone().into_bytes())
        } else if let Some(text) = &self.hex {
            Some(hexadecimal(text)?)
        } else if let Some(words) = &self.u32 {
            Some(words.iter().flat_map(|word| word.to_le_bytes()).collect())
        } else if let Some(words) = &self.u32_be {
            Some(words.iter().flat_map(|word| word.to_be_bytes()).collect())
        } else {
            self.zeros.map(|count| vec![0; count])
        })
    }

    /// Says what a frame differs in; `None`: in nothing that was written.
    pub fn difference(&self, got: &[u8]) -> Option<String> {
        if let Some(text) = &self.frame {
            let wanted = hexadecimal(text).unwrap_or_default();
            return bytes_difference("the frame", &wanted, got);
        }
        let parsed = match frame::parse(got) {
            Ok(parsed) => parsed,
            Err(error) => return Some(format!("it is no frame: {error}; it is {}", shown(got))),
        };
        let (src, dst) = parsed.ipv4.map_or((None, None), |ip| (Some(ip.src), Some(ip.dst)));
        let addresses = |(from, to): Ends| src == Some(from.0) && dst == Some(to.0);
        let wanted = [&self.udp, &self.echo_request, &self.echo_reply];
        let wanted = wanted.into_iter().flatten().next().map_or("", String::as_str);
        let known = ends(wanted, self.udp.is_some()).ok()?;
        let (fits, payload) = match parsed.content {
            Content::Udp { src_port, dst_port, payload } => {
                let ports = (src_port, dst_port) == (known.0.1, known.1.1);
                (self.udp.is_some() && addresses(known) && ports, payload)
            }
            Content::IcmpEcho { is_request, id, sequence, payload } => {
                let kind = if is_request {
                    self.echo_request.is_some()
                } else {
                    self.echo_reply.is_some()
                };
                let numbers = self.echo.is_none_or(|numbers| numbers == [id, sequence]);
                (kind && addresses(known) && numbers, payload)
            }
            _ => (false, got),
        };
        if !fits {
            return Some(format!("expected {}, got {}", self.describe(), describe(got)));
        }
        if let Ok(sums) = frame::verify_checksums(got)
            && !(sums.ipv4_good && sums.transport_good)
        {
            let which = if sums.ipv4_good { "UDP's or ICMP's" } else { "IP's" };
            return Some(format!("{which} checksum is wrong: {}", describe(got)));
        }
        let wanted = self.payload().ok()??;
        bytes_difference("the payload", &wanted, payload)
    }

    /// Writes what is expected in short.
    fn describe(&self) -> String {
        if let Some(text) = &self.udp {
            return format!("UDP {text}");
        }
        let request = self.echo_request.as_ref().map(|text| format!("echo request {text}"));
        let reply = || self.echo_reply.as_ref().map(|text| format!("echo reply {text}"));
        request.or_else(reply).unwrap_or_else(|| "a frame".to_owned())
    }
}

/// Writes a frame in short.
pub fn describe(got: &[u8]) -> String {
    let Ok(parsed) = frame::parse(got) else { return format!("{} bytes, no frame", got.len()) };
    let (src, dst) = parsed
        .ipv4
        .map_or(("?".to_owned(), "?".to_owned()), |ip| (ip.src.to_string(), ip.dst.to_string()));
    match parsed.content {
        Content::Udp { src_port, dst_port, payload } => {
            format!("UDP {src}:{src_port} > {dst}:{dst_port} with {}", shown(payload))
        }
        Content::IcmpEcho { is_request, id, sequence, payload } => {
            let kind = if is_request { "request" } else { "reply" };
            format!("echo {kind} {src} > {dst}, {id}, {sequence}, with {}", shown(payload))
        }
        Content::Arp(_) => "an ARP message".to_owned(),
        Content::Other => format!("a frame of {}", shown(got)),
    }
}

/// Says where bytes begin to differ; `None`: nowhere.
pub fn bytes_difference(what: &str, wanted: &[u8], got: &[u8]) -> Option<String> {
    if wanted == got {
        return None;
    }
    let at = wanted.iter().zip(got).position(|(wanted, got)| wanted != got);
    let at = at.unwrap_or_else(|| wanted.len().min(got.len()));
    let from = at & !3;
    let tail = |bytes: &[u8]| shown(bytes.get(from..).unwrap_or(&[]));
    let length = match (wanted.len(), got.len()) {
        (wanted, got) if wanted == got => String::new(),
        (wanted, got) => format!(" ({wanted} bytes expected, {got} came)"),
    };
    let (wanted, got) = (tail(wanted), tail(got));
    Some(format!(
        "{what} differs from byte {at} on{length}: from byte {from}, expected {wanted}, got {got}"
    ))
}

/// Writes the first of some bytes.
fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    let digits: Vec<String> =
        bytes.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let more = bytes.len().saturating_sub(SHOWN_BYTES);
    let more = if more > 0 { format!(" and {more} bytes more") } else { String::new() };
    format!("{}{more}", digits.join(" "))
}

/// Reads hexadecimal digits, with or without spaces.
pub fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    if digits.len() % 2 == 1 {
        return Err(format!("`{text}`: a byte has two hexadecimal digits"));
    }
    let byte = |pair: &[char]| {
        let pair: String = pair.iter().collect();
        u8::from_str_radix(&pair, 16).map_err(|_| format!("`{pair}` is no hexadecimal byte"))
    };
    digits.chunks(2).map(byte).collect()
}

/// Reads `A:PORT > B:PORT`, or `A > B` without ports.
fn ends(text: &str, ports: bool) -> Result<Ends, String> {
    let form = if ports { "10.0.0.1:4000 > 10.0.0.2:9" } else { "10.0.0.1 > 10.0.0.2" };
    let wrong = || format!("`{text}`: write it as \"{form}\"");
    let (from, to) = text.split_once('>').ok_or_else(wrong)?;
    let end = |text: &str| match ports {
        true => {
            let (address, port) = text.trim().rsplit_once(':')?;
            Some((address.parse().ok()?, port.parse().ok()?))
        }
        false => Some((text.trim().parse().ok()?, 0)),
    };
    Ok((end(from).ok_or_else(wrong)?, end(to).ok_or_else(wrong)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str) -> Packet {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_built_is_what_was_written() {
        for text in [
            "udp = '10.0.0.1:4000 > 10.0.0.2:9'\ntext = 'hello'",
            "udp = '10.0.0.1:4000 > 10.0.0.2:9'\nu32 = [1, 2]",
            "echo_request = '10.0.0.1 > 10.0.0.2'\nzeros = 40",
            "echo_reply = '10.0.0.1 > 10.0.0.2'\necho = [7, 9]\nhex = '00 ff'",
        ] {
            let frame = packet(text).build().unwrap();
            assert_eq!(packet(text).difference(&frame), None, "{text}");
            let mut other = frame.clone();
            *other.last_mut().unwrap() ^= 1;
            assert!(packet(text).difference(&other).is_some(), "{text}: a byte, or its checksum");
        }
    }

    #[test]
    fn differences_are_named() {
        let wanted = packet("udp = '10.0.0.2:9 > 10.0.0.1:4000'\nu32_be = [1, 3]");
        let other = packet("udp = '10.0.0.2:9 > 10.0.0.1:4001'").build().unwrap();
        let said = wanted.difference(&other).unwrap();
        assert!(said.contains("expected UDP") && said.contains(":4001"), "{said}");
        let other = packet("udp = '10.0.0.2:9 > 10.0.0.1:4000'\nu32_be = [1, 2]").build().unwrap();
        let said = wanted.difference(&other).unwrap();
        assert!(said.contains("byte 7") && said.contains("expected 00 00 00 03"), "{said}");
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("text = 'a'", "one of udp"),
            ("udp = '10.0.0.1 > 10.0.0.2'", "10.0.0.1:4000 > 10.0.0.2:9"),
            ("udp = '10.0.0.1:1 > 10.0.0.2:9'\ntext = 'a'\nhex = '00'", "one of text"),
            ("frame = '0'", "two hexadecimal"),
            ("frame = '0g'", "`0g`"),
            ("udp = '10.0.0.1:1 > 10.0.0.2:9'\necho = [1, 2]", "echo goes"),
        ] {
            let said = packet(text).check().unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
