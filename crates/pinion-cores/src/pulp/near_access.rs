//! The access to near memory at which a core has stopped.

/// Names an access to near memory that comes next, in one word: in two that were written by halves and read whole, the
/// host would wait for both to be in its cache, at each access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearAccess(u64);

impl NearAccess {
    /// Makes one to an address, by the instruction at a place of the program.
    #[inline(always)]
    pub const fn new(address: u32, place: u32) -> Self {
        Self((place as u64) << 32 | address as u64)
    }

    /// Gives what it accesses.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.0 as u32
    }

    /// Gives the instruction's place.
    #[inline(always)]
    pub const fn place(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_both() {
        let access = NearAccess::new(0xffff_fffe, 0x8000_0001);
        assert_eq!((access.address(), access.place()), (0xffff_fffe, 0x8000_0001));
    }
}
