//! The memory port of a core: how it reaches what lies outside of it.
//!
//! A core model knows its pipeline and its first-level caches, and nothing of the machine around it:
//! not what lies behind its port, who else is there, or what an access there costs. That is the
//! machine's affair, which implements this trait; swapping the core leaves the machine alone, and
//! the other way round. The trait is a type parameter of whatever executes instructions: no call on
//! their path is dynamic.

use pinion_isa::{Exception, Instruction};

use crate::Cycle;

/// Bytes of a line: what caches hold and memory is asked for.
pub const LINE_BYTES: u64 = 64;

/// Says what a data cache got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// Cycles it took beside those of a miss that the next level can serve.
    pub cycles: Cycle,
    /// Nobody else holds the line: it may be written later without asking again.
    pub exclusive: bool,
    /// A line that the cache must give up, because the next level had no room for both.
    pub evicted: Option<u64>,
}

/// The port of one core to memory, devices and interrupt lines.
///
/// *Purpose.* Memory holds the data, and the core's caches hold tags alone: an access to memory is a
/// look-up in the tags, requests for lines if it misses, and then [`read`](Self::read) or
/// [`write`](Self::write). What those requests cost is said in cycles beside those that the core's
/// own configuration gives a miss. Lines are numbered: a line's number is its address divided by
/// [`LINE_BYTES`].
///
/// *Required.* Everything. A port to memory without caches in front gives 0 cycles everywhere and
/// never takes a line away.
///
/// ```
/// use pinion_cores::Cycle;
/// use pinion_cores::port::{Acquired, MemoryPort};
///
/// /// Memory from address 0 on, all of it as near as a hit in the next level.
/// struct Flat(Vec<u8>);
///
/// impl MemoryPort for Flat {
///     fn offset(&self, address: u64, bytes: u8) -> Option<usize> {
///         let end = address.checked_add(bytes.into())?;
///         (end <= self.0.len() as u64 - 8).then_some(address as usize)
///     }
///     fn read(&self, offset: usize) -> u64 {
///         (0..8).map(|byte| u64::from(self.0[offset + byte]) << (8 * byte)).sum()
///     }
///     fn write(&mut self, offset: usize, bytes: u8, value: u64) {
///         let bytes = usize::from(bytes);
///         self.0[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
///     }
///     fn stored(&mut self, _: u64, _: u64) {}
///     fn means_something(&self, _: u64) -> bool {
///         false
///     }
///     fn fetch_line(&mut self, _: u32, _: u64) -> Cycle {
///         0
///     }
///     fn acquire(&mut self, _: u32, _: u64, _: bool) -> Acquired {
///         Acquired { cycles: 0, exclusive: true, evicted: None }
///     }
///     fn release(&mut self, _: u32, _: u64, _: bool) -> Cycle {
///         0
///     }
///     fn take_probes(&mut self, _: u32, _: impl FnMut(u64, bool)) {}
///     fn has_device(&self, _: u64) -> bool {
///         false
///     }
///     fn device_cycles(&self) -> Cycle {
///         0
///     }
///     fn read_device(&mut self, _: u64, _: Cycle) -> u64 {
///         0
///     }
///     fn write_device(&mut self, _: u64, _: u8, _: u64, _: Cycle) {}
///     fn timer_at(&self, _: u32) -> Cycle {
///         Cycle::MAX
///     }
///     fn software_interrupt(&self, _: u32) -> bool {
///         false
///     }
///     fn has_ended(&self) -> bool {
///         false
///     }
/// }
/// ```
pub trait MemoryPort {
    /// Gives the offset of `bytes` (at most 8) bytes at an address, if all lie in memory; what does
    /// not is a device's or nobody's.
    fn offset(&self, address: u64, bytes: u8) -> Option<usize>;

    /// Reads up to eight bytes at an offset that [`Self::offset`] gave; upper bytes are garbage.
    fn read(&self, offset: usize) -> u64;

    /// Writes the low `bytes` bytes of a value at an offset that [`Self::offset`] gave.
    fn write(&mut self, offset: usize, bytes: u8, value: u64);

    /// Hears that a core has written to an address: some of them mean something to the host.
    fn stored(&mut self, address: u64, value: u64);

    /// Tells whether [`Self::stored`] does anything for an address.
    fn means_something(&self, address: u64) -> bool;

    /// Gives a line to a core's instruction cache; gives the cycles that takes beside those of a miss.
    fn fetch_line(&mut self, core: u32, line: u64) -> Cycle;

    /// Gives a line to a core's data cache, to write it or only to read it.
    fn acquire(&mut self, core: u32, line: u64, write: bool) -> Acquired;

