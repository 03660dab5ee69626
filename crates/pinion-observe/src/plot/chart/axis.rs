//! An axis. In: numbers. Out: where they stand, and the ticks with their texts. A logarithmic axis
//! is a linear one of exponents with ticks at 1, 2 and 5 of each decade.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use serde::Deserialize;

/// Says what an axis shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The column.
    pub column: String,
    /// What stands beside the axis, with the unit.
    pub label: String,
    /// How numbers are spread.
    #[serde(default)]
    pub scale: Scale,
    /// Where it begins, unless the numbers say.
    pub from: Option<f64>,
    /// Where it ends, unless the numbers say.
    pub to: Option<f64>,
    /// Lists where its ticks stand; round numbers, where it is empty.
    #[serde(default)]
    pub ticks: Vec<f64>,
}

/// Says how numbers are spread along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithms; numbers up to 0 are not shown.
    Log,
    /// The same, with ticks at the powers of two: sizes of packets.
    Log2,
    /// By the logarithms of one more, so that 0 is where the axis begins.
    LogWithZero,
}

/// An axis with its ends and ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    scale: Scale,
    /// Where it begins, in positions.
    pub start: f64,
    /// Where it ends, in positions.
    pub end: f64,
    /// Positions of the ticks.
    pub ticks: Vec<f64>,
    /// Names of the ticks, where they stand for no numbers.
    names: Vec<String>,
}

impl Scale {
    fn is_logarithmic(self) -> bool {
        matches!(self, Self::Log | Self::Log2)
    }
}

impl Axis {
    /// Spreads the axis over numbers; a linear one that begins near 0 begins there.
    pub(super) fn spread(&self, numbers: impl Iterator<Item = f64>) -> Spread {
        let shown =
            |number: &f64| number.is_finite() && (!self.scale.is_logarithmic() || *number > 0.0);
        let (mut low, mut high) = numbers
            .filter(shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let mut spread = match self.scale {
            Scale::Linear => self.linear(low, high),
            Scale::Log | Scale::Log2 => self.logarithmic(low, high),
            Scale::LogWithZero => Self::with_zero(high),
        };
        if !self.ticks.is_empty() {
            let ticks = self.ticks.iter().filter_map(|tick| spread.position(*tick));
            spread.ticks = ticks.collect();
        }
        spread
    }

    /// Ticks at 0 and the powers of two: numbers of instructions, bytes.
    fn with_zero(high: f64) -> Spread {
        let high = high.max(1.0);
        let powers = (0..=high.log2().ceil() as i32).map(|power| 2f64.powi(power));
        let ticks = std::iter::once(0.0).chain(powers).filter(|&tick| tick <= high * 1.001);
        let end = (1.0 + high * 1.1).log10();
        let ticks = ticks.map(|tick| (1.0 + tick).log10()).collect();
        Spread { scale: Scale::LogWithZero, start: 0.0, end, ticks, names: Vec::new() }
    }

    fn linear(&self, low: f64, high: f64) -> Spread {
        let low = self.from.unwrap_or(if low > 0.0 && low < 0.4 * high { 0.0 } else { low });
        let high = self.to.unwrap_or(high).max(low);
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        let step = nice_step(span / 6.0);
        let start = self.from.unwrap_or((low / step).floor() * step);
        let end = self.to.unwrap_or(((low + span) / step).ceil() * step);
        let first = (start / step).ceil() as i64;
        let last = (end / step + 1e-9).floor() as i64;
        let ticks = (first..=last.min(first + 100)).map(|tick| tick as f64 * step).collect();
        Spread { scale: Scale::Linear, start, end, ticks, names: Vec::new() }
    }

    fn logarithmic(&self, low: f64, high: f64) -> Spread {
        let low = self.from.filter(|&from| from > 0.0).unwrap_or(low * 0.9);
        let high = self.to.filter(|&to| to > low).unwrap_or(high * 1.1).max(low * 2.0);
        let (start, end) = (low.log10(), high.log10());
        let decades = (start.floor() as i32)..=(end.ceil() as i32);
        if self.scale == Scale::Log2 {
            let powers = (low.log2().ceil() as i32)..=(high.log2().floor() as i32);
            let ticks = powers.map(|power| 2f64.powi(power).log10()).collect();
            return Spread { scale: Scale::Log2, start, end, ticks, names: Vec::new() };
        }
        let steps: &[f64] = if end - start > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let ticks = decades
            .flat_map(|decade| steps.iter().map(move |step| step.log10() + f64::from(decade)))
            .filter(|tick| (start - 1e-9..=end + 1e-9).contains(tick));
        Spread { scale: Scale::Log, start, end, ticks: ticks.collect(), names: Vec::new() }
    }
}

impl Spread {
    /// Spreads groups evenly: the n-th stands at n.
    pub fn of_groups(names: &[String]) -> Self {
        let count = names.len().max(1);
        Self {
            scale: Scale::Linear,
            start: -0.5,
            end: count as f64 - 0.5,
            ticks: (0..count).map(|group| group as f64).collect(),
            names: names.to_vec(),
        }
    }

