//! The line table: which addresses a line of source was compiled to, and which line an address is of.

use std::collections::BTreeMap;
use std::path::Path;

use gimli::{Dwarf, LineRow, Unit};

use super::Slice;

/// A stretch of code of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its first address.
    pub address: u64,
    /// The address behind it.
    pub end: u64,
    /// Number of its file.
    pub file: u32,
    /// Its line; 0: of none.
    pub line: u32,
    /// Whether it begins a statement.
    pub is_statement: bool,
}

/// A program's lines.
#[derive(Debug, Default)]
pub struct Lines {
    /// By address, none over another.
    rows: Vec<Row>,
    /// Where statements begin: address, file and line, by address. Several may begin at one.
    statements: Vec<(u64, u32, u32)>,
    files: Vec<String>,
}

impl Lines {
    /// Reads the line tables of all units; what the linker threw away is left out.
    pub fn read(
        dwarf: &Dwarf<Slice<'_>>,
        units: &[Unit<Slice<'_>>],
        has_code: impl Fn(u64) -> bool,
    ) -> Self {
        let mut lines = Self::default();
        let mut numbers = BTreeMap::new();
        for unit in units {
            // A table that is damaged ends where it is.
            let _ = lines.read_unit(dwarf, unit, &mut numbers, &has_code);
        }
        lines.rows.sort_by_key(|row| (row.address, row.end));
        lines.rows.dedup_by_key(|row| row.address);
        lines.statements.sort_unstable();
        lines.statements.dedup();
        lines
    }

    fn read_unit(
        &mut self,
        dwarf: &Dwarf<Slice<'_>>,
        unit: &Unit<Slice<'_>>,
        numbers: &mut BTreeMap<String, u32>,
        has_code: &impl Fn(u64) -> bool,
    ) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut rows = program.rows();
        let mut open: Option<Row> = None;
        while let Some((header, row)) = rows.next_row()? {
            let address = row.address();
            let mut begun = None;
            if let Some(whole) = open.take() {
                if address == whole.address {
                    begun = Some(whole);
                } else if address > whole.address && has_code(whole.address) {
                    self.rows.push(Row { end: address, ..whole });
                }
            }
            if row.end_sequence() {
                continue;
            }
            let name = file_name(dwarf, unit, header, row).unwrap_or_default();
            let count = numbers.len() as u32;
            let file = *numbers.entry(name).or_insert_with_key(|name| {
                self.files.push(name.clone());
                count
            });
            let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
            let is_statement = row.is_stmt();
            if is_statement && line > 0 && has_code(address) {
                self.statements.push((address, file, line));
            }
            // What begins no statement takes no address away from one that does.
            open = match begun.filter(|begun| begun.is_statement && !is_statement) {
                Some(begun) => Some(begun),
                None => Some(Row { address, end: address, file, line, is_statement }),
            };
        }
        Ok(())
    }

    /// Names a file, with its folder.
    pub fn file(&self, number: u32) -> &str {
        self.files.get(number as usize).map_or("", String::as_str)
    }

    /// Finds the stretch that an address lies in.
    pub fn row(&self, address: u64) -> Option<&Row> {
        let behind = self.rows.partition_point(|row| row.address <= address);
        self.rows[..behind].last().filter(|row| address < row.end && row.line > 0)
    }

    /// Finds the file of a path as an editor writes it; where it lies elsewhere now, by its name if only
    /// one is called so.
    fn find_file(&self, path: &str) -> Vec<u32> {
        let named = |matches: &dyn Fn(&str) -> bool| -> Vec<u32> {
            let files = (0..).zip(&self.files);
            files.filter(|(_, file)| matches(file)).map(|(number, _)| number).collect()
        };
        let canonical = |path: &str| Path::new(path).canonicalize().ok();
        let exact = named(&|file| file == path);
        if !exact.is_empty() {
            return exact;
        }
        if let Some(place) = canonical(path) {
            let same = named(&|file| canonical(file).as_ref() == Some(&place));
            if !same.is_empty() {
                return same;
            }
        }
        let name = Path::new(path).file_name();
        named(&|file| Path::new(file).file_name() == name)
    }

