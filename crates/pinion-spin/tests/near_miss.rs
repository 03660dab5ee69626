//! What the matching engine says of a packet that no context matches: the rule that came nearest, in words.

use pinion_spin::matching::*;

/// A UDP frame from 10.0.0.1:49152 to 10.0.0.2:9000.
fn udp() -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
    frame[23] = 17;
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..38].copy_from_slice(&[0xc0, 0x00, 0x23, 0x28]);
    frame
}

fn ruleset(mode: Mode, rules: &[&str]) -> Ruleset {
    let rules = compile_rules(rules, mode, &limits(), Layout::Ethernet).unwrap();
    Ruleset { mode, rules, ..Ruleset::default() }
}

fn limits() -> Limits {
    Limits { rules: 99, reach_bytes: 2048, ..Limits::FPSPIN }
}

fn told(packet: &[u8], contexts: &[Ruleset]) -> Option<(u32, String)> {
    let entry = |ruleset: &Ruleset| ContextMatch {
        ruleset: ruleset.clone(),
        message: MessageId::PerPacket,
        enabled: true,
    };
    let engine = MatchingEngine::new(contexts.iter().map(entry).collect(), limits()).unwrap();
    let miss = engine.nearest(packet)?;
    Some((miss.context, miss.to_string()))
}

fn of(rules: &[&str]) -> String {
    told(&udp(), &[ruleset(Mode::And, rules)]).unwrap().1
}

#[test]
fn fields_are_told_in_words() {
    let port = of(&["udp.dport=9330"]);
    assert!(port.starts_with("destination port 9330 is wanted, the packet has 9000"), "{port}");
    assert!(port.ends_with("(1 of 3 comparisons failed)"), "{port}");
    let range = of(&["udp.sport=100-200"]);
    assert!(range.starts_with("source port 100 to 200 is wanted, the packet has 49152"));
    assert!(of(&["icmp"]).starts_with("IP protocol 1 (ICMP) is wanted, the packet has 17 (UDP)"));
    assert!(of(&["arp"]).starts_with("EtherType 0x806 (ARP) is wanted, the packet has 0x800"));
    let net = of(&["ip.dst=192.168.0.0/16"]);
    assert!(net.starts_with("IP destination 192.168.0.0/16 is wanted, the packet has 10.0.0.2"));
    let host = of(&["ip.src=10.0.0.9"]);
    assert!(host.starts_with("IP source 10.0.0.9 is wanted, the packet has 10.0.0.1"), "{host}");
    let word = of(&["u32(12, 0xff, 0x12, 0x12)"]);
    assert_eq!(word, "word at byte 48, bits 0xff: 0x12 is wanted, the packet has 0x0");
}

#[test]
fn a_ping_without_reply_is_told_by_its_type() {
    let mut ping = udp();
    ping[23] = 1;
    ping[34..36].copy_from_slice(&[8, 0]);
    let replies = ruleset(Mode::And, &["icmp.echo_reply"]);
    let (_, text) = told(&ping, &[replies]).unwrap();
    assert!(text.starts_with("ICMP type and code 0x0 is wanted, the packet has 0x800"), "{text}");
}

#[test]
fn the_nearest_context_is_named() {
    let far = ruleset(Mode::And, &["icmp.echo"]);
    let near = ruleset(Mode::And, &["udp.dport=9001"]);
    let none = ruleset(Mode::And, &["none"]);
    assert_eq!(told(&udp(), &[none.clone(), far.clone(), near.clone()]).unwrap().0, 2);
    assert_eq!(told(&udp(), &[near.clone(), far]).unwrap().0, 0);
    assert_eq!(told(&udp(), &[none]), None);
    assert_eq!(told(&udp(), &[near, ruleset(Mode::And, &["all"])]), None);
}

#[test]
fn of_alternatives_the_nearest_is_told() {
    let either = ruleset(Mode::Or, &["eth.type=0x9000", "eth.type=0x0801"]);
    let (_, text) = told(&udp(), &[either]).unwrap();
    assert!(text.starts_with("EtherType 0x801 is wanted"), "{text}");
    assert!(text.ends_with("(nor does another of 2 comparisons hold)"), "{text}");
}
