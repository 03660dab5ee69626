//! Transports: what the packet pipeline does with a frame's header, in one trait.
//!
//! A transport is a piece of the packet pipeline (nanoPU paper, §2.1 and §3.1: the programmable pipeline and
//! its externs). On the way in it parses a frame, asks the NIC's externs about the message the
//! frame belongs to ([`Externs`]) and decides ([`Verdict`]); on the way out it says how data and
//! control frames look and when they may go. Everything that takes time or holds payload
//! (reassembly, packetization, timers, packet generator) belongs to the NIC and serves all
//! transports alike.
//!
//! A node makes two of the transport its configuration names, one for each direction: they share
//! nothing but frames and the three requests here. To add a transport, write one file
//! that implements [`Transport`], and name it in [`build`].

mod header;
pub mod homa;
pub mod ndp;
pub mod p4;
mod requests;
#[cfg(test)]
pub(crate) mod testing;

use pinion_net::frame::lnic::{Flags, Header, NotLnic};

pub use self::header::{control_header, data_header};
pub use self::requests::{ControlRequest, Credit, Delivered, Made};
use crate::Cycle;
pub use crate::address::Address;
use crate::machine::transport::{TransportKind, TransportSection};
pub use crate::packets::{MAX_PACKETS, Packets};
pub use pinion_p4::lnic::PipelineCycles;
pub use pinion_p4::lnic::event::Happening;
pub use pinion_p4::lnic::kept::Counts;
pub use pinion_p4::program::EventKind;
pub use pinion_p4::table::entries::Change;

/// Makes the transport that a configuration names, for `messages` incoming messages at a time.
///
/// # Panics
/// If its P4 programs are wrong: a machine that was checked has none that are.
pub fn build(section: &TransportSection, messages: usize) -> Box<dyn Transport> {
    let (rtt_packets, again) = (section.rtt_packets, section.lost_reack);
    match section.kind {
        TransportKind::Ndp => Box::new(ndp::Ndp::new(rtt_packets, messages, again)),
        TransportKind::Homa => {
            let overcommitment = section.homa.overcommitment.max(1).into();
            Box::new(homa::Homa::new(rtt_packets, messages, overcommitment, again))
        }
        TransportKind::Raw | TransportKind::Udp | TransportKind::P4 => {
            let pipelines = section.pipelines().unwrap_or_else(|(key, why)| panic!("{key}: {why}"));
            let numbers = p4::Numbers {
                kind: section.kind,
                rtt_packets,
                messages,
                acknowledge_again: again,
                overcommitment: section.homa.overcommitment.max(1),
                port_base: section.udp.port_base,
                control_port: section.control_port,
                interpreted: section.interpreted,
            };
            Box::new(p4::P4::new(pipelines, numbers))
        }
    }
}

/// Tells what reassembly knows of the message a packet belongs to (the RTL's `get_rx_msg_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageInfo {
    /// The NIC's id of the message: below the number of reassembly buffers, unique while the
    /// message is incomplete or waits for delivery. Index per-message state with it.
    pub rx_id: u16,
    /// This packet is the first that arrived of it: start its state afresh.
    pub new: bool,
    /// Packets the message has, by its length.
    pub packets: u8,
    /// Packets whose payload has arrived, this one included unless it came trimmed.
    pub received: Packets,
}

impl MessageInfo {
    /// Tells whether all packets have arrived.
    pub fn complete(&self) -> bool {
        self.received.count_ones() == u32::from(self.packets)
    }

    /// Counts the packets that have arrived without a gap from the first on (what a cumulative
    /// acknowledgement may say).
    pub fn in_order(&self) -> u8 {
        self.received.trailing_ones() as u8
    }
}

/// Says why reassembly does not take a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The packet has arrived before, and its message is still incomplete or undelivered.
    Duplicate {
        /// What is known of the message.
        message: MessageInfo,
    },
    /// The packet belongs to a message that was delivered not long ago (known with the fix
    /// `duplicate_redelivery` only; the RTL takes it for a new message).
    Finished,
    /// No buffer is free that is large enough.
    NoBuffer,
    /// The application the message is for has used up its share of the buffers.
    Quota,
    /// The packet makes no sense, or is for nobody.
    Bad(DropReason),
}

