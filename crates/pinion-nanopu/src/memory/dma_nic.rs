//! A NIC that moves packets by DMA, as IceNIC does (nanoservices draft, §5, figure 7).
//!
//! In: frames from the pins, requests that the program writes to registers: where a packet lies to
//! be sent, where one may be put. Out: frames, completions that the program reads. Holds packets
//! that wait for a request. A request waits for the one before it: one descriptor at a time. A
//! received packet is written when it is complete; one to be sent leaves as it is read.
//!
//! Registers, from [`BASE`]: send request (`bytes << 48 | address`) at 0, receive request (address) at
//! 8, send completion at 16, receive completion (bytes) at 18, counts at 20: room for send and
//! receive requests, send and receive completions, four bits each.

use std::collections::VecDeque;

use super::{LINE_BYTES, Memory};
use crate::Cycle;
use crate::machine::dma_nic::DmaNicSection;

/// First address of the registers.
pub const BASE: u64 = 0x1001_6000;
const SEND_REQUEST: u64 = BASE;
const RECEIVE_REQUEST: u64 = BASE + 8;
const SEND_COMPLETION: u64 = BASE + 16;
const RECEIVE_COMPLETION: u64 = BASE + 18;
const COUNTS: u64 = BASE + 20;
const END: u64 = BASE + 32;
/// Bytes of a frame before the words that may be swapped.
const HEADER_BYTES: usize = 64;
/// Stands for the NIC in the L2's directory.
pub(crate) const HOLDER: u32 = 31;

/// Counts what a NIC did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets written to memory.
    pub received: u64,
    /// Packets read from memory and sent.
    pub sent: u64,
    /// Packets that came while the buffer was full.
    pub dropped: u64,
    /// Requests that came while their queue was full, or that lie outside memory.
    pub refused: u64,
}

/// A frame on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub first: Cycle,
    pub last: Cycle,
    pub frame: Vec<u8>,
}

/// Holds the NIC.
#[derive(Clone, Debug)]
pub struct DmaNic {
    section: DmaNicSection,
    /// Frames that are complete on the pins from a cycle on.
    waiting: VecDeque<(Cycle, Vec<u8>)>,
    waiting_bytes: usize,
    /// Where packets may be put, and since when.
    places: VecDeque<(Cycle, u64)>,
    /// Bytes of packets that are in memory from a cycle on.
    received: VecDeque<(Cycle, u64)>,
    writer_free: Cycle,
    /// When packets to be sent have been read.
    sent: VecDeque<Cycle>,
    reader_free: Cycle,
    pins_free: Cycle,
    pub(crate) leaving: VecDeque<Leaving>,
    counts: Counts,
}

