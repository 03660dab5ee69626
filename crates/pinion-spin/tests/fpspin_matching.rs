//! The matching engine as FPsPIN has it (4 rulesets of 3 rules and one for the end of a message,
//! 66 bytes, the message id at byte 44) against a plain implementation of the published
//! description that shares no code with it: bytes, one bit of a verdict after the other.

use pinion_sim::random::SplitMix64;
use pinion_spin::matching::{
    Compare, ContextMatch, DisabledContext, Limits, MatchError, MatchingEngine, Message, MessageId,
    Mode, Rule, Ruleset, Verdict,
};

/// Programs tried; each sees [`PACKETS`] packets.
const PROGRAMS: u32 = 25_000;
/// Packets of each program.
const PACKETS: u32 = 8;
/// Bytes of a packet that FPsPIN's engine sees.
const REACH_BYTES: usize = 66;
/// Rulesets of FPsPIN's engine.
const RULESETS: usize = 4;

/// Draws numbers that anybody can draw again (SplitMix64).
struct Dice(SplitMix64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0.draw()
    }

    fn under(&mut self, limit: u64) -> u64 {
        (self.roll() >> 8) % limit
    }

    fn happens(&mut self, one_in: u64) -> bool {
        self.under(one_in) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.under(of.len() as u64) as usize]
    }
}

/// A rule as the published description writes it.
#[derive(Debug, Clone, Copy)]
struct PlainRule {
    idx: u32,
    mask: u32,
    start: u32,
    end: u32,
}

/// A ruleset: the first three rules choose packets, the fourth tells the end.
#[derive(Debug, Clone, Copy)]
struct PlainRuleset {
    all: bool,
    rules: [PlainRule; 4],
    enabled: bool,
}

/// What becomes of a packet, said plainly.
#[derive(Debug, PartialEq, Eq)]
enum Plain {
    Handlers { context: usize, message: u32, end: bool },
    Host,
    HostBecauseDisabled { context: usize },
}

/// Gives byte `at` of a packet; there is nothing behind its end but zeros.
fn byte_of(packet: &[u8], at: u64) -> u32 {
    match usize::try_from(at) {
        Ok(at) if at < packet.len() && at < REACH_BYTES => u32::from(packet[at]),
        _ => 0,
    }
}

/// Weighs the bytes of a rule's word: the first one most, or in the artifact's order the last one.
fn weigh(bytes: [u32; 4], swapped: bool) -> u32 {
    let [a, b, c, d] = bytes;
    if swapped {
        d * 0x100_0000 + c * 0x1_0000 + b * 0x100 + a
    } else {
        a * 0x100_0000 + b * 0x1_0000 + c * 0x100 + d
    }
}

/// Takes a number apart into the bytes it has on the wire.
fn on_the_wire(number: u32) -> [u32; 4] {
    [number / 0x100_0000, number / 0x1_0000 % 256, number / 0x100 % 256, number % 256]
}

fn plain_rule_holds(rule: PlainRule, packet: &[u8], swapped: bool) -> bool {
    let first = u64::from(rule.idx) * 4;
    let mask = on_the_wire(rule.mask);
    let mut seen = [0; 4];
    for (i, byte) in seen.iter_mut().enumerate() {
        *byte = byte_of(packet, first + i as u64) & mask[i];
    }
    let value = weigh(seen, swapped);
    let not_below = value >= weigh(on_the_wire(rule.start), swapped);
    let not_above = value <= weigh(on_the_wire(rule.end), swapped);
    not_below && not_above
}

/// Finds the lowest ruleset that a packet matches.
fn first_match(rulesets: &[PlainRuleset], packet: &[u8], swapped: bool) -> Option<usize> {
    for (context, ruleset) in rulesets.iter().enumerate() {
        let mut held = 0;
        for rule in &ruleset.rules[..3] {
            held += u32::from(plain_rule_holds(*rule, packet, swapped));
        }
        let needed = if ruleset.all { 3 } else { 1 };
        if held >= needed {
            return Some(context);
        }
    }
    None
}

/// Says what becomes of a packet that matched this ruleset, or none.
fn plainly(
    rulesets: &[PlainRuleset],
    matched: Option<usize>,
    packet: &[u8],
    swapped: bool,
) -> Plain {
    let Some(matched) = matched else { return Plain::Host };
    let context = if rulesets[matched].enabled { matched } else { 0 };
    if !rulesets[context].enabled {
        return Plain::HostBecauseDisabled { context: matched };
    }
    let id = [byte_of(packet, 44), byte_of(packet, 45), byte_of(packet, 46), byte_of(packet, 47)];
    let end = plain_rule_holds(rulesets[matched].rules[3], packet, swapped);
    Plain::Handlers { context, message: weigh(id, false), end }
}

/// Says whether a rule wants to see a byte that FPsPIN's engine does not.
fn looks_too_far(rule: PlainRule) -> bool {
    let mask = on_the_wire(rule.mask);
    (0..4).any(|i| mask[i] != 0 && u64::from(rule.idx) * 4 + i as u64 >= REACH_BYTES as u64)
}

