//! Nanoservices run from outside: requests from messages, loads and captures; what comes out; programs
//! and inputs that are wrong.

mod service_folder;

use std::fs;

use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};
use serde_json::Value;
use service_folder::{Folder, example, has_gcc};

/// Writes a capture of frames, a microsecond apart.
fn write_capture(folder: &Folder, name: &str, frames: &[Vec<u8>]) {
    let mut writer = CaptureWriter::create(folder.0.join(name), LinkType::Ethernet).unwrap();
    for (index, frame) in frames.iter().enumerate() {
        writer.write(index as u64 * 1_000_000, frame).unwrap();
    }
    writer.finish().unwrap();
}

fn read_frames(folder: &Folder, name: &str) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(folder.0.join(name)).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.bytes);
    }
    frames
}

fn request(context: u16, id: u16, words: &[u64]) -> Header {
    Header {
        protocol: NDP_PROTOCOL,
        src_ip: 0x0a00_0001,
        dst_ip: 0x0a00_0002,
        flags: Flags::DATA,
        src_context: 5,
        dst_context: context,
        msg_len: words.len() as u16 * 8,
        tx_msg_id: id,
        ..Header::default()
    }
}

fn frame(context: u16, id: u16, words: &[u64]) -> Vec<u8> {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    request(context, id, words).frame(&payload)
}

/// An echo of two words.
const ECHO: &str = "#include <lnic.h>\nint main(void) { lnic_add_context(0, 0); for (;;) { \
    lnic_wait(); uint64_t h = lnic_read(), a = lnic_read(), b = lnic_read(); \
    lnic_write_r(h); lnic_write_r(a); lnic_write_r(b); lnic_msg_done(); } }\n";

#[test]
fn examples_answer_as_their_messages_say() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("examples");
    for name in ["loopback", "stream", "dot", "nbody", "othello", "priorities", "service"] {
        let (status, said, summary) = folder.run(&example(&format!("nanopu_{name}")), &[]);
        assert_eq!(status, 0, "{name}: {said}");
        assert_eq!(summary["ending"], "finished", "{name}");
        assert_eq!(summary["warnings"].as_array().unwrap().len(), 0, "{name}: {said}");
        assert!(summary["messages"]["in"].as_u64() > Some(0), "{name}");
    }
}

#[test]
fn other_answers_than_expected_are_a_failed_comparison() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("differs");
    folder.service(ECHO);
    let text = "[[message]]\nsend = [1, 2]\nreply = [1, 3]\n";
    fs::write(folder.0.join("other.toml"), text).unwrap();
    let (status, said, summary) = folder.run("app", &["--messages", "other.toml"]);
    assert_eq!(status, 1, "{said}");
    assert_eq!(summary["differences"][0], "message 1 was answered [1, 2], not [1, 3]");
    fs::write(folder.0.join("app/messages.toml"), "[[message]]\nsend = [1, 2]\nreply = [1, 2]\n")
        .unwrap();
    assert_eq!(folder.run("app", &[]).0, 0);
}

#[test]
fn a_load_is_measured_at_both_ends() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("load");
    let load = "requests=200,gap=exp:2000,service=300";
    let service = example("nanopu_service");
    let arguments = ["--load", load, "--packets", "frames.csv", "--faithful"];
    let (status, said, summary) = folder.run(&service, &arguments);
    assert_eq!(status, 0, "{said}");
    assert_eq!(summary["load"]["answered"], 200, "{said}");
    let (wire, response) = (&summary["latency_ns"]["p50"], &summary["load"]["response_ns"]["p50"]);
    // 300 cycles of service are 94 ns; the link takes 44 ns each way.
    let (wire, response) = (wire.as_f64().unwrap(), response.as_f64().unwrap());
    assert!((100.0..130.0).contains(&wire), "{wire}");
    assert!((response - wire - 87.5).abs() < 2.0, "{wire} {response}");
    let of = |hart: usize, what: &str| summary["harts"][hart][what].as_u64().unwrap();
    assert_eq!((0..4).map(|hart| of(hart, "messages")).sum::<u64>(), 200);
    assert!((0..4).all(|hart| of(hart, "idle_cycles") > of(hart, "busy_cycles")));
    let rows = fs::read_to_string(folder.0.join("frames.csv")).unwrap();
    let all =
        summary["packets"]["in"].as_u64().unwrap() + summary["packets"]["out"].as_u64().unwrap();
    assert_eq!(rows.lines().count() as u64, all + 1);
    assert!(rows.starts_with("frame,direction,first_flit_cycle"));
    let answers = rows.lines().filter(|row| row.contains(",out,") && row.contains(",DATA,"));
    assert!(answers.count() >= 200);
}

