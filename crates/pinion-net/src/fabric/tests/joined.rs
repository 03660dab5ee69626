//! Ranks that are threads of one process and tell each other everything through channels.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

type Told = (Vec<u8>, Status);

/// One of several ranks.
pub(super) struct Joined {
    rank: usize,
    to: Vec<Sender<Told>>,
    from: Vec<Receiver<Told>>,
}

impl Joined {
    /// Makes so many ranks that are joined to each other.
    pub(super) fn new(count: usize) -> Vec<Self> {
        let mut ranks: Vec<Self> =
            (0..count).map(|rank| Self { rank, to: Vec::new(), from: Vec::new() }).collect();
        for to in 0..count {
            for from in 0..count {
                let (sender, receiver) = channel();
                ranks[from].to.push(sender);
                ranks[to].from.push(receiver);
            }
        }
        ranks
    }

    /// Does what each of so many ranks does, and gives what came of it, in order of rank.
    pub(super) fn run<T: Send>(count: usize, act: impl Fn(&mut dyn Ranks) -> T + Sync) -> Vec<T> {
        let act = &act;
        std::thread::scope(|scope| {
            let started: Vec<_> = Self::new(count)
                .into_iter()
                .map(|mut ranks| scope.spawn(move || act(&mut ranks)))
                .collect();
            started.into_iter().map(|one| one.join().expect("a rank panicked")).collect()
        })
    }
}

impl Ranks for Joined {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(
        &mut self,
        parcels: Vec<Vec<u8>>,
        status: Status,
    ) -> Result<(Vec<Vec<u8>>, Status), FabricError> {
        for (to, parcel) in self.to.iter().zip(parcels) {
            // One that is gone is found out about when it should answer.
            let _ = to.send((parcel, status));
        }
        let (mut arrived, mut together) = (Vec::new(), Status::NONE);
        for (rank, from) in self.from.iter().enumerate() {
            let gone = |_| FabricError::Rank { rank, problem: "it is gone".to_owned() };
            let (parcel, status) = from.recv().map_err(gone)?;
            together = together.with(status);
            arrived.push(parcel);
        }
        Ok((arrived, together))
    }

    fn gather(&mut self, parcel: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, FabricError> {
        let mut parcels = vec![Vec::new(); self.count()];
        parcels[0] = parcel;
        let (arrived, _) = self.exchange(parcels, Status::NONE)?;
        Ok((self.rank == 0).then_some(arrived))
    }
}

#[test]
fn ranks_hear_each_other_and_the_first_gathers() {
    let heard = Joined::run(3, |ranks| {
        let own = ranks.rank() as u8;
        let status = Status { next: u64::from(own), open: 1, ..Status::NONE };
        let (parcels, together) =
            ranks.exchange((0..3).map(|to| vec![own, to]).collect(), status).unwrap();
        assert_eq!((together.next, together.open), (0, 3));
        (parcels, ranks.gather(vec![own]).unwrap())
    });
    assert_eq!(heard[1].0, [[0, 1], [1, 1], [2, 1]]);
    assert_eq!(heard[0].1, Some(vec![vec![0], vec![1], vec![2]]));
    assert_eq!(heard[2].1, None);
}
