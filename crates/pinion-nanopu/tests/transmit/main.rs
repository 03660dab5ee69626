//! The whole transmit side: what programs do wrong, the fixes one by one, and a lossy network.

mod fuzz;
mod homa;
#[path = "../p4/make.rs"]
mod make;
mod timers;

use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::machine::transmit::{BufferClass, TransmitFixes, TransmitSection};
use pinion_nanopu::machine::transport::TransportKind;
use pinion_nanopu::nic::receive::Requests as _;
use pinion_nanopu::nic::transmit::Transmit;
use pinion_nanopu::nic::transmit::counters::Counters;
use pinion_nanopu::nic::{ControlRequest, Credit, Delivered};
use pinion_nanopu::transport::Address;
use pinion_nanopu::transport::ndp::Ndp;

#[path = "."]
mod transport {
    //! Transports, and what their own tests ask them with.

    pub use pinion_nanopu::transport::*;

    #[path = "../../src/transport/testing.rs"]
    pub mod testing;
}

use make::shipped;

const OWN: Address =
    Address { mac: [2, 0, 0, 0, 0, 2], next_hop_mac: [2, 0, 0, 0, 0, 1], ip: 0x0a00_0002 };

/// Holds a transmit side, and what it sent: first flit, header, payload.
struct Bench {
    transmit: Transmit,
    sent: Vec<(Cycle, Header, Vec<u8>)>,
}

impl Bench {
    fn new(section: &TransmitSection) -> Self {
        let ndp = Box::new(Ndp::new(2, 128, false));
        let transmit = Transmit::new(section, 4, 4, 2, OWN, ndp).unwrap();
        Self { transmit, sent: Vec::new() }
    }

    /// Writes words, one per cycle from `at` on.
    fn write(&mut self, hart: u8, context: u16, words: &[u64], at: Cycle) {
        for (n, &word) in words.iter().enumerate() {
            self.transmit.word(hart, context, word, at + n as Cycle);
        }
    }

    /// Does all that is due up to `until`.
    fn run(&mut self, until: Cycle) {
        let sent = &mut self.sent;
        let mut out = |first, _, frame: &[u8]| {
            let (header, payload) = Header::parse(frame, NDP_PROTOCOL).unwrap();
            sent.push((first, header, payload.to_vec()));
        };
        while let Some(next) = self.transmit.next_event().filter(|&next| next <= until) {
            self.transmit.advance(next, &mut out, &mut Deaf);
            if self.transmit.stopped().is_some() {
                return;
            }
        }
        self.transmit.advance(until, &mut out, &mut Deaf);
    }

    /// Lets the peer acknowledge a packet of some use of an id.
    fn acknowledge_use(&mut self, tx_msg_id: u16, packet: u8, generation: u16, at: Cycle) {
        let and_all_before = false;
        self.transmit.delivered(Delivered { at, tx_msg_id, packet, and_all_before, generation });
    }

    /// Lets the peer acknowledge a packet.
    fn acknowledge(&mut self, tx_msg_id: u16, packet: u8, at: Cycle) {
        self.acknowledge_use(tx_msg_id, packet, 0, at);
        let credit = Some(u16::from(packet) + 3);
        self.transmit.credit(Credit { at, tx_msg_id, retransmit: None, credit, priority: 0 });
    }

    fn counters(&self) -> &Counters {
        self.transmit.counters()
    }
}

fn section(fixes: TransmitFixes) -> TransmitSection {
    TransmitSection::artifact(3000, fixes)
}

/// Makes a header word to port 9 of 10.0.0.1.
fn header(bytes: u16) -> u64 {
    0x0a00_0001 << 32 | 9 << 16 | u64::from(bytes)
}

/// Makes a message of `bytes` bytes whose words count from 1.
fn message(bytes: u16) -> Vec<u64> {
    std::iter::once(header(bytes)).chain(1..=u64::from(bytes.div_ceil(8))).collect()
}

#[test]
fn an_idle_transmit_side_has_nothing_to_do() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    assert_eq!(bench.transmit.next_event(), None);
    bench.write(0, 0, &message(8), 100);
    bench.run(200);
    assert_eq!((bench.sent.len(), bench.sent[0].0), (1, 106));
    assert_eq!(bench.transmit.resident().count(), 1);
    bench.acknowledge(0, 0, 300);
    bench.run(400);
    assert_eq!(bench.transmit.next_event(), None);
    assert!(bench.transmit.conserves());
    assert_eq!(bench.transmit.free_places(), (128, 128));
}

