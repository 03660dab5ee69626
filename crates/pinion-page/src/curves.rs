//! Curves below each other over one axis. In: numbers. Out: JSON, which `page.js` draws.

use pinion_observe::gauges::{Chart, Occupancy};
use serde_json::{Value, json};

/// Curves over one axis.
#[derive(Clone, Debug)]
pub struct Curves {
    /// What the axis shows, with its unit.
    pub axis: String,
    /// Whether the axis is time, in which one may look closer.
    pub is_over_time: bool,
    /// Whether there are points, not steps from one to the next.
    pub has_points: bool,
    /// Where the values are on the axis.
    pub at: Vec<f64>,
    /// The curves.
    pub panels: Vec<Panel>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows, with its unit.
    pub title: String,
    /// Its values, one for each place on the axis.
    pub values: Vec<f64>,
}

impl Curves {
    /// Begins curves over time.
    pub fn over_time(axis: &str, at: Vec<f64>) -> Self {
        let axis = axis.to_owned();
        Self { axis, is_over_time: true, has_points: false, at, panels: Vec::new() }
    }

    /// Takes how busy a machine's units were; `None`: nothing was heard.
    pub fn of_occupancy(occupancy: &Occupancy, charts: &[Chart]) -> Option<Self> {
        let table = occupancy.to_csv().ok()?;
        let rows: Vec<Vec<f64>> = table
            .lines()
            .skip(1)
            .map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect())
            .collect();
        let column = |at: usize| rows.iter().filter_map(move |row| row.get(at).copied());
        let mut curves = Self::over_time("time, µs", column(1).map(|ns| ns / 1e3).collect());
        curves.panels = charts
            .iter()
            .enumerate()
            .map(|(index, chart)| Panel {
                title: chart.title.to_owned(),
                values: column(index + 2).collect(),
            })
            .collect();
        (!rows.is_empty()).then_some(curves)
    }

    /// Gives them as JSON.
    pub fn to_json(&self) -> Value {
        let panel = |panel: &Panel| json!({ "title": panel.title, "values": panel.values });
        json!({
            "axis": self.axis,
            "points": self.has_points,
            "zooms": self.is_over_time,
            "at": self.at,
            "panels": self.panels.iter().map(panel).collect::<Vec<_>>(),
        })
    }
}
