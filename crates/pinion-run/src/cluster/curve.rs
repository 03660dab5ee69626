//! Response times over load. In: a plan whose load generators have several gaps. Out: a run of the
//! cluster for each, as rows with the 99th percentile and the interval it lies in, as CSV and as a chart.

use pinion_net::fabric::Ranks;
use serde_json::{Value, json};

use super::plan::{Plan, Target};
use super::run::{RunOptions, conclude, go};
use super::summary::Summary;
use super::tracing::Tracing;
use crate::watch::Observer;
use pinion_app::error::{Error, Result};
use pinion_observe::document::Document;
use pinion_observe::plot::{Cell, Column, Definition, Row, Table, chart};
use pinion_observe::report::{Ending, Report};

/// Names the chart's curves, with the columns they show.
const CURVES: [(&str, &str); 4] = [
    ("99th percentile", "p99"),
    ("99th percentile, 95 % interval from", "p99_low"),
    ("99th percentile, 95 % interval to", "p99_high"),
    ("median", "p50"),
];

/// Holds the points of a cluster's loads.
#[derive(Default)]
pub struct Curve {
    /// Name of the cluster.
    pub name: String,
    /// The points, of every generator at every gap.
    pub points: Vec<CurvePoint>,
    /// What there is to say of runs that were cut: they give no points.
    pub remarks: Vec<String>,
    /// Somebody interrupted the last run, and there were no more.
    pub is_interrupted: bool,
}

/// One generator at one gap.
#[derive(Debug, Clone)]
pub struct CurvePoint {
    /// Name of the generator.
    pub load: String,
    /// The mean number of cycles between its requests.
    pub gap_cycles: f64,
    /// What became of its load, as in the JSON of a run.
    pub report: Value,
}

impl Curve {
    /// Runs the cluster once for each gap, in order, with all ranks; gives the curve and the summaries
    /// that failed, both empty at ranks other than 0.
    ///
    /// # Errors
    /// When no generator has gaps, or a run cannot be done.
    pub fn run(
        plan: &mut Plan,
        options: &RunOptions,
        ranks: &mut dyn Ranks,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Vec<Summary>)> {
        let Some(count) = plan.gaps.first().map(|(_, gaps)| gaps.len()) else {
            return Err(Error::Usage(
                "a curve needs gaps: write gaps = [900, 800, 700] under a [[load]], or \
                 --set LOAD.gaps=[900,800,700]"
                    .to_owned(),
            ));
        };
        let mut curve = Self { name: plan.name.clone(), ..Self::default() };
        let mut failed = Vec::new();
        for place in 0..count {
            let gaps: Vec<(usize, f64)> =
                plan.gaps.iter().map(|(group, gaps)| (*group, gaps[place])).collect();
            for &(group, gap) in &gaps {
                let Target::Load { specs } = &mut plan.groups[group].target else { continue };
                for spec in specs {
                    spec.arrivals = spec.arrivals.with_gap(gap);
                }
            }
            // How a run ended all ranks know.
            let ran = go(plan, options, ranks, observer, Tracing::default())?;
            let ending = ran.ended.ending.clone();
            let summary = conclude(plan, options, ranks, ran)?;
            if matches!(ending, Ending::CycleLimit | Ending::Interrupted) {
                let (number, how) = (place + 1, ending.behind_name());
                curve.remarks.push(format!("run {number} of {count}{how}: it gives no points"));
                curve.is_interrupted = ending == Ending::Interrupted;
            }
            if curve.is_interrupted {
                break;
            }
            let Some(summary) = summary.filter(|_| ending != Ending::CycleLimit) else { continue };
            for load in &summary.section.loads {
                let own = plan.group_of(load.node).map(|(group, _)| group.first);
                let gap = gaps.iter().find(|(group, _)| own == Some(plan.groups[*group].first));
                let Some(&(_, gap_cycles)) = gap else { continue };
                let (load, report) = (load.name.clone(), load.report.clone());
                curve.points.push(CurvePoint { load, gap_cycles, report });
            }
            if summary.has_failures() {
                failed.push(summary);
            }
        }
        Ok((curve, failed))
    }