#[test]
fn a_small_message_needs_two_wakings() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    bench.write(0, 0, &message(1024), 10);
    let mut wakings = 0;
    while let Some(next) = bench.transmit.next_event().filter(|&next| next < 3000) {
        bench.transmit.advance(next, &mut |_, _, _: &[u8]| {}, &mut Deaf);
        wakings += 1;
    }
    assert!(wakings <= 3, "{wakings} for 129 words");
}

#[test]
fn messages_of_no_bytes_or_too_many_are_refused_alone() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    bench.write(0, 0, &[header(0)], 10);
    bench.write(0, 0, &message(4000), 20);
    bench.write(0, 0, &message(16), 600);
    bench.write(1, 0, &message(8), 25);
    bench.run(1000);
    let lengths: Vec<_> = bench.sent.iter().map(|(_, header, _)| header.msg_len).collect();
    assert_eq!(lengths, [8, 16]);
    let counters = bench.counters();
    assert_eq!((counters.refused_empty, counters.refused_oversize), (1, 1));
    assert_eq!(counters.words_refused, 500);
    assert!(bench.transmit.conserves());
}

#[test]
fn words_beyond_the_announced_length_begin_a_message() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    let mut words = message(8);
    words.extend([header(8), 7]);
    bench.write(0, 0, &words, 10);
    bench.run(100);
    let payloads: Vec<_> = bench.sent.iter().map(|(_, _, payload)| payload[7]).collect();
    assert_eq!(payloads, [1, 7]);
}

#[test]
fn a_message_that_is_never_finished_is_resident_and_never_sent() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    bench.write(2, 3, &[header(64), 1, 2], 10);
    bench.write(1, 0, &message(8), 11);
    bench.run(20_000);
    let resident: Vec<_> = bench.transmit.resident().collect();
    let lost = resident.iter().find(|message| message.hart == 2).unwrap();
    assert_eq!((lost.context, lost.msg_len, lost.words_missing), (3, 64, 6));
    assert!(bench.sent.iter().all(|(_, header, _)| header.msg_len == 8));
    assert!(bench.transmit.conserves());
}

#[test]
fn without_the_fix_a_timeout_sends_a_packet_that_was_never_written() {
    let mut bench = Bench::new(&section(TransmitFixes::NONE));
    bench.write(0, 0, &[header(64), 1, 2], 10);
    bench.run(4000);
    assert_eq!(bench.sent.len(), 1);
}

#[test]
fn words_of_contexts_that_do_not_exist_are_counted() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    bench.write(0, 0xffff, &message(8), 10);
    bench.run(100);
    assert_eq!((bench.sent.len(), bench.counters().words_unknown_context), (0, 2));
    assert_eq!(bench.transmit.next_event(), None);
}

#[test]
fn a_second_acknowledgement_stops_the_rtl_and_means_nothing_with_the_fix() {
    for (fixes, stops) in [(TransmitFixes::NONE, true), (TransmitFixes::ALL, false)] {
        let mut bench = Bench::new(&section(fixes));
        bench.write(0, 0, &message(8), 10);
        bench.run(100);
        bench.acknowledge(0, 0, 200);
        bench.acknowledge(0, 0, 300);
        bench.run(500);
        assert_eq!(bench.transmit.stopped().map(|(at, _)| at), stops.then_some(300));
        if !stops {
            assert_eq!(bench.counters().stray_acknowledgements, 1);
            assert_eq!(bench.transmit.free_places(), (128, 128));
        }
    }
}

#[test]
fn acknowledgements_of_what_was_never_sent_mean_nothing() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    bench.write(0, 0, &message(2048)[..200], 10);
    bench.run(400);
    for (id, packet) in [(0, 1), (0, 77), (5, 0), (9999, 0)] {
        bench.acknowledge(id, packet, 500);
    }
    bench.acknowledge(0, 0, 501);
    bench.run(600);
    assert_eq!(bench.counters().stray_acknowledgements, 4);
    assert_eq!(bench.transmit.resident().next().unwrap().packets_delivered, 1);
    assert!(bench.transmit.conserves());
}

