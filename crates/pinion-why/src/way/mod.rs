//! A way from its begin to its end, as text, for programs and as a picture: parts that follow each other,
//! of whatever machine, and the lines of source that took longest.

mod behind;
mod lines;
mod part;

use std::fmt::Write as _;

use pinion_app::error::Result;
use pinion_observe::plot::{Bar, waterfall};
use pinion_observe::words::{count, number};
use pinion_sim::Time;
use serde_json::Value;

use crate::find::Standing;
pub use behind::{Behind, Blocker, Seat, Who};
pub use lines::{LineShare, longest, shares, write_lines};
pub use part::{Builder, Part, Step};

/// Width of the text's bars.
const BAR_WIDTH: usize = 24;

/// A way.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Its parts, one after the other.
    pub parts: Vec<Part>,
}

/// What a debugger shows of a way: its longest part, or the drop that it ends with.
#[derive(Clone, Debug)]
pub struct Longest {
    /// When it begins.
    pub from: Time,
    /// What happens, in words; `None`: it is dropped.
    pub what: Option<String>,
    /// Number of the hart that works at it then, if one does.
    pub hart: Option<u32>,
}

impl Longest {
    /// Makes that of what is dropped.
    pub const fn drop(from: Time) -> Self {
        Self { from, what: None, hart: None }
    }

    /// Says where that is.
    pub fn words(&self) -> String {
        match &self.what {
            Some(what) => format!("where its longest part begins: {what}"),
            None => "where it is dropped".to_owned(),
        }
    }
}

impl Way {
    /// Gives the longest part; the last one of those that are equal.
    pub fn longest(&self, hart_at: impl FnOnce(Time) -> Option<u32>) -> Option<Longest> {
        longest_of(self.parts.iter(), hart_at)
    }

    /// Gives the place among some at which it takes longest in all, and the longest part there.
    pub fn longest_at<P: PartialEq + Copy>(
        &self,
        place_of: impl Fn(&Part) -> Option<P>,
        hart_at: impl FnOnce(P, Time) -> Option<u32>,
    ) -> Option<(P, Longest)> {
        let place_of = &place_of;
        let at = |place: P| self.parts.iter().filter(move |part| place_of(part) == Some(place));
        let places = self.parts.iter().filter_map(place_of);
        let took = |place: &P| at(*place).map(Part::ps).sum::<u64>();
        let place = places.max_by_key(took)?;
        Some((place, longest_of(at(place), |from| hart_at(place, from))?))
    }

    /// Gives when it begins.
    pub fn begin(&self) -> Time {
        self.parts.first().map_or(Time::ZERO, |part| part.from)
    }

    /// Gives what all of it takes, in ps.
    pub fn ps(&self) -> u64 {
        self.parts.iter().map(Part::ps).sum()
    }

    /// Says in one sentence what its longest part is, and why: behind whom or, of a part in which
    /// somebody works at it, what `work` says.
    pub fn sentence(&self, work: impl Fn(&Part) -> Option<String>) -> String {
        let Some(longest) = self.parts.iter().max_by_key(|part| part.ps()) else {
            return "It took no time.".to_owned();
        };
        let share = longest.ps() as f64 * 100.0 / self.ps().max(1) as f64;
        let behind = longest.behind.words().map(|who| format!(", behind {who}"));
        let why = behind.or_else(|| work(longest)).unwrap_or_default();
        let ns = number(longest.ps() as f64 / 1e3);
        let place =
            longest.place.as_ref().map_or_else(String::new, |place| format!("at {place}, "));
        let it = if longest.step.is_of_it { "it " } else { "" };
        format!("{share:.0} % of it, {ns} ns: {place}{it}{}{why}.", longest.what)
    }

