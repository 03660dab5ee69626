//! What the framework promises, on a figure made for it and on the nanoPU's with an ideal bench.

mod files;

use std::sync::atomic::{AtomicUsize, Ordering};

use super::catalogue::figures_on;
use super::nanopu::ideal::Ideal;
use super::*;
use pinion_app::error::Error;

const SYNTHETIC: &str = r#"
title = "Queueing delay"
source = "textbook"
method = "Computed."
[chart]
kind = "lines"
x = { column = "load", label = "load, %" }
y = { column = "delay", label = "delay, µs", scale = "log" }
series = "servers"
[parameters]
loads = { value = [10, 50, 90], unit = "%", source = "chosen" }
service = 2
[quick]
loads = [50]
[[published]]
name = "at half"
what = "delay at 50 %"
ours = "delay[servers = 'one', load = 50]"
paper = 4
unit = "µs"
source = "textbook"
[[published]]
name = "at 90"
what = "delay at 90 %"
ours = "delay[servers = 'one', load = 90]"
paper = 10
unit = "µs"
source = "textbook"
difference = "the textbook's service has a deviation"
[[published]]
name = "unknown"
what = "what nobody measures"
ours = "delay[servers = 'three']"
to = 1
source = "textbook"
"#;

/// Shows the delay of a queue with exponential service; its runs take different times.
#[derive(Default)]
struct Synthetic {
    runs: AtomicUsize,
    fail_at: Option<f64>,
}

impl Figure for Synthetic {
    fn name(&self) -> &str {
        "synthetic"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("servers"),
            Column::number("load", "%", 0),
            Column::number("delay", "µs", 2),
            Column::number("noise", "", 0),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let loads = parameters.list("loads")?;
        let curves = ["one", "two"];
        let points = curves.iter().flat_map(|curve| {
            loads.iter().map(move |&x| Point {
                label: format!("{curve} at {x}"),
                curve: (*curve).to_owned(),
                x,
                stream: x as u64,
                ..Point::default()
            })
        });
        Ok(points.collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let place = self.runs.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis((place as u64 * 7) % 5));
        if self.fail_at.is_some_and(|x| x <= point.x) {
            return Err(Error::Usage(format!("no queue at {}", point.x)));
        }
        let delay = setting.parameters.number("service")? / (1.0 - point.x / 100.0);
        let noise = (setting.seed >> 12) as f64;
        Ok(vec![vec![point.curve.as_str().into(), point.x.into(), delay.into(), noise.into()]])
    }
}

fn make(figure: &Synthetic, request: &Request) -> Result<Produced> {
    let own: Vec<String> =
        request.set.iter().filter(|text| text.starts_with("parameters.")).cloned().collect();
    let definition = Definition::read("synthetic", SYNTHETIC, &own)?;
    produce_with(figure, definition, request, &mut Unobserved)
}

fn request(jobs: usize) -> Request {
    Request { jobs, ..Request::default() }
}

#[test]
fn any_number_of_threads_gives_the_same_rows() {
    let one = make(&Synthetic::default(), &request(1)).unwrap();
    for jobs in [2, 3, 16] {
        let many = make(&Synthetic::default(), &request(jobs)).unwrap();
        assert_eq!((&many.table, &many.comparisons), (&one.table, &one.comparisons));
    }
    assert_eq!(one.table.rows.len(), 6);
    // Points of the same stream have the same seed, others and other requests have others.
    let noise = |produced: &Produced, row: usize| produced.table.rows[row][3].number();
    assert_eq!(noise(&one, 0), noise(&one, 3));
    assert_ne!(noise(&one, 0), noise(&one, 1));
    let other = make(&Synthetic::default(), &Request { seed: 2, ..request(2) }).unwrap();
    assert_ne!(noise(&one, 0), noise(&other, 0));
}

