//! A nanoPU's messages and frames, one by one. In: what it says of them. Out: a row for each, and what is new, for
//! functions that hear it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_nanopu::waypoint::Waypoint;
use pinion_observe::settling::Settling;
use pinion_observe::trace::Works;
use pinion_sim::probe::Hears;
use pinion_sim::{Clock, Time};

/// A message of a nanoPU.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Its node, in a cluster.
    pub node: Arc<str>,
    /// Whether it came in.
    pub is_in: bool,
    /// Its number among those of its direction.
    pub number: u64,
    /// Its context, once known.
    pub context: Option<u16>,
    /// The hart that works at it, or sent it.
    pub hart: Option<u8>,
    /// Its packets that arrived, or that left, repeated ones included.
    pub packets: u32,
    /// When its first packet was looked up, or left.
    pub first: Option<Time>,
    /// When it had all its packets.
    pub complete: Option<Time>,
    /// When its first word went to the global receive queues.
    pub queued: Option<Time>,
    /// When its first word entered its hart's queue.
    pub given: Option<Time>,
    /// When its hart read its first word, or wrote its header.
    pub begun: Option<Time>,
    /// When its hart was done with it, or it was delivered.
    pub ended: Option<Time>,
}

/// Something new of a message.
#[derive(Clone, Debug)]
pub struct News {
    /// When.
    pub at: Time,
    /// The message, as it is then.
    pub message: Message,
    /// Whether its hart is done with it; it has begun otherwise.
    pub has_ended: bool,
}

/// Hears of a nanoPU's messages.
#[derive(Clone)]
struct Heard {
    clock: Clock,
    node: Arc<str>,
    /// What became of messages, until everything before it has been heard.
    pending: Vec<(Cycle, Waypoint)>,
    works: Works,
    rows: Vec<Message>,
    /// By direction and number: its row.
    places: HashMap<(bool, u64), usize>,
    /// Messages that nothing more happens to, with when that was, if somebody takes them; rows that are free
    /// again.
    done: Option<Vec<(Time, Message)>>,
    free: Vec<usize>,
    /// What is new, if somebody hears it.
    news: Option<Vec<News>>,
    /// Frames that left, if somebody keeps them.
    left: Option<Vec<(Time, Vec<u8>)>>,
}

/// Hears of a nanoPU's messages; copies hear into the same place.
#[derive(Clone)]
pub struct Log(Arc<Mutex<Heard>>);

/// What a log held at a moment.
#[derive(Clone)]
pub struct Kept(Heard);

impl Log {
    /// Hears a node of this name and clock.
    pub fn new(node: &str, clock: Clock) -> Self {
        Self(Arc::new(Mutex::new(Heard {
            clock,
            node: node.into(),
            pending: Vec::new(),
            works: Works::default(),
            rows: Vec::new(),
            places: HashMap::new(),
            done: None,
            free: Vec::new(),
            news: None,
            left: None,
        })))
    }

    /// Also keeps what is new, and frames that leave.
    #[must_use]
    pub fn with_news(self) -> Self {
        {
            let mut heard = self.heard();
            (heard.news, heard.left) = (Some(Vec::new()), Some(Vec::new()));
        }
        self
    }

    /// Keeps messages only until nothing more happens to them, for somebody who takes them then.
    #[must_use]
    pub fn drained(self) -> Self {
        self.heard().done = Some(Vec::new());
        self
    }

