//! A transport that is written in P4 is the built-in one: the same frames in the same cycles, the same
//! events, the same books, whatever comes, with the RTL's weaknesses and without.

use std::collections::BTreeMap;

use pinion_nanopu::Cycle;
use pinion_nanopu::transport;
use pinion_net::frame::internet_checksum;

use crate::by_rfc::{Taken, raw, udp};
use crate::saved::{END, Seen, messages, run, state};
use crate::support::{self, Random};

/// Spoils frames as networks and strangers do: duplicates, some late; cut, changed and foreign ones.
fn spoil(frames: Vec<(Cycle, Vec<u8>)>, random: &mut Random) -> Vec<(Cycle, Vec<u8>)> {
    let mut spoilt = Vec::new();
    for (at, frame) in frames {
        let mut other = frame.clone();
        match random.below(8) {
            0 => other.truncate(random.below(other.len() as u64) as usize),
            1 => {
                let at = random.below(other.len().min(64) as u64) as usize;
                other[at] = random.below(256) as u8;
            }
            2 => other[34] = random.below(32) as u8,
            3 => {
                // Options, of which some agree with the header's length and sum.
                let words = random.below(11) as usize;
                other.splice(34..34, vec![1; 4 * words]);
                other[14] = 0x45 + words as u8;
                if random.below(4) > 0 {
                    let bytes = (other.len() - 14) as u16;
                    other[16..18].copy_from_slice(&bytes.to_be_bytes());
                    other[24..26].fill(0);
                    let sum = internet_checksum(&other[14..34 + 4 * words]);
                    other[24..26].copy_from_slice(&sum.to_be_bytes());
                }
            }
            _ => {}
        }
        spoilt.push((at, frame));
        // A whole frame takes 136 cycles, and the next one comes 200 later.
        if other.is_empty() || random.below(3) == 0 {
            continue;
        }
        let late = random.below(4) == 0;
        spoilt.push((at + if late { 9_000 } else { 170 }, other));
    }
    spoilt.sort();
    let mut free = 0;
    for (at, frame) in &mut spoilt {
        *at = (*at).max(free);
        free = *at + frame.len().div_ceil(8) as Cycle;
    }
    spoilt
}

/// Cycles of Homa's pipelines.
const HOMA_STAGES: [&str; 3] = [
    "receive.ingress.decide_cycles=10",
    "receive.ingress.header_cycles=12",
    "transmit.latency.pipeline_cycles=3",
];

/// Gives the options that let a machine speak a transport: the built-in one, and its programs.
fn kinds(name: &str) -> [Vec<String>; 2] {
    let programs = ["ingress", "egress"];
    let programs = programs.map(|part| format!("transport.{part}=sdk/p4/{name}/{part}.p4"));
    let in_p4 = std::iter::once("transport.kind=p4".to_owned()).chain(programs);
    let mut built_in = vec![format!("transport.kind={name}")];
    if name == "homa" {
        // As many cycles as its programs have stages; the machine's own are NDP's.
        built_in.extend(HOMA_STAGES.map(str::to_owned));
    }
    [built_in, in_p4.collect()]
}

/// Sends the same to both, with a program of ours behind, and compares all that is seen of them.
fn compare(name: &str, faithful: bool, random: &mut Random) {
    let programs = [("echo", 1, 1), ("service4", 4, 1), ("threads4_p0_p1", 4, 2)];
    for (program, harts, contexts) in programs {
        let runs = kinds(name).map(|kind| {
            let harts = format!("core.count={harts}");
            let own = [harts.as_str(), "memory.size=16MiB"];
            let kind = kind.iter().map(String::as_str);
            let overrides: Vec<&str> = own.into_iter().chain(kind).collect();
            support::machine(faithful, &overrides)
        });
        let mut peer = transport::build(&runs[0].transport, 1);
        // Over UDP, contexts are ports.
        let base = if name == "udp" { runs[0].transport.udp.port_base } else { 0 };
        let frames = messages(peer.as_mut(), base..base + contexts, random);
        // The RTL stops at much of what strangers send.
        let frames = if faithful { frames } else { spoil(frames, random) };
        let [ours, in_p4] = runs.map(|machine| {
            let mut node = support::node(&machine, program);
            for (at, frame) in &frames {
                node.inject(*at, frame);
            }
            let mut seen = Seen::default();
            run(&mut node, END, &mut seen);
            let books = (node.receive().accounting(), *node.transmit().counters());
            (seen, format!("{books:?}"), state(&node))
        });
        let what = format!("{name}, {program}, faithful: {faithful}");
        // As published, a message's end that comes for no message keeps those behind it in their buffers.
        let fewest = if faithful { 10 } else { 60 };
        assert!(ours.0.frames.len() > fewest, "{what}: {} frames", ours.0.frames.len());
        let differs = ours.0.frames.iter().zip(&in_p4.0.frames).find(|(one, other)| one != other);
        assert!(differs.is_none(), "{what}: {differs:x?}");
        assert_eq!(ours.1, in_p4.1, "{what}");
        assert!(ours == in_p4, "{what}");
    }
}

#[test]
fn ndp_in_p4_is_ndp() {
    let mut random = Random::new(0x9471, "ndp_in_p4_is_ndp");
    for faithful in [false, true] {
        compare("ndp", faithful, &mut random);
    }
}

#[test]
fn homa_in_p4_is_homa() {
    let mut random = Random::new(0x9475, "homa_in_p4_is_homa");
    for faithful in [false, true] {
        compare("homa", faithful, &mut random);
    }
}

#[test]
fn raw_messages_take_the_cycles_of_their_program() {
    let mut random = Random::new(0x9472, "raw_messages_take_the_cycles_of_their_program");
    for faithful in [false, true] {
        compare("raw", faithful, &mut random);
    }
}

#[test]
fn udp_takes_the_cycles_of_its_program() {
    let mut random = Random::new(0x9473, "udp_takes_the_cycles_of_its_program");
    for faithful in [false, true] {
        compare("udp", faithful, &mut random);
    }
}

#[test]
fn what_strangers_send_is_taken_and_refused_as_the_rfcs_say() {
    let mut random = Random::new(0x9474, "what_strangers_send");
    for name in ["raw", "udp"] {
        let kind = format!("transport.kind={name}");
        let mut side = transport::build(&support::machine(false, &[&kind]).transport, 1);
        let mut seen = BTreeMap::new();
        for _ in 0..60 {
            let frames = messages(side.as_mut(), 47_000..47_004, &mut random);
            for (_, frame) in spoil(frames, &mut random) {
                let found = side.parse(&frame).map(|(header, payload)| Taken {
                    src_ip: header.src_ip,
                    contexts: (header.src_context, header.dst_context),
                    msg_len: header.msg_len,
                    payload: payload.to_vec(),
                });
                let expected = if name == "raw" { raw(&frame) } else { udp(&frame, 47_000) };
                assert_eq!(found, expected, "{name}: {frame:02x?}");
                *seen.entry(found.map(|_| ()).map_err(|why| why.name())).or_insert(0) += 1;
            }
        }
        println!("{name}: {seen:?}");
        assert!(seen.len() >= 4, "{name}: {seen:?}");
    }
}
