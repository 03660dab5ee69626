//! Answers to the externs of a program: from the NIC's units, and from register arrays.

use pinion_net::frame::lnic::{Flags, Header};
use pinion_p4::flat::{Site, Units};

use crate::transport::{ControlRequest, Credit, Delivered, Externs, MAX_PACKETS, Refusal};
use pinion_p4::lnic::unit::{Answer, Array, Arrived, Lookup, Place, Unit, Wish};

/// What a register array does with a value: opcodes of `ifElseRaw`.
const WRITE: u64 = 1;
const ADD: u64 = 2;
/// Entries of a register array at least.
const LEAST_ENTRIES: usize = 64;

/// Holds the register arrays of a program, by extern.
#[derive(Clone, Debug)]
pub(super) struct Arrays(Vec<Vec<u64>>);

impl Arrays {
    /// Makes them, with an entry for each message.
    pub(super) fn new(units: &[Unit], messages: usize) -> Self {
        let entries = |unit: &Unit| match unit {
            Unit::Array(_) => vec![0; messages.max(LEAST_ENTRIES)],
            _ => Vec::new(),
        };
        Self(units.iter().map(entries).collect())
    }

    /// Answers a program that asks nobody else.
    pub(super) fn alone<'a>(&'a mut self, units: &'a [Unit]) -> Alone<'a> {
        Alone { units, arrays: self }
    }

    /// Does what a request says, and gives the entry's new value; there is none behind the last, and
    /// it reads 0.
    #[inline]
    fn apply(&mut self, unit: usize, array: &Array, ask: &Fields) -> u64 {
        let index = ask.get(array.index) as usize;
        let way = usize::from(ask.get(array.predicate) != 0);
        let (data, opcode) = (ask.get(array.data[way]), ask.get(array.opcode[way]));
        let Some(entry) = self.0[unit].get_mut(index) else { return 0 };
        match opcode {
            WRITE => *entry = data & array.mask,
            ADD => *entry = entry.wrapping_add(data) & array.mask,
            _ => {}
        }
        *entry
    }
}

/// The fields of a request.
struct Fields<'a> {
    site: &'a Site,
    registers: &'a [u64],
}

impl Fields<'_> {
    #[inline]
    fn get(&self, place: Place) -> u64 {
        place.map_or(0, |place| self.registers[usize::from(self.site.request[place])])
    }
}

/// Puts a field of an answer where the program looks for it.
#[inline]
fn put(site: &Site, registers: &mut [u64], place: Place, value: u64) {
    if let Some(place) = place {
        registers[usize::from(site.response[place])] = value;
    }
}

/// Answers with register arrays alone.
pub(super) struct Alone<'a> {
    units: &'a [Unit],
    arrays: &'a mut Arrays,
}

impl Units for Alone<'_> {
    fn ask(&mut self, site: &Site, registers: &mut [u64]) {
        if let Unit::Array(array) = &self.units[site.external] {
            let value = self.arrays.apply(site.external, array, &Fields { site, registers });
            put(site, registers, Some(0), value);
        }
    }
}

/// Answers the requests of an ingress program about the frame at hand.
pub(super) struct Answers<'a> {
    units: &'a [Unit],
    arrays: &'a mut Arrays,
    header: &'a Header,
    externs: &'a mut dyn Externs,
    /// Reassembly was asked.
    pub(super) asked: bool,
    /// What it said: the message, or why it does not take the packet.
    pub(super) taken: Option<Result<u16, Refusal>>,
}

impl<'a> Answers<'a> {
    /// Makes answers for a frame with this header.
    pub(super) fn new(
        units: &'a [Unit],
        arrays: &'a mut Arrays,
        header: &'a Header,
        externs: &'a mut dyn Externs,
    ) -> Self {
        Self { units, arrays, header, externs, asked: false, taken: None }
    }