/// Draws a rule; `may_be_far` allows words beyond the engine's reach.
fn any_rule(dice: &mut Dice, may_be_far: bool) -> PlainRule {
    match dice.under(12) {
        0 => return PlainRule { idx: 0, mask: 0, start: 0, end: 0 }, // EMPTY
        1 => return PlainRule { idx: 0, mask: 0, start: 1, end: 0 }, // FALSE
        _ => {}
    }
    let words = if may_be_far { 40 } else { 17 };
    let masks = [u32::MAX, 0xffff, 0xffff_0000, 0xff, 0xff00, 0x8000, 0xff00_ff00];
    let mut mask = if dice.happens(3) { dice.roll() as u32 } else { dice.pick(&masks) };
    let idx =
        if may_be_far && dice.happens(20) { dice.roll() as u32 } else { dice.under(words) as u32 };
    if !may_be_far && idx == 16 {
        mask &= 0xffff_0000;
    }
    let (one, other) = (dice.roll() as u32 & mask, dice.roll() as u32 & mask);
    let (start, end) = match dice.under(6) {
        0 | 1 => (one, one),
        2 => (one.min(other), one.max(other)),
        3 => (one, other), // often empty
        4 => (one, one.saturating_add(dice.under(4) as u32)),
        _ => (0, one),
    };
    PlainRule { idx, mask, start, end }
}

/// Draws a ruleset; those with an EMPTY rule or two match often enough.
fn any_ruleset(dice: &mut Dice, may_be_far: bool) -> PlainRuleset {
    let mut rules = std::array::from_fn(|_| any_rule(dice, may_be_far));
    let empty = PlainRule { idx: 0, mask: 0, start: 0, end: 0 };
    let kept = dice.under(4) as usize;
    let all = dice.happens(2);
    if all {
        for rule in rules.iter_mut().take(3).skip(kept) {
            *rule = empty;
        }
    }
    PlainRuleset { all, rules, enabled: !dice.happens(4) }
}

/// Draws a packet, often so that a rule's word lies on, next to or between its ends.
fn any_packet(dice: &mut Dice, rulesets: &[PlainRuleset]) -> Vec<u8> {
    let bytes = match dice.under(4) {
        0 => dice.under(14),
        1 => 14 + dice.under(60),
        _ => 60 + dice.under(1455),
    };
    let mut packet: Vec<u8> = (0..bytes).map(|_| dice.roll() as u8).collect();
    for _ in 0..dice.under(5) {
        let rule = dice.pick(&dice_rules(rulesets));
        let ends = [rule.start, rule.end, rule.start.wrapping_sub(1), rule.end.wrapping_add(1)];
        let word = match dice.under(8) {
            7 => rule.start / 2 + rule.end / 2,
            choice => ends[choice as usize % 4],
        };
        let noise = dice.roll() as u32 & !rule.mask;
        let at = rule.idx.saturating_mul(4) as usize;
        for (i, byte) in on_the_wire(word & rule.mask | noise).into_iter().enumerate() {
            if let Some(place) = packet.get_mut(at.saturating_add(i)) {
                *place = byte as u8;
            }
        }
    }
    packet
}

fn dice_rules(rulesets: &[PlainRuleset]) -> Vec<PlainRule> {
    rulesets.iter().flat_map(|ruleset| ruleset.rules).collect()
}

fn for_engine(plain: &PlainRuleset) -> ContextMatch {
    let mode = if plain.all { Mode::And } else { Mode::Or };
    let rules =
        plain.rules.map(|r| Rule { index: r.idx, mask: r.mask, start: r.start, end: r.end });
    let ruleset = Ruleset::from_fpspin(mode, rules);
    ContextMatch { ruleset, message: MessageId::SLMP, enabled: plain.enabled }
}

fn engine(contexts: Vec<ContextMatch>, swapped: bool) -> MatchingEngine {
    let compare = if swapped { Compare::Swapped } else { Compare::BigEndian };
    let engine = MatchingEngine::new(contexts, Limits::FPSPIN).expect("it fits");
    engine.compare(compare).disabled_context(DisabledContext::GoesToContext0)
}

fn in_plain_words(verdict: Verdict) -> Plain {
    match verdict {
        Verdict::Matched { context, message: Message { id, .. }, end_of_message } => {
            Plain::Handlers { context: context as usize, message: id, end: end_of_message }
        }
        Verdict::Unmatched => Plain::Host,
        Verdict::Disabled { context } => Plain::HostBecauseDisabled { context: context as usize },
        Verdict::FlowsFull { .. } => panic!("FPsPIN's engine keeps no flows"),
    }
}

/// Starts from `PINION_TEST_SEED` or a fixed seed and says how to replay.
fn seeded(test: &str) -> Dice {
    let given = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = given.unwrap_or(0xf95b);
    println!(
        "replay: PINION_TEST_SEED={seed} cargo test -p pinion-spin --test fpspin_matching {test}"
    );
    Dice(SplitMix64::new(seed))
}