#[test]
fn too_many_words_stop_the_rtl_and_are_held_back_with_the_fix() {
    let mut small = section(TransmitFixes::NONE);
    small.buffers = vec![BufferClass { bytes: 1024, count: 1 }];
    let mut bench = Bench::new(&small);
    bench.write(0, 0, &message(8), 10);
    bench.write(0, 0, &vec![header(8); 1030], 20);
    bench.run(2000);
    assert_eq!(bench.transmit.stopped(), Some((1044, "a hart's transmit queue is full")));

    small.fixes = TransmitFixes::ALL;
    let mut bench = Bench::new(&small);
    bench.write(0, 0, &message(8), 10);
    bench.run(19);
    let mut at = 20;
    while bench.transmit.room(0) > 0 {
        bench.write(0, 0, &[header(8)], at);
        at += 1;
    }
    bench.run(2000);
    assert_eq!((bench.transmit.room(0), bench.transmit.stopped()), (0, None));
    bench.write(0, 0, &[1], 2001);
    assert_eq!(bench.counters().words_lost, 1);
    bench.acknowledge(0, 0, 2100);
    bench.run(2110);
    assert!(bench.transmit.room(0) > 0);
}

#[test]
fn a_context_may_hold_no_more_buffers_than_its_share() {
    let mut shared = section(TransmitFixes::ALL);
    shared.context_buffers = Some(3);
    let mut bench = Bench::new(&shared);
    for n in 0..5 {
        bench.write(0, 1, &message(8), 10 + 10 * n);
    }
    bench.write(0, 2, &message(16), 70);
    bench.run(1000);
    let lengths: Vec<_> = bench.sent.iter().map(|(_, header, _)| header.msg_len).collect();
    assert_eq!(lengths, [8, 8, 8, 16]);
    bench.acknowledge(0, 0, 1010);
    bench.run(1100);
    assert_eq!(bench.sent.len(), 5);
    assert_eq!(bench.transmit.words_waiting(), 2);
    assert!(bench.transmit.conserves());
}

#[test]
fn more_pulls_than_can_wait_stop_the_rtl_only() {
    for (fixes, stops) in [(TransmitFixes::NONE, true), (TransmitFixes::ALL, false)] {
        let mut bench = Bench::new(&section(fixes));
        for n in 0..600 {
            bench.transmit.control(ControlRequest {
                at: 10 + 17 * n,
                answers: Header { protocol: NDP_PROTOCOL, ..Header::default() },
                acknowledge: true,
                negative: false,
                pull: true,
                pull_offset: 3,
                grant_priority: 0,
            });
        }
        bench.run(100_000);
        assert_eq!(bench.transmit.stopped().is_some(), stops);
        if !stops {
            let counters = *bench.counters();
            assert_eq!((counters.acknowledgements, counters.pulls), (600, 600));
            assert!(counters.pulls_unpaced > 0);
            assert_eq!(bench.transmit.next_event(), None);
        }
    }
}

#[test]
fn an_acknowledgement_of_an_earlier_use_of_an_id_is_none() {
    let mut section = section(TransmitFixes::ALL);
    section.message_ids = 1;
    let mut bench = Bench::new(&section);
    bench.write(0, 0, &message(8), 10);
    bench.run(100);
    bench.acknowledge_use(0, 0, 1, 200);
    bench.run(300);
    bench.write(0, 0, &message(8), 310);
    bench.run(400);
    let uses: Vec<_> = bench.sent.iter().map(|(_, header, _)| header.pull_offset).collect();
    assert_eq!(uses, [1, 2]);
    bench.acknowledge_use(0, 0, 1, 500);
    bench.run(600);
    let waits = bench.transmit.resident().count();
    assert_eq!((waits, bench.counters().stray_acknowledgements), (1, 1));
    bench.acknowledge_use(0, 0, 2, 700);
    bench.run(800);
    assert_eq!(bench.transmit.resident().count(), 0);
}

#[test]
fn a_nack_waits_for_a_pull() {
    let mut bench = Bench::new(&section(TransmitFixes::ALL));
    bench.write(0, 0, &message(64), 10);
    bench.run(100);
    let credit =
        |at, retransmit, credit| Credit { at, tx_msg_id: 0, retransmit, credit, priority: 0 };
    bench.transmit.credit(credit(200, Some(0), None));
    bench.run(300);
    assert_eq!(bench.sent.len(), 1);
    bench.transmit.credit(credit(607, None, Some(3)));
    bench.run(700);
    assert_eq!((bench.sent[1].0, bench.counters().packets_again), (613, 1));
}

#[test]
fn credit_that_comes_late_takes_nothing_back_with_the_fix() {
    for (fixes, packets) in [(TransmitFixes::NONE, 2), (TransmitFixes::ALL, 4)] {
        let mut long = section(fixes);
        long.buffers = vec![BufferClass { bytes: 4096, count: 8 }];
        long.timer.timeout_cycles = 1_000_000;
        let mut bench = Bench::new(&long);
        bench.write(0, 0, &message(4096)[..300], 10);
        bench.run(400);
        bench.acknowledge(0, 1, 500);
        bench.acknowledge(0, 0, 600);
        bench.run(700);
        bench.transmit.credit(Credit {
            at: 700,
            tx_msg_id: 0,
            retransmit: None,
            credit: Some(1),
            priority: 0,
        });
        bench.run(800);
        bench.write(0, 0, &message(4096)[300..], 800);
        bench.run(2000);
        assert_eq!(bench.sent.len(), packets);
    }
}

