//! Work that several ranks share, each a thread.

use pinion_net::fabric::{Joined, Ranks};

/// Does some work with so many ranks; gives what rank 0 gives.
pub fn with_ranks<T: Send>(count: usize, work: impl Fn(&mut dyn Ranks) -> Option<T> + Sync) -> T {
    let done = Joined::run(count, work);
    assert!(done[1..].iter().all(Option::is_none), "only rank 0 has something");
    done.into_iter().next().flatten().unwrap()
}
