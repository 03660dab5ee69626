//! Memory protection of both widths against the specification in Sail: every mode, locks, accesses of every size
//! around the ends of entries. RV32's entries are asked of RV64's specification: they have the same meaning, in
//! shorter address registers.

use pinion_isa::{AccessKind, PMP_ENTRIES, Pmp, Privilege, Xlen};
use pinion_sim::random::SplitMix64;
use softcore_rv64::prelude::bv;
use softcore_rv64::{Core, new_core, raw};

use crate::cases::{below, pick};
use crate::sail::CONFIG;

/// Writes and looks of one set of entries.
const WRITES: u64 = 60;
const LOOKS: u64 = 20;

/// An address register near others, with ones at its end as a power of two wants them.
fn address(random: &mut SplitMix64, bits: u32) -> u64 {
    let ones = pick(random, &[0, 0, 1, 2, 4, 9, 20, bits]);
    let base = pick(random, &[0, 0x400, 0x7ff, 0x800, 0x1000, 0x2000_0000, 0x3fff_ffff]);
    ((base + below(random, 8)) | ((1_u128 << ones) - 1) as u64) & ((1 << bits) - 1)
}

/// Writes one entry's configuration, as software does: with what the others of its register hold.
fn write_config(core: &mut Core, entry: usize, config: u8) {
    let first = entry / 8 * 8;
    let mut bytes: [u8; 8] = std::array::from_fn(|at| core.pmpcfg_n[first + at].bits.bits() as u8);
    bytes[entry - first] = config;
    core.set_pmpcfg(first / 4, u64::from_le_bytes(bytes));
}

pub fn compare<X: Xlen>(seed: u64, instructions: u64) -> Result<String, String> {
    let (bits, last) = if X::BITS == 32 { (32, u64::from(u32::MAX)) } else { (54, (1 << 56) - 1) };
    let mut random = SplitMix64::new(seed);
    let (mut looked, mut refused) = (0_u64, 0_u64);
    // A look at protection is what every access and fetch does.
    while looked < instructions / 10 {
        let (mut ours, mut theirs) = (Pmp::<X>::default(), new_core(CONFIG));
        theirs.reset();
        for _ in 0..WRITES {
            let entry = below(&mut random, PMP_ENTRIES as u64) as usize;
            if below(&mut random, 2) == 0 {
                let address = address(&mut random, bits);
                ours.write_address(entry, X::from_u64(address));
                theirs.set_pmpaddr(entry, address);
            } else {
                let config = pick(&mut random, &[0, 1, 3, 4, 5, 7])
                    | pick(&mut random, &[0, 1, 2, 3]) << 3
                    | pick(&mut random, &[0, 0, 0, 0, 0, 1]) << 7;
                ours.write_config(entry, config);
                write_config(&mut theirs, entry, config);
            }
            for entry in 0..PMP_ENTRIES {
                let us = (ours.config(entry), ours.address(entry).to_u64());
                let them = (theirs.pmpcfg_n[entry].bits.bits() as u8, theirs.get_pmpaddr(entry));
                if us != them {
                    return Err(format!("entry {entry} is {us:x?}, in Sail {them:x?}"));
                }
            }
            for _ in 0..LOOKS {
                let near = theirs.get_pmpaddr(below(&mut random, PMP_ENTRIES as u64) as usize) << 2;
                let first = near.wrapping_add(below(&mut random, 16)).wrapping_sub(8) & last;
                let bytes = pick(&mut random, &[1, 2, 4, 8]).min(last - first + 1);
                let (kind, access) = match below(&mut random, 3) {
                    0 => (AccessKind::Read, raw::AccessType::Read(())),
                    1 => (AccessKind::Write, raw::AccessType::Write(())),
                    _ => (AccessKind::Execute, raw::AccessType::InstructionFetch(())),
                };
                for (own, name) in [
                    (Privilege::User, raw::Privilege::User),
                    (Privilege::Machine, raw::Privilege::Machine),
                ] {
                    let us = ours.check(X::from_u64(first), bytes as u32, kind, own);
                    let place = raw::physaddr::Physaddr(bv(first));
                    let fault = raw::pmpCheck(&mut theirs, place, i128::from(bytes), access, name);
                    looked += 1;
                    refused += u64::from(!us);
                    if us != fault.is_none() {
                        let entries: Vec<(u8, u64)> = (0..PMP_ENTRIES)
                            .map(|entry| (ours.config(entry), ours.address(entry).to_u64()))
                            .collect();
                        return Err(format!(
                            "{kind:?} of {bytes} bytes at {first:#x} in {own:?}: we {us}, Sail {fault:?}; {entries:x?}"
                        ));
                    }
                }
            }
        }
    }
    Ok(format!("{looked} accesses, {refused} of them refused, the same"))
}
