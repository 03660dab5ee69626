//! What the components of a fabric share: the wires between them, and who has something to do when.
//!
//! A component that has nothing to do costs nothing: components are known in groups, each with a cycle
//! before which none of it acts, and a wire is not looked into before its own next cycle.
//!
//! Threads only lower what is known of others, and the cycle they lower it to may be one in which the
//! other has just taken the frame in question; between windows it is found out exactly. So windows
//! begin in the same cycles with any number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use pinion_sim::node::Node;

use crate::link::Wire;

/// Components in a group.
const GROUP: usize = 64;

/// Bit of [`Shared::standing`]: the run waits for the node.
pub(super) const OPEN: u8 = 1;
/// Bit of [`Shared::standing`]: the node failed.
pub(super) const FAILED: u8 = 2;

/// Holds what components share.
pub(super) struct Shared {
    pub wires: Vec<Mutex<Wire>>,
    /// By wire: the component that hears it.
    pub hears: Vec<usize>,
    /// By wire: the cycle in which it has something for its receiver, as [`Wire::next`] gives it.
    wire_next: Vec<AtomicU64>,
    /// By component: the wires that it hears.
    heard: Vec<Vec<u32>>,
    /// By component: whether it lives at this rank.
    is_here: Vec<bool>,
    /// By component: its own next cycle.
    own_next: Vec<AtomicU64>,
    /// By component: a cycle before which its wires have nothing for it.
    inbound_next: Vec<AtomicU64>,
    /// By group of components: a cycle before which none has anything to do.
    groups: Vec<AtomicU64>,
    /// By component: the last cycle in which it moved on, and how it stands.
    moved: Vec<AtomicU64>,
    standing: Vec<AtomicU8>,
    /// Some component has an error to tell.
    pub troubled: AtomicBool,
}

impl Shared {
    pub fn new(wires: Vec<Mutex<Wire>>, hears: Vec<usize>, is_here: Vec<bool>) -> Self {
        let never = |count: usize| (0..count).map(|_| AtomicU64::new(u64::MAX)).collect();
        let components = is_here.len();
        let mut heard = vec![Vec::new(); components];
        for (wire, &component) in hears.iter().enumerate() {
            heard[component].push(wire as u32);
        }
        Self {
            heard,
            wire_next: never(wires.len()),
            own_next: never(components),
            inbound_next: never(components),
            groups: never(components.div_ceil(GROUP)),
            moved: (0..components).map(|_| AtomicU64::new(0)).collect(),
            standing: (0..components).map(|_| AtomicU8::new(0)).collect(),
            troubled: AtomicBool::new(false),
            wires,
            hears,
            is_here,
        }
    }

    /// Gives a cycle before which a component has nothing to do.
    fn next(&self, component: usize) -> u64 {
        let own = self.own_next[component].load(Ordering::Acquire);
        own.min(self.inbound_next[component].load(Ordering::Acquire))
    }

    /// Finds out when a component has something to do; only between windows.
    fn find_next(&self, component: usize) -> u64 {
        if !self.is_here[component] {
            return u64::MAX;
        }
        let wires = self.heard[component].iter();
        let inbound = wires.map(|&wire| self.wire_next(wire as usize)).min().unwrap_or(u64::MAX);
        self.inbound_next[component].store(inbound, Ordering::Release);
        inbound.min(self.own_next[component].load(Ordering::Acquire))
    }

    /// Sets the cycle in which a component acts by itself.
    pub fn acts(&self, component: usize, next: Option<u64>) {
        self.own_next[component].store(next.unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Lets a component that was run be heard of again; only between windows.
    pub fn settle(&self, component: usize) {
        self.lower_group(component, self.find_next(component));
    }

    fn lower_group(&self, component: usize, next: u64) {
        let group = &self.groups[component / GROUP];
        if next < group.load(Ordering::Acquire) {
            group.fetch_min(next, Ordering::SeqCst);
        }
    }

    /// Says that a wire changed; the caller has it locked.
    pub fn announce(&self, wire: usize, next: Option<u64>) {
        let next = next.unwrap_or(u64::MAX);
        self.wire_next[wire].store(next, Ordering::SeqCst);
        let component = self.hears[wire];
        if next < u64::MAX && self.is_here[component] {
            self.inbound_next[component].fetch_min(next, Ordering::SeqCst);
            self.lower_group(component, next);
        }
    }

    /// Gives the cycle in which a wire has something for its receiver; `u64::MAX`: it has nothing.
    pub fn wire_next(&self, wire: usize) -> u64 {
        self.wire_next[wire].load(Ordering::SeqCst)
    }

    /// Notes how a node stands.
    pub fn note(&self, component: usize, node: &impl Node) {
        self.moved[component].store(node.moved(), Ordering::Release);
        let standing = u8::from(node.is_open()) * OPEN + u8::from(node.has_failed()) * FAILED;
        self.standing[component].store(standing, Ordering::Release);
    }

    /// Gives what [`Self::note`] noted.
    pub fn noted(&self, component: usize) -> (u64, u8) {
        let moved = self.moved[component].load(Ordering::Acquire);
        (moved, self.standing[component].load(Ordering::Acquire))
    }

    /// Gives the next cycle of all components; only between windows.
    pub fn next_of_all(&self) -> u64 {
        loop {
            let bounds = self.groups.iter().map(|group| group.load(Ordering::Acquire)).enumerate();
            let Some((group, bound)) = bounds.min_by_key(|(_, bound)| *bound) else {
                return u64::MAX;
            };
            let next = self.next_of(group);
            self.groups[group].store(next, Ordering::Release);
            if next == bound {
                return next;
            }
        }
    }

    /// Gives the next cycle of a group's components.
    fn next_of(&self, group: usize) -> u64 {
        loop {
            let first = self.members(group).map(|index| (self.next(index), index)).min();
            let Some((bound, index)) = first else { return u64::MAX };
            if self.find_next(index) == bound {
                return bound;
            }
        }
    }

    /// Lists the components that have something to do before `end`; only between windows. Those must
    /// be run and [`Self::settle`]d: nobody hears of them before.
    pub fn list_active(&self, end: u64, active: &mut Vec<u32>) {
        active.clear();
        for (number, group) in self.groups.iter().enumerate() {
            if group.load(Ordering::Acquire) >= end {
                continue;
            }
            let mut later = u64::MAX;
            for index in self.members(number) {
                match self.next(index) {
                    bound if bound >= end => later = later.min(bound),
                    _ => match self.find_next(index) {
                        next if next < end => active.push(index as u32),
                        next => later = later.min(next),
                    },
                }
            }
            group.store(later, Ordering::Release);
        }
    }

    fn members(&self, group: usize) -> std::ops::Range<usize> {
        group * GROUP..((group + 1) * GROUP).min(self.own_next.len())
    }
}
