//! A network that loses, doubles, trims and reorders: every message arrives, once, whole.

use std::collections::{BTreeMap, HashMap};

use pinion_sim::random::SplitMix64;

use super::*;

/// Draws numbers (SplitMix64).
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.draw()
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// Says what a peer sends back.
#[derive(Clone, Copy, Debug)]
enum Back {
    Acknowledge { id: u16, packet: u8, pull: bool },
    Negative { id: u16, packet: u8 },
    Pull { id: u16, credit: u16 },
}

/// Receives as NDP does, on a network with these chances in percent.
struct Peer {
    random: Random,
    lose: u64,
    double: u64,
    trim: u64,
    /// By message id and generation: packets that arrived.
    arrived: HashMap<(u16, u16), BTreeMap<u8, Vec<u8>>>,
    /// Payloads of whole messages.
    whole: Vec<Vec<u8>>,
    back: BTreeMap<(Cycle, u64), Back>,
    sequence: u64,
}

impl Peer {
    fn answer(&mut self, at: Cycle, back: Back) {
        let copies = if self.random.percent(self.lose) {
            0
        } else {
            1 + u64::from(self.random.percent(self.double))
        };
        for _ in 0..copies {
            self.sequence += 1;
            let at = at + 100 + self.random.below(900);
            self.back.insert((at, self.sequence), back);
        }
    }

    fn receive(&mut self, at: Cycle, header: &Header, payload: &[u8]) {
        let (id, packet) = (header.tx_msg_id, header.pkt_offset);
        if self.random.percent(self.lose) {
            return;
        }
        if self.random.percent(self.trim) {
            self.answer(at, Back::Negative { id, packet });
            self.answer(at + 500, Back::Pull { id, credit: u16::from(packet) + 3 });
            return;
        }
        let packets = self.arrived.entry((id, header.pull_offset)).or_default();
        let new = packets.insert(packet, payload.to_vec()).is_none();
        if new && packets.len() == usize::from(header.msg_len.div_ceil(1024)) {
            self.whole.push(packets.values().flatten().copied().collect());
        }
        self.answer(at, Back::Acknowledge { id, packet, pull: true });
    }
}

/// Sends `messages` messages from four harts through a network drawn from `seed`.
fn run(seed: u64, messages: usize) {
    let mut random = Random::new(seed);
    let mut section = section(TransmitFixes::ALL);
    section.buffers =
        vec![BufferClass { bytes: 1024, count: 30 }, BufferClass { bytes: 4096, count: 30 }];
    section.context_buffers = random.percent(50).then(|| 4 + random.below(20) as u16);
    let mut peer = Peer {
        lose: random.below(30),
        double: random.below(30),
        trim: random.below(30),
        random: Random::new(random.next()),
        arrived: HashMap::new(),
        whole: Vec::new(),
        back: BTreeMap::new(),
        sequence: 0,
    };
    let mut transmit =
        Transmit::new(&section, 4, 4, 2, OWN, Box::new(Ndp::new(2, 128, false))).unwrap();
    let mut expected = Vec::new();
    let mut writing: Vec<Vec<u64>> = vec![Vec::new(); 4];
    let mut contexts = [0; 4];
    let mut frames = Vec::new();
    let (mut now, mut begun) = (0, 0);
    while expected.len() > peer.whole.len()
        || begun < messages
        || !peer.back.is_empty()
        || transmit.resident().next().is_some()
    {
        now += 1;
        assert!(now < 3_000_000, "stuck: {:?}", transmit.resident().collect::<Vec<_>>());
        for hart in 0..4 {
            if writing[hart].is_empty() && begun < messages && random.percent(2) {
                let longest = if random.percent(70) { 64 } else { 4096 };
                let bytes = 1 + random.below(longest) as u16;
                let mut words: Vec<_> = (0..bytes.div_ceil(8)).map(|_| random.next()).collect();
                let payload = words.iter().flat_map(|word| word.to_be_bytes());
                expected.push(payload.take(bytes.into()).collect::<Vec<u8>>());
                // Words leave from the back.
                words.reverse();
                words.push(header(bytes));
                writing[hart] = words;
                contexts[hart] = random.below(4) as u16;
                begun += 1;
            }
            if !writing[hart].is_empty() && random.percent(80) && transmit.room(hart as u8) > 0 {
                let word = writing[hart].pop().unwrap();
                transmit.word(hart as u8, contexts[hart], word, now);
            }
        }
        while let Some((&(at, _), _)) =
            peer.back.first_key_value().filter(|((at, _), _)| *at <= now)
        {
            let (_, back) = peer.back.pop_first().unwrap();
            match back {
                Back::Acknowledge { id: tx_msg_id, packet, pull } => {
                    let (and_all_before, generation) = (false, 0);
                    let id = tx_msg_id;
                    let told = Delivered { at, tx_msg_id: id, packet, and_all_before, generation };
                    transmit.delivered(told);
                    let credit = pull.then_some(u16::from(packet) + 3);
                    transmit.credit(Credit {
                        at,
                        tx_msg_id,
                        retransmit: None,
                        credit,
                        priority: 0,
                    });
                }
                Back::Negative { id: tx_msg_id, packet } => {
                    let retransmit = Some(packet);
                    transmit.credit(Credit {
                        at,
                        tx_msg_id,
                        retransmit,
                        credit: None,
                        priority: 0,
                    });
                }
                Back::Pull { id: tx_msg_id, credit } => {
                    let credit = Some(credit);
                    transmit.credit(Credit {
                        at,
                        tx_msg_id,
                        retransmit: None,
                        credit,
                        priority: 0,
                    });
                }
            }
        }
        if transmit.next_event().is_some_and(|next| next <= now) {
            let mut out = |_, last: Cycle, frame: &[u8]| frames.push((last, frame.to_vec()));
            transmit.advance(now, &mut out, &mut Deaf);
        }
        for (last, frame) in frames.drain(..) {
            let (header, payload) = Header::parse(&frame, NDP_PROTOCOL).unwrap();
            assert!(last > now, "a frame that has already left");
            peer.receive(last, &header, payload);
        }
        debug_assert!(now % 1000 != 0 || transmit.conserves());
    }
    assert!(transmit.conserves());
    assert_eq!(transmit.free_places(), (128, 60));
    assert_eq!(transmit.counters().delivered, messages as u64);
    assert_eq!(transmit.stopped(), None);
    expected.sort();
    peer.whole.sort();
    assert_eq!(expected, peer.whole);
}

#[test]
fn every_message_arrives_once_through_a_bad_network() {
    let given = std::env::var("PINION_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or(0..12, |seed| seed..seed + 1);
    for seed in seeds {
        println!("PINION_SEED={seed} cargo test -p pinion-nanopu --lib transmit::tests::fuzz");
        run(seed, 200);
    }
}
