//! What units hold over the host's time, in flat memory. In: a node's state, now and then. Out: curves.

use std::collections::BTreeMap;
use std::time::Duration;

use pinion_page::{Curves, Panel};

/// The time between two samples at first.
const FIRST_INTERVAL: Duration = Duration::from_millis(250);
/// Samples that are kept; at more, every second one goes and the time between two doubles.
const MOST_SAMPLES: usize = 512;
/// Units' numbers that are followed at most: a large cluster has more than anybody looks at.
const MOST_FOLLOWED: usize = 1024;
/// Curves that are drawn: those that were highest.
const MOST_DRAWN: usize = 12;
/// Numbers that say where a core is, not what a unit holds.
const OF_CORES: [&str; 3] = ["pc", "cycle", "instructions"];

/// Samples of what units hold.
pub struct Levels {
    interval: Duration,
    last: Option<Duration>,
    /// Seconds of the host.
    at: Vec<f64>,
    values: BTreeMap<String, Vec<u64>>,
}

impl Default for Levels {
    fn default() -> Self {
        Self { interval: FIRST_INTERVAL, last: None, at: Vec::new(), values: BTreeMap::new() }
    }
}

/// Tells whether a number of a node's state says what a unit holds.
pub fn is_level(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_register = last.strip_prefix('x').is_some_and(|rest| rest.parse::<u8>().is_ok());
    !is_register && !OF_CORES.contains(&last)
}

impl Levels {
    /// Takes a sample, if it is time to; `state` tells names and numbers.
    pub fn sample(&mut self, now: Duration, state: impl FnOnce(&mut dyn FnMut(&str, u64))) {
        if self.last.is_some_and(|last| now < last + self.interval) {
            return;
        }
        self.last = Some(now);
        let (before, values) = (self.at.len(), &mut self.values);
        state(&mut |name, value| {
            if !is_level(name) {
                return;
            }
            if let Some(values) = values.get_mut(name) {
                values.push(value);
            } else if values.len() < MOST_FOLLOWED {
                // What was not told of before was not there.
                let mut all = vec![0; before];
                all.push(value);
                values.insert(name.to_owned(), all);
            }
        });
        self.at.push(now.as_secs_f64());
        values.values_mut().for_each(|values| values.resize(before + 1, 0));
        if self.at.len() > MOST_SAMPLES {
            halve(&mut self.at);
            self.values.values_mut().for_each(halve);
            self.interval *= 2;
        }
    }

    /// Gives the curves of what was highest; `None`: nothing has held anything.
    pub fn curves(&self) -> Option<Curves> {
        let most = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
        let mut drawn: Vec<_> = self.values.iter().filter(|(_, values)| most(values) > 0).collect();
        drawn.sort_by_key(|(_, values)| std::cmp::Reverse(most(values)));
        drawn.truncate(MOST_DRAWN);
        drawn.sort_by_key(|(name, _)| *name);
        let mut curves = Curves::over_time("time of this computer, s", self.at.clone());
        curves.panels = drawn
            .into_iter()
            .map(|(name, values)| Panel {
                title: name.clone(),
                values: values.iter().map(|value| *value as f64).collect(),
            })
            .collect();
        (!curves.panels.is_empty()).then_some(curves)
    }
}

/// Leaves every second one out.
fn halve<T>(all: &mut Vec<T>) {
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        place % 2 == 1
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_takes_no_more_memory_and_keeps_its_shape() {
        let mut levels = Levels::default();
        for quarter in 0..100_000_u64 {
            levels.sample(Duration::from_millis(quarter * 250), |tell| {
                tell("inbound.holds", quarter % 7);
                tell("core.0.x5", 99);
                if quarter > 50_000 {
                    tell("late", 1);
                }
            });
        }
        let curves = levels.curves().unwrap();
        assert!(curves.at.len() <= MOST_SAMPLES && curves.at.len() > MOST_SAMPLES / 2 - 1);
        assert!(curves.at.windows(2).all(|pair| pair[0] < pair[1]));
        let titles: Vec<&str> = curves.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["inbound.holds", "late"]);
        assert!(curves.panels.iter().all(|panel| panel.values.len() == curves.at.len()));
        assert_eq!((curves.panels[1].values[0], curves.panels[1].values.last()), (0.0, Some(&1.0)));
    }
}
