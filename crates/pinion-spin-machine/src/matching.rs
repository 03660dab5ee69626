//! What a machine says of its matching engine.

use super::Machine;
use pinion_matching::{Compare, ContextMatch, Limits, MatchError, MatchingEngine};

impl Machine {
    /// Gives what the matching engine has room for.
    pub fn matching_limits(&self) -> Limits {
        let matching = &self.matching;
        Limits {
            rulesets: matching.rulesets,
            rules: matching.rules,
            reach_bytes: matching.reach_bytes,
            ..Limits::default()
        }
    }

    /// Makes the matching engine with a ruleset for each context, in the contexts' order.
    ///
    /// # Errors
    /// When the rulesets do not fit the machine.
    pub fn matching_engine(
        &self,
        contexts: Vec<ContextMatch>,
    ) -> Result<MatchingEngine, MatchError> {
        let compare = match self.matching.swapped_compare {
            true => Compare::Swapped,
            false => Compare::BigEndian,
        };
        let engine = MatchingEngine::new(contexts, self.matching_limits())?;
        Ok(engine.compare(compare).swapped_id(self.matching.swapped_id))
    }
}
