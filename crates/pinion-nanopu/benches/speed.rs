//! How fast a node is simulated: busy harts, messages, and idle time.
//!
//! `cargo bench -p pinion-nanopu` prints simulated instructions (or messages) per second of one host
//! core, beside the RTL's cycles per second in Verilator, about 250.

use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use pinion_isa::elf::Image;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::Node;
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header, NDP_PROTOCOL};

fn main() {
    divan::main();
}

/// Makes a node with `harts` harts that runs a calibration program and has announced itself.
fn node(program: &str, harts: u32) -> Node {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let overrides = [format!("core.count={harts}")];
    let machine: Machine =
        pinion_sim::config::load_file(&root.join("machines/nanopu.toml"), &overrides)
            .expect("the published machine")
            .value;
    let bytes = std::fs::read(root.join(format!("tests/calibration/nanopu/elf/{program}.elf")))
        .expect("a calibration program");
    let image = Image::parse_for::<u64>(&bytes, program).expect("an ELF");
    let address = machine.address.parse().expect("an address");
    let mut node = Node::new(&machine, address, &image).expect("it boots");
    node.run_until(40_000, &mut |_: u64, _: u64, _: &[u8]| {}, &mut Deaf);
    node
}

fn request(id: u16, words: &[u64]) -> Vec<u8> {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    Header {
        protocol: NDP_PROTOCOL,
        src_ip: 0x0a00_0001,
        dst_ip: 0x0a00_0002,
        flags: Flags::DATA,
        src_context: 0x5000,
        msg_len: payload.len() as u16,
        tx_msg_id: id,
        ..Header::default()
    }
    .frame(&payload)
}

fn instructions(node: &Node) -> u64 {
    (0..node.harts()).map(|hart| node.core(hart).hart.instret).sum()
}

/// Runs a request that keeps one hart busy for a number of cycles.
fn serve(node: &mut Node, cycles: u64) -> u64 {
    let (begin, before) = (node.now() + 10, instructions(node));
    node.inject(begin, &request(1, &[cycles / 2, 1]));
    node.run_until(begin + cycles + 10_000, &mut |_: u64, _: u64, _: &[u8]| {}, &mut Deaf);
    instructions(node) - before
}

#[divan::bench(args = [("service", 1), ("service4", 4)])]
fn busy(bencher: Bencher, (program, harts): (&str, u32)) {
    const CYCLES: u64 = 4_000_000;
    let done = serve(&mut node(program, harts), CYCLES);
    bencher
        .counter(ItemsCount::new(done))
        .with_inputs(|| node(program, harts))
        .bench_local_values(|mut node| serve(&mut node, CYCLES));
}

/// Acknowledges a frame that carries data, and asks for more.
fn acknowledge(frame: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = Header::parse(frame, NDP_PROTOCOL).ok()?;
    let answer = Header {
        flags: Flags::ACK.with(Flags::PULL),
        src_ip: header.dst_ip,
        dst_ip: header.src_ip,
        src_context: header.dst_context,
        dst_context: header.src_context,
        pull_offset: u16::from(header.pkt_offset) + 2,
        ..header
    };
    header.flags.has(Flags::DATA).then(|| answer.frame(&[0; CONTROL_PAYLOAD_BYTES]))
}

/// Echoes messages of 8 bytes, one every 150 cycles, whose replies are acknowledged; items are messages.
#[divan::bench]
fn echo(bencher: Bencher) {
    const MESSAGES: u64 = 1000;
    const GAP: u64 = 150;
    bencher.counter(ItemsCount::new(MESSAGES)).with_inputs(|| node("echo", 1)).bench_local_values(
        |mut node| {
            let begin = node.now() + 10;
            let mut answers: Vec<Vec<u8>> = Vec::new();
            for index in 0..MESSAGES {
                let at = begin + GAP * index;
                node.inject(at, &request((index % 127) as u16, &[index]));
                for (place, answer) in answers.drain(..).enumerate() {
                    node.inject(at + 20 * (2 + place as u64), &answer);
                }
                let mut sink = |_: u64, _: u64, frame: &[u8]| answers.extend(acknowledge(frame));
                node.run_until(at + GAP, &mut sink, &mut Deaf);
            }
            node
        },
    );
}

/// Lets four harts poll for a second of the node's time; items are cycles.
#[divan::bench]
fn idle(bencher: Bencher) {
    const CYCLES: u64 = 3_200_000_000;
    bencher.counter(ItemsCount::new(CYCLES)).with_inputs(|| node("echo4", 4)).bench_local_values(
        |mut node| {
            let end = node.now() + CYCLES;
            node.run_until(end, &mut |_: u64, _: u64, _: &[u8]| {}, &mut Deaf);
            node
        },
    );
}
