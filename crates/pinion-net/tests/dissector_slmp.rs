//! Wireshark's view of SLMP: `tools/wireshark/slmp.lua` on captures of ours. Where tshark is not
//! installed the tests say so and are left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion_net::capture::{CaptureWriter, LinkType};
use pinion_net::frame::{Endpoints, SLMP_PORT, SlmpHeader, build_slmp_frame, build_udp_frame};

const EOM: u16 = SlmpHeader::EOM;
const SYN: u16 = SlmpHeader::SYN;
const ACK: u16 = SlmpHeader::ACK;

fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("left out: tshark is not installed (Debian: apt-get install tshark)");
    }
    found
}

/// Runs tshark with the dissector on a capture; gives the fields of every frame.
fn fields_of(capture: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/wireshark/slmp.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display()));
    // Twice through the capture: packets know what answers them.
    command.args(["-2", "-n", "-r"]).arg(capture).args(["-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let complains = errors.lines().any(|line| line.to_lowercase().contains("lua"));
    assert!(output.status.success() && !complains, "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("Lua Error"), "{text}");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn fields(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Vec<Vec<String>> {
    let file = format!("pinion-slmp-{name}-{}.pcap", std::process::id());
    let capture: PathBuf = std::env::temp_dir().join(file);
    let mut writer = CaptureWriter::create(&capture, LinkType::Ethernet).unwrap();
    for (index, frame) in frames.iter().enumerate() {
        writer.write(index as u64 * 50_000, frame).unwrap();
    }
    writer.finish().unwrap();
    let found = fields_of(&capture, fields);
    std::fs::remove_file(capture).unwrap();
    found
}

fn data(message_id: u32, offset_bytes: u32, bytes: usize, flags: u16) -> Vec<u8> {
    from_port(47000, message_id, offset_bytes, bytes, flags)
}

fn from_port(port: u16, message_id: u32, offset_bytes: u32, bytes: usize, flags: u16) -> Vec<u8> {
    let header = SlmpHeader { flags, message_id, offset_bytes };
    build_slmp_frame(&Endpoints::default(), port, header, &vec![7; bytes]).unwrap()
}

fn answer(message_id: u32, offset_bytes: u32, flags: u16, payload: &[u8]) -> Vec<u8> {
    let header = SlmpHeader { flags, message_id, offset_bytes };
    let bytes = [&header.to_bytes()[..], payload].concat();
    build_udp_frame(&Endpoints::default().reversed(), SLMP_PORT, 47000, &bytes).unwrap()
}

#[test]
fn data_and_acknowledgements_show_their_fields_and_each_other() {
    if !has_tshark() {
        return;
    }
    let frames = [
        data(7, 0, 1462, SYN),
        answer(7, 0, ACK, &[]),
        data(7, 1462, 1462, SYN),
        data(7, 1462, 1462, SYN),
        answer(7, 1462, ACK, &[]),
        data(7, 2924, 76, SYN | EOM),
    ];
    let names = [
        "_ws.col.Protocol",
        "_ws.col.Info",
        "slmp.flags",
        "slmp.flags.syn",
        "slmp.msg_id",
        "slmp.offset",
        "slmp.payload_length",
        "slmp.answered_in",
        "slmp.answers",
        "slmp.answer_time",
        "slmp.sent_before",
        "slmp.message.first",
        "slmp.message.seen",
        "slmp.message.length",
        "slmp.message.mode",
        "_ws.expert.message",
    ];
    let seen = fields("fields", &frames, &names);
    assert_eq!(seen.len(), 6, "{seen:?}");
    let first = ["SLMP", "SYN msg 7 offset 0, 1462 B", "0x4000", "1", "7", "0", "1462", "2"];
    assert_eq!(seen[0][..8], first);
    assert_eq!(seen[1][1..3], ["ACK msg 7 offset 0", "0x2000"]);
    assert_eq!(seen[1][8..10], ["1", "0.000000050"]);
    assert_eq!(seen[3][10], "3");
    assert!(seen[3][15].contains("Sent again"), "{seen:?}");
    assert_eq!(seen[4][8..10], ["4", "0.000000050"]);
    assert_eq!(seen[5][1], "SYN+EOM msg 7 offset 2924, 76 B, 3000 of 3000 B");
    assert_eq!(seen[5][11..15], ["1", "3000", "3000", "SYN on all packets"]);
    assert!(seen[5][15].is_empty(), "{seen:?}");
}

#[test]
fn the_three_modes_are_told_apart() {
    if !has_tshark() {
        return;
    }
    let message = |id: u32, flags: [u16; 3]| {
        flags.into_iter().enumerate().map(move |(at, flags)| data(id, at as u32 * 100, 100, flags))
    };
    let frames: Vec<_> = message(1, [0, 0, EOM])
        .chain(message(2, [SYN, 0, SYN | EOM]))
        .chain(message(3, [SYN, SYN, SYN | EOM]))
        .collect();
    let seen = fields("modes", &frames, &["slmp.message.mode", "slmp.message.missing"]);
    let modes: Vec<_> = seen.iter().skip(2).step_by(3).map(|row| row[0].as_str()).collect();
    assert_eq!(modes, ["none asked for", "SYN on first and last", "SYN on all packets"]);
    assert!(seen.iter().all(|row| row[1].is_empty()), "{seen:?}");
}

#[test]
fn contradictions_are_shown() {
    if !has_tshark() {
        return;
    }
    let short = build_udp_frame(&Endpoints::default(), 47000, SLMP_PORT, &[0x40, 0, 0]).unwrap();
    let cases = [
        (data(1, 0, 100, SYN), ""),
        (data(1, 300, 100, SYN | EOM), "bytes are missing"),
        (data(1, 400, 100, SYN), "Bytes behind the end"),
        (data(1, 100, 100, SYN | EOM), "Another end"),
        (data(1, 50, 100, SYN), "Overlaps"),
        (data(2, 100, 100, SYN), "No first packet"),
        (from_port(47001, 1, 0, 100, SYN), "another message that is not complete"),
        (data(3, 0, 1463, SYN), "More than 1,462"),
        (data(4, 0, 10, SYN | 1), "Flags that mean nothing"),
        (data(5, 0xffff_fff0, 100, SYN), "behind the last possible"),
        (short, "Shorter than its header"),
        (answer(1, 0, ACK, &[1, 2]), "with a payload"),
        (answer(1, 0, ACK | SYN, &[]), "ACK flag alone"),
        (answer(9, 0, ACK, &[]), "Acknowledges no packet"),
    ];
    let frames: Vec<_> = cases.iter().map(|(frame, _)| frame.clone()).collect();
    let seen = fields("lies", &frames, &["_ws.expert.message"]);
    assert_eq!(seen.len(), cases.len(), "{seen:?}");
    for (row, (_, expected)) in seen.iter().zip(&cases) {
        assert!(row[0].contains(expected), "{row:?}: {expected}");
        assert!(!expected.is_empty() || row[0].is_empty(), "{row:?}");
    }
}

#[test]
fn the_receivers_captures_read_as_they_are() {
    if !has_tshark() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slmp");
    let seen = fields_of(&folder.join("acks.pcap"), &["slmp.flags", "slmp.payload_length"]);
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|row| row[0] == "0x2000" && row[1] == "0"), "{seen:?}");
    let names = ["slmp.msg_id", "slmp.message.missing", "_ws.expert.message"];
    let seen = fields_of(&folder.join("traffic.pcap"), &names);
    for message in ["1", "2", "3"] {
        let last = seen.iter().rev().find(|row| row[0] == message).unwrap();
        assert_eq!(last[1], "", "message {message} is complete");
    }
    let remarks: Vec<_> =
        seen.iter().map(|row| row[2].as_str()).filter(|t| !t.is_empty()).collect();
    let harmless = |text: &&str| text.contains("Sent again") || text.contains("are missing");
    assert!(remarks.len() > 4 && remarks.iter().all(harmless), "{remarks:?}");
    let seen = fields_of(&folder.join("malformed.pcap"), &["_ws.expert.message"]);
    let all = seen.concat().join(" ");
    for remark in ["No first packet", "Another end", "Bytes behind", "not complete", "Shorter than"]
    {
        assert!(all.contains(remark), "{remark}: {all}");
    }
}
