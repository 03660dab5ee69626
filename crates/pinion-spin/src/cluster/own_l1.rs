//! What an access of a core to its own L1 does, and what it costs.
//!
//! In: a core whose next instruction is that access, in its turn, when the bank is free. Out: what it
//! leaves behind for the instruction after it. Accesses to one word are most of what handlers do, and
//! touch L1 at once; what is seldom seen (misaligned, by the alias, in a region not used last) goes
//! through the hart.

use pinion_cores::pulp::NO_REGISTER;
use pinion_cores::pulp::code::{Code, Kind, MicroOp};
use pinion_cores::pulp::lean::Start;
use pinion_cores::pulp::run_ahead::Stop;
use pinion_isa::{Access, Cause, Class, Exception, MemoryKind, Outcome, Privilege};

use super::hpu::Core;
use super::hpu::permissions::Right;
use super::hpu::trace::found_at;
use super::tcdm_interconnect::{L1Banks, MOST_BANKS};
use crate::memory::{read_value, write_value};

/// Bytes of a word.
const WORD_BYTES: usize = 4;

/// A cluster's L1 with what serves it.
pub struct OwnL1<'a> {
    /// Its bytes.
    pub bytes: &'a mut [u8],
    /// Its banks.
    pub banks: &'a mut L1Banks,
    /// Its address.
    pub base: u32,
    /// The address by which every core finds its own.
    pub alias: u32,
}

impl OwnL1<'_> {
    /// Executes a core's access to `address` at `now`, when its bank is free and serves it; gives the cycle of the
    /// instruction after it, and what the core goes on with, or why it cannot. `place` is that of the
    /// instruction in the program, whose micro-operations are `micro`, and `bank` numbers its bank; `held` says that it
    /// has waited, `second` that it is the second word's bank, and the first was served before.
    pub fn access<const XPULP: bool>(
        &mut self,
        core: &mut Core,
        (code, micro): (&Code, &[MicroOp]),
        now: u64,
        (address, place, bank): (u32, u32, usize),
        (start, held, second): (&mut Start, bool, bool),
    ) -> Result<u64, Stop> {
        let (bytes, base) = (&mut *self.bytes, self.base);
        let found = micro.get(place as usize);
        let found = found.and_then(|one| Some((one, bytes_of(bytes, base, core, one, address)?)));
        let Some((one, word)) = found else {
            let next = self.step_any::<XPULP>(core, code, now, second)?;
            *start = Start::of(&mut core.model, code);
            start.waited |= held;
            return Ok(next);
        };
        perform(core, one, word);
        *start = Start::behind(one, place, 0);
        start.waited = held;
        if XPULP && core.model.loops_back(code, start.place) {
            start.place = code.place(core.model.hart.pc);
        }
        let bank = &mut self.banks.banks[bank % MOST_BANKS];
        self.banks.rules.serve(bank, now, address, one.flags.is_atomic());
        core.model.executed(one, now + 1);
        Ok(now + 1)
    }

    /// Gives what an access of a core finds, for a trace.
    #[cold]
    pub fn found(&self, address: u32) -> u64 {
        let offset = address.wrapping_sub(self.base);
        let is_there = (offset as usize) < self.bytes.len();
        found_at(self.bytes, if is_there { offset } else { address.wrapping_sub(self.alias) })
    }

    /// Executes any access; gives the cycle of the instruction after it.
    #[inline(never)]
    fn step_any<const XPULP: bool>(
        &mut self,
        core: &mut Core,
        code: &Code,
        now: u64,
        second: bool,
    ) -> Result<u64, Stop> {
        let Some(instruction) = code.get(core.model.hart.pc) else { return Err(Stop::Shared) };
        let Outcome::Access(access) = core.model.hart.execute(instruction) else {
            return Err(Stop::Shared);
        };
        if core.model.hart.privilege == Privilege::User {
            let right = if access.kind.writes() { Right::Write } else { Right::Read };
            // What may be written may be read too, in memory: one look is enough for atomics.
            if !core.permissions.allows(access.address, access.bytes, right) {
                return Err(Stop::Trap(denied(&access)));
            }
        }
        let mut offset = access.address.wrapping_sub(self.base);
        if offset as usize >= self.bytes.len() {
            offset = access.address.wrapping_sub(self.alias);
        }
        let start = offset as usize;
        let Some(bytes) = self.bytes.get_mut(start..start + usize::from(access.bytes)) else {
            return Err(Stop::Trap(denied(&access)));
        };
        let Some(old) = read_value(bytes) else { return Err(Stop::Shared) };
        let new = match access.kind {
            MemoryKind::Load => None,
            MemoryKind::Store => Some(access.data),
            MemoryKind::Amo(op) => Some(op.apply(old, access.data, access.bytes)),
            _ => return Err(Stop::Shared),
        };
        if let Some(new) = new {
            write_value(bytes, new);
        }
        let grant = match second {
            true => self.banks.access(now, offset.wrapping_add(WORD_BYTES as u32), false),
            false => self.banks.serve(now, offset, &access),
        };
        core.model.stalls.l1 += grant - now;
        core.model.waited = grant > now;
        core.model.loaded = NO_REGISTER;
        core.model.loads(&access);
        core.model.performed(&access, grant + 1);
        // A store has no register to put it in.
        if XPULP {
            core.model.jumped |= core.model.hart.complete_xpulp(&access, old);
        } else {
            core.model.hart.complete_integer(&access, old);
        }
        Ok(grant + 1)
    }
}

