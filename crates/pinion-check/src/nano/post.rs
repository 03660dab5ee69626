//! What harts of a cluster's nodes know of each other: a message to another node carries what its sender
//! knew, so that a node that asks another one, and hears the answer on another of its harts, has ordered
//! the two.
//!
//! Nodes are simulated at the same time, so a letter may be written before or after another node looks
//! for it. It is looked for only when it could have arrived: then it was written in an earlier window,
//! whatever the number of threads. Where the nodes are shared among processes, those letters go with the
//! window's frames.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_nanopu::Cycle;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::clocks::{Clocks, join};

/// Moments of a hart's that are remembered, at which it heard from other nodes.
const HEARD: usize = 64;

/// By address of a node: what is known of its harts.
type World = BTreeMap<u32, Arc<[u32]>>;

/// From, to, and the context there.
type Way = (u32, u32, u16);

/// What a sender knew, and when.
struct Letter {
    sent: Cycle,
    world: World,
}

/// A letter that goes to another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    way: Way,
    sent: Cycle,
    world: Vec<(u32, Vec<u32>)>,
}

impl Parcel {
    /// Gives the address of the node that it is for.
    pub const fn to(&self) -> u32 {
        self.way.1
    }
}

/// Holds what nodes have written to each other, and was not read.
#[derive(Default)]
struct Letters(Mutex<FxHashMap<Way, Vec<Letter>>>);

/// Brings letters between the nodes of a cluster. Copies are the same one.
#[derive(Clone)]
pub struct Post {
    letters: Arc<Letters>,
    /// Cycles that the shortest way between two nodes takes.
    shortest: u64,
}

impl Post {
    /// Makes the post of a cluster whose nodes are at least so many cycles apart.
    pub fn new(shortest: u64) -> Self {
        Self { letters: Arc::default(), shortest }
    }

    /// Takes the letters for nodes that are elsewhere, by address.
    pub fn leaving(&self, is_elsewhere: impl Fn(u32) -> bool) -> Vec<Parcel> {
        let mut letters = self.letters();
        let leaving = letters.extract_if(|(_, to, _), _| is_elsewhere(*to));
        let parcel = |way: Way, Letter { sent, world }: Letter| {
            let world = world.into_iter().map(|(node, known)| (node, known.to_vec()));
            Parcel { way, sent, world: world.collect() }
        };
        leaving
            .flat_map(|(way, letters)| letters.into_iter().map(move |letter| parcel(way, letter)))
            .collect()
    }

    /// Adds letters that have come from elsewhere.
    pub fn come(&self, parcels: Vec<Parcel>) {
        let mut letters = self.letters();
        for Parcel { way, sent, world } in parcels {
            let world = world.into_iter().map(|(node, known)| (node, known.into())).collect();
            letters.entry(way).or_default().push(Letter { sent, world });
        }
    }

    fn letters(&self) -> MutexGuard<'_, FxHashMap<Way, Vec<Letter>>> {
        self.letters.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds what a node's harts know of other nodes.
pub struct Abroad {
    post: Post,
    /// Its address.
    ip: u32,
    /// By sender and context: what those knew whose messages have come.
    come: FxHashMap<(u32, u16), World>,
    /// By hart: from which number of its clock on it knew what of other nodes.
    heard: Vec<Vec<(u32, World)>>,
}

impl Abroad {
    /// Makes it for a node with so many harts.
    pub fn new(post: &Post, ip: u32, harts: usize) -> Self {
        let heard = (0..harts).map(|_| Vec::new()).collect();
        Self { post: post.clone(), ip, come: FxHashMap::default(), heard }
    }

    /// Writes down what a hart knows that sends a message to another node.
    pub fn send(&mut self, clocks: &mut Clocks, hart: usize, (to, context): (u32, u16), at: Cycle) {
        let mut world = self.known_to(clocks, hart);
        // A hart that is alone has nobody to be ordered with.
        if self.heard.len() > 1 {
            world.insert(self.ip, clocks.of(hart).into());
            clocks.tick(hart);
        }
        if !world.is_empty() {
            let way = (self.ip, to, context);
            self.post.letters().entry(way).or_default().push(Letter { sent: at, world });
        }
    }

    /// Lets a hart that begins a message from another node know what its sender knew.
    pub fn receive(
        &mut self,
        clocks: &mut Clocks,
        hart: usize,
        (from, context): (u32, u16),
        at: Cycle,
    ) {
        let come = self.come.entry((from, context)).or_default();
        if let Some(letters) = self.post.letters().get_mut(&(from, self.ip, context)) {
            let shortest = self.post.shortest;
            for letter in letters.extract_if(.., |letter| letter.sent + shortest <= at) {
                add(come, &letter.world);
            }
        }
        if come.is_empty() {
            return;
        }
        let mut world = come.clone();
        if let Some(own) = world.remove(&self.ip) {
            clocks.learn(hart, &own);
        }
        let heard = &mut self.heard[hart];
        if let Some((_, before)) = heard.last() {
            add(&mut world, before);
        }
        heard.push((clocks.own(hart), world));
        if heard.len() > HEARD {
            // Whoever knows of the hart only what it did before then is taken to know this, too.
            heard.remove(0);
            heard[0].0 = 0;
        }
    }