    /// Gives the position of a number; `None` where it cannot be shown.
    pub fn position(&self, number: f64) -> Option<f64> {
        let position = match self.scale {
            Scale::Linear => number,
            Scale::Log | Scale::Log2 => number.log10(),
            Scale::LogWithZero => (1.0 + number).log10(),
        };
        position.is_finite().then_some(position)
    }

    /// Gives the text of a position.
    pub fn text(&self, position: f64) -> String {
        if !self.names.is_empty() {
            return self.names.get(position.round() as usize).cloned().unwrap_or_default();
        }
        match self.scale {
            Scale::Linear => plain(position),
            Scale::Log | Scale::Log2 => plain(10f64.powf(position)),
            Scale::LogWithZero => plain((10f64.powf(position) - 1.0).round()),
        }
    }
}

impl Ranged for Spread {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (position - self.start) / (self.end - self.start);
        first + (f64::from(last - first) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.start..self.end
    }
}

impl ValueFormatter<f64> for Spread {
    fn format_ext(&self, position: &f64) -> String {
        self.text(*position)
    }
}

/// Gives the smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let found = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= step * 0.999_999);
    found.unwrap_or(10.0) * power
}

/// Writes a number without needless decimals, thousands separated.
pub(super) fn plain(number: f64) -> String {
    let size = number.abs();
    let decimals = match size {
        _ if size >= 100.0 || size == 0.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => (1.0 - size.log10().floor()).clamp(2.0, 9.0) as usize,
    };
    let text = format!("{number:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("−", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, ""), |(w, f)| (w, f));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() { grouped } else { format!("{grouped}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        let (column, label) = (String::new(), String::new());
        Axis { column, label, scale, from: None, to: None, ticks: Vec::new() }
    }

    fn texts(spread: &Spread) -> Vec<String> {
        spread.ticks.iter().map(|&tick| spread.text(tick)).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let spread = axis(Scale::Linear).spread([13.0, 97.0].into_iter());
        assert_eq!((spread.start, spread.end), (0.0, 100.0));
        assert_eq!(texts(&spread), ["0", "20", "40", "60", "80", "100"]);
        let spread = axis(Scale::Linear).spread([0.72, 0.95].into_iter());
        assert_eq!(texts(&spread), ["0.7", "0.75", "0.8", "0.85", "0.9", "0.95"]);
        let spread = axis(Scale::Linear).spread([5.0].into_iter());
        assert!(spread.start <= 5.0 && spread.end > 5.0 && spread.ticks.len() > 2);
    }

    #[test]
    fn logarithmic_ticks_are_1_2_5() {
        let spread = axis(Scale::Log).spread([0.0, 700.0, 22_000.0, f64::NAN].into_iter());
        assert_eq!(texts(&spread), ["1,000", "2,000", "5,000", "10,000", "20,000"]);
        assert_eq!(spread.position(-1.0), None);
        assert_eq!(spread.position(1000.0), Some(3.0));
    }

    #[test]
    fn sizes_have_powers_of_two() {
        let spread = axis(Scale::Log2).spread([64.0, 1025.0].into_iter());
        assert_eq!(texts(&spread), ["64", "128", "256", "512", "1,024"]);
    }

    #[test]
    fn ticks_may_be_given() {
        let axis = Axis { ticks: vec![64.0, 1500.0], ..axis(Scale::Log) };
        assert_eq!(texts(&axis.spread([64.0, 1500.0].into_iter())), ["64", "1,500"]);
    }

    #[test]
    fn an_axis_with_zero_has_powers_of_two() {
        let spread = axis(Scale::LogWithZero).spread([0.0, 16.0].into_iter());
        assert_eq!(texts(&spread), ["0", "1", "2", "4", "8", "16"]);
        assert_eq!((spread.start, spread.position(0.0)), (0.0, Some(0.0)));
    }

    #[test]
    fn nothing_to_show_is_no_reason_to_fail() {
        for scale in [Scale::Linear, Scale::Log, Scale::Log2, Scale::LogWithZero] {
            let spread = axis(scale).spread(std::iter::empty());
            assert!(spread.start < spread.end && !spread.ticks.is_empty());
        }
    }
}
