//! Answers to the externs of a program: from the NIC's units, and from what lasts ([`Kept`]).

use pinion_net::frame::internet_checksum;
use pinion_net::frame::lnic::{Flags, Header};
use pinion_p4::flat::{Flat, REGISTERS, Units, Words};
use pinion_p4_translate::forms;

use crate::Cycle;
use crate::transport::{
    ControlRequest, Credit, Delivered, DropReason, Externs, MAX_PACKETS, MessageInfo, Refusal,
};
use pinion_p4::lnic::kept::{Fields, Kept};
use pinion_p4::lnic::pending::{Current, Granted, KEPT, Order};
use pinion_p4::lnic::unit::{Answer, Array, Arrived, Lookup, Place, Priority, Sum, Unit, Wish};

/// Puts a field of an answer where the program looks for it.
#[inline]
fn put(registers: &mut Words, place: Place, value: u64) {
    if let Some(register) = place {
        registers[register % REGISTERS] = value;
    }
}

/// Adds up bytes of a frame in words of 16 bits, as the Internet's checksums do (RFC 1071); what is
/// behind its end counts as zero.
fn sum(frame: &[u8], fields: Sum, ask: Fields) -> u64 {
    let (from, length) = (ask.get(fields.from) as usize, ask.get(fields.length) as usize);
    let rest = frame.get(from..).unwrap_or(&[]);
    u64::from(!internet_checksum(&rest[..length.min(rest.len())]))
}

/// Answers with what lasts, and with what the frame at hand says; about one that goes out nothing is known
/// yet.
pub(super) struct Alone<'a> {
    pub(super) units: &'a [Unit],
    pub(super) kept: &'a mut Kept,
    pub(super) frame: &'a [u8],
    /// Priority of the last grant of the message at hand, which packetization knows.
    pub(super) granted: Option<u8>,
}

impl Alone<'_> {
    /// Gives the priority of a message of ours: what it was granted last, or what the program has written.
    fn priority(&mut self, fields: &Priority, ask: Fields) -> u64 {
        let entries = &mut self.kept.priorities;
        let index = usize::from(ask.get(fields.index) as u16);
        if entries.len() <= index {
            entries.resize(index + 1, 0);
        }
        let entry = &mut entries[index];
        match (fields.updates_all || ask.get(fields.update) != 0, self.granted) {
            (true, _) => *entry = ask.get(fields.priority),
            (false, Some(granted)) => *entry = granted.into(),
            (false, None) => {}
        }
        *entry
    }
}

impl Units for Alone<'_> {
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words) {
        let ask = Fields(registers);
        let (answer, value) = match &self.units[site] {
            Unit::Array(array) => (array.answer, self.kept.array(array, ask)),
            Unit::Sum(fields) => (fields.answer, sum(self.frame, *fields, ask)),
            Unit::Delay { given, answer } => (*answer, ask.get(*given)),
            Unit::Priority(fields) => (fields.answer, self.priority(fields, ask)),
            Unit::Start(start) => return self.kept.start(start, ask),
            Unit::Table(table) => {
                return table.ask(self.kept.tables(), &flat.sites[site], registers);
            }
            // A program that asks others is not answered here.
            Unit::Lookup(_) | Unit::Delivered(_) | Unit::Credit(_) | Unit::Control { .. } => return,
            Unit::Current(_) | Unit::Order(_) | Unit::Granted(_) => return,
        };
        put(registers, answer, value);
    }

    #[inline(always)]
    fn answer<const FORM: usize>(&mut self, registers: &mut Words) {
        let ask = Fields(registers);
        let (answer, value) = match FORM {
            forms::of::ARRAY => {
                let array = forms::array(registers);
                (array.answer, self.kept.array(&array, ask))
            }
            forms::of::PRIORITY => (forms::PRIORITY.answer, self.priority(&forms::PRIORITY, ask)),
            _ => return,
        };
        put(registers, answer, value);
    }
}

