//! What charts must show: published numbers in marks of their own, limits, bands without a key, names
//! and numbers that do not cover each other.

use super::super::{Cell, Column, Definition, Table, compare};
use super::*;

const HEAD: &str = "title = \"t\"\nsource = \"s\"\nmethod = \"\"\n";

/// Draws rows of (curve, x, y).
fn draw_rows(text: &str, rows: &[(&str, f64, f64)]) -> String {
    let definition = Definition::read("test", &format!("{HEAD}{text}"), &[]).unwrap();
    let row = |(curve, x, y): &(&str, f64, f64)| vec![Cell::from(*curve), (*x).into(), (*y).into()];
    let columns =
        vec![Column::text("curve"), Column::number("x", "", 3), Column::number("y", "", 3)];
    let table = Table { columns, rows: rows.iter().map(row).collect() };
    draw(&definition, &table, &compare(&definition.published, &table).unwrap()).unwrap()
}

/// Counts circles of a radius, as rings are.
fn rings(svg: &str) -> usize {
    svg.lines().filter(|line| line.starts_with("<circle") && line.contains("r=\"7\"")).count()
}

const LINES: &str = "[chart]\nkind = \"lines\"\nseries = \"curve\"\n\
                     x = { column = \"x\", label = \"x\" }\ny = { column = \"y\", label = \"y\" }\n";

#[test]
fn published_curves_are_rings_and_bounds_are_arrows() {
    let rows = [("ours", 1.0, 1.0), ("ours", 2.0, 2.0), ("theirs", 1.0, 1.5), ("theirs", 2.0, 2.5)];
    let plain = draw_rows(LINES, &rows);
    assert_eq!(rings(&plain), 0);
    let styled = format!(
        "{LINES}[chart.styles]\n\"theirs\" = {{ like = \"ours\", line = \"published\" }}\n\
         [[published]]\nname = \"a\"\nwhat = \"a\"\nours = \"1\"\nfrom = 1.2\nsource = \"s\"\n\
         drawn = {{ at = 1 }}\n[[published]]\nname = \"b\"\nwhat = \"b\"\nours = \"1\"\nto = 2.2\nsource = \"s\"\n\
         drawn = {{ at = 2 }}\n"
    );
    let svg = draw_rows(&styled, &rows);
    assert_eq!(rings(&svg), 3, "two points and the key: {svg}");
    assert!(svg.contains("published: at least") && svg.contains("published: at most"), "{svg}");
}

#[test]
fn a_curve_of_limits_is_dashed_and_has_no_marker() {
    let rows = [("ours", 1.0, 1.0), ("ours", 2.0, 2.0), ("most", 1.0, 3.0), ("most", 2.0, 3.0)];
    let style = |line: &str| format!("{LINES}[chart.styles]\n\"most\" = {{ line = \"{line}\" }}\n");
    let (whole, limit) = (draw_rows(&style("whole"), &rows), draw_rows(&style("limit"), &rows));
    let count = |svg: &str, mark: &str| svg.matches(mark).count();
    assert_eq!(
        count(&whole, "<polygon") - count(&limit, "<polygon"),
        3,
        "two and the key: {limit}"
    );
    assert!(count(&limit, "<polyline") > count(&whole, "<polyline") + 10, "{limit}");
}

#[test]
fn limits_are_drawn_and_named() {
    let text = LINES.replace("[chart]\n", "[chart]\nlimits = [{ at = 5, name = \"line rate\" }]\n");
    let rows = [("ours", 1.0, 1.0), ("ours", 2.0, 2.0)];
    let svg = draw_rows(&text, &rows);
    assert!(svg.contains("line rate"), "{svg}");
    // The axis reaches the limit, which no point does.
    let ticks = |svg: &str| svg.lines().filter(|line| line.trim() == "5").count();
    assert_eq!((ticks(&draw_rows(LINES, &rows)), ticks(&svg)), (0, 1), "{svg}");
}

#[test]
fn a_band_is_filled_and_has_no_key() {
    let text = format!("{LINES}[chart.bands]\n\"p99\" = [\"p99 low\", \"p99 high\"]\n");
    let mut rows = Vec::new();
    for x in [1.0, 2.0, 3.0] {
        rows.extend([("p99", x, 2.0 * x), ("p99 low", x, 1.8 * x)]);
    }
    rows.extend([("p99 high", 1.0, 2.5), ("p99 high", 2.0, 4.5)]); // of the last it is not known
    let svg = draw_rows(&text, &rows);
    assert!(!svg.contains("p99 low") && !svg.contains("p99 high"), "{svg}");
    let band = svg.lines().find(|line| line.contains("opacity=\"0.18\"")).expect("a band");
    let points = band.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(points.split_whitespace().count(), 4, "{band}");
}

#[test]
fn numbers_wider_than_their_bars_stand_upright() {
    let text = LINES.replace("\"lines\"", "\"bars\"");
    let definition = |text: &str| Definition::read("t", &format!("{HEAD}{text}"), &[]).unwrap();
    let columns = || vec![Column::text("curve"), Column::text("x"), Column::number("y", "", 3)];
    let bars = |groups: usize| {
        let rows = (0..groups).flat_map(|group| {
            let name = format!("interconnect{group}");
            ["a", "b"].map(|bar| vec![bar.into(), name.as_str().into(), Cell::from(0.0164)])
        });
        let table = Table { columns: columns(), rows: rows.collect() };
        draw(&definition(&text), &table, &[]).unwrap()
    };
    // What the axis shows stands upright anyway.
    assert_eq!(bars(2).matches("rotate(270").count(), 1);
    let many = bars(14);
    assert_eq!(many.matches("rotate(270").count(), 29, "{many}");
    // Names that would touch stand on two levels.
    let level = |name: &str| {
        let lines: Vec<&str> = many.lines().collect();
        let at = lines.iter().position(|line| line.trim() == name).expect("a name");
        let y = lines[at - 1].split(" y=\"").nth(1).unwrap();
        y.split('"').next().unwrap().parse::<i32>().unwrap()
    };
    assert_eq!(level("interconnect0"), level("interconnect2"));
    assert!(level("interconnect1") > level("interconnect0"), "{many}");
}
