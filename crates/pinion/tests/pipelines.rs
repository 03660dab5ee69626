//! Programs of the packet pipeline that are more than transports, on real packets: tunnels, telemetry, a load
//! balancer, a cache, a search's first step; and their tables, changed while packets come.

mod service_folder;

use std::fs;

use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};
use pinion_net::frame::internet_checksum;
use pinion_net::frame::lnic::{Flags, Header};
use serde_json::Value;
use service_folder::{Folder, example, has_gcc};

const RAW: u8 = 0xfd;
const CLIENT: u32 = 0x0a00_0001;
const NODE: u32 = 0x0a00_0002;

/// An echo of two words.
const ECHO: &str = "#include <lnic.h>\nint main(void) { lnic_add_context(0, 0); for (;;) { \
    lnic_wait(); uint64_t h = lnic_read(), a = lnic_read(), b = lnic_read(); \
    lnic_write_r(h); lnic_write_r(a); lnic_write_r(b); lnic_msg_done(); } }\n";

/// Writes a capture of frames, a microsecond apart.
fn write_capture(folder: &Folder, frames: &[Vec<u8>]) {
    let mut writer = CaptureWriter::create(folder.0.join("in.pcap"), LinkType::Ethernet).unwrap();
    for (index, frame) in frames.iter().enumerate() {
        writer.write(index as u64 * 1_000_000, frame).unwrap();
    }
    writer.finish().unwrap();
}

fn read_frames(folder: &Folder) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(folder.0.join("out.pcap")).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.bytes);
    }
    frames
}

fn message(src_context: u16, dst_context: u16, words: &[u64], behind: &[u8]) -> Vec<u8> {
    let mut payload = behind.to_vec();
    payload.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    let header = Header {
        protocol: RAW,
        src_ip: CLIENT,
        dst_ip: NODE,
        flags: Flags::DATA,
        src_context,
        dst_context,
        msg_len: words.len() as u16 * 8,
        tx_msg_id: 1,
        ..Header::default()
    };
    header.frame(&payload)
}