/// Counts what the cases had in them, so that none of it is left untried.
#[derive(Debug, Default)]
struct Tried {
    contexts: [u32; RULESETS],
    redirected: u32,
    unmatched: u32,
    disabled: u32,
    ends: u32,
    short: u32,
}

impl Tried {
    fn note(&mut self, matched: Option<usize>, packet: &[u8], verdict: &Plain) {
        self.short += u32::from(packet.len() < REACH_BYTES);
        match *verdict {
            Plain::Host => self.unmatched += 1,
            Plain::HostBecauseDisabled { .. } => self.disabled += 1,
            Plain::Handlers { context, end, .. } => {
                self.contexts[context] += 1;
                self.ends += u32::from(end);
                self.redirected += u32::from(matched != Some(context));
            }
        }
    }
}

#[test]
fn every_verdict_is_the_published_descriptions() {
    let mut dice = seeded("every_verdict_is_the_published_descriptions");
    let mut tried = Tried::default();
    let mut cases = 0;
    for program in 0..PROGRAMS {
        let swapped = dice.happens(2);
        let count = if dice.happens(4) { dice.under(5) as usize } else { RULESETS };
        let mut rulesets: Vec<_> = (0..count).map(|_| any_ruleset(&mut dice, false)).collect();
        let mut engine = engine(rulesets.iter().map(for_engine).collect(), swapped);
        for _ in 0..PACKETS {
            if count > 0 && dice.happens(4) {
                // Programmed anew while packets flow.
                let context = dice.under(count as u64) as usize;
                rulesets[context] = any_ruleset(&mut dice, false);
                engine.set_context(context as u32, for_engine(&rulesets[context])).unwrap();
            }
            if count > 0 && dice.happens(4) {
                let context = dice.under(count as u64) as usize;
                rulesets[context].enabled = dice.happens(2);
                engine.set_enabled(context as u32, rulesets[context].enabled);
            }
            let packet = match count {
                0 => vec![0xff; 60],
                _ => any_packet(&mut dice, &rulesets),
            };
            let matched = first_match(&rulesets, &packet, swapped);
            let wanted = plainly(&rulesets, matched, &packet, swapped);
            let found = in_plain_words(engine.classify(&packet));
            assert_eq!(
                found, wanted,
                "program {program}: swapped {swapped}, {rulesets:#x?}, packet {packet:02x?}"
            );
            tried.note(matched, &packet, &wanted);
            cases += 1;
        }
    }
    println!("{cases} cases: {tried:?}");
    let enough = cases / 200;
    assert!(tried.contexts.iter().all(|&count| count > enough), "{tried:?}");
    for count in [tried.redirected, tried.unmatched, tried.disabled, tried.ends, tried.short] {
        assert!(count > enough, "{tried:?}");
    }
}

#[test]
fn what_looks_beyond_66_bytes_is_refused_and_nothing_else() {
    let mut dice = seeded("what_looks_beyond_66_bytes_is_refused_and_nothing_else");
    let mut refused = 0;
    for _ in 0..PROGRAMS {
        let plain = any_ruleset(&mut dice, true);
        let wanted = plain.rules.iter().any(|rule| looks_too_far(*rule));
        let made = MatchingEngine::new(vec![for_engine(&plain)], Limits::FPSPIN);
        let mut running = engine(Vec::new(), false);
        let set = running.set_context(3, for_engine(&plain));
        for found in [made.map(|_| ()), set] {
            match found {
                Ok(()) => assert!(!wanted, "accepted: {plain:#x?}"),
                Err(MatchError::BeyondReach { byte, reach_bytes: 66, .. }) => {
                    assert!(wanted && byte >= REACH_BYTES as u64, "refused: {plain:#x?}");
                    refused += 1;
                }
                Err(other) => panic!("{other}: {plain:#x?}"),
            }
        }
    }
    assert!(refused > PROGRAMS / 10 && refused < 2 * PROGRAMS, "{refused}");
}

#[test]
fn a_fifth_ruleset_and_a_fourth_rule_are_refused() {
    let always = ContextMatch {
        ruleset: Ruleset::from_fpspin(Mode::And, [Rule::ALWAYS; 4]),
        message: MessageId::SLMP,
        enabled: true,
    };
    let error = MatchingEngine::new(vec![always.clone(); 5], Limits::FPSPIN).unwrap_err();
    assert_eq!(error, MatchError::TooManyRulesets { needed: 5, available: 4 });
    let mut running = engine(vec![always.clone(); 4], false);
    let error = running.set_context(4, always.clone()).unwrap_err();
    assert_eq!(error, MatchError::TooManyRulesets { needed: 5, available: 4 });
    let mut four = always;
    four.ruleset.rules.push(Rule::ALWAYS);
    let error = running.set_context(0, four).unwrap_err();
    assert_eq!(error, MatchError::TooManyRules { needed: 4, available: 3 });
}
