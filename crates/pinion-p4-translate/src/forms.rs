//! Forms of requests: units as code of a control asks them. In: a unit as a site of a program asks it. Out: the form,
//! and what goes where.
//!
//! A request of a form stands in the [`EXCHANGE`], each field in a place of its own, and so does the answer: whoever
//! answers is compiled for these places. What the packet at hand says itself is not asked; sites that ask
//! otherwise have no form, and are asked as the interpreter does.

use pinion_p4::flat::{EXCHANGE, FORMS, Register, Words};
use pinion_p4::lnic::pending::{ACK_NO, Current, Granted, KEPT, Order, Progress};
use pinion_p4::lnic::unit::{Answer, Array, Arrived, Lookup, Place, Priority, Unit, Wish};

/// Numbers of the forms.
pub mod of {
    /// Reassembly, of all that it answers.
    pub const LOOKUP: usize = 0;
    /// The same, but for what takes a while: whether the message is complete, and what has come in order.
    pub const LOOKUP_FIRST: usize = 1;
    /// What has arrived.
    pub const DELIVERED: usize = 2;
    /// What goes again, and what may go.
    pub const CREDIT: usize = 3;
    /// A control packet that answers the one at hand.
    pub const CONTROL: usize = 4;
    /// The same with another number of the packet.
    pub const CONTROL_PACKET: usize = 5;
    /// One that answers another.
    pub const CONTROL_OTHER: usize = 6;
    /// Homa: the message at hand.
    pub const CURRENT: usize = 7;
    /// Homa: which message is to be granted.
    pub const ORDER: usize = 8;
    /// Homa: the message that is granted.
    pub const GRANTED: usize = 9;
    /// Homa: the priority of a message.
    pub const PRIORITY: usize = 10;
    /// Homa: the priority of the message at hand.
    pub const PRIORITY_OWN: usize = 11;
    /// A register array.
    pub const ARRAY: usize = 12;
}

/// Gives the place of a request's field.
const fn asked(field: usize) -> Place {
    Some(EXCHANGE + field)
}

/// Gives the place of an answer's field.
const fn told(field: usize) -> Place {
    Some(EXCHANGE + 16 + field)
}

/// Places of what is no field: numbers that the unit has at its site.
const FIRST_NUMBER: usize = EXCHANGE + 14;
const SECOND_NUMBER: usize = EXCHANGE + 15;

/// [`of::LOOKUP`].
pub const LOOKUP: Lookup = Lookup { is_last_pkt: told(6), ack_no: told(7), ..LOOKUP_FIRST };

/// [`of::LOOKUP_FIRST`].
pub const LOOKUP_FIRST: Lookup = Lookup {
    mark_received: asked(0),
    src_ip: None,
    src_context: None,
    tx_msg_id: None,
    msg_len: None,
    pkt_offset: None,
    dst_context: None,
    generation: None,
    fail: told(0),
    rx_msg_id: told(1),
    is_new_msg: told(2),
    is_new_pkt: told(3),
    is_last_pkt: None,
    ack_no: None,
    is_finished_msg: told(4),
    has_no_buffer: told(5),
    is_known: true,
};

/// [`of::DELIVERED`].
pub const DELIVERED: Arrived =
    Arrived { tx_msg_id: None, delivered_pkts: asked(0), generation: None };

/// [`of::CREDIT`].
pub const CREDIT: Wish = Wish {
    tx_msg_id: None,
    rtx: asked(0),
    rtx_pkt_offset: None,
    update_credit: asked(1),
    new_credit: None,
};

/// [`of::CONTROL`].
pub const CONTROL: Answer = Answer {
    dst_ip: None,
    dst_context: None,
    src_context: None,
    msg_len: None,
    pkt_offset: None,
    tx_msg_id: None,
    buf_ptr: None,
    buf_size_class: None,
    credit: asked(0),
    rank: asked(1),
    flags: asked(2),
    generation: None,
    is_known: true,
};

/// [`of::CONTROL_PACKET`].
pub const CONTROL_PACKET: Answer = Answer { pkt_offset: asked(3), ..CONTROL };

/// [`of::CONTROL_OTHER`].
pub const CONTROL_OTHER: Answer = Answer {
    dst_ip: asked(4),
    dst_context: asked(5),
    src_context: asked(6),
    msg_len: asked(7),
    tx_msg_id: asked(8),
    buf_ptr: asked(9),
    buf_size_class: asked(10),
    generation: asked(11),
    is_known: false,
    ..CONTROL_PACKET
};

/// [`of::CURRENT`].
pub const CURRENT: Current = Current {
    index: asked(0),
    is_new: asked(1),
    opcode: asked(2),
    counts_all: false,
    kept: {
        let mut kept = [None; KEPT.len()];
        kept[ACK_NO] = asked(3);
        kept
    },
    is_known: true,
    progress: Progress { granted: asked(4), grantable: asked(5), remaining: asked(6) },
    answer: Progress { granted: told(0), grantable: told(1), remaining: told(2) },
};

/// [`of::ORDER`], but for its largest level.
const ORDER: Order = Order {
    index: asked(0),
    rank: asked(1),
    is_removed: asked(2),
    grantable: asked(3),
    granted: asked(4),
    is_repeated: asked(5),
    answer: [told(0), told(1), told(2), told(3)],
    most_level: 0,
};

/// Gives [`of::ORDER`] of the request at hand.
#[inline(always)]
pub const fn order(words: &Words) -> Order {
    Order { most_level: words[FIRST_NUMBER], ..ORDER }
}

