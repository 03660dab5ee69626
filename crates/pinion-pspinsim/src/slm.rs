//! Memory images (`.slm`), as the published tools make them from an ELF: a line `@WORD DATA` per
//! word, word number and content in hexadecimal, the content's highest byte first. A folder of
//! files, one per memory or bank, comes in; a program to load goes out.

use std::collections::BTreeMap;
use std::path::Path;

use pinion_isa::elf::{Image, Segment, SegmentFlags};
use pinion_spin::Machine;

use crate::error::{Error, Result};

/// Holds program memory; the one file that a folder of images must have.
pub const PROGRAM_FILE: &str = "prog_mem_stim.slm";
/// Banks that the published tools cut L1 into.
const L1_BANKS: u32 = 64;
/// Bytes of a word of an L1 bank.
const L1_WORD_BYTES: u32 = 4;

/// Reads a folder of images.
pub fn read(folder: &Path, machine: &Machine) -> Result<Image> {
    let mut bytes = BTreeMap::new();
    for (file, base) in [
        (PROGRAM_FILE, machine.program.base),
        ("l2_hnd_stim.slm", machine.l2_handler.base),
        ("l2_pkt_stim.slm", machine.l2_packet.base),
    ] {
        for (word, data) in words(&folder.join(file))? {
            let address = u64::from(base) + word * data.len() as u64;
            bytes.extend((address..).zip(data));
        }
    }
    for bank in 0..L1_BANKS {
        for (word, data) in words(&folder.join(format!("tcdm_bank{bank}.slm")))? {
            let offset = (word * u64::from(L1_BANKS) + u64::from(bank)) * u64::from(L1_WORD_BYTES);
            for cluster in 0..machine.cluster.count {
                let base = machine.l1.base + cluster * machine.l1.stride;
                bytes.extend((u64::from(base) + offset..).zip(data.iter().copied()));
            }
        }
    }
    let code = u64::from(machine.program.base)
        ..u64::from(machine.program.base) + u64::from(machine.program.bytes);
    let segments = segments(bytes).map(|(address, data)| Segment {
        address,
        load_address: address,
        memory_bytes: data.len() as u64,
        data,
        flags: SegmentFlags { read: true, write: true, execute: code.contains(&address) },
    });
    Ok(Image {
        name: folder.display().to_string(),
        entry: u64::from(machine.reset_address()),
        flags: 0,
        segments: segments.collect(),
        symbols: Vec::new(),
        sections: Vec::new(),
    })
}

/// Reads the words of a file, each with its bytes from the lowest on; a missing file has none.
fn words(path: &Path) -> Result<Vec<(u64, Vec<u8>)>> {
    let text = match pinion_input::text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::File { path: path.to_owned(), source }),
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            word(line.trim()).ok_or_else(|| Error::Line {
                path: path.to_owned(),
                line: index + 1,
                problem: format!("`{line}` is not `@WORD DATA` in hexadecimal"),
            })
        })
        .collect()
}

fn word(line: &str) -> Option<(u64, Vec<u8>)> {
    let (number, data) = line.strip_prefix('@')?.split_once(char::is_whitespace)?;
    let data = data.trim();
    if data.is_empty() || data.len() % 2 != 0 || !data.is_ascii() || data.len() > 128 {
        return None;
    }
    let number = u64::from_str_radix(number, 16).ok().filter(|number| *number < 1 << 32)?;
    let byte = |at: usize| u8::from_str_radix(data.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..data.len()).step_by(2).rev().map(byte).collect();
    Some((number, bytes?))
}

/// Joins bytes that follow each other.
fn segments(bytes: BTreeMap<u64, u8>) -> impl Iterator<Item = (u64, Vec<u8>)> {
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    for (address, byte) in bytes {
        match found.last_mut() {
            Some((start, data)) if *start + data.len() as u64 == address => data.push(byte),
            _ => found.push((address, vec![byte])),
        }
    }
    found.into_iter()
}

/// Says whether a folder holds memory images.
pub fn has_images(folder: &Path) -> bool {
    folder.join(PROGRAM_FILE).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_its_lowest_byte_last() {
        assert_eq!(word("@00000010 0102030405060708"), Some((16, vec![8, 7, 6, 5, 4, 3, 2, 1])));
        for wrong in ["00000010 01", "@10", "@xyz 01", "@10 0", "@10 0g", "@10 \u{e9}\u{e9}"] {
            assert_eq!(word(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn neighbours_become_one_segment() {
        let bytes = BTreeMap::from([(4, 1), (5, 2), (9, 3)]);
        let joined: Vec<_> = segments(bytes).collect();
        assert_eq!(joined, [(4, vec![1, 2]), (9, vec![3])]);
    }
}
