//! What units hold at the end of a moment, by name. The run ends behind it.

use std::collections::BTreeMap;

use pinion_sim::Time;

use super::{Follower, Gauge};
use pinion_app::error::Result;

/// Follows gauges up to a moment.
#[derive(Debug)]
pub struct Held {
    until: Time,
    names: Vec<String>,
    values: BTreeMap<String, u64>,
}

impl Held {
    /// Follows gauges up to a moment, what happens in it included.
    pub fn new(gauges: &[Gauge], until: Time) -> Self {
        let names: Vec<String> =
            gauges.iter().map(|gauge| format!("{}.{}", gauge.unit, gauge.name)).collect();
        let levels = gauges.iter().zip(&names).filter(|(gauge, _)| !gauge.is_label);
        let values = levels.map(|(_, name)| (name.clone(), 0)).collect();
        Self { until, names, values }
    }

    /// Gives the values by the names of unit and gauge; those that have none are left out.
    pub fn into_values(self) -> BTreeMap<String, u64> {
        self.values
    }
}

impl Follower for Held {
    fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()> {
        if at <= self.until {
            let name = &self.names[gauge];
            match value {
                Some(value) => self.values.insert(name.clone(), value),
                None => self.values.remove(name),
            };
        }
        Ok(())
    }

    fn end(&self) -> Time {
        Time::from_ps(self.until.ps().saturating_add(1))
    }

    fn finish(&mut self, _: Time) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_later_is_not_held() {
        let gauge = |name: &str, is_label| Gauge {
            unit: "hart.0".to_owned(),
            name: name.to_owned(),
            bits: 32,
            chart: None,
            is_label,
        };
        let gauges = [gauge("messages", false), gauge("message", true), gauge("words", false)];
        let mut held = Held::new(&gauges, Time::from_ps(20));
        for (at, number, value) in
            [(10, 0, Some(2)), (10, 1, Some(7)), (20, 1, None), (20, 0, Some(3)), (21, 0, Some(9))]
        {
            held.change(Time::from_ps(at), number, value).unwrap();
        }
        assert_eq!(held.end(), Time::from_ps(21));
        let expected = [("hart.0.messages", 3), ("hart.0.words", 0)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(held.into_values(), BTreeMap::from(expected));
    }
}
