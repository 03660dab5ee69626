//! The devices of a node: timer and software interrupts (CLINT), a serial port's data register; and
//! the console, which the host interface writes to as well.

use crate::Cycle;

/// First address of the CLINT: `msip` of each hart, 4 bytes each.
pub const CLINT: u64 = 0x200_0000;
/// First `mtimecmp`, 8 bytes each.
pub const MTIMECMP: u64 = CLINT + 0x4000;
/// `mtime`.
pub const MTIME: u64 = CLINT + 0xbff8;
/// End of the CLINT.
const CLINT_END: u64 = CLINT + 0x1_0000;
/// The serial port's transmit register.
pub const UART: u64 = 0x5400_0000;
/// Holds the devices' registers.
#[derive(Clone, Debug)]
pub struct Devices {
    /// What the program printed.
    pub console: Vec<u8>,
    compare: Vec<u64>,
    software: Vec<bool>,
    cycles_per_tick: u64,
}

impl Devices {
    /// Makes the devices of a node with `harts` harts.
    pub fn new(harts: u32, cycles_per_tick: u64) -> Self {
        Self {
            console: Vec::new(),
            compare: vec![u64::MAX; harts as usize],
            software: vec![false; harts as usize],
            cycles_per_tick: cycles_per_tick.max(1),
        }
    }

    /// Tells whether an address belongs to a device.
    pub fn has(&self, address: u64) -> bool {
        (CLINT..CLINT_END).contains(&address) || (UART..UART + 0x20).contains(&address)
    }

    /// Reads a device's register; `now` is the cycle of the access.
    pub fn read(&self, address: u64, now: Cycle) -> u64 {
        match address {
            MTIME..CLINT_END => (now / self.cycles_per_tick) >> (8 * (address & 7)),
            MTIMECMP..MTIME => {
                let hart = ((address - MTIMECMP) / 8) as usize;
                self.compare.get(hart).copied().unwrap_or(0) >> (8 * (address & 7))
            }
            CLINT..MTIMECMP => {
                let hart = ((address - CLINT) / 4) as usize;
                u64::from(self.software.get(hart).copied().unwrap_or(false))
            }
            _ => 0,
        }
    }

    /// Writes a device's register.
    pub fn write(&mut self, address: u64, bytes: u8, value: u64) {
        match address {
            MTIMECMP..MTIME => {
                let Some(compare) = self.compare.get_mut(((address - MTIMECMP) / 8) as usize)
                else {
                    return;
                };
                let low = |value: u64| value & 0xffff_ffff;
                *compare = match (bytes, address & 4) {
                    (8, _) => value,
                    (_, 0) => *compare >> 32 << 32 | low(value),
                    _ => low(*compare) | value << 32,
                };
            }
            CLINT..MTIMECMP => {
                if let Some(flag) = self.software.get_mut(((address - CLINT) / 4) as usize) {
                    *flag = value & 1 != 0;
                }
            }
            UART => self.console.push(value as u8),
            _ => {}
        }
    }

    /// Gives the cycle from which a hart's timer interrupt is up.
    pub fn timer_at(&self, hart: u32) -> Cycle {
        self.compare[hart as usize].saturating_mul(self.cycles_per_tick)
    }

    /// Tells whether a hart's software interrupt is up.
    pub fn software(&self, hart: u32) -> bool {
        self.software[hart as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_compare() {
        let mut devices = Devices::new(2, 100);
        assert_eq!(devices.timer_at(1), u64::MAX);
        devices.write(MTIMECMP + 8, 8, 7);
        assert_eq!((devices.timer_at(0), devices.timer_at(1)), (u64::MAX, 700));
        assert_eq!(devices.read(MTIME, 1234), 12);
        devices.write(CLINT + 4, 4, 1);
        assert!(devices.software(1) && !devices.software(0));
    }
}
