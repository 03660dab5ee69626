//! What a source promises, against a model of a node: first come first served, some fixed delay.

use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, Header, NDP_PROTOCOL};
use pinion_net::frame::{Content, build_udp_frame, parse};
use pinion_net::load::*;
use pinion_sim::Clock;

/// Serves one request after the other and answers with what it got.
struct Server {
    /// Cycles from a request's last flit to the earliest start of work.
    delay: u64,
    free: u64,
    /// Answers no request whose number this divides, if it is not 0.
    lose_every: u64,
    served: u64,
    acks_heard: u64,
    /// Cycle of the last flit and bytes of the frames that leave, in order.
    out: std::collections::VecDeque<(u64, Vec<u8>)>,
    requests: Vec<(u64, Header, Vec<u8>)>,
}

impl Server {
    fn new(delay: u64) -> Self {
        Self {
            delay,
            free: 0,
            lose_every: 0,
            served: 0,
            acks_heard: 0,
            out: Default::default(),
            requests: Vec::new(),
        }
    }

    fn announce(&mut self, first_flit: u64) {
        let header = Header {
            protocol: NDP_PROTOCOL,
            src_ip: 0x0a00_0002,
            dst_ip: 0x0a00_0001,
            flags: Flags::DATA,
            dst_context: 0x7000,
            msg_len: 8,
            ..Header::default()
        };
        self.out.push_back((first_flit + 8, header.frame(&[0; 8])));
    }

    fn receive(&mut self, cycle: u64, frame: &[u8]) {
        let (header, payload) = Header::parse(frame, NDP_PROTOCOL).unwrap();
        if !header.flags.has(Flags::DATA) {
            assert_eq!(header.flags.to_string(), "ACK+PULL");
            assert_eq!(payload.len(), CONTROL_PAYLOAD_BYTES);
            assert_eq!(header.pull_offset, u16::from(header.pkt_offset) + 3);
            self.acks_heard += 1;
            return;
        }
        self.requests.push((cycle, header, payload.to_vec()));
        let service = u64::from_be_bytes(payload[..8].try_into().unwrap());
        let start = self.free.max(cycle + flits(frame.len()) + self.delay);
        self.free = start + service;
        self.served += 1;
        if self.lose_every != 0 && self.served.is_multiple_of(self.lose_every) {
            return;
        }
        let reply = Header {
            src_ip: header.dst_ip,
            dst_ip: header.src_ip,
            src_context: header.dst_context,
            dst_context: header.src_context,
            ..header
        };
        self.out.push_back((self.free + 10, reply.frame(payload)));
    }
}

/// Runs a load against the model to its end.
fn run(spec: LoadSpec, server: &mut Server) -> LoadReport {
    let mut source = LoadSource::new(spec).unwrap();
    let mut now = 0;
    loop {
        let input = source.next_cycle();
        let output = server.out.front().map(|(last, _)| *last);
        match (input, output) {
            (_, Some(last)) if input.is_none_or(|cycle| last <= cycle) => {
                let (last, frame) = server.out.pop_front().unwrap();
                source.frame_out(last - (flits(frame.len()) - 1), last, &frame);
                now = now.max(last);
            }
            (Some(_), _) => {
                let (cycle, frame) = source.next_frame().unwrap();
                assert!(Some(cycle) >= input, "{cycle} before {input:?}");
                server.receive(cycle, frame);
                now = now.max(cycle);
            }
            (None, _) => break,
        }
        if source.is_done(now) && server.out.is_empty() && source.next_cycle().is_none() {
            break;
        }
    }
    let ends = source.gives_up_at().unwrap_or(now);
    assert!(source.is_done(ends.max(now)));
    source.into_report()
}

fn spec(text: &str) -> LoadSpec {
    LoadSpec::parse(text).unwrap()
}

