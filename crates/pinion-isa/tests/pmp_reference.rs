//! Physical memory protection against a second model, written from the privileged specification (§3.7) byte by
//! byte and knowing nothing of ranges: every mode, locks, both register widths, as software writes entries.

use pinion_isa::{
    AccessKind, PMP_ENTRIES, PMP_EXECUTE, PMP_LOCK, PMP_MODE, PMP_NA4, PMP_NAPOT, PMP_READ,
    PMP_TOR, PMP_WRITE, Pmp, Privilege, Xlen,
};
use pinion_sim::random::SplitMix64;

/// Entries as the specification has them.
#[derive(Clone, Debug, Default)]
struct Reference {
    config: [u8; PMP_ENTRIES],
    address: [u64; PMP_ENTRIES],
}

impl Reference {
    fn is_locked(&self, entry: usize) -> bool {
        self.config[entry] & PMP_LOCK != 0
    }

    fn write_config(&mut self, entry: usize, config: u8) {
        if !self.is_locked(entry) {
            self.config[entry] = config;
        }
    }

    fn write_address(&mut self, entry: usize, address: u64) {
        let above = entry + 1;
        let is_bottom = above < PMP_ENTRIES
            && self.is_locked(above)
            && self.config[above] & PMP_MODE == PMP_TOR;
        if !self.is_locked(entry) && !is_bottom {
            self.address[entry] = address;
        }
    }

    /// Tells whether an entry matches a byte.
    fn matches(&self, entry: usize, byte: u64) -> bool {
        let (word, own) = (u128::from(byte >> 2), u128::from(self.address[entry]));
        match self.config[entry] & PMP_MODE {
            PMP_TOR => {
                let bottom = if entry == 0 { 0 } else { self.address[entry - 1] };
                u128::from(bottom) <= word && word < own
            }
            PMP_NA4 => word == own,
            PMP_NAPOT => {
                // The ones at the end, and the zero in front of them, are not compared.
                let ignored = own ^ (own + 1);
                word & !ignored == own & !ignored
            }
            _ => false,
        }
    }

    fn allows(&self, first: u64, bytes: u64, kind: AccessKind, privilege: Privilege) -> bool {
        let all = || (0..bytes).map(|at| first + at);
        let Some(entry) =
            (0..PMP_ENTRIES).find(|entry| all().any(|byte| self.matches(*entry, byte)))
        else {
            return privilege == Privilege::Machine;
        };
        if !all().all(|byte| self.matches(entry, byte)) {
            return false;
        }
        if privilege == Privilege::Machine && !self.is_locked(entry) {
            return true;
        }
        let wanted = match kind {
            AccessKind::Read => PMP_READ,
            AccessKind::Write => PMP_WRITE,
            AccessKind::Execute => PMP_EXECUTE,
        };
        self.config[entry] & wanted != 0
    }
}

fn pick<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[(random.draw() >> 11) as usize % from.len()]
}

/// An address register near others, with ones at its end as a power of two wants them.
fn address(random: &mut SplitMix64, bits: u32) -> u64 {
    let ones = pick(random, &[0, 0, 1, 2, 4, 9, 20, bits]);
    let base = pick(random, &[0, 0x400, 0x7ff, 0x800, 0x1000, 0x2000_0000, 0x3fff_ffff]);
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    ((base + (random.draw() >> 61)) | ((1u128 << ones) - 1) as u64) & mask
}

/// So many bits an address register has.
fn compare<X: Xlen>(random: &mut SplitMix64, address_bits: u32, last: u64) {
    let (mut ours, mut reference) = (Pmp::<X>::default(), Reference::default());
    let kinds = [AccessKind::Read, AccessKind::Write, AccessKind::Execute];
    for _ in 0..60 {
        let entry = (random.draw() >> 60) as usize % PMP_ENTRIES;
        if random.draw().is_multiple_of(2) {
            let address = address(random, address_bits);
            ours.write_address(entry, X::from_u64(address));
            reference.write_address(entry, address);
        } else {
            // Write without read is reserved.
            let rights = pick(random, &[0, 1, 3, 4, 5, 7]);
            let mode = pick(random, &[0, PMP_TOR, PMP_NA4, PMP_NAPOT]);
            let lock = pick(random, &[0, 0, 0, 0, 0, PMP_LOCK]);
            ours.write_config(entry, rights | mode | lock);
            reference.write_config(entry, rights | mode | lock);
        }
        for entry in 0..PMP_ENTRIES {
            assert_eq!(ours.config(entry), reference.config[entry], "{reference:x?}");
            assert_eq!(ours.address(entry).to_u64(), reference.address[entry], "{reference:x?}");
        }
        for _ in 0..20 {
            let near = reference.address[(random.draw() >> 60) as usize % PMP_ENTRIES] << 2;
            let first = near.wrapping_add(random.draw() >> 60).wrapping_sub(8) & last;
            let bytes = pick(random, &[1, 2, 4, 8]).min(last - first + 1);
            let kind = pick(random, &kinds);
            for privilege in [Privilege::User, Privilege::Machine] {
                let found = ours.check(X::from_u64(first), bytes as u32, kind, privilege);
                let wanted = reference.allows(first, bytes, kind, privilege);
                assert_eq!(
                    found, wanted,
                    "{kind:?} {privilege:?} {first:#x} {bytes} {reference:x?}"
                );
                let (from, to, allowed) = ours.window(X::from_u64(first), kind, privilege);
                let (from, to) = (from.to_u64(), to.to_u64());
                assert!(from <= first && first <= to);
                for byte in [from, first, to, first.saturating_add(random.draw() >> 56).min(to)] {
                    let wanted = reference.allows(byte, 1, kind, privilege);
                    assert_eq!(allowed, wanted, "{byte:#x} of {from:#x} to {to:#x} {reference:x?}");
                }
            }
        }
    }
}

#[test]
fn protection_is_the_specifications() {
    let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(0x5eed);
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-isa --test pmp_reference");
    let mut random = SplitMix64::new(seed);
    for _ in 0..200 {
        compare::<u32>(&mut random, 32, u64::from(u32::MAX));
        compare::<u64>(&mut random, 54, (1 << 56) - 1);
    }
}
