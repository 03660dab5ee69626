//! Homa's units beside the pipeline (RTL of the transport-dev branch: PendingMsgReg, GrantScheduler): a table of
//! incoming messages, with a port for the message at hand (`curMsgReg`), one for the message that is granted
//! (`grantMsgReg`), and one that orders messages by what has not come of them (`grantScheduler`).
//!
//! In: what a program says of the packet at hand. Out: the message that may be granted next, and what is
//! kept of it. Entries are found by the number that reassembly gives a message.

use super::fields::Seen;
use super::unit::Place;

/// Names of what is kept of a message, without capitals and underscores.
pub const KEPT: [&str; 9] = [
    "srcip",
    "srccontext",
    "dstcontext",
    "txmsgid",
    "msglen",
    "bufptr",
    "bufsizeclass",
    "ackno",
    "generation",
];

/// What of that a frame says, as [`Unit::own_fields`](super::unit::Unit::own_fields) tells it.
const OWN: [Option<Option<Seen>>; KEPT.len()] = [
    Some(None),
    Some(Some(Seen::SrcContext)),
    Some(Some(Seen::DstContext)),
    Some(Some(Seen::TxMsgId)),
    Some(Some(Seen::MsgLen)),
    Some(Some(Seen::BufPtr)),
    Some(Some(Seen::BufSizeClass)),
    None,
    Some(Some(Seen::PullOffset)),
];

/// Place of `ackNo` in [`KEPT`].
pub const ACK_NO: usize = 7;

/// Fields by which a program says how far a message has got.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// `grantedIdx`.
    pub granted: Place,
    /// `grantableIdx`.
    pub grantable: Place,
    /// `remaining_size`.
    pub remaining: Place,
}

/// Fields of `curMsgReg`.
#[derive(Clone, Debug)]
pub struct Current {
    /// `index`.
    pub index: Place,
    /// `is_new_msg`.
    pub is_new: Place,
    /// `opCode`.
    pub opcode: Place,
    /// There is none, and every packet counts.
    pub counts_all: bool,
    /// What is kept.
    pub kept: [Place; KEPT.len()],
    /// All of that is what the frame at hand says, but for `ackNo`.
    pub is_known: bool,
    /// What a new message begins with.
    pub progress: Progress,
    /// The answer.
    pub answer: Progress,
}

impl Progress {
    fn fields_mut(&mut self) -> [&mut Place; 3] {
        [&mut self.granted, &mut self.grantable, &mut self.remaining]
    }
}

impl Current {
    /// Lists all fields of its request and of its answer.
    pub(super) fn fields_mut(&mut self) -> (Vec<&mut Place>, Vec<&mut Place>) {
        let mut fields = vec![&mut self.index, &mut self.is_new, &mut self.opcode];
        fields.extend(self.kept.iter_mut().chain(self.progress.fields_mut()));
        (fields, self.answer.fields_mut().into())
    }

    /// Lists fields of which a frame says the same.
    pub(super) fn own_fields(&self) -> Vec<(Place, Option<Seen>)> {
        self.kept.into_iter().zip(OWN).filter_map(|(place, own)| Some((place, own?))).collect()
    }
}

/// Fields of `grantScheduler`.
#[derive(Clone, Debug)]
pub struct Order {
    /// `rx_msg_id`.
    pub index: Place,
    /// `rank`: the lowest goes first.
    pub rank: Place,
    /// `removeObj`.
    pub is_removed: Place,
    /// `grantableIdx`.
    pub grantable: Place,
    /// `grantedIdx`.
    pub granted: Place,
    /// `is_repeated`; programs without it want the best message.
    pub is_repeated: Place,
    /// Of the answer: `success`, `prio_level`, `grant_offset`, `grant_msg_id`.
    pub answer: [Place; 4],
    /// Largest `prio_level`.
    pub most_level: u64,
}

impl Order {
    /// Lists all fields of its request and of its answer.
    pub(super) fn fields_mut(&mut self) -> (Vec<&mut Place>, Vec<&mut Place>) {
        let fields = vec![
            &mut self.index,
            &mut self.rank,
            &mut self.is_removed,
            &mut self.grantable,
            &mut self.granted,
            &mut self.is_repeated,
        ];
        (fields, self.answer.iter_mut().collect())
    }
}

/// Fields of `grantMsgReg`.
#[derive(Clone, Debug)]
pub struct Granted {
    /// `index`.
    pub index: Place,
    /// `grantedIdx`.
    pub granted: Place,
    /// What was kept.
    pub kept: [Place; KEPT.len()],
}

/// What is known of a message.
#[derive(Clone, Copy, Debug, Default)]
struct Message {
    kept: [u64; KEPT.len()],
    granted: u64,
    /// As the message's own port counts it, and as the scheduler was told.
    grantable: u64,
    may_get: u64,
    remaining: u64,
    rank: u64,
}

/// The table of incoming messages.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    entries: Vec<Message>,
    /// Those that the scheduler orders.
    active: Vec<u16>,
}

/// `REG_READ` and `REG_WRITE` of `lnic.p4`; any other opcode writes and counts.
const READ: u64 = 0;
const WRITE: u64 = 1;

impl Messages {
    /// Makes a table for so many messages at a time.
    pub fn new(messages: usize) -> Self {
        Self { entries: vec![Message::default(); messages], active: Vec::new() }
    }

