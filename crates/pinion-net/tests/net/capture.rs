//! What captures promise: every format read, every damage reported, nothing half-written.

use crate::support::{Random, seed};
use pinion_net::capture::*;
use std::io::{Cursor, Read};
use std::path::PathBuf;

/// A capture format a test file can be in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Classic { big: bool, nano: bool },
    Ng { big: bool, resolution: u8 },
}

struct Image {
    big: bool,
    bytes: Vec<u8>,
}

impl Image {
    fn put(&mut self, words: &[u32]) -> &mut Self {
        for word in words {
            let raw = if self.big { word.to_be_bytes() } else { word.to_le_bytes() };
            self.bytes.extend(raw);
        }
        self
    }

    fn halves(&mut self, a: u16, b: u16) -> &mut Self {
        for half in [a, b] {
            let raw = if self.big { half.to_be_bytes() } else { half.to_le_bytes() };
            self.bytes.extend(raw);
        }
        self
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Image)) {
        let mut inner = Image { big: self.big, bytes: Vec::new() };
        body(&mut inner);
        inner.bytes.resize(inner.bytes.len().next_multiple_of(4), 0);
        let total = inner.bytes.len() as u32 + 12;
        self.put(&[kind, total]).bytes.extend(inner.bytes);
        self.put(&[total]);
    }
}

/// Makes a capture of packets 1000 s + i × 1.5 s, each of these bytes.
fn image(shape: Shape, link: u16, packets: &[Vec<u8>], original: Option<u32>) -> Vec<u8> {
    let time = |i: usize| 1_000_000 + i as u64 * 1500; // milliseconds
    match shape {
        Shape::Classic { big, nano } => {
            let mut image = Image { big, bytes: Vec::new() };
            image.put(&[if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }]).halves(2, 4);
            image.put(&[0, 0, 65535, u32::from(link)]);
            for (i, packet) in packets.iter().enumerate() {
                let part = (time(i) % 1000) as u32 * if nano { 1_000_000 } else { 1_000 };
                let bytes = packet.len() as u32;
                image.put(&[(time(i) / 1000) as u32, part, bytes, original.unwrap_or(bytes)]);
                image.bytes.extend(packet);
            }
            image.bytes
        }
        Shape::Ng { big, resolution } => {
            let mut image = Image { big, bytes: Vec::new() };
            image.block(0x0a0d_0d0a, |b| {
                b.put(&[0x1a2b_3c4d]).halves(1, 0).put(&[u32::MAX, u32::MAX]);
            });
            image.block(1, |b| {
                b.halves(link, 0).put(&[65535]).halves(9, 1).bytes.extend([resolution, 0, 0, 0]);
                b.halves(14, 8); // the clock's offset: 7 s
                b.bytes.extend(if big { 7i64.to_be_bytes() } else { 7i64.to_le_bytes() });
                b.put(&[0]);
            });
            let per_second = match resolution & 0x80 {
                0 => 10u128.pow(resolution.into()),
                _ => 1 << (resolution & 0x7f),
            };
            for (i, packet) in packets.iter().enumerate() {
                let ticks = (u128::from(time(i)) * per_second / 1000) as u64;
                let bytes = packet.len() as u32;
                image.block(6, |b| {
                    b.put(&[0, (ticks >> 32) as u32, ticks as u32, bytes]);
                    b.put(&[original.unwrap_or(bytes)]).bytes.extend(packet);
                });
                image.block(0x0bad_cafe, |b| b.bytes.extend(b"skip me"));
            }
            image.bytes
        }
    }
}

const SHAPES: [Shape; 8] = [
    Shape::Classic { big: false, nano: false },
    Shape::Classic { big: false, nano: true },
    Shape::Classic { big: true, nano: false },
    Shape::Classic { big: true, nano: true },
    Shape::Ng { big: false, resolution: 6 },
    Shape::Ng { big: true, resolution: 9 },
    Shape::Ng { big: true, resolution: 0x80 | 20 },
    Shape::Ng { big: false, resolution: 12 },
];

fn three() -> Vec<Vec<u8>> {
    vec![vec![1; 60], vec![2; 61], vec![3; 1514]]
}