    /// Takes a line that a core's data cache evicts; gives the cycles of writing it back if it is
    /// `dirty`.
    fn release(&mut self, core: u32, line: u64, dirty: bool) -> Cycle;

    /// Says which lines a core's data cache must give up now, and whether it may keep each to read.
    fn take_probes(&mut self, core: u32, give_up: impl FnMut(u64, bool));

    /// Tells whether an address belongs to a device.
    fn has_device(&self, address: u64) -> bool;

    /// Gives the cycles from a device's being asked to its answer.
    fn device_cycles(&self) -> Cycle;

    /// Reads a device's register; `now` is the cycle of its answer.
    fn read_device(&mut self, address: u64, now: Cycle) -> u64;

    /// Writes a device's register in cycle `now`.
    fn write_device(&mut self, address: u64, bytes: u8, value: u64, now: Cycle);

    /// Gives the cycle from which a core's timer interrupt is up, as things are.
    fn timer_at(&self, core: u32) -> Cycle;

    /// Tells whether a core's software interrupt is up.
    fn software_interrupt(&self, core: u32) -> bool;

    /// Tells whether the program has ended itself.
    fn has_ended(&self) -> bool;
}

/// What the port of a core without an instruction cache of its own shows of the cache that it shares
/// with others, without asking it for anything.
pub trait HeldLines {
    /// Gives the binary logarithm of a line's bytes.
    fn line_shift(&self) -> u32;

    /// Tells whether a line is there, whole, at cycle `now`.
    fn has(&self, line: u32, now: Cycle) -> bool;

    /// Tells whether a line and the next one are. Cores ask this at every line they come to.
    fn has_with_next(&self, line: u32, now: Cycle) -> bool {
        self.has(line, now) && self.has(line.wrapping_add(1), now)
    }

    /// Gives how many lines directly before and behind a line are there with their next one, up to
    /// `most` on either side.
    fn around(&self, line: u32, now: Cycle, most: u32) -> [u32; 2] {
        around_one_by_one(self, line, now, most)
    }

    /// Gives the cycle in which the data of a line come that a core asks for in cycle `from`, if asking
    /// changes nothing: the line is there, and nobody waits for another one.
    fn gives(&self, line: u32, from: Cycle) -> Option<Cycle>;

    /// Counts the changes of what is there: while it stays the same, so does what was there.
    fn changes(&self) -> u64;

    /// Says whether nobody waits for a line; `false` where that is not known.
    fn rests(&self) -> bool {
        false
    }
}

/// Gives [`HeldLines::around`] by asking for one line after the other.
pub fn around_one_by_one(
    cache: &(impl HeldLines + ?Sized),
    line: u32,
    now: Cycle,
    most: u32,
) -> [u32; 2] {
    let has = |line: &u32| cache.has_with_next(*line, now);
    let before = (1..=most).map(|far| line.wrapping_sub(far)).take_while(has).count();
    let behind = (1..=most).map(|far| line.wrapping_add(far)).take_while(has).count();
    [before as u32, behind as u32]
}

/// Says what a cache answers a request for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has the line: the data come in this cycle.
    Data(Cycle),
    /// It has not: from this cycle on it may be known when the data come.
    Later(Cycle),
}

/// The instruction side of such a core's port. Requests come in the core's turn.
pub trait InstructionPort: HeldLines {
    /// Tells whether lines asked for in cycle `now` are kept; otherwise each jump reads its line anew.
    fn keeps(&self, now: Cycle) -> bool;

    /// Asks for a line in cycle `now`.
    fn request(&mut self, line: u32, now: Cycle) -> Answer;

    /// Gives the cycle in which the data of the last request come.
    ///
    /// # Errors
    /// The cycle in which to ask again: then it may be known.
    fn serve(&mut self) -> Result<Cycle, Cycle>;
}

/// The data side of a core's port whose accesses the machine performs, in the order of all cores'.
pub trait Destinations {
    /// Tells whether an address lies in the near memory, where loads, stores and atomics stop at
    /// [`Stop::Near`].
    fn is_near(&self, address: u32) -> bool;

    /// Says where a memory instruction goes that accesses this address: what it must wait for.
    fn destination(&self, instruction: &Instruction, address: u32) -> Stop;
}

/// Says why a core stopped running ahead: what its next instruction does, or that it traps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It accesses near memory, at this address: who else touches that is ordered in a smaller circle.
    Near(u32),
    /// It accesses registers that nobody else sees.
    Private,
    /// It does something that others can see or that needs what all share.
    Shared,
    /// It traps.
    Trap(Exception<u32>),
}
