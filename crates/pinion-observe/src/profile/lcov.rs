//! Coverage as lcov's tracefiles have it: which lines of the program were executed, and how often.
//!
//! A line's count is that of the instruction of it that was executed most often: a line may be compiled
//! to several pieces. (Format: geninfo(1) of lcov.)

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Profile;
use super::rows::Rows;
use crate::fault::program::{Code, Place, Program};
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
    pub fn to_lcov(&self, rows: &Rows) -> String {
        let files = self.coverage(rows);
        files.iter().map(|(file, lines)| lcov(&self.app, file, lines)).collect()
    }

    /// Counts how often each line of the application's own files was executed.
    pub fn coverage(&self, rows: &Rows) -> BTreeMap<String, Lines> {
        let mut times = vec![0u64; rows.places.len()];
        for (key, count) in self.ledger.cells() {
            times[key.slot as usize] += count.instructions;
        }
        let mut files: BTreeMap<String, Lines> = BTreeMap::new();
        let mut note = |places: &[Place], times: u64| {
            for place in places.iter().filter(|place| !place.is_of_sdk()) {
                let (Some(file), Some(line)) = (&place.file, place.line) else { continue };
                let all = files.entry(file.clone()).or_default().entry(line).or_default();
                *all = times.max(*all);
            }
        };
        for (places, times) in rows.places.iter().zip(times) {
            note(places, times);
        }
        // What never ran is in the program too.
        let bytes = std::fs::read(&self.elf).unwrap_or_default();
        let image = self.code.image();
        let program = Program::new(image, bytes, Code::RiscV(self.code.extensions()));
        let debug = program.debug();
        for segment in image.segments.iter().filter(|segment| segment.flags.execute) {
            let mut pc = segment.address;
            while pc < segment.address + segment.data.len() as u64 {
                note(&debug.places(pc), 0);
                pc += self.code.instruction(pc).map_or(2, |found| u64::from(found.length.max(2)));
            }
        }
        files
    }
}