/// Says what happens to a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes to its place in the message's reassembly buffer; [`Externs::message`] gave the id.
    Reassemble {
        /// The message.
        rx_id: u16,
    },
    /// It is a whole message (transports that do not reassemble).
    Whole,
    /// There is nothing to deliver: control frames and trimmed packets.
    Consume,
    /// It has left the pipeline by the way it came: nothing is delivered.
    Return,
    /// The frame is dropped for this reason.
    Drop(DropReason),
}

/// Says why a frame or message was dropped; every drop is counted under one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// Shorter than the headers it must have.
    Malformed,
    /// Not IPv4 with a plain header.
    NotIp,
    /// Another protocol than the transport's.
    Protocol,
    /// Nothing behind the headers.
    NoPayload,
    /// The header's lengths or numbers contradict each other or the frame.
    HeaderLies,
    /// A message of no bytes.
    ZeroLength,
    /// A message larger than the largest buffer.
    Oversize,
    /// The packet arrived before.
    Duplicate,
    /// The message was delivered before.
    Redelivery,
    /// No reassembly buffer was free.
    NoBuffer,
    /// The application's share of the buffers is used up.
    Quota,
    /// The context's number is higher than the NIC has queues for.
    ContextOutOfRange,
    /// No hart has bound the context.
    ContextUnbound,
}

impl DropReason {
    /// All reasons, in the order of the enum.
    pub const ALL: [Self; 13] = [
        Self::Malformed,
        Self::NotIp,
        Self::Protocol,
        Self::NoPayload,
        Self::HeaderLies,
        Self::ZeroLength,
        Self::Oversize,
        Self::Duplicate,
        Self::Redelivery,
        Self::NoBuffer,
        Self::Quota,
        Self::ContextOutOfRange,
        Self::ContextUnbound,
    ];

    /// Names it as reports do.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NotIp => "not_ip",
            Self::Protocol => "other_protocol",
            Self::NoPayload => "no_payload",
            Self::HeaderLies => "header_lies",
            Self::ZeroLength => "zero_length",
            Self::Oversize => "oversize",
            Self::Duplicate => "duplicate",
            Self::Redelivery => "delivered_before",
            Self::NoBuffer => "no_buffer",
            Self::Quota => "quota",
            Self::ContextOutOfRange => "context_out_of_range",
            Self::ContextUnbound => "context_unbound",
        }
    }
}

impl std::fmt::Display for DropReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<NotLnic> for DropReason {
    fn from(why: NotLnic) -> Self {
        match why {
            NotLnic::Short => Self::Malformed,
            NotLnic::NotIpv4 => Self::NotIp,
            NotLnic::Protocol => Self::Protocol,
            NotLnic::NoPayload => Self::NoPayload,
        }
    }
}

impl From<Refusal> for DropReason {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::Duplicate { .. } => Self::Duplicate,
            Refusal::Finished => Self::Redelivery,
            Refusal::NoBuffer => Self::NoBuffer,
            Refusal::Quota => Self::Quota,
            Refusal::Bad(why) => why,
        }
    }
}

/// Lists what a transport may ask of the NIC while it decides about a frame.
pub trait Externs {
    /// Tells the cycle in which requests made now take effect; it goes into their `at`.
    fn now(&self) -> Cycle;

    /// Looks up the message of a data packet; a new one gets an id and a buffer. The packet counts
    /// as received from here on unless it is `trimmed`.
    ///
    /// # Errors
    /// [`Refusal`] says why the packet cannot be taken; nothing has changed then.
    fn message(&mut self, header: &Header, trimmed: bool) -> Result<MessageInfo, Refusal>;

    /// Asks the packet generator for control frames, to the sender of the packet at hand or, with
    /// that packet's header remembered, of any other.
    fn control(&mut self, request: ControlRequest);