    /// Gives the points as a document.
    pub fn to_json(&self) -> Value {
        let point =
            |point: &CurvePoint| json!({ "gap_cycles": point.gap_cycles, "load": point.report });
        json!({
            "document": Document::Curve.head(),
            "cluster": self.name,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }

    /// Gives the points as CSV; times in nanoseconds, rates in millions a second.
    ///
    /// # Errors
    /// When a row cannot be written, which needs a lack of memory.
    pub fn to_csv(&self) -> Result<Vec<u8>> {
        let numbers = [
            "gap_cycles",
            "offered_m_s",
            "answered_m_s",
            "p99_ns",
            "p99_low_ns",
            "p99_high_ns",
            "p50_ns",
            "mean_ns",
            "requests",
            "missing",
            "sent_again",
        ];
        let mut columns = vec![Column::text("load")];
        columns.extend(numbers.map(|name| Column::number(name, "", 3)));
        let rows = self.points.iter().map(|point| {
            let time = |name: &str| Cell::from(point.report["response_ns"][name].as_f64());
            let count = |value: &Value| Cell::from(value.as_f64());
            vec![
                point.load.as_str().into(),
                point.gap_cycles.into(),
                point.rate("offered_per_s").into(),
                point.rate("answered_per_s").into(),
                time("p99"),
                time("p99_low"),
                time("p99_high"),
                time("p50"),
                time("mean"),
                count(&point.report["requests"]),
                count(&point.report["missing"]),
                count(&point.report["sent_again"]["packets"]),
            ]
        });
        Table { columns, rows: rows.collect() }.to_csv()
    }

    /// Draws response times over what was offered.
    ///
    /// # Errors
    /// When there is nothing to draw.
    pub fn to_svg(&self) -> Result<String> {
        let mut loads: Vec<&str> = self.points.iter().map(|point| point.load.as_str()).collect();
        loads.sort_unstable();
        loads.dedup();
        let quoted = |text: &str| Value::from(text).to_string();
        let several = loads.len() > 1;
        let (mut rows, mut bands) = (Vec::<Row>::new(), String::new());
        for load in loads {
            let named = |name: &str| match several {
                true => format!("{load}: {name}"),
                false => name.to_owned(),
            };
            let mut points: Vec<&CurvePoint> =
                self.points.iter().filter(|point| point.load == load).collect();
            points.sort_by(|a, b| b.gap_cycles.total_cmp(&a.gap_cycles));
            for (name, column) in CURVES {
                let curve = named(name);
                rows.extend(points.iter().map(|point| {
                    let us = point.report["response_ns"][column].as_f64().map(|ns| ns / 1e3);
                    vec![curve.as_str().into(), point.rate("offered_per_s").into(), us.into()]
                }));
            }
            let [of, low, high] = [0, 1, 2].map(|place| quoted(&named(CURVES[place].0)));
            bands += &format!("{of} = [{low}, {high}]\n");
        }
        let columns = vec![
            Column::text("curve"),
            Column::number("x", "M/s", 3),
            Column::number("y", "µs", 3),
        ];
        let text = format!(
            "title = {}\nsource = \"\"\nmethod = \"\"\n[chart]\nkind = \"lines\"\nseries = \"curve\"\n\
             x = {{ column = \"x\", label = \"requests offered, M/s\" }}\n\
             y = {{ column = \"y\", label = \"response time, µs\" }}\n[chart.bands]\n{bands}",
            quoted(&format!("{}: response time over load", self.name)),
        );
        let definition = Definition::read("curve", &text, &[])?;
        chart::draw(&definition, &Table { columns, rows }, &[])
    }

    /// Gives the points as lines of text.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}: response time over load\n  {:<14} {:>9} {:>11} {:>11} {:>11} {:>23} {:>9}\n",
            self.name,
            "load",
            "gap",
            "M/s offered",
            "p50, ns",
            "p99, ns",
            "95 % interval",
            "missing"
        );
        for point in &self.points {
            let ns = |name: &str| {
                let ns = point.report["response_ns"][name].as_f64();
                ns.map_or("open".to_owned(), |ns| format!("{ns:.1}"))
            };
            text += &format!(
                "  {:<14} {:>9} {:>11.3} {:>11} {:>11} {:>23} {:>9}\n",
                point.load,
                point.gap_cycles,
                point.rate("offered_per_s").unwrap_or(0.0),
                ns("p50"),
                ns("p99"),
                format!("{} to {}", ns("p99_low"), ns("p99_high")),
                point.report["missing"].as_u64().unwrap_or(0),
            );
        }
        self.remarks.iter().for_each(|remark| text += &format!("  {remark}\n"));
        text
    }
}

impl CurvePoint {
    /// Gives a rate of the report in millions a second.
    fn rate(&self, name: &str) -> Option<f64> {
        self.report[name].as_f64().map(|rate| rate / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_become_a_table_and_a_chart() {
        let point = |load: &str, gap_cycles: f64, p99: f64| CurvePoint {
            load: load.to_owned(),
            gap_cycles,
            report: json!({
                "requests": 100, "missing": 0, "offered_per_s": 3.2e9 / gap_cycles,
                "answered_per_s": 1e6, "sent_again": { "packets": 2 },
                "response_ns": { "p50": 100.0, "p99": p99, "p99_low": p99 - 5.0,
                                 "p99_high": null, "mean": 120.0 },
            }),
        };
        let points = vec![point("a", 900.0, 400.0), point("b", 900.0, 500.0)];
        let more = [point("a", 500.0, 700.0), point("b", 500.0, 800.0)];
        let curve = Curve { points: [points, more.into()].concat(), ..Curve::default() };
        let csv = String::from_utf8(curve.to_csv().unwrap()).unwrap();
        assert!(csv.starts_with("load,gap_cycles,"), "{csv}");
        assert_eq!(csv.lines().count(), 5);
        assert!(csv.contains("\na,500,6.4,1,700,695,,100,120,100,0,2\n"), "{csv}");
        let svg = curve.to_svg().unwrap();
        assert!(svg.contains("b: median") && svg.contains("response time over load"));
        assert!(curve.to_text().contains("695.0 to open"), "{}", curve.to_text());
    }
}
