//! What the generator promises: right frames, right counts, the same every time, helpful errors.

use crate::support::{Random, seed};
use pinion_net::capture::LinkType;
use pinion_net::capture::TimedFrame;
use pinion_net::frame::{Checksums, Content, SlmpHeader, parse, parse_ip, verify_checksums};
use pinion_net::generator::*;
use std::collections::BTreeMap;

fn frames(text: &str) -> Vec<TimedFrame> {
    Generator::new(GeneratorSpec::parse(text).unwrap()).collect()
}

fn error(text: &str) -> String {
    GeneratorSpec::parse(text).unwrap_err().to_string()
}

#[test]
fn udp_frames_have_the_size_rate_and_sums_asked_for() {
    let frames = frames("udp,size=512,count=100,rate=400g,dport=7");
    assert_eq!(frames.len(), 100);
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!(frame.bytes.len(), 512);
        assert_eq!(frame.time_ps, (i as u64 + 1) * 10_240);
        assert_eq!(verify_checksums(&frame.bytes).unwrap(), Checksums::ALL_GOOD);
        let Content::Udp { src_port, dst_port, .. } = parse(&frame.bytes).unwrap().content else {
            panic!("not UDP");
        };
        assert_eq!((src_port, dst_port), (49152, 7));
    }
}

#[test]
fn the_same_specification_gives_the_same_bytes() {
    let text = "udp,size=64:7/570:4/1518:1,count=300,seed=9";
    assert_eq!(frames(text), frames(text));
    assert_ne!(frames(text), frames("udp,size=64:7/570:4/1518:1,count=300,seed=10"));
    let sizes = |text: &str| frames(text).iter().map(|f| f.bytes.len()).collect::<Vec<_>>();
    assert_eq!(sizes(text), sizes(&format!("{text},payload=zero")));
}

#[test]
fn the_random_streams_are_pinned() {
    let sum: u64 = frames("udp,size=64:7/570:4/1518:1,count=50,seed=3")
        .iter()
        .flat_map(|frame| &frame.bytes)
        .fold(0, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(sum, PINNED_SUM, "the generator's output changed; recorded results no longer hold");
}
const PINNED_SUM: u64 = 6_886_258_045_713_219_020;

#[test]
fn a_mix_comes_as_often_as_it_weighs() {
    let mut counts = BTreeMap::new();
    for frame in frames("udp,size=64:7/570:4/1518:1,count=12000") {
        *counts.entry(frame.bytes.len()).or_insert(0) += 1;
    }
    for (size, share) in [(64, 7000), (570, 4000), (1518, 1000)] {
        let count = i32::abs(counts[&size] - share);
        assert!(count < 300, "{size} bytes came {} times", counts[&size]);
    }
}

#[test]
fn orders_differ_only_in_who_comes_when() {
    let who = |text: &str| -> Vec<u16> {
        frames(text)
            .iter()
            .map(|frame| match parse(&frame.bytes).unwrap().content {
                Content::Udp { src_port, .. } => src_port - 49152,
                _ => panic!("not UDP"),
            })
            .collect()
    };
    assert_eq!(who("udp,messages=3,packets=2"), [0, 0, 1, 1, 2, 2]);
    assert_eq!(who("udp,messages=3,packets=2,order=interleaved"), [0, 1, 2, 0, 1, 2]);
    assert_eq!(who("udp,messages=3,packets=2,order=interleaved:2"), [0, 1, 0, 1, 2, 2]);
}

#[test]
fn slmp_messages_are_whole() {
    let text = "slmp,messages=5,packets=4,size=100/300,order=interleaved:2,id=40";
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    for (i, frame) in frames(text).iter().enumerate() {
        let Content::Udp { dst_port, payload, src_port } = parse(&frame.bytes).unwrap().content
        else {
            panic!("not UDP");
        };
        let (header, body) = SlmpHeader::split(payload).unwrap();
        assert_eq!((dst_port, u32::from(src_port) - 49152 + 40), (9330, header.message_id));
        let offset = seen.entry(header.message_id).or_insert(0);
        assert_eq!(header.offset_bytes, *offset, "frame {i}");
        *offset += body.len() as u32;
        assert_eq!(
            header.flags & SlmpHeader::SYN != 0,
            header.offset_bytes == 0 || header.flags & SlmpHeader::EOM != 0
        );
    }
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [40, 41, 42, 43, 44]);
    let flags = |text: &str| -> Vec<u8> { frames(text).iter().map(|f| f.bytes[42]).collect() };
    assert_eq!(flags("slmp,packets=3,syn=none"), [0, 0, 0x80]);
    assert_eq!(flags("slmp,packets=3,syn=all"), [0x40, 0x40, 0xc0]);
}