/// Makes a datagram.
fn datagram(src: u32, dst: u32, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((28 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend(src.to_be_bytes());
    frame.extend(dst.to_be_bytes());
    let sum = internet_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(5000u16.to_be_bytes());
    frame.extend(port.to_be_bytes());
    frame.extend((8 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

fn is_datagram(frame: &[u8], port: u16) -> bool {
    frame[23] == 17 && frame[36..38] == port.to_be_bytes()
}

/// Runs an application with a program of `sdk/p4`, on a capture.
fn run(folder: &Folder, app: &str, name: &str, more: &[&str]) -> (String, Value) {
    let ingress = format!("transport.ingress=sdk/p4/{name}/ingress.p4");
    let egress = format!("transport.egress=sdk/p4/{name}/egress.p4");
    let common = [
        "--pcap-in",
        "in.pcap",
        "--pcap-out",
        "out.pcap",
        "--peer",
        "none",
        "--set",
        "transport.kind=p4",
        "--set",
        &ingress,
        "--set",
        &egress,
    ];
    let (status, said, summary) = folder.run(app, &[&common[..], more].concat());
    assert_eq!((status, &summary["imbalance"]), (0, &Value::Null), "{said}");
    (said, summary)
}

/// Gives the hits of a table's entries.
fn hits(summary: &Value, table: &str) -> Vec<(String, u64)> {
    let tables = summary["pipeline"]["tables"].as_array().unwrap();
    let table = tables.iter().find(|known| known["name"] == table).unwrap();
    let entries = table["entries"].as_array().unwrap().iter();
    let entry = |entry: &Value| {
        (entry["entry"].as_str().unwrap().to_owned(), entry["hits"].as_u64().unwrap())
    };
    entries.map(entry).collect()
}

#[test]
fn a_tunnel_is_taken_off_and_put_around() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("vxlan");
    folder.service(ECHO);
    let tunnelled = |vni: u8, n: u64| {
        let inner = message(5, 0, &[n, 7], &[]);
        let payload = [&[8, 0, 0, 0, 0, 0, vni, 0][..], &inner].concat();
        datagram(0xc0a8_0001, 0xc0a8_0002, 4789, &payload)
    };
    let frames =
        [tunnelled(77, 1), tunnelled(78, 2), tunnelled(77, 3), message(5, 0, &[4, 7], &[])];
    write_capture(&folder, &frames);
    let tables = "add networks 77 -> allow()\nadd tunnels 0.0.0.0/0 -> tunnel(1.1.1.1, 1)\n\
                  add tunnels 10.0.0.0/24 -> tunnel(192.168.0.1, 77)\n";
    fs::write(folder.0.join("tables.txt"), tables).unwrap();
    let (said, summary) = run(&folder, "app", "vxlan", &["--set", "transport.tables=tables.txt"]);
    // Another network, and a frame without a tunnel.
    let dropped = &summary["packets"]["dropped"];
    assert_eq!(
        (&dropped["other_protocol"], &dropped["malformed"]),
        (&1.into(), &1.into()),
        "{said}"
    );
    let out = read_frames(&folder);
    assert_eq!(out.len(), 2, "{said}");
    for (frame, n) in out.iter().zip([1u64, 3]) {
        assert!(is_datagram(frame, 4789), "{frame:02x?}");
        assert_eq!(internet_checksum(&frame[14..34]), 0);
        assert_eq!(frame[30..34], 0xc0a8_0001u32.to_be_bytes());
        let (ip, udp) = (&frame[16..18], &frame[38..40]);
        let length = |bytes: &[u8]| usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        assert_eq!((length(ip), length(udp)), (frame.len() - 14, frame.len() - 34));
        assert_eq!(frame[42..50], [8, 0, 0, 0, 0, 0, 77, 0]);
        let (header, payload) = Header::parse(&frame[50..], RAW).unwrap();
        assert_eq!((header.dst_ip, header.src_ip, header.dst_context), (CLIENT, NODE, 5));
        assert_eq!(payload, [n.to_be_bytes(), 7u64.to_be_bytes()].concat());
    }
    let tunnels = hits(&summary, "tunnels");
    assert_eq!(tunnels[0], ("10.0.0.0/24 -> tunnel(192.168.0.1, 77)".to_owned(), 2));
    assert_eq!(hits(&summary, "networks"), [("77 -> allow()".to_owned(), 2)]);
    assert!(said.contains("table networks  1 of 64 entries"), "{said}");
}

#[test]
fn postcards_tell_of_packets_drops_queues_and_silence() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("telemetry");
    // The program takes its time, so that messages queue up.
    let slow = "#include <lnic.h>\nint main(void) { lnic_add_context(0, 0); for (;;) { lnic_wait(); \
        uint64_t h = lnic_read(), words = lnic_words(lnic_header_bytes(h)), a = lnic_read(); \
        for (; words > 1; words--) (void)lnic_read(); \
        for (volatile int i = 0; i < 20000; i++) ; \
        lnic_write_r((h & ~LEN_MASK) | 8); lnic_write_r(a); lnic_msg_done(); } }\n";
    folder.service(slow);
    let stamp = |sent: u64| [&sent.to_be_bytes()[2..], &[0, 0]].concat();
    let mut frames: Vec<Vec<u8>> =
        (0..6).map(|n| message(5, 0, &[n; 60], &stamp(100 + n))).collect();
    frames.push(message(5, 9, &[1, 2], &stamp(50)));
    write_capture(&folder, &frames);
    let tables = "add collectors _ -> report(10.0.0.99, 02:00:00:00:00:63)\n";
    fs::write(folder.0.join("tables.txt"), tables).unwrap();
    let (said, summary) =
        run(&folder, "app", "telemetry", &["--set", "transport.tables=tables.txt"]);
    let out = read_frames(&folder);
    let cards: Vec<&Vec<u8>> = out.iter().filter(|frame| is_datagram(frame, 5555)).collect();
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    let kind = |kind: u8| {
        let of_kind = cards.iter().filter(move |frame| frame[42] == kind);
        of_kind
            .map(|frame| (number(&frame[50..56]), number(&frame[56..62]), frame))
            .collect::<Vec<_>>()
    };
    for card in &cards {
        assert_eq!(internet_checksum(&card[14..34]), 0);
        assert_eq!(
            (card[..6].to_vec(), &card[30..34]),
            (vec![2, 0, 0, 0, 0, 0x63], &[10, 0, 0, 99][..])
        );
    }
    // Each packet, also that for a context that nobody serves, which is dropped behind the pipeline.
    let packets = kind(1);
    assert_eq!(packets.len(), 7, "{said}");
    for (n, (at, value, _)) in packets.iter().take(6).enumerate() {
        assert_eq!(*value, at - 100 - n as u64);
    }
    let drops = kind(2);
    assert_eq!(drops.len(), 1, "{said}");
    assert_eq!((drops[0].2[43], &drops[0].2[44..46]), (12, &[0, 9][..]));
    let queues = kind(3);
    assert!(!queues.is_empty() && queues[0].1 >= 16, "{queues:?} {said}");
    assert_eq!(kind(4).last().map(|card| card.1), Some(6), "{said}");
    let events = &summary["pipeline"]["events"];
    assert_eq!((&events["drop"], &events["delivery"]), (&1.into(), &6.into()), "{events}");
    assert_eq!(summary["pipeline"]["sent_back"], cards.len());
    assert!(said.contains("on delivery"), "{said}");
    // Messages came without their stamps.
    assert_eq!(summary["messages"]["in"], 6);
}

#[test]
fn a_balancer_shares_out_and_its_table_changes_while_requests_come() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("balancer");
    folder.service(ECHO);
    let mut tables = String::new();
    for part in 0..16 {
        let server = 3 + part % 2;
        tables += &format!(
            "add servers 0, {part} -> forward(10.0.0.{server}, 02:00:00:00:00:0{server})\n"
        );
    }
    fs::write(folder.0.join("tables.txt"), tables).unwrap();
    let requests = |range: std::ops::Range<u16>| range.map(|n| message(n, 0, &[n.into(), 7], &[]));
    // What is for another context is the node's own; then the control path is asked, well and badly.
    let mut frames: Vec<_> = requests(0..32).collect();
    let control = |text: &str| datagram(CLIENT, NODE, 9559, text.as_bytes());
    let change: String = (0..16)
        .map(|part| {
            format!("remove servers 0, {part}\nadd servers 0, {part} -> forward(10.0.0.5, 02:00:00:00:00:05)\n")
        })
        .collect();
    frames.push(control(&change));
    frames.push(control("add servers 0, 3 -> forward(10.0.0.6, 0)\n"));
    frames.push(control("add servers 0, 16 -> refuse()\n"));
    // Shorter than any message.
    frames.push(control("# none\n"));
    frames.extend(requests(0..32));
    write_capture(&folder, &frames);
    let more = ["--set", "transport.tables=tables.txt", "--set", "transport.control_port=9559"];
    let (said, summary) = run(&folder, "app", "balancer", &more);
    let out = read_frames(&folder);
    let (answers, forwarded): (Vec<_>, Vec<_>) = out.iter().partition(|frame| frame[23] == 17);
    let servers: Vec<u8> = forwarded.iter().map(|frame| frame[33]).collect();
    assert_eq!(servers.len(), 64, "{said}");
    assert!(servers[..32].iter().all(|server| [3, 4].contains(server)), "{servers:?}");
    let third = servers[..32].iter().filter(|server| **server == 3).count();
    assert!((8..=24).contains(&third), "{servers:?}");
    assert!(servers[32..].iter().all(|server| *server == 5), "{servers:?}");
    for (frame, given) in forwarded.iter().zip(requests(0..32).chain(requests(0..32))) {
        // Payloads and headers behind the addresses are as they came.
        assert_eq!((&frame[5], &frame[34..]), (&frame[33], &given[34..]));
        assert_eq!((&frame[14..30], &given[14..30]), (&given[14..30], &given[14..30]));
    }
    let texts: Vec<_> = answers.iter().map(|frame| String::from_utf8_lossy(&frame[42..])).collect();
    assert!(texts[0].starts_with("ok, 32"), "{texts:?}");
    assert!(texts[1].contains("servers has an entry for this key"), "{texts:?}");
    assert!(texts[2].contains("5 bits for part, which has 4"), "{texts:?}");
    assert!(texts[3].starts_with("ok, 0"), "{texts:?}");
    for answer in &answers {
        assert_eq!(internet_checksum(&answer[14..34]), 0);
        assert_eq!(
            (&answer[26..30], &answer[30..34]),
            (&NODE.to_be_bytes()[..], &CLIENT.to_be_bytes()[..])
        );
    }
    let all: u64 = hits(&summary, "servers").iter().map(|(_, hits)| hits).sum();
    assert_eq!((all, &summary["pipeline"]["sent_back"]), (32, &64.into()));
    assert_eq!(summary["messages"]["in"], 0);
    // The same by the clock: from a cycle on nobody is there any more.
    let gone: String = (0..16).map(|part| format!("at 60000 remove servers 0, {part}\n")).collect();
    let text = fs::read_to_string(folder.0.join("tables.txt")).unwrap();
    fs::write(folder.0.join("tables.txt"), text + &gone).unwrap();
    write_capture(&folder, &requests(0..32).collect::<Vec<_>>());
    let (said, summary) = run(&folder, "app", "balancer", &more);
    let sent = summary["pipeline"]["sent_back"].as_u64().unwrap();
    let own = summary["messages"]["in"].as_u64().unwrap();
    assert!(sent > 4 && own > 4 && sent + own == 32, "{sent} {own} {said}");
}

#[test]
fn a_cache_answers_in_the_pipeline_what_the_store_would() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("cache");
    let load = ["--load", "requests=2000,gap=exp:2000,startup=1,store=256:64"];
    let (status, said, summary) = folder.run(&example("nanopu_cache"), &load);
    assert_eq!((status, &summary["load"]["answered"]), (0, &2000.into()), "{said}");
    assert_eq!(
        (&summary["load"]["missing"], &summary["load"]["unexpected"]),
        (&0.into(), &0.into())
    );
    // A quarter of the keys is cached, and half of the requests are GETs.
    let sent_back = summary["pipeline"]["sent_back"].as_u64().unwrap();
    assert!((150..260).contains(&sent_back), "{sent_back}");
    assert_eq!(summary["messages"]["in"].as_u64().unwrap() + sent_back, 2000);
    assert_eq!(hits(&summary, "cached").len(), 64);
}

#[test]
fn the_pipeline_takes_a_step_of_the_search_off_the_core() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("othello");
    let run = |name: &str, set: &[&str]| {
        let (status, said, summary) = folder.run(&example(name), set);
        assert_eq!(status, 0, "{name}: {said}");
        let busy = summary["harts"][0]["busy_cycles"].as_u64().unwrap();
        (busy, summary["latency_ns"]["p50"].as_f64().unwrap())
    };
    let core = run("nanopu_othello", &["--set", "transport.kind=raw"]);
    let pipeline = run("nanopu_othello_pipeline", &[]);
    assert!(pipeline.0 < core.0 && pipeline.1 < core.1, "{core:?} {pipeline:?}");
}

