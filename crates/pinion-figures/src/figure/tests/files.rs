//! What figures promise that are nothing but a file.

use super::*;

/// A figure of one's own, as a user writes it.
const OWN: &str = r#"
title = "Echoes"
source = "ours"
method = "Run."
[chart]
kind = "lines"
x = { column = "bytes", label = "bytes" }
y = { column = "rate", label = "rate" }
series = "handler"
[parameters]
bytes = [64, 128]
packets = 100
[run]
kind = "handlers"
axes = [{ name = "bytes", over = "bytes" }]
with = { handler = "{handler}", bytes = "{bytes}", packets = "{packets}", messages = 1 }
[[series]]
name = "{handler}, {bytes} B"
axes = [{ name = "handler", of = ["alu_0", "alu_4"] }]
[[columns]]
name = "handler"
text = "{handler}"
[[columns]]
name = "bytes"
[[columns]]
name = "rate"
is = "packets_per_ns * bytes * 8"
unit = "Gbit/s"
decimals = 1
[[published]]
name = "rate"
what = "rate"
ours = "rate[bytes = 64] / 1000"
paper = 1
source = "ours"
"#;

/// Lists the points of a file, as `pinion figure FILE.toml` does.
fn points_of(text: &str) -> Result<Vec<Point>> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("pinion-own-figure-{}-{count}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    let points = find(path.to_str().unwrap()).and_then(|figure| {
        let definition = figure.definition(&[])?;
        figure.points(&definition, &definition.parameters(figure.name(), false, &[]))
    });
    let _ = std::fs::remove_file(path);
    points
}

#[test]
fn a_file_says_which_points_run_and_what_they_are_told() {
    let points = points_of(OWN).unwrap();
    let curves: Vec<&str> = points.iter().map(|point| point.curve.as_str()).collect();
    assert_eq!(curves, ["alu_0, 64 B", "alu_4, 64 B", "alu_0, 128 B", "alu_4, 128 B"]);
    assert_eq!(points[3].with["bytes"], Parameter::Number(128.0));
    assert_eq!(points[3].with["handler"], Parameter::Text("alu_4".to_owned()));
    let in_order = OWN.replace("axes = [{ name = \"bytes\", over = \"bytes\" }]\nwith", "with");
    let in_order =
        in_order.replace("\"alu_4\"] }]", "\"alu_4\"] }, { name = \"bytes\", over = \"bytes\" }]");
    let points = points_of(&in_order).unwrap();
    assert_eq!(points[1].curve, "alu_0, 128 B");
    let sorted = in_order.replace("kind = \"handlers\"", "kind = \"handlers\"\norder = \"bytes\"");
    assert_eq!(points_of(&sorted).unwrap()[1].curve, "alu_4, 64 B");
    let two =
        OWN.replace("over = \"bytes\"", "over = [\"bytes\", \"packets\"], step = 4, most = 128");
    assert_eq!(points_of(&two).unwrap()[5].curve, "alu_4, 100 B");
    for (limit, part) in [("most = 127", "128 is more than 127"), ("step = 3", "64 is no multiple")]
    {
        let text = OWN.replace("over = \"bytes\"", &format!("over = \"bytes\", {limit}"));
        let error = pinion_app::error::paragraph(&points_of(&text).unwrap_err());
        assert!(error.contains(part), "{limit}: {error}");
    }
}

/// A figure of a machine's numbers, whose series says what its rows are.
const OF_A_MACHINE: &str = r#"
title = "Area"
source = "ours"
method = "Estimated."
chart.kind = "bars"
chart.x = { column = "what", label = "what" }
chart.y = { column = "area", label = "area" }
chart.series = "what"
run.kind = "area"
[parameters]
spare_mm2 = 2
[[series]]
name = "PsPIN"
[[series.rows]]
[[series.rows]]
once = true
what = "spare, {series}"
area = "spare_mm2"
twice = "area * 2"
[[series]]
name = "known"
kind = "none"
rows = [{ what = "", area = "", twice = "" }]
[[columns]]
name = "what"
text = "{component}"
[[columns]]
name = "area"
is = "area_mm2"
[[columns]]
name = "twice"
is = "area_mm2 * 2"
"#;

/// Makes a figure of a file's text.
fn made_of(text: &str) -> Result<Produced> {
    let figure = find("./machine.toml")?;
    let definition = Definition::read("machine", text, &[])?;
    produce_with(figure.as_ref(), definition, &Request::default(), &mut Unobserved)
}