#[test]
fn messages_of_many_packets_keep_to_the_window() {
    let mut long = section(TransmitFixes::ALL);
    long.buffers = vec![BufferClass { bytes: 65_472, count: 2 }];
    long.timer.timeout_cycles = 1_000_000;
    let mut bench = Bench::new(&long);
    // The queue holds fewer words than the message has: write as it empties.
    for (n, word) in message(65_000).into_iter().enumerate() {
        bench.write(0, 0, &[word], 10 + n as Cycle);
        bench.run(9 + n as Cycle);
    }
    bench.run(9000);
    assert_eq!(bench.sent.len(), 2);
    for packet in 0..64 {
        let at = 9000 + 1000 * u64::from(packet);
        bench.acknowledge(0, packet, at);
        bench.run(at + 999);
    }
    let offsets: Vec<_> = bench.sent.iter().map(|(_, header, _)| header.pkt_offset).collect();
    let last =
        bench.sent.iter().map(|(_, header, payload)| (header.pkt_offset, payload.len())).max();
    assert_eq!(last, Some((63, 65_000 - 63 * 1024)));
    assert_eq!(offsets, (0..64).collect::<Vec<_>>());
    assert!(bench.transmit.conserves() && bench.transmit.free_places() == (128, 2));
}

#[test]
fn data_packets_tell_which_use_of_their_id_they_are() {
    for (fixes, told) in [(TransmitFixes::NONE, 0), (TransmitFixes::ALL, 1)] {
        let mut bench = Bench::new(&section(fixes));
        bench.write(0, 0, &message(8), 10);
        bench.run(100);
        let header = bench.sent[0].1;
        assert_eq!((header.pull_offset, header.flags), (told, Flags::DATA));
    }
}

#[test]
fn without_acknowledgements_a_message_is_done_when_it_has_left() {
    let transports =
        [(shipped(TransportKind::Raw, 0), 72), (shipped(TransportKind::Udp, 9000), 60)];
    for (transport, bytes) in transports {
        let section = section(TransmitFixes::ALL);
        let mut transmit = Transmit::new(&section, 4, 4, 2, OWN, transport).unwrap();
        let mut sent = Vec::new();
        let mut out = |first: Cycle, last, frame: &[u8]| sent.push((first, last, frame.len()));
        for n in 0..300 {
            for (place, word) in message(8).into_iter().enumerate() {
                transmit.word((n % 4) as u8, 0, word, 100 * n + place as Cycle);
            }
            while let Some(next) = transmit.next_event().filter(|next| *next < 100 * n + 99) {
                transmit.advance(next, &mut out, &mut Deaf);
            }
            assert_eq!(transmit.resident().count(), 0);
        }
        assert_eq!(transmit.next_event(), None);
        assert_eq!((transmit.counters().delivered, transmit.free_places()), (300, (128, 128)));
        assert!(transmit.conserves() && sent.len() == 300);
        let (first, last, length) = sent[1];
        assert_eq!((length, last - first + 1), (bytes, (bytes as u64).div_ceil(8)));
        // Two packets are one too many.
        for (place, word) in message(1025).into_iter().enumerate() {
            transmit.word(0, 0, word, 50_000 + place as Cycle);
        }
        transmit.advance(60_000, &mut |_, _, _: &[u8]| panic!("sent"), &mut Deaf);
        assert_eq!(transmit.counters().refused_oversize, 1);
    }
}

#[test]
fn nonsense_sections_are_refused() {
    let good = section(TransmitFixes::ALL);
    let bad: [fn(&mut TransmitSection); 6] = [
        |s| s.queue_words = 0,
        |s| s.packet_bytes = 100,
        |s| s.buffers.reverse(),
        |s| s.packet_bytes = 64 - 64,
        |s| s.buffers = vec![BufferClass { bytes: 65_472, count: 70 }],
        |s| s.timer.scan_cycles_per_entry = 0,
    ];
    for spoil in bad {
        let mut section = good.clone();
        spoil(&mut section);
        assert!(section.check().is_err(), "{section:?}");
    }
    let ndp = Box::new(Ndp::new(2, 128, false));
    assert!(Transmit::new(&good, 0, 4, 2, OWN, ndp).is_err());
}