#[test]
fn requests_begin_when_they_are_to_of_a_program_that_rests_long_before() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("start");
    folder.service(ECHO);
    let start = ["--load", "requests=10", "--start", "500000"];
    for more in [&[][..], &["--cycles", "900000"], &["--patience", "1000"]] {
        let (status, said, summary) = folder.run("app", &[&start, more].concat());
        assert_eq!((status, &summary["load"]["answered"]), (0, &10.into()), "{said}");
        assert_eq!(summary["ready_cycle"], 500_000, "{said}");
    }
    let (status, said, summary) = folder.run("app", &[&start[..], &["--cycles", "40000"]].concat());
    assert_eq!((status, &summary["ending"]), (0, &"cycle_limit".into()), "{said}");
    assert_eq!((&summary["cycles"], &summary["ready_cycle"]), (&40_000.into(), &Value::Null));
    let why = "it begins in cycle 503,000 (start_delay), and the run ended in cycle 40,000";
    assert!(said.contains(why), "{said}");
    let (_, said, _) = folder.run("app", &["--load", "requests=10,startup=1"]);
    assert!(said.contains("it waits for the message with which its node says"), "{said}");
}

#[test]
fn a_seed_is_the_loads() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("seed");
    folder.service(ECHO);
    let report = |arguments: &[&str]| folder.run("app", arguments).2["load"].clone();
    let load = "requests=50,gap=exp:900";
    let seeded = report(&["--load", load, "--seed", "7"]);
    assert_eq!(seeded, report(&["--load", &format!("{load},seed=7")]));
    assert_ne!(seeded, report(&["--load", load]));
}

#[test]
fn answers_that_are_wrong_or_go_elsewhere_are_told() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("elsewhere");
    // An echo is no store.
    let store = ["--load", "requests=10,store=10:8"];
    let (status, said, summary) = folder.run(&example("nanopu_echo"), &store);
    assert_eq!(status, 1, "{said}");
    assert_eq!(summary["differences"][0], "10 answers are not what the store must give");
    let messages = "[[message]]\nsend = [1, 2]\nreply = [1, 2]\n".repeat(5);
    fs::write(folder.0.join("messages.toml"), messages).unwrap();
    let messages = ["--messages", "messages.toml"];
    let load = ["--load", "requests=5,gap=2000,patience=100000"];
    let to = |header: &str| folder.service(&ECHO.replace("lnic_write_r(h)", header));
    let udp = ["--set", "transport.kind=udp"];
    to("lnic_write_r(h)");
    for more in [&[][..], &udp] {
        let (status, said, _) = folder.run("app", &[&messages[..], more].concat());
        assert_eq!(status, 0, "{said}");
    }
    to("lnic_write_r(h ^ 0x30000)");
    let (_, said, summary) = folder.run("app", &[&load[..], &udp].concat());
    assert_eq!(summary["load"]["answered"], 0, "{said}");
    let (status, said, summary) = folder.run("app", &messages);
    assert_eq!(status, 1, "{said}");
    let wrong = "message 5 was answered to 10.0.0.1, context 3, not to 10.0.0.1, context 0";
    assert_eq!(summary["differences"][4], wrong);
    let (_, said, summary) = folder.run("app", &load);
    let counts = [&summary["load"]["answered"], &summary["load"]["missing"]];
    assert_eq!(counts, [0, 5], "{said}");
    assert!(said.contains("foreign frames 5"), "{said}");
    // Each once, whether or not it is acknowledged, or sent again.
    to("lnic_write_r(0x0b00000100000010ul)");
    for more in [&[][..], &["--peer", "none"]] {
        let (_, said, summary) = folder.run("app", &[&load[..], more].concat());
        let again = summary["nic"]["data_packets_again"].as_u64().unwrap();
        assert_eq!(again > 0, !more.is_empty(), "{said}");
        let stray = "5 messages went to addresses from which nothing came, the last to 11.0.0.1";
        assert!(said.contains(stray), "{said}");
    }
    let (status, said, summary) = folder.run("app", &messages);
    assert_eq!(status, 1, "{said}");
    let wrong = "message 1 was answered to 11.0.0.1, context 0, not to 10.0.0.1, context 0";
    assert_eq!(summary["differences"][0], wrong);
}

