//! What a transport costs: data packets of one packet each go out, come in, are acknowledged, and the
//! acknowledgement comes in. Everything beside the transport answers at once.
//!
//! `cargo bench -p pinion-nanopu --bench transport -- KIND ROUNDS` goes that many rounds with a transport of
//! that kind (`ndp`, `p4`, …; `p4/NAME` for programs of `sdk/p4`), each four packets through its pipelines, or two of
//! one that acknowledges nothing: `tests/speed/run.py transport` counts the host instructions of that. Without a kind the time of a round is told of those that are compared.

use std::path::Path;
use std::time::Instant;

use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::transport::{
    Address, ControlRequest, Credit, Delivered, Externs, MessageInfo, Outgoing, Refusal, Transport,
    build,
};
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header};

/// Rounds that are timed.
const ROUNDS: u32 = 200_000;

/// Answers at once: each message has one packet, and is new.
#[derive(Default)]
struct Nic {
    request: Option<ControlRequest>,
    heard: u64,
}

impl Externs for Nic {
    fn now(&self) -> u64 {
        self.heard
    }

    fn message(&mut self, header: &Header, _trimmed: bool) -> Result<MessageInfo, Refusal> {
        Ok(MessageInfo { rx_id: header.tx_msg_id & 63, new: true, packets: 1, received: 1 })
    }

    fn control(&mut self, request: ControlRequest) {
        self.request = Some(request);
    }

    fn delivered(&mut self, delivered: Delivered) {
        self.heard += u64::from(delivered.packet) + 1;
    }

    fn credit(&mut self, credit: Credit) {
        self.heard += u64::from(credit.credit.unwrap_or(0));
    }
}

/// Makes the transport that a kind names.
fn transport(kind: &str) -> Box<dyn Transport> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root).expect("the folder of the sources");
    let (kind, programs) = kind.split_once('/').unwrap_or((kind, ""));
    let mut overrides = vec![format!("transport.kind={kind}")];
    if !programs.is_empty() {
        let parts = ["ingress", "egress"];
        overrides.extend(parts.map(|it| format!("transport.{it}=sdk/p4/{programs}/{it}.p4")));
    }
    let machine: Machine =
        pinion_sim::config::load_file(&root.join("machines/nanopu.toml"), &overrides)
            .expect("the published machine, and a kind that it has")
            .value;
    build(&machine.transport, 64)
}

/// Lets a frame come in.
fn arrive(side: &mut dyn Transport, frame: &[u8], nic: &mut Nic) {
    let (header, payload) = side.parse(frame).expect("a frame of this transport");
    let verdict = side.arrive(&header, payload, nic);
    std::hint::black_box(verdict);
}

/// Goes rounds; gives something that depends on all of them.
fn rounds(kind: &str, rounds: u32) -> u64 {
    let (mut receive, mut send) = (transport(kind), transport(kind));
    let here = Address { ip: 0x0a00_0002, ..Address::default() };
    let there = Address { ip: 0x0a00_0001, ..Address::default() };
    let (mut nic, mut frame) = (Nic::default(), Vec::new());
    // A context is a port of UDP's.
    let dst_context = if kind.ends_with("udp") { 47_002 } else { 2 };
    for round in 0..rounds {
        let message = Outgoing {
            tx_msg_id: (round % 127) as u16,
            dst_ip: here.ip,
            src_context: 1,
            dst_context,
            msg_len: 8,
            ..Outgoing::default()
        };
        frame.clear();
        let header = send.data(&message, 0, false, &there);
        send.write(&header, &[7; 8], &mut frame);
        arrive(&mut *receive, &frame, &mut nic);
        let Some(request) = nic.request.take() else { continue };
        frame.clear();
        let header = send.control(&request, Flags::ACK.with(Flags::PULL), &here);
        send.write(&header, &[0; CONTROL_PAYLOAD_BYTES], &mut frame);
        arrive(&mut *receive, &frame, &mut nic);
    }
    nic.heard
}

fn main() {
    // Cargo adds an option that says what is run.
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [kind, count] = &words[..] {
        let count = count.parse().expect("a number of rounds");
        println!("{kind}: {}", rounds(kind, count));
        return;
    }
    for kind in ["ndp", "p4"] {
        rounds(kind, 1);
        let start = Instant::now();
        std::hint::black_box(rounds(kind, ROUNDS));
        let each = start.elapsed().as_nanos() / u128::from(ROUNDS);
        println!("{kind:5} {each} ns a round: data out and in, acknowledgement out and in");
    }
}
