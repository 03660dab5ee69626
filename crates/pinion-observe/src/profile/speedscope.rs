//! The profile in the format of speedscope (<https://www.speedscope.app>, file-format-spec): chains of
//! calls with the cycles spent in each, one profile for all harts and one for each class of work.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;
use serde_json::{Value, json};

use super::rows::Rows;
use super::{Cause, Profile};

impl Profile<'_> {
    /// Writes it for speedscope. Cycles without work are left out.
    pub fn to_speedscope(&self, rows: &Rows) -> Value {
        let mut frames = Frames::default();
        let mut profiles = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let (mut samples, mut weights, mut end) = (Vec::new(), Vec::new(), 0);
            for ((mut chain, cause), cycles) in self.chains(rows, index) {
                if cause != Cause::Issue {
                    chain.push(format!("[{}]", cause.name()));
                }
                samples.push(chain.iter().map(|name| frames.number(name)).collect::<Vec<_>>());
                weights.push(cycles);
                end += cycles;
            }
            if end > 0 {
                profiles.push(json!({
                    "type": "sampled",
                    "name": class.name,
                    "unit": "none",
                    "startValue": 0,
                    "endValue": end,
                    "samples": samples,
                    "weights": weights,
                }));
            }
        }
        let names = frames.names.iter().map(|name| json!({ "name": name }));
        json!({
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "name": format!("{} on {}, cycles", self.app, self.machine),
            "exporter": concat!("pinion ", env!("CARGO_PKG_VERSION")),
            "shared": { "frames": names.collect::<Vec<Value>>() },
            "profiles": profiles,
        })
    }

    /// Lists a class's chains of calls, the outermost function first and inlined ones among them, and
    /// what they went by, with their cycles; in order of the names.
    pub(super) fn chains(&self, rows: &Rows, class: usize) -> Vec<((Vec<String>, Cause), u64)> {
        let mut sums: BTreeMap<(Vec<String>, Cause), u64> = BTreeMap::new();
        for (key, count) in
            self.ledger.cells().iter().filter(|(key, _)| key.class as usize == class)
        {
            let functions = self.own_functions(class, key.chain);
            let mut chain: Vec<String> =
                functions.iter().map(|number| self.code.function(*number).to_owned()).collect();
            let inlined = rows.places[key.slot as usize].iter().rev().skip(1);
            chain.extend(inlined.filter_map(|place| place.function.clone()));
            for cause in Cause::ALL {
                let cycles = count.cycles[cause as usize];
                if cycles > 0 && cause != Cause::Idle {
                    *sums.entry((chain.clone(), cause)).or_default() += cycles;
                }
            }
        }
        sums.into_iter().collect()
    }

    /// Lists the functions of a chain of calls by their numbers, a class's own one first: what led to a
    /// handler is the runtime's, and the same for all.
    pub(super) fn own_functions(&self, class: usize, chain: u32) -> Vec<u32> {
        let mut functions = self.ledger.stacks().functions(chain);
        let name = &self.classes[class].name;
        let handler = functions.iter().position(|number| self.code.function(*number) == name);
        functions.drain(..handler.unwrap_or(0));
        functions
    }
}

#[derive(Default)]
struct Frames {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Frames {
    fn number(&mut self, name: &str) -> usize {
        let next = self.names.len();
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.names.push(name.to_owned());
        }
        number
    }
}
