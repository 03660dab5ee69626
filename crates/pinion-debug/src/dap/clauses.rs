//! What a breakpoint says beside its place: a condition, which of its hits stop, a message that is written
//! instead of stopping.
//!
//! Hits are numbered as the run goes: the same hit has the same number whichever way it is come to, among
//! those that the session has seen.

use serde::Deserialize;

use super::requests::{Session, State, Trouble};
use crate::Arrival;
use crate::hunt::Reason;
use crate::symbols::Answer;

/// What an editor gives with a breakpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clauses {
    condition: Option<String>,
    hit_condition: Option<String>,
    log_message: Option<String>,
}

/// Says which hits stop, by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hits {
    From(u64),
    Only(u64),
    Behind(u64),
    Until(u64),
    Before(u64),
    Every(u64),
}

/// Where a breakpoint was hit: the cycle, and the hart.
pub type Hit = (u64, u32);

/// What becomes of a stop at the user's breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// None of them is there.
    NoBreakpoint,
    /// Its user wants it.
    Wanted,
    /// No condition holds, or it only has something to say.
    Unwanted,
}

impl Clauses {
    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what can be checked before the run comes there.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.hits()?;
        let Some(message) = &self.log_message else { return Ok(()) };
        pieces(message).map(drop)
    }

    fn hits(&self) -> Result<Option<Hits>, String> {
        self.hit_condition.as_deref().filter(|text| !text.trim().is_empty()).map(hits).transpose()
    }
}

/// Reads which hits stop.
fn hits(text: &str) -> Result<Hits, String> {
    type Make = fn(u64) -> Hits;
    const KINDS: [(&str, Make); 7] = [
        (">=", Hits::From),
        ("<=", Hits::Until),
        ("==", Hits::Only),
        (">", Hits::Behind),
        ("<", Hits::Before),
        ("%", Hits::Every),
        ("", Hits::From),
    ];
    let text = text.trim();
    let kinds = KINDS.iter();
    let found = kinds.filter_map(|(mark, make)| Some((text.strip_prefix(mark)?, make))).next();
    let number = found.and_then(|(number, make)| Some(make(number.trim().parse().ok()?)));
    number.filter(|hits| *hits != Hits::Every(0)).ok_or_else(|| {
        format!("`{text}` counts no hits: write 5 (from the fifth on), == 5, > 5, < 5 or % 5")
    })
}

impl Hits {
    fn has(self, number: u64) -> bool {
        match self {
            Self::From(first) => number >= first,
            Self::Only(one) => number == one,
            Self::Behind(last) => number > last,
            Self::Until(last) => number <= last,
            Self::Before(first) => number < first,
            Self::Every(step) => number.is_multiple_of(step),
        }
    }
}

/// A piece of a log point's message.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'m> {
    Text(&'m str),
    Expression(&'m str),
}

/// Splits a message at the expressions in braces.
fn pieces(message: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut rest = message;
    let mut pieces = Vec::new();
    while let Some((text, behind)) = rest.split_once('{') {
        let closed = behind.split_once('}');
        let (expression, behind) =
            closed.ok_or_else(|| format!("`{message}`: a `}}` is missing"))?;
        pieces.extend([Piece::Text(text), Piece::Expression(expression)]);
        rest = behind;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

impl Session<'_, '_> {
    /// Judges a stop by the breakpoints that are there; writes what log points say.
    pub fn judge(&mut self, arrival: &Arrival) -> Result<Verdict, Trouble> {
        let ids = match &arrival.reason {
            Reason::Breakpoint => self.breakpoints.at(self.console.timeline.pc(self.console.focus)),
            Reason::Watchpoint { address, .. } => self.breakpoints.on(*address),
            _ => return Ok(Verdict::NoBreakpoint),
        };
        let mut verdict = match ids.is_empty() {
            true => Verdict::NoBreakpoint,
            false => Verdict::Unwanted,
        };
        for id in ids {
            if self.stops(id)? {
                verdict = Verdict::Wanted;
            }
        }
        Ok(verdict)
    }

    /// Tells whether one breakpoint stops here.
    fn stops(&mut self, id: u64) -> Result<bool, Trouble> {
        let Some(clauses) = self.breakpoints.clauses(id).filter(|clauses| !clauses.is_empty())
        else {
            return Ok(true);
        };
        let clauses = clauses.clone();
        if let Some(condition) = clauses.condition.as_deref().filter(|text| !text.trim().is_empty())
        {
            match self.truth(condition) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
                // Whoever wrote it wants to know.
                Err(why) => {
                    self.print("important", &format!("condition `{condition}`: {why}\n"))?;
                    return Ok(true);
                }
            }
        }
        let hit = (self.console.timeline.position().cycle, self.console.focus);
        let number = self.breakpoints.count(id, hit);
        if clauses.hits().ok().flatten().is_some_and(|hits| !hits.has(number)) {
            return Ok(false);
        }
        let Some(message) = &clauses.log_message else { return Ok(true) };
        // Going back takes back what was said.
        if self.state == (State::Running { forward: true }) {
            let said = self.filled(message);
            self.print("console", &format!("{said}\n"))?;
        }
        Ok(false)
    }

    fn truth(&self, condition: &str) -> Result<bool, String> {
        let (hart, found) = self.work_out(condition, None)?;
        self.symbols.is_true(&found, &self.memory(hart))
    }

    /// Fills a log point's message in.
    fn filled(&self, message: &str) -> String {
        let told = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Expression(text) => match self.work_out(text, None) {
                Ok((hart, Answer::Value(value))) => self.symbols.text(&value, &self.memory(hart)),
                Ok((_, Answer::Number(number))) => format!("{number:#x}"),
                Ok((_, Answer::Computed(number))) => number.to_string(),
                Err(why) => format!("<{why}>"),
            },
        };
        pieces(message).unwrap_or_default().iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_chosen_by_their_number() {
        let stops =
            |text: &str| (1..=6).filter(|n| hits(text).unwrap().has(*n)).collect::<Vec<_>>();
        assert_eq!(stops("3"), [3, 4, 5, 6]);
        assert_eq!(stops(">= 3"), stops("3"));
        assert_eq!(
            (stops(" == 3"), stops(">3"), stops("<3")),
            (vec![3], vec![4, 5, 6], vec![1, 2])
        );
        assert_eq!((stops("<=2"), stops("% 2")), (vec![1, 2], vec![2, 4, 6]));
        for text in ["often", "%0", "-1", ">", "3 4"] {
            assert!(hits(text).unwrap_err().contains("counts no hits"), "{text}");
        }
    }

    #[test]
    fn a_message_has_its_expressions_in_braces() {
        let found = pieces("at {bytes} of {task->packet}.").unwrap();
        let [Piece::Text("at "), Piece::Expression("bytes"), .., Piece::Text(".")] = &found[..]
        else {
            panic!("{found:?}")
        };
        assert_eq!(found.len(), 5);
        assert!(pieces("{bytes").unwrap_err().contains("is missing"));
    }
}
