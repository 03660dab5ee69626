//! A node that is saved at any cycle and restored goes on as if nothing had happened: the same frames
//! in the same cycles, the same events, the same registers.

use std::ops::Range;

use pinion_isa::elf::{Image, Segment, SegmentFlags};
use pinion_nanopu::Cycle;
use pinion_nanopu::baseline::Baseline;
use pinion_nanopu::event::{Deaf, Event};
use pinion_nanopu::node::{Chip, Node, NodeEnd, Progress};
use pinion_nanopu::transport::{self, Address, Outgoing, Transport};
use pinion_net::frame::lnic::Flags;
use pinion_sim::node::Node as _;

use crate::support::{self, Random};

/// First cycle in which the harts listen.
const BOOTED: Cycle = 30_000;
/// Runs end here.
pub const END: Cycle = 90_000;

type Frames = Vec<(Cycle, Cycle, Vec<u8>)>;

/// What is seen of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub frames: Frames,
    pub events: Vec<(Cycle, Event)>,
    progress: Option<Progress>,
}

/// Makes messages of one or two packets that ask for service; one packet in eight arrives trimmed, and
/// nobody acknowledges what comes back: all timers run.
pub fn messages(
    transport: &mut dyn Transport,
    contexts: Range<u16>,
    random: &mut Random,
) -> Vec<(Cycle, Vec<u8>)> {
    let mut frames = Vec::new();
    let most_bytes = if transport.send_rules().acknowledged { 1600 } else { 1000 };
    let peer = Address { ip: 0x0a00_0001, ..Address::default() };
    let mut at = BOOTED;
    for id in 0..96u16 {
        let bytes = 16 + 8 * random.below((most_bytes - 16) / 8);
        let message = Outgoing {
            tx_msg_id: id,
            dst_ip: 0x0a00_0002,
            src_context: 0x5000,
            dst_context: contexts.start + random.below(contexts.len() as u64) as u16,
            msg_len: bytes as u16,
            ..Outgoing::default()
        };
        let payload: Vec<u8> =
            (0..bytes / 8).flat_map(|_| random.below(600).to_be_bytes()).collect();
        for (packet, part) in payload.chunks(1024).enumerate() {
            let mut header = transport.data(&message, packet as u8, false, &peer);
            if random.below(8) == 0 {
                header.flags = header.flags.with(Flags::CHOP);
            }
            let mut frame = Vec::new();
            transport.write(&header, part, &mut frame);
            frames.push((at, frame));
            at += 200 + random.below(700);
        }
    }
    frames
}

pub fn run(node: &mut Node, end: Cycle, seen: &mut Seen) {
    let Seen { frames, events, progress } = seen;
    let mut sink = |first: Cycle, last: Cycle, frame: &[u8]| {
        frames.push((first, last, frame.to_vec()));
    };
    *progress = Some(node.run_until(end, &mut sink, events));
}

/// Gives the registers and counters of all harts.
pub fn state(node: &Node) -> String {
    let hart = |id| format!("{:x?} {:?}", node.core(id).hart, node.core(id).decode_cycle());
    (0..node.harts()).map(hart).collect()
}

