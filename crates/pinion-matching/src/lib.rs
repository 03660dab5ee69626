//! The matching engine: which packets are for the NIC's handlers, and which message each belongs
//! to (FPsPIN §4.1; PsPIN leaves matching to the NIC around it, paper §III-A1).
//!
//! In: a packet's bytes. Out: a [`Verdict`]: execution context, message and whether the message
//! ends, or that the packet takes the ordinary way. Holds the rulesets and, for messages that are
//! told apart by flow or counted, a bounded table of them. Nothing makes it wait; its latency is
//! the machine's to add.
//!
//! A ruleset belongs to the execution context of the same index; the lowest index that matches
//! wins. [`compile_rules`] makes a ruleset's [`Rule`]s from names such as `udp.dport=9330`.

mod comparisons;
mod engine;
mod error;
mod flow;
mod message;
mod names;
mod near_miss;
mod rule;
mod ruleset;

pub use engine::{ContextMatch, DisabledContext, Found, MatchingEngine, Message, Verdict};
pub use error::MatchError;
pub use flow::FlowFields;
pub use message::{EndOfMessage, MessageId};
pub use names::{Layout, compile_rules, parse_rule};
pub use near_miss::NearMiss;
pub use rule::{Compare, Rule};
pub use ruleset::{Limits, Mode, Ruleset};
