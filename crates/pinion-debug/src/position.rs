//! A place in a run: a cycle, and whose turn it is in it. In each cycle the units come first, then one
//! HPU after the other, by number.

/// Names the moment before or after one HPU's instruction, or before all of a cycle's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The cycle, counted from when the machine was ready.
    pub cycle: u64,
    slot: u32,
}

impl Position {
    /// Gives the moment in which the units have done their work of a cycle and no HPU has.
    pub const fn of_units(cycle: u64) -> Self {
        Self { cycle, slot: 0 }
    }

    /// Gives the moment before an HPU's instruction.
    pub const fn before(cycle: u64, hart: u32) -> Self {
        Self { cycle, slot: 2 * hart + 1 }
    }

    /// Gives the moment after it.
    pub const fn after(cycle: u64, hart: u32) -> Self {
        Self { cycle, slot: 2 * hart + 2 }
    }

    /// Gives the end of a cycle.
    pub const fn end(cycle: u64) -> Self {
        Self { cycle, slot: u32::MAX }
    }

    /// Tells whether an HPU's instruction of a cycle has been executed.
    pub fn has_passed(self, cycle: u64, hart: u32) -> bool {
        Self::before(cycle, hart) < self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_cycle_are_in_order() {
        let moments = [
            Position::end(6),
            Position::of_units(7),
            Position::before(7, 0),
            Position::after(7, 0),
            Position::before(7, 1),
            Position::after(7, 1),
            Position::end(7),
        ];
        assert!(moments.is_sorted_by(|one, other| one < other), "{moments:?}");
        assert!(Position::after(7, 0).has_passed(7, 0));
        assert!(!Position::before(7, 0).has_passed(7, 0));
        assert!(!Position::after(7, 0).has_passed(7, 1));
    }
}
