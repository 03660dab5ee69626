//! The program that the NIC runs. The published model reads memory images that were made from an
//! ELF (`slm_files_path`), and drivers name that ELF to look up handlers; either will do here.

use pinion_isa::elf::Image;
use pinion_spin::Machine;

use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::slm;

/// Loads the program: `PINION_ELF` first, then memory images, then the ELF a driver named.
pub fn load(settings: &Settings, named: Option<&Image>) -> Result<Image> {
    let chosen = match (&settings.elf, &settings.images) {
        (Some(elf), _) => Image::read(elf)?,
        (None, Some(images)) => slm::read(images, &settings.machine)?,
        (None, None) => return named.cloned().ok_or(Error::NoProgram),
    };
    if let Some(named) = named {
        same(&chosen, named)?;
    }
    Ok(chosen)
}

/// Checks that what is executable in two programs is the same: else handlers would be looked up in
/// one and run in the other.
pub fn same(first: &Image, second: &Image) -> Result<()> {
    let executable = second.segments.iter().filter(|segment| segment.flags.execute);
    for segment in executable {
        if segment.data.is_empty() {
            continue;
        }
        let found = bytes_at(first, segment.load_address, segment.data.len());
        if found.as_deref() != Some(&segment.data[..]) {
            let (first, second) = (first.name.clone(), second.name.clone());
            return Err(Error::TwoPrograms { first, second });
        }
    }
    Ok(())
}

/// Collects what a program loads to a range; bytes it leaves out are zero.
fn bytes_at(image: &Image, address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut found = vec![0; bytes];
    let mut any = false;
    for segment in &image.segments {
        let begin = segment.load_address.max(address);
        let end = (segment.load_address + segment.data.len() as u64).min(address + bytes as u64);
        if begin < end {
            let from = (begin - segment.load_address) as usize;
            let length = (end - begin) as usize;
            let to = (begin - address) as usize;
            found[to..to + length].copy_from_slice(&segment.data[from..from + length]);
            any = true;
        }
    }
    any.then_some(found)
}

/// Bytes of a handler's code that the hardware's protection covers, which is the size that the
/// published `spin_find_handler_by_name` gives.
pub const HANDLER_BYTES: u32 = 4096;

/// Bounds a handler's bytes by the end of program memory, as far as the machine goes.
pub fn handler_bytes(machine: &Machine, address: u32, bytes: u32) -> u32 {
    let end = machine.program.base.saturating_add(machine.program.bytes);
    bytes.min(end.saturating_sub(address))
}
