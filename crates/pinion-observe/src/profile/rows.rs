//! Sums by function and by line of source.

use std::collections::BTreeMap;

use super::{Count, Profile, Sources};
use crate::fault::program::Place;

/// What a function took, without those that it calls.
#[derive(Clone, Debug)]
pub struct FunctionRow {
    /// Name of it; one that was inlined counts for itself.
    pub name: String,
    /// What it took.
    pub count: Count,
}

/// What a line took.
#[derive(Clone, Debug)]
pub struct LineRow {
    /// Its file, with the folder; the function, where the program tells no lines.
    pub file: String,
    /// Number of it; 0 where the program tells none.
    pub line: u32,
    /// Name of the function that it is part of.
    pub function: String,
    /// What it took.
    pub count: Count,
}

impl LineRow {
    fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(&self.file)
    }

    /// Names the line, without its folder.
    pub fn place(&self) -> String {
        let name = self.file_name();
        if self.line == 0 { name.to_owned() } else { format!("{name}:{}", self.line) }
    }
}

/// Where the program's instructions came from, and the sums of it.
#[derive(Debug)]
pub struct Rows {
    /// By instruction's number: the innermost inlined function first.
    pub places: Vec<Vec<Place>>,
    /// By function, the longest first.
    pub functions: Vec<FunctionRow>,
    /// By line, the longest first.
    pub lines: Vec<LineRow>,
}

impl Rows {
    /// Reads the program's debug information and adds up.
    pub fn of(profile: &Profile<'_>) -> Self {
        Self::with(profile, &mut Sources::default())
    }

    /// Does the same with what was read before.
    pub fn with(profile: &Profile<'_>, sources: &mut Sources) -> Self {
        let addresses: Vec<u64> = profile.code.slots().iter().map(|slot| slot.pc).collect();
        let known = sources.places(profile, &addresses);
        let places: Vec<Vec<Place>> = addresses.iter().map(|pc| known[pc].clone()).collect();
        let mut functions: BTreeMap<String, Count> = BTreeMap::new();
        let mut lines: BTreeMap<(String, u32, String), Count> = BTreeMap::new();
        for (key, count) in profile.ledger.cells() {
            let place = places[key.slot as usize].first();
            let symbol = || profile.code.function(profile.code.slot(key.slot).function).to_owned();
            let function = place.and_then(|place| place.function.clone()).unwrap_or_else(symbol);
            let (file, line) = match place.and_then(|place| place.file.clone().zip(place.line)) {
                Some(known) => known,
                None => (function.clone(), 0),
            };
            functions.entry(function.clone()).or_default().add(count);
            lines.entry((file, line, function)).or_default().add(count);
        }
        let mut functions: Vec<FunctionRow> =
            functions.into_iter().map(|(name, count)| FunctionRow { name, count }).collect();
        functions.sort_by_key(|row| std::cmp::Reverse(row.count.busy()));
        let row = |((file, line, function), count)| LineRow { file, line, function, count };
        let mut lines: Vec<LineRow> = lines.into_iter().map(row).collect();
        // Which folder the SDK lies in changes no order.
        lines.sort_by(|a, b| {
            let by_count = b.count.busy().cmp(&a.count.busy());
            by_count.then_with(|| (a.file_name(), a.line).cmp(&(b.file_name(), b.line)))
        });
        Self { places, functions, lines }
    }
}