#[test]
fn a_closed_loop_measures_an_unloaded_server() {
    let mut server = Server::new(100);
    server.announce(500);
    let report = run(spec("requests=50,service=400"), &mut server);
    assert_eq!((report.sent, report.answered, report.missing), (50, 50, 0));
    // 10 flits in, delay, work, and 10 cycles to the last flit of 10.
    assert!(report.samples.iter().all(|sample| sample.response_cycles == 10 + 100 + 400 + 1));
    assert_eq!(report.first_sent_cycle, Some(500 + 3000));
    assert_eq!(server.acks_heard, 51);
    assert_eq!(server.requests[49].1.tx_msg_id, 49);
    assert_eq!(server.requests[0].2[..8], 400u64.to_be_bytes());
}

#[test]
fn so_many_requests_are_outstanding() {
    let mut server = Server::new(0);
    server.announce(0);
    let report = run(spec("requests=100,outstanding=4,service=1000,contexts=turn:3"), &mut server);
    assert_eq!(report.answered, 100);
    let typical = report.samples[50].response_cycles;
    assert!((4 * 1000..4 * 1010).contains(&typical), "{typical}");
    assert_eq!(report.by_context.len(), 3);
    let rate = report.answered_per_s(Clock::from_hz(1_000_000_000)).unwrap();
    assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn an_open_loop_queues_as_theory_says() {
    // M/D/1 at 80 %: the mean wait is rho / (2 (1 - rho)) = 2 service times.
    let mut server = Server::new(0);
    server.announce(0);
    let report = run(spec("requests=200000,gap=exp:2000,service=1600"), &mut server);
    let mean = report.all.mean_cycles().unwrap() - 11.0;
    assert!((mean / (3.0 * 1600.0) - 1.0).abs() < 0.05, "{mean}");
    assert!((report.mean_gap_cycles().unwrap() / 2000.0 - 1.0).abs() < 0.01);
}

#[test]
fn windowed_arrivals_come_at_windows() {
    let mut server = Server::new(0);
    server.announce(0);
    run(spec("requests=2000,gap=exp:900,window=140,service=10"), &mut server);
    let sent = |payload: &[u8]| u64::from_be_bytes(payload[8..16].try_into().unwrap());
    for (cycle, _, payload) in &server.requests {
        assert_eq!(sent(payload) % 140, 0);
        // An acknowledgement may have the wire when a window starts.
        assert!(cycle - sent(payload) <= 16);
    }
}

#[test]
fn lost_requests_are_missing_and_closed_loops_go_on() {
    for text in ["requests=100,patience=50000", "requests=100,patience=50000,gap=exp:3000"] {
        let mut server = Server::new(0);
        server.announce(0);
        server.lose_every = 10;
        let report = run(spec(&format!("{text},service=1000")), &mut server);
        assert_eq!((report.sent, report.answered, report.missing), (100, 90, 10), "{text}");
        assert_eq!(report.all.quantile_with_missing(0.99), None);
        assert_eq!(report.all.missing(), 10);
    }
}

#[test]
fn closing_messages_come_last_to_every_context() {
    let mut server = Server::new(0);
    server.announce(0);
    let report = run(spec("requests=20,service=5,contexts=uniform:4,closing=4"), &mut server);
    assert_eq!((report.sent, report.answered, report.repeated), (20, 20, 0));
    let tail = &server.requests[20..];
    let contexts: Vec<u16> = tail.iter().map(|(_, header, _)| header.dst_context).collect();
    assert_eq!(contexts, [0, 1, 2, 3]);
    assert!(tail.iter().all(|(_, _, payload)| payload[..8] == [0; 8]));
    assert_eq!(report.unexpected + report.repeated, 0);
}

#[test]
fn overruns_and_modes_choose_time_and_context() {
    let mut server = Server::new(0);
    server.announce(0);
    let text = "requests=400,service=100,contexts=turn:2,overrun=1:100:10";
    run(spec(text), &mut server);
    let long: Vec<usize> =
        (0..400).filter(|&i| server.requests[i].2[..8] == 1000u64.to_be_bytes()).collect();
    assert_eq!(long, [199, 399]);
    let mut server = Server::new(0);
    server.announce(0);
    let text = "requests=2000,service=bimodal:100/5/1000/5/0.1,contexts=mode";
    let report = run(spec(text), &mut server);
    assert!(server.requests.iter().all(|(_, header, payload)| {
        (u64::from_be_bytes(payload[..8].try_into().unwrap()) > 500) == (header.dst_context == 1)
    }));
    assert!((150..250).contains(&report.by_mode[&1].count()));
    assert!(report.to_text(Clock::from_hz(3_200_000_000)).contains("long"));
}

#[test]
fn the_same_seed_gives_the_same_frames_and_streams_are_apart() {
    let frames = |text: &str| {
        let mut server = Server::new(0);
        server.announce(0);
        run(spec(text), &mut server);
        server.requests
    };
    let text = "requests=200,gap=exp:900,service=exp:100,contexts=uniform:4,size=40";
    assert_eq!(frames(text), frames(text));
    assert_ne!(frames(text), frames(&format!("{text},seed=2")));
    let contexts = |text: &str| -> Vec<u16> {
        frames(text).iter().map(|(_, header, _)| header.dst_context).collect()
    };
    assert_eq!(contexts(text), contexts("requests=200,gap=77,contexts=uniform:4"));
    let payload = |text: &str| frames(text)[7].2[16..].to_vec();
    assert_eq!(payload(text), payload("requests=200,service=3,size=40"));
}

#[test]
fn messages_of_several_packets_are_cut_and_put_together() {
    let mut source = LoadSource::new(spec("requests=1,size=2500,startup=0,start_delay=7")).unwrap();
    let mut packets = Vec::new();
    while let Some((cycle, frame)) = source.next_frame() {
        packets.push((cycle, frame.to_vec()));
    }
    let cycles: Vec<u64> = packets.iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, [7, 7 + 136, 7 + 2 * 136]);
    // The answer comes back last packet first, one of them twice.
    for (at, index) in [(1000, 2), (1200, 1), (1400, 1), (1600, 0)] {
        let (header, payload) = Header::parse(&packets[index].1, NDP_PROTOCOL).unwrap();
        let back = Header { src_ip: header.dst_ip, dst_ip: header.src_ip, ..header };
        source.frame_out(at, at + 135, &back.frame(payload));
    }
    assert_eq!(source.report().answered, 1);
    assert_eq!(source.report().samples[0].response_cycles, 1600 - 7);
    let acks =
        std::iter::from_fn(|| source.next_frame().map(|(cycle, _)| cycle)).collect::<Vec<_>>();
    assert_eq!(acks, [1135, 1335, 1535, 1735]);
}

