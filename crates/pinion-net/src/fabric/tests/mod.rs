//! What a fabric promises: the same arrivals, byte for byte and cycle for cycle, with any number of
//! threads and ranks and whatever the windows; that nothing is lost or repeated but by faults; that
//! idle components cost nothing; that nobody hangs when somebody fails.

mod failure;
mod joined;
mod saved;
mod talker;

use super::*;
use crate::capture::{CaptureWriter, LinkType};
use crate::fault::FaultSpec;
use crate::link::Link;
use crate::middleware::PortTap;
use crate::switch::SwitchSpec;
use crate::testing::{Random, seed};
use crate::topology::{Cable, Jack, Place, Topology};
use pinion_sim::Clock;
use talker::{Heard, Talker};

/// What all do that has an end.
struct OnAndOn;

impl Watcher for OnAndOn {
    fn goes_on(&mut self, _: u64, _: &Status) -> bool {
        true
    }
}

/// Describes a run.
#[derive(Clone, Debug)]
struct Case {
    topology: Topology,
    faults: Option<FaultSpec>,
    /// Frames that each node sends by itself.
    frames: u64,
    seed: u64,
    /// Cycles of a part of the run; `u64::MAX`: it runs in one go.
    part_cycles: u64,
}

/// All that can be seen of a run.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    now: u64,
    windows: u64,
    nodes: Vec<(usize, Vec<Heard>)>,
    wires: Vec<(usize, bool, WireCounts)>,
}

/// Gives node `n`'s address.
fn address(n: usize) -> u32 {
    0x0a00_0002 + n as u32
}

fn options(case: &Case, threads: usize) -> Options {
    Options {
        threads,
        clock: Clock::from_hz(3_200_000_000),
        faults: case.faults.clone(),
        addresses: (0..case.topology.nodes).map(address).collect(),
    }
}

/// Builds one rank's part of a fabric of talkers.
fn fabric(case: &Case, threads: usize, ranks: &dyn Ranks) -> Fabric<Talker> {
    let nodes = (0..case.topology.nodes).map(|node| {
        let is_here = home(&case.topology, Place::Node(node), ranks.count()) == ranks.rank();
        is_here.then(|| Talker::new(node, case.topology.nodes, case.frames, case.seed))
    });
    let nodes = nodes.collect();
    let options = options(case, threads);
    Fabric::new(case.topology.clone(), &SwitchSpec::default(), nodes, &options, ranks).unwrap()
}

/// Runs one rank's part to the end.
fn run_rank(case: &Case, threads: usize, ranks: &mut dyn Ranks) -> Seen {
    let mut fabric = fabric(case, threads, ranks);
    let mut until = case.part_cycles;
    while fabric.run(until, ranks, &mut OnAndOn).unwrap() == Outcome::Reached {
        until += case.part_cycles;
    }
    let mut seen = Seen { now: fabric.now(), windows: fabric.windows(), ..Seen::default() };
    seen.wires = fabric.wire_counts();
    fabric.for_each_node(|number, talker| {
        seen.nodes.push((number, std::mem::take(&mut talker.heard)));
    });
    seen
}

/// Runs a case with so many ranks of so many threads, and puts together what they saw.
fn run(case: &Case, threads: usize, ranks: usize) -> Seen {
    let mut parts = Joined::run(ranks, |ranks| run_rank(case, threads, ranks));
    let mut seen = parts.remove(0);
    for part in parts {
        assert_eq!((part.now, part.windows), (seen.now, seen.windows));
        seen.nodes.extend(part.nodes);
        seen.wires.extend(part.wires);
    }
    seen.wires.sort_by_key(|(cable, back, _)| (*cable, *back));
    seen.nodes.sort_by_key(|(number, _)| *number);
    seen
}

