//! A table as its control asks it: where its key stands, and where hit, action and arguments go.

use crate::flat::{Site, Words, index};
use crate::program::TableShape;
use crate::table::{MOST_KEYS, Table};

/// Fields of an answer in front of the first action's arguments: hit, and the action's number.
const HEAD: usize = 2;

/// A table that an extern stands for.
#[derive(Clone, Debug)]
pub struct TableUnit {
    /// Number of the table among those of its programs.
    pub store: usize,
    /// By key: its bits.
    widths: Vec<u32>,
    /// By action: the first field of its arguments in the answer, and the bits of each.
    arguments: Vec<(usize, Vec<u32>)>,
}

impl TableUnit {
    pub(super) fn of(shape: &TableShape) -> Self {
        let mut first = HEAD;
        let mut arguments = Vec::new();
        for action in &shape.actions {
            let bits: Vec<u32> = action.parameters.iter().map(|(_, bits)| *bits).collect();
            let next = first + bits.len();
            arguments.push((first, bits));
            first = next;
        }
        Self { store: 0, widths: shape.keys.iter().map(|key| key.width).collect(), arguments }
    }

    /// Counts its keys.
    pub fn keys(&self) -> usize {
        self.widths.len()
    }

    /// Looks a key up, and puts the answer where the program looks for it.
    pub fn ask(&self, tables: &mut [Table], site: &Site, registers: &mut Words) {
        let mut key = [0; MOST_KEYS];
        for ((value, width), register) in key.iter_mut().zip(&self.widths).zip(&site.request) {
            let Some(register) = *register else { continue };
            let high = if *width > 64 { registers[index(register + 1)] } else { 0 };
            *value = u128::from(high) << 64 | u128::from(registers[index(register)]);
        }
        let (hit, row) = tables[self.store].find(&key[..self.widths.len().min(MOST_KEYS)]);
        let mut put = |place: usize, value: u128, width: u32| {
            let Some(register) = site.response.get(place).copied().flatten() else { return };
            registers[index(register)] = value as u64;
            if width > 64 {
                registers[index(register + 1)] = (value >> 64) as u64;
            }
        };
        put(0, hit.into(), 1);
        put(1, row.action.into(), 8);
        let Some((first, bits)) = self.arguments.get(row.action as usize) else { return };
        for (n, (value, width)) in row.arguments.iter().zip(bits).enumerate() {
            put(first + n, *value, *width);
        }
    }
}