#[test]
fn datagrams_are_messages() {
    let mut source =
        LoadSource::new(spec("requests=2,transport=udp,port=7000,contexts=turn:2,startup=0"))
            .unwrap();
    for context in 0..2 {
        let (cycle, frame) = source.next_frame().unwrap();
        let frame = frame.to_vec();
        let parsed = parse(&frame).unwrap();
        let Content::Udp { dst_port, payload, .. } = parsed.content else { panic!("not UDP") };
        assert_eq!((dst_port, payload.len()), (7000 + context, 16));
        let back = source.spec().ends.addresses.reversed();
        let answer = build_udp_frame(&back, dst_port, 0, payload).unwrap();
        source.frame_out(cycle + 100, cycle + 110, &answer);
    }
    assert_eq!((source.report().answered, source.report().all.quantile(1.0)), (2, Some(100.0)));
    assert!(source.is_done(0));
}

#[test]
fn foreign_and_broken_frames_are_counted() {
    let mut source = LoadSource::new(spec("requests=1,startup=0")).unwrap();
    let (_, frame) = source.next_frame().unwrap();
    let request = frame.to_vec();
    source.frame_out(10, 11, &request[..40]);
    source.frame_out(20, 21, &[]);
    source.frame_out(30, 31, &request); // to the node, not to us
    let mut answer = request.clone();
    answer[30..34].copy_from_slice(&[10, 0, 0, 1]);
    answer[79] ^= 1;
    source.frame_out(40, 41, &answer);
    let report = source.report();
    assert_eq!((report.foreign_frames, report.unexpected, report.answered), (3, 1, 0));
    assert!(!source.is_done(100) && source.is_done(20_000_000));
    assert_eq!(source.into_report().missing, 1);
}

