//! Ranks that are threads, and tell each other all through channels.

use std::sync::mpsc::{Receiver, Sender, channel};

use pinion_net::fabric::{FabricError, Ranks, Status};

type Told = (Vec<u8>, Status);

/// Is one of several ranks.
struct Joined {
    rank: usize,
    to: Vec<Sender<Told>>,
    from: Vec<Receiver<Told>>,
}

fn joined(count: usize) -> Vec<Joined> {
    let mut ranks: Vec<Joined> =
        (0..count).map(|rank| Joined { rank, to: Vec::new(), from: Vec::new() }).collect();
    for to in 0..count {
        for from in 0..count {
            let (sender, receiver) = channel();
            ranks[from].to.push(sender);
            ranks[to].from.push(receiver);
        }
    }
    ranks
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

/// Does some work with so many ranks; gives what rank 0 gives.
pub fn with_ranks<T: Send>(count: usize, work: impl Fn(&mut dyn Ranks) -> Option<T> + Sync) -> T {
    let work = &work;
    let done: Vec<Option<T>> = std::thread::scope(|scope| {
        let ranks = joined(count).into_iter().map(|mut rank| scope.spawn(move || work(&mut rank)));
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert!(done[1..].iter().all(Option::is_none), "only rank 0 has something");
    done.into_iter().next().flatten().unwrap()
}
