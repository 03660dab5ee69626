//! A waterfall: parts of a whole, one below the other, each where it begins; where they are spent in
//! several places, those of each place in a lane of its own.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::frame::{GRID, colour, font, wrapped};
use super::picture::{self, Problem, picture};
use pinion_app::error::Result;

/// A part of a waterfall; times in its unit.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// Where it is spent, where there are several places.
    pub lane: Option<String>,
    /// When it begins.
    pub from: f64,
    /// What it takes.
    pub length: f64,
    /// Whether it is spent waiting.
    pub is_wait: bool,
    /// What stands behind its number.
    pub note: String,
}

const WIDTH: i32 = 1100;
const TOP: i32 = 96;
const ROW: i32 = 26;
/// Room for the title of a lane.
const TITLE: i32 = 24;
/// Where bars begin and end.
const LEFT: i32 = 400;
const RIGHT: i32 = 860;
/// Letters in a line across the picture.
const LETTERS: usize = 130;
/// Letters of a note beside its bar.
const NOTE_LETTERS: usize = 34;

/// Draws a waterfall of times in a unit, such as ns, in SVG.
///
/// # Errors
/// When it cannot be drawn.
pub fn waterfall(title: &str, text: &str, unit: &str, bars: &[Bar]) -> Result<String> {
    picture(|svg| draw(svg, title, text, unit, bars))
}

fn draw(
    svg: &mut String,
    title: &str,
    text: &str,
    unit: &str,
    bars: &[Bar],
) -> std::result::Result<(), Problem> {
    let lanes = lanes(bars);
    let titles = lanes.iter().filter(|(name, _)| name.is_some()).count() as i32;
    let height = TOP + ROW * bars.len() as i32 + TITLE * titles + 40;
    let root = picture::sheet(svg, (WIDTH, height), title)?;
    for (line, part) in wrapped(text, LETTERS).into_iter().take(2).enumerate() {
        root.draw(&Text::new(part, (20, 46 + 18 * line as i32), font(15)))?;
    }
    let end =
        bars.iter().map(|bar| bar.from + bar.length).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let across = |time: f64| LEFT + (time / end * f64::from(RIGHT - LEFT)).round() as i32;
    for quarter in 0..=4 {
        let time = end * f64::from(quarter) / 4.0;
        let line = vec![(across(time), TOP), (across(time), height - 34)];
        root.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
        let below = font(13).pos(Pos::new(HPos::Center, VPos::Top));
        root.draw(&Text::new(format!("{time:.0} {unit}"), (across(time), height - 30), below))?;
    }
    let mut top = TOP;
    for (number, (name, bars)) in lanes.iter().enumerate() {
        if let Some(name) = name {
            let bottom = top + TITLE + ROW * bars.len() as i32;
            if number % 2 == 0 {
                let corners = [(0, top), (WIDTH, bottom)];
                root.draw(&Rectangle::new(corners, GRID.mix(0.35).filled()))?;
            }
            let place = (20, top + TITLE / 2 + 2);
            let left = font(15).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new((*name).to_owned(), place, left))?;
            top += TITLE;
        }
        for bar in bars {
            let middle = top + ROW / 2;
            let right = font(14).pos(Pos::new(HPos::Right, VPos::Center));
            root.draw(&Text::new(bar.name.clone(), (LEFT - 10, middle), right))?;
            let (from, to) = (across(bar.from), across(bar.from + bar.length));
            let corners = [(from, middle - 8), (to.max(from + 1), middle + 8)];
            let tint = colour(usize::from(bar.is_wait));
            root.draw(&Rectangle::new(corners, tint.filled()))?;
            let mut note = format!("{:.1} {unit}", bar.length);
            if !bar.note.is_empty() {
                let part: String = bar.note.chars().take(NOTE_LETTERS).collect();
                let more = if part.len() < bar.note.len() { "…" } else { "" };
                note += &format!(", behind {part}{more}");
            }
            let is_left = to + 8 * note.chars().count() as i32 > WIDTH;
            let place = if is_left { (from - 6, middle) } else { (to + 6, middle) };
            let side = if is_left { HPos::Right } else { HPos::Left };
            root.draw(&Text::new(note, place, font(13).pos(Pos::new(side, VPos::Center))))?;
            top += ROW;
        }
    }
    root.present()?;
    Ok(())
}

/// Groups bars by their lanes, in the order in which those begin.
fn lanes(bars: &[Bar]) -> Vec<(Option<&str>, Vec<&Bar>)> {
    let mut lanes: Vec<(Option<&str>, Vec<&Bar>)> = Vec::new();
    for bar in bars {
        let name = bar.lane.as_deref();
        match lanes.iter_mut().find(|(other, _)| *other == name) {
            Some((_, bars)) => bars.push(bar),
            None => lanes.push((name, vec![bar])),
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_its_name_and_number() {
        let bar = |name: &str, from, length, is_wait| {
            let note = if is_wait { "packet 7".to_owned() } else { String::new() };
            Bar { name: name.to_owned(), lane: None, from, length, is_wait, note }
        };
        let bars = [bar("is copied", 0.0, 12.0, false), bar("waits for an HPU", 12.0, 88.0, true)];
        let svg = waterfall("echo: packet 3", "It waits.", "ns", &bars).unwrap();
        for text in
            ["is copied", "12.0 ns", "waits for an HPU", "88.0 ns, behind packet 7", "100 ns"]
        {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn parts_of_one_place_stand_together() {
        let bar = |name: &str, lane: &str| Bar {
            name: name.to_owned(),
            lane: Some(lane.to_owned()),
            from: 0.0,
            length: 1.0,
            is_wait: false,
            note: String::new(),
        };
        let bars = [bar("asks", "client"), bar("works", "server"), bar("reads", "client")];
        let names = lanes(&bars).into_iter().map(|(name, bars)| (name.unwrap(), bars.len()));
        assert_eq!(names.collect::<Vec<_>>(), [("client", 2), ("server", 1)]);
        let svg = waterfall("echo: request 3", "It is quick.", "ns", &bars).unwrap();
        let at = |text: &str| svg.find(text).unwrap();
        assert!(at("asks") < at("reads") && at("reads") < at("works"), "{svg}");
    }
}