#[test]
fn icmp_and_raw_tell_messages_apart() {
    let pings = frames("icmp,size=98,messages=2,packets=2,id=7");
    let ids: Vec<(u16, u16)> = pings
        .iter()
        .map(|frame| match parse(&frame.bytes).unwrap().content {
            Content::IcmpEcho { is_request: true, id, sequence, .. } => (id, sequence),
            other => panic!("not a request: {other:?}"),
        })
        .collect();
    assert_eq!(ids, [(7, 0), (7, 1), (8, 0), (8, 1)]);
    let raw = frames("raw,size=60,messages=2,packets=1,payload=ramp");
    assert_eq!(raw[1].bytes[12..24], [0x88, 0xb5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn link_ip_leaves_the_ethernet_header_out() {
    let spec = GeneratorSpec::parse("udp,size=64,count=1,link=ip").unwrap();
    assert_eq!(spec.link, LinkType::RawIp);
    let frame = Generator::new(spec).next().unwrap();
    assert_eq!(frame.bytes.len(), 64);
    assert_eq!(parse_ip(&frame.bytes).unwrap().ipv4.unwrap().total_bytes, 64);
}

#[test]
fn ports_that_run_out_go_on_with_the_next_address() {
    let frames = frames("udp,messages=5,packets=1,sport=65534,src=10.0.0.255");
    let flow = |i: usize| {
        let parsed = parse(&frames[i].bytes).unwrap();
        let Content::Udp { src_port, .. } = parsed.content else { panic!("not UDP") };
        (parsed.ipv4.unwrap().src.to_string(), src_port)
    };
    assert_eq!(flow(1), ("10.0.0.255".into(), 65535));
    assert_eq!(flow(4), ("10.0.1.1".into(), 65534));
}

#[test]
fn messages_of_a_number_of_bytes_are_cut_by_the_size() {
    let frames = frames("slmp,size=512,bytes=1000,messages=2");
    let sizes: Vec<usize> = frames.iter().map(|frame| frame.bytes.len()).collect();
    assert_eq!(sizes, [512, 512, 52 + 80, 512, 512, 52 + 80]);
    let mut spec = GeneratorSpec::parse("slmp,size=512,bytes=1000,messages=2").unwrap();
    spec.set_frame_bytes(152).unwrap();
    assert_eq!((spec.packets, spec.total_frames()), (10, 20));
    assert!(Generator::new(spec.clone()).all(|frame| frame.bytes.len() == 152));
    assert!(spec.set_frame_bytes(52).is_err());
    assert!(error("slmp,bytes=1000,count=3").contains("`count` does not apply to `bytes=`"));
    assert!(error("slmp,bytes=1000,size=64/128").contains("mixed sizes"));
    assert!(error("slmp,bytes=0").contains("from 1"));
}

#[test]
fn counts_change_the_length_of_one_message_or_the_number_of_several() {
    let count = |text: &str, count: u64| {
        let mut spec = GeneratorSpec::parse(text).unwrap();
        spec.set_count(count).map(|()| (spec.messages, spec.packets)).map_err(|e| e.to_string())
    };
    assert_eq!(count("udp,count=5", 7), Ok((1, 7)));
    assert_eq!(count("udp,messages=5,packets=3", 6), Ok((2, 3)));
    assert_eq!(count("slmp,size=512,bytes=1000", 9), Ok((1, 9)));
    assert!(count("udp,messages=5,packets=3", 7).unwrap_err().contains("a multiple of the 3"));
    assert!(count("udp", 0).is_err());
}

#[test]
fn integers_stay_below_their_bound_and_reach_it() {
    let mut seen = [0u32; 5];
    for frame in frames("udp,size=442,count=100,payload=integers,below=5") {
        for word in frame.bytes[42..].chunks_exact(4) {
            seen[u32::from_le_bytes(word.try_into().unwrap()) as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&count| (1800..2200).contains(&count)), "{seen:?}");
}

#[test]
fn ycsb_requests_have_the_mix_and_the_popularity_asked_for() {
    let requests: Vec<[u32; 4]> =
        frames("udp,size=64,count=20000,payload=ycsb,records=100,reads=0.7")
            .iter()
            .map(|frame| {
                let word = |i: usize| {
                    u32::from_le_bytes(frame.bytes[42 + 4 * i..][..4].try_into().unwrap())
                };
                [word(0), word(1), word(2), word(3)]
            })
            .collect();
    assert!(requests.iter().enumerate().all(|(i, request)| request[0] == i as u32));
    let updates = requests.iter().filter(|request| request[2] == 1).count();
    assert!((5700..6300).contains(&updates), "{updates}");
    let of_rank = |rank| requests.iter().filter(|r| r[1] == key_of_rank(rank)).count();
    let total: usize = (0..100).map(of_rank).sum();
    assert_eq!(total, requests.len());
    // Zipf: the share of rank k + 1 is the first's divided by (k + 1)^theta.
    let harmonic: f64 = (1..=100).map(|k| f64::from(k).powf(-1.1)).sum();
    for rank in [0, 1, 9] {
        let expected = 20_000.0 * f64::from(rank + 1).powf(-1.1) / harmonic;
        let found = of_rank(rank) as f64;
        assert!((found / expected - 1.0).abs() < 0.1, "rank {rank}: {found}, not {expected}");
    }
}

#[test]
fn sources_vary_by_message_and_not_by_frame() {
    let sources = |text: &str| -> Vec<std::net::Ipv4Addr> {
        let frames = frames(text);
        frames.iter().map(|frame| parse(&frame.bytes).unwrap().ipv4.unwrap().src).collect()
    };
    let found = sources("udp,messages=400,packets=2,sources=256,src=10.12.0.0");
    assert!(found.chunks(2).all(|pair| pair[0] == pair[1]));
    assert!(found.iter().all(|source| source.octets()[..3] == [10, 12, 0]));
    let different: std::collections::BTreeSet<_> = found.iter().collect();
    assert!(different.len() > 180, "{}", different.len());
    assert!(error("raw,sources=2").contains("does not apply to `raw`"));
}

#[test]
fn keys_of_a_payload_go_with_it_alone() {
    assert!(error("udp,below=5").contains("`below` does not apply to `payload=random`"));
    assert!(error("udp,payload=integers,theta=1").contains("`theta` does not apply"));
    assert!(error("udp,payload=integers,below=0").contains("from 1"));
    assert!(error("udp,payload=ycsb,theta=-1").contains("from 0"));
    assert!(error("udp,payload=ycsb,reads=nan").contains("from 0 to 1"));
    assert!(error("udp,payload=ycsb,records=0").contains("from 1"));
    assert!(error("udp,payload=yscb").contains("`ycsb`"));
}

#[test]
fn counts_are_completed_and_checked() {
    let counts = |text: &str| {
        let spec = GeneratorSpec::parse(text).unwrap();
        (spec.messages, spec.packets, spec.total_frames())
    };
    assert_eq!(counts("udp"), (1, 1000, 1000));
    assert_eq!(counts("udp,count=7"), (1, 7, 7));
    assert_eq!(counts("udp,count=12,messages=3"), (3, 4, 12));
    assert_eq!(counts("udp,count=12,packets=3"), (4, 3, 12));
    assert_eq!(counts("udp,messages=5"), (5, 1, 5));
    assert_eq!(counts("udp,packets=5"), (1, 5, 5));
    for text in ["udp,count=13,messages=3", "udp,count=2,packets=3", "udp,count=1,messages=2"] {
        assert!(error(text).contains("leave one of them out"), "{text}");
    }
    assert!(error("udp,count=7,messages=2,packets=3").contains("count=7 is not messages=2"));
    assert!(error("udp,count=0").contains("from 1"));
}

#[test]
fn errors_name_the_nearest_right_word() {
    assert!(error("upd,size=64").contains("nearest: `udp`"));
    assert!(error("").contains("kinds: udp"));
    assert!(error("udp,sise=64").contains("did you mean `size`?"));
    assert!(
        error("udp,prot=9").contains("did you mean `sport`?")
            || error("udp,prot=9").contains("`dport`")
    );
    assert!(error("icmp,dport=9").contains("does not apply to `icmp`"));
    assert!(error("udp,link=ip,smac=2:0:0:0:0:1").contains("does not apply to `link=ip`"));
    assert!(error("udp,size").contains("not of the form key=value"));
    assert!(error("udp,size=1,size=2").contains("twice"));
    assert!(error("udp,size=20").contains("42 to 65549"));
    assert!(error("udp,size=64:0").contains("size=64:0"));
    assert!(error("udp,rate=fast").contains("400g"));
    assert!(error("udp,src=10.0.0").contains("IPv4 address"));
    assert!(error("udp,order=random").contains("interleaved:16"));
    assert!(error("udp,wire=cable").contains("`frame` or `ethernet`"));
    assert!(error("udp,smac=02:00").contains("hardware address"));
    assert!(error("udp,dport=65536").contains("65535"));
    let refused = |text| GeneratorSpec::default().with(text, &["src", "sources"], "cluster");
    assert_eq!(refused("udp,size=64").unwrap(), GeneratorSpec::parse("udp,size=64").unwrap());
    let error = refused("udp,sources=4").unwrap_err().to_string();
    assert!(error.contains("`sources` does not apply to `cluster`"), "{error}");
}

#[test]
fn a_specification_prints_as_what_it_is_read_from() {
    for text in [
        "udp,size=64:7/570:4,messages=3,packets=4,rate=400g,order=interleaved:2,seed=5",
        "icmp,size=98,messages=1,packets=4,rate=max,link=ip,seed=1",
        "slmp,size=98,messages=9,packets=4,rate=1g,wire=ethernet,order=interleaved,seed=1",
    ] {
        assert_eq!(GeneratorSpec::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn random_texts_never_panic() {
    let mut random = Random::new(seed("generator"));
    let words = [
        "udp",
        "slmp",
        "raw",
        "icmp",
        ",",
        "=",
        "size",
        "64",
        ":",
        "/",
        "count",
        "messages",
        "packets",
        "é",
        "rate",
        "order",
        "interleaved:",
        "g",
        "-",
        "link",
        "ip",
        "99999999999999999999",
        "0",
        "smac",
    ];
    for _ in 0..20_000 {
        let text: String = (0..random.below(12))
            .map(|_| words[random.below(words.len() as u64) as usize])
            .collect();
        if let Ok(spec) = GeneratorSpec::parse(&text) {
            let _ = spec.to_string();
            if u64::from(spec.order.at_a_time(spec.messages)) < 1 << 20 {
                let _ = Generator::new(spec).take(3).count();
            }
        }
    }
}

#[test]
fn frames_in_the_room_of_others_are_the_same() {
    for text in ["udp,size=64:3/1500:1/80:2,count=50,payload=zero", "icmp,size=100,count=5"] {
        let plain = frames(text);
        let mut generator = Generator::new(GeneratorSpec::parse(text).unwrap());
        for frame in plain {
            let again = generator.next().unwrap();
            assert_eq!(again.bytes, frame.bytes, "{text}");
            let mut spent = again.bytes;
            spent.fill(0xff);
            generator.reuse(spent);
        }
    }
}
