//! JBSQ, join bounded shortest queue: a message goes to the hart with the fewest of its application's,
//! if one has fewer than *k* (nanoPU paper, §2.3 and §3.2; RTL LNIC/RxQueues.scala).
//!
//! In: contexts that harts bind, messages to place, harts that are done with one. Out: the hart that
//! gets a message, or that nobody can take it. Holds the paper's two tables: which harts serve a
//! context, and how many of its messages are outstanding at each. A message waits while all harts that
//! serve its context have *k*.

/// Most harts of a node: one bit each.
pub const MAX_HARTS: usize = 64;

/// Holds who serves which context, and how busy each is with it.
#[derive(Clone, Debug)]
pub struct Jbsq {
    /// The *k* of JBSQ(*k*): most messages of a context outstanding at a hart.
    limit: u16,
    harts: usize,
    /// By context: the harts that have bound it.
    bound: Vec<u64>,
    /// By context and hart: messages outstanding.
    outstanding: Vec<u16>,
}

impl Jbsq {
    /// Makes the tables for `contexts` contexts on `harts` harts; nobody serves any yet.
    ///
    /// # Panics
    /// With more than [`MAX_HARTS`] harts; the node's configuration checks that.
    pub fn new(limit: u16, contexts: u16, harts: usize) -> Self {
        assert!((1..=MAX_HARTS).contains(&harts));
        Self {
            limit,
            harts,
            bound: vec![0; usize::from(contexts)],
            outstanding: vec![0; usize::from(contexts) * harts],
        }
    }

    /// Counts the harts.
    pub fn harts(&self) -> usize {
        self.harts
    }

    /// Enters that a hart serves a context. Returns false for a context without a queue.
    pub fn bind(&mut self, hart: u8, context: u16) -> bool {
        let Some(bound) = self.bound.get_mut(usize::from(context)) else { return false };
        *bound |= 1 << hart;
        true
    }

    /// Tells whether a context has a queue.
    pub fn in_range(&self, context: u16) -> bool {
        usize::from(context) < self.bound.len()
    }

    /// Gives the harts that serve a context, a bit each; none for a context without a queue.
    pub fn bound(&self, context: u16) -> u64 {
        self.bound.get(usize::from(context)).copied().unwrap_or(0)
    }

    /// Chooses the least busy hart of those that serve a context, the lowest among equals, and counts
    /// the message there.
    pub fn shortest(&mut self, context: u16) -> Option<u8> {
        let bound = self.bound(context);
        let counts = &self.outstanding[usize::from(context) * self.harts..][..self.harts];
        let shortest = (0..self.harts)
            .filter(|&hart| bound >> hart & 1 == 1 && counts[hart] < self.limit)
            .min_by_key(|&hart| counts[hart])?;
        self.join(shortest as u8, context)
    }

    /// Counts a message more at this hart, if it can take one.
    pub fn join(&mut self, hart: u8, context: u16) -> Option<u8> {
        let count = &mut self.outstanding[usize::from(context) * self.harts + usize::from(hart)];
        let has_room = *count < self.limit;
        *count += u16::from(has_room);
        has_room.then_some(hart)
    }

    /// Counts a message less at a hart. Returns false if none was outstanding there.
    pub fn release(&mut self, hart: u8, context: u16) -> bool {
        let at = usize::from(context) * self.harts + usize::from(hart);
        let Some(count) = self.outstanding.get_mut(at).filter(|count| **count > 0) else {
            return false;
        };
        *count -= 1;
        true
    }

    /// Describes the tables: by context, the harts that serve it and the messages of each.
    pub fn describe(&self) -> String {
        let row = |context: usize| {
            let counts = &self.outstanding[context * self.harts..][..self.harts];
            format!("context {context} at harts {:#b}, outstanding {counts:?}", self.bound[context])
        };
        (0..self.bound.len()).map(row).collect::<Vec<_>>().join("; ")
    }

    /// Counts the messages of a context that are outstanding at a hart.
    pub fn outstanding(&self, hart: u8, context: u16) -> u16 {
        let at = usize::from(context) * self.harts + usize::from(hart);
        self.outstanding.get(at).copied().unwrap_or(0) // no message of a context that is not there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_least_loaded_and_the_lowest_among_equals() {
        let mut jbsq = Jbsq::new(2, 4, 4);
        assert!((0..4).all(|hart| jbsq.bind(hart, 0)));
        let chosen: Vec<_> = (0..9).map(|_| jbsq.shortest(0)).collect();
        let expected = [0, 1, 2, 3, 0, 1, 2, 3].map(Some).into_iter().chain([None]);
        assert!(chosen.into_iter().eq(expected));
        assert!(jbsq.release(2, 0) && jbsq.release(2, 0) && jbsq.release(3, 0));
        assert!(!jbsq.release(2, 0), "nothing is outstanding any more");
        let chosen = [jbsq.shortest(0), jbsq.shortest(0), jbsq.shortest(0)];
        assert_eq!(chosen, [Some(2), Some(2), Some(3)]);
    }

    #[test]
    fn only_harts_that_bound_a_context_get_its_messages() {
        let mut jbsq = Jbsq::new(1, 4, 4);
        assert!(jbsq.bound(1) == 0 && jbsq.shortest(1).is_none());
        assert!(jbsq.bind(2, 1));
        assert_eq!([jbsq.shortest(1), jbsq.shortest(1)], [Some(2), None]);
        assert!(!jbsq.bind(0, 4) && !jbsq.in_range(4) && jbsq.bound(4) == 0);
        assert_eq!(jbsq.outstanding(0, 4), 0);
    }
}
