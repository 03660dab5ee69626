//! A cluster's summary is the same whatever runs it: threads, and ranks that are threads themselves
//! here and tell each other all through channels. tests/cluster/identity.py does it with MPI.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use pinion::app::Options;
use pinion::cluster::{Plan, RunOptions, run};
use pinion::report::Report as _;
use pinion::watch::Unobserved;
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

fn plan(example: &str, changes: &[&str]) -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let file = folder.join("cluster.toml");
    let overrides = changes.iter().map(|&text| text.to_owned()).collect();
    Plan::load(&file, &Options { overrides, ..Options::default() }).unwrap()
}

/// Runs a plan and gives its summary as text.
fn summary(plan: &Plan, threads: usize, ranks: usize, faults: Option<&str>) -> String {
    let faults = faults.map(|text| text.parse().unwrap());
    let options = RunOptions { threads, faults, ..RunOptions::default() };
    let summaries: Vec<_> = std::thread::scope(|scope| {
        let ranks = joined(ranks).into_iter().map(|mut ranks| {
            let options = options.clone();
            scope.spawn(move || run(plan, &options, &mut ranks, &mut Unobserved).unwrap())
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert!(summaries[1..].iter().all(Option::is_none), "only rank 0 sums up");
    let summary = summaries.into_iter().next().flatten().unwrap();
    format!("{}{:#}", summary.section.console(), summary.to_json())
}

#[test]
fn a_summary_is_the_same_with_any_number_of_threads_and_ranks() {
    let faults = "loss=2%,dup=2%,reorder=5%,corrupt=2%,hold=1us,seed=3";
    for (example, change, faults) in [
        ("cluster_echo", "client.count=5", Some(faults)),
        ("cluster_rpc", "peer.count=9", None),
        ("cluster_rpc", "peer.count=9", Some(faults)),
        ("cluster_datacentre", "server.count=20", None),
    ] {
        let plan = plan(example, &[change]);
        let alone = summary(&plan, 1, 1, faults);
        assert!(alone.contains("answers"), "{alone}");
        for (threads, ranks) in [(2, 1), (4, 1), (1, 2), (1, 3), (2, 3)] {
            let other = summary(&plan, threads, ranks, faults);
            assert!(other == alone, "{example}: {threads} threads, {ranks} ranks: {other}");
        }
    }
}
