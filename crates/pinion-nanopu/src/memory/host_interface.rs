//! The host interface (HTIF, the host target interface): what a program asks of the computer that
//! simulates it, by stores to `tohost` (RISC-V front-end server; nanoPU artifact, tests-lnic).
//!
//! In: stores to `tohost`, the calls that they point to. Out: text for the console, the program's
//! arguments, its exit code; an answer in `fromhost`. Holds the last request. Nothing waits: a call is
//! served in the cycle of the store that asks for it.

use pinion_isa::elf::Image;

use super::Memory;

/// System calls that `tohost` carries.
const SYS_WRITE: u64 = 64;
const SYS_EXIT: u64 = 93;
const SYS_GETMAINVARS: u64 = 2011;
/// Most bytes that one call writes to the console.
const MOST_WRITTEN_BYTES: u64 = 1 << 20;
/// Answers a call that nobody serves: minus ENOSYS.
const NO_SUCH_CALL: u64 = -38i64 as u64;
/// Bits of an address within `tohost`, which is eight bytes.
const WORD_BITS: u64 = 7;
/// Bit of a store to `tohost` that ends the program; the code stands above it.
const EXIT_BIT: u64 = 1;
/// Bits of a store to `tohost` that point to a call; a device's number stands above them.
const ADDRESS_BITS: u64 = (1 << 48) - 1;
/// An address that no aligned store has, for programs without `tohost`.
const NO_ADDRESS: u64 = u64::MAX - WORD_BITS - 1;

/// Says how a program ended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, C's `int`.
    pub code: i32,
}

/// Holds what a program asks of the host.
#[derive(Clone, Debug)]
pub struct HostInterface {
    /// How the program ended, if it did.
    pub exit: Option<Exit>,
    /// The program's arguments, its name first.
    pub arguments: Vec<String>,
    /// Calls that nobody serves.
    pub unknown_calls: u64,
    /// Number of the last of them.
    pub last_unknown_call: u64,
    /// Address of `fromhost`, where the program has it.
    from_host: Option<u64>,
    to_host: u64,
    request: Option<u64>,
}

impl HostInterface {
    /// Makes an interface that no program has asked anything of.
    pub fn new() -> Self {
        Self {
            exit: None,
            arguments: Vec::new(),
            unknown_calls: 0,
            last_unknown_call: 0,
            from_host: None,
            to_host: NO_ADDRESS,
            request: None,
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
        address & !WORD_BITS == self.to_host
    }

    /// Hears a store to `tohost`.
    pub fn store_to_host(&mut self, value: u64) {
        if value & EXIT_BIT != 0 {
            self.exit.get_or_insert(Exit { code: (value >> 1) as i32 });
        } else if value != 0 {
            self.request = Some(value & ADDRESS_BITS);
        }
    }

    fn take_request(&mut self) -> Option<u64> {
        self.request.take()
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

impl Default for HostInterface {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// Does what a program asked for through `tohost` (the host target interface), if anything.
    pub fn serve_host(&mut self) {
        let Some(address) = self.host.take_request() else { return };
        let word = |memory: &Self, i: u64| {
            memory.offset(address + 8 * i, 8).map_or(0, |offset| memory.read(offset))
        };
        let call = [0, 1, 2, 3].map(|i| word(self, i));
        let result = match call[0] {
            SYS_WRITE => {
                let length = call[3].min(MOST_WRITTEN_BYTES) as usize;
                let text = self.bytes(call[2], length).unwrap_or_default();
                self.devices.console.extend_from_slice(&text);
                text.len() as u64
            }
            SYS_EXIT => {
                self.host.exit = Some(Exit { code: call[1] as i32 });
                0
            }
            SYS_GETMAINVARS => {
                let block = self.host.main_variables(call[1], call[2] as usize);
                let fits = !block.is_empty();
                self.write_bytes(call[1], &block);
                if fits { 0 } else { u64::MAX }
            }
            unknown => {
                self.host.unknown_calls += 1;
                self.host.last_unknown_call = unknown;
                NO_SUCH_CALL
            }
        };
        if let Some(offset) = self.offset(address, 8) {
            self.write(offset, 8, result);
        }
        if let Some(offset) = self.host.from_host.and_then(|at| self.offset(at, 8)) {
            self.write(offset, 8, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_arrive() {
        let mut host = HostInterface::new();
        host.store_to_host(3 << 1 | 1);
        assert_eq!(host.exit, Some(Exit { code: 3 }));
        // As an int of 32 bits and as one that the kernel widened.
        for minus_one in [u64::from(u32::MAX), u64::MAX] {
            let mut host = HostInterface::new();
            host.store_to_host(minus_one << 1 | 1);
            assert_eq!(host.exit, Some(Exit { code: -1 }));
        }
    }

    #[test]
    fn arguments_are_laid_out_for_main() {
        let mut host = HostInterface::new();
        host.arguments = vec!["app".into(), "x".into()];
        let block = host.main_variables(0x1000, 256);
        assert_eq!(block[..8], 2u64.to_le_bytes());
        assert_eq!(block[8..16], 0x1028u64.to_le_bytes());
        assert_eq!(block[0x28..], *b"app\0x\0");
        assert!(host.main_variables(0, 10).is_empty());
        assert_eq!(host.main_variables(u64::MAX, 256).len(), block.len(), "a hostile address");
    }
}
