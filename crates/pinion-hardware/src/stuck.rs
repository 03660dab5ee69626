//! Blocks that do not end a cycle. In: when each begins to be evaluated, and ends. Out, for whoever looks from time to
//! time: the one that has been at the same evaluation since the last look. A block runs in the process, and nothing
//! else can be told of a loop without end in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Every block that is there: its title, and what it counts.
static BLOCKS: Mutex<Vec<(String, Weak<AtomicU64>)>> = Mutex::new(Vec::new());

/// Counts beginnings and ends of a block's evaluations: odd while it is evaluated.
#[derive(Debug)]
pub struct Turns(Arc<AtomicU64>);

impl Turns {
    /// Makes those of a block.
    pub fn new(title: &str) -> Self {
        let turns = Arc::new(AtomicU64::new(0));
        let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.retain(|(_, turns)| turns.strong_count() > 0);
        blocks.push((title.to_owned(), Arc::downgrade(&turns)));
        Self(turns)
    }

    /// Counts an evaluation.
    #[inline]
    pub fn count<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        // Nobody else writes it.
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before + 1, Ordering::Relaxed);
        let done = evaluate();
        self.0.store(before + 2, Ordering::Relaxed);
        done
    }
}

/// Looks from time to time.
#[derive(Debug, Default)]
pub struct Watch(Vec<(Weak<AtomicU64>, u64)>);

impl Watch {
    /// Gives the title of a block that is at the evaluation that it was at when this was called last.
    pub fn look(&mut self) -> Option<String> {
        let blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut now, mut found) = (Vec::new(), None);
        for (title, turns) in blocks.iter() {
            let Some(count) = turns.upgrade().map(|turns| turns.load(Ordering::Relaxed)) else {
                continue;
            };
            let is_same =
                |(seen, before): &&(Weak<AtomicU64>, u64)| seen.ptr_eq(turns) && *before == count;
            if count % 2 == 1 && self.0.iter().any(|seen| is_same(&seen)) {
                found.get_or_insert_with(|| title.clone());
            }
            now.push((turns.clone(), count));
        }
        self.0 = now;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_at_one_evaluation_for_long_is_found() {
        let (quick, slow) = (Turns::new("quick"), Turns::new("slow"));
        let mut watch = Watch::default();
        assert_eq!(watch.look(), None);
        slow.count(|| {
            assert_eq!(watch.look(), None);
            quick.count(|| assert_eq!(watch.look().as_deref(), Some("slow")));
        });
        assert_eq!(watch.look(), None);
        // It is another one, though there is one whenever somebody looks.
        for _ in 0..3 {
            quick.count(|| assert_eq!(watch.look(), None));
        }
        drop(quick);
        assert_eq!(watch.look(), None);
    }
}
