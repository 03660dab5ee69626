//! Translates controls of P4 programs to code that this computer executes itself.
//!
//! In: a [`Flat`] program. Out: the same, with code of its control and deparser; the interpreter of
//! `pinion-p4` stays what it is held against. The code computes, compares and jumps, on the program's registers
//! and on the bytes that it is given. Units that are asked in one of a few [`forms`] are called; for all else,
//! headers that are sent included, it is left, and goes on where it has left off.
//!
//! A program is translated when it has run often enough ([`Runs`]): making code of it costs as much as
//! thousands of packets do.

#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code;
pub mod forms;
#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod generate;
#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod reads;

use pinion_p4::flat::Flat;
use pinion_p4::lnic::unit::Unit;
pub use pinion_translate::Error;

/// Where no code can be made.
#[cfg(not(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod code {
    use super::{Error, Flat, Unit};

    pub const AVAILABLE: bool = false;

    pub fn translate(_: &Flat, _: &[Unit]) -> Result<(), Error> {
        Err(Error::Generate("Pinion makes code on x86-64 and AArch64, with its feature jit".into()))
    }
}

/// Whether code can be made here.
pub const AVAILABLE: bool = code::AVAILABLE;

/// Packets after which a program is translated: of those of a simulated NIC, with all that becomes of them, more than ten
/// times as much work as the translation of the longest program that Pinion comes with.
const RUNS: u32 = 16_384;

/// Lets a program's control be executed by code from now on; by site, this is the unit that it asks.
///
/// # Errors
/// When none can be made here.
pub fn translate(flat: &Flat, asked: &[Unit]) -> Result<(), Error> {
    if flat.has_code() {
        return Ok(());
    }
    code::translate(flat, asked)
}

/// Counts how often a program has run, until it is translated.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    left: u32,
}

impl Runs {
    /// Begins to count; a program that is to be interpreted is never translated.
    pub fn new(interpreted: bool) -> Self {
        Self { left: if interpreted || !AVAILABLE { 0 } else { RUNS } }
    }

    /// Counts a packet of a program, whose sites ask these units.
    #[inline]
    pub fn count(&mut self, flat: &Flat, asked: &[Unit]) {
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                // Where there is no executable memory it is interpreted on.
                let _ = translate(flat, asked);
            }
        }
    }
}
