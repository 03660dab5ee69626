//! Groups of bars. In: a column of groups, one of names, one of numbers. Out: a bar for each name in
//! each group, its number above it; published values as strokes across their bars.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::Drawn;
use super::axis::{Spread, plain};
use super::frame::{self, Bound, GRID, INK, Key};
use super::{Chart, Sheet};
use crate::plot::picture::{Area, Problem};

/// The share of a group's width that its bars have.
const FILLED: f64 = 0.8;

/// The size of the groups' names, and about the width of a letter.
const NAME_SIZE: u32 = 13;
const LETTER_WIDTH: i32 = 7;

/// The width between the axis and the legend.
const PLOT_WIDTH: i32 = 648;
/// The height of what the groups are, at the bottom.
const DESCRIPTION_HEIGHT: i32 = 30;
/// How far below the axis names begin, behind its ticks.
const BELOW_TICKS: i32 = 7;
const LINE_HEIGHT: i32 = 15;

/// A bar: its group, its place in the group, its number.
struct Bar {
    group: usize,
    index: usize,
    number: f64,
    /// Whether a published number bounds others.
    bound: Bound,
}

/// Draws groups of bars.
pub(super) fn draw(svg: &mut String, sheet: &Sheet<'_>) -> Result<(), Problem> {
    let chart = sheet.chart;
    let (groups, names) = (sheet.table.names(&chart.x.column), sheet.series());
    let bars = bars(sheet, &groups, &names);
    let strokes = strokes(sheet, &groups, &names);
    // A tenth more leaves room for the numbers above the bars; half of the smallest lets it be seen
    // where the axis cannot begin at 0.
    let heights = bars.iter().chain(&strokes).map(|bar| bar.number * 1.1);
    let y = chart.y.spread(heights.chain(bars.iter().map(|bar| bar.number * 0.5).chain([0.0])));

    let mut keys: Vec<Key> =
        names.iter().enumerate().map(|(index, name)| Key::Bar(index, name.clone())).collect();
    let has = |bound: Bound| strokes.iter().any(|stroke| stroke.bound == bound);
    if has(Bound::None) {
        keys.push(Key::Published("published".to_owned()));
    }
    let bounds = [(Bound::AtLeast, "published: at least"), (Bound::AtMost, "published: at most")];
    let shown = bounds.into_iter().filter(|(bound, _)| has(*bound));
    keys.extend(shown.map(|(bound, name)| Key::PublishedPoint(bound, name.to_owned())));
    let area = frame::begin(svg, sheet, &keys)?;
    let mut context = axes_of_groups(&area, chart, &groups, &y)?;
    let width = FILLED / names.len().max(1) as f64;
    let left = |bar: &Bar| bar.group as f64 - FILLED / 2.0 + bar.index as f64 * width;
    let texts: Vec<String> = bars.iter().map(|bar| plain(bar.number)).collect();
    let pixels = |from: f64, to: f64| {
        context.backend_coord(&(to, y.start)).0 - context.backend_coord(&(from, y.start)).0
    };
    let room = pixels(0.0, width);
    let numbers = number_style(&texts, room);
    for bar in &bars {
        let Some(top) = y.position(bar.number) else { continue };
        let (start, end) = (left(bar) + 0.05 * width, left(bar) + 0.95 * width);
        let style = frame::colour(bar.index).filled();
        context.draw_series([Rectangle::new([(start, y.start), (end, top)], style)])?;
    }
    // Behind all bars, lest a neighbour covers a number; above a stroke that is nearby.
    for (bar, text) in bars.iter().zip(texts) {
        let own = |stroke: &&Bar| (stroke.group, stroke.index) == (bar.group, bar.index);
        let high = strokes.iter().filter(own).map(|stroke| stroke.number);
        let near = high.filter(|high| (0.9..1.15).contains(&(high / bar.number)));
        let Some(top) = y.position(near.fold(bar.number, f64::max)) else { continue };
        let middle = left(bar) + width / 2.0;
        let gap = EmptyElement::at((middle, top)) + Text::new(text, (0, -4), numbers.clone());
        context.draw_series([gap])?;
    }
    for stroke in &strokes {
        let Some(height) = y.position(stroke.number) else { continue };
        let line = vec![(left(stroke), height), (left(stroke) + width, height)];
        context.draw_series([PathElement::new(line, INK.stroke_width(3))])?;
        if let Some(arrow) = frame::bound_mark(stroke.bound, None) {
            let middle = (left(stroke) + width / 2.0, height);
            context.draw_series([EmptyElement::at(middle) + arrow])?;
        }
    }
    let place = |group: usize| context.backend_coord(&(group as f64, y.start));
    name_groups(&area, &groups, place)?;
    area.present()?;
    Ok(())
}

/// Chooses how bars' numbers stand above them: upright where one is wider than its bar.
fn number_style(texts: &[String], room: i32) -> TextStyle<'static> {
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0) as i32;
    if longest * LETTER_WIDTH <= room {
        return frame::font(13).pos(Pos::new(HPos::Center, VPos::Bottom));
    }
    let upright = frame::font(13).transform(FontTransform::Rotate270);
    upright.pos(Pos::new(HPos::Left, VPos::Center))
}

