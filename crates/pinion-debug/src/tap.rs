//! What is between a node and the debugger. A node belongs to whoever runs it, and so does who listens to
//! it: the listener's end of a [`Tap`] fills it, the debugger's end empties it when the node has run for a
//! window.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::harts::Step;
use crate::hunt::Reason;
use crate::log::{Log, Takes};

/// Something that a log takes.
#[derive(Clone, Debug)]
enum Entry {
    Step(u32, Step),
    Note(u64, Option<u32>, Reason),
    Byte(u64, u32, u8, String),
}

/// Keeps entries until a log takes them.
#[derive(Debug, Default)]
pub struct Entries(VecDeque<Entry>);

impl Takes for Entries {
    fn step(&mut self, hart: u32, step: Step) {
        self.0.push_back(Entry::Step(hart, step));
    }

    fn note(&mut self, cycle: u64, hart: Option<u32>, reason: Reason) {
        self.0.push_back(Entry::Note(cycle, hart, reason));
    }

    fn byte(&mut self, cycle: u64, hart: u32, byte: u8, label: impl FnOnce() -> String) {
        self.0.push_back(Entry::Byte(cycle, hart, byte, label()));
    }
}

/// One end of a tap; both are alike. `I` is who knows what events mean.
pub struct Tap<I>(Arc<Mutex<(I, Entries)>>);

impl<I> Clone for Tap<I> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: Clone> Tap<I> {
    /// Makes a tap.
    pub fn new(interpreter: I) -> Self {
        Self(Arc::new(Mutex::new((interpreter, Entries::default()))))
    }

    /// Only a thread that panics leaves it poisoned, and that ends the run anyway.
    fn lock(&self) -> MutexGuard<'_, (I, Entries)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something interpreted.
    pub fn hear(&self, interpret: impl FnOnce(&mut I, &mut Entries)) {
        let (interpreter, entries) = &mut *self.lock();
        interpret(interpreter, entries);
    }

    /// Hands everything that was heard to a log.
    pub fn drain(&self, log: &mut Log<'_>) {
        let heard = std::mem::take(&mut self.lock().1);
        for entry in heard.0 {
            match entry {
                Entry::Step(hart, step) => log.step(hart, step),
                Entry::Note(cycle, hart, reason) => log.note(cycle, hart, reason),
                Entry::Byte(cycle, hart, byte, label) => log.byte(cycle, hart, byte, || label),
            }
        }
    }

    /// Gives what is known of the node.
    pub fn save(&self) -> I {
        self.lock().0.clone()
    }

    /// Takes what was known of the node; what was heard since is forgotten.
    pub fn restore(&self, saved: &I) {
        *self.lock() = (saved.clone(), Entries::default());
    }

    /// Asks who knows what events mean.
    pub fn ask<R>(&self, ask: impl FnOnce(&I) -> R) -> R {
        ask(&self.lock().0)
    }
}
