//! A message in, a message out, in the RTL's cycles.

use pinion_nanopu::event::Deaf;
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

use crate::support;

/// Makes a frame that asks context 0.
pub fn message(id: u16, payload: &[u8]) -> Vec<u8> {
    Header {
        dst_mac: [8, 0x11, 0x22, 0x33, 0x44, 8],
        src_mac: [8, 0x55, 0x66, 0x77, 0x88, 8],
        protocol: NDP_PROTOCOL,
        src_ip: 0x0a00_0001,
        dst_ip: 0x0a00_0002,
        flags: Flags::DATA,
        src_context: 0x5000,
        msg_len: payload.len() as u16,
        tx_msg_id: id,
        ..Header::default()
    }
    .frame(payload)
}

#[test]
fn eight_bytes_come_back_after_42_cycles_in_the_best_polling_phase() {
    let machine = support::machine(true, &["core.count=1"]);
    let mut node = support::node(&machine, "echo");
    let mut out = Vec::new();
    let mut sink = |first: u64, last: u64, frame: &[u8]| out.push((first, last, frame.to_vec()));
    node.run_until(30_000, &mut sink, &mut Deaf);
    for i in 0..12u64 {
        node.inject(30_000 + 1001 * i, &message(i as u16, &i.to_be_bytes()));
        node.run_until(30_000 + 1001 * (i + 1), &mut sink, &mut Deaf);
    }
    let data = |frame: &[u8]| Header::parse(frame, NDP_PROTOCOL).unwrap().0.flags == Flags::DATA;
    let replies: Vec<u64> =
        out.iter().filter(|(at, _, frame)| *at >= 30_000 && data(frame)).map(|o| o.0).collect();
    let latencies: Vec<u64> =
        replies.iter().zip(0..).map(|(at, i)| at - (30_000 + 1001 * i)).collect();
    println!("{latencies:?}");
    assert_eq!(latencies.len(), 12);
    assert_eq!(latencies[4..].iter().min(), Some(&42));
    assert!(latencies[4..].iter().all(|latency| (42..=47).contains(latency)), "{latencies:?}");
}
