//! The profile as a flame graph.

use super::rows::Rows;
use super::{Cause, Profile};
use crate::plot::{Frame, flame_graph};
use crate::words::count;
use pinion_app::error::Result;

impl Profile<'_> {
    /// Draws who called whom, as wide as the cycles, in SVG; cycles without work are left out.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_flame_graph(&self, rows: &Rows) -> Result<String> {
        let mut root = Frame { name: self.app.clone(), ..Frame::default() };
        for (index, class) in self.classes.iter().enumerate() {
            for ((chain, cause), cycles) in self.chains(rows, index) {
                let is_led = chain.first() == Some(&class.name);
                let mut whole = vec![class.name.clone()];
                whole.extend(chain.into_iter().skip(usize::from(is_led)));
                let colour = (cause != Cause::Issue).then_some(cause as usize);
                whole.extend(colour.map(|_| cause.name().to_owned()));
                root.add(&whole, cycles, colour);
            }
        }
        let title = format!("{} on {}: where cycles go", self.app, self.machine);
        let text = format!(
            "{} cycles of {}s at work; below a function what it called, in other colours what it waited for",
            count(root.weight),
            self.hart_word
        );
        flame_graph(&title, &text, &root)
    }
}