/// Answers the requests of an ingress program about the frame at hand.
pub(super) struct Answers<'a> {
    units: &'a [Unit],
    kept: &'a mut Kept,
    header: &'a Header,
    externs: &'a mut dyn Externs,
    /// Priority that the packet grants, which goes to packetization with its credit.
    priority: u8,
    /// What reassembly said if it was asked: the message, or why it does not take the packet.
    pub(super) taken: Option<Result<u16, DropReason>>,
    /// The cycle in which requests take effect.
    at: Cycle,
}

impl<'a> Answers<'a> {
    /// Makes answers for a frame with this header.
    pub(super) fn new(
        units: &'a [Unit],
        kept: &'a mut Kept,
        header: &'a Header,
        externs: &'a mut dyn Externs,
    ) -> Self {
        let priority = header.grant_priority;
        let at = externs.now();
        Self { units, kept, header, externs, priority, taken: None, at }
    }

    #[inline(always)]
    fn look_up(&mut self, fields: &Lookup, registers: &mut Words) {
        let ask = Fields(registers);
        let is_trimmed = ask.get(fields.mark_received) == 0;
        let answer = match fields.is_known {
            true => self.externs.message(self.header, is_trimmed),
            false => self.externs.message(&self.asked_for(fields, ask), is_trimmed),
        };
        match answer {
            Ok(message) => {
                self.taken = Some(Ok(message.rx_id));
                tell(fields, registers, Some(message), [false; 3]);
            }
            Err(refusal) => self.refuse(fields, registers, refusal),
        }
    }

    /// Tells a program that reassembly does not take its packet, and why.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, fields: &Lookup, registers: &mut Words, refusal: Refusal) {
        self.taken = Some(Err(refusal.into()));
        let (is_known, is_finished) = known(&refusal);
        let message = match refusal {
            Refusal::Duplicate { message } => Some(message),
            _ => None,
        };
        tell(fields, registers, message, [true, is_known, is_finished]);
        put(registers, fields.has_no_buffer, (refusal == Refusal::NoBuffer).into());
    }

    /// Puts the fields of a request into the packet's header.
    fn asked_for(&self, fields: &Lookup, ask: Fields) -> Header {
        let own = self.header;
        let dst_context = match ask.or(fields.dst_context, own.dst_context.into()) as u16 {
            0 => own.dst_context,
            context => context,
        };
        Header {
            src_ip: ask.or(fields.src_ip, own.src_ip.into()) as u32,
            src_context: ask.or(fields.src_context, own.src_context.into()) as u16,
            tx_msg_id: ask.or(fields.tx_msg_id, own.tx_msg_id.into()) as u16,
            msg_len: ask.or(fields.msg_len, own.msg_len.into()) as u16,
            pkt_offset: ask.or(fields.pkt_offset, own.pkt_offset.into()) as u8,
            dst_context,
            pull_offset: ask.or(fields.generation, own.pull_offset.into()) as u16,
            ..*own
        }
    }

    #[inline(always)]
    fn delivered(&mut self, fields: &Arrived, ask: Fields) {
        let packets = ask.get(fields.delivered_pkts);
        let mut delivered = Delivered {
            at: self.at,
            tx_msg_id: ask.or(fields.tx_msg_id, self.header.tx_msg_id.into()) as u16,
            packet: MAX_PACKETS as u8,
            and_all_before: false,
            generation: ask.or(fields.generation, self.header.answers.into()) as u16,
        };
        if packets.is_power_of_two() {
            delivered.packet = packets.trailing_zeros() as u8;
            self.externs.delivered(delivered);
            return;
        }
        // All from the first on is what a cumulative acknowledgement says.
        if packets & packets.wrapping_add(1) == 0 && packets > 1 {
            delivered.packet = packets.count_ones() as u8 - 1;
            delivered.and_all_before = true;
            self.externs.delivered(delivered);
            return;
        }
        if packets == 0 {
            self.externs.delivered(delivered);
        }
        let mut left = packets;
        while left != 0 {
            delivered.packet = left.trailing_zeros() as u8;
            self.externs.delivered(delivered);
            left &= left - 1;
        }
    }

    #[inline(always)]
    fn credit(&mut self, fields: &Wish, ask: Fields) {
        let (again, more) = (ask.get(fields.rtx) != 0, ask.get(fields.update_credit) != 0);
        let own = self.header;
        self.externs.credit(Credit {
            at: self.at,
            tx_msg_id: ask.or(fields.tx_msg_id, own.tx_msg_id.into()) as u16,
            retransmit: again.then(|| ask.or(fields.rtx_pkt_offset, own.pkt_offset.into()) as u8),
            credit: more.then(|| ask.or(fields.new_credit, own.pull_offset.into()) as u16),
            priority: self.priority,
        });
    }

    #[inline(always)]
    fn control(&mut self, fields: &Answer, flag: Option<u8>, ask: Fields) {
        let flags = Flags(flag.unwrap_or(ask.get(fields.flags) as u8));
        let own = self.header;
        self.externs.control(ControlRequest {
            at: self.at,
            answers: match (fields.is_known, fields.pkt_offset) {
                (true, None) => *own,
                (true, packet) => Header { pkt_offset: ask.get(packet) as u8, ..*own },
                (false, _) => self.answered(fields, ask),
            },
            acknowledge: flags.has(Flags::ACK),
            negative: flags.has(Flags::NACK),
            pull: flags.has(Flags::PULL),
            pull_offset: ask.get(fields.credit) as u16,
            grant_priority: ask.get(fields.rank) as u8,
        });
    }

    /// Puts the fields of a request for a control packet into the header that this answers.
    #[inline(never)]
    fn answered(&self, fields: &Answer, ask: Fields) -> Header {
        let own = self.header;
        Header {
            src_ip: ask.or(fields.dst_ip, own.src_ip.into()) as u32,
            src_context: ask.or(fields.dst_context, own.src_context.into()) as u16,
            dst_context: ask.or(fields.src_context, own.dst_context.into()) as u16,
            msg_len: ask.or(fields.msg_len, own.msg_len.into()) as u16,
            pkt_offset: ask.or(fields.pkt_offset, own.pkt_offset.into()) as u8,
            tx_msg_id: ask.or(fields.tx_msg_id, own.tx_msg_id.into()) as u16,
            buf_ptr: ask.or(fields.buf_ptr, own.buf_ptr.into()) as u16,
            buf_size_class: ask.or(fields.buf_size_class, own.buf_size_class.into()) as u8,
            pull_offset: ask.or(fields.generation, own.pull_offset.into()) as u16,
            ..*own
        }
    }
}