    /// Writes the parts as a table with bars.
    ///
    /// # Errors
    /// Those of `text`.
    pub fn write(&self, text: &mut String) -> std::fmt::Result {
        let (begin, took) = (self.begin(), self.ps());
        let wide = self.parts.iter().filter_map(|part| Some(part.place.as_ref()?.chars().count()));
        let wide = wide.max().map_or(0, |letters| letters + 2);
        writeln!(text, "{:>10} {:>10}", "at, ns", "took, ns")?;
        for part in &self.parts {
            let at = part.from.since(begin).ps();
            let cell = |ps: u64| (ps as f64 / took.max(1) as f64 * BAR_WIDTH as f64) as usize;
            let (before, long) = (cell(at).min(BAR_WIDTH - 1), cell(part.ps()).max(1));
            let mark = if part.step.is_wait { "." } else { "#" };
            let bar = " ".repeat(before) + &mark.repeat(long.min(BAR_WIDTH - before));
            let behind = part.behind.words();
            let behind = behind.map_or_else(String::new, |who| format!(", behind {who}"));
            let (at, ns) = (number(at as f64 / 1e3), number(part.ps() as f64 / 1e3));
            let place = part.place.as_deref().unwrap_or_default();
            let what = &part.what;
            writeln!(text, "{at:>10} {ns:>10}  {bar:<BAR_WIDTH$}  {place:<wide$}{what}{behind}")?;
        }
        Ok(())
    }

    /// Gives the parts for programs.
    pub fn to_json(&self) -> Value {
        let begin = self.begin();
        self.parts.iter().map(|part| part.to_json(begin)).collect()
    }

    /// Draws the parts as a waterfall, in SVG.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn draw(&self, title: &str, sentence: &str) -> Result<String> {
        let begin = self.begin();
        let bar = |part: &Part| Bar {
            name: part.what.clone(),
            lane: part.place.as_deref().map(str::to_owned),
            from: part.from.since(begin).ps() as f64 / 1e3,
            length: part.ps() as f64 / 1e3,
            is_wait: part.step.is_wait,
            note: part.behind.words().unwrap_or_default(),
        };
        let bars: Vec<Bar> = self.parts.iter().map(bar).collect();
        waterfall(title, sentence, "ns", &bars)
    }
}

/// Gives the longest of some parts; the last one of those that are equal.
fn longest_of<'p>(
    parts: impl Iterator<Item = &'p Part>,
    hart_at: impl FnOnce(Time) -> Option<u32>,
) -> Option<Longest> {
    let part = parts.max_by_key(|part| part.ps())?;
    Some(Longest { from: part.from, what: Some(part.what.clone()), hart: hart_at(part.from) })
}

/// Says how long a way is among all.
pub fn standing_line(took_ps: u64, standing: &Standing, noun: &str) -> String {
    let Standing { median_ps, longer, all } = *standing;
    let times = took_ps as f64 / median_ps.max(1) as f64;
    format!(
        "{times:.1} times the median, {} ns; {} of {} {noun}s took longer",
        number(median_ps as f64 / 1e3),
        count(longer),
        count(all)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_parts_that_are_equally_long_the_last_one_is_shown_and_told() {
        let mut builder = Builder::new(Time::ZERO, Time::from_ps(90));
        for (place, to) in [("first", 40), ("last", 80), ("short", 90)] {
            builder.step(Time::from_ps(to), Step::own(place), place, Behind::nobody);
        }
        let way = Way { parts: builder.finish() };
        let longest = way.longest(|_| None).unwrap();
        assert_eq!((longest.from.ps(), longest.what.as_deref()), (40, Some("last")));
        assert!(way.sentence(|_| None).contains("last"), "{}", way.sentence(|_| None));
    }

    #[test]
    fn it_takes_longest_where_its_parts_are_longest_together() {
        let mut builder = Builder::new(Time::ZERO, Time::from_ps(100));
        for (place, to) in [("a", 20), ("cable", 60), ("b", 85), ("a", 100)] {
            builder.place(&place.into());
            builder.step(Time::from_ps(to), Step::own(place), place, Behind::nobody);
        }
        let way = Way { parts: builder.finish() };
        let nodes = ["a", "b"];
        let node = |part: &Part| nodes.iter().position(|node| part.place.as_deref() == Some(node));
        let (node, longest) = way.longest_at(node, |node, _| Some(node as u32 + 7)).unwrap();
        assert_eq!((node, longest.from.ps(), longest.hart), (0, 0, Some(7)));
        assert_eq!(way.longest(|_| None).unwrap().from.ps(), 20, "wherever it is");
        assert!(way.longest_at(|_| None::<u8>, |_, _| None).is_none());
    }
}
