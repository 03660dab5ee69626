//! Curves. In: two columns of numbers, one of names. Out: a curve for each name, some with a band
//! around; published values as rings, arrows at bounds or lines across; limits as lines across.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Spread;
use super::frame::{self, Bound, GRID, INK, Key};
use super::{Line, Sheet};
use crate::plot::picture::Problem;

/// A curve.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    /// The number of its colour.
    colour: usize,
    line: Line,
}

/// Draws curves.
pub(super) fn draw(svg: &mut String, sheet: &Sheet<'_>) -> Result<(), Problem> {
    let chart = sheet.chart;
    let curves = curves(sheet);
    let (published, marks) = (across(sheet), marks(sheet, &curves));
    let all = || curves.iter().flat_map(|curve| curve.points.iter());
    let x = chart.x.spread(all().map(|(x, _)| *x));
    let bands = bands(sheet, &curves);
    let heights = published.iter().map(|(_, y)| *y).chain(marks.iter().map(|mark| mark.place.1));
    let heights = heights.chain(chart.limits.iter().map(|limit| limit.at));
    let heights = heights.chain(bands.iter().flat_map(|band| band.edge.iter().map(|(_, y)| *y)));
    let y = chart.y.spread(all().map(|(_, y)| *y).chain(heights));

    let key = |curve: &Curve| Key::Curve(curve.colour, curve.line, curve.name.clone());
    let mut keys: Vec<Key> = curves.iter().map(key).collect();
    let bounds = [
        (Bound::None, "published"),
        (Bound::AtLeast, "published: at least"),
        (Bound::AtMost, "published: at most"),
    ];
    let shown = bounds.iter().filter(|(bound, _)| marks.iter().any(|mark| mark.bound == *bound));
    keys.extend(shown.map(|(bound, name)| Key::PublishedPoint(*bound, (*name).to_owned())));
    keys.extend(chart.limits.iter().map(|limit| Key::Limit(limit.name.clone())));
    let area = frame::begin(svg, sheet, &keys)?;
    let mut context = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(52)
        .y_label_area_size(78)
        .build_cartesian_2d(x.clone(), y.clone())?;
    context
        .configure_mesh()
        .x_labels(x.ticks.len() + 1)
        .y_labels(y.ticks.len() + 1)
        .x_desc(chart.x.label.clone())
        .y_desc(chart.y.label.clone())
        .axis_desc_style(frame::font(17))
        .label_style(frame::font(15))
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .draw()?;
    for band in &bands {
        let edge: Vec<(f64, f64)> =
            band.edge.iter().filter_map(|point| place(&x, &y, *point)).collect();
        let fill = frame::colour(band.colour).mix(0.18).filled();
        context.draw_series([Polygon::new(edge, fill)])?;
    }
    for limit in &chart.limits {
        let Some(height) = y.position(limit.at) else { continue };
        let line = [(x.start, height), (x.end, height)];
        context.draw_series(DashedLineSeries::new(line, 6, 4, INK.stroke_width(1)))?;
    }
    for (text, number) in &published {
        let Some(height) = y.position(*number) else { continue };
        let line = [(x.start, height), (x.end, height)];
        context.draw_series(DashedLineSeries::new(line, 6, 4, INK.stroke_width(1)))?;
        let style = frame::font(14).pos(Pos::new(HPos::Right, VPos::Bottom));
        context.draw_series([Text::new(text.clone(), (x.end, height), style)])?;
    }
    for curve in &curves {
        let points = curve.points.iter().filter_map(|point| place(&x, &y, *point));
        let at: Vec<(f64, f64)> = points.collect();
        let style = frame::colour(curve.colour).stroke_width(frame::width(curve.line));
        match curve.line {
            Line::Whole | Line::Thin => {
                context.draw_series(LineSeries::new(at.iter().copied(), style))?;
            }
            Line::Dashed => {
                context.draw_series(DashedLineSeries::new(at.iter().copied(), 6, 4, style))?;
            }
            Line::Limit => {
                context.draw_series(DashedLineSeries::new(at.iter().copied(), 3, 3, style))?;
            }
            Line::Points | Line::Published => {}
        }
        if curve.line == Line::Published {
            let ring = |&at: &(f64, f64)| EmptyElement::at(at) + frame::ring(Some(curve.colour));
            context.draw_series(at.iter().map(ring))?;
        } else if !matches!(curve.line, Line::Thin | Line::Limit) {
            let marker = |&at: &(f64, f64)| EmptyElement::at(at) + frame::marker(curve.colour);
            context.draw_series(at.iter().map(marker))?;
        }
    }
    for mark in &marks {
        let Some(at) = place(&x, &y, mark.place) else { continue };
        match frame::bound_mark(mark.bound, mark.colour) {
            Some(bound) => context.draw_series([EmptyElement::at(at) + bound])?,
            None => context.draw_series([EmptyElement::at(at) + frame::ring(mark.colour)])?,
        };
    }
    area.present()?;
    Ok(())
}