    /// Gives the line that a breakpoint at a line stops at, the next one with code, and where its
    /// statements begin.
    pub fn statements(&self, path: &str, line: u32) -> Option<(u32, Vec<u64>)> {
        let files = self.find_file(path);
        let meant = || self.statements.iter().filter(|(_, file, _)| files.contains(file));
        let line = meant().map(|(.., found)| *found).filter(|found| *found >= line).min()?;
        let statements = meant().filter(|(.., found)| *found == line);
        let mut addresses: Vec<u64> = statements.map(|(address, ..)| *address).collect();
        addresses.dedup();
        Some((line, addresses))
    }

    /// Gives where the second line of a function begins: behind what prepares its frame. Without
    /// lines it is the function's own address.
    pub fn behind_prologue(&self, address: u64, end: u64) -> u64 {
        let Some(first) = self.row(address) else { return address };
        let inside = self.rows.iter().filter(|row| (address + 1..end).contains(&row.address));
        let mut others = inside.filter(|row| row.is_statement && row.line != first.line);
        others.next().filter(|row| row.line > 0).map_or(address, |row| row.address)
    }
}

/// Names a row's file as the compiler was told it, with the folder that it was told in.
fn file_name(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    header: &gimli::LineProgramHeader<Slice<'_>>,
    row: &LineRow,
) -> Option<String> {
    let file = row.file(header)?;
    let text = |value| Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned());
    let mut path = unit.comp_dir.map_or(String::new(), |folder| folder.to_string_lossy().into());
    let mut add = |part: String| match part.starts_with('/') {
        true => path = part,
        false if path.is_empty() => path = part,
        false => path = format!("{path}/{part}"),
    };
    if let Some(folder) = file.directory(header).and_then(text) {
        add(folder);
    }
    add(text(file.path_name())?);
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Lines {
        let row =
            |address, end, file, line, is_statement| Row { address, end, file, line, is_statement };
        let rows = vec![
            row(0x10, 0x14, 0, 5, true),
            row(0x14, 0x18, 0, 7, false),
            row(0x18, 0x20, 0, 7, true),
            row(0x20, 0x24, 1, 7, true),
            row(0x30, 0x34, 0, 0, true),
        ];
        let begun = rows.iter().filter(|row: &&Row| row.is_statement && row.line > 0);
        let mut statements: Vec<_> = begun.map(|row| (row.address, row.file, row.line)).collect();
        // Two lines begin at one address.
        statements.push((0x18, 0, 6));
        Lines { rows, statements, files: vec!["/a/one.c".into(), "/a/two.c".into()] }
    }

    #[test]
    fn breakpoints_go_to_the_next_line_with_code() {
        let lines = lines();
        assert_eq!(lines.statements("/a/one.c", 5), Some((5, vec![0x10])));
        assert_eq!(lines.statements("/elsewhere/one.c", 6), Some((6, vec![0x18])));
        assert_eq!(lines.statements("/a/one.c", 7), Some((7, vec![0x18])));
        assert_eq!(lines.statements("/a/two.c", 1), Some((7, vec![0x20])));
        assert_eq!(lines.statements("/a/one.c", 8), None);
        assert_eq!(lines.statements("/a/three.c", 1), None);
    }

    #[test]
    fn addresses_know_their_line() {
        let lines = lines();
        assert_eq!(lines.row(0x17).map(|row| row.line), Some(7));
        assert_eq!(lines.row(0x28), None, "no code lies there");
        assert_eq!(lines.row(0x31), None, "it is of no line");
        assert_eq!(lines.behind_prologue(0x10, 0x24), 0x18);
        assert_eq!(lines.behind_prologue(0x28, 0x30), 0x28);
    }
}
