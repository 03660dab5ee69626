//! Coverage as lcov's tracefiles have it: which lines of the program were executed, and how often.
//!
//! A line's count is that of the instruction of it that was executed most often: a line may be compiled
//! to several pieces. (Format: geninfo(1) of lcov.)

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Profile, Sources};
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
            *times.entry(self.code.slot(key.slot).pc).or_default() += count.instructions;
        }
        // What never ran is in the program too.
        let (image, extensions) = (self.code.image(), self.code.extensions());
        for (pc, _) in image.instructions(extensions) {
            times.entry(pc).or_default();
        }
        let addresses: Vec<u64> = times.keys().copied().collect();
        let places = sources.places(self, &addresses);
        let mut files: BTreeMap<String, Lines> = BTreeMap::new();
        for (pc, times) in times {
            for place in places[&pc].iter().filter(|place| !place.is_of_sdk()) {
                let (Some(file), Some(line)) = (&place.file, place.line) else { continue };
                let all = files.entry(file.clone()).or_default().entry(line).or_default();
                *all = times.max(*all);
            }
        }
        files
    }
}