#[test]
fn what_goes_wrong_with_tables_is_told_before_anything_runs() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("wrong_tables");
    folder.service(ECHO);
    write_capture(&folder, &[message(5, 0, &[1, 2], &[])]);
    fs::write(
        folder.0.join("tables.txt"),
        "add networks 77 -> allow()\nadd network 78 -> allow()\n",
    )
    .unwrap();
    let run = |set: &[&str]| {
        let mut all = vec!["run", "app", "--quiet", "--pcap-in", "in.pcap"];
        set.iter().for_each(|set| all.extend(["--set", *set]));
        let output = folder.pinion(&all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said
    };
    let vxlan = ["transport.kind=p4", "transport.ingress=sdk/p4/vxlan/ingress.p4"];
    let said = run(&[&vxlan[..], &["transport.tables=tables.txt"]].concat());
    for what in ["there is no table `network`", "tables.txt:2:5", "^", "networks"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    assert!(said.contains("\n2 | add network 78 -> allow()\n"), "{said}");
    for (set, what) in [
        (&["transport.tables=tables.txt"][..], "goes with transport.kind = \"p4\""),
        (&["transport.kind=p4", "transport.tables=tables.txt"], "the programs have no tables"),
        (&["transport.kind=p4", "transport.control_port=9559"], "the programs have no tables"),
        (&[vxlan[0], vxlan[1], "transport.tables=nowhere.txt"], "cannot read nowhere.txt"),
    ] {
        let said = run(set);
        assert!(said.contains(what), "{what}: {said}");
    }
}

#[test]
fn a_transport_may_hear_of_packets_that_switches_have_cut() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("trim");
    folder.service(ECHO);
    // NDP with a control for them, which asks the packet generator for another frame.
    let ndp = text_of("sdk/p4/ndp/ingress.p4");
    let parameters = "inout headers hdr, inout full_ingress_metadata_t meta, \
                      inout standard_metadata_t smeta, in event_t event";
    let more = format!(
        "\n#include \"events.p4\"\ncontrol OnTrim({parameters}) {{\n\
         UserExtern<egress_metadata_t, dummy_t>(1) ctrlPkt_event;\n\
         apply {{\n    egress_metadata_t a = {{ event.src_ip, event.src_context, event.msg_len, event.pkt_offset, \
         event.dst_context, event.tx_msg_id, 0, 0, 0, 0, ACK_MASK, false, false, 0, 0, 0, 0 }};\n\
         dummy_t d;\n    ctrlPkt_event.apply(a, d);\n}} }}\nTrimEvent(OnTrim()) trims;\n"
    );
    fs::write(folder.0.join("ingress.p4"), ndp + &more).unwrap();
    let cut = Header {
        protocol: 0x99,
        src_ip: CLIENT,
        dst_ip: NODE,
        flags: Flags(Flags::DATA.0 | 16),
        src_context: 5,
        msg_len: 16,
        tx_msg_id: 3,
        ..Header::default()
    };
    write_capture(&folder, &[cut.frame(&[0; 16])]);
    let set = ["--set", "transport.kind=p4", "--set", "transport.ingress=ingress.p4"];
    let files = ["--pcap-in", "in.pcap", "--pcap-out", "out.pcap", "--peer", "none"];
    let (status, said, summary) = folder.run("app", &[&set[..], &files].concat());
    assert_eq!((status, &summary["packets"]["trimmed"]), (0, &1.into()), "{said}");
    assert_eq!(summary["pipeline"]["events"]["trim"], 1, "{said}");
    let flags: Vec<u8> = read_frames(&folder).iter().map(|frame| frame[34]).collect();
    // The NACK and PULL that NDP answers with, and the event's ACK.
    assert!(flags.contains(&2) && flags.iter().any(|flags| flags & 4 != 0), "{flags:?} {said}");
}

fn text_of(name: &str) -> String {
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(repository.join(name)).unwrap()
}
