//! Whole frames: what is built can be taken apart again, and its sums are right.

use pinion_net::frame::{
    Checksums, Content, Endpoints, FrameError, build_arp_reply, build_arp_request,
    build_icmp_echo_reply, build_icmp_echo_request, build_udp_frame, parse, verify_checksums,
};

#[test]
fn udp_frames_have_right_sums_and_fields() {
    let ends = Endpoints::default();
    for bytes in [0, 1, 18, 1472, 65_507] {
        let frame = build_udp_frame(&ends, 4000, 9330, &vec![0xa5; bytes]).unwrap();
        assert_eq!(frame.len(), 42 + bytes);
        assert_eq!(verify_checksums(&frame).unwrap(), Checksums::ALL_GOOD);
        let parsed = parse(&frame).unwrap();
        let Content::Udp { src_port, dst_port, payload } = parsed.content else {
            panic!("not UDP: {parsed:?}");
        };
        assert_eq!((src_port, dst_port, payload.len()), (4000, 9330, bytes));
    }
    let long = build_udp_frame(&ends, 1, 2, &vec![0; 65_508]);
    assert_eq!(long, Err(FrameError::TooLong { payload_bytes: 65_508 }));
}

#[test]
fn echo_frames_tell_request_from_reply() {
    let ends = Endpoints::default();
    let ping = build_icmp_echo_request(&ends, 7, 3, b"abc").unwrap();
    let pong = build_icmp_echo_reply(&ends.reversed(), 7, 3, b"abc").unwrap();
    assert_eq!(ping[34..36], [8, 0]);
    assert_eq!(pong[34..36], [0, 0]);
    for frame in [&ping, &pong] {
        assert_eq!(verify_checksums(frame).unwrap(), Checksums::ALL_GOOD);
    }
    assert!(build_icmp_echo_request(&ends, 0, 0, &vec![0; 65_508]).is_err());
    assert!(build_icmp_echo_reply(&ends, 0, 0, &vec![0; 65_508]).is_err());
}

#[test]
fn arp_asks_everybody_and_answers_one() {
    let ends = Endpoints::default();
    let ask = build_arp_request(&ends);
    assert_eq!((ask.len(), &ask[..6]), (42, &[0xff; 6][..]));
    let answer = build_arp_reply(&ends.reversed());
    let Content::Arp(message) = parse(&answer).unwrap().content else { panic!("not ARP") };
    assert!(!message.is_request);
    assert_eq!((message.sender, message.target), (ends.dst, ends.src));
    assert_eq!(message.sender_mac, ends.dst_mac);
}
