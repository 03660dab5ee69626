//! Curves. In: two columns of numbers, one of names. Out: a curve for each name; published values as
//! lines across.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::{Comparison, Definition, Table};
use super::axis::Spread;
use super::frame::{self, GRID, INK, Key, Problem};

/// Is a curve: its name and points.
type Curve = (String, Vec<(f64, f64)>);

/// Draws curves.
pub(super) fn draw(
    svg: &mut String,
    definition: &Definition,
    table: &Table,
    comparisons: &[Comparison],
) -> Result<(), Problem> {
    let chart = &definition.chart;
    let curves: Vec<Curve> = table
        .names(&chart.series)
        .into_iter()
        .map(|name| {
            let points = table.curve(&chart.series, &name, &chart.x.column, &chart.y.column);
            (name, points)
        })
        .collect();
    let published = across(definition, comparisons);
    let all = || curves.iter().flat_map(|(_, points)| points.iter());
    let x = chart.x.spread(all().map(|(x, _)| *x));
    let y = chart.y.spread(all().map(|(_, y)| *y).chain(published.iter().map(|(_, y)| *y)));

    let keys = curves.iter().enumerate().map(|(index, (name, _))| Key::Curve(index, name.clone()));
    let area = frame::begin(svg, definition, &keys.collect::<Vec<_>>())?;
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
    for (text, number) in &published {
        let Some(height) = y.position(*number) else { continue };
        let line = [(x.start, height), (x.end, height)];
        context.draw_series(DashedLineSeries::new(line, 6, 4, INK.stroke_width(1)))?;
        let style = frame::font(14).pos(Pos::new(HPos::Right, VPos::Bottom));
        context.draw_series([Text::new(text.clone(), (x.end, height), style)])?;
    }
    for (index, (_, points)) in curves.iter().enumerate() {
        let at: Vec<(f64, f64)> = points.iter().filter_map(|point| place(&x, &y, *point)).collect();
        let style = frame::colour(index).stroke_width(2);
        context.draw_series(LineSeries::new(at.iter().copied(), style))?;
        context.draw_series(at.iter().map(|&at| EmptyElement::at(at) + frame::marker(index)))?;
    }
    area.present()?;
    Ok(())
}

fn place(x: &Spread, y: &Spread, (across, up): (f64, f64)) -> Option<(f64, f64)> {
    let at = (x.position(across)?, y.position(up)?);
    let inside = (x.start..=x.end).contains(&at.0) && (y.start..=y.end).contains(&at.1);
    inside.then_some(at)
}

/// Lists the published values that are lines across, with their texts.
fn across(definition: &Definition, comparisons: &[Comparison]) -> Vec<(String, f64)> {
    let drawn = definition.published.iter().zip(comparisons);
    let lines = drawn.filter(|(published, _)| {
        published.drawn.as_ref().is_some_and(|drawn| drawn.group.is_none())
    });
    lines
        .filter_map(|(_, comparison)| {
            let number = comparison.paper.or(comparison.to).or(comparison.from)?;
            Some((format!("published: {}", comparison.what), number))
        })
        .collect()
}
