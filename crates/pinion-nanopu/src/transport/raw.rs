//! Messages of one packet, without acknowledgements: the prototype of the paper's earlier draft,
//! which implements no transport (draft §4) and assumes that nothing is lost.
//!
//! In and out: frames in NDP's layout, with the protocol number for experiments (RFC 3692), so that
//! every frame is one word of headers and one packet. Holds nothing.

use pinion_net::frame::lnic::{Flags, Header};

use super::{Address, DropReason, Externs, Outgoing, SendRules, Transport, Verdict, data_header};
pub use crate::machine::transport::RAW_PROTOCOL;

/// Carries one message per frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw;

impl Transport for Raw {
    fn name(&self) -> &'static str {
        "raw"
    }

    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        Ok(Header::parse(frame, RAW_PROTOCOL)?)
    }

    fn arrive(&mut self, header: &Header, _payload: &[u8], _externs: &mut dyn Externs) -> Verdict {
        if header.flags == Flags::DATA { Verdict::Whole } else { Verdict::Consume }
    }

    fn send_rules(&self) -> SendRules {
        SendRules {
            acknowledged: false,
            initial_credit: Some(1),
            max_packets: Some(1),
            nack_resends: false,
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, _again: bool, own: &Address) -> Header {
        Header { protocol: RAW_PROTOCOL, ..data_header(message, packet, own) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Asked;
    use super::*;

    #[test]
    fn a_message_is_a_frame() {
        let message = Outgoing { dst_ip: 9, dst_context: 3, msg_len: 8, ..Outgoing::default() };
        let header = Raw.data(&message, 0, false, &Address::default());
        let mut frame = Vec::new();
        Raw.write(&header, &[7; 8], &mut frame);
        assert_eq!(frame.len(), 72);
        let (back, payload) = Raw.parse(&frame).unwrap();
        assert_eq!((back, payload), (header, &[7; 8][..]));
        let mut asked = Asked::default();
        assert_eq!(Raw.arrive(&back, payload, &mut asked), Verdict::Whole);
        assert!(asked.controls.is_empty());
    }

    #[test]
    fn other_protocols_are_left_alone() {
        let frame = Header { protocol: 0x99, ..Header::default() }.frame(&[0; 8]);
        assert_eq!(Raw.parse(&frame), Err(DropReason::Protocol));
    }
}
