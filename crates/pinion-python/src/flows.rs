//! Messages to packet handlers. In: packets that begin to be worked at, packets that are through. Out: what the
//! packets of each message are together, at the end or as it is done.

use std::collections::{BTreeMap, HashMap};

use pinion_sim::Time;
use pinion_spin::PacketRecord;

/// A message to packet handlers: packets of one context that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its context.
    pub context: u32,
    /// Its number there.
    pub message: u32,
    /// Packets.
    pub packets: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// When its first packet arrived.
    pub first_arrival: Time,
    /// When its first handler began.
    pub first_handler: Option<Time>,
    /// When the completion of its last packet came back.
    pub last_completion: Time,
    /// Instructions of its handlers.
    pub instructions: u64,
    /// Whether one of its handlers failed.
    pub failed: bool,
}

impl Flow {
    /// Begins with a packet of it.
    fn of(record: &PacketRecord) -> Self {
        Self {
            context: record.context.0,
            message: record.message,
            packets: 1,
            bytes: u64::from(record.bytes),
            first_arrival: record.arrival,
            first_handler: record.handler_start,
            last_completion: record.completion,
            instructions: record.instructions,
            failed: record.failed,
        }
    }

    fn add(&mut self, record: &PacketRecord) {
        self.packets += 1;
        self.bytes += u64::from(record.bytes);
        self.first_arrival = self.first_arrival.min(record.arrival);
        self.first_handler = [self.first_handler, record.handler_start].into_iter().flatten().min();
        self.last_completion = self.last_completion.max(record.completion);
        self.instructions += record.instructions;
        self.failed |= record.failed;
    }
}

/// Puts packets together that are of one message, in the order in which messages began.
pub fn flows(packets: &[PacketRecord]) -> Vec<Flow> {
    let mut order: Vec<&PacketRecord> = packets.iter().collect();
    order.sort_by_key(|record| (record.arrival, record.packet));
    let mut parts = Parts::default();
    for record in order {
        parts.begin(taken(record));
        parts.add(record);
    }
    parts.take_rest().collect()
}

/// A packet that was taken: its number, its context and message, and whether it is the message's last.
pub type Taken = (u64, (u32, u32), bool);

/// A message that something may still happen to.
#[derive(Default)]
struct Part {
    flow: Option<Flow>,
    /// Packets of it that are inside.
    inside: u64,
    /// Whether it has its last packet.
    is_whole: bool,
}

/// Messages of which some packets are inside, or to come: what they are together is known when the last one
/// that is inside is through.
#[derive(Default)]
pub struct Parts {
    /// By its number; numbers are given in order of the first packets.
    parts: BTreeMap<u64, Part>,
    next: u64,
    /// By context and message: the one that a packet belongs to which comes now.
    open: HashMap<(u32, u32), u64>,
    /// By packet that is inside.
    inside: HashMap<u64, u64>,
}

impl Parts {
    /// Takes note of a packet that begins to be worked at; packets do in the order of their arrival. A number
    /// that comes again behind a message's end is another message.
    pub fn begin(&mut self, (packet, key, is_last): Taken) {
        let next = &mut self.next;
        let number = *self.open.entry(key).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        let part = self.parts.entry(number).or_default();
        part.inside += 1;
        self.inside.insert(packet, number);
        if is_last {
            part.is_whole = true;
            self.open.remove(&key);
        }
    }

    /// Takes note of a packet that is through; gives its message if nothing more happens to that.
    pub fn end(&mut self, record: &PacketRecord) -> Option<Flow> {
        let number = self.add(record)?;
        self.parts.remove(&number).and_then(|part| part.flow)
    }

    /// Adds a packet that is through to its message; gives the message's number if nothing more happens to that.
    fn add(&mut self, record: &PacketRecord) -> Option<u64> {
        let number = self.inside.remove(&record.packet)?;
        let part = self.parts.get_mut(&number)?;
        part.inside -= 1;
        match &mut part.flow {
            Some(flow) => flow.add(record),
            None => part.flow = Some(Flow::of(record)),
        }
        (part.is_whole && part.inside == 0).then_some(number)
    }

    /// Takes the messages that did not end, in the order in which they began.
    pub fn take_rest(&mut self) -> impl Iterator<Item = Flow> + use<> {
        std::mem::take(&mut self.parts).into_values().filter_map(|part| part.flow)
    }
}

/// Gives what tells a packet's message.
pub fn taken(record: &PacketRecord) -> Taken {
    (record.packet, (record.context.0, record.message), record.end_of_message)
}
