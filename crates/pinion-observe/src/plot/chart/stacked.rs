//! Bars of parts. In: a column of groups, one of parts, one of numbers. Out: a bar for each group, its
//! parts above each other in order, the sum above it; published values of a whole group as strokes.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::Drawn;
use super::Sheet;
use super::axis::plain;
use super::bars::{axes_of_groups, name_groups};
use super::frame::{self, INK, Key};
use crate::plot::picture::Problem;

/// The share of a group's width that its bar has.
const FILLED: f64 = 0.6;
/// The share of the axis below which a part's number has no room in it.
const READABLE: f64 = 0.045;

/// Draws bars of parts.
pub(super) fn draw(svg: &mut String, sheet: &Sheet<'_>) -> Result<(), Problem> {
    let chart = sheet.chart;
    let names = sheet.series();
    let part = |group: &str, name: &str| {
        let texts = [(chart.x.column.as_str(), group), (chart.series.as_str(), name)];
        sheet.table.lookup(&texts, &chart.y.column)
    };
    // Groups of other rows have none of the parts.
    let mut groups = sheet.table.names(&chart.x.column);
    groups.retain(|group| names.iter().any(|name| part(group, name).is_some()));
    let sums: Vec<f64> = groups
        .iter()
        .map(|group| names.iter().filter_map(|name| part(group, name)).sum())
        .collect();
    let strokes = strokes(sheet, &groups);
    let heights = sums.iter().copied().chain(strokes.iter().map(|(_, number)| *number));
    let y = chart.y.spread(heights.map(|height| height * 1.1).chain([0.0]));

    let mut keys: Vec<Key> =
        names.iter().enumerate().map(|(index, name)| Key::Bar(index, name.clone())).collect();
    keys.reverse(); // as they lie above each other
    if !strokes.is_empty() {
        keys.push(Key::Published("published".to_owned()));
    }
    let area = frame::begin(svg, sheet, &keys)?;
    let mut context = axes_of_groups(&area, chart, &groups, &y)?;
    let above = frame::font(14).pos(Pos::new(HPos::Center, VPos::Bottom));
    let within = ("sans-serif", 13).into_font().color(&WHITE);
    let within = within.pos(Pos::new(HPos::Center, VPos::Center));
    for (group, name) in groups.iter().enumerate() {
        let (middle, mut bottom) = (group as f64, 0.0);
        for (index, part) in names.iter().map(|stage| part(name, stage)).enumerate() {
            let Some(number) = part else { continue };
            let corners =
                [(middle - FILLED / 2.0, bottom), (middle + FILLED / 2.0, bottom + number)];
            context.draw_series([Rectangle::new(corners, frame::colour(index).filled())])?;
            if number >= READABLE * (y.end - y.start) {
                let place = (middle, bottom + number / 2.0);
                context.draw_series([Text::new(plain(number), place, within.clone())])?;
            }
            bottom += number;
        }
        let highest = strokes.iter().filter(|(of, _)| *of == group).map(|(_, number)| *number);
        let top = highest.fold(bottom, f64::max) + READABLE * (y.end - y.start) / 5.0;
        context.draw_series([Text::new(plain(sums[group]), (middle, top), above.clone())])?;
    }
    for (group, number) in &strokes {
        let middle = *group as f64;
        let ends = vec![(middle - FILLED / 1.6, *number), (middle + FILLED / 1.6, *number)];
        context.draw_series([PathElement::new(ends, INK.stroke_width(3))])?;
    }
    let place = |group: usize| context.backend_coord(&(group as f64, y.start));
    name_groups(&area, &groups, place)?;
    area.present()?;
    Ok(())
}

/// Places the published values of whole groups.
fn strokes(sheet: &Sheet<'_>, groups: &[String]) -> Vec<(usize, f64)> {
    let mut strokes = Vec::new();
    for (published, comparison) in &sheet.published {
        let Some(Drawn { group: Some(name), .. }) = &published.drawn else { continue };
        let Some(group) = groups.iter().position(|group| group == name) else { continue };
        let numbers = [comparison.paper, comparison.from, comparison.to];
        strokes.extend(numbers.into_iter().flatten().map(|number| (group, number)));
    }
    strokes
}
