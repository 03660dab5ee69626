//! What every chart has around its data: title, source, legend, colours and markers.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Line, Sheet};
use crate::plot::picture::{self, Area, Problem};

/// Size of a chart in pixels.
const SIZE: (i32, i32) = (980, 560);
/// Width of the legend.
const LEGEND_WIDTH: i32 = 230;
/// Letters in a line of the legend.
const LEGEND_LETTERS: usize = 26;
const LINE_HEIGHT: i32 = 17;

/// Colours that people with colour-blindness tell apart (Okabe and Ito, 2008), darkest first.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];
/// Lines of the grid.
pub(in crate::plot) const GRID: RGBColor = RGBColor(222, 222, 222);
/// Texts, axes and published values.
pub(in crate::plot) const INK: RGBColor = RGBColor(40, 40, 40);

/// A line in the legend.
pub(super) enum Key {
    /// A curve: the number of its colour, how it is drawn, its name.
    Curve(usize, Line, String),
    /// The n-th bar of each group.
    Bar(usize, String),
    /// A published value.
    Published(String),
    /// A published point, or a published bound of one.
    PublishedPoint(Bound, String),
    /// A limit.
    Limit(String),
}

/// Says which way a published number bounds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is the number.
    None,
    /// Nothing is less.
    AtLeast,
    /// Nothing is more.
    AtMost,
}

/// Gives the colour of the n-th curve.
pub(in crate::plot) fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// Makes the font of texts.
pub(in crate::plot) fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// Draws title and legend, and gives the surface for the data.
pub(super) fn begin<'a>(
    svg: &'a mut String,
    sheet: &Sheet<'_>,
    keys: &[Key],
) -> Result<Area<'a>, Problem> {
    let root = picture::sheet(svg, SIZE, sheet.title)?;
    root.draw(&Text::new(sheet.source.to_owned(), (20, 44), font(15)))?;
    let (_, below) = root.split_vertically(64);
    let (data, legend) = below.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    draw_legend(&legend, keys)?;
    Ok(data)
}

fn draw_legend(area: &Area<'_>, keys: &[Key]) -> Result<(), Problem> {
    let mut y = 24;
    for key in keys {
        let name = match key {
            Key::Curve(index, line, name) => {
                for stretch in stretches(*line, 8, 38) {
                    let path = stretch.map(|x| (x, y)).to_vec();
                    area.draw(&PathElement::new(path, colour(*index).stroke_width(width(*line))))?;
                }
                match line {
                    Line::Thin | Line::Limit => {}
                    Line::Published => {
                        area.draw(&(EmptyElement::at((23, y)) + ring(Some(*index))))?
                    }
                    _ => area.draw(&(EmptyElement::at((23, y)) + marker(*index)))?,
                }
                name
            }
            Key::Bar(index, name) => {
                let corners = [(12, y - 7), (34, y + 7)];
                area.draw(&Rectangle::new(corners, colour(*index).filled()))?;
                name
            }
            Key::PublishedPoint(bound, name) => {
                match bound_mark(*bound, None) {
                    Some(mark) => area.draw(&(EmptyElement::at((23, y)) + mark))?,
                    None => area.draw(&(EmptyElement::at((23, y)) + ring(None)))?,
                }
                name
            }
            Key::Limit(name) => {
                for stretch in stretches(Line::Dashed, 8, 38) {
                    let path = stretch.map(|x| (x, y)).to_vec();
                    area.draw(&PathElement::new(path, INK.stroke_width(1)))?;
                }
                name
            }
            Key::Published(name) => {
                area.draw(&PathElement::new(vec![(8, y), (38, y)], INK.stroke_width(3)))?;
                name
            }
        };
        for line in wrapped(name, LEGEND_LETTERS) {
            let style = font(15).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(line, (46, y), style))?;
            y += LINE_HEIGHT;
        }
        y += 9;
    }
    Ok(())
}

/// Gives the width of a line.
pub(super) fn width(line: Line) -> u32 {
    if matches!(line, Line::Thin | Line::Limit) { 1 } else { 2 }
}

/// Gives what is drawn of a line from left to right in the legend.
fn stretches(line: Line, left: i32, right: i32) -> Vec<[i32; 2]> {
    match line {
        Line::Whole | Line::Thin => vec![[left, right]],
        Line::Dashed => (left..right).step_by(10).map(|x| [x, (x + 6).min(right)]).collect(),
        Line::Limit => (left..right).step_by(6).map(|x| [x, (x + 3).min(right)]).collect(),
        Line::Points | Line::Published => Vec::new(),
    }
}

/// Breaks a text at spaces into lines of so many letters.
pub(in crate::plot) fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Makes the marker of the n-th curve, around (0, 0): a dot, square, triangle or diamond.
pub(super) fn marker(index: usize) -> Polygon<(i32, i32)> {
    let corners: Vec<(i32, i32)> = match index % 4 {
        0 => vec![(-2, -4), (2, -4), (4, -2), (4, 2), (2, 4), (-2, 4), (-4, 2), (-4, -2)],
        1 => vec![(-4, -4), (4, -4), (4, 4), (-4, 4)],
        2 => vec![(0, -5), (5, 4), (-5, 4)],
        _ => vec![(0, -6), (5, 0), (0, 6), (-5, 0)],
    };
    Polygon::new(corners, colour(index).filled())
}

/// Makes the ring of a published point, around (0, 0), in the colour of its curve: no marker of ours
/// is hollow.
pub(super) fn ring(index: Option<usize>) -> Circle<(i32, i32), u32> {
    let colour = index.map_or(INK, colour);
    Circle::new((0, 0), 7, colour.stroke_width(2))
}

/// Makes the mark of a published bound, around (0, 0): a bar with an arrow to where numbers may lie;
/// `None` for a number that is no bound.
pub(super) fn bound_mark(bound: Bound, index: Option<usize>) -> Option<PathElement<(i32, i32)>> {
    let up = match bound {
        Bound::None => return None,
        Bound::AtLeast => -1,
        Bound::AtMost => 1,
    };
    let path = [(-9, 0), (9, 0), (0, 0), (0, 14 * up), (-4, 8 * up), (0, 14 * up), (4, 8 * up)];
    let colour = index.map_or(INK, colour);
    Some(PathElement::new(path.to_vec(), colour.stroke_width(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_broken_at_spaces() {
        assert_eq!(wrapped("hardware, high", LEGEND_LETTERS), ["hardware, high"]);
        let lines = wrapped("hardware scheduler, high priority thread", LEGEND_LETTERS);
        assert_eq!(lines, ["hardware scheduler, high", "priority thread"]);
    }
}
