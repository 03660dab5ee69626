//! Finds sections that are not loaded, as those with debug information, in a file's bytes.

use object::LittleEndian;
use object::elf::{FileHeader32, FileHeader64, SHF_COMPRESSED};
use object::read::elf::{FileHeader, SectionHeader};

const LE: LittleEndian = LittleEndian;

/// Gives the bytes of a section of a little-endian ELF file; `None` if there is no such section,
/// it is compressed, or the file is damaged.
pub fn section_data<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    match bytes.get(4)? {
        1 => find::<FileHeader32<LittleEndian>>(bytes, name),
        2 => find::<FileHeader64<LittleEndian>>(bytes, name),
        _ => None,
    }
}

fn find<'a, E>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]>
where
    E: FileHeader<Endian = LittleEndian>,
{
    let sections = E::parse(bytes).ok()?.sections(LE, bytes).ok()?;
    let (_, section) = sections.section_by_name(LE, name.as_bytes())?;
    let is_compressed = section.sh_flags(LE).contains(SHF_COMPRESSED);
    if is_compressed { None } else { section.data(LE, bytes).ok() }
}
