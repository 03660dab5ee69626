//! From changes in any order to values in order of time. Units say what happens in order of time within
//! one unit only; up to when everything has been said is known between the parts of a run, and what lies
//! before is passed on then. So the bytes that come out depend neither on how a run is cut into parts nor
//! on the number of threads, and no more is held than a part's changes.

use std::sync::{Arc, Mutex, PoisonError};

use pinion_sim::Time;

use super::Gauge;
use pinion_app::error::Result;

/// A change of a gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The gauge.
    pub gauge: u32,
    /// How.
    pub step: Step,
}

/// How a gauge changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// By this number.
    By(i64),
    /// To this value, or to none.
    To(Option<u64>),
}

/// Follows the values of gauges.
pub trait Follower {
    /// Hears that a gauge has another value from a time on. Times do not go back.
    ///
    /// # Errors
    /// When what it writes cannot be written.
    fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()>;

    /// Hears that everything before a time has been told.
    ///
    /// # Errors
    /// When what it writes cannot be written.
    fn settle(&mut self, _until: Time) -> Result<()> {
        Ok(())
    }

    /// Tells when it wants to hear no more: the run ends there.
    fn end(&self) -> Time {
        Time::MAX
    }

    /// Hears that the run ended at a time.
    ///
    /// # Errors
    /// When what it writes cannot be written.
    fn finish(&mut self, now: Time) -> Result<()>;
}

/// Takes changes of one machine.
pub trait Sink {
    /// Takes the changes that there are.
    fn take(&mut self, changes: &mut Vec<Change>);

    /// Hears that nothing before a time comes any more.
    ///
    /// # Errors
    /// When a follower cannot write.
    fn settle(&mut self, until: Time) -> Result<()>;

    /// Tells when nobody wants to hear any more: the run ends there.
    fn end(&self) -> Time {
        Time::MAX
    }

    /// Hears that the run ended at a time.
    ///
    /// # Errors
    /// When a follower cannot write.
    fn finish(&mut self, now: Time) -> Result<()>;
}

/// Puts changes in order, and passes values on.
#[derive(Debug)]
pub struct Timeline<F> {
    values: Vec<Value>,
    pending: Vec<Change>,
    /// Who hears of the values.
    pub follower: F,
}

/// A gauge's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    None,
    Some(i64),
}

impl Value {
    fn told(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Some(value) => Some(value.max(0) as u64),
        }
    }

    fn after(self, step: Step) -> Self {
        match (self, step) {
            (Self::Some(value), Step::By(number)) => Self::Some(value + number),
            (Self::None, Step::By(number)) => Self::Some(number),
            (_, Step::To(None)) => Self::None,
            (_, Step::To(Some(value))) => Self::Some(value as i64),
        }
    }
}

impl<F: Follower> Timeline<F> {
    /// Begins with gauges as they are at first.
    pub fn new<'a>(gauges: impl IntoIterator<Item = &'a Gauge>, follower: F) -> Self {
        let first = |gauge: &Gauge| if gauge.is_label { Value::None } else { Value::Some(0) };
        let values = gauges.into_iter().map(first).collect();
        Self { values, pending: Vec::new(), follower }
    }

    /// Passes on what changes before a time; of changes in one moment only what comes of them.
    fn pass_on(&mut self, until: Option<Time>) -> Result<()> {
        self.pending.sort_by_key(|change| (change.at, change.gauge));
        let is_over = |change: &Change| until.is_none_or(|until| change.at < until);
        let count = self.pending.partition_point(is_over);
        let moments = self.pending[..count]
            .chunk_by(|one, other| (one.at, one.gauge) == (other.at, other.gauge));
        for moment in moments {
            let Change { at, gauge, .. } = moment[0];
            let value = &mut self.values[gauge as usize];
            let before = value.told();
            *value = moment.iter().fold(*value, |value, change| value.after(change.step));
            let now = value.told();
            if now != before {
                self.follower.change(at, gauge as usize, now)?;
            }
        }
        self.pending.drain(..count);
        Ok(())
    }
}

impl<F: Follower> Sink for Timeline<F> {
    fn take(&mut self, changes: &mut Vec<Change>) {
        self.pending.append(changes);
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.pass_on(Some(until))?;
        self.follower.settle(until)
    }

    fn end(&self) -> Time {
        self.follower.end()
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        let last = self.pending.iter().map(|change| change.at).max();
        self.pass_on(None)?;
        self.follower.finish(last.unwrap_or(now).max(now))
    }
}

/// Takes the changes of one machine of several, which may run on a thread of its own, until all of them
/// are put in order.
#[derive(Clone, Debug)]
pub struct Feed {
    changes: Arc<Mutex<Vec<Change>>>,
    /// Number of the machine's first gauge among all.
    first: u32,
}

impl Feed {
    /// Makes a feed for a machine whose first gauge has this number among all.
    pub fn new(first: usize) -> Self {
        Self { changes: Arc::default(), first: first as u32 }
    }

    /// Hands over what came.
    pub fn empty_into(&self, sink: &mut impl Sink) {
        sink.take(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Sink for Feed {
    fn take(&mut self, changes: &mut Vec<Change>) {
        let mut all = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.first;
        all.extend(changes.drain(..).map(|mut change| {
            change.gauge += first;
            change
        }));
    }

    fn settle(&mut self, _: Time) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: Time) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard(Vec<(u64, usize, Option<u64>)>);

    impl Follower for Heard {
        fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()> {
            self.0.push((at.ps(), gauge, value));
            Ok(())
        }

        fn finish(&mut self, now: Time) -> Result<()> {
            self.0.push((now.ps(), usize::MAX, None));
            Ok(())
        }
    }

    fn gauge(is_label: bool) -> Gauge {
        let (unit, name) = (String::new(), String::new());
        Gauge { unit, name, bits: 8, chart: None, is_label }
    }

    fn change(at: u64, gauge: u32, step: Step) -> Change {
        Change { at: Time::from_ps(at), gauge, step }
    }

    /// What is heard does not depend on where a run is cut.
    #[test]
    fn changes_come_out_in_order_however_a_run_is_cut() {
        let all = [
            change(5, 0, Step::By(2)),
            change(9, 1, Step::To(Some(7))),
            change(3, 0, Step::By(1)),
            change(12, 0, Step::By(-3)),
            change(12, 1, Step::To(None)),
            change(12, 1, Step::To(Some(7))),
            change(9, 0, Step::By(1)),
            change(9, 0, Step::By(-1)),
        ];
        let expected = vec![
            (3, 0, Some(1)),
            (5, 0, Some(3)),
            (9, 1, Some(7)),
            (12, 0, Some(0)),
            (20, usize::MAX, None),
        ];
        for cut in [0, 4, 9, 10, 12, 13, 99] {
            let gauges = [gauge(false), gauge(true)];
            let mut timeline = Timeline::new(&gauges, Heard::default());
            let (early, late): (Vec<_>, Vec<_>) =
                all.iter().partition(|change| change.at.ps() < cut);
            let feed = Feed::new(0);
            feed.clone().take(&mut early.clone());
            feed.empty_into(&mut timeline);
            timeline.settle(Time::from_ps(cut)).unwrap();
            timeline.take(&mut late.clone());
            timeline.finish(Time::from_ps(20)).unwrap();
            assert_eq!(timeline.follower.0, expected, "cut at {cut}");
        }
    }
}
