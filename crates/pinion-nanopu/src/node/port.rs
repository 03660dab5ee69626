//! What one core sees of the network while it runs ahead.

use std::collections::VecDeque;

use crate::Cycle;
use crate::core::network::csr;
use crate::core::{Network, RETIRE, Waits};
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
    /// The idle command of a hart that runs alone and has one thread: it concerns nobody but the hart's
    /// interface, which takes it before anything that comes later.
    Idle,
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
    /// The same of words that come, if this hart runs alone: at least `known`.
    pub words_known: Cycle,
    pub room: usize,
    /// No other hart runs, or will before the NIC's next event.
    pub alone: bool,
    /// The cycle in which the node stops: what is written from there on is seen when it goes on.
    pub end: Cycle,
    pub listener: &'a mut L,
    pub hears_retired: bool,
}

impl<L: Listener> Port<'_, L> {
    /// Posts in order of time: results that come late may be overtaken.
    fn post(&mut self, at: Cycle, kind: PostKind) {
        if self.posts.back().is_none_or(|post| post.at <= at) {
            return self.posts.push_back(Post { at, kind });
        }
        let place = self.posts.iter().rposition(|post| post.at <= at).map_or(0, |last| last + 1);
        self.posts.insert(place, Post { at, kind });
    }

    /// Lets the interface take idle commands that were written up to cycle `to`.
    fn take_idle(&mut self, to: Cycle) {
        while let Some(&Post { at, kind: PostKind::Idle }) = self.posts.front() {
            if at > to {
                break;
            }
            self.posts.pop_front();
            self.interface.idle(at);
        }
    }

    /// Gives the first cycle of which is not settled whether there are words, where nothing but idle commands is
    /// posted.
    fn known_for_polls(&self) -> Cycle {
        let is_late = self.posts.back().is_some_and(|post| post.at >= self.end);
        if is_late { self.known_until() } else { self.words_known }
    }

    /// Tells whether an idle command may wait until the interface takes it: the thread scheduler has nothing
    /// to choose, and the NIC nothing to take first.
    fn may_idle_alone(&self) -> bool {
        self.alone
            && self.interface.has_one_thread()
            && self.posts.iter().all(|post| matches!(post.kind, PostKind::Idle))
    }
}

impl<L: Listener> Network for Port<'_, L> {
    fn known_until(&self) -> Cycle {
        // What this core itself posted and nobody has seen yet is not settled either.
        let is_idle = |post: &Post| matches!(post.kind, PostKind::Idle) && post.at < self.end;
        let waits = |post: &&Post| !post.is_word() && !is_idle(post);
        let own = self.posts.iter().find(waits);
        own.map_or(self.known, |post| self.known.min(post.at))
    }

    fn ready_at(&self) -> Cycle {
        self.interface.ready_at()
    }

    fn read_csr(&mut self, csr: u16, now: Cycle) -> Option<u64> {
        self.take_idle(now);
        self.interface.read_csr(csr, now)
    }

    fn write_csr(&mut self, csr: u16, value: u64, now: Cycle) -> bool {
        let idle = (csr, value) == (csr::USER_COMMAND, csr::IDLE_COMMAND) && self.may_idle_alone();
        self.post(now, if idle { PostKind::Idle } else { PostKind::Csr { csr, value } });
        !idle
    }

    fn poll_again(&mut self, idle: Option<Cycle>, now: Cycle) -> Option<u64> {
        let alone = self.may_idle_alone();
        let known = if alone { self.known_for_polls() } else { self.known_until() };
        if known <= now || idle.is_some_and(|at| !alone || at >= self.end) {
            return None;
        }
        self.take_idle(now);
        if let Some(at) = idle {
            // It would be posted, and taken at once.
            self.interface.idle(at);
        }
        self.interface.read_csr(csr::MESSAGES_READY, now)
    }

    fn poll_limit(&self) -> Cycle {
        if self.may_idle_alone() { self.known_for_polls().min(self.end) } else { 0 }
    }

    fn pop(&mut self, now: Cycle) -> Option<u64> {
        self.take_idle(now);
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
        self.take_idle(at.saturating_sub(RETIRE));
        self.listener.event(at, Event::Trap { hart: self.hart });
        self.interface.interrupt_taken(at);
    }
}