#[test]
fn a_restored_node_goes_on_as_the_first() {
    let mut random = Random::new(0x5a7e, "a_restored_node");
    let programs = [
        ("echo", 1, 1, false, "ndp"),
        ("echo", 1, 1, true, "ndp"),
        ("service4", 4, 1, false, "ndp"),
        ("threads_p0_p1", 1, 2, true, "ndp"),
        ("threads4_p0_p1", 4, 2, false, "ndp"),
        ("echo4", 4, 1, false, "homa"),
        ("echo", 1, 1, false, "raw"),
        ("echo", 1, 1, false, "udp"),
        ("echo4", 4, 1, false, "p4"),
    ];
    for (program, harts, contexts, faithful, kind) in programs {
        let overrides = [
            &format!("core.count={harts}"),
            &format!("transport.kind={kind}"),
            "memory.size=16MiB",
        ];
        let machine = support::machine(faithful, &overrides);
        let mut first = support::node(&machine, program);
        let mut peer = transport::build(&machine.transport, 1);
        // Over UDP, contexts are ports.
        let base = if kind == "udp" { machine.transport.udp.port_base } else { 0 };
        for (at, frame) in messages(peer.as_mut(), base..base + contexts, &mut random) {
            first.inject(at, &frame);
        }
        for _ in 0..3 {
            // Saving may happen in any cycle, be it while the program starts.
            let cut = random.below(END);
            let (mut kept, mut seen) = (first.clone(), Seen::default());
            run(&mut kept, cut, &mut seen);
            let saved = (kept.clone(), seen.clone());
            run(&mut kept, END, &mut seen);
            let [(mut again, mut seen_again), (mut once_more, mut seen_once_more)] =
                [saved.clone(), saved];
            run(&mut again, END, &mut seen_again);
            run(&mut once_more, END, &mut seen_once_more);
            let what = format!("{program} over {kind}, saved in cycle {cut}");
            assert!(seen == seen_again && seen == seen_once_more, "{what}");
            assert_eq!(state(&kept), state(&again), "{what}");
            assert_eq!(
                kept.memory().bytes(0x8000_0000, 1 << 20),
                again.memory().bytes(0x8000_0000, 1 << 20)
            );
            assert_eq!(kept.receive().accounting(), again.receive().accounting(), "{what}");
            assert_eq!(kept.transmit().counters(), again.transmit().counters(), "{what}");
            assert!(seen.frames.len() > 60, "{what}: {} frames", seen.frames.len());
            println!("{what}: {} frames, {:?}", seen.frames.len(), seen.progress);
        }
    }
}

/// A program for the baseline's NIC that sends back what it receives.
const DMA_ECHO: [u32; 13] = [
    0x1001_62b7, // lui t0, 0x10016: the NIC's registers
    0x0010_0313, // li t1, 1
    0x01f3_1313, // slli t1, t1, 31
    0x4003_0313, // addi t1, t1, 0x400: the buffer
    0x0062_b423, // sd t1, 8(t0): receive request
    0x0122_d383, // lhu t2, 18(t0): receive completion
    0xfe03_8ee3, // beqz t2, -4
    0x0303_9393, // slli t2, t2, 48
    0x0063_e3b3, // or t2, t2, t1
    0x0072_b023, // sd t2, 0(t0): send request
    0x0102_de03, // lhu t3, 16(t0): send completion
    0xfe0e_0ee3, // beqz t3, -4
    0xfe1f_f06f, // j -32
];

/// Makes a baseline node whose program echoes frames.
fn baseline() -> Baseline {
    let machine = support::machine(false, &["core.count=1", "memory.size=16MiB"]);
    let data: Vec<u8> = DMA_ECHO.iter().flat_map(|word| word.to_le_bytes()).collect();
    let flags = SegmentFlags { read: true, write: true, execute: true };
    let base = 0x8000_0000;
    let bytes = data.len() as u64;
    let segment = Segment { address: base, load_address: base, data, memory_bytes: bytes, flags };
    let image = Image {
        name: "dma_echo".to_owned(),
        entry: base,
        flags: 0,
        segments: vec![segment],
        symbols: Vec::new(),
        sections: Vec::new(),
    };
    Baseline::new(&machine, &image).expect("a machine and a program")
}

