//! What the controls of a program must do together, whose register arrays some of them share: for whatever
//! drives the module around them. In: the modules, frames or a seed. Out: for each control lines as [`Vectors`]
//! has them, each behind the cycle in which its packet or event comes; the arrays hold what all have made of them,
//! in the model's order.

use std::collections::VecDeque;

use pinion_sim::random::SplitMix64;

use super::shared::looked_up;
use super::vectors::Vectors;
use super::{ENTRIES, Whole};

/// In how many cycles of so many a control has nothing to do.
const SELDOM: u64 = 3;

/// Makes lines for controls, cycle by cycle.
pub struct Together<'p> {
    controls: Vec<One<'p>>,
    arrays: Vec<Array>,
    random: SplitMix64,
    cycle: u64,
}

/// A register array: its ports, by control and extern there, and what it holds.
struct Array {
    ports: Vec<(usize, usize)>,
    entries: Vec<u64>,
}

/// A control, and the cycles from what comes to what the model does with it.
struct One<'p> {
    vectors: Vectors<'p>,
    looked_up: u64,
    /// Cycles of what has come and was not looked at.
    coming: VecDeque<u64>,
}

impl<'p> Together<'p> {
    /// Begins with a seed.
    ///
    /// # Errors
    /// A control has more operations or values than the model takes.
    pub fn new(whole: &'p Whole<'p>, seed: u64) -> Result<Self, String> {
        let mut random = SplitMix64::new(seed);
        let mut controls = Vec::new();
        for control in &whole.controls {
            let vectors = Vectors::new(control.program, &control.hardware, random.draw())?;
            let looked_up = looked_up(control.program).into();
            controls.push(One { vectors, looked_up, coming: VecDeque::new() });
        }
        let shared = whole.around.iter().flat_map(|around| &around.shared);
        let arrays = shared.map(|ports| Array { ports: ports.clone(), entries: vec![0; ENTRIES] });
        let arrays = arrays.collect();
        Ok(Self { controls, arrays, random, cycle: 0 })
    }

    /// Writes what the ports of a control are.
    pub fn head(&self, control: usize) -> String {
        self.controls[control].vectors.timed_head()
    }

    /// Goes on by a cycle: in it each control has something to do or not, the packets' own a frame; gives the lines
    /// of what the model has looked at, by control.
    pub fn cycle(&mut self, frame: Option<&[u8]>) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        for number in 0..self.controls.len() {
            let comes = !self.random.draw().is_multiple_of(SELDOM);
            let one = &mut self.controls[number];
            if comes {
                one.coming.push_back(self.cycle);
            }
            let Some(at) =
                one.coming.front().copied().filter(|at| at + one.looked_up <= self.cycle)
            else {
                continue;
            };
            one.coming.pop_front();
            self.lend(number);
            let one = &mut self.controls[number];
            let line = one.vectors.line(frame.filter(|_| number == 0));
            self.lend(number);
            lines.push((number, format!("{at} {line}")));
        }
        self.cycle += 1;
        lines
    }

    /// Gives a control the arrays that it shares, or takes them back.
    fn lend(&mut self, control: usize) {
        for Array { ports, entries } in &mut self.arrays {
            for (_, external) in ports.iter().filter(|(number, _)| *number == control) {
                self.controls[control].vectors.exchange(*external, entries);
            }
        }
    }
}
