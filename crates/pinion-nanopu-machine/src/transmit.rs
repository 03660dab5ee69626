//! Numbers of the transmit side: local transmit queues, packetization, timers, packet generator,
//! egress pipeline.

use serde::Deserialize;
use thiserror::Error;

use crate::packets::MAX_PACKETS;

/// Bytes of a word of the NIC's datapath (RTL `NET_DP_BITS` is 512, LNIC/LNIC.scala).
pub const DATAPATH_BYTES: usize = 64;

/// Describes the transmit side of a NIC.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransmitSection {
    /// Words of 64 bits that a hart's local transmit queue holds, all contexts together (RTL: 1024).
    pub queue_words: usize,
    /// Most bytes of payload in a packet; a multiple of 64 (RTL `MAX_SEG_LEN_BYTES`: 1024).
    pub packet_bytes: u16,
    /// Size classes of packetization buffers, smallest first (RTL: 64 of 1024 B, 64 of 2048 B). The
    /// largest is the longest message.
    pub buffers: Vec<BufferClass>,
    /// Messages that may be under way, each with an id (RTL: 128).
    pub message_ids: u16,
    /// Most buffers that the messages of one context may hold, all harts together; without it one
    /// application can take them all, as in the RTL (the paper's footnote 6 names the lack).
    pub context_buffers: Option<u16>,
    /// Descriptors that each of the three queues of scheduled packets holds: first transmissions,
    /// those that credit released, those that timed out (RTL: 256).
    pub scheduled_descriptors: usize,
    /// The retransmission timers.
    pub timer: TimerSection,
    /// The packet generator.
    pub generator: GeneratorSection,
    /// The arbiter and the egress pipeline.
    pub egress: EgressSection,
    /// Cycles between stages.
    pub latency: TransmitLatency,
    /// What is done better than the RTL does it.
    pub fixes: TransmitFixes,
}

/// Describes the buffers of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferClass {
    /// Bytes of each; a multiple of 64.
    pub bytes: u16,
    /// How many there are.
    pub count: u16,
}

/// Describes the retransmission timers (RTL LNIC/Timers).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerSection {
    /// Cycles from sending the first word of a message, or its last timeout, to its timeout (RTL
    /// plusarg `timeout_cycles`; 30000 in the artifact's Verilator runs, 2240 under FireSim).
    pub timeout_cycles: u64,
    /// Cycles that the scan spends on each message id: one to read, the rest to compare (RTL: 2).
    pub scan_cycles_per_entry: u64,
    /// Cycle in which the scan first compares entry 0. On the hardware it depends on how long
    /// loading the program took.
    #[serde(default)]
    pub scan_phase_cycles: u64,
}

/// Describes the packet generator (RTL LNIC/PktGen).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorSection {
    /// Cycles until the token that a PULL takes comes back; the next PULL may go in the cycle
    /// after (RTL: 3 * 8192 / 200 = 122, the time of a 1 KiB packet at 200 Gb/s and 3 GHz).
    pub pull_token_cycles: u64,
    /// Control frames that wait for the arbiter (RTL: 256).
    pub queue_frames: usize,
    /// PULLs that wait for a token (RTL: 256).
    pub paced_pulls: usize,
}

/// Describes the arbiter between control and data frames and the egress pipeline behind it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgressSection {
    /// 64 B words of payload between arbiter and pipeline (RTL: 34).
    pub arbiter_words: usize,
    /// 64 B words of payload in the pipeline (RTL: 34).
    pub pipeline_words: usize,
    /// Bytes that leave on the pins in a cycle (RTL: 8, 204.8 Gb/s at 3.2 GHz).
    pub pin_bytes: u64,
}

/// Gives the cycles between stages, all measured on the RTL (calibration set, event tables).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransmitLatency {
    /// From the write of x31 to packetization (1).
    pub queue_cycles: u64,
    /// From the last 64-bit word of a packet in to its first 64 B word out; at least 2 (2).
    pub buffer_cycles: u64,
    /// From an acknowledgement, credit or timeout to its effect on a message (2).
    pub notice_cycles: u64,
    /// From the request for a control frame to the arbiter; at least 2 (2).
    pub generator_cycles: u64,
    /// From the arbiter to the egress pipeline (1).
    pub arbiter_cycles: u64,
    /// From the egress pipeline's first word in to the first flit on the pins (1).
    pub pipeline_cycles: u64,
}