fn open(bytes: Vec<u8>) -> Result<CaptureReader, CaptureError> {
    CaptureReader::from_reader(Box::new(Cursor::new(bytes)), "test.pcap")
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pinion-net-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn reads_every_format_alike() {
    for shape in SHAPES {
        let mut reader = open(image(shape, 1, &three(), None)).unwrap();
        assert_eq!(reader.link_type(), LinkType::Ethernet);
        let frames: Vec<TimedFrame> = reader.by_ref().map(Result::unwrap).collect();
        let times: Vec<u64> = frames.iter().map(|frame| frame.time_ps).collect();
        assert_eq!(times, [0, 1_500_000_000_000, 3_000_000_000_000], "{shape:?}");
        let bytes: Vec<Vec<u8>> = frames.into_iter().map(|frame| frame.bytes).collect();
        assert_eq!(bytes, three(), "{shape:?}");
        let start_s = if matches!(shape, Shape::Ng { .. }) { 1007 } else { 1000 };
        assert_eq!(reader.first_time_unix_ns(), Some(start_s * 1_000_000_000), "{shape:?}");
        assert!(reader.next_frame().unwrap().is_none());
    }
}

/// Gives one byte at a time, as a slow pipe may.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

#[test]
fn reads_from_a_slow_pipe() {
    for shape in SHAPES {
        let source = Trickle(Cursor::new(image(shape, 1, &three()[..2], None)));
        let reader = CaptureReader::from_reader(Box::new(source), "pipe").unwrap();
        assert_eq!(reader.map(Result::unwrap).count(), 2);
    }
}

#[test]
fn every_truncation_gives_all_whole_packets_and_one_error() {
    for shape in SHAPES {
        let packets: Vec<Vec<u8>> = (0..3).map(|i| vec![i; 20]).collect();
        let whole = image(shape, 1, &packets, None);
        for keep in 0..whole.len() {
            let reader = match open(whole[..keep].to_vec()) {
                Ok(reader) => reader,
                Err(
                    CaptureError::TruncatedHeader { .. } | CaptureError::TruncatedRecord { .. },
                ) => {
                    continue;
                }
                Err(other) => panic!("{shape:?} cut to {keep}: {other}"),
            };
            let results: Vec<_> = reader.collect();
            let good = results.iter().take_while(|r| r.is_ok()).count();
            match results.get(good) {
                None => {}
                Some(Err(CaptureError::TruncatedRecord { packets_read, .. })) => {
                    assert_eq!((*packets_read, results.len()), (good as u64, good + 1));
                }
                Some(other) => panic!("{shape:?} cut to {keep}: {other:?}"),
            }
        }
    }
}

#[test]
fn tells_how_much_was_read_before_the_damage() {
    let mut bytes = image(SHAPES[0], 1, &three(), None);
    bytes.truncate(bytes.len() - 1);
    let error = open(bytes).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(error.contains("ends within packet 3 (1529 of 1530 bytes"), "{error}");
    assert!(error.contains("the 2 whole packets before it were read"), "{error}");
}

#[test]
fn foreign_files_are_named() {
    for (start, expected) in [
        (&[0x1f, 0x8b, 8, 0, 0, 0][..], "gunzip"),
        (b"\x7fELF\x01\x01", "ELF program"),
        (b"hello, world, this is text", "68 65 6c 6c"),
    ] {
        let error = open(start.to_vec()).err().unwrap().to_string();
        assert!(error.contains("not a pcap") && error.contains(expected), "{error}");
    }
    let error = open(vec![]).err().unwrap().to_string();
    assert!(error.contains("0 of 24 bytes"), "{error}");
    let error = CaptureReader::open("/nonexistent.pcap").err().unwrap().to_string();
    assert!(error.contains("cannot open the capture /nonexistent.pcap"), "{error}");
}

#[test]
fn unsupported_link_types_are_named_and_raw_ip_is_read() {
    for shape in SHAPES {
        let error = open(image(shape, 113, &three(), None)).err().unwrap().to_string();
        assert!(error.contains("113 (Linux cooked"), "{error}");
        let reader = open(image(shape, 101, &three(), None)).unwrap();
        assert_eq!(reader.link_type(), LinkType::RawIp);
    }
}

#[test]
fn cut_packets_are_refused_unless_wanted() {
    for shape in SHAPES {
        let bytes = image(shape, 1, &three()[..1], Some(1514));
        let mut reader = open(bytes.clone()).unwrap();
        let error = reader.next_frame().unwrap_err().to_string();
        assert!(error.contains("60 of 1514 bytes kept"), "{error}");
        assert!(error.ends_with("record again with `tcpdump -s 0`"), "{error}");
        assert!(reader.next_frame().unwrap().is_none());
        let frame = open(bytes).unwrap().cut_packets(CutPackets::Keep).next().unwrap().unwrap();
        assert!(frame.is_cut());
        assert_eq!((frame.bytes.len(), frame.original_bytes), (60, 1514));
    }
}

#[test]
fn impossible_lengths_are_damage() {
    let mut bytes = image(SHAPES[0], 1, &three(), None);
    bytes[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = open(bytes).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("damaged after 0 whole packets") && error.contains("4294967295"));
}

#[test]
fn a_simple_packet_block_is_read_and_a_missing_interface_is_damage() {
    let mut image = Image { big: false, bytes: image(SHAPES[4], 1, &[], None) };
    image.block(3, |b| b.put(&[5]).bytes.extend([1, 2, 3, 4, 5]));
    let frame = open(image.bytes.clone()).unwrap().next().unwrap().unwrap();
    assert_eq!(frame.bytes, [1, 2, 3, 4, 5]);
    image.block(6, |b| {
        b.put(&[9, 0, 0, 1, 1]).bytes.push(0);
    });
    let error = open(image.bytes).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(error.contains("names interface 9; 1 are described"), "{error}");
}

#[test]
fn a_link_is_followed_and_obsolete_blocks_are_named() {
    let folder = scratch("link");
    let (target, link) = (folder.join("target.pcap"), folder.join("link.pcap"));
    std::fs::write(&target, b"old").unwrap();
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&target, &link).unwrap();
    CaptureWriter::create(&link, LinkType::Ethernet).unwrap().finish().unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&target).unwrap().len(), 24);
    let mut image = Image { big: false, bytes: image(SHAPES[4], 1, &three()[..1], None) };
    image.block(2, |b| b.bytes.extend([0; 24]));
    let error = open(image.bytes).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(error.contains("after 1 whole packets") && error.contains("editcap"), "{error}");
}

