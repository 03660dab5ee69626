//! Which packet is meant: what every packet of a run took comes in, one of them goes out.

use pinion_sim::Time;
use pinion_spin::{DropReason, Event, Hears, Interest, Spin};

use crate::find::{self, Pick, Standing, Through, Which};
use pinion_app::error::{Error, Result};
use pinion_observe::trace::Tracer;

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
    /// How long that is among all packets that were through.
    pub standing: Standing,
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
    fn through(&self) -> Through {
        let took_ps = self.end.since(self.arrival).ps();
        Through { number: self.packet, took_ps, is_answered: self.departed }
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
        let own = |message| self.passages.iter().filter(move |own| own.message == message);
        let pick = match which {
            Which::Packet(packet) => Some(Pick::Number(packet)),
            Which::Message(message) => own(message)
                .max_by_key(|passage| (passage.end, passage.packet))
                .map(|passage| Pick::Number(passage.packet)),
            Which::Slowest => Some(Pick::Slowest),
            Which::Percentile99 | Which::Dropped(_) => Some(Pick::Percentile99),
        };
        let through = self.passages.iter().map(Passage::through).collect();
        let found = pick.and_then(|pick| find::pick(through, pick));
        let (found, standing) = found.ok_or_else(|| self.nothing(which))?;
        let meant = self.passages.iter().find(|passage| passage.packet == found.number);
        let Passage { packet, arrival, end, departed, completion, .. } =
            *meant.ok_or_else(|| self.nothing(which))?;
        Ok(Found::Done(Target { packet, arrival, end, departed, completion, standing }))
    }

    fn find_dropped(&self, index: u64) -> Result<Found> {
        let all = self.dropped.len() as u64;
        let (time, reason, bytes) = *find::dropped(&self.dropped, index, "packet")?;
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
