//! NDP and the switch against an independent reference ([`model`]): when messages are complete, for
//! permutations (each node sends to one other) and incasts, on a star, a leaf-spine network and a
//! fat-tree. Where ways are not drawn at random each message must agree within 2 %, otherwise the
//! mean and the 99th percentile must.
//!
//! The table of the documentation is what this test prints; PINION_BLESS=1 writes it anew.

mod model;
mod real;
mod workloads;

use std::fmt::Write;
use std::path::Path;

use model::{Flow, Model, Network, Rules};
use pinion_net::link::Link;
use pinion_net::switch::{Overflow, Paths, SwitchSpec};
use pinion_net::topology::Topology;

/// Cycles of the published links, and of those of the incast.
const NEAR: u64 = 140;
const FAR: u64 = 1218;

/// Draws numbers; its seed is printed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Draws whom each node sends to: one cycle through all nodes (Sattolo).
    fn permutation(&mut self, nodes: usize) -> Vec<usize> {
        let mut to: Vec<usize> = (0..nodes).collect();
        for last in (1..nodes).rev() {
            to.swap(last, self.below(last as u64) as usize);
        }
        to
    }
}

fn seed() -> u64 {
    let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(0x5eed);
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-nanopu --test ndp_reference");
    seed
}

/// Lets every node send messages to one other, a new one each round.
fn permutations(draw: &mut Draw, nodes: usize, rounds: u64, gap: u64, bytes: u64) -> Vec<Flow> {
    let mut flows = Vec::new();
    for round in 0..rounds {
        for (from, to) in draw.permutation(nodes).into_iter().enumerate() {
            let start = 20_000 + round * gap + draw.below(300);
            flows.push(Flow { from, to, bytes, start });
        }
    }
    flows
}

/// Is an incast: all others send to the last node, each round within so many cycles.
#[derive(Clone, Copy)]
struct Incast {
    senders: usize,
    bytes: u64,
    within: u64,
    rounds: u64,
}

impl Incast {
    fn flows(self, draw: &mut Draw) -> Vec<Flow> {
        let Self { senders, bytes, within, rounds } = self;
        let mut flows = Vec::new();
        for round in 0..rounds {
            let flow = |from| {
                let start = 20_000 + 200_000 * round + draw.below(within);
                Flow { from, to: senders, bytes, start }
            };
            flows.extend((0..senders).map(flow));
        }
        flows
    }
}

struct Scenario {
    name: &'static str,
    network: Network,
    topology: Topology,
    flows: Vec<Flow>,
    rules: Rules,
}

fn link(cycles: u64) -> Link {
    Link::new(cycles)
}

fn star(
    name: &'static str,
    nodes: usize,
    latency: u64,
    flows: Vec<Flow>,
    rules: Rules,
) -> Scenario {
    let network = Network::star(nodes, latency);
    Scenario { name, network, topology: Topology::star(nodes, link(latency)), flows, rules }
}