    /// Gives what a hart knows of other nodes, of itself or through others of its node.
    fn known_to(&self, clocks: &Clocks, hart: usize) -> World {
        let mut world = World::new();
        for (heard, number) in self.heard.iter().zip(clocks.of(hart)) {
            let after = heard.partition_point(|(from, _)| from <= number);
            if let Some((_, known)) = after.checked_sub(1).map(|at| &heard[at]) {
                add(&mut world, known);
            }
        }
        world
    }
}

/// Adds what one knows of the world to what another knows.
fn add(world: &mut World, more: &World) {
    for (node, knowledge) in more {
        match world.get_mut(node) {
            None => {
                world.insert(*node, Arc::clone(knowledge));
            }
            Some(known) if Arc::ptr_eq(known, knowledge) => {}
            Some(known) => {
                let mut joined = known.to_vec();
                join(&mut joined, knowledge);
                *known = joined.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 10;
    const B: u32 = 11;

    #[test]
    fn an_answer_orders_harts_of_the_node_that_asked() {
        let post = Post::new(100);
        let mut at_a = (Abroad::new(&post, A, 2), Clocks::new(2));
        let mut at_b = (Abroad::new(&post, B, 2), Clocks::new(2));
        let asked = at_a.1.own(0);
        at_a.0.send(&mut at_a.1, 0, (B, 0), 50);
        let later = at_a.1.own(0);
        // It cannot have come yet.
        at_b.0.receive(&mut at_b.1, 0, (A, 0), 149);
        at_b.0.send(&mut at_b.1, 0, (A, 1), 149);
        at_a.0.receive(&mut at_a.1, 1, (B, 1), 249);
        assert!(!at_a.1.knows(1, 0, asked));
        // One hart of the other node takes it, tells another one, and that answers.
        at_b.0.receive(&mut at_b.1, 0, (A, 0), 150);
        let told = at_b.1.of(0).to_vec();
        at_b.1.tick(0);
        at_b.1.learn(1, &told);
        at_b.0.send(&mut at_b.1, 1, (A, 1), 200);
        at_a.0.receive(&mut at_a.1, 1, (B, 1), 300);
        assert!(at_a.1.knows(1, 0, asked));
        assert!(!at_a.1.knows(1, 0, later), "what it did behind its question is not ordered");
    }

    #[test]
    fn letters_go_to_another_process_and_order_as_they_would_here() {
        let (here, there) = (Post::new(10), Post::new(10));
        let mut at_a = (Abroad::new(&here, A, 2), Clocks::new(2));
        let mut at_b = (Abroad::new(&there, B, 2), Clocks::new(2));
        let asked = at_a.1.own(0);
        at_a.0.send(&mut at_a.1, 0, (B, 0), 5);
        at_a.0.send(&mut at_a.1, 0, (A, 0), 6);
        let leaving = here.leaving(|to| to == B);
        assert_eq!(leaving.iter().map(Parcel::to).collect::<Vec<_>>(), [B]);
        assert!(here.leaving(|to| to == B).is_empty(), "it is gone");
        there.come(leaving);
        at_b.0.receive(&mut at_b.1, 1, (A, 0), 15);
        at_b.0.send(&mut at_b.1, 1, (A, 1), 20);
        here.come(there.leaving(|to| to == A));
        at_a.0.receive(&mut at_a.1, 1, (B, 1), 30);
        assert!(at_a.1.knows(1, 0, asked));
        let unread: usize = here.letters().values().map(Vec::len).sum();
        assert_eq!(unread, 1, "its own letter stays here");
    }

    #[test]
    fn nodes_with_one_hart_pass_on_what_they_hear() {
        let post = Post::new(1);
        let mut at_a = (Abroad::new(&post, A, 2), Clocks::new(2));
        let mut at_b = (Abroad::new(&post, B, 1), Clocks::new(1));
        at_b.0.send(&mut at_b.1, 0, (A, 0), 5);
        assert!(post.letters().is_empty(), "nobody is to be ordered with it");
        let asked = at_a.1.own(0);
        at_a.0.send(&mut at_a.1, 0, (B, 0), 5);
        at_b.0.receive(&mut at_b.1, 0, (A, 0), 9);
        at_b.0.send(&mut at_b.1, 0, (A, 0), 10);
        at_a.0.receive(&mut at_a.1, 1, (B, 0), 11);
        assert!(at_a.1.knows(1, 0, asked));
    }
}