/// Joins seven nodes by three switches, with cables of different lengths.
fn two_tiers() -> Topology {
    let cable = |a: (Place, usize), b: (Place, usize), latency| Cable {
        ends: [a, b].map(|(place, port)| Jack { place, port }),
        link: Link::new(latency),
    };
    let mut cables: Vec<Cable> = (0..7)
        .map(|n| {
            let leaf = (Place::Switch(n / 4), n % 4);
            cable((Place::Node(n), 0), leaf, 140 + 30 * (n as u64 % 3))
        })
        .collect();
    cables.push(cable((Place::Switch(2), 0), (Place::Switch(0), 4), 200));
    cables.push(cable((Place::Switch(1), 4), (Place::Switch(2), 1), 333));
    Topology { nodes: 7, switches: vec![5, 5, 2], cables }
}

fn faults(seed: u64) -> FaultSpec {
    let text = format!("loss=3%,dup=3%,reorder=10%,corrupt=3%,hold=300ns,seed={seed}");
    text.parse().unwrap()
}

fn case(topology: Topology, faults: Option<FaultSpec>, seed: u64) -> Case {
    Case { topology, faults, frames: 40, seed, part_cycles: u64::MAX }
}

#[test]
fn threads_and_ranks_change_nothing() {
    let seed = seed("threads_and_ranks");
    for (topology, is_faulty) in [
        (Topology::star(6, Link::published()), false),
        (Topology::star(6, Link::published()), true),
        (two_tiers(), false),
        (two_tiers(), true),
        (Topology::back_to_back(Link::new(25)), true),
    ] {
        let case = case(topology, is_faulty.then(|| faults(seed)), seed);
        let alone = run(&case, 1, 1);
        assert!(alone.nodes.iter().all(|(_, heard)| heard.len() > 20), "they talk");
        for (threads, ranks) in [(2, 1), (4, 1), (1, 2), (2, 2), (4, 2), (1, 3), (2, 3), (4, 3)] {
            let ranks = ranks.min(case.topology.nodes);
            assert_eq!(run(&case, threads, ranks), alone, "{threads} threads, {ranks} ranks");
        }
    }
}

#[test]
fn windows_change_nothing_but_their_number() {
    let seed = seed("windows_change");
    let mut random = Random::new(seed);
    for _ in 0..6 {
        let case = case(two_tiers(), Some(faults(random.below(1000))), random.below(1 << 40));
        let whole = run(&case, 1, 1);
        let part_cycles = 1 + random.below(400);
        let parts = run(&Case { part_cycles, ..case }, 2, 1 + random.below(3) as usize);
        assert_eq!((&parts.nodes, &parts.wires), (&whole.nodes, &whole.wires), "{part_cycles}");
    }
}

#[test]
fn without_faults_every_frame_arrives_once() {
    let case = case(two_tiers(), None, 5);
    let seen = run(&case, 2, 2);
    for (number, heard) in &seen.nodes {
        let mut names: Vec<_> = heard.iter().map(|frame| talker::name(&frame.bytes)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), heard.len(), "node {number} heard a frame twice");
    }
    let (sent, taken) = ends(&case.topology, &seen);
    assert_eq!(sent, taken, "frames that nodes sent and that nodes heard");
    assert!(sent > 7 * case.frames, "they answer, too");
}

/// Counts the frames that nodes put on their cables and those that they took off them.
fn ends(topology: &Topology, seen: &Seen) -> (u64, u64) {
    let is_node =
        |cable: usize, end: usize| matches!(topology.cables[cable].ends[end].place, Place::Node(_));
    let of = |from: usize, count: fn(&WireCounts) -> u64| {
        let wires = seen.wires.iter().filter(move |(cable, back, _)| {
            is_node(*cable, if from == 0 { usize::from(*back) } else { usize::from(!*back) })
        });
        wires.map(|(.., counts)| count(counts)).sum()
    };
    (of(0, |counts| counts.sent.frames), of(1, |counts| counts.taken))
}

