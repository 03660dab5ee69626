//! Homa on a network that loses, trims and reorders: long messages from several harts arrive whole,
//! by grants alone beyond their first window.

use std::collections::BTreeMap;

use pinion_net::frame::lnic::HOMA_PROTOCOL;

use super::fuzz::Random;
use super::*;
use crate::transport::testing::Asked;
use pinion_nanopu::transport::homa::Homa;
use pinion_nanopu::transport::{Transport as _, Verdict};

const RTT_PACKETS: u16 = 3;
const OVERCOMMITMENT: usize = 3;

/// Holds both ends of the network and what is on its way.
struct Network {
    random: Random,
    lose: u64,
    trim: u64,
    on_the_way: BTreeMap<(Cycle, u64), (Header, Vec<u8>)>,
    sequence: u64,
}

impl Network {
    /// Takes a frame, or loses it.
    fn carry(&mut self, at: Cycle, mut header: Header, payload: &[u8]) {
        if self.random.percent(self.lose) {
            return;
        }
        let trimmed = header.flags == Flags::DATA && self.random.percent(self.trim);
        if trimmed {
            header.flags = header.flags.with(Flags::CHOP);
        }
        self.sequence += 1;
        let arrives = at + 100 + self.random.below(400);
        self.on_the_way.insert((arrives, self.sequence), (header, payload.to_vec()));
    }

    /// Gives what has arrived by `now`.
    fn arrived(&mut self, now: Cycle) -> Option<(Header, Vec<u8>)> {
        let (&(at, sequence), _) = self.on_the_way.first_key_value()?;
        (at <= now).then(|| self.on_the_way.remove(&(at, sequence))).flatten()
    }
}

fn run(seed: u64, messages: usize) {
    let mut random = Random::new(seed);
    let mut section = section(TransmitFixes::ALL);
    section.buffers = vec![BufferClass { bytes: 16_384, count: 16 }];
    section.message_ids = 128;
    section.timer.timeout_cycles = 8000;
    let homa = || Homa::new(RTT_PACKETS, 1024, OVERCOMMITMENT, true);
    let mut transmit = Transmit::new(&section, 4, 4, RTT_PACKETS, OWN, Box::new(homa())).unwrap();
    let (mut sender, mut receiver) = (homa(), homa());
    let (mut sender_asked, mut receiver_asked) = (Asked::default(), Asked::default());
    let mut network = Network {
        lose: random.below(15),
        trim: random.below(15),
        random: Random::new(random.next()),
        on_the_way: BTreeMap::new(),
        sequence: 0,
    };
    let mut writing: Vec<Vec<u64>> = vec![Vec::new(); 4];
    let mut arrived: BTreeMap<(u16, u16), BTreeMap<u8, usize>> = BTreeMap::new();
    let (mut begun, mut now, mut scheduled) = (0, 0, 0);
    let mut frames = Vec::new();
    while begun < messages || transmit.resident().next().is_some() || transmit.words_waiting() > 0 {
        now += 1;
        assert!(now < 5_000_000, "stuck: {:?}", transmit.resident().collect::<Vec<_>>());
        for (hart, words) in writing.iter_mut().enumerate() {
            if words.is_empty() && begun < messages {
                *words = message(1 + random.below(16_000) as u16);
                words.reverse();
                begun += 1;
            }
            if transmit.room(hart as u8) > 0
                && let Some(word) = words.pop()
            {
                transmit.word(hart as u8, 0, word, now);
            }
        }
        while let Some((header, payload)) = network.arrived(now) {
            if header.src_ip == OWN.ip {
                let verdict = receiver.arrive(&header, &payload, &mut receiver_asked);
                if matches!(verdict, Verdict::Reassemble { .. }) {
                    let message =
                        arrived.entry((header.tx_msg_id, header.pull_offset)).or_default();
                    let before = message.insert(header.pkt_offset, payload.len());
                    assert_eq!(before, None, "a packet was taken twice");
                }
                for request in receiver_asked.controls.drain(..) {
                    let flags = match (request.acknowledge, request.negative) {
                        (true, _) => Flags::ACK,
                        (_, true) => Flags::NACK,
                        _ => Flags::PULL,
                    };
                    let own = Address { ip: 0x0a00_0001, ..OWN };
                    let answer = receiver.control(&request, flags, &own);
                    network.carry(now, answer, &[0]);
                }
            } else {
                sender.arrive(&header, &payload, &mut sender_asked);
                for delivered in sender_asked.delivered.drain(..) {
                    transmit.delivered(Delivered { at: now, ..delivered });
                }
                for credit in sender_asked.credits.drain(..) {
                    transmit.credit(Credit { at: now, ..credit });
                }
            }
        }
        if transmit.next_event().is_some_and(|next| next <= now) {
            let mut out = |_, last: Cycle, frame: &[u8]| frames.push((last, frame.to_vec()));
            transmit.advance(now, &mut out, &mut Deaf);
        }
        for (last, frame) in frames.drain(..) {
            let (header, payload) = Header::parse(&frame, HOMA_PROTOCOL).unwrap();
            scheduled += usize::from(header.tos > 0);
            assert!(usize::from(header.tos) <= OVERCOMMITMENT, "a priority too low");
            network.carry(last, header, payload);
        }
    }
    assert!(transmit.conserves());
    assert_eq!(transmit.counters().delivered, messages as u64);
    assert_eq!(transmit.free_places(), (128, 16));
    assert_eq!(arrived.len(), messages);
    assert!(scheduled > messages, "grants let packets go");
}

#[test]
fn long_messages_arrive_by_grants() {
    let given = std::env::var("PINION_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or(0..8, |seed| seed..seed + 1);
    for seed in seeds {
        println!("PINION_SEED={seed} cargo test -p pinion-nanopu --lib transmit::tests::homa");
        run(seed, 100);
    }
}
