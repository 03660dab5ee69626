//! Panels below each other over one time: how much of something there was, in steps.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::frame::{GRID, colour, font};
use super::picture::{self, Problem, picture};
use pinion_app::error::Result;

/// One of the panels.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows, with its unit.
    pub title: String,
    /// From when on there was how much.
    pub steps: Vec<(f64, f64)>,
}

const WIDTH: i32 = 1100;
const TOP: i32 = 60;
const HEIGHT: i32 = 92;
/// Height of the drawing in a panel.
const DRAWN: i32 = 62;
const LEFT: i32 = 70;
const RIGHT: i32 = 1070;
/// Marks on the axis of time.
const MARKS: i32 = 10;

/// Draws panels over a time that ends at `end`, in SVG.
///
/// # Errors
/// When they cannot be drawn.
pub fn panels(title: &str, time: &str, end: f64, all: &[Panel]) -> Result<String> {
    picture(|svg| draw(svg, title, time, end, all))
}

fn draw(
    svg: &mut String,
    title: &str,
    time: &str,
    end: f64,
    all: &[Panel],
) -> std::result::Result<(), Problem> {
    let height = TOP + HEIGHT * all.len() as i32 + 50;
    let area = picture::sheet(svg, (WIDTH, height), title)?;
    let end = if end > 0.0 { end } else { 1.0 };
    let x = |at: f64| LEFT + (at / end * f64::from(RIGHT - LEFT)).round() as i32;
    let bottom = TOP + HEIGHT * all.len() as i32;
    for mark in 0..=MARKS {
        let at = end * f64::from(mark) / f64::from(MARKS);
        area.draw(&PathElement::new(vec![(x(at), TOP), (x(at), bottom)], GRID))?;
        let style = font(13).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(short(at), (x(at), bottom + 4), style))?;
    }
    let style = font(14).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new(time.to_owned(), ((LEFT + RIGHT) / 2, bottom + 24), style))?;
    for (index, panel) in all.iter().enumerate() {
        let top = TOP + HEIGHT * index as i32;
        let base = top + HEIGHT - 4;
        let most = panel.steps.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        let scale = if most > 0.0 { f64::from(DRAWN) / most } else { 0.0 };
        let mut outline = vec![(LEFT, base)];
        for (step, (from, value)) in panel.steps.iter().enumerate() {
            let to = panel.steps.get(step + 1).map_or(end, |(next, _)| *next);
            let y = base - (value * scale).round() as i32;
            outline.extend([(x(*from), y), (x(to), y)]);
        }
        outline.push((RIGHT, base));
        area.draw(&Polygon::new(outline.clone(), colour(index).mix(0.35).filled()))?;
        area.draw(&PathElement::new(outline, colour(index)))?;
        let style = font(14).pos(Pos::new(HPos::Left, VPos::Top));
        area.draw(&Text::new(panel.title.clone(), (LEFT + 4, top + 6), style))?;
        let style = font(13).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(short(most), (LEFT - 6, base - DRAWN), style.clone()))?;
        area.draw(&Text::new("0".to_owned(), (LEFT - 6, base - 4), style))?;
    }
    area.present()?;
    Ok(())
}

/// Writes a number in few letters.
fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