#[test]
fn published_values_are_judged() {
    let produced = make(&Synthetic::default(), &request(2)).unwrap();
    let verdicts: Vec<Verdict> = produced.comparisons.iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Verdict::Agrees, Verdict::Explained, Verdict::NotMeasured]);
    assert!(!produced.has_unexplained());
    let slow = Request { set: vec!["parameters.service=3".to_owned()], ..request(2) };
    let slow = make(&Synthetic::default(), &slow).unwrap();
    assert_eq!(slow.comparisons[0].verdict, Verdict::Differs);
    assert_eq!(slow.comparisons[0].difference, Some(0.5));
    assert!(slow.has_unexplained());
    let text = comparison_rows(&slow.comparisons);
    assert_eq!(text[1][1..5], ["6 µs", "4 µs", "+50.0 %", "DIFFERS"]);
    assert_eq!(text[3][2], "at most 1");
    let json = to_json(&slow);
    assert_eq!(json["published"][0]["verdict"], "differs");
    assert_eq!(json["rows"][0]["delay"], 3.0 / 0.9);
}

#[test]
fn a_quick_look_takes_the_quick_numbers_but_not_over_those_set_by_hand() {
    let quick = Request { quick: true, ..request(2) };
    assert_eq!(make(&Synthetic::default(), &quick).unwrap().table.rows.len(), 2);
    let by_hand = Request { set: vec!["parameters.loads=[20,30,40]".to_owned()], ..quick };
    assert_eq!(make(&Synthetic::default(), &by_hand).unwrap().table.rows.len(), 6);
    let wrong = Request { set: vec!["parameters.lods=[1]".to_owned()], ..request(1) };
    assert!(make(&Synthetic::default(), &wrong).unwrap_err().to_string().contains("lods"));
}

#[test]
fn the_first_failing_point_is_the_error_whoever_fails_first() {
    for jobs in [1, 2, 6] {
        let figure = Synthetic { fail_at: Some(50.0), ..Synthetic::default() };
        let error = make(&figure, &request(jobs)).unwrap_err();
        assert_eq!(pinion_app::error::paragraph(&error), "one at 50: no queue at 50");
    }
}

#[test]
fn a_run_can_be_stopped() {
    struct Impatient;
    impl Observer for Impatient {
        fn progress(&mut self, done: usize, total: usize, _: &str) -> bool {
            assert_eq!(total, 6);
            done < 2
        }
    }
    let definition = Definition::read("synthetic", SYNTHETIC, &[]).unwrap();
    let figure = Synthetic::default();
    let error = produce_with(&figure, definition, &request(1), &mut Impatient).unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
    assert!(figure.runs.load(Ordering::Relaxed) < 6);
}

#[test]
fn csv_and_chart_show_names_units_and_gaps() {
    let mut produced = make(&Synthetic::default(), &request(2)).unwrap();
    produced.table.rows[1][2] = Cell::Missing;
    let csv = String::from_utf8(produced.table.to_csv().unwrap()).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("servers,load [%],delay [µs],noise"));
    assert!(lines.nth(1).is_some_and(|line| line.starts_with("one,50,,")));
    let svg = chart::draw(&produced.definition, &produced.table, &produced.comparisons).unwrap();
    for text in ["Queueing delay", "textbook", "load, %", "delay, µs", "one", "two"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let mut definition = produced.definition;
    definition.chart.series = "server".to_owned();
    let error = chart::draw(&definition, &produced.table, &[]).unwrap_err().to_string();
    assert!(error.contains("`server`") && error.contains("servers, load"), "{error}");
}

#[test]
fn further_charts_show_the_same_rows_in_other_ways() {
    let mut produced = make(&Synthetic::default(), &request(2)).unwrap();
    let further = r#"
        name = "parts"
        title = "Parts of a delay"
        chart.kind = "stacked"
        chart.x = { column = "load", label = "load, %" }
        chart.y = { column = "delay", label = "delay, µs" }
        chart.series = "servers"
        chart.only = ["two", "one"]
    "#;
    produced.definition.further.push(toml::from_str(further).unwrap());
    let drawn = |produced: &Produced| {
        let Produced { definition, table, comparisons, .. } = produced;
        chart::draw_further(definition, table, comparisons).unwrap().remove(0)
    };
    let (name, svg) = drawn(&produced);
    assert_eq!(name, "parts");
    for text in ["Parts of a delay", "textbook", "load, %", "delay, µs", "10", "50", "90"] {
        assert!(svg.contains(text), "{text}");
    }
    // Above the bar of each load stands the sum of both parts: 2 · (2 / 0.5) at half.
    assert!(svg.contains("\n8\n"), "{svg}");

    // As curves: a published point is a ring, a computed curve has no markers.
    let chart = &mut produced.definition.further[0].chart;
    chart.kind = chart::Kind::Lines;
    let style = "like = \"one\"\nline = \"thin\"";
    chart.styles.insert("two".to_owned(), toml::from_str(style).unwrap());
    let drawn_at = "at = 50\nchart = \"parts\"";
    produced.definition.published[0].drawn = Some(toml::from_str(drawn_at).unwrap());
    let (_, svg) = drawn(&produced);
    assert_eq!(svg.matches("<circle").count(), 2, "the point and its line in the legend");
    let markers = svg.matches("<polygon").count();
    produced.definition.further[0].chart.styles.clear();
    assert!(drawn(&produced).1.matches("<polygon").count() > markers);
}

