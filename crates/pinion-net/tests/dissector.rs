//! Wireshark's view of frames between nanoPUs: `tools/wireshark/nanopu.lua` on a capture of ours.
//! Where tshark is not installed the tests say so and are left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion_net::capture::{CaptureWriter, LinkType};
use pinion_net::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, HOMA_PROTOCOL, Header, NDP_PROTOCOL};

fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("left out: tshark is not installed (Debian: apt-get install tshark)");
    }
    found
}

/// Runs tshark with the dissector; gives the fields of every frame.
fn fields(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Vec<Vec<String>> {
    let file = format!("pinion-dissector-{name}-{}.pcap", std::process::id());
    let capture: PathBuf = std::env::temp_dir().join(file);
    let mut writer = CaptureWriter::create(&capture, LinkType::Ethernet).unwrap();
    for (index, frame) in frames.iter().enumerate() {
        writer.write(index as u64 * 50_000, frame).unwrap();
    }
    writer.finish().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/wireshark/nanopu.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display()));
    command.args(["-n", "-r"]).arg(&capture).args(["-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().unwrap();
    std::fs::remove_file(capture).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let complains = errors.lines().any(|line| line.to_lowercase().contains("lua"));
    assert!(output.status.success() && !complains, "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn data(protocol: u8) -> Header {
    Header {
        protocol,
        src_ip: 0x0a00_0001,
        dst_ip: 0x0a00_0002,
        flags: Flags::DATA,
        src_context: 0x7000,
        dst_context: 1,
        msg_len: 1500,
        tx_msg_id: 7,
        buf_ptr: 1024,
        buf_size_class: 1,
        ..Header::default()
    }
}

fn answer(header: Header, flags: Flags, pull_offset: u16) -> Vec<u8> {
    let header = Header {
        src_ip: header.dst_ip,
        dst_ip: header.src_ip,
        src_context: header.dst_context,
        dst_context: header.src_context,
        flags,
        pull_offset,
        ..header
    };
    header.frame(&[0; CONTROL_PAYLOAD_BYTES])
}

#[test]
fn ndp_frames_show_their_fields_and_answers() {
    if !has_tshark() {
        return;
    }
    let first = data(NDP_PROTOCOL);
    let second = Header { pkt_offset: 1, ..first };
    let ack_pull = Flags::ACK.with(Flags::PULL);
    let frames = [
        first.frame(&[0; 1024]),
        second.frame(&[1; 476]),
        answer(second, ack_pull, 3),
        first.frame(&[0; 1024]),
        answer(first, ack_pull, 4),
    ];
    let names = [
        "_ws.col.Info",
        "nanopu.transport",
        "nanopu.flags",
        "nanopu.src_context",
        "nanopu.dst_context",
        "nanopu.msg_len",
        "nanopu.pkt_offset",
        "nanopu.pull_offset",
        "nanopu.tx_msg_id",
        "nanopu.buf_ptr",
        "nanopu.buf_size_class",
        "nanopu.answers",
        "nanopu.answer_time",
        "nanopu.answered_in",
        "nanopu.sent_before",
        "_ws.expert.message",
    ];
    let seen = fields("ndp", &frames, &names);
    assert_eq!(seen.len(), 5, "{seen:?}");
    let info = "DATA msg 7 packet 1/2, 1500 B, context 28672 to 1";
    let expected = [info, "NDP", "0x01", "28672", "1", "1500", "0", "0", "7", "1024", "1"];
    assert_eq!(seen[0][..11], expected);
    assert_eq!(seen[2][0], "ACK+PULL msg 7 packet 2/2, 1500 B, context 1 to 28672, pull 3");
    assert_eq!(seen[2][11..13], ["2", "0.000000050"]);
    // tshark goes through the capture once: a packet does not know its answer yet.
    assert_eq!(seen[3][14], "1", "{seen:?}");
    assert!(seen[3][15].contains("Sent again"), "{seen:?}");
    assert_eq!(seen[4][11], "4");
}

#[test]
fn homa_frames_have_the_priority_in_between() {
    if !has_tshark() {
        return;
    }
    let grant = Header { grant_priority: 2, tos: 5, ..data(HOMA_PROTOCOL) };
    let frames = [answer(grant, Flags::PULL, 9)];
    let names = [
        "_ws.col.Info",
        "nanopu.grant_offset",
        "nanopu.grant_priority",
        "nanopu.tx_msg_id",
        "nanopu.buf_ptr",
        "nanopu.buf_size_class",
        "nanopu.pull_offset",
    ];
    let seen = fields("homa", &frames, &names);
    let info = "PULL msg 7 packet 1/2, 1500 B, context 1 to 28672, grant 9, priority 5";
    assert_eq!(seen, [[info, "9", "2", "7", "1024", "1", ""]]);
}

#[test]
fn words_and_lies_are_shown() {
    if !has_tshark() {
        return;
    }
    let message = Header { msg_len: 16, ..data(NDP_PROTOCOL) };
    let words: Vec<u8> = (0..16).collect();
    let trimmed = Header { flags: Flags::DATA.with(Flags::CHOP), tx_msg_id: 8, ..message };
    let frames = [
        message.frame(&words),
        Header { msg_len: 0, tx_msg_id: 1, ..message }.frame(&words),
        Header { msg_len: 24, tx_msg_id: 2, ..message }.frame(&words),
        Header { pkt_offset: 3, tx_msg_id: 3, ..message }.frame(&words),
        trimmed.frame(&[0; 8]),
        message.frame(&[]),
        {
            let mut short = message.frame(&words)[..50].to_vec();
            short[16..18].copy_from_slice(&36u16.to_be_bytes());
            short
        },
    ];
    let seen = fields("lies", &frames, &["nanopu.word", "_ws.expert.message"]);
    assert_eq!(seen[0], ["0x0001020304050607,0x08090a0b0c0d0e0f", ""]);
    let expected = [
        "A message of no bytes",
        "The payload is not as long as its place in the message says",
        "The packet lies behind its message's end",
        "A switch cut the payload off",
        "Nothing behind the header",
        "Shorter than its header",
    ];
    for (row, expected) in seen[1..].iter().zip(expected) {
        assert!(row[1].contains(expected), "{row:?}: {expected}");
    }
}

#[test]
fn a_trimmed_packet_is_followed_until_its_message_is_complete() {
    if !has_tshark() {
        return;
    }
    let first = data(NDP_PROTOCOL);
    let second = Header { pkt_offset: 1, ..first };
    // As a switch trims: 64 B of headers with the flag, the IPv4 length among them as it was.
    let mut trimmed = first.frame(&[0xee; 1024])[..64].to_vec();
    trimmed[34] |= Flags::CHOP.0;
    trimmed.extend([0; 8]);
    let frames = [
        trimmed,
        second.frame(&[1; 476]),
        answer(first, Flags::NACK.with(Flags::PULL), 2),
        answer(second, Flags::ACK, 0),
        answer(second, Flags::PULL, 3),
        first.frame(&[0xee; 1024]),
        answer(first, Flags::ACK.with(Flags::PULL), 4),
        // All is acknowledged: the id is used again.
        first.frame(&[0xaa; 1024]),
    ];
    let names = [
        "nanopu.message",
        "nanopu.trimmed_bytes",
        "nanopu.trimmed_in",
        "nanopu.message_time",
        "nanopu.payload",
    ];
    let seen = fields("trimmed", &frames, &names);
    let messages: Vec<&str> = seen.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(messages, ["0", "0", "0", "0", "0", "0", "0", "1"]);
    assert_eq!(seen[0][1..], ["1024", "", "", "0000000000000000"]);
    assert_eq!(seen[1][1..4], ["", "", ""]);
    assert_eq!(seen[5][1..4], ["", "1", "0.000000250"], "complete with frame 6");
    assert_eq!(seen[7][3], "", "half of another message");
    let experts = fields("trimmed-experts", &frames, &["_ws.expert.message"]);
    assert!(experts[0][0].contains("A switch cut the payload off"), "{experts:?}");
    assert!(experts[2][0].contains("The receiver has only the packet's header"), "{experts:?}");
    assert!(experts[5][0].contains("Sent again"), "{experts:?}");
}