    /// Tells packetization that a packet of a message of ours has arrived.
    fn delivered(&mut self, delivered: Delivered);

    /// Gives packetization credit or asks it to send again.
    fn credit(&mut self, credit: Credit);
}

/// Describes a message that packetization sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Our id of the message.
    pub tx_msg_id: u16,
    /// Where it goes.
    pub dst_ip: u32,
    /// Context that sends.
    pub src_context: u16,
    /// Context that is to receive.
    pub dst_context: u16,
    /// Bytes of the whole message.
    pub msg_len: u16,
    /// Where its buffer starts, in words of 64 B.
    pub buf_ptr: u16,
    /// Which size class the buffer has.
    pub buf_size_class: u8,
    /// Which use of its id this is, counted from 1 without 0; 0 tells nobody, as the RTL does.
    /// Receivers tell a late duplicate from a new message by it.
    pub generation: u16,
    /// Priority that the last [`Credit`] gave; none has come yet if `None`.
    pub granted_priority: Option<u8>,
}

/// States how a transport's messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRules {
    /// Messages are kept and timed until all packets are acknowledged. Otherwise a message's buffer
    /// is free when its last packet has left, and no timer runs.
    pub acknowledged: bool,
    /// Packets that may be sent before any credit arrives; `None` takes the machine's `rtt_packets`.
    pub initial_credit: Option<u16>,
    /// Most packets of a message; `None` leaves it to the buffers.
    pub max_packets: Option<u8>,
    /// The wish to get a packet again sends it within the credit there is; otherwise it waits for
    /// the next credit.
    pub nack_resends: bool,
}

/// States how a transport's control frames are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlRules {
    /// Frames that let a peer send on wait for the pacing token (the rate of a full link); an
    /// acknowledgement never waits and travels alone if the token is missing.
    pub paced: bool,
    /// One frame may carry several flags. Otherwise each flag that is wanted gets a frame of its
    /// own, waiting frames leaving in the order ACK, NACK, PULL.
    pub combined: bool,
    /// Zero bytes behind the headers.
    pub payload_bytes: usize,
}

/// Decides what happens to frames on their way in and how frames look on their way out.
///
/// *Purpose.* One value per direction of a node sits in the packet pipeline; the NIC calls it once
/// per frame, in the frames' order.
///
/// *Required.* The five methods without a body. *Optional.* [`finished`](Self::finished) for
/// transports that keep state of incoming messages. A transport is [`Clone`], so that a node can be
/// saved at any cycle; what it shares with its clones must never change.
///
/// A transport whose messages are single packets and need no acknowledgement returns
/// [`Verdict::Whole`] for every frame it takes and never calls its externs:
///
/// ```
/// use pinion_nanopu::transport::*;
/// use pinion_net::frame::lnic::{Flags, Header};
///
/// /// Carries one message per frame in the NDP layout, under a protocol number of its own.
/// #[derive(Clone)]
/// struct Plain;
///
/// impl Transport for Plain {
///     fn name(&self) -> &'static str {
///         "plain"
///     }
///     fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
///         Ok(Header::parse(frame, 0xfd)?)
///     }
///     fn arrive(&mut self, _: &Header, _: &[u8], _: &mut dyn Externs) -> Verdict {
///         Verdict::Whole
///     }
///     fn send_rules(&self) -> SendRules {
///         SendRules {
///             acknowledged: false,
///             initial_credit: Some(1),
///             max_packets: Some(1),
///             nack_resends: false,
///         }
///     }
///     fn data(&mut self, message: &Outgoing, packet: u8, _again: bool, own: &Address) -> Header {
///         Header { protocol: 0xfd, ..data_header(message, packet, own) }
///     }
/// }
/// ```
pub trait Transport: Send + Sync + Sync + Duplicate {
    /// Names it as configurations do.
    fn name(&self) -> &'static str;

