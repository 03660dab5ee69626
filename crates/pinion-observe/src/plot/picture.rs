//! The sheet that a picture is drawn on: white, with a title, in SVG.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::chart::frame::INK;
use pinion_app::error::{Error, Result};

/// A surface to draw on.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What can go wrong while drawing.
pub(super) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Draws a picture in SVG.
///
/// # Errors
/// When it cannot be drawn.
pub(super) fn picture(
    draw: impl FnOnce(&mut String) -> std::result::Result<(), Problem>,
) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg).map_err(|problem| Error::part("cannot draw the picture", problem))?;
    Ok(svg)
}

/// Begins a picture of a width and height in pixels: a white sheet with a title on top of it.
pub(super) fn sheet<'a>(
    svg: &'a mut String,
    size: (i32, i32),
    title: &str,
) -> std::result::Result<Area<'a>, Problem> {
    let size = (size.0.unsigned_abs(), size.1.unsigned_abs());
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    let bold = ("sans-serif", 22, FontStyle::Bold).into_font().color(&INK);
    area.draw(&Text::new(title.to_owned(), (20, 16), bold))?;
    Ok(area)
}
