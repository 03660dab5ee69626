//! What one core sees of the network while it runs ahead.

use std::collections::VecDeque;

use crate::Cycle;
use crate::core::{Network, Waits};
use crate::event::{Event, Listener, Told};
use crate::hart_interface::HartInterface;
use crate::waypoint::Waypoint;

/// Something a core wrote, which the network sees in its cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Post {
    /// The cycle in which it is written.
    pub at: Cycle,
    /// What.
    pub kind: PostKind,
}

/// What a core wrote.
#[derive(Clone, Copy, Debug)]
pub(super) enum PostKind {
    /// A word to x31.
    Word(u64),
    /// A CSR.
    Csr {
        /// Its number.
        csr: u16,
        /// The value.
        value: u64,
    },
}

impl Post {
    /// Tells whether it is a word.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, PostKind::Word(_))
    }
}

/// Joins a core to its interface; what it writes is posted.
pub(super) struct Port<'a, L> {
    pub hart: u8,
    pub interface: &'a mut HartInterface,
    pub posts: &'a mut VecDeque<Post>,
    pub known: Cycle,
    pub room: usize,
    pub listener: &'a mut L,
    pub hears_retired: bool,
}

impl<L> Port<'_, L> {
    /// Posts in order of time: results that come late may be overtaken.
    fn post(&mut self, at: Cycle, kind: PostKind) {
        let place = self.posts.iter().rposition(|post| post.at <= at).map_or(0, |last| last + 1);
        self.posts.insert(place, Post { at, kind });
    }
}

impl<L: Listener> Network for Port<'_, L> {
    fn known_until(&self) -> Cycle {
        // What this core itself posted and nobody has seen yet is not settled either.
        let own = self.posts.iter().find(|post| !post.is_word());
        own.map_or(self.known, |post| self.known.min(post.at))
    }

    fn ready_at(&self) -> Cycle {
        self.interface.ready_at()
    }

    fn read_csr(&mut self, csr: u16, now: Cycle) -> Option<u64> {
        self.interface.read_csr(csr, now)
    }

    fn write_csr(&mut self, csr: u16, value: u64, now: Cycle) {
        self.post(now, PostKind::Csr { csr, value });
    }

    fn pop(&mut self, now: Cycle) -> Option<u64> {
        self.listener.event(now, Event::ReceivePop { hart: self.hart });
        let word = self.interface.pop(now);
        self.listener.taken(self.hart, now, self.interface.context(), word);
        if self.listener.interest().waypoints
            && let Some(count) = self.interface.has_just_begun(now)
        {
            let (hart, context) = (self.hart, self.interface.context());
            self.listener.waypoint(now, Waypoint::Begun { hart, context, count });
        }
        word
    }

    fn send(&mut self, word: u64, now: Cycle) {
        self.room = self.room.saturating_sub(1);
        self.listener.event(now, Event::TransmitWord { hart: self.hart });
        self.post(now, PostKind::Word(word));
    }

    fn room(&mut self, _: Cycle) -> bool {
        self.room > 0
    }

    fn pulse(&mut self, from: Cycle, to: Cycle) -> Option<Cycle> {
        let known = self.known_until();
        self.interface.pulse(from, to, known)
    }

    fn hears_retired(&self) -> bool {
        self.hears_retired
    }

    fn retired(&mut self, at: Cycle, pc: u64, waits: Waits, registers: &[u64; 32]) {
        self.listener.retired(self.hart, at, pc, waits, registers);
    }

    fn stored(&mut self, address: u64, bytes: u8, found: u64) {
        self.listener.hear(&Told::Stored { hart: self.hart, address, bytes, found });
    }

    fn excepted(&mut self, at: Cycle, pc: u64, cause: u32, value: u64) {
        self.listener.hear(&Told::Excepted { hart: self.hart, at, pc, cause, value });
    }

    fn trapped(&mut self, at: Cycle) {
        self.listener.event(at, Event::Trap { hart: self.hart });
        self.interface.interrupt_taken(at);
    }
}
