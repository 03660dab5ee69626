//! A packet for people: its headers in words, its first bytes in hexadecimal.

use pinion_net::frame::{Content, Parsed, SLMP_PORT, SlmpHeader, parse, parse_ip};

/// Shows so many bytes.
pub const SHOWN_BYTES: usize = 64;
/// Shows so many of them in a line.
const LINE_BYTES: usize = 16;

/// Says what a packet's headers say, from the outside in; `starts_with_ip`: there is no Ethernet
/// header.
pub fn headers(packet: &[u8], starts_with_ip: bool) -> Vec<String> {
    let parsed = if starts_with_ip { parse_ip(packet) } else { parse(packet) };
    match parsed {
        Ok(parsed) => describe(&parsed),
        Err(error) => vec![error.to_string()],
    }
}

fn describe(parsed: &Parsed<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ethernet) = &parsed.ethernet {
        let (from, to) = (mac(&ethernet.src), mac(&ethernet.dst));
        lines.push(format!("Ethernet {from} > {to}, type {:#06x}", ethernet.ether_type));
    }
    if let Some(ip) = &parsed.ipv4 {
        let part = if ip.is_fragment { ", a fragment" } else { "" };
        lines.push(format!(
            "IPv4 {} > {}, protocol {}, {} B{part}",
            ip.src, ip.dst, ip.protocol, ip.total_bytes
        ));
    }
    match parsed.content {
        Content::Udp { src_port, dst_port, payload } => {
            lines.push(format!("UDP {src_port} > {dst_port}, {} B of data", payload.len()));
            let slmp = [src_port, dst_port].contains(&SLMP_PORT);
            if let Some((header, _)) = slmp.then(|| SlmpHeader::split(payload)).flatten() {
                lines.push(slmp_header(&header));
            }
        }
        Content::IcmpEcho { is_request, id, sequence, payload } => {
            let kind = if is_request { "request" } else { "reply" };
            let bytes = payload.len();
            lines
                .push(format!("ICMP echo {kind}, id {id}, sequence {sequence}, {bytes} B of data"));
        }
        Content::Arp(arp) => {
            let kind = if arp.is_request { "who has" } else { "reply to" };
            lines.push(format!("ARP {kind} {}, from {}", arp.target, arp.sender));
        }
        Content::Other => {}
    }
    lines
}

fn slmp_header(header: &SlmpHeader) -> String {
    let flags = [(SlmpHeader::SYN, " SYN"), (SlmpHeader::ACK, " ACK"), (SlmpHeader::EOM, " EOM")];
    let set = flags.iter().filter(|(flag, _)| header.flags & flag != 0);
    let set: String = set.map(|(_, name)| *name).collect();
    format!("SLMP message {}, offset {} B,{set}", header.message_id, header.offset_bytes)
        .trim_end_matches(',')
        .to_owned()
}

fn mac(address: &[u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// Writes the first bytes, offsets in front.
pub fn bytes(packet: &[u8]) -> Vec<String> {
    let shown = &packet[..packet.len().min(SHOWN_BYTES)];
    let line = |(index, bytes): (usize, &[u8])| {
        let each: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:04x}  {}", index * LINE_BYTES, each.join(" "))
    };
    shown.chunks(LINE_BYTES).enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use pinion_net::frame::{Endpoints, build_udp_frame};

    use super::*;

    #[test]
    fn headers_are_told_from_the_outside_in() {
        let frame = build_udp_frame(&Endpoints::default(), 7, 9, &[1; 100]).unwrap();
        let lines = headers(&frame, false);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("Ethernet "), "{lines:?}");
        assert_eq!(lines[2], "UDP 7 > 9, 100 B of data");
        assert_eq!(headers(&frame[14..], true), lines[1..]);
        assert!(headers(&frame[..20], false)[0].contains("not a well-formed frame"));
        let shown = bytes(&frame);
        assert_eq!(shown.len(), 4);
        assert!(shown[3].starts_with("0030  "), "{shown:?}");
        assert_eq!(bytes(&[1, 2]), ["0000  01 02"]);
    }
}