    /// Takes the messages that nothing more happens to, with when that was.
    pub fn take_done(&self) -> Vec<(Time, Message)> {
        self.heard().done.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes the messages that something may still happen to, in the order in which they began.
    pub fn take_open(&self) -> Vec<Message> {
        let mut heard = self.heard();
        let places: Vec<_> = heard.places.drain().map(|(_, place)| place).collect();
        let mut open: Vec<_> =
            places.into_iter().map(|place| std::mem::take(&mut heard.rows[place])).collect();
        open.sort_by_key(|row| {
            (row.first.into_iter().chain(row.begun).min(), row.is_in, row.number)
        });
        open
    }

    /// Gives the messages so far.
    pub fn rows(&self) -> Vec<Message> {
        self.heard().rows.clone()
    }

    /// Takes what is new.
    pub fn take_news(&self) -> Vec<News> {
        self.heard().news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes the frames that left.
    pub fn take_left(&self) -> Vec<(Time, Vec<u8>)> {
        self.heard().left.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Gives all that it holds, to come back to.
    pub fn keep(&self) -> Kept {
        Kept(self.heard().clone())
    }

    /// Goes back.
    pub fn restore(&self, kept: &Kept) {
        self.heard().clone_from(&kept.0);
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn row(&mut self, is_in: bool, number: u64) -> &mut Message {
        let (rows, free) = (&mut self.rows, &mut self.free);
        let place = *self.places.entry((is_in, number)).or_insert_with(|| {
            let place = free.pop().unwrap_or(rows.len());
            let row = Message { node: Arc::clone(&self.node), is_in, number, ..Message::default() };
            rows.resize_with(rows.len().max(place + 1), Message::default);
            rows[place] = row;
            place
        });
        &mut self.rows[place]
    }

    /// Notes that nothing more happens to a message.
    fn ended(&mut self, at: Time, is_in: bool, number: u64) {
        self.row(is_in, number).ended = Some(at);
        let Some(done) = &mut self.done else { return };
        if let Some(place) = self.places.remove(&(is_in, number)) {
            done.push((at, std::mem::take(&mut self.rows[place])));
            self.free.push(place);
        }
    }

    fn waypoint(&mut self, cycle: Cycle, waypoint: &Waypoint) {
        let at = self.clock.time(cycle);
        let worked = self.works.hear(cycle, waypoint);
        let mut changed = None;
        match *waypoint {
            Waypoint::Packet { message, stored, complete, .. } => {
                let stored = self.clock.time(stored);
                let row = self.row(true, message);
                row.packets += 1;
                row.first.get_or_insert(at);
                if complete {
                    row.complete.get_or_insert(stored);
                }
            }
            Waypoint::Queued { message, context } => {
                let row = self.row(true, message);
                row.context = Some(context);
                row.queued.get_or_insert(at);
            }
            Waypoint::Chosen { message, hart, context, enters } => {
                let enters = self.clock.time(enters);
                let row = self.row(true, message);
                (row.context, row.hart) = (Some(context), Some(hart));
                row.given.get_or_insert(enters);
            }
            Waypoint::Begun { .. } => {
                if let Some(message) = worked {
                    let row = self.row(true, message);
                    // Its first word may be given back and read again.
                    let is_first = row.begun.is_none();
                    row.begun = Some(at);
                    changed = is_first.then(|| (row.clone(), false));
                }
            }
            Waypoint::Ended { .. } => {
                if let Some(message) = worked {
                    let mut row = self.row(true, message).clone();
                    row.ended = Some(at);
                    changed = Some((row, true));
                    self.ended(at, true, message);
                }
            }
            Waypoint::Sends { message, hart, context, written } => {
                let written = self.clock.time(written);
                let row = self.row(false, message);
                (row.context, row.hart) = (Some(context), Some(hart));
                row.begun.get_or_insert(written);
            }
            Waypoint::Leaves { packet: Some(packet), first_flit, .. } => {
                let left = self.clock.time(first_flit);
                let row = self.row(false, packet.message);
                row.packets += 1;
                row.first.get_or_insert(left);
            }
            Waypoint::Freed { message } => self.ended(at, false, message),
            Waypoint::Consumed { .. }
            | Waypoint::Dropped { .. }
            | Waypoint::Bound { .. }
            | Waypoint::Leaves { packet: None, .. } => {}
        }
        if let (Some((message, has_ended)), Some(news)) = (changed, &mut self.news) {
            news.push(News { at, message, has_ended });
        }
    }
}

impl Hears<NanoPu> for Log {
    fn interest(&self) -> Retirements {
        Retirements { waypoints: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Waypoint { at, waypoint } => self.heard().pending.push((at, waypoint)),
            Told::Left { first_flit, frame, .. } => {
                let mut heard = self.heard();
                let at = heard.clock.time(first_flit);
                if let Some(left) = &mut heard.left {
                    left.push((at, frame.to_vec()));
                }
            }
            _ => {}
        }
    }
}

impl Settling for Log {
    /// Follows messages, whose waypoints come in order of time now.
    fn settle(&mut self, cycle: Cycle) -> pinion_app::Result<()> {
        let mut heard = self.heard();
        heard.pending.sort_by_key(|(at, _)| *at);
        let count = heard.pending.partition_point(|(at, _)| *at < cycle);
        let settled: Vec<_> = heard.pending.drain(..count).collect();
        settled.iter().for_each(|(at, waypoint)| heard.waypoint(*at, waypoint));
        Ok(())
    }
}

/// A frame at a nanoPU's pins.
pub struct NodeFrame {
    /// Whether it came in.
    pub is_in: bool,
    /// The cycle of its first flit.
    pub first_flit: u64,
    /// The cycle of its last flit.
    pub last_flit: u64,
    /// The time of its first flit.
    pub time: Time,
    /// Its bytes.
    pub bytes: u32,
}