#[test]
fn every_figure_has_a_file_that_fits_it() {
    for figure in figures() {
        let definition = figure.definition(&[]).unwrap();
        let columns = figure.columns(&definition);
        let columns: Vec<&str> = columns.iter().map(|column| column.name.as_ref()).collect();
        let further = definition.further.iter().map(|further| &further.chart);
        for chart in std::iter::once(&definition.chart).chain(further) {
            for name in [&chart.x.column, &chart.y.column, &chart.series] {
                assert!(columns.contains(&name.as_str()), "{}: {name}", figure.name());
            }
        }
        for quick in [false, true] {
            let parameters = definition.parameters(figure.name(), quick, &[]);
            assert!(!figure.points(&definition, &parameters).unwrap().is_empty());
        }
        // The workloads are published, what nanoPUs make of them is not.
        assert_eq!(definition.published.is_empty(), figure.name() == "nanopu-workloads");
    }
    let error = |name: &str| find(name).err().unwrap().to_string();
    assert!(error("nanopu-fig").contains("did you mean `nanopu-fig"));
    let group = select("pspin-al").err().unwrap().to_string();
    assert!(group.contains("did you mean `pspin-all`"), "{group}");
    let far = error("nope");
    assert!(!far.contains("did you mean") && far.contains("nanopu-fig3"), "{far}");
}

#[test]
fn the_nanopu_figures_ask_for_what_they_name() {
    let draws = std::env::var_os("PINION_FIGURES");
    for figure in nanopu_on_ideal() {
        let request = Request { quick: draws.is_none(), ..Request::default() };
        let produced = produce(figure.as_ref(), &request, &mut Unobserved).unwrap();
        let svg = chart::draw(&produced.definition, &produced.table, &produced.comparisons);
        let svg = svg.unwrap();
        if let Some(dir) = &draws {
            let path = std::path::Path::new(dir).join(figure.name());
            std::fs::write(path.with_extension("svg"), svg).unwrap();
            std::fs::write(path.with_extension("csv"), produced.table.to_csv().unwrap()).unwrap();
            println!("{:#?}", produced.comparisons);
        }
        for comparison in &produced.comparisons {
            let measured = comparison.verdict != Verdict::NotMeasured;
            assert!(measured, "{}: {} is not measured", figure.name(), comparison.name);
        }
    }
}

#[test]
fn the_ideal_node_orders_the_curves_of_figure_5_as_the_paper_does() {
    let figure = nanopu_on_ideal().into_iter().find(|figure| figure.name() == "nanopu-fig5");
    let set = ["requests=20000", "gaps_cycles=[600]", "pre_gaps_cycles=[600]"];
    let set = set.iter().map(|text| format!("parameters.{text}")).collect();
    let request = Request { set, ..Request::default() };
    let produced = produce(figure.unwrap().as_ref(), &request, &mut Unobserved).unwrap();
    for name in ["rss_over_jbsq", "jbsq_over_pre"] {
        let comparison = produced.comparisons.iter().find(|c| c.name == name).unwrap();
        assert!(comparison.ours.unwrap() > 1.0, "{comparison:?}");
    }
}

/// Lists the nanoPU's figures on a bench without a node.
fn nanopu_on_ideal() -> Vec<Box<dyn Figure>> {
    let mut figures = figures_on(std::sync::Arc::new(Ideal));
    figures.retain(|figure| figure.name().starts_with("nanopu-"));
    figures
}
