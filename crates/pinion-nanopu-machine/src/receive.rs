//! Numbers of the receive side: pins, ingress pipeline, reassembly, global receive queues, core
//! selection.

use serde::Deserialize;
use thiserror::Error;

use super::transmit::BufferClass;
use crate::packets::MAX_PACKETS;
use pinion_p4::lnic::PipelineCycles;

/// Bytes of a word of the NIC's datapath (RTL `NET_DP_BITS` is 512, LNIC/LNIC.scala).
pub const DATAPATH_BYTES: usize = 64;

/// Describes the receive side of a NIC.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveSection {
    /// From the pins to the transport's decision.
    pub ingress: IngressSection,
    /// Where packets become messages.
    pub reassembly: ReassemblySection,
    /// Where messages wait for a hart.
    pub global: GlobalReceiveSection,
    /// Which hart gets a message.
    pub core_selection: CoreSelectionSection,
    /// What is done better than the RTL does it.
    pub fixes: ReceiveFixes,
}

/// Describes the pins and the ingress pipeline; cycles are measured on the RTL (calibration set,
/// event tables: `ingress_in`, `control_request`, `ingress_out`).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressSection {
    /// Bytes that arrive on the pins in a cycle (RTL: 8, 204.8 Gb/s at 3.2 GHz).
    pub pin_bytes: u64,
    /// From the last flit of a 64 B word on the pins to the pipeline (2).
    pub arrival_cycles: u64,
    /// From a frame's header in the pipeline to the look-up of its message (2: one to parse, one
    /// in `get_rx_msg_info`).
    pub lookup_cycles: u64,
    /// From the header to the requests that the transport makes (6).
    pub decide_cycles: u64,
    /// From the header to the first word of payload out, at least (8).
    pub header_cycles: u64,
    /// From a word of payload in to the same word out, at least (2).
    pub payload_cycles: u64,
    /// What a packet's first word of payload waits longer (1: reassembly reads its tables).
    pub first_word_cycles: u64,
}

impl IngressSection {
    /// Gives the pipeline of a transport whose program says what it takes; its payload leaves as many
    /// cycles behind the decision as it does here.
    pub fn with(self, cycles: PipelineCycles) -> Self {
        let behind = self.header_cycles.saturating_sub(self.decide_cycles);
        Self {
            lookup_cycles: cycles.lookup,
            decide_cycles: cycles.decide,
            header_cycles: cycles.decide + behind,
            ..self
        }
    }
}

/// Describes reassembly (RTL LNIC/Assemble.scala).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReassemblySection {
    /// Size classes of buffers, smallest first (RTL: 64 of 1024 B, 64 of 2048 B). A message takes
    /// one of the smallest class that is large enough and not empty.
    pub buffers: Vec<BufferClass>,
    /// Most bytes of payload in a packet; a multiple of 64 (RTL `MAX_SEG_LEN_BYTES`: 1024).
    pub packet_bytes: u16,
    /// From a message's last word in to its first word out (2).
    pub deliver_cycles: u64,
    /// Bits of the source address that name a message's sender (RTL: 7, so 128 hosts), unless the
    /// fix `message_key` is on.
    pub host_bits: u32,
    /// Bits of the sender's message id (RTL: 7, so 128 messages a host), unless the fix
    /// `message_key` is on.
    pub id_bits: u32,
    /// Most buffers that messages for one context may hold; without it one application can take
    /// them all, as in the RTL (the paper's footnote 6 names the lack).
    pub context_buffers: Option<u16>,
    /// Finished messages that the fix `duplicate_redelivery` remembers.
    pub remembered_messages: usize,
    /// Cycles for which it remembers those whose sender does not number the uses of its ids.
    pub remembered_cycles: u64,
}

/// Describes the global receive queues (RTL LNIC/RxQueues.scala).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobalReceiveSection {
    /// Contexts that have a queue; their numbers are below this (RTL: 4).
    pub contexts: u16,
    /// 64 B words of all queues together (RTL: 256).
    pub words: u32,
    /// Most 64 B words that wait in one context's queue (RTL: 64).
    pub context_words: u32,
    /// From a message's first word in to the choice of its hart (1).
    pub notice_cycles: u64,
    /// From the choice to the message's header word on its way to the hart (1).
    pub read_cycles: u64,
    /// From a hart's message-done to the choice of what it gets next (2).
    pub done_cycles: u64,
}

