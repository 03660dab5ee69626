//! Captures: pcap and pcapng.

use std::io::Cursor;

use pinion_net::capture::{CaptureReader, CutPackets};

use super::Target;

pub const PCAP: Target = Target::bytes("pcap", capture, 5000).seeds(&[
    "examples/icmp_echo/*.pcap",
    "examples/udp_echo/*.pcap",
    "examples/slmp/*.pcap",
]);
pub const PCAPNG: Target = Target::bytes("pcapng", capture, 5000);

fn capture(input: &[u8]) -> String {
    let mut said = String::new();
    for policy in [CutPackets::Refuse, CutPackets::Keep] {
        let reader = CaptureReader::from_reader(Box::new(Cursor::new(input.to_vec())), "input");
        let mut reader = match reader {
            Ok(reader) => reader.cut_packets(policy),
            Err(error) => return error.to_string(),
        };
        // Behind an error it may go on; every step takes at least a byte.
        let mut steps = 0;
        loop {
            assert!(steps <= 2 * input.len() + 2, "it never ends");
            steps += 1;
            match reader.next_frame() {
                Ok(Some(frame)) => assert!(frame.bytes.len() <= input.len()),
                Ok(None) => break,
                Err(error) => said = error.to_string(),
            }
        }
        said.push_str(&format!(" {:?}", reader.link_type()));
    }
    said
}