    /// Does what a request to `curMsgReg` says, whose fields are asked for; gives what is granted, what may be,
    /// and what has not come. There is no message behind the last, and of that all is 0. `own` is what the frame
    /// at hand says of what is kept, where the request does not.
    #[inline]
    pub fn change(
        &mut self,
        fields: &Current,
        own: &[u64; KEPT.len()],
        field: &impl Fn(Place) -> u64,
    ) -> [u64; 3] {
        let Some(message) = self.entries.get_mut(field(fields.index) as usize) else {
            return [0; 3];
        };
        let opcode = if fields.counts_all { u64::MAX } else { field(fields.opcode) };
        let keep = |kept: &mut [u64; KEPT.len()]| {
            *kept = *own;
            match fields.is_known {
                true => kept[ACK_NO] = field(fields.kept[ACK_NO]),
                false => {
                    for (kept, place) in kept.iter_mut().zip(fields.kept) {
                        *kept = place.map_or(*kept, |_| field(place));
                    }
                }
            }
        };
        if field(fields.is_new) != 0 {
            let Progress { granted, grantable, remaining } = fields.progress;
            message.granted = field(granted);
            message.grantable = field(grantable);
            message.remaining = field(remaining);
            (message.may_get, message.rank) = (0, 0);
            keep(&mut message.kept);
        } else if opcode != READ {
            keep(&mut message.kept);
            if opcode != WRITE {
                message.grantable = (message.grantable + 1).min(u16::MAX.into());
                message.remaining = message.remaining.saturating_sub(1);
            }
        }
        [message.granted, message.grantable, message.remaining]
    }

    /// Does what a request to `grantScheduler` says; gives whether there is a message to grant, how many are
    /// before it, up to which packet it may be let send, and its number. Of equal ranks the lower number is first.
    #[inline]
    pub fn order(&mut self, fields: &Order, field: &impl Fn(Place) -> u64) -> [u64; 4] {
        let index = field(fields.index) as u16;
        if let Some(message) = self.entries.get_mut(usize::from(index)) {
            message.rank = field(fields.rank);
            message.may_get = field(fields.grantable);
            message.granted = field(fields.granted);
            match field(fields.is_removed) != 0 {
                true => self.forget(index),
                false if !self.active.contains(&index) => self.active.push(index),
                false => {}
            }
        }
        if self.active.is_empty() {
            return [0; 4];
        }
        let rank = |index: u16| (self.entries[usize::from(index)].rank, index);
        let chosen = if field(fields.is_repeated) != 0 {
            Some(index).filter(|index| self.active.contains(index))
        } else {
            let may_get = |index: &&u16| {
                let message = &self.entries[usize::from(**index)];
                message.may_get > message.granted
            };
            self.active.iter().filter(may_get).min_by_key(|index| rank(**index)).copied()
        };
        let Some(chosen) = chosen else { return [0; 4] };
        let before = self.active.iter().filter(|other| rank(**other) < rank(chosen)).count();
        let message = &self.entries[usize::from(chosen)];
        let offset = message.may_get.max(message.granted);
        let offset = if field(fields.is_repeated) != 0 { message.granted } else { offset };
        [1, (before as u64).min(fields.most_level), offset, chosen.into()]
    }

    /// Does what a request to `grantMsgReg` says; gives what was kept of the message.
    pub fn grant(&mut self, fields: &Granted, field: &impl Fn(Place) -> u64) -> [u64; KEPT.len()] {
        let Some(message) = self.entries.get_mut(field(fields.index) as usize) else {
            return [0; KEPT.len()];
        };
        message.granted = field(fields.granted);
        message.kept
    }

    /// Takes a message out of the order: it was delivered, or given up.
    pub fn forget(&mut self, index: u16) {
        if !self.active.is_empty() {
            self.active.retain(|active| *active != index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Order = Order {
        index: Some(0),
        rank: Some(1),
        is_removed: Some(2),
        grantable: Some(3),
        granted: Some(4),
        is_repeated: Some(5),
        answer: [None; 4],
        most_level: 2,
    };

    fn order(messages: &mut Messages, request: [u64; 6]) -> [u64; 4] {
        messages.order(&ORDER, &|place| place.map_or(0, |place| request[place]))
    }

    #[test]
    fn the_shortest_that_may_get_more_is_chosen_with_those_before_it() {
        let mut messages = Messages::new(8);
        assert_eq!(order(&mut messages, [3, 9, 0, 5, 4, 0]), [1, 0, 5, 3]);
        assert_eq!(
            order(&mut messages, [1, 7, 0, 4, 4, 0]),
            [1, 1, 5, 3],
            "1 is before it, but full"
        );
        assert_eq!(order(&mut messages, [2, 9, 0, 6, 4, 0]), [1, 1, 6, 2], "the lower of equals");
        for index in 4..7 {
            order(&mut messages, [index, 1, 0, 4, 4, 0]);
        }
        assert_eq!(
            order(&mut messages, [1, 7, 1, 4, 4, 0]),
            [1, 2, 6, 2],
            "levels end at the largest"
        );
        assert_eq!(order(&mut messages, [3, 9, 0, 5, 4, 1]), [1, 2, 4, 3], "its own grant again");
        assert_eq!(order(&mut messages, [1, 7, 1, 4, 4, 1]), [0; 4], "out of the order");
        assert_eq!(order(&mut messages, [99, 0, 0, 9, 0, 1]), [0; 4], "no such message");
    }
}