/// Chooses how messages are spread over the harts that serve their context.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSelectionSection {
    /// The policy (paper §3.2: JBSQ).
    pub policy: SelectionPolicy,
    /// Messages that may be outstanding at a hart, per context: JBSQ's n (RTL
    /// `MAX_OUTSTANDING_MSGS`: 2). The other policies keep to it too.
    pub outstanding: u16,
    /// What receive-side scaling hashes.
    #[serde(default)]
    pub hash: SelectionHash,
    /// Hart of each context under static assignment; contexts beyond the list go to the hart of
    /// their number modulo the number of harts. A hart that has not bound the context is replaced
    /// by the lowest that has.
    #[serde(default)]
    pub assignment: Vec<u8>,
}

/// Names the core selection policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectionPolicy {
    /// Join the bounded shortest queue: the hart with the fewest outstanding messages gets it,
    /// ties to the lowest number; it waits while all have their share.
    Jbsq,
    /// Receive-side scaling: a hash names the hart, however busy it is.
    Rss,
    /// One hart per context.
    Static,
}

/// Says what receive-side scaling hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectionHash {
    /// Addresses and contexts: all messages of a flow go to one hart, as network cards do.
    #[default]
    Flow,
    /// The message's id as well: messages spread at random.
    Message,
}

/// Switches that improve on the RTL, each for itself; all off is the faithful mode.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveFixes {
    /// A packet of a message that has been delivered is not taken for a new message. The RTL
    /// delivers the message again. A sender that numbers the uses of a message id (in the pull
    /// offset of its data packets, which the RTL leaves zero) is told apart exactly; of others, a
    /// packet that is the same in header and payload counts as the same for `remembered_cycles`.
    pub duplicate_redelivery: bool,
    /// A message for a context that no hart has bound is dropped and counted. The RTL stops.
    pub unbound_context: bool,
    /// A message for a context without a queue is dropped and counted. In the RTL it blocks all
    /// messages behind it for good.
    pub context_out_of_range: bool,
    /// A packet whose lengths contradict each other is dropped and counted. The RTL takes a message
    /// of no bytes and never finishes it, and fills a short packet up with what was in its buffer.
    pub header_checks: bool,
    /// Messages are told apart by the sender's whole address, its context and the whole id, so
    /// any number of hosts may send. The RTL looks at seven bits of the address and of the id.
    pub message_key: bool,
}

impl ReceiveFixes {
    /// Switches everything on.
    pub const ALL: Self = Self {
        duplicate_redelivery: true,
        unbound_context: true,
        context_out_of_range: true,
        header_checks: true,
        message_key: true,
    };
    /// Switches everything off: the RTL's behaviour.
    pub const NONE: Self = Self {
        duplicate_redelivery: false,
        unbound_context: false,
        context_out_of_range: false,
        header_checks: false,
        message_key: false,
    };
}

/// Says what is wrong with a receive section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReceiveSectionError {
    /// A number that must not be so small is.
    #[error("receive: `{0}` must be at least {1}")]
    TooSmall(&'static str, u64),
    /// A size is not a whole number of datapath words.
    #[error("receive: `{0}` must be a positive multiple of 64 bytes, not {1}")]
    NotWords(&'static str, u16),
    /// The size classes are not in ascending order.
    #[error("receive: `reassembly.buffers` must be listed smallest first")]
    Unordered,
    /// A message could have more packets than there are bits for.
    #[error(
        "receive: messages of {0} B have more than {MAX_PACKETS} packets; make \
             `reassembly.packet_bytes` larger or the buffers smaller"
    )]
    TooManyPackets(u16),
    /// A message could never get through the global receive queues.
    #[error(
        "receive: `global.context_words` and `global.words` must hold the longest message, \
             {0} words of 64 B"
    )]
    QueueTooShort(u32),
}