impl DmaNic {
    /// Makes a NIC with nothing to do.
    pub fn new(section: &DmaNicSection) -> Self {
        Self {
            section: section.clone(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            places: VecDeque::new(),
            received: VecDeque::new(),
            writer_free: 0,
            sent: VecDeque::new(),
            reader_free: 0,
            pins_free: 0,
            leaving: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Tells whether an address is one of its registers.
    pub fn has(address: u64) -> bool {
        (BASE..END).contains(&address)
    }

    /// Gives what it did so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a frame whose first flit is on the pins in cycle `first_flit`.
    pub(crate) fn inject(&mut self, first_flit: Cycle, frame: &[u8]) {
        if self.waiting_bytes + frame.len() > self.section.buffer_bytes {
            self.counts.dropped += 1;
            return;
        }
        let complete = first_flit + self.beats(frame.len());
        self.waiting_bytes += frame.len();
        self.waiting.push_back((complete, self.swapped(frame.to_vec())));
    }

    /// Reads a register in cycle `now`.
    pub(crate) fn read(&mut self, address: u64, now: Cycle, memory: &mut Memory) -> u64 {
        self.receive(now, memory);
        match address {
            SEND_COMPLETION => {
                let done = self.sent.front().is_some_and(|at| *at <= now);
                if done {
                    self.sent.pop_front();
                }
                done.into()
            }
            RECEIVE_COMPLETION => match self.received.front() {
                Some(&(at, bytes)) if at <= now => {
                    self.received.pop_front();
                    bytes
                }
                _ => 0,
            },
            COUNTS => {
                let limit = self.section.queue_requests;
                let room = |used: usize| limit.saturating_sub(used) as u64;
                let sent = self.sent.iter().filter(|at| **at <= now).count() as u64;
                let received = self.received.iter().filter(|(at, _)| *at <= now).count() as u64;
                room(self.sent.len()) | room(self.places.len()) << 4 | sent << 8 | received << 12
            }
            _ => 0,
        }
    }

    /// Writes a register in cycle `now`.
    pub(crate) fn write(&mut self, address: u64, value: u64, now: Cycle, memory: &mut Memory) {
        self.receive(now, memory);
        match address {
            SEND_REQUEST if self.sent.len() < self.section.queue_requests => {
                self.send(value & 0xffff_ffff_ffff, (value >> 48 & 0x7fff) as usize, now, memory);
            }
            RECEIVE_REQUEST if self.places.len() < self.section.queue_requests => {
                self.places.push_back((now, value));
                self.receive(now, memory);
            }
            SEND_REQUEST | RECEIVE_REQUEST => self.counts.refused += 1,
            _ => {}
        }
    }

    /// Puts packets that are complete by `now` where the program wants them.
    fn receive(&mut self, now: Cycle, memory: &mut Memory) {
        while let (Some((complete, _)), Some(&(posted, address))) =
            (self.waiting.front(), self.places.front())
        {
            let start = posted.max(*complete).max(self.writer_free);
            if start > now {
                break;
            }
            let Some((_, frame)) = self.waiting.pop_front() else { break };
            self.places.pop_front();
            self.waiting_bytes -= frame.len();
            let extra = touch(memory, address, frame.len(), true);
            memory.write_bytes(address, &frame);
            let done = start
                + self.section.setup_cycles
                + self.beats(frame.len())
                + self.section.write_cycles
                + extra;
            self.writer_free = done;
            self.received.push_back((done, frame.len() as u64));
            self.counts.received += 1;
        }
    }

    /// Reads a packet from memory and sends it.
    fn send(&mut self, address: u64, bytes: usize, now: Cycle, memory: &mut Memory) {
        let Some(frame) = memory.bytes(address, bytes).filter(|_| bytes > 0) else {
            self.counts.refused += 1;
            return;
        };
        let frame = self.swapped(frame);
        let start = now.max(self.reader_free) + self.section.setup_cycles;
        let extra = touch(memory, address, bytes, false);
        let first = (start + self.section.read_cycles + extra).max(self.pins_free);
        let end = first + self.beats(bytes);
        self.reader_free = end;
        self.pins_free = end;
        self.sent.push_back(end);
        self.leaving.push_back(Leaving { first, last: end - 1, frame });
        self.counts.sent += 1;
    }

    fn beats(&self, bytes: usize) -> Cycle {
        (bytes as u64).div_ceil(self.section.beat_bytes)
    }

    fn swapped(&self, mut frame: Vec<u8>) -> Vec<u8> {
        if self.section.swap_words {
            let words = frame.get_mut(HEADER_BYTES..).unwrap_or_default();
            words.as_chunks_mut::<8>().0.iter_mut().for_each(|word| word.reverse());
        }
        frame
    }
}

/// Takes the lines of a packet from the harts' caches; gives what that adds to the way through the L2.
fn touch(memory: &mut Memory, address: u64, bytes: usize, write: bool) -> Cycle {
    let (mut probed, mut missed) = (false, 0);
    let last = address.saturating_add(bytes.max(1) as u64 - 1);
    for line in address / LINE_BYTES..=last / LINE_BYTES {
        let grant = memory.l2.acquire(line, HOLDER, write);
        memory.l2.release(line, HOLDER);
        if grant.probe != 0 {
            probed = true;
            memory.probes.push((grant.probe, line, !write));
        }
        if let Some((evicted, holders)) = grant.evicted {
            memory.probes.push((holders, evicted, false));
        }
        // A whole line is written without reading it; lines are fetched side by side.
        if !grant.hit && !write {
            missed = missed.max(memory.outer_fetch(line));
        }
    }
    missed + if probed { memory.costs.probe_cycles } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::memory::MemorySection;

    fn memory() -> Memory {
        let section = MemorySection {
            base_address: 0x8000_0000,
            size: pinion_sim::config::Bytes(1 << 16),
            l2_sets: 16,
            l2_ways: 2,
            l2_preloaded: false,
            dram_cycles: 200,
            last_level_sets: 0,
            last_level_ways: 1,
            last_level_cycles: 0,
            row_bytes: 0,
            banks: 1,
            open_row_cycles: 0,
            write_back_cycles: 18,
            probe_cycles: 16,
            device_cycles: 20,
            timebase_cycles: 1,
        };
        Memory::new(&section, 1)
    }

    fn nic(swap_words: bool) -> DmaNic {
        DmaNic::new(&DmaNicSection {
            queue_requests: 2,
            buffer_bytes: 200,
            beat_bytes: 8,
            setup_cycles: 4,
            read_cycles: 24,
            write_cycles: 24,
            swap_words,
        })
    }

    fn count(nic: &mut DmaNic, shift: u32, now: Cycle, memory: &mut Memory) -> u64 {
        nic.read(COUNTS, now, memory) >> shift & 15
    }

    #[test]
    fn a_packet_is_in_memory_when_its_completion_says_so() {
        let (mut memory, mut nic) = (memory(), nic(true));
        let frame: Vec<u8> = (0..72).collect();
        nic.inject(100, &frame);
        nic.write(RECEIVE_REQUEST, 0x8000_0100, 10, &mut memory);
        // 9 flits in, then setup, 9 beats and the acknowledgement.
        let done = 109 + 4 + 9 + 24;
        assert_eq!(count(&mut nic, 12, done - 1, &mut memory), 0);
        assert_eq!(count(&mut nic, 12, done, &mut memory), 1);
        assert_eq!(nic.read(RECEIVE_COMPLETION, done, &mut memory), 72);
        assert_eq!(count(&mut nic, 12, done, &mut memory), 0);
        let words = memory.bytes(0x8000_0100, 72).unwrap();
        assert_eq!((words[63], words[64], words[71]), (63, 71, 64), "only payload is reversed");
    }

    #[test]
    fn a_packet_leaves_as_it_is_read_and_one_after_the_other() {
        let (mut memory, mut nic) = (memory(), nic(false));
        memory.write_bytes(0x8000_0000, &[7; 72]);
        nic.write(SEND_REQUEST, 72 << 48 | 0x8000_0000, 10, &mut memory);
        nic.write(SEND_REQUEST, 72 << 48 | 0x8000_0000, 11, &mut memory);
        nic.write(SEND_REQUEST, 72 << 48 | 0x8000_0000, 12, &mut memory);
        assert_eq!((nic.counts().sent, nic.counts().refused), (2, 1), "the queue holds two");
        let times: Vec<_> =
            nic.leaving.iter().map(|leaving| (leaving.first, leaving.last)).collect();
        let first = 10 + 4 + 24 + 200;
        assert_eq!(times, [(first, first + 8), (first + 9 + 28, first + 9 + 28 + 8)]);
        assert_eq!(count(&mut nic, 8, first + 8, &mut memory), 0);
        assert_eq!(nic.read(SEND_COMPLETION, first + 9, &mut memory), 1);
        assert_eq!(nic.leaving[0].frame, [7; 72]);
    }

    #[test]
    fn what_cannot_be_is_counted() {
        let (mut memory, mut nic) = (memory(), nic(false));
        for _ in 0..3 {
            nic.inject(0, &[0; 72]);
        }
        assert_eq!(nic.counts().dropped, 1, "200 bytes hold two packets of 72");
        nic.write(SEND_REQUEST, 72 << 48 | 0x1000, 0, &mut memory);
        nic.write(SEND_REQUEST, 0x8000_0000, 0, &mut memory);
        assert_eq!(nic.counts().refused, 2);
        assert_eq!(nic.read(RECEIVE_COMPLETION, 999, &mut memory), 0);
    }
}
