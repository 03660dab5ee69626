//! What the externs of a program stand for: the NIC's units, by their names in the published interface,
//! and register arrays.

use super::fields::Seen;
use super::pending::{ACK_NO, Current, Granted, KEPT, Order, Progress};
use super::table::TableUnit;
use crate::program::External;

/// Flags of control packets (`ACK_MASK` and its kin).
const ACK: u8 = 2;
const NACK: u8 = 4;
const PULL: u8 = 8;

/// What a register array does with a value: opcodes of `ifElseRaw`; any other reads.
const WRITE: u64 = 1;
const ADD: u64 = 2;
const RAISE: u64 = 3;
const LOWER: u64 = 4;

/// Writes a name without capitals and underscores, so that `data_1` is `data1`.
pub fn normal(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

/// Gives the largest number of so many bits.
fn largest(width: u32) -> u64 {
    u64::MAX >> 64u32.saturating_sub(width.clamp(1, 64))
}

/// Numbers of fields in a request or answer; none for an optional one that the program's type lacks.
pub type Place = Option<usize>;

/// Fields of `get_rx_msg_info`.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// `mark_received`.
    pub mark_received: Place,
    /// `src_ip`.
    pub src_ip: Place,
    /// `src_context`.
    pub src_context: Place,
    /// `tx_msg_id`.
    pub tx_msg_id: Place,
    /// `msg_len`.
    pub msg_len: Place,
    /// `pkt_offset`.
    pub pkt_offset: Place,
    /// `dst_context`.
    pub dst_context: Place,
    /// `generation`.
    pub generation: Place,
    /// `fail`.
    pub fail: Place,
    /// `rx_msg_id`.
    pub rx_msg_id: Place,
    /// `is_new_msg`.
    pub is_new_msg: Place,
    /// `is_new_pkt`.
    pub is_new_pkt: Place,
    /// `is_last_pkt`.
    pub is_last_pkt: Place,
    /// `ack_no`.
    pub ack_no: Place,
    /// `is_finished_msg`.
    pub is_finished_msg: Place,
    /// `has_no_buffer`.
    pub has_no_buffer: Place,
    /// All that the frame says of the message is the request's, too.
    pub is_known: bool,
}

/// Fields of `txMsgPrioReg`.
#[derive(Clone, Debug)]
pub struct Priority {
    /// `index`.
    pub index: Place,
    /// `update`.
    pub update: Place,
    /// There is none, and each request writes.
    pub updates_all: bool,
    /// `prio`.
    pub priority: Place,
    /// `prio` of the answer.
    pub answer: Place,
}

/// Fields of `delivered_event`.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// `tx_msg_id`.
    pub tx_msg_id: Place,
    /// `delivered_pkts`.
    pub delivered_pkts: Place,
    /// `generation`.
    pub generation: Place,
}

/// Fields of `creditToBtx_event`.
#[derive(Clone, Debug)]
pub struct Wish {
    /// `tx_msg_id`.
    pub tx_msg_id: Place,
    /// `rtx`.
    pub rtx: Place,
    /// `rtx_pkt_offset`.
    pub rtx_pkt_offset: Place,
    /// `update_credit`.
    pub update_credit: Place,
    /// `new_credit`.
    pub new_credit: Place,
}

/// Fields of a control packet's event.
#[derive(Clone, Debug)]
pub struct Answer {
    /// `dst_ip`.
    pub dst_ip: Place,
    /// `dst_context`.
    pub dst_context: Place,
    /// `src_context`.
    pub src_context: Place,
    /// `msg_len`.
    pub msg_len: Place,
    /// `pkt_offset`.
    pub pkt_offset: Place,
    /// `tx_msg_id`.
    pub tx_msg_id: Place,
    /// `buf_ptr`.
    pub buf_ptr: Place,
    /// `buf_size_class`.
    pub buf_size_class: Place,
    /// `credit`.
    pub credit: Place,
    /// `rank`.
    pub rank: Place,
    /// `flags`.
    pub flags: Place,
    /// `generation`.
    pub generation: Place,
    /// All that the frame says of the message is the request's, too, but for `pkt_offset`.
    pub is_known: bool,
}

/// Fields of a register array.
#[derive(Clone, Debug)]
pub struct Array {
    /// `index`.
    pub index: Place,
    /// `predicate`.
    pub predicate: Place,
    /// `data`.
    pub data: [Place; 2],
    /// `opcode`.
    pub opcode: [Place; 2],
    /// The new value: the answer's first field.
    pub answer: Place,
    /// Bits of an entry.
    pub mask: u64,
    /// Number of the array among those of its program: ports of one name lead to one array.
    pub store: usize,
}

