//! The engine against an independent plain implementation, and named rules against real packets.

use pinion_sim::random::SplitMix64;
use pinion_spin::matching::*;

/// Random rules and packets, which a seed replays.
struct Random(SplitMix64);

impl Random {
    /// Starts from `PINION_TEST_SEED` or a fixed seed and prints how to replay.
    fn seeded(test: &str) -> Self {
        let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed: u64 = seed.unwrap_or(0x5eed);
        println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-spin {test}");
        Self(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.draw()
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound.max(1)
    }

    /// Picks numbers that are likely to match something.
    fn word(&mut self) -> u32 {
        match self.below(5) {
            0 => 0,
            1 => u32::MAX,
            2 => self.below(4) as u32,
            3 => (self.below(4) as u32) << 16,
            _ => self.next() as u32,
        }
    }

    fn packet(&mut self) -> Vec<u8> {
        let bytes = self.below(80) as usize;
        (0..bytes).map(|_| if self.below(2) == 0 { 0 } else { self.below(4) as u8 }).collect()
    }

    fn rule(&mut self) -> Rule {
        let (index, mask) = (self.below(16) as u32, self.word());
        let (start, end) = (self.word(), self.word());
        match self.below(3) {
            0 => Rule { index, mask, start, end },
            1 => Rule { index, mask, start: start.min(end), end: start.max(end) },
            _ => Rule { index, mask, start: start & mask, end: start & mask },
        }
    }
}

/// Compares byte by byte, as the text of FPsPIN's §4.1 says it, without looking at the engine.
fn plainly_matches(rule: &Rule, packet: &[u8], swapped: bool) -> bool {
    let byte = |i: u32| packet.get((rule.index * 4 + i) as usize).copied().unwrap_or(0);
    let mask = rule.mask.to_be_bytes();
    let mut value: Vec<u8> = (0..4).map(|i| byte(i) & mask[i as usize]).collect();
    let mut low = rule.start.to_be_bytes().to_vec();
    let mut high = rule.end.to_be_bytes().to_vec();
    if swapped {
        for bytes in [&mut value, &mut low, &mut high] {
            bytes.reverse();
        }
    }
    low <= value && value <= high // vectors compare like numbers, first byte first
}

#[test]
fn classification_equals_the_plain_implementation() {
    let mut random = Random::seeded("classification_equals_the_plain_implementation");
    for _ in 0..3_000 {
        let sets: Vec<(bool, [Rule; 4])> = (0..random.below(5))
            .map(|_| (random.below(2) == 0, std::array::from_fn(|_| random.rule())))
            .collect();
        let swapped = random.below(2) == 0;
        let contexts = sets.iter().map(|(and, rules)| ContextMatch {
            ruleset: Ruleset::from_fpspin(if *and { Mode::And } else { Mode::Or }, *rules),
            message: MessageId::SLMP,
            enabled: true,
        });
        let compare = if swapped { Compare::Swapped } else { Compare::BigEndian };
        let engine = MatchingEngine::new(contexts.collect(), Limits::FPSPIN).unwrap();
        let mut engine = engine.compare(compare);
        for _ in 0..20 {
            let packet = random.packet();
            let mut expected = Verdict::Unmatched;
            for (context, (and, rules)) in sets.iter().enumerate() {
                let hits = rules[..3].iter().filter(|r| plainly_matches(r, &packet, swapped));
                let hits = hits.count();
                if hits == 3 || (!and && hits > 0) {
                    let id = (44..48).fold(0u32, |id, i| {
                        id << 8 | u32::from(packet.get(i).copied().unwrap_or(0))
                    });
                    expected = Verdict::Matched {
                        context: context as u32,
                        message: Message { id, flow: 0 },
                        end_of_message: plainly_matches(&rules[3], &packet, swapped),
                    };
                    break;
                }
            }
            assert_eq!(engine.classify(&packet), expected, "{sets:?} {packet:?}");
        }
    }
}

/// Builds a frame by hand: addresses 10.0.0.1 to 10.0.0.2, ports 1000 to `dport`.
fn frame(proto: u8, transport: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 14];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(transport);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn udp(sport: u16, dport: u16) -> Vec<u8> {
    let [a, b] = sport.to_be_bytes();
    let [c, d] = dport.to_be_bytes();
    frame(17, &[a, b, c, d, 0, 30, 0, 0])
}

fn rules(texts: &[&str], layout: Layout) -> Result<Ruleset, MatchError> {
    let rules = compile_rules(texts, Mode::And, &Limits::FPSPIN, layout)?;
    Ok(Ruleset { rules, ..Ruleset::default() })
}

fn hits(texts: &[&str], frame: &[u8]) -> bool {
    let big = Compare::BigEndian;
    let hit = rules(texts, Layout::Ethernet).unwrap().matches(frame, big);
    let needs_ethernet = texts.iter().any(|text| matches!(*text, "arp" | "eth.type=0x0806"));
    if !needs_ethernet && frame[12..14] == [8, 0] {
        let inner = rules(texts, Layout::Ip).unwrap().matches(&frame[14..], big);
        assert_eq!(hit, inner, "{texts:?}: with and without Ethernet header");
    }
    hit
}

#[test]
fn echo_matches_requests_and_nothing_else() {
    assert!(hits(&["icmp.echo"], &frame(1, &[8, 0])));
    for (proto, transport) in [(1, [0, 0]), (1, [8, 1]), (1, [3, 0]), (17, [8, 0])] {
        assert!(!hits(&["icmp.echo"], &frame(proto, &transport)), "{proto} {transport:?}");
    }
    assert!(hits(&["icmp.echo_reply"], &frame(1, &[0, 0])));
    assert!(hits(&["icmp"], &frame(1, &[3, 0])) && !hits(&["icmp"], &udp(1, 2)));
}

#[test]
fn ports_addresses_and_protocols_match_what_they_say() {
    let packet = udp(1000, 9330);
    for texts in [
        &["udp.dport=9330"][..],
        &["udp.sport=1000"],
        &["udp.dport=9000-9999"],
        &["udp.dport = 0x2472"],
        &["slmp"],
        &["udp", "slmp"],
        &["ip.proto=17", "ip"],
        &["ip.src=10.0.0.1"],
        &["ip.src=10.0.0.0/24"],
        &["ip.dst=10.0.0.2/31"],
        &["ip.dst=10.0.0.2/8"],
        &["ip.src=1.2.3.4/0"],
        &["true"],
        &[],
    ] {
        assert!(hits(texts, &packet), "{texts:?}");
    }
    for texts in [
        &["udp.dport=9331"][..],
        &["udp.sport=1001-2000"],
        &["tcp.dport=9330"],
        &["tcp"],
        &["ip.src=10.0.0.2"],
        &["ip.dst=10.0.1.0/24"],
        &["arp"],
        &["eth.type=0x0806"],
        &["false"],
    ] {
        assert!(!hits(texts, &packet), "{texts:?}");
    }
}

#[test]
fn options_and_fragments_do_not_fool_port_rules() {
    let mut options = udp(1, 9330);
    options[14] = 0x46;
    let mut fragment = udp(1, 9330);
    fragment[21] = 1;
    let texts = ["udp.dport=9330"];
    for packet in [options, fragment] {
        let set = rules(&texts, Layout::Ethernet).unwrap();
        assert!(!set.matches(&packet, Compare::BigEndian));
        assert!(rules(&["udp"], Layout::Ethernet).unwrap().matches(&packet, Compare::BigEndian));
    }
}

#[test]
fn names_are_fpspins_comparisons() {
    let parse = |text| parse_rule(text, Layout::Ethernet).unwrap();
    let ip = Rule::exact(3, 0xffff_0000, 0x0800_0000);
    assert_eq!(parse("ip"), [ip]);
    assert_eq!(parse("udp"), [ip, Rule::exact(5, 0xff, 17)]);
    assert_eq!(parse("udp.sport=53")[2], Rule::exact(8, 0xffff, 53));
    assert_eq!(parse("slmp")[2], Rule::exact(9, 0xffff_0000, 9330 << 16));
    assert_eq!(parse("slmp.eom"), [Rule::exact(10, 0x8000, 0x8000)]);
    assert_eq!(
        parse("u32(9, 0xffff0000, 1, 2)"),
        [Rule { index: 9, mask: 0xffff_0000, start: 1, end: 2 }]
    );
}

#[test]
fn conjunctions_merge_and_say_when_they_do_not_fit() {
    let compile = |texts: &[&str], mode| {
        compile_rules(texts, mode, &Limits::FPSPIN, Layout::Ethernet).map_err(|e| e.to_string())
    };
    let and = |texts: &[&str]| compile(texts, Mode::And);
    assert_eq!(and(&["ip", "udp", "ip", "true"]).unwrap().len(), 2);
    assert_eq!(and(&["ip.src=10.0.0.0/8"]).unwrap().len(), 2);
    assert!(and(&["udp", "tcp"]).unwrap_err().contains("contradicts"));
    let error = and(&["udp.dport=1", "ip.src=10.0.0.1"]).unwrap_err();
    assert!(error.contains("need 5 comparisons") && error.contains("has 3"), "{error}");
    assert!(and(&["u32(17, 0xff000000, 0, 0)"]).unwrap_err().contains("needs byte 68"));
    assert!(compile(&["udp"], Mode::Or).unwrap_err().contains("mode \"and\""));
    assert_eq!(compile(&["ip", "arp"], Mode::Or).unwrap().len(), 2);
}

#[test]
fn wrong_rules_are_told_from_right_ones() {
    let error = |text| parse_rule(text, Layout::Ethernet).unwrap_err().to_string();
    for (text, part) in [
        ("udp.dprot=9", "did you mean `udp.dport=…`"),
        ("icmp.ecko", "did you mean `icmp.echo`"),
        ("", "there is no rule"),
        ("udp.dport", "write `udp.dport=9330`"),
        ("icmp=3", "takes no value"),
        ("udp.dport=70000", "from 0 to 65535"),
        ("udp.dport=9-8", "lower one first"),
        ("ip.proto=256", "from 0 to 255"),
        ("ip.src=10.0.0", "an IPv4 address"),
        ("ip.src=10.0.0.1/33", "from 0 to 32"),
        ("u32(1, 2)", "u32(index, mask, start, end)"),
        ("u32(1, 2, 3, x)", "`x` is not a number"),
    ] {
        assert!(error(text).contains(part), "{text}: {}", error(text));
    }
    let error = parse_rule("arp", Layout::Ip).unwrap_err().to_string();
    assert!(error.contains("begin with the IP header"), "{error}");
}

fn engine(entries: &[(&[&str], &str, &str)], limits: Limits) -> MatchingEngine {
    let entry = |&(texts, message, end): &(&[&str], &str, &str)| ContextMatch {
        ruleset: Ruleset {
            end_of_message: EndOfMessage::parse(end, Layout::Ethernet).unwrap(),
            ..rules(texts, Layout::Ethernet).unwrap()
        },
        message: MessageId::parse(message).unwrap(),
        enabled: true,
    };
    MatchingEngine::new(entries.iter().map(entry).collect(), limits).unwrap()
}

fn matched(verdict: Verdict) -> (u32, u32, u32, bool) {
    match verdict {
        Verdict::Matched { context, message, end_of_message } => {
            (context, message.id, message.flow, end_of_message)
        }
        other => panic!("not matched: {other:?}"),
    }
}

#[test]
fn the_lowest_index_wins_and_disabled_contexts_go_to_0() {
    let entries = [(&["icmp"][..], "packet", "always"), (&["udp"], "packet", "always")];
    let mut me = engine(&entries, Limits::FPSPIN);
    assert_eq!(matched(me.classify(&udp(1, 2))).0, 1);
    me.set_enabled(1, false);
    assert_eq!(matched(me.classify(&udp(1, 2))).0, 0);
    me.set_enabled(0, false);
    assert_eq!(me.classify(&udp(1, 2)), Verdict::Disabled { context: 1 });
    assert_eq!(me.classify(&frame(6, &[])), Verdict::Unmatched);
    let mut me = me.disabled_context(DisabledContext::IsPassed);
    me.set_enabled(0, true);
    assert_eq!(me.classify(&udp(1, 2)), Verdict::Disabled { context: 1 });
    let all = ContextMatch { enabled: true, message: MessageId::SLMP, ruleset: Ruleset::default() };
    me.set_context(3, all.clone()).unwrap();
    assert_eq!(matched(me.classify(&frame(6, &[]))).0, 3);
    assert!(matches!(me.set_context(4, all), Err(MatchError::TooManyRulesets { .. })));
}

#[test]
fn per_packet_messages_are_single_packets() {
    let mut me = engine(&[(&["udp"], "packet", "never")], Limits::FPSPIN);
    let ids: Vec<_> = (0..3).map(|_| matched(me.classify(&udp(1, 2)))).collect();
    assert_eq!(ids, [(0, 0, 0, true), (0, 1, 0, true), (0, 2, 0, true)]);
}

#[test]
fn counted_flows_get_a_new_id_for_each_message_and_keep_their_flow() {
    let mut me = engine(&[(&["udp"], "flow", "packets=2")], Limits::FPSPIN);
    let mut see = |sport| matched(me.classify(&udp(sport, 2)));
    assert_eq!(see(7), (0, 0, 0, false));
    assert_eq!(see(8), (0, 1, 1, false));
    assert_eq!(see(7), (0, 0, 0, true));
    assert_eq!(see(7), (0, 2, 0, false));
    assert_eq!(see(8), (0, 1, 1, true));
    me.end_message(0, 0); // ended by itself long ago
    me.end_message(0, 2);
    assert_eq!(matched(me.classify(&udp(7, 2))), (0, 3, 0, true), "the count goes on");
    assert_eq!(matched(me.classify(&udp(7, 2))), (0, 4, 0, false));
}

#[test]
fn a_field_names_messages_and_can_be_counted() {
    let mut me = engine(
        &[(&["udp"], "field:offset=34,mask=0xffff0000,shift=16", "packets=2")],
        Limits::FPSPIN,
    );
    let mut see = |sport| matched(me.classify(&udp(sport, 2)));
    assert_eq!(see(7), (0, 7, 0, false));
    assert_eq!(see(9), (0, 9, 0, false));
    assert_eq!(see(7), (0, 7, 0, true));
    assert_eq!(see(7), (0, 7, 0, false));
}

#[test]
fn a_full_table_forgets_idle_flows_only() {
    let limits = Limits { flows: 2, ..Limits::FPSPIN };
    let mut me = engine(&[(&["udp"], "flow", "packets=2")], limits);
    me.classify(&udp(1, 2));
    me.classify(&udp(2, 2));
    assert_eq!(me.classify(&udp(3, 2)), Verdict::FlowsFull { context: 0 });
    assert!(matched(me.classify(&udp(2, 2))).3);
    assert_eq!(matched(me.classify(&udp(3, 2))), (0, 2, 2, false));
    assert_eq!(me.flows(), 2);
    assert!(matched(me.classify(&udp(1, 2))).3, "the unfinished one is still known");
    let mut me = engine(&[(&["udp"], "flow", "never")], limits);
    me.classify(&udp(1, 2));
    me.classify(&udp(2, 2));
    assert_eq!(me.classify(&udp(3, 2)), Verdict::FlowsFull { context: 0 });
    me.end_message(0, 1);
    assert_eq!(matched(me.classify(&udp(3, 2))), (0, 2, 2, false), "in the given-up one's place");
}

/// FPsPIN's matcher takes the word at byte 44 as it lies in the packet, the first byte lowest.
#[test]
fn a_machine_that_swaps_ids_reads_the_first_byte_as_the_lowest() {
    let packet = [&[0; 44][..], &[5, 1, 0, 0x80], &[0; 8]].concat();
    let limits = Limits::FPSPIN;
    for (message, plain, swapped) in [
        ("field:offset=44", 0x0501_0080, 0x8000_0105),
        ("field:offset=44,mask=0xff00,shift=8", 0, 1),
        ("packet", 0, 0),
    ] {
        let read = |mut me: MatchingEngine| matched(me.classify(&packet)).1;
        assert_eq!(read(engine(&[(&[], message, "always")], limits)), plain, "{message}");
        let swapping = engine(&[(&[], message, "always")], limits).swapped_id(true);
        assert_eq!(read(swapping), swapped, "{message}");
    }
}

#[test]
fn random_packets_and_definitions_never_panic() {
    let mut random = Random::seeded("random_packets_and_definitions_never_panic");
    let messages = ["packet", "context", "flow", "flow:src,dport", "slmp", "field:offset=1"];
    let ends = ["always", "never", "packets=3", "slmp.eom"];
    for _ in 0..2_000 {
        let limits = Limits { flows: random.below(4) as u32, ..Limits::FPSPIN };
        let message = messages[random.below(6) as usize];
        let end = ends[random.below(4) as usize];
        let mut me = engine(&[(&["slmp"], message, end), (&[], message, end)], limits);
        if random.below(2) == 0 {
            me = me.layout(Layout::Ip);
        }
        for _ in 0..50 {
            me.classify(&random.packet());
        }
        assert!(me.flows() <= limits.flows as usize);
    }
}

#[test]
fn random_texts_never_panic() {
    let mut random = Random::seeded("random_texts_never_panic");
    let words = [
        "udp",
        ".dport",
        "=",
        "9330",
        "-",
        "u32(",
        ",",
        ")",
        "0x",
        "ip.src",
        "10.0.0.1",
        "/",
        "24",
        "é",
        "flow",
        ":",
        "field",
        "offset",
        "packets",
        " ",
        "4294967296",
    ];
    for _ in 0..20_000 {
        let count = random.below(8);
        let text: String = (0..count).map(|_| words[random.below(21) as usize]).collect();
        for layout in [Layout::Ethernet, Layout::Ip] {
            let _ = compile_rules(&[&text], Mode::And, &Limits::FPSPIN, layout);
            let _ = EndOfMessage::parse(&text, layout);
        }
        let _ = MessageId::parse(&text);
    }
}