impl Answers<'_> {
    #[inline(always)]
    fn array(&mut self, array: &Array, registers: &mut Words) {
        let value = self.kept.array(array, Fields(registers));
        put(registers, array.answer, value);
    }

    #[inline(always)]
    fn current(&mut self, fields: &Current, registers: &mut Words) {
        let ask = Fields(registers);
        let own = kept_of(self.header);
        let answer = self.kept.messages.change(fields, &own, &|place| ask.get(place));
        let [granted, grantable, remaining] = answer;
        put(registers, fields.answer.granted, granted);
        put(registers, fields.answer.grantable, grantable);
        put(registers, fields.answer.remaining, remaining);
    }

    #[inline(always)]
    fn order(&mut self, fields: &Order, registers: &mut Words) {
        let ask = Fields(registers);
        let answer = self.kept.messages.order(fields, &|place| ask.get(place));
        for (place, value) in fields.answer.into_iter().zip(answer) {
            put(registers, place, value);
        }
    }

    #[inline(always)]
    fn granted(&mut self, fields: &Granted, registers: &mut Words) {
        let ask = Fields(registers);
        let kept = self.kept.messages.grant(fields, &|place| ask.get(place));
        for (place, value) in fields.kept.into_iter().zip(kept) {
            put(registers, place, value);
        }
    }

    #[inline(always)]
    fn prioritize(&mut self, fields: &Priority, ask: Fields) {
        self.priority = ask.or(fields.priority, self.header.grant_priority.into()) as u8;
    }
}