    fn look_up(&mut self, fields: &Lookup, site: &Site, registers: &mut [u64]) {
        let ask = Fields { site, registers };
        let dst_context = match ask.get(fields.dst_context) as u16 {
            0 => self.header.dst_context,
            context => context,
        };
        let header = Header {
            src_ip: ask.get(fields.src_ip) as u32,
            src_context: ask.get(fields.src_context) as u16,
            tx_msg_id: ask.get(fields.tx_msg_id) as u16,
            msg_len: ask.get(fields.msg_len) as u16,
            pkt_offset: ask.get(fields.pkt_offset) as u8,
            dst_context,
            pull_offset: ask.get(fields.generation) as u16,
            ..*self.header
        };
        let is_trimmed = ask.get(fields.mark_received) == 0;
        let answer = self.externs.message(&header, is_trimmed);
        self.asked = true;
        self.taken = Some(answer.map(|message| message.rx_id));
        let refusal = answer.err();
        let (is_known, is_finished) = refusal.as_ref().map_or((false, false), known);
        let message = match answer {
            Ok(message) | Err(Refusal::Duplicate { message }) => Some(message),
            Err(_) => None,
        };
        let mut put = |place, value| put(site, registers, place, value);
        put(fields.fail, refusal.is_some().into());
        put(fields.rx_msg_id, message.map_or(0, |message| message.rx_id.into()));
        put(fields.is_new_msg, message.is_some_and(|message| message.new).into());
        put(fields.is_new_pkt, (!is_known).into());
        put(fields.is_last_pkt, message.is_some_and(|message| message.complete()).into());
        put(fields.ack_no, message.map_or(0, |message| message.in_order().into()));
        put(fields.is_finished_msg, is_finished.into());
    }

    fn delivered(&mut self, fields: &Arrived, ask: &Fields) {
        let packets = ask.get(fields.delivered_pkts);
        let mut delivered = Delivered {
            at: self.externs.now(),
            tx_msg_id: ask.get(fields.tx_msg_id) as u16,
            packet: MAX_PACKETS as u8,
            and_all_before: false,
            generation: ask.get(fields.generation) as u16,
        };
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

    fn credit(&mut self, fields: &Wish, ask: &Fields) {
        let (again, more) = (ask.get(fields.rtx) != 0, ask.get(fields.update_credit) != 0);
        self.externs.credit(Credit {
            at: self.externs.now(),
            tx_msg_id: ask.get(fields.tx_msg_id) as u16,
            retransmit: again.then_some(ask.get(fields.rtx_pkt_offset) as u8),
            credit: more.then_some(ask.get(fields.new_credit) as u16),
            priority: self.header.grant_priority,
        });
    }

    fn control(&mut self, fields: &Answer, flag: Option<u8>, ask: &Fields) {
        let flags = Flags(flag.unwrap_or(ask.get(fields.flags) as u8));
        self.externs.control(ControlRequest {
            at: self.externs.now(),
            answers: Header {
                src_ip: ask.get(fields.dst_ip) as u32,
                src_context: ask.get(fields.dst_context) as u16,
                dst_context: ask.get(fields.src_context) as u16,
                msg_len: ask.get(fields.msg_len) as u16,
                pkt_offset: ask.get(fields.pkt_offset) as u8,
                tx_msg_id: ask.get(fields.tx_msg_id) as u16,
                buf_ptr: ask.get(fields.buf_ptr) as u16,
                buf_size_class: ask.get(fields.buf_size_class) as u8,
                pull_offset: ask.get(fields.generation) as u16,
                ..*self.header
            },
            acknowledge: flags.has(Flags::ACK),
            negative: flags.has(Flags::NACK),
            pull: flags.has(Flags::PULL),
            pull_offset: ask.get(fields.credit) as u16,
            grant_priority: ask.get(fields.rank) as u8,
        });
    }
}

impl Units for Answers<'_> {
    fn ask(&mut self, site: &Site, registers: &mut [u64]) {
        let units = self.units;
        let ask = Fields { site, registers };
        match &units[site.external] {
            Unit::Lookup(fields) => self.look_up(fields, site, registers),
            Unit::Delivered(fields) => self.delivered(fields, &ask),
            Unit::Credit(fields) => self.credit(fields, &ask),
            Unit::Control { fields, flag } => self.control(fields, *flag, &ask),
            Unit::Array(array) => {
                let value = self.arrays.apply(site.external, array, &ask);
                put(site, registers, Some(0), value);
            }
        }
    }
}

/// Tells a refusal apart: whether the packet came before, and its message was delivered before.
fn known(refusal: &Refusal) -> (bool, bool) {
    match refusal {
        Refusal::Duplicate { .. } => (true, false),
        Refusal::Finished => (true, true),
        Refusal::NoBuffer | Refusal::Quota | Refusal::Bad(_) => (false, false),
    }
}