impl ReceiveSection {
    /// Gives the artifact's receive side (RTL at tag v1.0) with these fixes.
    pub fn artifact(fixes: ReceiveFixes) -> Self {
        Self {
            ingress: IngressSection {
                pin_bytes: 8,
                arrival_cycles: 2,
                lookup_cycles: 2,
                decide_cycles: 6,
                header_cycles: 8,
                payload_cycles: 2,
                first_word_cycles: 1,
            },
            reassembly: ReassemblySection {
                buffers: vec![
                    BufferClass { bytes: 1024, count: 64 },
                    BufferClass { bytes: 2048, count: 64 },
                ],
                packet_bytes: 1024,
                deliver_cycles: 2,
                host_bits: 7,
                id_bits: 7,
                context_buffers: None,
                remembered_messages: 4096,
                remembered_cycles: 131_072,
            },
            global: GlobalReceiveSection {
                contexts: 4,
                words: 256,
                context_words: 64,
                notice_cycles: 1,
                read_cycles: 1,
                done_cycles: 2,
            },
            core_selection: CoreSelectionSection {
                policy: SelectionPolicy::Jbsq,
                outstanding: 2,
                hash: SelectionHash::Flow,
                assignment: Vec::new(),
            },
            fixes,
        }
    }

    /// Checks that the numbers describe a machine.
    ///
    /// # Errors
    /// [`ReceiveSectionError`] names the number that does not.
    pub fn check(&self) -> Result<(), ReceiveSectionError> {
        use ReceiveSectionError::{NotWords, QueueTooShort, TooManyPackets, TooSmall, Unordered};
        let (ingress, global) = (&self.ingress, &self.global);
        let at_least = [
            ("ingress.pin_bytes", ingress.pin_bytes, 1),
            ("ingress.arrival_cycles", ingress.arrival_cycles, 1),
            ("ingress.lookup_cycles", ingress.lookup_cycles, 1),
            ("ingress.decide_cycles", ingress.decide_cycles, ingress.lookup_cycles),
            ("ingress.header_cycles", ingress.header_cycles, ingress.lookup_cycles + 1),
            ("ingress.payload_cycles", ingress.payload_cycles, 1),
            ("reassembly.buffers", self.reassembly.buffers.len() as u64, 1),
            ("reassembly.deliver_cycles", self.reassembly.deliver_cycles, 1),
            ("global.contexts", u64::from(global.contexts), 1),
            ("global.notice_cycles", global.notice_cycles, 1),
            ("global.read_cycles", global.read_cycles, 1),
            ("global.done_cycles", global.done_cycles, 1),
            ("core_selection.outstanding", u64::from(self.core_selection.outstanding), 1),
        ];
        if let Some(&(name, _, least)) = at_least.iter().find(|(_, value, least)| value < least) {
            return Err(TooSmall(name, least));
        }
        let words = |bytes: u16| bytes > 0 && usize::from(bytes).is_multiple_of(DATAPATH_BYTES);
        if !words(self.reassembly.packet_bytes) {
            return Err(NotWords("reassembly.packet_bytes", self.reassembly.packet_bytes));
        }
        if let Some(class) = self.reassembly.buffers.iter().find(|class| !words(class.bytes)) {
            return Err(NotWords("reassembly.buffers.bytes", class.bytes));
        }
        if !self.reassembly.buffers.is_sorted_by(|a, b| a.bytes < b.bytes) {
            return Err(Unordered);
        }
        let bytes = self.reassembly.longest_message_bytes();
        if usize::from(bytes.div_ceil(self.reassembly.packet_bytes)) > MAX_PACKETS {
            return Err(TooManyPackets(bytes));
        }
        let longest = u32::from(bytes) / DATAPATH_BYTES as u32;
        if global.context_words < longest || global.words < longest {
            return Err(QueueTooShort(longest));
        }
        Ok(())
    }
}

impl ReassemblySection {
    /// Counts the bytes of the longest message that fits in a buffer.
    pub fn longest_message_bytes(&self) -> u16 {
        self.buffers.iter().map(|class| class.bytes).max().unwrap_or(0)
    }

    /// Counts the messages that may be under way: one per buffer.
    pub fn messages(&self) -> usize {
        self.buffers.iter().map(|class| usize::from(class.count)).sum()
    }
}