/// [`of::GRANTED`].
pub const GRANTED: Granted = Granted {
    index: asked(0),
    granted: asked(1),
    kept: [told(0), told(1), told(2), told(3), told(4), told(5), told(6), told(7), told(8)],
};

/// [`of::PRIORITY`].
pub const PRIORITY: Priority = Priority {
    index: asked(0),
    update: asked(1),
    updates_all: false,
    priority: asked(2),
    answer: told(0),
};

/// [`of::PRIORITY_OWN`].
pub const PRIORITY_OWN: Priority =
    Priority { index: None, update: asked(1), updates_all: false, priority: None, answer: None };

/// [`of::ARRAY`], but for which it is.
const ARRAY: Array = Array {
    index: asked(0),
    predicate: asked(1),
    data: [asked(2), asked(3)],
    opcode: [asked(4), asked(5)],
    answer: told(0),
    mask: 0,
    store: 0,
};

/// Gives [`of::ARRAY`] of the request at hand.
#[inline(always)]
pub const fn array(words: &Words) -> Array {
    Array { mask: words[FIRST_NUMBER], store: words[SECOND_NUMBER] as usize, ..ARRAY }
}

/// Lists all forms by their numbers.
fn forms() -> [Unit; FORMS] {
    let control = |fields| Unit::Control { fields, flag: None };
    [
        Unit::Lookup(LOOKUP),
        Unit::Lookup(LOOKUP_FIRST),
        Unit::Delivered(DELIVERED),
        Unit::Credit(CREDIT),
        control(CONTROL),
        control(CONTROL_PACKET),
        control(CONTROL_OTHER),
        Unit::Current(CURRENT),
        Unit::Order(ORDER),
        Unit::Granted(GRANTED),
        Unit::Priority(PRIORITY),
        Unit::Priority(PRIORITY_OWN),
        Unit::Array(ARRAY),
    ]
}

/// What is put where, so that a request has its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// What a register holds.
    Register(Register),
    /// A number.
    Number(u64),
}

/// A request in its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The form's number.
    pub form: usize,
    /// Places of the exchange that are filled before.
    pub asked: Vec<(usize, Source)>,
    /// Places of the exchange that are read behind it, and the registers that they are for.
    pub told: Vec<(usize, Register)>,
}

impl Request {
    /// Finds the form of a unit as a site asks it, if it has one: that which answers least.
    pub fn of(unit: &Unit) -> Option<Self> {
        let forms = forms();
        let fitting = forms.iter().enumerate().filter_map(|(form, of)| fit(unit, of, form));
        fitting.min_by_key(|request| (answers(&forms[request.form]), request.asked.len()))
    }
}

/// Position of `pkt_offset` among the fields of [`Answer`].
const PACKET: usize = 4;

/// Counts the fields of a unit's answer.
fn answers(unit: &Unit) -> usize {
    unit.fields().1.iter().flatten().count()
}

/// Tells whether all that the frame says of the message is the request's, too, of those units that make a difference.
fn is_known(unit: &Unit) -> Option<bool> {
    match unit {
        Unit::Lookup(Lookup { is_known, .. })
        | Unit::Current(Current { is_known, .. })
        | Unit::Control { fields: Answer { is_known, .. }, .. } => Some(*is_known),
        _ => None,
    }
}

/// Puts a unit's request into a form, if that is its.
fn fit(unit: &Unit, of: &Unit, form: usize) -> Option<Request> {
    let is_same = std::mem::discriminant(unit) == std::mem::discriminant(of);
    if !is_same || is_known(unit) != is_known(of) {
        return None;
    }
    let own = unit.own_positions();
    let ((request, response), (places, answers)) = (unit.fields(), of.fields());
    let is_control = matches!(unit, Unit::Control { .. });
    let mut asked = Vec::new();
    for (at, (field, place)) in request.into_iter().zip(places).enumerate() {
        let is_own = own.contains(&at);
        match (field, place) {
            (None, None) => {}
            (Some(register), Some(place)) => {
                asked.push((place, Source::Register(register as Register)));
            }
            // One that is missing reads 0.
            (None, Some(place)) if !is_own => asked.push((place, Source::Number(0))),
            // What the frame says is not looked at in the request, then, but for a packet's number.
            (Some(_), None)
                if is_own && is_known(unit) == Some(true) && !(is_control && at == PACKET) => {}
            _ => return None,
        }
    }
    let mut told = Vec::new();
    for (field, place) in response.into_iter().zip(answers) {
        match (field, place) {
            (None, _) => {}
            (Some(register), Some(place)) => told.push((place, register as Register)),
            (Some(_), None) => return None,
        }
    }
    let mut set = |place: Place, value: u64| {
        if let Some(place) = place {
            asked.retain(|(known, _)| *known != place);
            asked.push((place, Source::Number(value)));
        }
    };
    match (unit, of) {
        (Unit::Control { flag: Some(flag), .. }, Unit::Control { fields, .. }) => {
            set(fields.flags, u64::from(*flag));
        }
        (Unit::Current(unit), Unit::Current(of)) if unit.counts_all => set(of.opcode, u64::MAX),
        (Unit::Priority(unit), Unit::Priority(of)) if unit.updates_all => set(of.update, 1),
        (Unit::Order(unit), Unit::Order(_)) => set(Some(FIRST_NUMBER), unit.most_level),
        (Unit::Array(unit), Unit::Array(_)) => {
            set(Some(FIRST_NUMBER), unit.mask);
            set(Some(SECOND_NUMBER), unit.store as u64);
        }
        _ => {}
    }
    Some(Request { form, asked, told })
}
