//! Compressed instructions (riscv-tests: uc): every one of the 49,152 halves but jumps to themselves, with every register a place in the
//! scratch memory or a number at which nothing lies. Where one goes to is what its `mepc` says.

use super::{Case, Suite, driver};
use crate::generate::Kind;

/// `uc`, a group for each quadrant and funct3.
pub fn all(wide: bool) -> Suite {
    let mut suite = Suite::new("uc", wide, Kind::Integer);
    for quadrant in 0..3u32 {
        for funct3 in 0..8u32 {
            let halves = (0..1 << 11).map(|rest| funct3 << 13 | rest << 2 | quadrant);
            let halves = halves.filter(|half| !stays(*half, wide));
            let cases = halves.map(|half| {
                let mut case = Case::new(driver::EBREAKS & !0xffff | half, 0, 0);
                // Bases for loads and stores; there is nothing at the last one.
                let place = u64::from(driver::SCRATCH);
                case.x = [place + 256, place + 16, 0, 0x1_9000_0000];
                case
            });
            suite.add(&format!("quadrant-{quadrant}-{funct3}"), cases);
        }
    }
    // Between two words, and 32-bit instructions that lie across them.
    let across = [0x0015_0693, 0xfff5_0693, 0x00b5_06b3, 0x0085_2683];
    suite.add(
        "across",
        across.map(|word| Case { place: 2, ..Case::new(word, u64::from(driver::SCRATCH), 5) }),
    );
    suite
}

/// Whether a jump or branch may go to itself, for ever.
fn stays(half: u32, wide: bool) -> bool {
    match half & 0xe003 {
        0xa001 => half & 0x1ffc == 0,          // c.j
        0x2001 => !wide && half & 0x1ffc == 0, // c.jal
        0xc001 | 0xe001 => half & 0x1c7c == 0, // c.beqz, c.bnez
        _ => false,
    }
}