#[test]
fn random_damage_never_panics() {
    let mut random = Random::new(seed("capture"));
    for round in 0..4_000 {
        let mut bytes = image(SHAPES[round % SHAPES.len()], 1, &three()[..2], None);
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        if let Ok(reader) = open(bytes) {
            assert!(reader.cut_packets(CutPackets::Keep).count() < 10);
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let path = scratch("roundtrip").join("out.pcap");
    let mut writer = CaptureWriter::create(&path, LinkType::RawIp).unwrap().base_unix_ns(5_000);
    let times = [0, 1_999, 2_000, 5_000_000_000_123_000];
    for time in times {
        writer.write(time, &[time as u8; 70]).unwrap();
    }
    assert!(!path.exists(), "no output under the final name before the end");
    assert_eq!(writer.finish().unwrap(), 4);
    let mut reader = CaptureReader::open(&path).unwrap();
    let read: Vec<TimedFrame> = reader.by_ref().map(Result::unwrap).collect();
    let read_times: Vec<u64> = read.iter().map(|frame| frame.time_ps).collect();
    assert_eq!(read_times, [0, 1_000, 2_000, 5_000_000_000_123_000]);
    assert_eq!(reader.link_type(), LinkType::RawIp);
    assert_eq!(reader.first_time_unix_ns(), Some(5_000));
}

#[test]
fn an_unfinished_or_failed_output_leaves_the_old_file() {
    let folder = scratch("unfinished");
    let path = folder.join("out.pcap");
    std::fs::write(&path, b"old").unwrap();
    let mut writer = CaptureWriter::create(&path, LinkType::Ethernet).unwrap();
    writer.write(0, &[0; 60]).unwrap();
    let error = writer.write(0, &vec![0; 300_000]).unwrap_err().to_string();
    assert!(error.contains("packet 2 cannot be written"), "{error}");
    let error = writer.write(u64::MAX, &[]).err();
    assert!(error.is_none(), "213 days fit");
    drop(writer);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "the temporary file is gone");
    let error = CaptureWriter::create(folder.join("no/such/out.pcap"), LinkType::Ethernet);
    assert!(error.err().unwrap().to_string().contains("cannot write the capture"));
    assert!(CaptureWriter::create(&folder, LinkType::Ethernet).is_err());
}

#[test]
fn a_device_is_written_directly() {
    let mut writer = CaptureWriter::create("/dev/null", LinkType::Ethernet).unwrap();
    writer.write(0, &[0; 60]).unwrap();
    assert_eq!(writer.finish().unwrap(), 1);
}
