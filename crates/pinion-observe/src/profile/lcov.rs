//! Coverage as lcov's tracefiles have it: which lines of the program were executed, and how often.
//!
//! A line's count is that of its own instruction that was executed most often: a line may be compiled to
//! several pieces. A line of which only what was inlined there was executed has the count of the first
//! instruction of that: the rest of it may be a loop. (Format: geninfo(1) of lcov.)

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Profile, Sources};
use crate::fault::program::Place;
use crate::words::written;

/// Lines of a file, and how often each was executed.
type Lines = BTreeMap<u32, u64>;

/// Writes a file's record.
pub fn lcov(name: &str, file: &str, lines: &Lines) -> String {
    written(|text| {
        writeln!(text, "TN:{name}\nSF:{file}")?;
        for (line, times) in lines {
            writeln!(text, "DA:{line},{times}")?;
        }
        let hit = lines.values().filter(|times| **times > 0).count();
        writeln!(text, "LF:{}\nLH:{hit}\nend_of_record", lines.len())
    })
}

impl Profile<'_> {
    /// Writes which lines were executed: those of the application's own files.
    pub fn to_lcov(&self) -> String {
        let files = self.coverage();
        files.iter().map(|(file, lines)| lcov(&self.app, file, lines)).collect()
    }

    /// Counts how often each line of the application's own files was executed.
    pub fn coverage(&self) -> BTreeMap<String, Lines> {
        self.coverage_with(&mut Sources::default())
    }

    /// Does the same with what was read before.
    pub fn coverage_with(&self, sources: &mut Sources) -> BTreeMap<String, Lines> {
        let mut times: BTreeMap<u64, u64> = BTreeMap::new();
        for (key, count) in self.ledger.cells() {
            *times.entry(self.code.slot(key.slot).pc).or_default() +=
                count.instructions + count.traps;
        }
        // What never ran is in the program too.
        let (image, extensions) = (self.code.image(), self.code.extensions());
        for (pc, _) in image.instructions(extensions) {
            times.entry(pc).or_default();
        }
        let addresses: Vec<u64> = times.keys().copied().collect();
        let places = sources.places(self, &addresses);
        counted(times.iter().map(|(pc, times)| (&places[pc][..], *times)))
    }
}

/// Counts the application's own lines, of instructions by address: where each was written, the innermost
/// inlined function first, and how often it was executed.
fn counted<'p>(instructions: impl Iterator<Item = (&'p [Place], u64)>) -> BTreeMap<String, Lines> {
    /// What own instructions of a line count, and those that were inlined there.
    type Counts = (u64, u64);
    let mut files: BTreeMap<String, BTreeMap<u32, Counts>> = BTreeMap::new();
    for (places, times) in instructions {
        for (depth, place) in places.iter().enumerate().filter(|(_, place)| !place.is_of_sdk()) {
            let (Some(file), Some(line)) = (&place.file, place.line) else { continue };
            let (own, inlined) = files.entry(file.clone()).or_default().entry(line).or_default();
            match depth {
                0 => *own = times.max(*own),
                // What lies in front of it may be a rare piece that was never executed.
                _ if *inlined == 0 => *inlined = times,
                _ => {}
            }
        }
    }
    let lines = |counts: BTreeMap<u32, Counts>| {
        let lines = counts.into_iter();
        lines.map(|(line, (own, inlined))| (line, if own > 0 { own } else { inlined })).collect()
    };
    files.into_iter().map(|(file, counts)| (file, lines(counts))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_count_of_its_own_instructions_or_else_of_the_first_inlined_one() {
        let place = |line| Place { function: None, file: Some("a.c".into()), line: Some(line) };
        let chains = [
            (vec![place(1)], 5),
            (vec![place(20), place(2)], 0), // a rare piece of it
            (vec![place(20), place(2)], 7),
            (vec![place(21), place(2)], 700), // the loop
            (vec![place(22), place(1)], 500),
            (vec![place(1)], 6),
            (vec![place(23), place(3)], 0),
            (vec![place(4)], 0),
            (vec![place(24), place(4)], 9),
        ];
        let files = counted(chains.iter().map(|(places, times)| (&places[..], *times)));
        let wanted =
            [(1, 6), (2, 7), (3, 0), (20, 7), (21, 700), (22, 500), (23, 0), (4, 9), (24, 9)];
        assert_eq!(files["a.c"], Lines::from(wanted));
    }
}