#[test]
fn a_capture_of_a_load_can_be_read_back() {
    let path = std::env::temp_dir().join(format!("pinion-load-{}.pcap", std::process::id()));
    let mut writer = CaptureWriter::create(&path, LinkType::Ethernet).unwrap();
    let mut source = LoadSource::new(spec("requests=3,gap=1000,startup=0")).unwrap();
    while let Some((cycle, frame)) = source.next_frame() {
        writer.write(cycle * 1000, frame).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 3);
    let frames: Vec<_> = CaptureReader::open(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames[2].time_ps, 2_000_000);
    std::fs::remove_file(path).unwrap();
}

/// Nodes behind a network that loses, trims and repeats frames by chance; each echoes a message once,
/// as a nanoPU does, and sends its answer until that is acknowledged.
struct Network {
    random: crate::support::Random,
    nodes: u32,
    trims: bool,
    /// Frames to the source by the cycle of their last flit.
    out: std::collections::BTreeMap<(u64, u64), Vec<u8>>,
    number: u64,
    seen: std::collections::BTreeSet<(u32, u16, u16)>,
    unacknowledged: std::collections::BTreeMap<(u32, u16), (u64, Vec<u8>)>,
    requests: std::collections::BTreeMap<u32, u64>,
    next_id: u16,
}

impl Network {
    const TIMEOUT: u64 = 3000;

    fn put(&mut self, cycle: u64, frame: Vec<u8>) {
        for _ in 0..[0, 1, 1, 1, 2][self.random.below(5) as usize] {
            self.number += 1;
            let late = self.random.below(700);
            self.out.insert((cycle + 300 + late, self.number), frame.clone());
        }
    }

    fn control(&mut self, cycle: u64, to: &Header, flags: Flags) {
        let reply = Header {
            src_ip: to.dst_ip,
            dst_ip: to.src_ip,
            flags: flags.with(Flags::PULL),
            src_context: to.dst_context,
            dst_context: to.src_context,
            pull_offset: u16::from(to.pkt_offset) + 2,
            ..*to
        };
        self.put(cycle, reply.frame(&[0; CONTROL_PAYLOAD_BYTES]));
    }

    fn receive(&mut self, cycle: u64, frame: &[u8]) {
        if self.random.below(5) == 0 {
            return;
        }
        let (header, payload) = Header::parse(frame, NDP_PROTOCOL).unwrap();
        let node = header.dst_ip - 0x0a00_0002;
        assert!(node < self.nodes, "nobody is there");
        if !header.flags.has(Flags::DATA) {
            if header.flags.has(Flags::ACK) {
                self.unacknowledged.remove(&(node, header.tx_msg_id));
            }
            return;
        }
        if self.trims && self.random.below(4) == 0 {
            return self.control(cycle, &header, Flags::NACK);
        }
        self.control(cycle, &header, Flags::ACK);
        if !self.seen.insert((node, header.tx_msg_id, header.pull_offset)) {
            return;
        }
        *self.requests.entry(node).or_default() += 1;
        self.next_id += 1;
        let answer = Header {
            src_ip: header.dst_ip,
            dst_ip: header.src_ip,
            src_context: header.dst_context,
            dst_context: header.src_context,
            tx_msg_id: self.next_id,
            ..header
        };
        let frame = answer.frame(payload);
        self.unacknowledged.insert((node, self.next_id), (cycle + Self::TIMEOUT, frame.clone()));
        self.put(cycle, frame);
    }