/// Switches that improve on the RTL, each for itself; all off is the faithful mode.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransmitFixes {
    /// A message that is delivered is marked so: acknowledgements and credit for it, or for packets
    /// that were never sent, change nothing. The RTL frees the buffer twice and stops.
    pub double_ack: bool,
    /// When no more PULLs can wait for the token, a PULL goes at once with its ACK or NACK, and
    /// when no more control frames can wait, a frame is dropped and counted. The RTL stops.
    pub pull_overflow: bool,
    /// A hart with a full transmit queue waits (the node asks `room`); words written all the same
    /// are dropped and counted. The RTL stops.
    pub tx_queue_full: bool,
    /// A header word that announces no bytes, or more than the largest buffer, is refused and its
    /// words are dropped with it. The RTL waits for a buffer for ever.
    pub bad_headers: bool,
    /// A header word that waits for a buffer holds up its own context only. In the RTL everything
    /// behind it waits, on all harts.
    pub head_of_line: bool,
    /// A timeout sends again what was sent before. The RTL sends a message's first packet even if
    /// the program has not written it yet.
    pub unsent_timeout: bool,
    /// Credit that comes late takes nothing back: a message keeps the most it ever got. The RTL
    /// overwrites it, and packets written after that wait for ever.
    pub stale_credit: bool,
    /// Data packets tell which use of its id their message is, in the field that is the pull offset
    /// of control frames, so that receivers know late duplicates from new messages. The RTL's
    /// field is zero.
    pub message_generation: bool,
}

impl TransmitFixes {
    /// Switches everything on.
    pub const ALL: Self = Self {
        double_ack: true,
        pull_overflow: true,
        tx_queue_full: true,
        bad_headers: true,
        head_of_line: true,
        unsent_timeout: true,
        stale_credit: true,
        message_generation: true,
    };
    /// Switches everything off: the RTL's behaviour.
    pub const NONE: Self = Self {
        double_ack: false,
        pull_overflow: false,
        tx_queue_full: false,
        bad_headers: false,
        head_of_line: false,
        unsent_timeout: false,
        stale_credit: false,
        message_generation: false,
    };
}

/// Says what is wrong with a transmit section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TransmitSectionError {
    /// A number that must not be zero is.
    #[error("transmit: `{0}` must be at least {1}")]
    TooSmall(&'static str, u64),
    /// A size is not a whole number of datapath words.
    #[error("transmit: `{0}` must be a positive multiple of 64 bytes, not {1}")]
    NotWords(&'static str, u16),
    /// The size classes are not in ascending order.
    #[error("transmit: `buffers` must be listed smallest first")]
    Unordered,
    /// A message could have more packets than there are bits for.
    #[error(
        "transmit: messages of {bytes} B in packets of {packet_bytes} B have more than {MAX_PACKETS} packets; \
             make `packet_bytes` larger or the buffers smaller"
    )]
    TooManyPackets {
        /// Bytes of the largest buffer.
        bytes: u16,
        /// Bytes of a packet.
        packet_bytes: u16,
    },
    /// The node has no harts or contexts, or more than the queues can tell apart.
    #[error("transmit: a NIC serves 1 to 64 harts of 1 to 64 contexts, not {harts} of {contexts}")]
    HartsOrContexts {
        /// Harts asked for.
        harts: usize,
        /// Contexts asked for.
        contexts: usize,
    },
    /// Buffer pointers would not fit in the frames' field.
    #[error("transmit: the buffers have more than 65536 words of 64 B, which frames cannot name")]
    TooManyWords,
}

