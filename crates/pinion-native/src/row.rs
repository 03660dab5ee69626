//! Packets that wait for their worker, one behind the other: in L2, in its part of the packet buffer in L1,
//! and what each handler is to be called with. Small, so that whoever puts many packets there has all of it
//! in registers.

use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};
use std::ops::Range;
use std::ptr;

use crate::entry::Entry;
use crate::layout::ContextLayout;

/// Copies packets in blocks of so many bytes.
pub const BLOCK_BYTES: usize = 64;

/// Jobs that may wait to be run one after the other.
const MOST_WAITING: usize = 64;

/// What a handler is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// The handler's address.
    pub handler: u32,
    /// Its context.
    pub context: u32,
    /// Its message.
    pub message: u32,
    /// Its message's queue, by which handlers know the message.
    pub queue: u32,
    /// Numbers its packet.
    pub packet: u64,
    /// The packet's place in L2.
    pub l2_address: u32,
    /// Number of the packet's bytes.
    pub bytes: u32,
}

/// Says where packets that wait lie, and how many there are.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    count: usize,
    /// Ends of where they lie: in L2 those that nobody else puts there, and in L1.
    l2_end: u32,
    l1_end: u32,
    /// The bytes in front of either end, and how many of them no packet has.
    room: u32,
    left: u32,
    clusters: u32,
    /// Which bits of a queue say whose it is, where their number is a power of two.
    home_bits: u32,
}

/// Makes room for what the handlers of a row are to be called with: one alone if the task `is_wide`.
pub fn entries(is_wide: bool) -> Box<[Entry]> {
    vec![Entry::NONE; if is_wide { 1 } else { MOST_WAITING }].into()
}

impl Row {
    /// Makes an empty one of packets that lie in the bytes in front of `l1_end`, of a machine with so many
    /// clusters.
    pub fn new((l1_end, bytes): (u32, u32), clusters: u32) -> Self {
        let home_bits = clusters - 1;
        Self { count: 0, l2_end: 0, l1_end, room: bytes, left: bytes, clusters, home_bits }
    }

    /// Gives it a part of the packet buffer in L2, for packets that nobody else puts there.
    pub fn reserve(&mut self, slots: Range<u32>) {
        self.room = self.room.min(slots.len() as u32);
        self.left = self.room;
        self.l2_end = slots.end;
    }

    /// Gives where the next of these packets is to lie in L2.
    #[inline]
    pub fn next_in_l2(&self) -> u32 {
        self.l2_end - self.left
    }

    /// Gives where the next packet is to lie in L1.
    #[inline]
    pub fn next_in_l1(&self) -> u32 {
        self.l1_end - self.left
    }

    /// Counts those that wait.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.count
    }

    /// Tells whether there is room for another packet, whose entry is among `entries`.
    #[inline]
    pub fn has_room(&self, entries: &[Entry], bytes: usize) -> bool {
        self.count < entries.len() && bytes <= self.left as usize
    }

    /// Empties it.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
        self.left = self.room;
    }

    /// Tells whether [`Self::home_by_bits`] knows a message's home cluster.
    pub fn has_home_bits(&self) -> bool {
        self.clusters.is_power_of_two()
    }

    /// Gives a message's home cluster, of as many as a power of two.
    #[inline]
    pub fn home_by_bits(&self, queue: u32) -> u32 {
        queue & self.home_bits
    }

    /// Gives a message's home cluster.
    pub fn home(&self, queue: u32) -> u32 {
        queue % self.clusters
    }

    /// Notes among `entries` a job whose packet is in its places, so many bytes of it in L1.
    #[inline(always)]
    pub fn note(
        &mut self,
        entries: &mut [Entry],
        context: &ContextLayout,
        job: Given,
        (l1_bytes, home): (u32, u32),
    ) {
        // Written where it stays: what is put together on the stack first is read by larger pieces than it was
        // written by, for which the processor waits.
        let Some(entry) = entries.get_mut(self.count) else { return };
        *entry = Entry {
            context,
            handler: job.handler,
            queue: job.queue,
            l1_packet: [self.next_in_l1(), l1_bytes],
            l2_packet: [job.l2_address, home],
            bytes: job.bytes,
            message: job.message,
            packet: job.packet,
        };
        self.left -= job.bytes.next_multiple_of(BLOCK_BYTES as u32);
        self.count += 1;
    }
}

/// Puts a packet into its places in L2 or L1; one of a block is read once for all of them.
///
/// # Safety
/// Each has room for it and nobody else touches it.
#[inline]
pub unsafe fn place<const PLACES: usize>(packet: &[u8], places: [u32; PLACES]) {
    let (from, bytes) = (packet.as_ptr(), packet.len());
    // SAFETY: the caller's promise; every x86-64 has these instructions.
    unsafe {
        if bytes == BLOCK_BYTES {
            let from = from.cast::<__m128i>();
            let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
            let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
            for to in places.map(|place| place as *mut __m128i) {
                _mm_storeu_si128(to, a);
                _mm_storeu_si128(to.add(1), b);
                _mm_storeu_si128(to.add(2), c);
                _mm_storeu_si128(to.add(3), d);
            }
            return;
        }
        places.iter().for_each(|to| ptr::copy_nonoverlapping(from, *to as *mut u8, bytes));
    }
}
