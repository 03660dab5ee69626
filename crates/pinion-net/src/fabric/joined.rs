//! Ranks that are threads of one process. In: what each does. Out: what came of it. They tell each other
//! everything through channels.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::{FabricError, Ranks, Status};

type Told = (Vec<u8>, Status);

/// Is one of several ranks in one process.
#[derive(Debug)]
pub struct Joined {
    rank: usize,
    to: Vec<Sender<Told>>,
    from: Vec<Receiver<Told>>,
}

impl Joined {
    /// Makes so many ranks that are joined to each other.
    pub fn new(count: usize) -> Vec<Self> {
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

    /// Does what each of so many ranks does, each on a thread of its own, and gives what came of it, in
    /// order of rank.
    ///
    /// # Panics
    /// If a rank does.
    pub fn run<T: Send>(count: usize, act: impl Fn(&mut dyn Ranks) -> T + Sync) -> Vec<T> {
        let act = &act;
        std::thread::scope(|scope| {
            let started: Vec<_> = Self::new(count)
                .into_iter()
                .map(|mut ranks| scope.spawn(move || act(&mut ranks)))
                .collect();
            let done = |one: std::thread::ScopedJoinHandle<'_, T>| one.join();
            let done = started.into_iter().map(done);
            done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
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
