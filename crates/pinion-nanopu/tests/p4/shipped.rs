//! The transports that are programs which Pinion comes with do what their protocols say.

use pinion_net::frame::lnic::Header;
use pinion_net::frame::verify_checksums;

use pinion_nanopu::machine::transport::TransportKind;
use pinion_nanopu::transport::{Address, DropReason, Outgoing, Transport, Verdict};

use crate::Nic;
use crate::make::shipped;

/// Makes UDP whose context 0 is this port.
fn udp_from(port_base: u16) -> Box<dyn Transport> {
    shipped(TransportKind::Udp, port_base)
}

#[test]
fn a_message_is_a_frame() {
    let mut raw = shipped(TransportKind::Raw, 0);
    let message = Outgoing { dst_ip: 9, dst_context: 3, msg_len: 8, ..Outgoing::default() };
    let header = raw.data(&message, 0, false, &Address::default());
    let mut frame = Vec::new();
    raw.write(&header, &[7; 8], &mut frame);
    assert_eq!(frame.len(), 72);
    let (back, payload) = raw.parse(&frame).unwrap();
    assert_eq!((back, payload), (header, &[7; 8][..]));
    let mut asked = Nic::default();
    assert_eq!(raw.arrive(&back, &[7; 8], &mut asked), Verdict::Whole);
    assert!(asked.controls.is_empty());
    assert_eq!(raw.name(), "raw");
}

#[test]
fn other_protocols_are_left_alone() {
    let frame = Header { protocol: 0x99, ..Header::default() }.frame(&[0; 8]);
    let mut raw = shipped(TransportKind::Raw, 0);
    assert_eq!(raw.parse(&frame), Err(DropReason::Protocol));
}

const OWN: Address =
    Address { mac: [2, 0, 0, 0, 0, 2], next_hop_mac: [2, 0, 0, 0, 0, 1], ip: 0x0a00_0002 };

/// Builds a datagram from port 40000 of 10.0.0.1 to `port` of 10.0.0.2.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    // Its ports begin at 0, so that contexts are ports.
    let message = Outgoing {
        dst_ip: OWN.ip,
        src_context: 40_000,
        dst_context: port,
        msg_len: payload.len() as u16,
        ..Outgoing::default()
    };
    let sender = Address { ip: 0x0a00_0001, ..OWN };
    let (mut udp, mut frame) = (udp_from(0), Vec::new());
    let header = udp.data(&message, 0, false, &sender);
    udp.write(&header, payload, &mut frame);
    frame
}

#[test]
fn a_datagram_is_a_message_and_its_answer_a_datagram() {
    let mut udp = udp_from(9000);
    let frame = datagram(9002, b"question");
    let (header, payload) = udp.parse(&frame).unwrap();
    assert_eq!(payload, b"question");
    assert_eq!((header.dst_context, header.src_context, header.msg_len), (2, 40_000, 8));
    let payload = payload.to_vec();
    assert_eq!(udp.arrive(&header, &payload, &mut Nic::default()), Verdict::Whole);
    let message = Outgoing {
        dst_ip: header.src_ip,
        src_context: header.dst_context,
        dst_context: header.src_context,
        msg_len: 6,
        ..Outgoing::default()
    };
    let answer = udp.data(&message, 0, false, &OWN);
    let mut frame = Vec::new();
    udp.write(&answer, b"answer", &mut frame);
    assert_eq!(frame.len(), 60);
    let sums = verify_checksums(&frame).unwrap();
    assert!(sums == pinion_net::frame::Checksums::ALL_GOOD);
    assert_eq!(frame[34..38], [0x23, 0x2a, 0x9c, 0x40]);
}

#[test]
fn checksums_are_right_for_all_lengths() {
    let bytes: Vec<u8> = (0..200).map(|n| n as u8 ^ 0xa5).collect();
    let empty = udp_from(9000).parse(&datagram(9000, &[])).map(|_| ());
    assert_eq!(empty, Err(DropReason::ZeroLength));
    for length in 1..bytes.len() {
        let frame = datagram(9000, &bytes[..length]);
        assert!(verify_checksums(&frame).unwrap() == pinion_net::frame::Checksums::ALL_GOOD);
        assert_eq!(udp_from(9000).parse(&frame).unwrap().1, &bytes[..length]);
    }
}

#[test]
fn frames_that_lie_are_dropped() {
    let mut udp = udp_from(9000);
    let good = datagram(9000, &[1; 40]);
    let spoil = |at: usize, value: u8| {
        let mut frame = good.clone();
        frame[at] = value;
        udp_from(9000).parse(&frame).map(|_| ()).unwrap_err()
    };
    assert_eq!(udp.parse(&good[..30]), Err(DropReason::Malformed));
    assert_eq!(udp.parse(&good[..60]), Err(DropReason::HeaderLies));
    assert_eq!(spoil(12, 0x86), DropReason::NotIp);
    assert_eq!(spoil(14, 0x65), DropReason::NotIp);
    assert_eq!(spoil(14, 0x44), DropReason::NotIp);
    assert_eq!(spoil(23, 6), DropReason::Protocol);
    assert_eq!(spoil(20, 0x20), DropReason::HeaderLies);
    assert_eq!(spoil(26, 99), DropReason::HeaderLies);
    assert_eq!(spoil(39, 200), DropReason::HeaderLies);
    assert_eq!(spoil(50, 9), DropReason::HeaderLies);
    let below = datagram(8999, &[1; 8]);
    assert_eq!(udp.parse(&below).map(|_| ()), Err(DropReason::ContextOutOfRange));
}

#[test]
fn no_bytes_are_no_panic() {
    let mut udp = udp_from(0);
    let frame = datagram(0, &[3; 20]);
    for length in 0..frame.len() {
        let _ = udp.parse(&frame[..length]);
    }
    for at in 0..frame.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut frame = frame.clone();
            frame[at] = value;
            let _ = udp.parse(&frame);
        }
    }
}