#[test]
fn a_capture_of_requests_is_enough() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("capture");
    folder.service(ECHO);
    let frames: Vec<_> = (0..10).map(|n| frame(0, n, &[n.into(), 7])).collect();
    write_capture(&folder, "in.pcap", &frames);
    let arguments = ["--pcap-in", "in.pcap", "--pcap-out", "out.pcap"];
    let (status, said, summary) = folder.run("app", &arguments);
    assert_eq!(status, 0, "{said}");
    assert_eq!(summary["messages"]["out_delivered"], 10);
    let out = read_frames(&folder, "out.pcap");
    let parsed = out.iter().map(|frame| Header::parse(frame, NDP_PROTOCOL).unwrap());
    let data: Vec<_> = parsed.filter(|(header, _)| header.flags == Flags::DATA).collect();
    assert_eq!(data.len(), 10);
    for (number, (header, payload)) in data.iter().enumerate() {
        assert_eq!((header.dst_context, header.dst_ip), (5, 0x0a00_0001));
        assert_eq!(payload[..8], (number as u64).to_be_bytes());
    }
    // Nobody acknowledges: messages stay, are sent again, and nobody calls that a hang.
    let (status, said, summary) = folder.run("app", &["--pcap-in", "in.pcap", "--peer", "none"]);
    assert_eq!(status, 0, "{said}");
    assert_eq!(summary["messages"]["out_undelivered"], 10);
}

#[test]
fn every_transport_carries_messages() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("udp");
    folder.service(ECHO);
    let udp = ["--set", "transport.kind=udp"];
    let arguments = [&udp[..], &["--load", "requests=20,gap=3000"]].concat();
    let (status, said, summary) = folder.run("app", &arguments);
    assert_eq!((status, &summary["load"]["answered"]), (0, &20.into()), "{said}");
    assert!(summary["latency_ns"]["p50"].as_f64() > Some(5.0), "{said}");
    for kind in ["ndp", "homa", "raw"] {
        let set = format!("transport.kind={kind}");
        let load = ["--load", "requests=20,gap=3000", "--set", &set];
        let (status, said, summary) = folder.run("app", &load);
        assert_eq!((status, &summary["load"]["answered"]), (0, &20.into()), "{kind}: {said}");
        assert_eq!(summary["nic"]["data_packets_again"], 0, "{kind}: {said}");
    }
    let spec = "udp,size=64,count=5,dport=47000";
    let (status, said, summary) = folder.run("app", &[&udp[..], &["--generate", spec]].concat());
    assert_eq!((status, &summary["messages"]["in"]), (0, &5.into()), "{said}");
}

#[test]
fn bad_frames_are_counted_by_reason() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("frames");
    folder.service(ECHO);
    let lying = Header { msg_len: 16, pkt_offset: 9, ..request(0, 3, &[]) };
    let frames = [
        frame(0, 1, &[1, 2]),
        vec![0; 14],
        (0..200).map(|n| n as u8 ^ 0x5a).collect(),
        frame(0, 2, &[1, 2])[..40].to_vec(),
        frame(2, 3, &[1, 2]),
        frame(999, 4, &[1, 2]),
        lying.frame(&[0; 16]),
        Header { msg_len: 0, ..request(0, 5, &[]) }.frame(&[0; 8]),
        Header { msg_len: 60_000, ..request(0, 6, &[]) }.frame(&[0; 1024]),
        frame(0, 7, &[3, 4]),
    ];
    write_capture(&folder, "bad.pcap", &frames);
    let (status, said, summary) = folder.run("app", &["--pcap-in", "bad.pcap"]);
    assert_eq!(status, 0, "{said}");
    assert_eq!((&summary["messages"]["in"], &summary["imbalance"]), (&2.into(), &Value::Null));
    let dropped = summary["packets"]["dropped"].as_object().unwrap();
    assert_eq!(dropped.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), 8, "{said}");
    for reason in ["context_unbound", "context_out_of_range", "zero_length", "oversize"] {
        assert_eq!(dropped.get(reason), Some(&1.into()), "{reason}: {dropped:?}");
    }
}

