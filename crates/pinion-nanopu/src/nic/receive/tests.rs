//! The receive side whole, with one transport and made-up frames.

use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

use super::*;
use crate::event::Deaf;
use crate::hart_interface::Command;
use crate::machine::hart_interface::{HartInterfaceFixes, HartInterfaceSection};
use crate::machine::receive::ReceiveFixes;
use crate::transport::ndp::Ndp;
use crate::transport::{Change, DropReason};

#[derive(Debug, Default)]
struct Heard {
    control: Vec<ControlRequest>,
    delivered: Vec<Delivered>,
    credit: Vec<Credit>,
    frames: Vec<(Cycle, Vec<u8>)>,
    changes: Vec<Change>,
}

impl Requests for Heard {
    fn control(&mut self, request: ControlRequest) {
        self.control.push(request);
    }
    fn delivered(&mut self, delivered: Delivered) {
        self.delivered.push(delivered);
    }
    fn credit(&mut self, credit: Credit) {
        self.credit.push(credit);
    }
    fn frame(&mut self, at: Cycle, frame: Vec<u8>) {
        self.frames.push((at, frame));
    }
    fn change_tables(&mut self, changes: &[Change]) {
        self.changes.extend_from_slice(changes);
    }
}

struct Bench {
    receive: Receive,
    harts: Vec<HartInterface>,
    heard: Heard,
    wire: Cycle,
    now: Cycle,
}

impl Bench {
    fn new(section: &ReceiveSection, harts: u8, interface: HartInterfaceFixes) -> Self {
        let messages = section.reassembly.messages();
        let transport = Box::new(Ndp::new(2, messages, section.fixes.duplicate_redelivery));
        let shape = HartInterfaceSection::artifact(interface);
        let mut bench = Self {
            receive: Receive::new(section, transport, harts.into()).unwrap(),
            harts: (0..harts).map(|hart| HartInterface::new(hart, &shape)).collect(),
            heard: Heard::default(),
            wire: 0,
            now: 0,
        };
        for hart in 0..harts {
            bench.write_csr(hart, 0x053, 0);
            bench.write_csr(hart, 0x054, 1);
        }
        bench
    }

    fn artifact(fixes: ReceiveFixes) -> Self {
        Self::new(&ReceiveSection::artifact(fixes), 1, HartInterfaceFixes::NONE)
    }

    fn write_csr(&mut self, hart: u8, csr: u16, value: u64) {
        let command = self.harts[usize::from(hart)].write_csr(csr, value, self.now);
        match command.expect("a network CSR") {
            Command::Nothing => {}
            Command::Bind { context } => {
                self.receive.bind(hart, context, self.now);
            }
            Command::MessageDone { context } => {
                self.receive.message_done(hart, context, self.now);
            }
        }
    }

    /// Puts a frame on the wire as soon as it is free.
    fn frame(&mut self, bytes: &[u8]) {
        self.wire = self.wire.max(self.now);
        self.receive.frame(self.wire, bytes);
        self.wire += (bytes.len() as u64).div_ceil(8);
    }

    fn data(&mut self, header: Header, payload: &[u8]) {
        let header = Header { flags: header.flags.with(Flags::DATA), ..header };
        self.frame(&header.frame(payload));
    }

    fn run(&mut self, cycles: Cycle) {
        let end = self.now + cycles;
        while let Some(at) = self.receive.next_event().filter(|at| *at <= end) {
            self.receive.advance(at, &mut self.heard, &mut self.harts, &mut Deaf);
            self.now = self.now.max(at);
        }
        self.now = end;
        self.receive.advance(end, &mut self.heard, &mut self.harts, &mut Deaf);
    }

    /// Reads all words that hart 0 has.
    fn read(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.harts[0].pop(self.now)).collect()
    }

    fn drops(&self) -> Vec<(DropReason, u64)> {
        let books = self.receive.accounting();
        assert!(books.balances(), "{books:?}");
        books.drops().collect()
    }
}

fn header(id: u16, msg_len: u16) -> Header {
    Header {
        protocol: NDP_PROTOCOL,
        src_ip: 0x0a00_0001,
        src_context: 0x5000,
        msg_len,
        tx_msg_id: id,
        ..Header::default()
    }
}

#[test]
fn a_message_reaches_its_hart_and_is_acknowledged() {
    let mut bench = Bench::artifact(ReceiveFixes::NONE);
    bench.data(header(1, 16), &[1; 16]);
    bench.run(22);
    assert_eq!(bench.heard.control.len(), 1);
    let request = &bench.heard.control[0];
    assert_eq!((request.at, request.acknowledge, request.pull_offset), (15, true, 3));
    assert!(!bench.harts[0].words_ready(22) && bench.harts[0].words_ready(23));
    bench.run(10);
    let word = 0x0101_0101_0101_0101;
    assert_eq!(bench.read(), [0x0a00_0001_5000_0010, word, word]);
    assert_eq!(bench.receive.accounting().delivered_packets, 1);
    assert!(bench.receive.is_empty() && bench.drops().is_empty());
}

