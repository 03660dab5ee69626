//! Ranks whose checkers write to each other. In: what harts know that send to nodes of other ranks, and what
//! the fabric has for other ranks. Out: both in one parcel.
//!
//! A letter is there when its message could be: the message takes a window at least, and at a window's end
//! the letter has come.

use std::collections::BTreeMap;

use pinion_check::Post;
use pinion_net::fabric::{FabricError, Ranks, Status, home};
use pinion_net::topology::Place;

use super::plan::Plan;

/// Bytes in front of letters that say how many bytes of them there are.
const HEAD: usize = 8;

/// Ranks, and the letters between their nodes.
pub struct Mail<'r> {
    ranks: &'r mut dyn Ranks,
    post: Post,
    /// By address of a node: its rank.
    homes: BTreeMap<u32, usize>,
}

impl<'r> Mail<'r> {
    /// Lets the ranks of a cluster bring letters.
    pub fn new(plan: &Plan, ranks: &'r mut dyn Ranks, post: &Post) -> Self {
        let (topology, count) = (&plan.network.topology, ranks.count());
        let at = |node: usize| (plan.address(node), home(topology, Place::Node(node), count));
        Self { homes: (0..plan.nodes()).map(at).collect(), ranks, post: post.clone() }
    }

    /// Puts the letters for other ranks in front of what else there is for them.
    fn write(&self, parcels: &mut [Vec<u8>]) -> Result<(), FabricError> {
        let own = self.ranks.rank();
        let home = |address: u32| self.homes.get(&address).copied().unwrap_or(own);
        let mut letters = vec![Vec::new(); parcels.len()];
        for letter in self.post.leaving(|address| home(address) != own) {
            letters[home(letter.to())].push(letter);
        }
        let others = parcels.iter_mut().zip(letters).enumerate();
        for (_, (parcel, letters)) in others.filter(|(rank, _)| *rank != own) {
            if parcel.is_empty() && letters.is_empty() {
                continue;
            }
            let letters = serde_json::to_vec(&letters).map_err(|error| self.broken(own, error))?;
            let head = (letters.len() as u64).to_le_bytes();
            *parcel = [&head[..], &letters, parcel].concat();
        }
        Ok(())
    }

    /// Takes the letters out of what has come from other ranks.
    fn read(&self, parcels: &mut [Vec<u8>]) -> Result<(), FabricError> {
        let own = self.ranks.rank();
        for (rank, parcel) in parcels.iter_mut().enumerate() {
            if rank == own || parcel.is_empty() {
                continue;
            }
            let cut = parcel.split_first_chunk::<HEAD>().and_then(|(head, rest)| {
                rest.split_at_checked(usize::try_from(u64::from_le_bytes(*head)).ok()?)
            });
            let (letters, frames) = cut.ok_or_else(|| self.broken(rank, "no letters"))?;
            let letters = serde_json::from_slice(letters);
            self.post.come(letters.map_err(|error| self.broken(rank, error))?);
            *parcel = frames.to_vec();
        }
        Ok(())
    }

    fn broken(&self, rank: usize, problem: impl std::fmt::Display) -> FabricError {
        let problem = format!("what its checkers sent is damaged: {problem}");
        FabricError::Rank { rank, problem }
    }
}

impl Ranks for Mail<'_> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn count(&self) -> usize {
        self.ranks.count()
    }

    fn exchange(
        &mut self,
        mut parcels: Vec<Vec<u8>>,
        status: Status,
    ) -> Result<(Vec<Vec<u8>>, Status), FabricError> {
        self.write(&mut parcels)?;
        let (mut arrived, together) = self.ranks.exchange(parcels, status)?;
        self.read(&mut arrived)?;
        Ok((arrived, together))
    }

    fn gather(&mut self, parcel: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, FabricError> {
        self.ranks.gather(parcel)
    }
}