#[test]
fn wrong_programs_are_told_of_and_contained() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("programs");
    let service = |body: &str| {
        format!(
            "#include <lnic.h>\n#include <stdio.h>\nint main(void) {{ lnic_add_context(0, 0); \
             for (;;) {{ lnic_wait(); uint64_t h = lnic_read(); {body} }} }}\n"
        )
    };
    let cases = [
        // Reads of an empty queue: told once, with place and thread.
        (
            "for (int i = 0; i < 9; i++) (void)lnic_read(); lnic_write_r(h); lnic_write_r(1); \
             lnic_write_r(2); lnic_msg_done();",
            0,
            "(main+0x",
            "in the thread of context 0",
        ),
        // Words beyond the length announced.
        (
            "lnic_read(); lnic_read(); lnic_write_r(h); lnic_write_r(1); lnic_write_r(2); \
             lnic_write_r(3); lnic_write_r(4); lnic_msg_done();",
            0,
            "beyond a message's length",
            "the program did wrong",
        ),
        // A message that is never finished.
        (
            "lnic_read(); lnic_read(); lnic_write_r(h); lnic_write_r(1); lnic_msg_done(); for (;;) \
             lnic_wait();",
            3,
            "its last 1 words are missing",
            "nothing moves any more",
        ),
        // Messages that it is never done with.
        (
            "lnic_read(); lnic_read(); lnic_write_r(h); lnic_write_r(1); lnic_write_r(2);",
            3,
            "did not finish 2 messages of context 0",
            "hart 0 polls for a message in context 0 at pc 0x",
        ),
        // A loop without end.
        (
            "for (;;) __asm__ volatile(\"\");",
            3,
            "hart 0 runs in context 0 at pc 0x",
            "5 words not read",
        ),
    ];
    for (body, expected, part, other) in cases {
        folder.service(&service(body));
        let (status, said, summary) = folder.run("app", &["--load", "requests=3,gap=2000"]);
        assert_eq!(status, expected, "{body}: {said}");
        assert!(said.contains(part) && said.contains(other), "{body}: {said}");
        assert_eq!(summary["imbalance"], Value::Null);
        let notices = said.lines().filter(|line| line.starts_with("pinion: hart 0 read x30"));
        assert_eq!(notices.count(), usize::from(body.starts_with("for (int")), "{said}");
    }
    folder.service("#include <stdio.h>\nint main(void) { printf(\"one\\ntwo\"); return 7; }\n");
    let (status, said, summary) = folder.run("app", &[]);
    assert_eq!((status, &summary["exit_code"]), (3, &7.into()), "{said}");
    assert!(said.starts_with("one\ntwo"), "{said}");
    folder.service("int main(void) { for (;;) __asm__ volatile(\"nop\"); }\n");
    let (status, said, _) = folder.run("app", &["--patience", "100000"]);
    assert!(status == 3 && said.contains("(main"), "{said}");
    let (status, _, summary) = folder.run("app", &["--cycles", "50000"]);
    assert_eq!((status, &summary["ending"]), (0, &"cycle_limit".into()));
}