#[test]
fn every_kind_of_bad_frame_has_its_reason() {
    let mut bench = Bench::artifact(ReceiveFixes::ALL);
    let good = Header { flags: Flags::DATA, ..header(1, 8) };
    bench.frame(&[0; 20]);
    bench.frame(&Header { protocol: 17, ..good }.frame(&[0; 8]));
    let mut arp = good.frame(&[0; 8]);
    arp[13] = 6;
    bench.frame(&arp);
    bench.frame(&good.frame(&[]));
    bench.data(header(2, 0), &[0; 8]);
    bench.data(header(3, 4096), &[0; 1024]);
    bench.data(header(4, 64), &[0; 63]);
    bench.data(Header { dst_context: 1, ..header(5, 8) }, &[0; 8]);
    bench.data(Header { dst_context: 4, ..header(6, 8) }, &[0; 8]);
    bench.data(good, &[0; 8]);
    bench.run(1000);
    let once = [
        DropReason::Malformed,
        DropReason::NotIp,
        DropReason::Protocol,
        DropReason::NoPayload,
        DropReason::HeaderLies,
        DropReason::ZeroLength,
        DropReason::Oversize,
        DropReason::ContextOutOfRange,
        DropReason::ContextUnbound,
    ];
    assert_eq!(bench.drops(), once.map(|why| (why, 1)));
    assert_eq!(bench.read().len(), 2);
    assert_eq!(bench.heard.control.len(), 1, "only what is taken is acknowledged");
}

#[test]
fn the_rtl_stops_at_a_context_nobody_bound_and_blocks_at_one_without_a_queue() {
    let mut bench = Bench::artifact(ReceiveFixes::NONE);
    bench.data(Header { dst_context: 1, ..header(1, 8) }, &[0; 8]);
    bench.data(header(2, 8), &[0; 8]);
    bench.run(500);
    assert_eq!(bench.receive.stopped(), Some((19, Stop::UnboundContext(1))));
    let mut bench = Bench::artifact(ReceiveFixes::NONE);
    bench.data(Header { dst_context: 9, ..header(1, 8) }, &[0; 8]);
    bench.data(header(2, 8), &[0; 8]);
    bench.run(500);
    assert_eq!(bench.heard.control.len(), 2, "both are acknowledged");
    assert_eq!((bench.read().len(), bench.receive.next_event()), (0, None));
    assert_eq!(bench.receive.accounting().resident_packets, 2);
    assert!(bench.drops().is_empty());
}

#[test]
fn a_finished_message_is_not_delivered_again_but_acknowledged() {
    for (fixes, words) in [(ReceiveFixes::NONE, 4), (ReceiveFixes::ALL, 2)] {
        let mut bench = Bench::artifact(fixes);
        for _ in 0..2 {
            bench.data(header(1, 8), &[7; 8]);
            bench.run(200);
        }
        assert_eq!(bench.read().len(), words);
        let control = &bench.heard.control;
        assert!(control.len() == 2 && control.iter().all(|request| request.acknowledge));
        assert_eq!(bench.drops().len(), usize::from(words == 2));
    }
}

#[test]
fn a_packet_of_an_unfinished_message_is_acknowledged_again_only_with_the_fix() {
    for (fixes, acknowledgements) in [(ReceiveFixes::NONE, 1), (ReceiveFixes::ALL, 2)] {
        let mut bench = Bench::artifact(fixes);
        bench.data(header(1, 2048), &[7; 1024]);
        bench.data(header(1, 2048), &[7; 1024]);
        bench.run(1000);
        assert_eq!(bench.heard.control.len(), acknowledgements);
        assert_eq!(bench.drops(), [(DropReason::Duplicate, 1)]);
    }
}

#[test]
fn a_trimmed_packet_is_refused_with_the_credit_as_it_was() {
    let mut bench = Bench::artifact(ReceiveFixes::NONE);
    bench.data(Header { flags: Flags::CHOP, ..header(1, 8) }, &[0; 8]);
    bench.data(header(1, 8), &[3; 8]);
    bench.run(1000);
    let [trimmed, whole] = &bench.heard.control[..] else { panic!("two requests") };
    assert!(trimmed.negative && trimmed.pull && !trimmed.acknowledge);
    assert_eq!((trimmed.pull_offset, whole.pull_offset), (2, 3));
    assert_eq!((bench.read().len(), bench.receive.accounting().trimmed), (2, 1));
}

