//! Nobody waits for ever when somebody fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::*;
use crate::topology::Topology;

/// Does something that must not take long, on a thread of its own.
fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(act()));
    receiver.recv_timeout(Duration::from_secs(60)).expect("somebody hangs")
}

/// Makes a fabric in which node 3 panics after a while.
fn failing(threads: usize, ranks: &dyn Ranks) -> Fabric<Talker> {
    let case = case(Topology::star(6, Link::published()), None, 1);
    let mut fabric = fabric(&case, threads, ranks);
    fabric.for_each_node(|number, talker| talker.fails_at = (number == 3).then_some(2_000));
    fabric
}

#[test]
fn a_member_that_panics_ends_the_run_of_all_threads() {
    for threads in [1, 2, 4] {
        let failed = soon(move || {
            let mut fabric = failing(threads, &Alone);
            let run = || fabric.run(u64::MAX, &mut Alone, &mut OnAndOn);
            catch_unwind(AssertUnwindSafe(run)).is_err()
        });
        assert!(failed, "{threads} threads");
    }
}

#[test]
fn a_watcher_that_panics_ends_the_run_of_all_threads() {
    struct Panics;
    impl Watcher for Panics {
        fn goes_on(&mut self, now: u64, _: &Status) -> bool {
            assert!(now < 2_000, "the watcher was to fail");
            true
        }
    }
    let failed = soon(|| {
        let case = case(Topology::star(6, Link::published()), None, 1);
        let mut fabric = fabric(&case, 4, &Alone);
        let run = || fabric.run(u64::MAX, &mut Alone, &mut Panics);
        catch_unwind(AssertUnwindSafe(run)).is_err()
    });
    assert!(failed);
}

#[test]
fn a_rank_that_panics_is_an_error_at_the_others() {
    let ends = soon(|| {
        let ranks = Joined::new(3).into_iter().map(|mut ranks| {
            std::thread::spawn(move || {
                failing(2, &ranks)
                    .run(u64::MAX, &mut ranks, &mut OnAndOn)
                    .map_err(|e| e.to_string())
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().map_err(|_| ())).collect::<Vec<_>>()
    });
    assert!(ends[1].is_err(), "node 3 is rank 1's: {ends:?}");
    for end in [&ends[0], &ends[2]] {
        let problem = end.as_ref().unwrap().as_ref().unwrap_err();
        assert!(problem.contains("is gone"), "{problem}");
    }
}

#[test]
fn a_watcher_stops_all_ranks_at_the_same_cycle() {
    struct Stops(u64);
    impl Watcher for Stops {
        fn stops(&mut self) -> bool {
            self.0 = self.0.saturating_sub(1);
            self.0 == 0
        }
        fn goes_on(&mut self, _: u64, _: &Status) -> bool {
            true
        }
    }
    let case = case(two_tiers(), None, 9);
    let ends = Joined::run(3, |ranks| {
        let mut fabric = fabric(&case, 1, ranks);
        // Only rank 1 wants to stop, after 20 windows.
        let mut watcher = Stops(if ranks.rank() == 1 { 21 } else { u64::MAX });
        (fabric.run(u64::MAX, ranks, &mut watcher).unwrap(), fabric.now(), fabric.windows())
    });
    assert_eq!(ends[0].0, Outcome::Stopped);
    assert_eq!((ends[0].2, ends[1], ends[2]), (20, ends[0], ends[0]));
}

#[test]
fn bytes_that_are_no_frames_name_the_rank_they_came_from() {
    /// Says that there are two ranks, and hears nonsense from the other.
    struct Nonsense;
    impl Ranks for Nonsense {
        fn rank(&self) -> usize {
            0
        }
        fn count(&self) -> usize {
            2
        }
        fn exchange(
            &mut self,
            _: Vec<Vec<u8>>,
            status: Status,
        ) -> Result<(Vec<Vec<u8>>, Status), FabricError> {
            Ok((vec![Vec::new(), vec![1, 2, 3]], status))
        }
        fn gather(&mut self, _: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, FabricError> {
            Ok(None)
        }
    }
    let mut fabric = fabric(&case(two_tiers(), None, 1), 1, &Nonsense);
    let problem = fabric.run(u64::MAX, &mut Nonsense, &mut OnAndOn).unwrap_err().to_string();
    assert!(problem.starts_with("rank 1: it sent bytes that are no frames"), "{problem}");
}