impl TransmitSection {
    /// Gives the artifact's transmit side (RTL at tag v1.0) with these fixes.
    pub fn artifact(timeout_cycles: u64, fixes: TransmitFixes) -> Self {
        Self {
            queue_words: 1024,
            packet_bytes: 1024,
            buffers: vec![
                BufferClass { bytes: 1024, count: 64 },
                BufferClass { bytes: 2048, count: 64 },
            ],
            message_ids: 128,
            context_buffers: None,
            scheduled_descriptors: 256,
            timer: TimerSection { timeout_cycles, scan_cycles_per_entry: 2, scan_phase_cycles: 0 },
            generator: GeneratorSection {
                pull_token_cycles: 122,
                queue_frames: 256,
                paced_pulls: 256,
            },
            egress: EgressSection { arbiter_words: 34, pipeline_words: 34, pin_bytes: 8 },
            latency: TransmitLatency {
                queue_cycles: 1,
                buffer_cycles: 2,
                notice_cycles: 2,
                generator_cycles: 2,
                arbiter_cycles: 1,
                pipeline_cycles: 1,
            },
            fixes,
        }
    }

    /// Checks that the numbers describe a machine.
    ///
    /// # Errors
    /// [`TransmitSectionError`] names the number that does not.
    pub fn check(&self) -> Result<(), TransmitSectionError> {
        use TransmitSectionError::{NotWords, TooManyPackets, TooManyWords, TooSmall, Unordered};
        let at_least = [
            ("queue_words", self.queue_words as u64, 1),
            ("message_ids", u64::from(self.message_ids), 1),
            ("scheduled_descriptors", self.scheduled_descriptors as u64, 1),
            ("buffers", self.buffers.len() as u64, 1),
            ("context_buffers", u64::from(self.context_buffers.unwrap_or(1)), 1),
            ("timer.timeout_cycles", self.timer.timeout_cycles, 1),
            ("timer.scan_cycles_per_entry", self.timer.scan_cycles_per_entry, 1),
            ("generator.queue_frames", self.generator.queue_frames as u64, 1),
            ("generator.paced_pulls", self.generator.paced_pulls as u64, 1),
            ("egress.arbiter_words", self.egress.arbiter_words as u64, 1),
            ("egress.pipeline_words", self.egress.pipeline_words as u64, 1),
            ("egress.pin_bytes", self.egress.pin_bytes, 1),
            ("latency.queue_cycles", self.latency.queue_cycles, 1),
            ("latency.buffer_cycles", self.latency.buffer_cycles, 2),
            ("latency.notice_cycles", self.latency.notice_cycles, 1),
            ("latency.generator_cycles", self.latency.generator_cycles, 2),
            ("latency.arbiter_cycles", self.latency.arbiter_cycles, 1),
            ("latency.pipeline_cycles", self.latency.pipeline_cycles, 1),
        ];
        if let Some(&(name, _, least)) = at_least.iter().find(|(_, value, least)| value < least) {
            return Err(TooSmall(name, least));
        }
        let words = |bytes: u16| bytes > 0 && usize::from(bytes).is_multiple_of(DATAPATH_BYTES);
        if !words(self.packet_bytes) {
            return Err(NotWords("packet_bytes", self.packet_bytes));
        }
        if let Some(class) = self.buffers.iter().find(|class| !words(class.bytes)) {
            return Err(NotWords("buffers.bytes", class.bytes));
        }
        if !self.buffers.is_sorted_by(|a, b| a.bytes < b.bytes) {
            return Err(Unordered);
        }
        let (bytes, packet_bytes) = (self.longest_message_bytes(), self.packet_bytes);
        if usize::from(bytes.div_ceil(packet_bytes)) > MAX_PACKETS {
            return Err(TooManyPackets { bytes, packet_bytes });
        }
        if self.buffer_words() > 1 << 16 {
            return Err(TooManyWords);
        }
        Ok(())
    }

    /// Counts the bytes of the longest message that fits in a buffer.
    pub fn longest_message_bytes(&self) -> u16 {
        self.buffers.iter().map(|class| class.bytes).max().unwrap_or(0)
    }

    /// Counts the 64 B words of all buffers.
    pub fn buffer_words(&self) -> usize {
        let words = |c: &BufferClass| usize::from(c.bytes) / DATAPATH_BYTES * usize::from(c.count);
        self.buffers.iter().map(words).sum()
    }
}