    /// Takes a frame apart into header and payload. A frame format without one of the fields
    /// leaves it zero, but `src_ip`, `src_context`, `dst_context` and `msg_len` must be set for
    /// data: they become the word that an application reads first.
    ///
    /// # Errors
    /// [`DropReason`] says why the frame is not for this transport.
    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason>;

    /// Decides about a frame that arrived: the one that was parsed last.
    fn arrive(&mut self, header: &Header, payload: &[u8], externs: &mut dyn Externs) -> Verdict;

    /// Hears that a message has been handed to the global receive queues (or was given up): its id
    /// may be used again from now on.
    fn finished(&mut self, rx_id: u16) {
        let _ = rx_id;
    }

    /// States how messages are sent.
    fn send_rules(&self) -> SendRules;

    /// Builds the header of a data packet; `again` marks a retransmission.
    fn data(&mut self, message: &Outgoing, packet: u8, again: bool, own: &Address) -> Header;

    /// States how control frames are generated.
    fn control_rules(&self) -> ControlRules {
        ControlRules { paced: false, combined: true, payload_bytes: 1 }
    }

    /// Builds the header of a control frame with `flags`, in answer to `request`.
    fn control(&mut self, request: &ControlRequest, flags: Flags, own: &Address) -> Header {
        control_header(request, flags, own)
    }

    /// Appends a frame's bytes to `frame`.
    fn write(&mut self, header: &Header, payload: &[u8], frame: &mut Vec<u8>) {
        frame.extend_from_slice(&header.write(payload.len()));
        frame.extend_from_slice(payload);
    }

    /// Gives, once, the packets of a message that may be sent before any answer comes, if the packet that
    /// was written last is the message's first and says so; otherwise the [`SendRules`] do.
    fn window(&mut self) -> Option<u16> {
        None
    }

    /// Counts the bytes of headers before the payload of a frame.
    fn header_bytes(&self) -> usize {
        pinion_net::frame::lnic::LNIC_HEADER_BYTES
    }

    /// Gives the cycles that its pipelines take; `None` leaves them to the machine's numbers.
    fn cycles(&self) -> Option<PipelineCycles> {
        None
    }

    /// Tells whether anything comes of a packet, or happens, besides what verdicts and requests say.
    fn is_event_driven(&self) -> bool {
        false
    }

    /// Hears the cycle of what comes next, and that in which its requests take effect.
    fn tell_time(&mut self, at: Cycle, decided: Cycle) {
        let _ = (at, decided);
    }

    /// Gives, once, what the pipeline has made of the packet or event at hand besides its verdict.
    fn made(&mut self) -> Option<Box<Made>> {
        None
    }

    /// Gives the cycles from an event to what it makes others do, if a control handles it, and, of a queue,
    /// the words that it passes.
    fn handles(&self, event: EventKind) -> Option<(Cycle, u32)> {
        let _ = event;
        None
    }

    /// Lets the control of an event do what it says.
    fn happen(&mut self, event: EventKind, happening: &Happening, externs: &mut dyn Externs) {
        let _ = (event, happening, externs);
    }

    /// Gives the cycle in which the next timer of the program fires, and the timer.
    fn next_timer(&self) -> Option<(Cycle, u16)> {
        None
    }

    /// Changes tables of the programs.
    fn change_tables(&mut self, changes: &[Change]) {
        let _ = changes;
    }

    /// Tells what tables and events of the way in, or of the way out, have counted, if there are some.
    fn counts(&self, is_ingress: bool) -> Option<Counts> {
        let _ = is_ingress;
        None
    }

    /// Tells what went wrong with packets, in sentences without a stop.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Copies a transport whose type nobody knows; every [`Transport`] that is [`Clone`] does it.
pub trait Duplicate {
    /// Makes a copy with the same state.
    fn duplicate(&self) -> Box<dyn Transport>;
}

impl<T: Transport + Clone + 'static> Duplicate for T {
    fn duplicate(&self) -> Box<dyn Transport> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Transport> {
    fn clone(&self) -> Self {
        self.as_ref().duplicate()
    }
}
