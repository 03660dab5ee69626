//! What the transmit side counts, and what it says is left at the end of a run.

/// Counts what happened to words, messages and frames.
///
/// `messages` = `delivered` + `refused_empty` + `refused_oversize` + those that
/// [`Transmit::resident`](super::Transmit::resident) lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Words written to x31.
    pub words: u64,
    /// Words dropped because the transmit queue was full.
    pub words_lost: u64,
    /// Words dropped because their context's number is higher than the NIC knows.
    pub words_unknown_context: u64,
    /// Words dropped with the message they belonged to.
    pub words_refused: u64,
    /// Header words that packetization took.
    pub messages: u64,
    /// Messages delivered (for transports without acknowledgements: sent).
    pub delivered: u64,
    /// Messages refused because they announced no bytes.
    pub refused_empty: u64,
    /// Messages refused because no buffer is large enough.
    pub refused_oversize: u64,
    /// Cycles in which nothing could enter packetization but a header word that had to wait for a
    /// buffer, an id or its context's share; counted when it is tried.
    pub header_waits: u64,
    /// Data packets sent for the first time.
    pub packets: u64,
    /// Data packets sent again.
    pub packets_again: u64,
    /// Timeouts of messages.
    pub timeouts: u64,
    /// Acknowledgements of packets that are not under way.
    pub stray_acknowledgements: u64,
    /// Credit, or requests to send again, for messages that are not under way.
    pub stray_credits: u64,
    /// Control frames sent, whatever their flags.
    pub control_frames: u64,
    /// Acknowledgements sent, alone or with others.
    pub acknowledgements: u64,
    /// Negative acknowledgements sent, alone or with others.
    pub negative_acknowledgements: u64,
    /// PULLs or grants sent, alone or with others.
    pub pulls: u64,
    /// PULLs that did not wait for the token because too many did.
    pub pulls_unpaced: u64,
    /// Control frames dropped because too many waited.
    pub control_frames_dropped: u64,
    /// Frames sent that the ingress pipeline has made.
    pub made_frames: u64,
    /// Those dropped because too many waited.
    pub made_frames_dropped: u64,
}

impl Counters {
    /// Counts the frames sent, whatever is in them.
    pub fn frames(&self) -> u64 {
        self.packets + self.packets_again + self.control_frames + self.made_frames
    }
}

/// Describes a message that is still in packetization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Hart that wrote it.
    pub hart: u8,
    /// Context that wrote it.
    pub context: u16,
    /// Its id.
    pub tx_msg_id: u16,
    /// Where it goes.
    pub dst_ip: u32,
    /// Bytes announced.
    pub msg_len: u16,
    /// Words announced but not written yet.
    pub words_missing: u16,
    /// Packets that the peer has acknowledged.
    pub packets_delivered: u32,
    /// Packets it has.
    pub packets: u8,
}
