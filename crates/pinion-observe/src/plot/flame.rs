//! A flame graph: parts of a whole across, their parts below them, as wide as they weigh.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::frame::{colour, font};
use super::picture::{self, Area, Problem, picture};
use pinion_app::error::Result;

const WIDTH: i32 = 1200;
const TOP: i32 = 74;
const ROW: i32 = 22;
const MARGIN: i32 = 12;
/// Width in pixels of what is left out.
const LEAST_WIDTH: f64 = 0.3;
/// Pixels that a letter takes.
const LETTER: f64 = 7.4;

/// A part of the whole, with its parts.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Name of it.
    pub name: String,
    /// What it weighs, its parts included.
    pub weight: u64,
    /// Number of its colour; without one it has that of its family.
    pub colour: Option<usize>,
    /// Its parts.
    pub inside: Vec<Self>,
}

impl Frame {
    /// Adds a chain of parts, each inside the one before, the last of which weighs so much. The last
    /// one may have a colour.
    pub fn add(&mut self, chain: &[String], weight: u64, colour: Option<usize>) {
        self.weight += weight;
        let [first, rest @ ..] = chain else { return };
        let own = if rest.is_empty() { colour } else { None };
        let same = |frame: &Self| frame.name == *first && frame.colour == own;
        let index = self.inside.iter().position(same).unwrap_or_else(|| {
            self.inside.push(Self { name: first.clone(), colour: own, ..Self::default() });
            self.inside.len() - 1
        });
        self.inside[index].add(rest, weight, colour);
    }

    fn depth(&self) -> usize {
        1 + self.inside.iter().map(Self::depth).max().unwrap_or(0)
    }
}

/// Draws a flame graph in SVG.
///
/// # Errors
/// When it cannot be drawn.
pub fn flame_graph(title: &str, text: &str, root: &Frame) -> Result<String> {
    picture(|svg| draw(svg, title, text, root))
}

fn draw(
    svg: &mut String,
    title: &str,
    text: &str,
    root: &Frame,
) -> std::result::Result<(), Problem> {
    let height = TOP + ROW * root.depth() as i32 + 2 * MARGIN;
    let area = picture::sheet(svg, (WIDTH, height), title)?;
    area.draw(&Text::new(text.to_owned(), (20, 44), font(15)))?;
    let scale = f64::from(WIDTH - 2 * MARGIN) / root.weight.max(1) as f64;
    draw_frame(&area, root, (f64::from(MARGIN), 0), (scale, root.weight))?;
    area.present()?;
    Ok(())
}

fn draw_frame(
    area: &Area<'_>,
    frame: &Frame,
    (left, depth): (f64, i32),
    (scale, all): (f64, u64),
) -> std::result::Result<(), Problem> {
    let width = frame.weight as f64 * scale;
    if width < LEAST_WIDTH {
        return Ok(());
    }
    let top = TOP + depth * ROW;
    let (x, right) = (left.round() as i32, (left + width).round() as i32);
    let corners = [(x, top), ((right - 1).max(x + 1), top + ROW - 2)];
    area.draw(&Rectangle::new(corners, fill(frame).filled()))?;
    let share = frame.weight as f64 * 100.0 / all.max(1) as f64;
    let label = format!("{} {share:.1} %", frame.name);
    let room = ((width - 8.0) / LETTER).max(0.0) as usize;
    let texts = [label.as_str(), frame.name.as_str()];
    if let Some(text) = texts.into_iter().find(|text| text.chars().count() <= room) {
        let style = font(13).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(text.to_owned(), (x + 4, top + ROW / 2 - 1), style))?;
    }
    let mut at = left;
    for inside in &frame.inside {
        draw_frame(area, inside, (at, depth + 1), (scale, all))?;
        at += inside.weight as f64 * scale;
    }
    Ok(())
}

/// Chooses a colour; what has none of its own is of one family, told apart by its name.
fn fill(frame: &Frame) -> RGBAColor {
    if let Some(index) = frame.colour {
        return colour(index).mix(0.55);
    }
    let add = |sum: u32, byte: u8| sum.wrapping_mul(31).wrapping_add(u32::from(byte));
    let tint = frame.name.bytes().fold(0, add);
    RGBColor(245, 165 + (tint % 50) as u8, 75 + (tint / 50 % 60) as u8).mix(0.9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_are_drawn() {
        let mut root = Frame { name: "all".into(), ..Frame::default() };
        let chain =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        root.add(&chain(&["handler", "loop"]), 70, None);
        root.add(&chain(&["handler", "l1"]), 20, Some(2));
        root.add(&chain(&["handler"]), 10, None);
        assert_eq!((root.weight, root.inside.len(), root.inside[0].weight), (100, 1, 100));
        assert_eq!(root.inside[0].inside.len(), 2, "what it does itself is no part");
        let svg = flame_graph("title", "text", &root).unwrap();
        assert!(svg.contains("loop 70.0 %") && svg.contains("l1 20.0 %"), "{svg}");
    }
}
