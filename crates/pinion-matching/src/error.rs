//! What can be wrong with matching rules.

use thiserror::Error;

/// Says what is wrong with matching rules and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MatchError {
    /// A rule's name does not exist.
    #[error("there is no rule `{name}`; did you mean `{nearest}`?")]
    UnknownRule {
        /// The name.
        name: String,
        /// The name most like it, with `=…` if it takes a value.
        nearest: String,
    },
    /// A rule lacks its value.
    #[error("rule `{name}` needs a value: write `{name}={example}`")]
    NeedsValue {
        /// The name.
        name: String,
        /// What could stand there.
        example: &'static str,
    },
    /// A rule has a value and takes none.
    #[error("rule `{name}` takes no value")]
    TakesNoValue {
        /// The name.
        name: String,
    },
    /// A rule's value is of the wrong form.
    #[error("rule `{rule}`: `{value}` is not {expected}")]
    BadValue {
        /// The rule.
        rule: String,
        /// The value.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// A rule names a header that packets do not have here.
    #[error("rule `{rule}` looks at the Ethernet header; packets here begin with the IP header")]
    NoEthernet {
        /// The rule.
        rule: String,
    },
    /// Two rules that must both hold cannot.
    #[error("rule `{rule}` contradicts the rules before it: no packet can match both")]
    Contradiction {
        /// The later rule.
        rule: String,
    },
    /// A rule that stands for several comparisons is an alternative.
    #[error(
        "rule `{rule}` needs {needed} comparisons that all must hold, and alternatives (mode \
         \"or\") have one each: use mode \"and\", write u32(index, mask, start, end), or give it a \
         context of its own"
    )]
    OrNeedsSingle {
        /// The rule.
        rule: String,
        /// Comparisons it needs.
        needed: usize,
    },
    /// The rules need more comparisons than the engine has.
    #[error(
        "the rules need {needed} comparisons; the matching engine has {available} for each \
         context: leave a rule out or use a machine with a larger matching.rules"
    )]
    TooManyRules {
        /// Comparisons needed.
        needed: usize,
        /// Comparisons there.
        available: u32,
    },
    /// There are more contexts than rulesets.
    #[error("{needed} contexts need a ruleset each; the matching engine has {available}")]
    TooManyRulesets {
        /// Contexts.
        needed: usize,
        /// Rulesets there.
        available: u32,
    },
    /// A comparison looks beyond what the engine sees of a packet.
    #[error(
        "{what} needs byte {byte} of the packet; the matching engine sees the first {reach_bytes} \
         (bytes 0 to {last})", last = reach_bytes.saturating_sub(1)
    )]
    BeyondReach {
        /// The rule or field.
        what: String,
        /// The last byte it needs, from 0.
        byte: u64,
        /// Bytes the engine sees.
        reach_bytes: u32,
    },
    /// The end of a message takes one comparison.
    #[error(
        "`{rule}` needs {needed} comparisons, and one tells a message's end: write `slmp.eom`, \
         u32(index, mask, start, end), `packets=N`, `always` or `never`"
    )]
    EndNeedsSingle {
        /// The rule.
        rule: String,
        /// Comparisons it needs.
        needed: usize,
    },
    /// A message definition is of the wrong form.
    #[error(
        "`{text}` does not define a message: {problem}; write \"packet\", \"context\", \"flow\", \
         \"flow:src,sport\" (of src, dst, proto, sport, dport) or \"field:offset=44,mask=0x3ff\""
    )]
    BadMessage {
        /// The definition.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A message cannot have 0 packets.
    #[error("`{text}`: a message has 1 packet or more")]
    NoPackets {
        /// The text.
        text: String,
    },
}
