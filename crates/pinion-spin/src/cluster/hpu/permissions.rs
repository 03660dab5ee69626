//! What a handler may touch: the regions the HPU driver drives into the core's physical memory
//! protection for each task.
//!
//! In: the task and its context. Out: yes or no per access of user-mode code, and the range around
//! an address for which the answer is the same. The default grants exactly the context's regions
//! (paper §III-B2); the RTL's driver grants more (RTL hpu_driver).

use std::hint::select_unpredictable;

use crate::memory::{PERIPHERALS, PUBLIC_DMA};
use crate::{ExecutionContext, Machine, machine::PmpPolicy};

/// Names what an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Load.
    Read,
    /// Store or atomic.
    Write,
}

#[derive(Clone, Copy, Debug, Default)]
struct Region {
    first: u32,
    last: u32,
    read: bool,
    write: bool,
}

impl Region {
    /// Makes the region of an address and so many bytes; none of them: one that grants nothing.
    #[inline]
    fn new((first, bytes): (u32, u32), read: bool, write: bool) -> Self {
        let any = bytes > 0;
        let last = first.saturating_add(bytes.saturating_sub(1));
        Self { first, last, read: any && read, write: any && write }
    }
}

/// Gives the aligned range of so many bytes around an address.
const fn around(address: u32, bytes: u32) -> (u32, u32) {
    (address & !(bytes - 1), bytes)
}

const REGIONS: usize = 48;

/// Where a task's packet stands among the regions, in L1 and in L2; behind it stand those that are
/// the same for all tasks of its context.
const L1_PACKET: usize = 0;
const L2_PACKET: usize = 1;
const FIRST_OF_CONTEXT: usize = 2;

/// Where what was found of the packet is kept, and what was found of the context.
const OF_PACKET: usize = 0;
const OF_CONTEXT: usize = 1;

/// Holds the regions of one task.
#[derive(Clone, Debug)]
pub struct Permissions {
    regions: [Region; REGIONS],
    count: usize,
    /// Whose regions stand behind the packet's.
    owner: Option<Owner>,
    /// Ranges found by the last look-ups, by right: the packet's, which is another with the next task, and one of
    /// the context's. Handlers go back and forth between the two.
    found: [[(u32, u32); 2]; 2],
    /// The same: the first of those addresses, and how many of them begin a word within the range.
    words: [[(u32, u32); 2]; 2],
}

impl Default for Permissions {
    fn default() -> Self {
        Self {
            regions: [Region::default(); REGIONS],
            count: 0,
            owner: None,
            found: [[NOTHING; 2]; 2],
            words: [[(0, 0); 2]; 2],
        }
    }
}

/// A range that contains no address.
const NOTHING: (u32, u32) = (1, 0);
const OUTPUT_DEVICE: (u32, u32) = (0x1a10_4000, 0x1000);
const ALL_L1_BYTES: u32 = 16 << 20;
const PAGE: u32 = 4096;
const MIB: u32 = 1 << 20;
const WORD_BYTES: u32 = 4;

/// Describes a task as far as protection is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Cluster of the HPU.
    pub cluster: u32,
    /// HPU within the cluster.
    pub hpu: u32,
    /// Packet in L1 and the bytes of it that are there.
    pub l1_packet: (u32, u32),
    /// Packet in L2 and its bytes.
    pub l2_packet: (u32, u32),
    /// Its context, as [`crate::shared::Contexts::version`] names it.
    pub context: (u32, u32),
}

/// Names the HPU and the context that regions are for.
type Owner = (u32, u32, (u32, u32));

impl Permissions {
    /// Sets the regions for a task.
    pub fn set(&mut self, machine: &Machine, context: &ExecutionContext, subject: &Subject) {
        self.forget_found_packet();
        let (l1_packet, l2_packet) = match machine.protection.pmp {
            PmpPolicy::Context => (subject.l1_packet, subject.l2_packet),
            PmpPolicy::Rtl => {
                (around(subject.l1_packet.0, PAGE), around(subject.l2_packet.0, PAGE))
            }
        };
        self.regions[L1_PACKET] = Region::new(l1_packet, true, true);
        self.regions[L2_PACKET] = Region::new(l2_packet, true, true);
        let owner = Some((subject.cluster, subject.hpu, subject.context));
        if self.owner == owner {
            return;
        }
        (self.found, self.words) = ([[NOTHING; 2]; 2], [[(0, 0); 2]; 2]);
        (self.owner, self.count) = (owner, FIRST_OF_CONTEXT);
        self.grant(OUTPUT_DEVICE, false, true);
        match machine.protection.pmp {
            PmpPolicy::Context => self.set_context(machine, context, subject),
            PmpPolicy::Rtl => self.set_rtl(machine, context),
        }
    }

    /// Takes the packet out of the regions: its task is over, and somebody else's may lie there next.
    pub fn forget_packet(&mut self) {
        self.forget_found_packet();
        self.regions[L1_PACKET] = Region::default();
        self.regions[L2_PACKET] = Region::default();
    }

