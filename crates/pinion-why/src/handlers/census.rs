//! Which packet is meant: what every packet of a run took comes in, one of them goes out.

use pinion_sim::Time;
use pinion_spin::{DropReason, Event, Hears, Interest, Spin};

use pinion_app::error::{Error, Result};
use pinion_observe::trace::Tracer;

/// Says which packet is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one with this number: matched packets are counted from 0.
    Packet(u64),
    /// The one of this message that was through last.
    Message(u32),
    /// The one that took longest.
    Slowest,
    /// The one than which 99 % took no longer.
    Percentile99,
    /// The n-th one that was dropped, from 0.
    Dropped(u64),
}

/// What is known of the packet that is meant.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its number.
    pub packet: u64,
    /// When its last bit arrived.
    pub arrival: Time,
    /// When what is asked about was over: the first packet that its handlers sent had left, or, if none
    /// did, its completion was back.
    pub end: Time,
    /// Whether a packet left.
    pub departed: bool,
    /// When its completion was back.
    pub completion: Time,
    /// What the packet in the middle of all took, from arrival to the same end.
    pub median_ps: u64,
    /// Packets that took longer.
    pub longer: u64,
    /// Packets that were through.
    pub packets: u64,
}

/// What is known of a packet that was dropped.
#[derive(Clone, Copy, Debug)]
pub struct DroppedTarget {
    /// When it was dropped.
    pub time: Time,
    /// Why.
    pub reason: DropReason,
    /// Its bytes.
    pub bytes: usize,
    /// Number of packets dropped, whatever the reason.
    pub all: u64,
    /// Number dropped for the same reason.
    pub same: u64,
}

/// What was found.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A packet that was through.
    Done(Target),
    /// A packet that was dropped.
    Dropped(DroppedTarget),
}

#[derive(Clone, Copy, Debug)]
struct Passage {
    packet: u64,
    message: u32,
    arrival: Time,
    end: Time,
    completion: Time,
    departed: bool,
}

impl Passage {
    fn took_ps(&self) -> u64 {
        self.end.since(self.arrival).ps()
    }
}

/// Hears a run and notes what each packet took.
#[derive(Debug, Default)]
pub struct Census {
    passages: Vec<Passage>,
    dropped: Vec<(Time, DropReason, usize)>,
}

impl Hears<Spin> for Census {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::PacketDone(record) => self.passages.push(Passage {
                packet: record.packet,
                message: record.message,
                arrival: record.arrival,
                end: record.departure.unwrap_or(record.completion),
                completion: record.completion,
                departed: record.departure.is_some(),
            }),
            Event::Dropped { time, reason, frame } => {
                self.dropped.push((time, reason, frame.len()))
            }
            _ => {}
        }
    }
}

impl Tracer for Census {}

impl Census {
    /// Finds the packet that is meant.
    ///
    /// # Errors
    /// When there is none such.
    pub fn find(&self, which: Which) -> Result<Found> {
        if let Which::Dropped(index) = which {
            return self.find_dropped(index);
        }
        let mut order: Vec<&Passage> = self.passages.iter().collect();
        order.sort_by_key(|passage| (passage.took_ps(), passage.packet));
        let rank = |share: f64| (order.len() as f64 * share).ceil().max(1.0) as usize - 1;
        let found = match which {
            Which::Packet(packet) => order.iter().find(|passage| passage.packet == packet),
            Which::Message(message) => {
                let own = order.iter().filter(|passage| passage.message == message);
                own.max_by_key(|passage| (passage.end, passage.packet))
            }
            Which::Slowest => order.last(),
            Which::Percentile99 | Which::Dropped(_) => order.get(rank(0.99)),
        };
        let passage = **found.ok_or_else(|| self.nothing(which))?;
        let alike: Vec<&&Passage> =
            order.iter().filter(|other| other.departed == passage.departed).collect();
        Ok(Found::Done(Target {
            packet: passage.packet,
            arrival: passage.arrival,
            end: passage.end,
            departed: passage.departed,
            completion: passage.completion,
            median_ps: alike[(alike.len() - 1) / 2].took_ps(),
            longer: order.iter().filter(|other| other.took_ps() > passage.took_ps()).count() as u64,
            packets: order.len() as u64,
        }))
    }

    fn find_dropped(&self, index: u64) -> Result<Found> {
        let all = self.dropped.len() as u64;
        let Some(&(time, reason, bytes)) = self.dropped.get(index as usize) else {
            return Err(Error::Usage(match all {
                0 => "--dropped: no packet was dropped in this run".to_owned(),
                _ => format!("--dropped {index}: {all} were dropped, 0 to {}", all - 1),
            }));
        };
        let same = self.dropped.iter().filter(|(_, other, _)| *other == reason).count() as u64;
        Ok(Found::Dropped(DroppedTarget { time, reason, bytes, all, same }))
    }

    fn nothing(&self, which: Which) -> Error {
        let last = self.passages.iter().map(|passage| passage.packet).max();
        let Some(last) = last else {
            let why = "no packet was through in this run: `pinion run` says what became of them";
            return Error::Usage(why.to_owned());
        };
        Error::Usage(match which {
            Which::Packet(packet) if packet <= last => format!(
                "--packet {packet} did not get through: `pinion trace --packet {packet}` shows how \
                 far it came"
            ),
            Which::Packet(packet) => {
                format!("--packet {packet}: the run has packets 0 to {last}")
            }
            Which::Message(message) => {
                format!("--message {message}: no packet of such a message got through")
            }
            _ => "no packet got through".to_owned(),
        })
    }
}