impl Array {
    /// Does what a request says, whose fields are asked for, and gives the entry's new value; there is none behind
    /// the last, and it reads 0.
    #[inline]
    pub fn change(&self, entries: &mut [u64], field: &impl Fn(Place) -> u64) -> u64 {
        let way = usize::from(field(self.predicate) != 0);
        let (data, opcode) = (field(self.data[way]), field(self.opcode[way]));
        let Some(entry) = entries.get_mut(field(self.index) as usize) else { return 0 };
        match opcode {
            WRITE => *entry = data & self.mask,
            ADD => *entry = entry.wrapping_add(data) & self.mask,
            RAISE => *entry = entry.saturating_add(data).min(self.mask),
            LOWER => *entry = entry.saturating_sub(data),
            _ => {}
        }
        *entry
    }
}

/// Fields of a frame's sum.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// `from`.
    pub from: Place,
    /// `length`.
    pub length: Place,
    /// `sum`.
    pub answer: Place,
}

/// Fields of `startTimer_event`.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// `timer`.
    pub timer: Place,
    /// `cycles`.
    pub cycles: Place,
    /// `cancel`.
    pub cancel: Place,
}

/// A unit that an extern stands for. Its kind is a byte of its own, so that it is found at once.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Unit {
    /// Reassembly: which message?
    Lookup(Lookup),
    /// Packetization: packets of ours have arrived.
    Delivered(Arrived),
    /// Packetization: send again, send more.
    Credit(Wish),
    /// The packet generator; the flag that all its packets have, if the request says none.
    Control {
        /// Fields of the request.
        fields: Answer,
        /// The flag.
        flag: Option<u8>,
    },
    /// Homa: the message at hand.
    Current(Current),
    /// Homa: which message is to be granted?
    Order(Order),
    /// Homa: the message that is granted.
    Granted(Granted),
    /// Homa: the priority of a message of ours.
    Priority(Priority),
    /// A register for each message.
    Array(Array),
    /// Adds up bytes of the frame at hand.
    Sum(Sum),
    /// Stages that do nothing but give back what they are given.
    Delay {
        /// The request's field.
        given: Place,
        /// The answer's.
        answer: Place,
    },
    /// Timers of the program.
    Start(Start),
    /// A match-action table.
    Table(TableUnit),
}

impl Unit {
    /// Lists all fields of its request that it looks at.
    pub fn read_fields(&self) -> Vec<Place> {
        let mut fields: Vec<Place> =
            self.own_fields().into_iter().map(|(place, _)| place).collect();
        match self {
            Self::Lookup(asked) => fields.push(asked.mark_received),
            Self::Delivered(asked) => fields.push(asked.delivered_pkts),
            Self::Credit(asked) => fields.extend([asked.rtx, asked.update_credit]),
            Self::Control { fields: asked, .. } => {
                fields.extend([asked.credit, asked.rank, asked.flags]);
            }
            Self::Array(asked) => {
                fields.extend([asked.index, asked.predicate]);
                fields.extend(asked.data.into_iter().chain(asked.opcode));
            }
            Self::Sum(asked) => fields.extend([asked.from, asked.length]),
            Self::Current(asked) => {
                let Progress { granted, grantable, remaining } = asked.progress;
                fields.extend([asked.index, asked.is_new, asked.opcode]);
                fields.extend([granted, grantable, remaining, asked.kept[ACK_NO]]);
            }
            Self::Order(asked) => {
                fields.extend([asked.index, asked.rank, asked.is_removed, asked.is_repeated]);
                fields.extend([asked.grantable, asked.granted]);
            }
            Self::Granted(asked) => fields.extend([asked.index, asked.granted]),
            Self::Priority(asked) => {
                fields.extend([asked.index, asked.update, asked.priority]);
            }
            Self::Delay { given, .. } => fields.push(*given),
            Self::Start(asked) => fields.extend([asked.timer, asked.cycles, asked.cancel]),
            Self::Table(asked) => fields.extend((0..asked.keys()).map(Some)),
        }
        fields
    }