#[test]
fn control_frames_go_to_the_transmit_side() {
    let mut bench = Bench::artifact(ReceiveFixes::NONE);
    let flags = Flags::ACK.with(Flags::PULL);
    let header = Header { flags, pkt_offset: 1, pull_offset: 4, ..header(9, 2048) };
    bench.frame(&header.frame(&[0; 64]));
    bench.run(100);
    let told = Delivered { at: 15, tx_msg_id: 9, packet: 1, and_all_before: false, generation: 0 };
    assert_eq!(bench.heard.delivered, [told]);
    assert_eq!((bench.heard.credit[0].at, bench.heard.credit[0].credit), (15, Some(4)));
    assert_eq!(bench.receive.accounting().control, 1);
}

#[test]
fn words_for_a_full_local_queue_enter_a_cycle_after_one_is_read() {
    let mut bench = Bench::artifact(ReceiveFixes::NONE);
    let payload = [5; 1024];
    for id in 0..2 {
        for pkt_offset in 0..2 {
            bench.data(Header { pkt_offset, ..header(id, 2048) }, &payload);
        }
    }
    bench.run(2000);
    assert_eq!(bench.harts[0].unread_words(0), 512);
    bench.now = 2050;
    assert!(bench.harts[0].pop(2050).is_some());
    assert_eq!(bench.harts[0].next_room(), Some(2051));
    bench.run(10);
    assert_eq!(bench.harts[0].unread_words(0), 512);
    for at in 2100..2300 {
        assert!(bench.harts[0].pop(at).is_some());
    }
    bench.now = 2300;
    bench.run(10);
    assert_eq!(bench.read().len(), 2 * 257 - 201);
}

/// Draws random traffic with every kind of fault and checks the books after each step.
fn conservation(seed: u64, policy: crate::machine::receive::SelectionPolicy) {
    let replay = format!(
        "seed {seed}, {policy:?}; replay: PINION_SEED={seed} cargo test -p pinion-nanopu conserv"
    );
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 33) * below) >> 31
    };
    let fixes = if draw(2) == 0 { ReceiveFixes::ALL } else { ReceiveFixes::NONE };
    let mut section = ReceiveSection::artifact(fixes);
    section.core_selection.policy = policy;
    section.reassembly.context_buffers = (draw(2) == 0).then_some(40);
    let mut bench = Bench::new(&section, 3, HartInterfaceFixes::ALL);
    let mut pushed = 0;
    for _ in 0..800 {
        match draw(8) {
            0 => {
                let mut bytes = header(1, 8).frame(&[0; 8]);
                bytes[draw(40) as usize] ^= 1 << draw(8);
                bytes.truncate(draw(90) as usize);
                bench.frame(&bytes);
                pushed += 1;
            }
            1 => {
                for hart in 0..3 {
                    for _ in 0..draw(300) {
                        bench.now += 1;
                        bench.harts[hart].pop(bench.now);
                    }
                    bench.write_csr(hart as u8, 0x056, 1 + draw(2));
                }
            }
            2 => bench.run(draw(3000)),
            _ => {
                let msg_len = [8, 64, 100, 1024, 1025, 2048, 2049, 0][draw(8) as usize];
                let dst_context = [0, 0, 0, 9][draw(4) as usize * usize::from(fixes.message_key)];
                let header = Header {
                    flags: if draw(9) == 0 { Flags::CHOP } else { Flags::default() },
                    dst_context,
                    pkt_offset: draw(2) as u8,
                    ..header(draw(40) as u16, msg_len)
                };
                let bytes = if draw(7) == 0 { draw(1100) as usize + 1 } else { 1024 };
                bench.data(header, &vec![draw(256) as u8; bytes]);
                pushed += 1;
            }
        }
        assert!(bench.receive.accounting().balances(), "{replay}: {:?}", bench.receive);
    }
    // Read everything until nothing moves any more.
    for _ in 0..400 {
        bench.run(4000);
        for hart in 0..3 {
            let words = std::iter::from_fn(|| bench.harts[hart].pop(bench.now)).count();
            bench.write_csr(hart as u8, 0x056, if words > 0 { 1 } else { 2 });
        }
    }
    let books = bench.receive.accounting();
    assert_eq!(books.frames, pushed, "{replay}");
    assert!(books.balances(), "{replay}: {books:?}");
    assert!(books.delivered_packets > 20, "{replay}: {books:?}");
    // What is left is messages that lack a packet.
    assert!(books.resident_packets <= 128, "{replay}: {books:?}");
    assert_eq!(bench.receive.next_event(), None, "{replay}");
}

#[test]
fn conservation_holds_under_random_traffic() {
    use crate::machine::receive::SelectionPolicy::{Jbsq, Rss, Static};
    let seeds = match std::env::var("PINION_SEED").map(|seed| seed.parse()) {
        Ok(Ok(seed)) => seed..seed + 1,
        _ => 0..40,
    };
    for seed in seeds {
        for policy in [Jbsq, Rss, Static] {
            conservation(seed, policy);
        }
    }
}