/// Gives the word of a core's access to `address`, whose micro-operation is `one`, in its own L1, which begins at
/// `base`; `None`: it is another one.
#[inline(always)]
pub fn word_of<'a>(
    bytes: &'a mut [u8],
    base: u32,
    core: &Core,
    one: &MicroOp,
    address: u32,
) -> Option<&'a mut [u8; 4]> {
    let is_aligned = address.wrapping_sub(base) & u32::from(one.alignment) == 0;
    if is_aligned { bytes_of(bytes, base, core, one, address) } else { None }
}

/// Gives as many bytes from where such an access begins, which may lie in two words unless it is an atomic; `None`:
/// it is another one.
#[inline(always)]
fn bytes_of<'a>(
    bytes: &'a mut [u8],
    base: u32,
    core: &Core,
    one: &MicroOp,
    address: u32,
) -> Option<&'a mut [u8; 4]> {
    let right = if one.flags.writes() { Right::Write } else { Right::Read };
    let offset = address.wrapping_sub(base);
    let is_allowed =
        core.permissions.found(address, right) || core.model.hart.privilege != Privilege::User;
    let is_whole = offset & u32::from(one.alignment) == 0 || !one.flags.is_atomic();
    if !is_allowed || !is_whole || !one.kind.accesses() {
        return None;
    }
    let offset = offset as usize;
    bytes.get_mut(offset..offset + WORD_BYTES)?.first_chunk_mut()
}

/// Performs an access of a word.
#[inline(always)]
pub fn perform(core: &mut Core, one: &MicroOp, word: &mut [u8; 4]) {
    let hart = &mut core.model.hart;
    let operand = one.rs2.of(&hart.x);
    let value = if one.kind.is_sum() {
        add_up(one, word, operand)
    } else {
        perform_other(one, word, operand)
    };
    one.rd.set(&mut hart.x, value); // a store's rd is x0
    hart.instret += 1;
}

/// Performs an access that is a sum, of the word at the front of `bytes`; gives what its register gets.
#[inline(always)]
fn add_up(one: &MicroOp, bytes: &mut [u8; 4], operand: u32) -> u32 {
    let word = u32::from_le_bytes(*bytes);
    // Cores take turns, so that nobody can foresee which of these comes: no choice, no jump.
    let if_so = |flag: bool| u32::from(flag).wrapping_neg();
    let sum = (word & if_so(one.flags.keeps())).wrapping_add(operand & if_so(one.flags.writes()));
    *bytes = sum.to_le_bytes();
    word
}

/// Performs one that is no sum.
#[cold]
#[inline(never)]
fn perform_other(one: &MicroOp, bytes: &mut [u8; 4], operand: u32) -> u32 {
    let word = u32::from_le_bytes(*bytes);
    let write = |bytes: &mut [u8; 4], value: u32| *bytes = value.to_le_bytes();
    match one.kind {
        Kind::Lbu => word & 0xff,
        Kind::Lb => i32::from(word as i8) as u32,
        Kind::Lhu => word & 0xffff,
        Kind::Lh => i32::from(word as i16) as u32,
        Kind::Sb => {
            write(bytes, word & !0xff | operand & 0xff);
            0
        }
        Kind::Sh => {
            write(bytes, word & !0xffff | operand & 0xffff);
            0
        }
        kind => {
            if let Some(amo) = kind.amo() {
                write(bytes, amo.apply(word, operand, 4));
            }
            word
        }
    }
}

/// Makes the exception of an access that is not allowed.
pub fn denied(access: &Access<u32>) -> Exception<u32> {
    let cause = if access.kind.writes() { Cause::StoreAccessFault } else { Cause::LoadAccessFault };
    Exception::new(cause, access.address)
}

/// Says whether a class of instructions may run in a lane.
pub const fn is_plain(class: Class) -> bool {
    matches!(class, Class::Load | Class::Store | Class::Amo | Class::XpulpLoad | Class::XpulpStore)
}