#[test]
fn faults_hit_every_cable_and_every_frame_is_accounted_for() {
    let seed = seed("faults_hit");
    let case = Case { frames: 300, ..case(two_tiers(), Some(faults(seed)), seed) };
    let seen = run(&case, 2, 2);
    assert_eq!(seen.wires.len(), 2 * case.topology.cables.len());
    for (cable, back, counts) in &seen.wires {
        assert!(counts.is_balanced(), "cable {cable} {back}: {counts:?}");
        assert_eq!(counts.under_way, 0);
        let faults = counts.faults;
        for number in [faults.lost, faults.duplicated, faults.reordered, counts.damaged] {
            assert!(number > 0, "cable {cable} {back}: {counts:?}");
        }
        assert!(faults.corrupted <= counts.damaged, "a damaged frame may come twice");
    }
    let whole = |heard: &Heard| talker::is_whole(&heard.bytes);
    assert!(seen.nodes.iter().all(|(_, heard)| heard.iter().all(whole)), "no damaged frame passes");
}

#[test]
fn frames_of_a_cut_run_are_under_way_with_any_number_of_ranks() {
    let seed = seed("frames_of_a_cut_run");
    for until in [300, 777, 1500, 2222] {
        let case = case(two_tiers(), Some(faults(seed)), seed);
        let cut = |ranks: usize| {
            let mut wires: Vec<_> = Joined::run(ranks, |ranks| {
                let mut fabric = fabric(&case, 1, ranks);
                assert_eq!(fabric.run(until, ranks, &mut OnAndOn).unwrap(), Outcome::Reached);
                fabric.wire_counts()
            })
            .concat();
            wires.sort_by_key(|(cable, back, _)| (*cable, *back));
            wires
        };
        let alone = cut(1);
        assert!(alone.iter().all(|(.., counts)| counts.is_balanced()));
        assert!(alone.iter().any(|(.., counts)| counts.under_way > 0));
        assert_eq!([cut(2), cut(3)], [alone.clone(), alone]);
    }
}

#[test]
fn idle_cycles_and_idle_components_are_skipped() {
    let mut silent = case(Topology::star(300, Link::published()), None, 1);
    silent.frames = 0;
    let mut fabric = fabric(&silent, 2, &Alone);
    fabric.for_each_node(|number, talker| {
        if number == 7 {
            talker.say(0, 70, 200);
            talker.say(3_000_000_000_000, 250, 200);
        }
    });
    assert_eq!(fabric.run(u64::MAX, &mut Alone, &mut OnAndOn).unwrap(), Outcome::Rests);
    assert!(fabric.windows() < 40, "{} windows", fabric.windows());
    assert!(fabric.now() > 3_000_000_000_000);
    fabric.for_each_node(|number, talker| {
        assert_eq!(talker.runs > 0, [7, 70, 250].contains(&number), "node {number}");
    });
}

#[test]
fn a_tap_writes_the_same_whatever_runs_the_fabric() {
    let folder = std::env::temp_dir().join(format!("pinion-fabric-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let case = case(two_tiers(), Some(faults(3)), 3);
    let cable = 7;
    let captured = |threads: usize, ranks: usize| {
        let path = folder.join(format!("{threads}-{ranks}.pcap"));
        Joined::run(ranks, |ranks| {
            let mut fabric = fabric(&case, threads, ranks);
            let owner =
                home(&case.topology, case.topology.cables[cable].ends[0].place, ranks.count());
            if owner == ranks.rank() {
                let writer = CaptureWriter::create(&path, LinkType::Ethernet).unwrap();
                fabric.tap(cable, PortTap::new(writer, Clock::from_hz(3_200_000_000)));
            }
            fabric.run(u64::MAX, ranks, &mut OnAndOn).unwrap();
            fabric.finish().unwrap();
        });
        std::fs::read(path).unwrap()
    };
    let alone = captured(1, 1);
    assert!(alone.len() > 10_000);
    for (threads, ranks) in [(4, 1), (1, 2), (2, 3)] {
        assert!(captured(threads, ranks) == alone, "{threads} threads, {ranks} ranks");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
