//! A ruleset's rules, made ready to be met by many packets. In: the ruleset, once; a packet's bytes. Out:
//! what [`Ruleset::matches`] says. Of rules that want one value, mask and value are kept as the word's bytes
//! lie in the packet, so that no word is turned round.

use super::rule::word_at;
use super::{Compare, Mode, Rule, Ruleset};

/// Compares a packet with a ruleset.
#[derive(Debug, Clone)]
pub(super) struct Comparisons {
    mode: Mode,
    exact: Box<[Exact]>,
    ranges: Box<[Rule]>,
}

/// A rule that one masked value matches.
#[derive(Debug, Clone, Copy)]
struct Exact {
    /// Where its word ends.
    end: usize,
    /// As the word's bytes lie, like the value.
    mask: u32,
    value: u32,
}

impl Exact {
    fn of(rule: &Rule) -> Self {
        let Rule { index, mask, start, .. } = *rule;
        Self { end: index as usize * 4 + 4, mask: mask.to_be(), value: start.to_be() }
    }

    #[inline]
    fn matches(&self, packet: &[u8]) -> bool {
        match packet.get(..self.end).and_then(|front| front.last_chunk()) {
            Some(bytes) => u32::from_ne_bytes(*bytes) & self.mask == self.value,
            None => self.matches_short(packet),
        }
    }

    /// Does the same where the packet ends within the word or before it.
    #[cold]
    fn matches_short(&self, packet: &[u8]) -> bool {
        word_at(packet, self.end - 4).to_be() & self.mask == self.value
    }
}

impl Comparisons {
    /// Makes those of a ruleset.
    pub(super) fn of(ruleset: &Ruleset) -> Self {
        let is_needed = |rule: &&Rule| ruleset.mode == Mode::Or || **rule != Rule::ALWAYS;
        let (exact, ranges): (Vec<Rule>, Vec<Rule>) =
            ruleset.rules.iter().filter(is_needed).partition(|rule| rule.is_exact());
        let exact = exact.iter().map(Exact::of).collect();
        Self { mode: ruleset.mode, exact, ranges: ranges.into() }
    }

    /// Tells whether a packet matches.
    #[inline]
    pub(super) fn match_packet(&self, packet: &[u8], compare: Compare) -> bool {
        match self.mode {
            Mode::And if self.ranges.is_empty() => {
                self.exact.iter().all(|rule| rule.matches(packet))
            }
            _ => self.match_any_mode(packet, compare),
        }
    }

    /// Does it whatever the rules are.
    #[inline(never)]
    fn match_any_mode(&self, packet: &[u8], compare: Compare) -> bool {
        let exact = |rule: &Exact| rule.matches(packet);
        let in_range = |rule: &Rule| rule.matches(packet, compare);
        match self.mode {
            Mode::And => self.exact.iter().all(exact) && self.ranges.iter().all(in_range),
            Mode::Or => self.exact.iter().any(exact) || self.ranges.iter().any(in_range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_say_what_the_ruleset_says_of_packets_that_end_anywhere() {
        let range = Rule { index: 1, mask: 0xffff_00ff, start: 0x0001_0002, end: 0x0300_0004 };
        let rules = [
            vec![],
            vec![Rule::ALWAYS],
            vec![Rule::NEVER],
            vec![Rule::exact(0, 0xffff_0000, 0x0102_0000)],
            vec![Rule::exact(0, 0xffff_0000, 0x0102_0000), Rule::exact(1, 0xff, 0)],
            vec![Rule::exact(0, 0xff, 1)],
            vec![Rule::exact(2, 0xffff, 0x0b00), range],
            vec![Rule::exact(0, 0xff, 0x100), range], // wants a bit that its mask takes away
            vec![Rule::exact(u32::MAX, 1, 0), Rule::ALWAYS],
        ];
        let packet: Vec<u8> = (1..=12).collect();
        for (rules, mode) in rules.iter().flat_map(|rules| [(rules, Mode::And), (rules, Mode::Or)])
        {
            let ruleset = Ruleset { mode, rules: rules.clone(), ..Ruleset::default() };
            let ready = Comparisons::of(&ruleset);
            for (compare, bytes) in [Compare::BigEndian, Compare::Swapped]
                .into_iter()
                .flat_map(|c| (0..=12).map(move |b| (c, b)))
            {
                let packet = &packet[..bytes];
                let (told, wanted) =
                    (ready.match_packet(packet, compare), ruleset.matches(packet, compare));
                assert_eq!(told, wanted, "{ruleset:?}, {compare:?}, {bytes} bytes");
            }
        }
    }
}
