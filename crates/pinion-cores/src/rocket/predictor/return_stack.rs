//! The stack of return addresses (RTL BTB.scala, `RAS`).
//!
//! In: calls and returns as the frontend meets them. Out: where the next return goes.

use super::Meeting;
use crate::Cycle;

/// Holds the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReturnStack {
    addresses: Vec<u64>,
    slots: usize,
    /// When the last call or return entered the fetch queue, and the top before it.
    last_update: Cycle,
    top_before: Option<u64>,
}

impl ReturnStack {
    /// Makes an empty stack of so many places; when it is full the oldest address goes.
    pub fn new(places: u32) -> Self {
        Self {
            addresses: Vec::with_capacity(places as usize),
            slots: places as usize,
            last_update: 0,
            top_before: None,
        }
    }

    /// Gives the top as an instruction's third stage sees it.
    pub fn top(&self) -> Option<u64> {
        self.addresses.last().copied()
    }

    /// Gives the stack's top as the second stage sees it, a cycle before an instruction is in the third.
    pub fn early_top(&self, fetched: Cycle) -> Option<u64> {
        if fetched == self.last_update + 1 { self.top_before } else { self.top() }
    }

    /// Takes a call's return address.
    pub fn push(&mut self, at: &Meeting) {
        self.top_before = self.top();
        self.last_update = at.fetched;
        if self.addresses.len() == self.slots {
            self.addresses.remove(0);
        }
        self.addresses.push(at.behind);
    }

    /// Drops the top: a return uses it.
    pub fn pop(&mut self, at: &Meeting) {
        self.top_before = self.top();
        self.last_update = at.fetched;
        self.addresses.pop();
    }
}
