//! What lies behind the L2: a last-level cache, where the machine has one, and memory with rows that
//! stay open.
//!
//! In: lines that the L2 missed. Out: what fetching them costs. It holds tags and open rows alone.

use super::{L2, LINE_BYTES};
use crate::Cycle;
use crate::machine::memory::MemorySection;

/// Nobody but the L2 asks the last-level cache.
const HOLDER: u32 = 0;
/// The row of a bank in which none is open.
const CLOSED: u64 = u64::MAX;

/// Holds the last-level cache's tags and which row is open in each bank.
#[derive(Clone, Debug)]
pub(super) struct Outer {
    cache: Option<L2>,
    rows: Vec<u64>,
}

impl Outer {
    pub fn new(section: &MemorySection) -> Self {
        let cache = (section.last_level_sets > 0)
            .then(|| L2::new(section.last_level_sets, section.last_level_ways));
        let banks = if section.row_bytes > 0 { section.banks as usize } else { 0 };
        Self { cache, rows: vec![CLOSED; banks] }
    }

    /// Fetches a line; gives the cycles it takes beside those of the miss in the L2.
    pub fn fetch(&mut self, line: u64, costs: &MemorySection) -> Cycle {
        if self.cache.as_mut().is_some_and(|cache| cache.acquire(line, HOLDER, false).hit) {
            return costs.last_level_cycles;
        }
        if self.rows.is_empty() {
            return costs.dram_cycles;
        }
        let row = line * LINE_BYTES / costs.row_bytes;
        let open = &mut self.rows[(row % u64::from(costs.banks)) as usize];
        if *open == row {
            return costs.open_row_cycles;
        }
        *open = row;
        costs.dram_cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> MemorySection {
        MemorySection {
            base_address: 0,
            size: pinion_sim::config::Bytes(1 << 16),
            l2_sets: 1,
            l2_ways: 1,
            l2_preloaded: false,
            dram_cycles: 200,
            last_level_sets: 0,
            last_level_ways: 1,
            last_level_cycles: 64,
            row_bytes: 0,
            banks: 2,
            open_row_cycles: 112,
            write_back_cycles: 0,
            probe_cycles: 0,
            device_cycles: 0,
            timebase_cycles: 1,
        }
    }

    fn costs(section: &MemorySection, lines: &[u64]) -> Vec<Cycle> {
        let mut outer = Outer::new(section);
        lines.iter().map(|&line| outer.fetch(line, section)).collect()
    }

    #[test]
    fn a_line_costs_a_whole_access_where_nothing_is_kept() {
        assert_eq!(costs(&section(), &[0, 0, 1]), [200, 200, 200]);
    }

    #[test]
    fn a_row_stays_open_until_another_of_its_bank_is() {
        let rows = MemorySection { row_bytes: 128, ..section() };
        // Rows 0, 0, 1 (the other bank), 0, 2 (in row 0's bank), 0.
        assert_eq!(costs(&rows, &[0, 1, 2, 1, 4, 0]), [200, 112, 200, 112, 200, 200]);
    }

    #[test]
    fn the_last_level_cache_keeps_lines() {
        let cached = MemorySection { last_level_sets: 2, ..section() };
        // Line 2 takes line 0's place.
        assert_eq!(costs(&cached, &[0, 0, 2, 0, 1]), [200, 64, 200, 200, 200]);
    }
}
