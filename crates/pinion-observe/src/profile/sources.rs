//! Where instructions were written, and the text of that. In: programs with their debug information, files of source.
//! Out: places and texts, each read once, for who asks again and again.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustc_hash::FxHashMap as HashMap;

use super::Profile;
use crate::fault::program::{Code, Place, Program};

/// Programs that are kept; then all are forgotten.
const MOST_PROGRAMS: usize = 32;
/// Bytes of a file of source at most.
const MOST_BYTES: u64 = 1 << 22;
/// `O_NONBLOCK` of Linux: whoever made the debug information may have named something that one waits at.
const WITHOUT_WAITING: i32 = 0o4000;

/// What was read of programs and of their source.
#[derive(Debug, Default)]
pub struct Sources {
    /// By program and address: the innermost inlined function first.
    places: BTreeMap<PathBuf, HashMap<u64, Vec<Place>>>,
    /// By the file's name.
    texts: BTreeMap<String, Option<String>>,
}

impl Sources {
    /// Tells where the instructions at these addresses of a profile's program were written; the program is read
    /// if one is new.
    pub fn places(
        &mut self,
        profile: &Profile<'_>,
        addresses: &[u64],
    ) -> &HashMap<u64, Vec<Place>> {
        if self.places.len() > MOST_PROGRAMS {
            (self.places, self.texts) = (BTreeMap::new(), BTreeMap::new());
        }
        let known = self.places.entry(profile.elf.clone()).or_default();
        if addresses.iter().any(|pc| !known.contains_key(pc)) {
            let code = Code::RiscV(profile.code.extensions());
            let program = Program::new(profile.code.image(), profile.bytes(), code);
            let debug = program.debug();
            for pc in addresses {
                known.entry(*pc).or_insert_with(|| debug.places(*pc));
            }
        }
        known
    }

    /// Gives a file of source; `None`: there is none that could be shown.
    pub fn text(&mut self, file: &str) -> Option<&str> {
        let text = self.texts.entry(file.to_owned()).or_insert_with(|| read(file));
        text.as_deref()
    }
}

fn read(file: &str) -> Option<String> {
    let file = OpenOptions::new().read(true).custom_flags(WITHOUT_WAITING).open(file).ok()?;
    let is_shown = file.metadata().is_ok_and(|what| what.is_file() && what.len() <= MOST_BYTES);
    let mut text = String::new();
    let read = file.take(if is_shown { MOST_BYTES } else { 0 }).read_to_string(&mut text);
    read.ok().filter(|_| is_shown).map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_source_is_not_read() {
        let mut sources = Sources::default();
        for file in ["/dev/zero", "/", "/nothing/at/all", "/proc/self/mem"] {
            assert!(sources.text(file).is_none(), "{file}");
        }
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/profile/sources.rs");
        assert!(sources.text(own).is_some_and(|text| text.starts_with("//! Where")));
    }
}
