//! Ranks that MPI joins. In, at the end of a window: frames for other ranks and how this one stands.
//! Out: other ranks' frames and how all stand.
//!
//! One collective call per window tells all ranks how each stands and how many bytes it has for whom;
//! frames follow from point to point, where there are any. All calls are made by the thread that leads
//! the fabric (thread level funneled), which is the one that began.

use std::io::Write as _;

use mpi::Threading;
use mpi::environment::Universe;
use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use pinion_net::fabric::{FabricError, Ranks, Status};

use pinion_app::error::{Error, Result, paragraph};

/// Bytes of a message of MPI at most: it counts in 32 bits with a sign.
const MESSAGE_BYTES: usize = 1 << 30;

/// Words in front of the numbers of bytes in what ranks tell each other.
const HEAD: usize = 7;

/// Time for which a rank that failed lets the first one speak: mostly all fail alike.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(300);

/// Says which of the two calls a rank is in.
#[derive(Clone, Copy)]
enum Call {
    Exchange = 1,
    Gather = 2,
}

/// One of several ranks; all end when it is dropped before [`Self::finish`].
struct Mpi {
    world: SimpleCommunicator,
    rank: usize,
    count: usize,
    calls: u64,
    finished: bool,
    // Dropped last: it ends MPI.
    _universe: Universe,
}

/// Does some work as one of several ranks.
pub(super) fn with<T>(work: impl FnOnce(&mut dyn Ranks) -> Result<T>) -> Result<T> {
    let mut ranks = Mpi::start()?;
    match work(&mut ranks) {
        Ok(done) => {
            ranks.finished = true;
            Ok(done)
        }
        Err(error) => {
            if ranks.rank > 0 {
                std::thread::sleep(PATIENCE);
            }
            let _ =
                writeln!(std::io::stderr(), "pinion: rank {}: {}", ranks.rank, paragraph(&error));
            ranks.world.abort(2)
        }
    }
}

impl Mpi {
    fn start() -> Result<Self> {
        let Some((universe, level)) = mpi::initialize_with_threading(Threading::Funneled) else {
            return Err(Error::Usage("MPI has begun already in this process".to_owned()));
        };
        let world = universe.world();
        if level < Threading::Funneled {
            let problem =
                "this MPI allows no threads (MPI_THREAD_FUNNELED); take another".to_owned();
            let _ = writeln!(std::io::stderr(), "pinion: {problem}");
            world.abort(2);
        }
        let (rank, count) = (world.rank() as usize, world.size() as usize);
        Ok(Self { world, rank, count, calls: 0, finished: false, _universe: universe })
    }

    /// Tells all ranks how this one stands and sends them their parcels.
    fn round(
        &mut self,
        call: Call,
        parcels: &[Vec<u8>],
        status: Status,
    ) -> std::result::Result<(Vec<Vec<u8>>, Status), FabricError> {
        let heads = self.tell(call, parcels, status);
        let mut together = Status::NONE;
        let mut arrived = vec![Vec::new(); self.count];
        for (rank, head) in heads.chunks_exact(HEAD + self.count).enumerate() {
            if head[..2] != [call as u64, self.calls] {
                let problem = "it is at another point of the run".to_owned();
                return Err(FabricError::Rank { rank, problem });
            }
            together = together.with(Status {
                next: head[2],
                moved: head[3],
                open: head[4],
                failed: head[5],
                stop: head[6] != 0,
            });
            arrived[rank] = vec![0; head[HEAD + self.rank] as usize];
        }
        self.carry(parcels, &mut arrived);
        Ok((arrived, together))
    }

    /// Tells all how this rank stands and how many bytes it has for each; gives what all told.
    fn tell(&mut self, call: Call, parcels: &[Vec<u8>], status: Status) -> Vec<u64> {
        self.calls += 1;
        let Status { next, moved, open, failed, stop } = status;
        let mut own = vec![call as u64, self.calls, next, moved, open, failed, u64::from(stop)];
        own.extend((0..self.count).map(|rank| match parcels.get(rank) {
            Some(parcel) if rank != self.rank => parcel.len() as u64,
            _ => 0,
        }));
        let mut heads = vec![0; own.len() * self.count];
        self.world.all_gather_into(&own[..], &mut heads[..]);
        heads
    }

    /// Sends parcels that are not empty, and receives those of the lengths that are wanted.
    fn carry(&self, parcels: &[Vec<u8>], arrived: &mut [Vec<u8>]) {
        let others = |rank: usize| rank != self.rank;
        let leaving = parcels.iter().enumerate().filter(|(rank, _)| others(*rank));
        let leaving: Vec<(usize, &[u8])> = leaving
            .flat_map(|(rank, parcel)| parcel.chunks(MESSAGE_BYTES).map(move |part| (rank, part)))
            .collect();
        multiple_scope(leaving.len(), |scope, requests| {
            for (rank, part) in &leaving {
                let process = self.world.process_at_rank(*rank as i32);
                requests.add(process.immediate_send(scope, *part));
            }
            for (rank, parcel) in arrived.iter_mut().enumerate().filter(|(rank, _)| others(*rank)) {
                for part in parcel.chunks_mut(MESSAGE_BYTES) {
                    self.world.process_at_rank(rank as i32).receive_into(part);
                }
            }
            requests.wait_all(&mut Vec::new());
        });
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(
        &mut self,
        mut parcels: Vec<Vec<u8>>,
        status: Status,
    ) -> std::result::Result<(Vec<Vec<u8>>, Status), FabricError> {
        let (mut arrived, together) = self.round(Call::Exchange, &parcels, status)?;
        if let (Some(own), Some(to)) = (parcels.get_mut(self.rank), arrived.get_mut(self.rank)) {
            std::mem::swap(own, to);
        }
        Ok((arrived, together))
    }

    fn gather(
        &mut self,
        parcel: Vec<u8>,
    ) -> std::result::Result<Option<Vec<Vec<u8>>>, FabricError> {
        if self.rank > 0 {
            self.round(Call::Gather, &[parcel], Status::NONE)?;
            return Ok(None);
        }
        let (mut arrived, _) = self.round(Call::Gather, &[], Status::NONE)?;
        arrived[0] = parcel;
        Ok(Some(arrived))
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if !self.finished {
            // A panic: its message is out. Others wait for this rank and would for ever.
            self.world.abort(101);
        }
    }
}