/// Where a curve lies with some probability: the edge around.
struct Band {
    edge: Vec<(f64, f64)>,
    colour: usize,
}

/// Lists the bands of the curves; they end where one of their sides is not known.
fn bands(sheet: &Sheet<'_>, curves: &[Curve]) -> Vec<Band> {
    let chart = sheet.chart;
    let points =
        |name: &String| sheet.table.curve(&chart.series, name, &chart.x.column, &chart.y.column);
    let band = |(name, [low, high]): (&String, &[String; 2])| {
        let colour = curves.iter().find(|curve| curve.name == *name)?.colour;
        let (low, high) = (points(low), points(high));
        let has = |side: &[(f64, f64)], x: f64| side.iter().any(|point| point.0 == x);
        let mut edge: Vec<_> = low.iter().copied().filter(|point| has(&high, point.0)).collect();
        edge.extend(high.iter().rev().copied().filter(|point| has(&low, point.0)));
        Some(Band { edge, colour })
    };
    chart.bands.iter().filter_map(band).collect()
}

/// A published point.
struct Mark {
    place: (f64, f64),
    bound: Bound,
    colour: Option<usize>,
}

/// Lists the published points, with the colours of the curves they belong to.
fn marks(sheet: &Sheet<'_>, curves: &[Curve]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (published, comparison) in &sheet.published {
        let Some((drawn, at)) = published.drawn.as_ref().and_then(|d| Some((d, d.at?))) else {
            continue;
        };
        let curve = drawn.series.as_ref().and_then(|name| curves.iter().find(|c| c.name == *name));
        let colour = curve.map(|curve| curve.colour);
        let numbers = [
            (Bound::None, comparison.paper),
            (Bound::AtLeast, comparison.from),
            (Bound::AtMost, comparison.to),
        ];
        let mark = |(bound, number): (Bound, Option<f64>)| {
            number.map(|number| Mark { place: (at, number), bound, colour })
        };
        marks.extend(numbers.into_iter().filter_map(mark));
    }
    marks
}

fn place(x: &Spread, y: &Spread, (across, up): (f64, f64)) -> Option<(f64, f64)> {
    let at = (x.position(across)?, y.position(up)?);
    let inside = (x.start..=x.end).contains(&at.0) && (y.start..=y.end).contains(&at.1);
    inside.then_some(at)
}

/// Gives the curves that have points; those with a colour of their own are numbered in order.
fn curves(sheet: &Sheet<'_>) -> Vec<Curve> {
    let chart = sheet.chart;
    let mut colours: Vec<String> = Vec::new();
    let mut curves = Vec::new();
    for name in sheet.series() {
        let (x, y) = (&chart.x.column, &chart.y.column);
        let points = sheet.table.curve(&chart.series, &name, x, y);
        if points.is_empty() {
            continue;
        }
        let style = chart.styles.get(&name);
        let owner = style.and_then(|style| style.like.clone()).unwrap_or_else(|| name.clone());
        let colour = colours.iter().position(|known| *known == owner).unwrap_or_else(|| {
            colours.push(owner);
            colours.len() - 1
        });
        let line = style.map_or(Line::Whole, |style| style.line);
        curves.push(Curve { name, points, colour, line });
    }
    curves
}

/// Lists the published values that are lines across, with their texts.
fn across(sheet: &Sheet<'_>) -> Vec<(String, f64)> {
    let lines = sheet.published.iter().filter(|(published, _)| {
        let drawn = published.drawn.as_ref();
        drawn.is_some_and(|drawn| drawn.group.is_none() && drawn.at.is_none())
    });
    lines
        .filter_map(|(_, comparison)| {
            let number = comparison.paper.or(comparison.to).or(comparison.from)?;
            Some((format!("published: {}", comparison.what), number))
        })
        .collect()
}
