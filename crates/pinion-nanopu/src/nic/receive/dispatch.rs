//! Dispatch: messages from the global receive queues to the harts (nanoPU paper,
//! §3.2; RTL LNIC/RxQueues.scala).
//!
//! In: notices that a message has arrived, and that a hart is done with one. Out: one message at a
//! time to the hart that core selection names, its application header and then a 64-bit word a
//! cycle. Holds the notices, and what is on its way. A message waits for its hart's narrower (the
//! piece that turns 64 B words into 64-bit words), and its words for room in the local queue.
//!
//! Notices of arrival go first: one that finds no hart is forgotten, and its message waits until a
//! hart is done. Dispatch is free for another hart's message when the narrower has taken the
//! last 64 B word of this one.

use std::collections::VecDeque;

use super::accounting::Accounting;
use super::core_selection::{CoreSelection, Lane};
use super::global_receive::GlobalReceive;
use super::reassembly::WORDS;
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hart_interface::HartInterface;
use crate::machine::receive::GlobalReceiveSection;
use crate::waypoint::Waypoint;

/// A message on its way to a hart.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    /// The message's number.
    message: u64,
    /// When its hart was chosen.
    chosen: Cycle,
    hart: u8,
    lane: Lane,
    context: u16,
    /// The word before the payload.
    application_header: u64,
    /// 64-bit words, that one included.
    total: u32,
    /// Words that have gone.
    done: u32,
    /// Cycle of the next word, if there is room.
    at: Cycle,
    /// The last words, once the narrower has them.
    tail: [u64; WORDS],
}

impl Transfer {
    /// Counts the words that have gone when the narrower has taken the last 64 B word.
    fn narrowed(&self) -> u32 {
        let words = self.total - 1;
        2 + (words.max(1) - 1) / WORDS as u32 * WORDS as u32
    }
}

/// Holds what is to be dispatched.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    timing: GlobalReceiveSection,
    /// Lanes in which a message arrived, and when its notice can be read.
    arrivals: VecDeque<(Cycle, Lane)>,
    /// Harts that are done with a message, of which context, and when the notice can be read.
    done: VecDeque<(Cycle, u8, u16)>,
    current: Option<Transfer>,
    /// By hart: what its narrower still holds.
    draining: Vec<Option<Transfer>>,
    /// How many of them hold something.
    drains: usize,
    /// By hart: first cycle in which its narrower is free.
    free_at: Vec<Cycle>,
    idle_at: Cycle,
}

impl Dispatcher {
    /// Makes an idle dispatcher for `harts` harts.
    pub fn new(timing: GlobalReceiveSection, harts: usize) -> Self {
        Self {
            timing,
            arrivals: VecDeque::new(),
            done: VecDeque::new(),
            current: None,
            draining: vec![None; harts],
            drains: 0,
            free_at: vec![0; harts],
            idle_at: 0,
        }
    }

    /// Hears that a message's first word entered a lane in cycle `at`.
    pub fn arrived(&mut self, lane: Lane, at: Cycle) {
        self.arrivals.push_back((at + self.timing.notice_cycles, lane));
    }

    /// Hears that a hart is done with a message of `context` in cycle `at`.
    pub fn message_done(&mut self, hart: u8, context: u16, at: Cycle) {
        let at = at + self.timing.done_cycles;
        let place = self.done.iter().rposition(|done| done.0 <= at).map_or(0, |last| last + 1);
        self.done.insert(place, (at, hart, context));
    }

    /// Gives the next cycle in which there is something to do.
    pub fn next_event(&self) -> Option<Cycle> {
        if self.current.is_some() {
            return None;
        }
        let done = self.done.front().map_or(Cycle::MAX, |(at, ..)| *at);
        let arrival = self.arrivals.front().map_or(Cycle::MAX, |(at, _)| *at);
        let next = done.min(arrival);
        (next != Cycle::MAX).then(|| next.max(self.idle_at))
    }

    /// Tells whether something waits for room in a hart's queue.
    pub fn waits(&self) -> bool {
        self.current.is_some() || self.drains > 0
    }

    /// Reads one notice in cycle `now`.
    pub fn step(
        &mut self,
        now: Cycle,
        selection: &mut CoreSelection,
        global: &GlobalReceive,
        books: &mut Accounting,
    ) {
        self.idle_at = now + 1;
        if let Some(&(_, lane)) = self.arrivals.front().filter(|(at, _)| *at <= now) {
            self.arrivals.pop_front();
            if let Some(hart) = global.head(lane).and_then(|_| selection.choose(lane, now)) {
                self.start(hart, lane, selection.context_of(lane), global, now);
            }
            return;
        }
        // Of the harts whose notice can be read, the one with the lowest number goes first.
        let ready = self.done.iter().enumerate().take_while(|(_, done)| done.0 <= now);
        let Some((first, _)) = ready.min_by_key(|(place, done)| (done.1, *place)) else { return };
        let Some((_, hart, context)) = self.done.remove(first) else { return };
        if !selection.in_range(context) {
            books.unmatched_done += 1;
            return;
        }
        let lane = selection.lane_of(hart, context);
        if global.head(lane).is_some() {
            if let Some(hart) = selection.hand_on(hart, context, now) {
                self.start(hart, lane, context, global, now);
            }
        } else if !selection.release(hart, context, now) {
            books.unmatched_done += 1;
        }
    }