    /// Forgets what look-ups have found of the packet; what is the context's stays.
    #[inline]
    fn forget_found_packet(&mut self) {
        for right in 0..self.found.len() {
            (self.found[right][OF_PACKET], self.words[right][OF_PACKET]) = (NOTHING, (0, 0));
        }
    }

    /// Sets what the runtime needs before the first task: the peripherals and its own stack.
    pub fn set_idle(&mut self, machine: &Machine, cluster: u32, hpu: u32) {
        let packet = (0, 0);
        let context = (0, 0);
        let subject = Subject { cluster, hpu, l1_packet: packet, l2_packet: packet, context };
        self.set(machine, &ExecutionContext::default(), &subject);
        self.owner = None;
    }

    fn set_context(&mut self, machine: &Machine, context: &ExecutionContext, subject: &Subject) {
        let l1 = |cluster| machine.l1.base + cluster * machine.l1.stride;
        self.grant((machine.program.base, machine.program.bytes), true, false);
        // All peripherals but the control register, which ends the program for everybody.
        self.grant((PERIPHERALS + 4, 0x1_0000 - 4), true, true);
        let peripherals = |cluster| l1(cluster) + (PERIPHERALS - machine.l1.alias);
        self.grant((peripherals(subject.cluster) + 4, 0x1_0000 - 4), true, true);
        for cluster in 0..machine.cluster.count {
            self.grant((peripherals(cluster) + PUBLIC_DMA.0, PUBLIC_DMA.1), true, true);
        }
        let stacks = machine.l1.reserved_bytes;
        let stack = stacks + subject.hpu * machine.l1.stack_bytes;
        let after_stacks = stacks + machine.cluster.cores * machine.l1.stack_bytes;
        let rest = machine.packet_buffer_offset() - after_stacks;
        for base in [l1(subject.cluster), machine.l1.alias] {
            self.grant((base + stack, machine.l1.stack_bytes), true, true);
            self.grant((base + after_stacks, rest), true, true);
        }
        self.grant((context.handler_memory_address, context.handler_memory_bytes), true, true);
        // The program's own data lie at the start of the L2 handler memory.
        self.grant((machine.l2_handler.base, 64 << 10), true, true);
        self.grant(context.static_data.unwrap_or((0, 0)), true, true);
        let scratchpad = |cluster| {
            let (offset, bytes) = context.scratchpad(cluster);
            (machine.scratchpad_offset() + offset, bytes)
        };
        for cluster in 0..machine.cluster.count {
            let (offset, bytes) = scratchpad(cluster);
            self.grant((l1(cluster) + offset, bytes), true, true);
        }
        let (offset, bytes) = scratchpad(subject.cluster);
        self.grant((machine.l1.alias + offset, bytes), true, true);
    }

    fn set_rtl(&mut self, machine: &Machine, context: &ExecutionContext) {
        self.grant(around(machine.program.base, MIB), true, false);
        let all_l1 = ALL_L1_BYTES.max(machine.cluster.count * machine.l1.stride);
        self.grant((machine.l1.base, all_l1), true, true);
        self.grant((machine.l1.alias, ALL_L1_BYTES), true, true);
        self.grant(around(context.handler_memory_address, MIB), true, true);
        self.grant((machine.l2_handler.base, 64 << 10), true, true);
    }

    fn grant(&mut self, range: (u32, u32), read: bool, write: bool) {
        if range.1 > 0 && self.count < REGIONS {
            self.regions[self.count] = Region::new(range, read, write);
            self.count += 1;
        }
    }

    /// Says whether the last look-ups of this right found the region that holds the word.
    #[inline]
    pub fn found(&self, address: u32, right: Right) -> bool {
        let [one, other] =
            self.words[right as usize].map(|(first, words)| (address.wrapping_sub(first), words));
        let lies_in = |(ahead, words): (u32, u32)| ahead < words;
        // Which of them it is cannot be foreseen.
        lies_in(select_unpredictable(lies_in(one), one, other))
    }

    /// Says whether the access is allowed.
    #[inline]
    pub fn allows(&mut self, address: u32, bytes: u8, right: Right) -> bool {
        let last = address.wrapping_add(u32::from(bytes) - 1);
        let lies_in = |(low, high): (u32, u32)| low <= address && last <= high;
        if self.found[right as usize].into_iter().any(lies_in) && address <= last {
            return true;
        }
        self.look_up(address, last, right)
    }

    fn look_up(&mut self, address: u32, last: u32, right: Right) -> bool {
        let found = self.regions[..self.count].iter().position(|region| {
            let granted = match right {
                Right::Read => region.read,
                Right::Write => region.write,
            };
            granted && region.first <= address && last <= region.last && address <= last
        });
        let Some(index) = found else { return false };
        let region = &self.regions[index];
        let of = if index < FIRST_OF_CONTEXT { OF_PACKET } else { OF_CONTEXT };
        self.found[right as usize][of] = (region.first, region.last);
        let words = (region.last - region.first).saturating_sub(WORD_BYTES - 2);
        self.words[right as usize][of] = (region.first, words);
        true
    }

