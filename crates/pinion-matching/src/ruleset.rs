//! Rulesets: the comparisons that choose a context's packets. In: a packet's bytes. Out: whether
//! it is one of them. Limits say what the modelled hardware has room for.

use super::{Compare, EndOfMessage, MatchError, MessageId, Rule};

/// Says what a matching engine has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rulesets, one for each execution context.
    pub rulesets: u32,
    /// Rules of a ruleset, besides the one that tells a message's end.
    pub rules: u32,
    /// Bytes of a packet that it sees.
    pub reach_bytes: u32,
    /// Flows and counted messages it keeps apart at a time, over all contexts.
    pub flows: u32,
}

impl Limits {
    /// FPsPIN's engine: 4 rulesets of 4 rules, of which one tells the end; the Ethernet, IP and
    /// TCP headers' 66 bytes (FPsPIN §4.1). It keeps no flows; they are ours.
    pub const FPSPIN: Self = Self { rulesets: 4, rules: 3, reach_bytes: 66, flows: 16_384 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::FPSPIN
    }
}

/// Says how the rules of a ruleset combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// All must match; without rules every packet does.
    #[default]
    And,
    /// One must match; without rules no packet does.
    Or,
}

/// Chooses a context's packets and tells where their messages end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ruleset {
    /// How the rules combine.
    pub mode: Mode,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Which packet is a message's last.
    pub end_of_message: EndOfMessage,
}

impl Ruleset {
    /// Makes a ruleset from FPsPIN's four rules, the last of which tells the end of a message.
    pub fn from_fpspin(mode: Mode, rules: [Rule; 4]) -> Self {
        let [a, b, c, end] = rules;
        Self { mode, rules: vec![a, b, c], end_of_message: EndOfMessage::Rule(end) }
    }

    /// Makes a ruleset that matches no packet: what an engine holds before it is programmed.
    pub fn none() -> Self {
        Self { mode: Mode::Or, ..Self::default() }
    }

    /// Tells whether a packet matches.
    #[inline]
    pub fn matches(&self, packet: &[u8], compare: Compare) -> bool {
        match self.mode {
            Mode::And => self.rules.iter().all(|rule| rule.matches(packet, compare)),
            Mode::Or => self.rules.iter().any(|rule| rule.matches(packet, compare)),
        }
    }

    /// Checks the ruleset and the message definition that goes with it against the engine.
    ///
    /// # Errors
    /// [`MatchError::TooManyRules`] or [`MatchError::BeyondReach`].
    pub fn check(&self, message: &MessageId, limits: &Limits) -> Result<(), MatchError> {
        self.check_rules(limits)?;
        self.check_end_of_message(limits)?;
        message.check(limits)
    }

    /// Checks the rules alone.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_rules(&self, limits: &Limits) -> Result<(), MatchError> {
        if self.rules.len() > limits.rules as usize {
            let needed = self.rules.len();
            return Err(MatchError::TooManyRules { needed, available: limits.rules });
        }
        let check = |rule: &Rule| check_reach(&describe(rule), rule.last_byte(), limits);
        self.rules.iter().try_for_each(check)
    }

    /// Checks what tells a message's end alone.
    ///
    /// # Errors
    /// [`MatchError::BeyondReach`].
    pub fn check_end_of_message(&self, limits: &Limits) -> Result<(), MatchError> {
        let EndOfMessage::Rule(rule) = &self.end_of_message else { return Ok(()) };
        let what = format!("the end of message, {},", describe(rule));
        check_reach(&what, rule.last_byte(), limits)
    }
}

impl MessageId {
    /// Checks that the engine sees what a message is told by.
    ///
    /// # Errors
    /// [`MatchError::BeyondReach`].
    pub fn check(&self, limits: &Limits) -> Result<(), MatchError> {
        let Self::Field { offset_bytes, mask, .. } = *self else { return Ok(()) };
        let last = Rule::exact(0, mask, 0).last_byte().map(|byte| byte + u64::from(offset_bytes));
        check_reach("the message id", last, limits)
    }
}

/// Refuses a rule that looks beyond the engine's reach.
pub(super) fn check_reach(
    what: &str,
    last_byte: Option<u64>,
    limits: &Limits,
) -> Result<(), MatchError> {
    match last_byte {
        Some(byte) if byte >= u64::from(limits.reach_bytes) => Err(MatchError::BeyondReach {
            what: what.to_string(),
            byte,
            reach_bytes: limits.reach_bytes,
        }),
        _ => Ok(()),
    }
}

fn describe(rule: &Rule) -> String {
    let Rule { index, mask, start, end } = rule;
    format!("rule u32({index}, {mask:#x}, {start:#x}, {end:#x})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(index: u32, mask: u32) -> Rule {
        Rule::exact(index, mask, 0)
    }

    #[test]
    fn no_rules_match_all_or_nothing() {
        assert!(Ruleset::default().matches(&[1], Compare::BigEndian));
        assert!(!Ruleset::none().matches(&[1], Compare::BigEndian));
    }

    #[test]
    fn the_reach_ends_within_a_word() {
        let check = |rule: Rule, end: Rule, message: MessageId| {
            let set = Ruleset::from_fpspin(Mode::And, [rule, Rule::ALWAYS, Rule::ALWAYS, end]);
            set.check(&message, &Limits::FPSPIN).map_err(|e| e.to_string())
        };
        let field = |offset_bytes| MessageId::Field { offset_bytes, mask: u32::MAX, shift: 0 };
        let (good, packet) = (word(16, 0xffff_0000), MessageId::PerPacket);
        assert_eq!(check(good, good, field(62)), Ok(()));
        let error = check(word(17, 0xff00_0000), good, packet).unwrap_err();
        assert!(error.contains("needs byte 68") && error.contains("first 66"), "{error}");
        assert!(check(word(16, 1), good, packet).unwrap_err().contains("needs byte 67"));
        assert!(check(good, word(16, 1), packet).unwrap_err().contains("end of message"));
        assert!(check(good, good, field(63)).unwrap_err().contains("the message id needs byte 66"));
    }

    #[test]
    fn more_rules_than_comparators_are_refused() {
        let set = Ruleset { rules: vec![Rule::ALWAYS; 4], ..Ruleset::default() };
        let error = set.check(&MessageId::PerPacket, &Limits::FPSPIN).unwrap_err();
        assert_eq!(error, MatchError::TooManyRules { needed: 4, available: 3 });
    }
}