    /// Lists fields of its request of which it knows the packet's own: the field of the frame, or none for
    /// its source address.
    pub fn own_fields(&self) -> Vec<(Place, Option<Seen>)> {
        match self {
            Self::Lookup(fields) => vec![
                (fields.src_ip, None),
                (fields.src_context, Some(Seen::SrcContext)),
                (fields.tx_msg_id, Some(Seen::TxMsgId)),
                (fields.msg_len, Some(Seen::MsgLen)),
                (fields.pkt_offset, Some(Seen::PktOffset)),
                (fields.dst_context, Some(Seen::DstContext)),
                (fields.generation, Some(Seen::PullOffset)),
            ],
            Self::Delivered(fields) => vec![
                (fields.tx_msg_id, Some(Seen::TxMsgId)),
                (fields.generation, Some(Seen::Answers)),
            ],
            Self::Credit(fields) => vec![
                (fields.tx_msg_id, Some(Seen::TxMsgId)),
                (fields.rtx_pkt_offset, Some(Seen::PktOffset)),
                (fields.new_credit, Some(Seen::PullOffset)),
            ],
            Self::Control { fields, .. } => vec![
                (fields.dst_ip, None),
                (fields.dst_context, Some(Seen::SrcContext)),
                (fields.src_context, Some(Seen::DstContext)),
                (fields.msg_len, Some(Seen::MsgLen)),
                (fields.pkt_offset, Some(Seen::PktOffset)),
                (fields.tx_msg_id, Some(Seen::TxMsgId)),
                (fields.buf_ptr, Some(Seen::BufPtr)),
                (fields.buf_size_class, Some(Seen::BufSizeClass)),
                (fields.generation, Some(Seen::PullOffset)),
            ],
            Self::Current(fields) => fields.own_fields(),
            Self::Priority(fields) => vec![
                (fields.index, Some(Seen::TxMsgId)),
                (fields.priority, Some(Seen::GrantPriority)),
            ],
            Self::Order(_) | Self::Granted(_) => Vec::new(),
            Self::Array(_) | Self::Sum(_) | Self::Delay { .. } => Vec::new(),
            Self::Start(_) | Self::Table(_) => Vec::new(),
        }
    }