    /// Says whether a command may read or write `bytes` bytes at `address`.
    pub fn covers(&self, address: u32, bytes: u32, right: Right) -> bool {
        let Some(last) = address.checked_add(bytes.saturating_sub(1)) else { return false };
        self.regions[..self.count].iter().any(|region| {
            let granted = match right {
                Right::Read => region.read,
                Right::Write => region.write,
            };
            granted && region.first <= address && last <= region.last
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn context() -> ExecutionContext {
        ExecutionContext {
            handler_memory_address: 0x1c30_0000,
            handler_memory_bytes: 4096,
            scratchpad_bytes: 4096,
            ..ExecutionContext::default()
        }
    }

    const SUBJECT: Subject = Subject {
        cluster: 1,
        hpu: 2,
        l1_packet: (0x1040_4400, 64),
        l2_packet: (0x1c40_0000, 1000),
        context: (0, 0),
    };

    #[test]
    fn grants_exactly_the_context() {
        let mut permissions = Permissions::default();
        permissions.set(&machine(), &context(), &SUBJECT);
        let mut may = |address, right| permissions.allows(address, 4, right);
        assert!(may(0x1040_4400, Right::Write), "its packet");
        assert!(!may(0x1040_4440, Right::Read), "the next packet");
        assert!(may(0x1c40_0000 + 996, Right::Read));
        assert!(!may(0x1c40_0000 + 998, Right::Read), "beyond its packet");
        assert!(may(0x1040_0c00, Right::Write), "its stack");
        assert!(!may(0x1040_0bfc, Right::Write), "the next core's stack");
        assert!(may(0x1c30_0ffc, Right::Write));
        assert!(!may(0x1c30_1000, Right::Write), "another context's memory");
        assert!(may(0x10c1_4400, Right::Write), "its scratchpad in cluster 3");
        assert!(!may(0x10c1_5400, Right::Write));
        assert!(may(0x1d00_0100, Right::Read));
        assert!(!may(0x1d00_0100, Right::Write), "programs are read only");
        let next = Subject { l1_packet: (0x1040_4440, 64), ..SUBJECT };
        permissions.set(&machine(), &context(), &next);
        assert!(permissions.allows(0x1040_4440, 4, Right::Write), "its context's next packet");
        assert!(!permissions.allows(0x1040_4400, 4, Right::Read), "no longer its packet");
        for right in [Right::Read, Right::Write] {
            assert!(permissions.allows(0x1040_4440, 4, right), "found once");
            permissions.forget_packet();
            assert!(!permissions.allows(0x1040_4440, 4, right), "and not once more");
            permissions.set(&machine(), &context(), &next);
            assert!(permissions.allows(0x1040_0c00, 4, right), "its stack");
            permissions.forget_packet();
            assert!(permissions.found(0x1040_0c00, right), "what is its context's is found again");
            permissions.set(&machine(), &context(), &next);
        }
        let other = ExecutionContext { handler_memory_address: 0x1c30_1000, ..context() };
        permissions.set(&machine(), &other, &Subject { context: (0, 1), ..SUBJECT });
        assert!(permissions.allows(0x1c30_1000, 4, Right::Write), "its context was replaced");
        assert!(!permissions.allows(0x1c30_0ffc, 4, Right::Write));
    }

    #[test]
    fn what_is_found_of_the_packet_and_of_the_context_is_found_again() {
        let mut permissions = Permissions::default();
        permissions.set(&machine(), &context(), &SUBJECT);
        let (packet, scratchpad, stack) = (0x1040_4400, 0x1041_4400, 0x1040_0c00);
        for right in [Right::Read, Right::Write] {
            assert!(!permissions.found(packet, right));
            assert!([packet, scratchpad].into_iter().all(|it| permissions.allows(it, 4, right)));
            assert!([packet, scratchpad].into_iter().all(|it| permissions.found(it, right)));
            assert!(permissions.allows(stack, 4, right));
            let found = [packet, scratchpad, stack].map(|it| permissions.found(it, right));
            assert_eq!(found, [true, false, true], "the last one of its context");
            assert!(!permissions.allows(packet + 64, 4, right));
        }
    }

    #[test]
    fn the_rtl_grants_every_l1() {
        let mut machine = machine();
        machine.protection.pmp = PmpPolicy::Rtl;
        let mut permissions = Permissions::default();
        permissions.set(&machine, &context(), &SUBJECT);
        assert!(permissions.allows(0x1000_0400, 4, Right::Write));
        assert!(permissions.allows(0x1c30_1000, 4, Right::Write));
        assert!(!permissions.allows(0x1c20_0000, 4, Right::Write));
    }
}
