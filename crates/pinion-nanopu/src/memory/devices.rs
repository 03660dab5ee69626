//! The devices of a node: timer and software interrupts (CLINT), the host target interface
//! (`tohost`, `fromhost`), a serial port's data register.

use pinion_isa::elf::Image;

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
/// System calls that `tohost` carries.
pub(super) const SYS_WRITE: u64 = 64;
pub(super) const SYS_EXIT: u64 = 93;
pub(super) const SYS_GETMAINVARS: u64 = 2011;

/// Says how a program ended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, C's `int`.
    pub code: i32,
}

/// Holds the devices' registers.
#[derive(Clone, Debug)]
pub struct Devices {
    /// What the program printed.
    pub console: Vec<u8>,
    /// How the program ended, if it did.
    pub exit: Option<Exit>,
    /// The program's arguments, its name first.
    pub arguments: Vec<String>,
    /// System calls that nobody serves.
    pub unknown_calls: u64,
    /// Number of the last of them.
    pub last_unknown_call: u64,
    /// Address of `fromhost`, where the program has it.
    pub(super) from_host: Option<u64>,
    to_host: u64,
    request: Option<u64>,
    compare: Vec<u64>,
    software: Vec<bool>,
    cycles_per_tick: u64,
}

impl Devices {
    /// Makes the devices of a node with `harts` harts.
    pub fn new(harts: u32, cycles_per_tick: u64) -> Self {
        Self {
            console: Vec::new(),
            exit: None,
            arguments: Vec::new(),
            unknown_calls: 0,
            last_unknown_call: 0,
            from_host: None,
            to_host: u64::MAX - 8,
            request: None,
            compare: vec![u64::MAX; harts as usize],
            software: vec![false; harts as usize],
            cycles_per_tick: cycles_per_tick.max(1),
        }
    }

    /// Finds the program's `tohost` and `fromhost`.
    pub(super) fn watch(&mut self, image: &Image) {
        if let Some(to_host) = image.symbol("tohost") {
            self.to_host = to_host.address;
        }
        self.from_host = image.symbol("fromhost").map(|symbol| symbol.address);
    }

    /// Tells whether a store to an address is one to `tohost`.
    #[inline(always)]
    pub fn is_to_host(&self, address: u64) -> bool {
        address & !7 == self.to_host
    }

    /// Hears a store to `tohost`.
    pub fn store_to_host(&mut self, value: u64) {
        if value & 1 != 0 {
            self.exit.get_or_insert(Exit { code: (value >> 1) as i32 });
        } else if value != 0 {
            self.request = Some(value & 0xffff_ffff_ffff);
        }
    }

    pub(super) fn take_request(&mut self) -> Option<u64> {
        self.request.take()
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

    /// Lays out argc, argv and an empty environment for the program's start-up code, at `address`
    /// in at most `limit` bytes; nothing when they do not fit.
    pub(super) fn main_variables(&self, address: u64, limit: usize) -> Vec<u8> {
        let count = self.arguments.len();
        let mut words = vec![count as u64];
        let mut text = Vec::new();
        let strings = address.wrapping_add(8 * (count as u64 + 3));
        for argument in &self.arguments {
            words.push(strings.wrapping_add(text.len() as u64));
            text.extend_from_slice(argument.as_bytes());
            text.push(0);
        }
        words.extend([0, 0]);
        let mut block: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        block.extend(text);
        if block.len() <= limit { block } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_compare_and_exit_codes_arrive() {
        let mut devices = Devices::new(2, 100);
        assert_eq!(devices.timer_at(1), u64::MAX);
        devices.write(MTIMECMP + 8, 8, 7);
        assert_eq!((devices.timer_at(0), devices.timer_at(1)), (u64::MAX, 700));
        assert_eq!(devices.read(MTIME, 1234), 12);
        devices.write(CLINT + 4, 4, 1);
        assert!(devices.software(1) && !devices.software(0));
        devices.store_to_host(3 << 1 | 1);
        assert_eq!(devices.exit, Some(Exit { code: 3 }));
        // As an int of 32 bits and as one that the kernel widened.
        for minus_one in [u64::from(u32::MAX), u64::MAX] {
            let mut devices = Devices::new(1, 100);
            devices.store_to_host(minus_one << 1 | 1);
            assert_eq!(devices.exit, Some(Exit { code: -1 }));
        }
    }

    #[test]
    fn arguments_are_laid_out_for_main() {
        let mut devices = Devices::new(1, 1);
        devices.arguments = vec!["app".into(), "x".into()];
        let block = devices.main_variables(0x1000, 256);
        assert_eq!(block[..8], 2u64.to_le_bytes());
        assert_eq!(block[8..16], 0x1028u64.to_le_bytes());
        assert_eq!(block[0x28..], *b"app\0x\0");
        assert!(devices.main_variables(0, 10).is_empty());
        assert_eq!(devices.main_variables(u64::MAX, 256).len(), block.len(), "a hostile address");
    }
}