#[test]
fn a_restored_baseline_goes_on_as_the_first() {
    let mut random = Random::new(0x5a7e, "a_restored_baseline");
    let mut first = baseline();
    for index in 0..64u64 {
        let frame: Vec<u8> = (0..64 + 8 * random.below(50)).map(|byte| byte as u8).collect();
        first.inject(BOOTED + 500 * index, &frame);
    }
    let run = |node: &mut Baseline, end: Cycle, frames: &mut Frames| {
        let mut sink = |first: Cycle, last: Cycle, frame: &[u8]| {
            frames.push((first, last, frame.to_vec()));
        };
        node.run_until(end, &mut sink);
    };
    for _ in 0..8 {
        let cut = random.below(END);
        let (mut kept, mut frames) = (first.clone(), Frames::new());
        run(&mut kept, cut, &mut frames);
        let (mut again, mut frames_again) = (kept.clone(), frames.clone());
        run(&mut kept, END, &mut frames);
        run(&mut again, END, &mut frames_again);
        assert_eq!(frames, frames_again, "saved in cycle {cut}");
        assert_eq!(kept.core().hart, again.core().hart, "saved in cycle {cut}");
        assert!(frames.len() > 20, "only {} frames came back", frames.len());
    }
}

/// A node at a cable: the contract's save and restore, with a peer that answers nothing.
fn at_a_cable<C: Chip>(make: impl Fn() -> C, frames: &[(Cycle, Vec<u8>)], random: &mut Random) {
    type Sent = Vec<(Cycle, Cycle, Vec<u8>)>;
    let run = |end: &mut NodeEnd<Deaf, C>, from: Cycle, until: Cycle| -> Sent {
        let (mut sent, mut now) = (Sent::new(), from);
        while now < until {
            let next = (now + 140).min(until);
            for (first, frame) in frames.iter().filter(|(at, _)| (now..next).contains(at)) {
                end.arrive(0, *first, frame.clone());
            }
            end.run(next, &mut |_: usize, first: Cycle, last: Cycle, frame: Vec<u8>| {
                sent.push((first, last, frame));
            });
            now = next;
        }
        sent
    };
    let state = |end: &NodeEnd<Deaf, C>| {
        let mut told = vec![("moved".to_owned(), end.moved())];
        end.state(&mut |name, value| told.push((name.to_owned(), value)));
        told
    };
    let mut whole = NodeEnd::new(make(), Deaf);
    let expected = run(&mut whole, 0, END);
    assert!(expected.len() > 20, "{} frames", expected.len());
    for _ in 0..3 {
        let cut = random.below(END);
        let mut first = NodeEnd::new(make(), Deaf);
        let before = run(&mut first, 0, cut);
        let saved = first.save().unwrap();
        let after = run(&mut first, cut, END);
        let both: Sent = before.iter().chain(&after).cloned().collect();
        assert!(both == expected, "cut in cycle {cut}");
        let at_the_end = state(&first);
        first.restore(&saved).unwrap();
        assert!(run(&mut first, cut, END) == after, "the same, from cycle {cut}");
        assert_eq!(state(&first), at_the_end);
        let mut other = NodeEnd::new(make(), Deaf);
        run(&mut other, 0, random.below(END));
        other.restore(&saved).unwrap();
        assert!(run(&mut other, cut, END) == after, "another, from cycle {cut}");
        assert_eq!(state(&other), at_the_end);
    }
    let other_kind = pinion_sim::node::Saved::new(());
    assert!(whole.restore(&other_kind).is_err(), "no state of a node");
}

#[test]
fn a_node_at_a_cable_goes_on_from_any_cycle() {
    let mut random = Random::new(0xcab1e, "a_node_at_a_cable");
    for (program, faithful) in [("echo", false), ("echo", true)] {
        let machine = support::machine(faithful, &["core.count=1", "memory.size=16MiB"]);
        let mut peer = transport::build(&machine.transport, 1);
        let frames = messages(peer.as_mut(), 0..1, &mut random);
        at_a_cable(|| support::node(&machine, program), &frames, &mut random);
    }
    let frames: Vec<(Cycle, Vec<u8>)> = (0..64)
        .map(|index| (BOOTED + 500 * index, vec![index as u8; 64 + 8 * random.below(50) as usize]))
        .collect();
    at_a_cable(baseline, &frames, &mut random);
}
