//! What a NIC counts, and that every packet is accounted for.

use crate::DropReason;

/// Counts what went through a NIC.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Packets taken from the traffic.
    pub packets_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// Packets that matched a context.
    pub matched: u64,
    /// Packets handed to the host's network stack.
    pub unmatched: u64,
    /// Packets whose completion came back.
    pub processed: u64,
    /// Cycles in which a HER was there and the MPQ engine could not take it.
    pub her_stall_cycles: u64,
    /// Packets sent by commands.
    pub packets_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Writes to host memory.
    pub host_writes: u64,
    /// Bytes of them.
    pub host_bytes: u64,
    /// Packets dropped, by reason.
    pub dropped: Vec<(DropReason, u64)>,
    /// Unfinished messages evicted to make room.
    pub evicted: u64,
    /// Packets still inside.
    pub resident: u64,
    /// Instructions retired since the machine was ready.
    pub instructions: u64,
    /// Cycles in which an HPU had a task, summed over HPUs.
    pub busy_cycles: u64,
    /// Cycles since the machine was ready.
    pub cycles: u64,
    /// Lines that cores waited for since reset.
    pub cache_misses: u64,
    /// Handlers that ended by an exception or the watchdog, and refused commands.
    pub faults: u64,
    /// Atomics that answered 1 instead of the old value, where a register took the answer.
    pub false_answers: u64,
    /// Cores' transfers from or to where their DMA engine does not reach.
    pub unreached_transfers: u64,
}

impl Totals {
    /// Gives the packets dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().map(|(_, count)| count).sum()
    }

    /// Checks that every packet is accounted for.
    ///
    /// # Errors
    /// The equation that does not hold, with its numbers.
    pub fn conserved(&self) -> Result<(), String> {
        let out = self.unmatched + self.processed + self.dropped_total() + self.resident;
        if self.packets_in == out {
            return Ok(());
        }
        Err(format!(
            "packets in {} != unmatched {} + processed {} + dropped {} + resident {}",
            self.packets_in,
            self.unmatched,
            self.processed,
            self.dropped_total(),
            self.resident
        ))
    }

    /// Adds a unit's counters to those of the level in front of it, which has counted what came in.
    pub(crate) fn add(&mut self, unit: &Self) {
        self.matched += unit.matched;
        self.unmatched += unit.unmatched;
        self.processed += unit.processed;
        self.packets_out += unit.packets_out;
        self.bytes_out += unit.bytes_out;
        self.host_writes += unit.host_writes;
        self.host_bytes += unit.host_bytes;
        for &(reason, count) in &unit.dropped {
            self.count_drops(reason, count);
        }
        self.evicted += unit.evicted;
        self.resident += unit.resident;
        self.instructions += unit.instructions;
        self.busy_cycles += unit.busy_cycles;
        self.cycles = self.cycles.max(unit.cycles);
        self.cache_misses += unit.cache_misses;
        self.faults += unit.faults;
        self.false_answers += unit.false_answers;
        self.unreached_transfers += unit.unreached_transfers;
    }

    /// Counts a packet that is dropped.
    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        self.count_drops(reason, 1);
    }

    fn count_drops(&mut self, reason: DropReason, more: u64) {
        match self.dropped.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += more,
            None => self.dropped.push((reason, more)),
        }
    }
}
