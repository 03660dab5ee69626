//! From addresses to lines of source: a program's debug information (DWARF) comes in, `reduce.c:31`
//! goes out. A program without debug information has no lines.

use std::path::Path;

use addr2line::gimli::{Dwarf, EndianSlice, Error, LittleEndian, SectionId};
use pinion_isa::elf::section_data;

/// Finds lines of source.
#[derive(Debug, Default)]
pub struct SourceLines {
    /// By ascending address.
    rows: Vec<Row>,
}

/// Holds what was compiled from one line, where code was inlined from the innermost.
#[derive(Debug)]
struct Row {
    address: u64,
    bytes: u64,
    /// File and line.
    place: String,
}

impl SourceLines {
    /// Reads a program's debug information, if it has any that can be read.
    pub fn read(elf: &Path) -> Self {
        Self::of(&pinion_input::bytes(elf).unwrap_or_default())
    }

    /// Does the same with the bytes of an ELF file.
    pub fn of(bytes: &[u8]) -> Self {
        let mut rows = rows(bytes).unwrap_or_default();
        rows.sort_by_key(|row| row.address);
        Self { rows }
    }

    /// Finds the file and line that an address was compiled from.
    pub fn at(&self, address: u64) -> Option<&str> {
        let after = self.rows.partition_point(|row| row.address <= address);
        let row = &self.rows[..after].last()?;
        (address - row.address < row.bytes).then_some(row.place.as_str())
    }
}

fn rows(bytes: &[u8]) -> Result<Vec<Row>, Error> {
    let section = |id: SectionId| -> Result<EndianSlice<'_, LittleEndian>, Error> {
        Ok(EndianSlice::new(section_data(bytes, id.name()).unwrap_or(&[]), LittleEndian))
    };
    let context = addr2line::Context::from_dwarf(Dwarf::load(section)?)?;
    let rows =
        context.find_location_range(0, u64::MAX)?.filter_map(|(address, bytes, location)| {
            let file = location.file.and_then(|file| file.rsplit('/').next())?;
            let place = format!("{file}:{}", location.line?);
            Some(Row { address, bytes, place })
        });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_has_no_lines() {
        let elf = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/calibration/pspin/elf/words.elf");
        let whole = std::fs::read(&elf).unwrap();
        for bytes in
            [&whole[..], &whole[..whole.len() / 2], b"", b"\x7fELF\x01\x01", b"\x7fELF\x02"]
        {
            assert_eq!(SourceLines::of(bytes).at(0x1d00_0300), None);
        }
        assert_eq!(SourceLines::read(Path::new("/nonexistent")).at(0), None);
    }
}