#[test]
fn options_that_do_not_apply_are_refused() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("options");
    folder.service(ECHO);
    write_capture(&folder, "in.pcap", &[frame(0, 1, &[1, 2])]);
    let whole = fs::read(folder.0.join("in.pcap")).unwrap();
    fs::write(folder.0.join("cut.pcap"), &whole[..whole.len() - 7]).unwrap();
    fs::write(folder.0.join("broken.toml"), "[[message]]\nsend = \"x\"\n").unwrap();
    let echo = example("icmp_echo");
    for (arguments, part) in [
        (vec!["run", "app", "--generate", "udp,count=1"], "--load"),
        (vec!["run", "app", "--unmatched-out", "x"], "--unmatched-out goes with packet handlers"),
        (vec!["run", "app", "--handlers"], "--handlers goes with packet handlers"),
        (vec!["run", "app", "--host-dump", "a=b"], "--host-dump goes with packet handlers"),
        (vec!["run", "app", "--pace", "max"], "--pace goes with --pcap-in"),
        (vec!["run", "app", "--seed", "1"], "--seed goes with packets that are drawn"),
        (vec!["run", "app", "--load", "seed=2", "--seed", "1"], "a seed of its own"),
        (vec!["run", "app", "--link", "0"], "at least a cycle"),
        (vec!["run", "app", "--load", "gap=ten"], "gap"),
        (vec!["run", "app", "--load", "transport=udp"], "the machine speaks ndp"),
        (vec!["run", "app", "--messages", "broken.toml"], "broken.toml"),
        (vec!["run", "app", "--messages", "absent.toml"], "absent.toml"),
        (vec!["run", "app", "--pcap-in", "cut.pcap"], "cut.pcap"),
        (vec!["run", "app", "--pcap-in", "in.pcap", "--pcap-out", "in.pcap"], "overwrite"),
        (vec!["run", "app", "--machine", "pspin"], "pspin"),
        (vec!["run", "app", "--set", "core.count=99"], "core.count"),
        (vec!["run", "app", "--set", "transport.kind=tcp"], "tcp"),
        (vec!["run", &echo, "--load", "gap=5"], "--load goes with nanoservices"),
        (vec!["trace", &echo, "--hart", "0"], "has packet handlers"),
        (vec!["trace", "app", "--hpu", "0.0"], "is a nanoservice"),
        (vec!["trace", "app", "--from", "soon"], "neither a cycle"),
        (vec!["trace", "app", "--hart", "4"], "harts 0 to 0"),
        (vec!["trace", "app", "--from", "5", "--to", "5"], "greater than --from"),
        (
            vec!["up", "app", "--tap", "x", "--host-tap", "y"],
            "--host-tap goes with packet handlers",
        ),
        (vec!["up", "app", "--interface", "lo"], "--interface goes with packet handlers"),
    ] {
        let output = folder.pinion(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

#[test]
fn a_trace_has_instructions_and_events_in_order() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("trace");
    let loopback = example("nanopu_loopback");
    let output = folder.pinion(&["trace", &loopback, "--from", "19000", "--out", "trace.txt"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(folder.0.join("trace.txt")).unwrap();
    let cycle = |line: &str| line.split_whitespace().next()?.parse::<u64>().ok();
    let cycles: Vec<u64> = text.lines().map(|line| cycle(line).expect(line)).collect();
    assert!(cycles.is_sorted() && cycles[0] >= 19_000);
    let sends: Vec<&str> = text.lines().filter(|line| line.contains("addi t6,t5,1")).collect();
    assert_eq!(sends.len(), 4, "two messages of two words");
    assert!(sends[0].contains("hart 0") && sends[0].contains("main+0x"), "{}", sends[0]);
    assert!(sends[0].contains(" loopback.S:32 "), "{}", sends[0]);
    assert!(text.contains("the first flit of a frame left"));
    let only = ["trace", &loopback, "--no-events", "--to", "100", "--hart", "0"];
    let output = folder.pinion(&only);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().all(|line| line.contains("hart 0 ") && cycle(line) < Some(100)));
    assert!(text.contains("_start"), "{text}");
}

#[test]
fn machines_of_both_kinds_are_shown() {
    let folder = Folder::new("machine");
    for (name, part) in [("nanopu", "transport.kind"), ("pspin", "cluster.count")] {
        let output = folder.pinion(&["machine", "show", name]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains(part), "{text}");
    }
}