fn scenarios(seed: u64) -> Vec<Scenario> {
    let mut draw = Draw(seed);
    let rules = Rules {
        rtt_packets: 2,
        timeout: 30_000,
        data_queue: 92_480,
        control_queue: 92_480,
        trims: true,
        ecmp: true,
        seed: 1,
    };
    let spray = Rules { ecmp: false, ..rules };
    let small = Rules { rtt_packets: 9, data_queue: 8 * 1088 + 1, ..rules };
    let small_spray = Rules { ecmp: false, ..small };
    let published = Rules { timeout: 38_976, data_queue: 81_600, ..rules };
    let tight = Rules { ecmp: false, data_queue: 8 * 1088 + 1, ..rules };
    let drops = |rules| Rules { trims: false, ..rules };
    let leaf_spine = |name, flows, rules| Scenario {
        name,
        network: Network::leaf_spine(4, 4, 4, NEAR, 300),
        topology: Topology::leaf_spine(16, 4, 4, link(NEAR), link(300)).unwrap(),
        flows,
        rules,
    };
    let fat_tree = |name, flows, rules| Scenario {
        name,
        network: Network::fat_tree(4, NEAR, 300),
        topology: Topology::fat_tree(16, 4, link(NEAR), link(300)).unwrap(),
        flows,
        rules,
    };
    let p = &mut |rounds| permutations(&mut draw, 16, rounds, 60_000, 20 * 1024);
    let mut all = vec![
        star("permutation, star", 16, NEAR, p(4), rules),
        star("permutation, star, window of 9", 16, NEAR, p(4), Rules { rtt_packets: 9, ..rules }),
        leaf_spine("permutation, leaf-spine, ECMP", p(4), rules),
        leaf_spine("permutation, leaf-spine, ECMP, window of 9, small queues", p(8), small),
        leaf_spine("permutation, leaf-spine, sprayed", p(16), spray),
        leaf_spine("permutation, leaf-spine, sprayed, window of 9", p(32), small_spray),
        fat_tree("permutation, fat-tree, ECMP", p(4), rules),
        fat_tree("permutation, fat-tree, sprayed", p(16), spray),
    ];
    let mut i =
        |senders, bytes, within, rounds| Incast { senders, bytes, within, rounds }.flows(&mut draw);
    all.extend([
        star("incast, 80 at once, 1 packet", 81, FAR, i(80, 1024, 1, 1), published),
        star(
            "incast, 80 at once, 1 packet, no trimming",
            81,
            FAR,
            i(80, 1024, 1, 1),
            drops(published),
        ),
        star("incast, 40 to 1, 10 packets", 41, NEAR, i(40, 10_240, 500, 1), rules),
        star("incast, 100 to 1, 2 packets", 101, NEAR, i(100, 2048, 500, 1), rules),
        star(
            "incast, 100 to 1, 2 packets, no trimming",
            101,
            NEAR,
            i(100, 2048, 500, 1),
            drops(rules),
        ),
        leaf_spine("incast, 15 to 1, leaf-spine, sprayed", i(15, 20_480, 500, 16), tight),
        leaf_spine("incast, 15 to 1, leaf-spine, ECMP", i(15, 20_480, 500, 1), small),
    ]);
    all
}

/// What is compared of a run.
struct Times {
    mean: f64,
    late: f64,
}

fn times(flows: &[Flow], done: &[Option<u64>]) -> Times {
    let mut times: Vec<u64> =
        flows.iter().zip(done).map(|(flow, done)| done.expect("complete") - flow.start).collect();
    times.sort_unstable();
    let place = (times.len() * 99).div_ceil(100) - 1;
    Times { mean: times.iter().sum::<u64>() as f64 / times.len() as f64, late: times[place] as f64 }
}

fn error(ours: f64, theirs: f64) -> f64 {
    (ours - theirs).abs() / theirs
}

/// Compares a scenario; adds its row to the table and what is wrong to the failures.
fn compare(scenario: &Scenario, table: &mut String, failures: &mut Vec<String>) {
    let Scenario { name, network, flows, rules, .. } = scenario;
    let theirs = Model::run(network, flows, *rules);
    let spec = SwitchSpec {
        data_queue_bytes: rules.data_queue,
        control_queue_bytes: rules.control_queue,
        overflow: if rules.trims { Overflow::Trim } else { Overflow::Drop },
        paths: if rules.ecmp { Paths::Ecmp } else { Paths::Spray },
        seed: rules.seed,
        ..SwitchSpec::default()
    };
    let topology = scenario.topology.clone();
    let ours = real::run(topology, flows, &spec, rules.rtt_packets as u16, rules.timeout);
    let (a, b) = (times(flows, &ours.done), times(flows, &theirs.done));
    let each = flows.iter().zip(&ours.done).zip(&theirs.done).map(|((flow, ours), theirs)| {
        let time = |done: &Option<u64>| (done.expect("complete") - flow.start) as f64;
        error(time(ours), time(theirs))
    });
    let worst = each.fold(0.0, f64::max);
    let worst_text = if rules.ecmp { format!("{:.2} %", 100.0 * worst) } else { "–".into() };
    writeln!(
        table,
        "| {name} | {} | {:.0} | {:.0} | {:.2} % | {:.0} | {:.0} | {:.2} % | {worst_text} | {} | {} |",
        flows.len(),
        a.mean,
        b.mean,
        100.0 * error(a.mean, b.mean),
        a.late,
        b.late,
        100.0 * error(a.late, b.late),
        ours.trimmed + ours.dropped,
        theirs.trimmed + theirs.dropped,
    )
    .unwrap();
    println!("{name}: largest queue {} B, reference {} B", ours.largest, theirs.largest);
    let mut check = |what: &str, error: f64| {
        if error > 0.02 {
            failures.push(format!("{name}: {what} differs by {:.2} %", 100.0 * error));
        }
    };
    check("the mean", error(a.mean, b.mean));
    check("the 99th percentile", error(a.late, b.late));
    if rules.ecmp {
        check("a message", worst);
    }
}