#[test]
fn a_series_says_what_its_rows_are_and_what_kind_of_run_they_come_from() {
    let table = made_of(OF_A_MACHINE).unwrap().table;
    // Ten components, the spare row behind the first, and a row of which nothing is known.
    assert_eq!(table.rows.len(), 12);
    let area = |what: &str, column: &str| table.lookup(&[("what", what)], column);
    assert_eq!(table.rows[1][0], Cell::from("spare, PsPIN"));
    assert_eq!(area("spare, PsPIN", "area"), Some(2.0));
    assert_eq!(area("spare, PsPIN", "twice"), Some(4.0));
    assert_eq!(area("L1", "twice"), area("L1", "area").map(|area| 2.0 * area));
    assert_eq!(table.rows[11], [Cell::from(""), Cell::Missing, Cell::Missing]);
    for (from, to, part) in [
        ("once = true", "once = true\nwhen = \"1\"", "rows: there is no column `when`"),
        ("area * 2", "areas * 2", "column `twice`: `areas * 2`: there is no `areas`"),
        ("kind = \"none\"", "kind = \"nothing\"", "there is no kind `nothing`"),
    ] {
        let error = made_of(&OF_A_MACHINE.replacen(from, to, 1)).unwrap_err();
        let error = pinion_app::error::paragraph(&error);
        assert!(error.contains(part), "{to}: no `{part}` in {error}");
    }
}

#[test]
fn a_file_that_does_not_fit_is_refused_before_anything_runs() {
    for (from, to, part) in [
        ("\"handlers\"", "\"handler\"", "there is no kind `handler`; there are handlers, example"),
        ("[run]\n", "[run]\nkinds = 1\n", "kinds"),
        ("messages = 1", "message = 1", "`with.message` is nothing such a run takes: handler"),
        (", messages = 1", "", "`with.messages` is missing"),
        ("{bytes} B", "{size} B", "no axis and no parameter is called `size`"),
        ("over = \"bytes\" }", "over = \"sizes\" }", "has no `parameters.sizes`"),
        (
            "over = \"bytes\" }",
            "over = \"bytes\", words = \"bytes\" }",
            "axis `bytes`: give one of",
        ),
        (
            "packets_per_ns *",
            "packets_per_s *",
            "column `rate`: `packets_per_s * bytes * 8`: there is no",
        ),
        ("text = \"{handler}\"", "text = \"{flow}\"", "column `handler`"),
        ("text = \"{handler}\"", "", "nothing gives `handler`"),
        ("name = \"bytes\"\n", "name = \"rate\"\n", "same name"),
        ("{ name = \"handler\", of", "{ name = \"hpus\", of", "`handler`"),
        (
            "of = [\"alu_0\", \"alu_4\"] }]",
            "of = [\"alu_0\"] }, { name = \"hpus\", over = \"bytes\" }]",
            "axis `hpus`: such runs measure",
        ),
        ("ours = \"rate[bytes", "ours = \"rate[bytes =", "`bytes` is compared with"),
    ] {
        let text = OWN.replacen(from, to, 1);
        assert_ne!(text, OWN, "{from}");
        let error = pinion_app::error::paragraph(&points_of(&text).unwrap_err());
        assert!(error.contains(part), "{to}: no `{part}` in {error}");
    }
    assert!(points_of(&OWN.replace("[run]", "[runs]")).is_err());
    let absent = find("./absent.toml").unwrap().definition(&[]).unwrap_err().to_string();
    assert!(absent.contains("absent.toml"), "{absent}");
}

/// A figure of nothing but what was published along an axis.
const ALONG: &str = r#"
title = "Published"
source = "ours"
method = "Read."
chart.kind = "lines"
chart.x = { column = "bytes", label = "bytes" }
chart.y = { column = "rate", label = "rate" }
chart.series = "curve"
run.kind = "none"
run.only = "200 - bytes * window"
[parameters]
bytes = [16, 64, 128]
published_2 = [7.5, 9]
published_2_at = [16, 64]
[[series]]
name = "window {window}"
[[series.axes]]
name = "window"
of = [2]
[[series.axes]]
name = "bytes"
over = "bytes"
beside = { rate = { values = "published_{window}", at = "published_{window}_at" } }
[[series.rows]]
[[series.rows]]
needs = "rate"
curve = "published: {series}"
[[columns]]
name = "curve"
text = "{series}"
[[columns]]
name = "bytes"
[[columns]]
name = "rate"
"#;

#[test]
fn what_was_published_stands_beside_an_axis_where_there_is_something() {
    let rows = made_of(ALONG).unwrap().table.rows;
    // 128 B in a window of two are not wanted.
    let curves: Vec<Cell> = rows.iter().map(|row| row[0].clone()).collect();
    let [ours, theirs] = ["window 2", "published: window 2"].map(Cell::from);
    assert_eq!(curves, [&ours, &theirs, &ours, &theirs].map(Cell::clone));
    assert_eq!((rows[1][2].number(), rows[2][2].number()), (Some(7.5), Some(9.0)));
    let fewer = ALONG.replace(
        "published_2 = [7.5, 9]\npublished_2_at = [16, 64]",
        "published_2 = 9\npublished_2_at = 64",
    );
    let rows = made_of(&fewer).unwrap().table.rows;
    assert_eq!((rows.len(), rows[0][2].number()), (3, None));
    for (from, to, part) in [
        ("[7.5, 9]", "[7.5]", "`parameters.published_2` has 1 numbers"),
        ("200 - bytes", "200 - byte", "there is no `byte`"),
    ] {
        let error = made_of(&ALONG.replacen(from, to, 1)).unwrap_err();
        let error = pinion_app::error::paragraph(&error);
        assert!(error.contains(part), "{to}: no `{part}` in {error}");
    }
}