    /// Begins to send the message at a lane's head.
    fn start(&mut self, hart: u8, lane: Lane, context: u16, global: &GlobalReceive, now: Cycle) {
        let Some(message) = global.head(lane) else { return };
        self.current = Some(Transfer {
            message: message.number,
            chosen: now,
            hart,
            lane,
            context,
            application_header: message.application_header,
            total: message.words + 1,
            done: 0,
            at: now + self.timing.read_cycles,
            tail: [0; WORDS],
        });
    }

    /// Moves all words that have room.
    pub fn pump(
        &mut self,
        global: &mut GlobalReceive,
        harts: &mut [HartInterface],
        books: &mut Accounting,
        listener: &mut impl Listener,
    ) {
        if self.drains > 0 {
            self.pump_draining(harts, listener);
        }
        self.pump_current(global, harts, books, listener);
    }

    /// Moves words that the narrowers hold.
    fn pump_draining(&mut self, harts: &mut [HartInterface], listener: &mut impl Listener) {
        for (hart, slot) in self.draining.iter_mut().enumerate() {
            let Some(transfer) = slot.as_mut() else { continue };
            while let Some((at, n)) = grant(transfer, transfer.total, &mut harts[hart]) {
                let from = (transfer.total - transfer.done) as usize;
                let tail = transfer.tail;
                let words = tail.into_iter().skip(WORDS - from).take(n as usize);
                send(transfer, at, words, &mut harts[hart], listener);
            }
            if transfer.done == transfer.total {
                self.free_at[hart] = transfer.at;
                harts[hart].stop_waiting();
                *slot = None;
                self.drains -= 1;
            }
        }
    }

    /// Moves the words of the message that is being dispatched.
    fn pump_current(
        &mut self,
        global: &mut GlobalReceive,
        harts: &mut [HartInterface],
        books: &mut Accounting,
        listener: &mut impl Listener,
    ) {
        let Some(mut transfer) = self.current else { return };
        let hart = usize::from(transfer.hart);
        if self.draining[hart].is_some() {
            return;
        }
        if transfer.done == 0 {
            transfer.at = transfer.at.max(self.free_at[hart]);
        }
        let stored = global.head(transfer.lane).map_or(0, |message| message.stored);
        let known = transfer.total.min(1 + stored * WORDS as u32);
        while let Some((at, n)) = grant(&transfer, known, &mut harts[hart]) {
            // 64 B words that the narrower takes with these words.
            let before = transfer.done.saturating_sub(1).next_multiple_of(WORDS as u32) + 1;
            let end = transfer.done + n;
            let wide = end.saturating_sub(before).div_ceil(WORDS as u32);
            global.drain(transfer.context, at + Cycle::from(before - transfer.done), wide);
            let narrowed = transfer.narrowed();
            if transfer.done < narrowed && end >= narrowed {
                self.idle_at = at + Cycle::from(narrowed - transfer.done);
            }
            let begins = transfer.done == 0;
            let header = begins.then_some(transfer.application_header);
            if begins {
                let Transfer { message, hart, context, .. } = transfer;
                let waypoint = Waypoint::Chosen { message, hart, context, enters: at };
                listener.waypoint(transfer.chosen, waypoint);
            }
            let words = global.take(transfer.lane, n as usize - usize::from(begins));
            send(&mut transfer, at, header.into_iter().chain(words), &mut harts[hart], listener);
        }
        if transfer.done < transfer.narrowed() {
            self.current = Some(transfer);
            return;
        }
        let left = (transfer.total - transfer.done) as usize;
        let tail = transfer.tail[WORDS - left..].iter_mut();
        tail.zip(global.take(transfer.lane, left)).for_each(|(to, word)| *to = word);
        books.deliver(global.head(transfer.lane).map_or(0, |message| message.packets.into()));
        global.finish(transfer.lane);
        self.current = None;
        if left > 0 {
            self.draining[hart] = Some(transfer);
            self.drains += 1;
        } else {
            self.free_at[hart] = transfer.at;
            harts[hart].stop_waiting();
        }
    }
}

/// Asks a hart how many of a transfer's words, up to the `known`th, may enter its queue and when.
fn grant(transfer: &Transfer, known: u32, hart: &mut HartInterface) -> Option<(Cycle, u32)> {
    match known.saturating_sub(transfer.done) {
        0 => None,
        wanted => hart.room_for(transfer.context, transfer.at, wanted),
    }
}

/// Hands words to a hart, the first in cycle `at`.
fn send(
    transfer: &mut Transfer,
    at: Cycle,
    words: impl Iterator<Item = u64>,
    hart: &mut HartInterface,
    listener: &mut impl Listener,
) {
    let begins = transfer.done == 0;
    let n = hart.receive(transfer.context, at, begins, words);
    transfer.done += n;
    transfer.at = at + Cycle::from(n);
    let ends = transfer.done == transfer.total;
    if ends {
        hart.message_complete(transfer.context);
    }
    for i in 0..n {
        let last = ends && i + 1 == n;
        let (cycle, hart) = (at + Cycle::from(i), transfer.hart);
        listener.event(cycle, Event::GlobalReceiveOut { hart, last });
        let context = transfer.context;
        listener.event(cycle, Event::ReceiveWord { hart, context, last });
    }
}
