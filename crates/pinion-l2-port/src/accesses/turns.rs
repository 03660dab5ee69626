//! The turns of one way: a cluster's first access each, a queue behind, and places for what is on its way.

use std::collections::VecDeque;

use pinion_sim::arbiter::RoundRobin;

use super::{Asked, NEVER};

/// Holds the turns of one way, and what is behind them.
#[derive(Clone, Debug)]
pub struct Turns {
    order: RoundRobin,
    /// By cluster: accesses that come to their turns and have not had them, and when they come.
    coming: Vec<VecDeque<(u64, Asked)>>,
    /// By cluster: the cycle in which the first of them comes to its turn, or [`NEVER`].
    firsts: Vec<u64>,
    /// The first cycle of those.
    first: u64,
    /// What had its turn and has no place yet.
    queue: VecDeque<Asked>,
    most_queued: usize,
    /// Places that are free, and from when on others will be, in order.
    free: u32,
    released: VecDeque<u64>,
    /// The next cycle.
    cycle: u64,
    /// The next one in which something may get a place, or [`NEVER`].
    place: u64,
    /// The next one in which something may have its turn, or [`NEVER`].
    turn: u64,
    /// Cycle from which the first of the queue is offered to who gives places.
    offered: u64,
}

impl Turns {
    /// Makes turns of so many clusters, with so many accesses in the queue and so many places.
    pub fn new(clusters: u32, most_queued: u32, places: u32) -> Self {
        Self {
            order: RoundRobin::default(),
            coming: vec![VecDeque::new(); clusters as usize],
            firsts: vec![NEVER; clusters as usize],
            first: NEVER,
            queue: VecDeque::with_capacity(most_queued as usize),
            most_queued: most_queued as usize,
            free: places,
            released: VecDeque::with_capacity(places as usize),
            cycle: 0,
            place: NEVER,
            turn: NEVER,
            offered: 0,
        }
    }

    /// Takes a cluster's access that comes to its turn in a cycle, behind the others of that cluster.
    pub fn come(&mut self, cluster: usize, at: u64, asked: Asked) {
        self.coming[cluster].push_back((at, asked));
        // Behind others of the cluster it comes later than they do.
        self.firsts[cluster] = self.firsts[cluster].min(at);
        self.first = self.first.min(at);
        (self.place, self.turn) = self.find_changes();
    }

    /// Frees a place from a cycle on.
    #[inline(always)]
    pub fn release(&mut self, from: u64) {
        if self.released.back().is_none_or(|&last| last <= from) {
            self.released.push_back(from); // nearly always
        } else {
            let index = self.released.partition_point(|&at| at <= from);
            self.released.insert(index, from);
        }
        (self.place, self.turn) = self.find_changes();
    }

    /// Goes through a cycle, before which nothing changes, in which places are given or not; gives what got a place.
    pub fn step(&mut self, cycle: u64, gives_places: bool) -> Option<Asked> {
        self.cycle = cycle + 1;
        while self.released.front().is_some_and(|&at| at <= cycle) {
            self.released.pop_front();
            self.free += 1;
        }
        let withheld = if gives_places { 0 } else { std::mem::take(&mut self.free) };
        let went = if self.queue.is_empty() && self.free > 0 && self.most_queued > 0 {
            // Nobody waits and a place is free: whoever has its turn goes on at once.
            let went = if self.first <= cycle { self.take_turn(cycle) } else { None };
            self.free -= u32::from(went.is_some());
            went
        } else {
            self.step_queue(cycle)
        };
        self.free += withheld;
        (self.place, self.turn) = self.find_changes();
        went
    }

    /// Does what is to be done in a cycle where the queue counts; gives what got a place.
    fn step_queue(&mut self, cycle: u64) -> Option<Asked> {
        let went = self.take_place();
        if went.is_some() {
            self.offered = cycle + 1;
        }
        if self.first <= cycle && self.queue.len() < self.most_queued {
            if self.queue.is_empty() {
                self.offered = self.offered.max(cycle);
            }
            if let Some(asked) = self.take_turn(cycle) {
                self.queue.push_back(asked);
            }
        }
        // What has its turn while a place is free has that at once.
        went.or_else(|| self.take_place())
    }

    /// Gives the cycle from which the first of the queue has been offered to who gives places, if there is one.
    #[inline]
    pub fn offered(&self) -> Option<u64> {
        (!self.queue.is_empty()).then_some(self.offered)
    }

    fn take_place(&mut self) -> Option<Asked> {
        self.free = self.free.checked_sub(u32::from(!self.queue.is_empty()))?;
        self.queue.pop_front()
    }

    /// Takes the access whose turn it is among those that have come.
    #[inline(always)]
    fn take_turn(&mut self, cycle: u64) -> Option<Asked> {
        let come = |(cluster, &from): (usize, &u64)| u64::from(from <= cycle) << cluster;
        let asking = self.firsts.iter().enumerate().map(come).fold(0, |all, bit| all | bit);
        let cluster = self.order.grant_word(asking)? as usize;
        let coming = &mut self.coming[cluster];
        let (_, asked) = coming.pop_front()?;
        self.firsts[cluster] = coming.front().map_or(NEVER, |&(from, _)| from);
        self.first = self.firsts.iter().copied().min().unwrap_or(NEVER);
        Some(asked)
    }

    /// Says whether no access comes or waits here.
    #[inline]
    pub fn are_idle(&self) -> bool {
        self.first == NEVER && self.queue.is_empty()
    }

    /// Gives the next cycle in which something may change, or [`NEVER`]: not before something is asked or released.
    #[inline]
    pub fn next_change(&self) -> u64 {
        self.place.min(self.turn)
    }

    /// Gives the same where places are given at some cycles only: the first of them from one on.
    #[inline]
    pub fn next_change_where(&self, gives_places: impl Fn(u64) -> u64) -> u64 {
        match self.place {
            NEVER => self.turn,
            place => gives_places(place).min(self.turn),
        }
    }

    /// Finds the cycles in which the next gets a place, and has its turn.
    #[inline]
    fn find_changes(&self) -> (u64, u64) {
        let place = match (self.queue.is_empty(), self.free) {
            (true, _) => NEVER,
            (false, 0) => self.released.front().map_or(NEVER, |&from| from),
            (false, _) => self.cycle,
        };
        let turn = match self.queue.len() < self.most_queued {
            true => self.first,
            false => NEVER,
        };
        (place.max(self.cycle), turn.max(self.cycle))
    }

    /// Checks what is kept against what is there.
    #[cfg(test)]
    pub fn check_kept(&self) {
        let firsts = self.coming.iter().map(|list| list.front().map_or(NEVER, |&(from, _)| from));
        assert_eq!(self.firsts, firsts.collect::<Vec<_>>());
        assert_eq!(Some(self.first), self.firsts.iter().copied().min());
        assert_eq!((self.place, self.turn), self.find_changes());
    }
}
