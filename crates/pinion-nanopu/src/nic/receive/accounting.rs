//! What became of every frame: the receive side's books.
//!
//! In: one entry for each frame when it has been decided about, and one for each message when it
//! has gone to a hart. Out: counts, and whether they add up.

use crate::transport::DropReason;

/// Counts frames by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Frames that arrived and have been decided about.
    pub frames: u64,
    /// Control frames, which end at the NIC.
    pub control: u64,
    /// Data packets that came without their payload and were answered.
    pub trimmed: u64,
    /// Packets dropped, by reason (in the order of [`DropReason::ALL`]).
    dropped: [u64; DropReason::ALL.len()],
    /// Packets whose message went to a hart.
    pub delivered_packets: u64,
    /// Messages that went to a hart.
    pub delivered_messages: u64,
    /// Packets that are in the NIC.
    pub resident_packets: u64,
    /// Message-done commands that found no message outstanding.
    pub unmatched_done: u64,
}

impl Accounting {
    /// Counts a dropped packet.
    pub(super) fn drop_packet(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
    }

    /// Counts a message that went to a hart.
    pub(super) fn deliver(&mut self, packets: u64) {
        self.delivered_messages += 1;
        self.delivered_packets += packets;
        self.resident_packets -= packets;
    }

    /// Gives the packets dropped for a reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Lists the reasons for which packets were dropped, with how many.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().map(|why| (why, self.dropped(why))).filter(|(_, n)| *n > 0)
    }

    /// Counts all packets dropped.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Tells whether every frame is accounted for.
    pub fn balances(&self) -> bool {
        let gone = self.control + self.trimmed + self.dropped_packets() + self.delivered_packets;
        self.frames == gone + self.resident_packets
    }
}