    fn time_out(&mut self, now: u64) {
        let due: Vec<_> = self.unacknowledged.iter().filter(|(_, (due, _))| *due <= now).collect();
        let due: Vec<_> = due.into_iter().map(|(key, (_, frame))| (*key, frame.clone())).collect();
        for (key, frame) in due {
            self.unacknowledged.insert(key, (now + Self::TIMEOUT, frame.clone()));
            self.put(now, frame);
        }
    }
}

#[test]
fn every_request_is_answered_once_over_a_network_that_loses_trims_and_repeats() {
    let seed = crate::support::seed("load::every_request_is_answered_once");
    for (case, nodes, spread) in
        [("gap=exp:60", 1, ""), ("outstanding=40", 3, ",spread=uniform"), ("gap=90", 4, "")]
    {
        let text = format!("{case},requests=2000,patience=100000000{spread}");
        let base = LoadSpec {
            nodes: if nodes == 1 { Nodes::One } else { Nodes::InTurn(nodes) },
            timeout_cycles: Some(2500),
            startup_messages: 0,
            ..LoadSpec::default()
        };
        let mut source = LoadSource::new(base.with(&text, &[], "").unwrap()).unwrap();
        let mut network = Network {
            random: crate::support::Random::new(seed),
            nodes,
            trims: true,
            out: Default::default(),
            number: 0,
            seen: Default::default(),
            unacknowledged: Default::default(),
            requests: Default::default(),
            next_id: 0,
        };
        let mut now = 0;
        while !source.is_done(now) {
            let hears = network.out.first_key_value().map(|((last, _), _)| *last);
            let sends = source.next_cycle();
            let timer = network.unacknowledged.values().map(|(due, _)| *due).min();
            now = hears.into_iter().chain(sends).chain(timer).min().expect("all wait");
            if timer == Some(now) {
                network.time_out(now);
            } else if sends == Some(now) {
                let (cycle, frame) = source.next_frame().unwrap();
                let (cycle, frame) = (cycle + flits(frame.len()), frame.to_vec());
                network.receive(cycle, &frame);
            } else if let Some((_, frame)) = network.out.pop_first() {
                source.frame_out(now - (flits(frame.len()) - 1), now, &frame);
            }
            assert!(now < 100_000_000, "{case}: no end");
        }
        let report = source.into_report();
        let counts = (report.sent, report.answered, report.missing, report.unexpected);
        assert_eq!(counts, (2000, 2000, 0, 0), "{case}");
        assert_eq!(network.requests.values().sum::<u64>(), 2000, "{case}: a node got one twice");
        assert_eq!(network.requests.len(), nodes as usize);
        assert_eq!(report.by_node.len(), nodes as usize);
        assert!(report.repeated > 100, "{case}: {}", report.repeated);
        let resent = report.resent;
        assert!(resent.packets > 500 && resent.nacks > 100 && resent.timeouts > 100, "{resent:?}");
        assert!(report.to_text(Clock::from_hz(3_200_000_000)).contains("sent again"));
    }
}

#[test]
fn requests_for_several_nodes_are_spread_as_asked() {
    let base = LoadSpec { startup_messages: 0, ..LoadSpec::default() };
    let shares = |nodes: Nodes| {
        let spec = LoadSpec { nodes, ..base.clone() }.with("gap=100,requests=4000", &[], "");
        let mut source = LoadSource::new(spec.unwrap()).unwrap();
        let mut shares = [0u32; 4];
        while let Some((_, frame)) = source.next_frame() {
            let header = Header::parse(frame, NDP_PROTOCOL).unwrap().0;
            shares[(header.dst_ip - 0x0a00_0002) as usize] += 1;
        }
        shares
    };
    assert_eq!(shares(Nodes::InTurn(4)), [1000; 4]);
    let uniform = shares(Nodes::Uniform(4));
    assert!(uniform.iter().all(|share| (900..1100).contains(share)), "{uniform:?}");
    assert_ne!(uniform, [1000; 4]);
}