    /// Finds the unit that an extern stands for, and what its fields mean.
    ///
    /// # Errors
    /// There is no such unit, or its request or answer lacks a field.
    pub fn bind(external: &External) -> Result<Self, String> {
        if external.table.is_some() {
            return Err(format!("{} is a table", external.name));
        }
        let find = |fields: &[(String, u32)], names: &[&str]| {
            fields.iter().position(|(field, _)| {
                // Of a struct in a struct, the inner name.
                let field = field.rsplit('.').next().unwrap_or_default();
                names.contains(&normal(field).as_str())
            })
        };
        let missing = |name: &str| {
            format!("{} has no field `{name}`; see lnic.p4 for what it should be", external.name)
        };
        let some = |name: &'static str| match find(&external.request, &[&normal(name)]) {
            Some(place) => Ok(Some(place)),
            None => Err(missing(name)),
        };
        let maybe = |name: &str| find(&external.request, &[&normal(name)]);
        let back = |name: &'static str| match find(&external.response, &[&normal(name)]) {
            Some(place) => Ok(Some(place)),
            None => Err(missing(name)),
        };
        let control = |flag| -> Result<Self, String> {
            let fields = Answer {
                dst_ip: some("dst_ip")?,
                dst_context: some("dst_context")?,
                src_context: some("src_context")?,
                msg_len: some("msg_len")?,
                pkt_offset: some("pkt_offset")?,
                tx_msg_id: some("tx_msg_id")?,
                buf_ptr: some("buf_ptr")?,
                buf_size_class: some("buf_size_class")?,
                credit: find(&external.request, &["credit", "grantoffset"]),
                rank: find(&external.request, &["grantprio", "rank"]),
                flags: some("flags")?,
                generation: maybe("generation"),
                is_known: false,
            };
            Ok(Self::Control { fields, flag })
        };
        let name = normal(&external.name);
        match name.as_str() {
            "getrxmsginfo" => Ok(Self::Lookup(Lookup {
                mark_received: some("mark_received")?,
                src_ip: some("src_ip")?,
                src_context: some("src_context")?,
                tx_msg_id: some("tx_msg_id")?,
                msg_len: some("msg_len")?,
                pkt_offset: some("pkt_offset")?,
                dst_context: maybe("dst_context"),
                generation: maybe("generation"),
                fail: back("fail")?,
                rx_msg_id: back("rx_msg_id")?,
                is_new_msg: back("is_new_msg")?,
                is_new_pkt: back("is_new_pkt")?,
                is_last_pkt: back("is_last_pkt")?,
                ack_no: back("ackNo")?,
                is_finished_msg: find(&external.response, &["isfinishedmsg"]),
                has_no_buffer: find(&external.response, &["hasnobuffer"]),
                is_known: false,
            })),
            "curmsgreg" => Ok(Self::Current(Current {
                index: some("index")?,
                is_new: some("is_new_msg")?,
                opcode: maybe("opCode"),
                counts_all: maybe("opCode").is_none(),
                kept: KEPT.map(maybe),
                is_known: false,
                progress: Progress {
                    granted: some("grantedIdx")?,
                    grantable: some("grantableIdx")?,
                    remaining: some("remaining_size")?,
                },
                answer: Progress {
                    granted: back("grantedIdx")?,
                    grantable: back("grantableIdx")?,
                    remaining: back("remaining_size")?,
                },
            })),
            "grantscheduler" => {
                let level = back("prio_level")?;
                let width = level.map_or(64, |level| external.response[level].1);
                Ok(Self::Order(Order {
                    index: some("rx_msg_id")?,
                    rank: some("rank")?,
                    is_removed: some("removeObj")?,
                    grantable: some("grantableIdx")?,
                    granted: some("grantedIdx")?,
                    is_repeated: maybe("is_repeated"),
                    answer: [back("success")?, level, back("grant_offset")?, back("grant_msg_id")?],
                    most_level: largest(width),
                }))
            }
            "grantmsgreg" => Ok(Self::Granted(Granted {
                index: some("index")?,
                granted: some("grantedIdx")?,
                kept: KEPT.map(|name| find(&external.response, &[name])),
            })),
            "txmsgprioreg" => Ok(Self::Priority(Priority {
                index: some("index")?,
                update: maybe("update"),
                updates_all: maybe("update").is_none(),
                priority: some("prio")?,
                answer: find(&external.response, &["prio"]),
            })),
            "deliveredevent" => Ok(Self::Delivered(Arrived {
                tx_msg_id: some("tx_msg_id")?,
                delivered_pkts: some("delivered_pkts")?,
                generation: maybe("generation"),
            })),
            "credittobtxevent" => Ok(Self::Credit(Wish {
                tx_msg_id: some("tx_msg_id")?,
                rtx: some("rtx")?,
                rtx_pkt_offset: some("rtx_pkt_offset")?,
                update_credit: some("update_credit")?,
                new_credit: some("new_credit")?,
            })),
            "ctrlpktevent" => control(None),
            "ackpktevent" => control(Some(ACK)),
            "nackpktevent" => control(Some(NACK)),
            "grantpktevent" => control(Some(PULL)),
            "starttimerevent" => Ok(Self::Start(Start {
                timer: some("timer")?,
                cycles: some("cycles")?,
                cancel: maybe("cancel"),
            })),
            _ if name.ends_with("ifelseraw") => {
                let width = external.response.first().map_or(64, |(_, width)| *width);
                Ok(Self::Array(Array {
                    index: some("index")?,
                    predicate: some("predicate")?,
                    data: [some("data_0")?, some("data_1")?],
                    opcode: [some("opCode_0")?, some("opCode_1")?],
                    answer: Some(0).filter(|_| !external.response.is_empty()),
                    mask: largest(width),
                    store: 0,
                }))
            }
            _ if name.ends_with("framesum") => Ok(Self::Sum(Sum {
                from: some("from")?,
                length: some("length")?,
                answer: back("sum")?,
            })),
            _ if name.ends_with("delay") => match (&external.request[..], &external.response[..]) {
                ([(_, given)], [(_, back)]) if given == back && *given <= 64 => {
                    Ok(Self::Delay { given: Some(0), answer: Some(0) })
                }
                _ => Err(format!(
                    "{} gives back what it is given: let request and answer be one field each, of \
                     the same width up to 64 bits",
                    external.name
                )),
            },
            _ => Err(format!(
                "the NIC has no unit {}; there are get_rx_msg_info, delivered_event, \
                 creditToBtx_event, ctrlPkt_event, ackPkt_event, nackPkt_event, grantPkt_event, \
                 curMsgReg, grantScheduler, grantMsgReg, txMsgPrioReg, startTimer_event, register arrays NAME_ifElseRaw, sums NAME_frameSum, and stages NAME_delay",
                external.name
            )),
        }
    }
}