/// Draws the axes of a chart of groups, whose names [`name_groups`] writes.
pub(super) fn axes_of_groups<'a>(
    area: &Area<'a>,
    chart: &Chart,
    groups: &[String],
    y: &Spread,
) -> Result<ChartContext<'a, SVGBackend<'a>, Cartesian2d<Spread, Spread>>, Problem> {
    let mut context = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(Names::of(groups).height())
        .y_label_area_size(78)
        .build_cartesian_2d(Spread::of_groups(groups), y.clone())?;
    context
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(groups.len() + 1)
        .y_labels(y.ticks.len() + 1)
        .x_desc(chart.x.label.clone())
        .y_desc(chart.y.label.clone())
        .axis_desc_style(frame::font(17))
        .label_style(frame::font(15))
        .x_label_formatter(&|_| String::new())
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .draw()?;
    Ok(context)
}

/// Writes the groups' names below the axis; `place` gives where a group stands in the whole picture.
pub(super) fn name_groups(
    area: &Area<'_>,
    groups: &[String],
    place: impl Fn(usize) -> (i32, i32),
) -> Result<(), Problem> {
    let (across, down) = area.get_pixel_range();
    let names = Names::of(groups);
    let letters = frame::font(NAME_SIZE).pos(Pos::new(HPos::Center, VPos::Top));
    for (group, lines) in names.lines.iter().enumerate() {
        let (middle, axis) = place(group);
        let (middle, axis) = (middle - across.start, axis - down.start);
        let first = if names.is_staggered && group % 2 == 1 { names.most_lines() } else { 0 };
        for (line, text) in (first..).zip(lines) {
            let top = axis + BELOW_TICKS + line * LINE_HEIGHT;
            area.draw(&Text::new(text.clone(), (middle, top), letters.clone()))?;
        }
    }
    Ok(())
}

/// How groups' names are written: in lines, every other one lower where they would touch.
struct Names {
    lines: Vec<Vec<String>>,
    is_staggered: bool,
}

impl Names {
    fn of(groups: &[String]) -> Self {
        let width = PLOT_WIDTH / groups.len().max(1) as i32;
        let broken = |width| groups.iter().map(|name| lines_of(name, width)).collect::<Vec<_>>();
        let lines = broken(width);
        let is_wide = |line: &String| line.chars().count() as i32 * LETTER_WIDTH > width;
        match lines.iter().flatten().any(is_wide) {
            true => Self { lines: broken(2 * width), is_staggered: true },
            false => Self { lines, is_staggered: false },
        }
    }

    fn most_lines(&self) -> i32 {
        self.lines.iter().map(Vec::len).max().unwrap_or(1) as i32
    }

    /// Gives the height of the names and of what the groups are.
    fn height(&self) -> i32 {
        let levels = if self.is_staggered { 2 } else { 1 };
        BELOW_TICKS + levels * self.most_lines() * LINE_HEIGHT + DESCRIPTION_HEIGHT
    }
}

/// Gives a group's name in one line where that is narrow enough, else a word a line.
fn lines_of(name: &str, width: i32) -> Vec<String> {
    if name.chars().count() as i32 * LETTER_WIDTH <= width {
        return vec![name.to_owned()];
    }
    name.split_whitespace().map(str::to_owned).collect()
}

fn bars(sheet: &Sheet<'_>, groups: &[String], names: &[String]) -> Vec<Bar> {
    let chart = sheet.chart;
    let mut bars = Vec::new();
    for (group, group_name) in groups.iter().enumerate() {
        for (index, name) in names.iter().enumerate() {
            let texts = [(chart.x.column.as_str(), group_name.as_str()), (&chart.series, name)];
            if let Some(number) = sheet.table.lookup(&texts, &chart.y.column) {
                bars.push(Bar { group, index, number, bound: Bound::None });
            }
        }
    }
    bars
}

/// Places the published values that belong to a bar; bounds give two strokes.
fn strokes(sheet: &Sheet<'_>, groups: &[String], names: &[String]) -> Vec<Bar> {
    let mut strokes = Vec::new();
    for (published, comparison) in &sheet.published {
        let Some(Drawn { group: Some(group), series, .. }) = &published.drawn else { continue };
        let Some(group) = groups.iter().position(|name| name == group) else { continue };
        let place = |series: &String| names.iter().position(|name| name == series);
        let Some(index) = series.as_ref().map_or(Some(0), place) else { continue };
        let numbers = [
            (Bound::None, comparison.paper),
            (Bound::AtLeast, comparison.from),
            (Bound::AtMost, comparison.to),
        ];
        let bar = |(bound, number): (Bound, Option<f64>)| {
            number.map(|number| Bar { group, index, number, bound })
        };
        strokes.extend(numbers.into_iter().filter_map(bar));
    }
    strokes
}