impl Units for Answers<'_> {
    #[inline(always)]
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words) {
        let units = self.units;
        let ask = Fields(registers);
        match &units[site] {
            Unit::Lookup(fields) => self.look_up(fields, registers),
            Unit::Delivered(fields) => self.delivered(fields, ask),
            Unit::Credit(fields) => self.credit(fields, ask),
            Unit::Control { fields, flag } => self.control(fields, *flag, ask),
            Unit::Array(array) => self.array(array, registers),
            Unit::Delay { given, answer } => {
                let value = ask.get(*given);
                put(registers, *answer, value);
            }
            Unit::Current(fields) => self.current(fields, registers),
            Unit::Order(fields) => self.order(fields, registers),
            Unit::Granted(fields) => self.granted(fields, registers),
            Unit::Priority(fields) => self.prioritize(fields, ask),
            Unit::Start(start) => self.kept.start(start, ask),
            Unit::Table(table) => table.ask(self.kept.tables(), &flat.sites[site], registers),
            // A program that asks the NIC's units has none.
            Unit::Sum(_) => {}
        }
    }

    #[inline(always)]
    fn answer<const FORM: usize>(&mut self, registers: &mut Words) {
        let ask = Fields(registers);
        match FORM {
            forms::of::LOOKUP => self.look_up(&forms::LOOKUP, registers),
            forms::of::LOOKUP_FIRST => self.look_up(&forms::LOOKUP_FIRST, registers),
            forms::of::DELIVERED => self.delivered(&forms::DELIVERED, ask),
            forms::of::CREDIT => self.credit(&forms::CREDIT, ask),
            forms::of::CONTROL => self.control(&forms::CONTROL, None, ask),
            forms::of::CONTROL_PACKET => self.control(&forms::CONTROL_PACKET, None, ask),
            forms::of::CONTROL_OTHER => self.control(&forms::CONTROL_OTHER, None, ask),
            forms::of::CURRENT => self.current(&forms::CURRENT, registers),
            forms::of::ORDER => self.order(&forms::order(registers), registers),
            forms::of::GRANTED => self.granted(&forms::GRANTED, registers),
            forms::of::PRIORITY => self.prioritize(&forms::PRIORITY, ask),
            forms::of::PRIORITY_OWN => self.prioritize(&forms::PRIORITY_OWN, ask),
            forms::of::ARRAY => self.array(&forms::array(registers), registers),
            _ => {}
        }
    }
}

/// Gives what a frame says of what `curMsgReg` keeps of a message, which is not how much has come.
#[inline(always)]
fn kept_of(header: &Header) -> [u64; KEPT.len()] {
    [
        header.src_ip.into(),
        header.src_context.into(),
        header.dst_context.into(),
        header.tx_msg_id.into(),
        header.msg_len.into(),
        header.buf_ptr.into(),
        header.buf_size_class.into(),
        0,
        header.pull_offset.into(),
    ]
}

/// Puts down what reassembly says of a packet: its message, and whether it is refused, came before, or belongs to a message
/// that was delivered before.
#[inline(always)]
fn tell(
    fields: &Lookup,
    registers: &mut Words,
    message: Option<MessageInfo>,
    [fails, is_known, is_finished]: [bool; 3],
) {
    let mut put = |place, value| put(registers, place, value);
    put(fields.fail, fails.into());
    put(fields.rx_msg_id, message.map_or(0, |message| message.rx_id.into()));
    put(fields.is_new_msg, message.is_some_and(|message| message.new).into());
    put(fields.is_new_pkt, (!is_known).into());
    // These take a while, and not every program reads them.
    if fields.is_last_pkt.is_some() {
        put(fields.is_last_pkt, message.is_some_and(|message| message.complete()).into());
    }
    if fields.ack_no.is_some() {
        put(fields.ack_no, message.map_or(0, |message| message.in_order().into()));
    }
    put(fields.is_finished_msg, is_finished.into());
    put(fields.has_no_buffer, 0);
}

/// Tells a refusal apart: whether the packet came before, and its message was delivered before.
fn known(refusal: &Refusal) -> (bool, bool) {
    match refusal {
        Refusal::Duplicate { .. } => (true, false),
        Refusal::Finished => (true, true),
        Refusal::NoBuffer | Refusal::Quota | Refusal::Bad(_) => (false, false),
    }
}