#[test]
fn messages_complete_when_the_reference_says() {
    let seed = seed();
    let mut table = String::from(
        "| scenario | messages | mean | reference | difference | 99th percentile | reference | \
         difference | largest of a message | trimmed or dropped | reference |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut failures = Vec::new();
    for scenario in scenarios(seed) {
        compare(&scenario, &mut table, &mut failures);
    }
    println!("{table}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    if seed == 0x5eed {
        published(&table);
    }
}

/// Compares the table with the documentation's, or writes it there.
fn published(table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables/network.md");
    if std::env::var_os("PINION_BLESS").is_some() {
        std::fs::write(&page, table).unwrap();
    }
    let there = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(there == table, "docs/tables/network.md says otherwise; PINION_BLESS=1 writes it");
}

#[test]
fn transports_in_p4_are_the_built_in_ones_where_cables_lose_double_and_delay_frames() {
    let spec = SwitchSpec {
        data_queue_bytes: 8 * 1088 + 1,
        overflow: Overflow::Trim,
        ..SwitchSpec::default()
    };
    let faults = "loss=2%,dup=2%,reorder=4%,hold=1us,seed=5";
    for (name, packets) in [("ndp", 12), ("homa", 12), ("raw", 1), ("udp", 1)] {
        let mut draw = Draw(seed() ^ 0x94);
        let bytes = packets * 1024;
        let flows = Incast { senders: 12, bytes, within: 400, rounds: 3 }.flows(&mut draw);
        let network = Topology::star(13, link(NEAR));
        let (run, delivered) = real::run_with_faults(name, &network, &flows, &spec, faults);
        match name {
            "ndp" | "homa" => {
                assert!(delivered.iter().all(|&times| times == 1), "exactly once: {delivered:?}");
                assert!(run.trimmed > 0, "trimming");
            }
            // Nobody sends again what is lost.
            _ => {
                let arrived = delivered.iter().filter(|&&times| times > 0).count();
                assert!((12..36).contains(&arrived), "{name}: {arrived} messages of 36");
            }
        }
    }
}

#[test]
fn windows_keep_the_queue_near_the_threshold_at_which_it_marks() {
    let threshold = 16 * 1088;
    // Four senders, one message at a time each; a round takes 128 packets of 136 cycles.
    let flows: Vec<Flow> = (0..12)
        .flat_map(|round| (1..5).map(move |from| (round, from)))
        .map(|(round, from)| Flow { from, to: 0, bytes: 32 * 1024, start: 20_000 + round * 20_000 })
        .collect();
    let runs = [None, Some(threshold)].map(|ecn_bytes| {
        let spec = SwitchSpec {
            data_queue_bytes: 1 << 20,
            overflow: Overflow::Drop,
            ecn_bytes,
            ..SwitchSpec::default()
        };
        let network = Topology::star(5, link(NEAR));
        let (run, waits) = real::run_in_p4("dctcp", &network, &flows, &spec, 16);
        // Windows are known after some rounds.
        let settled: Vec<u64> =
            waits.iter().filter(|(at, _)| *at > 140_000).map(|(_, wait)| *wait).collect();
        let mean_bytes = 8 * settled.iter().sum::<u64>() / settled.len() as u64;
        let last = run.done.iter().flatten().max().copied().unwrap();
        println!("marks at {ecn_bytes:?} B: mean queue {mean_bytes} B, largest {} B, all there in {last}", run.largest);
        (mean_bytes, last)
    });
    let [(without, free), (with, marked)] = runs;
    assert!(without > 2 * threshold, "without marks the windows fill the queue: {without} B");
    assert!((threshold / 3..threshold * 4 / 3).contains(&with), "near {threshold} B: {with} B");
    assert!(marked < free + free / 20, "and the link stays busy: {marked} cycles, {free}");
}

#[test]
fn credits_keep_the_queue_of_an_incast_short() {
    let mut draw = Draw(seed() ^ 0xc4ed);
    let network = Topology::star(25, link(NEAR));
    let spec = SwitchSpec { data_queue_bytes: 1 << 20, ..SwitchSpec::default() };
    for (bytes, what) in [(1024, "a packet"), (12 * 1024, "12 packets"), (32 * 1024, "32 packets")]
    {
        let flows = Incast { senders: 24, bytes, within: 200, rounds: 1 }.flows(&mut draw);
        let [ndp, credit] = ["ndp", "credit"].map(|name| {
            let (run, _) = real::run_in_p4(name, &network, &flows, &spec, 8);
            let last = run.done.iter().flatten().max().copied().unwrap();
            println!("24 of {what}, {name}: largest queue {} B, all there in {last}", run.largest);
            (run.largest, last)
        });
        // A packet of each sender, and a window.
        assert!(credit.0 <= (24 + 8) * 1088, "{what}: {} B", credit.0);
        assert!(bytes == 1024 || ndp.0 > 3 * credit.0, "{what}: NDP {} B", ndp.0);
        assert!(credit.1 <= ndp.1 + ndp.1 / 20, "{what}: {} cycles, NDP {}", credit.1, ndp.1);
    }
}

/// Homa's reason for priorities (SIGCOMM 2018, §3.4): what goes unasked is not to wait behind packets of long
/// messages that are granted ahead.
#[test]
fn with_bands_short_messages_of_homa_do_not_wait_behind_long_ones() {
    let long = (1..13).map(|from| Flow { from, to: 0, bytes: 32 * 1024, start: 20_000 });
    // When all that long messages sent unasked has passed: 12 times 8 packets of 136 cycles.
    let short = (13..25).map(|from| {
        let start = 38_000 + 2_000 * (from as u64 - 13);
        Flow { from, to: 0, bytes: 1024, start }
    });
    let flows: Vec<Flow> = long.chain(short).collect();
    let network = Topology::star(25, link(NEAR));
    let [first_come, by_priority] = [1, 8].map(|priority_bands| {
        let spec =
            SwitchSpec { data_queue_bytes: 1 << 20, priority_bands, ..SwitchSpec::default() };
        let run = real::run_built_in("homa", &network, &flows, &spec, 8);
        let took = run.done.iter().zip(&flows).map(|(done, flow)| done.unwrap() - flow.start);
        let took: Vec<u64> = took.collect();
        let longest = took[..12].iter().max().copied().unwrap();
        let short = took[12..].iter().max().copied().unwrap();
        println!("{priority_bands} bands: short ones within {short} cycles, long ones {longest}");
        (short, longest)
    });
    assert!(by_priority.0 + 3 * 136 < first_come.0, "{by_priority:?}, without {first_come:?}");
    // The link carries the same in any order.
    assert!(by_priority.1 <= first_come.1 + first_come.1 / 50, "{by_priority:?}, {first_come:?}");
}

/// What the Homa paper compares transports by: how much longer messages take than alone, by size.
#[test]
fn homa_slows_short_messages_of_published_workloads_down_less_than_ndp() {
    let mut draw = Draw(seed() ^ 0x512e);
    let transports =
        [("ndp", false, 1), ("homa", false, 1), ("homa", false, 8), ("credit", true, 1)];
    for workload in &workloads::workloads() {
        let found = workload.slowdowns(&transports, &mut draw);
        for ((name, _, bands), slowdowns) in transports.iter().zip(&found) {
            let shown = slowdowns.map(|found| match found {
                Some((half, most)) => format!("{half:.1}, {most:.1}"),
                None => "–".to_owned(),
            });
            println!("| {} | {name}, {bands} bands | {} |", workload.name, shown.join(" | "));
        }
        let [ndp, first_come, homa, credit] = [0, 1, 2, 3].map(|n| found[n][0].unwrap().1);
        let name = workload.name;
        assert!(homa < 0.8 * ndp, "{name}: short ones wait less with Homa: {homa}, NDP {ndp}");
        assert!(homa <= first_come, "{name}: bands are of use: {homa}, without {first_come}");
        assert!(credit < ndp, "{name}: a packet at first keeps the queue short: {credit}, {ndp}");
    }
}
