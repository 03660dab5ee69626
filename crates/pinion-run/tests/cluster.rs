//! Clusters of the examples and small ones of their own: the same results at any number of threads.

use std::path::{Path, PathBuf};

use pinion_net::fabric::Alone;
use pinion_net::frame::Endpoints;

use pinion_app::app::Options;
use pinion_observe::report::{Ending, Report};
use pinion_run::cluster::*;
use pinion_run::watch::Unobserved;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn plan(overrides: &[&str]) -> pinion_app::error::Result<Plan> {
    let overrides = overrides.iter().map(|&text| text.to_owned()).collect();
    Plan::load(
        &example("cluster_echo").join(FILE_NAME),
        &Options { overrides, ..Options::default() },
    )
}

fn run_plan(plan: &Plan, options: &RunOptions) -> Summary {
    run(plan, options, &mut Alone, &mut Unobserved).unwrap().unwrap()
}

#[test]
fn every_request_is_answered_at_any_number_of_threads() {
    let plan = plan(&["client.count=3"]).unwrap();
    let with = |threads| {
        let options = RunOptions { threads, ..RunOptions::default() };
        run_plan(&plan, &options)
    };
    let one = with(1);
    assert_eq!(one.ending, Ending::Finished, "{}", one.to_text());
    assert!(!one.has_failures());
    assert_eq!(one.section.nodes.len(), 4);
    let client = &one.section.nodes[3];
    assert_eq!((client.name.as_str(), client.exit_code), ("client.2", Some(0)));
    assert!(client.console.starts_with("100 answers, "), "{}", client.console);
    for threads in [2, 4] {
        assert_eq!(one.to_json(), with(threads).to_json(), "{threads} threads");
    }
}

#[test]
fn a_fat_tree_carries_all_too() {
    let plan = plan(&["client.count=3", "network.topology.kind=fat-tree"]).unwrap();
    assert_eq!(plan.network.topology.switches.len(), 20);
    assert!(plan.network.cables.iter().any(|name| name == "s0-s8"));
    let summary = run_plan(&plan, &RunOptions::default());
    assert_eq!(summary.ending, Ending::Finished, "{}", summary.to_text());
    assert!(summary.imbalances.is_empty(), "{:?}", summary.imbalances);
}

#[test]
fn faults_change_times_not_answers() {
    let plan = plan(&["client.count=2"]).unwrap();
    let faults = "loss=2%,dup=2%,reorder=4%,corrupt=2%,hold=1us,seed=5".parse().unwrap();
    let options = RunOptions { faults: Some(faults), ..RunOptions::default() };
    let summary = run_plan(&plan, &options);
    assert_eq!(summary.ending, Ending::Finished, "{}", summary.to_text());
    let lost: u64 = summary.section.cables.iter().map(|row| row.lost + row.damaged).sum();
    assert!(lost > 0, "{}", summary.to_text());
    assert!(summary.imbalances.is_empty(), "{:?}", summary.imbalances);
}

#[test]
fn who_waits_for_nobody_is_told() {
    let plan = plan(&["server.app=client", "client.count=1"]);
    // The server is a client without arguments: it ends at once, and its exit code says so.
    let summary = run_plan(&plan.unwrap(), &RunOptions::default());
    assert_eq!(summary.ending, Ending::Failed);
    assert!(summary.has_failures());
    // Whose answers did not come has not finished.
    let client = summary.section.nodes.iter().find(|node| node.name.starts_with("client")).unwrap();
    assert_eq!(client.ending, "cut_off");
}

#[test]
fn a_cluster_in_which_no_message_moves_says_who_waits() {
    // Servers alone: nobody sends.
    let folder = Folder::new("silent");
    folder.write("[cluster]\nname = \"silent\"\n", "count = 2\n");
    let summary = run_plan(&folder.plan(), &RunOptions::default());
    assert_eq!(summary.ending, Ending::Finished, "{}", summary.to_text());
    let why = "no message moved: server.0 and server.1 wait for one that nobody sends; some program \
               must send first, or a load generator ([[load]] with `to` in cluster.toml)";
    assert_eq!(summary.remarks, [why]);
    assert!(summary.to_text().contains(why), "{}", summary.to_text());
    assert_eq!(summary.to_json()["remarks"][0], why);
    // One in which messages move has nothing to say.
    let plan = plan(&["client.count=1"]).unwrap();
    assert!(run_plan(&plan, &RunOptions::default()).remarks.is_empty());
}

#[test]
fn a_load_that_reaches_nobody_says_how_far_it_came() {
    let folder = Folder::new("unreached");
    let told = |spec: &str, options: &RunOptions| {
        let load = format!("[[load]]\nname = \"load\"\nto = \"server\"\nspec = \"{spec}\"\n");
        folder.write("[cluster]\nname = \"unreached\"\n", &load);
        run_plan(&folder.plan(), options)
    };
    let all = RunOptions::default();
    let good = told("requests=3", &all);
    assert!(good.remarks.is_empty(), "{}", good.to_text());
    // A context that nobody serves.
    let wrong = told("requests=3,contexts=7,patience=50000", &all);
    let text = wrong.to_text();
    let why = "load `load` reached nobody: 3 requests to server and no answer; ";
    assert!(wrong.remarks[0].starts_with(why), "{text}");
    assert!(wrong.remarks[0].contains("`contexts` of the load must be those"), "{text}");
    assert!(text.contains("server: no message reached the program: "), "{text}");
    assert!(text.contains("context_out_of_range"), "{text}");
    // Nothing arrives.
    let faults = Some("loss=100%".parse().unwrap());
    let lost = told("requests=3,patience=50000", &RunOptions { faults, ..all.clone() });
    let text = lost.to_text();
    assert!(lost.remarks[0].contains("no frame arrived there; "), "{text}");
    // It never begins.
    let idle = told("requests=3,startup=1", &all);
    let why = "load `load` sent nothing: it waits for the message with which its node";
    assert!(idle.remarks[0].starts_with(why), "{}", idle.to_text());
    let early = told("requests=3", &RunOptions { cycles: Some(50_000), ..all });
    let why = "it begins in cycle 60,000 (start_delay), and the run ended in cycle 50,000";
    assert!(early.remarks[0].ends_with(why), "{}", early.to_text());
    let none = told("requests=0,gap=100", &RunOptions::default());
    assert_eq!(none.remarks, ["load `load` sent nothing: it has no requests"]);
    // An echo is no store.
    let store = told("requests=10,store=10:8", &RunOptions::default());
    assert!(store.has_differences(), "{}", store.to_text());
    assert_eq!(store.differences, ["load: 10 answers are not what the store must give"]);
}

/// Interrupts what it observes.
struct Interrupting;

impl pinion_observe::report::Sink for Interrupting {}

impl pinion_run::watch::Observer for Interrupting {
    fn goes_on(&mut self, _: &pinion_run::watch::Progress) -> bool {
        false
    }
}

#[test]
fn a_curve_has_points_of_whole_runs_alone() {
    let folder = Folder::new("curve");
    let plan = |spec: &str| {
        let load = format!("name = \"load\"\nto = \"server\"\nspec = \"{spec}\"\n");
        let load = format!("[[load]]\n{load}gaps = [400, 4000]\n");
        folder.write("[cluster]\nname = \"curve\"\n", &load);
        folder.plan()
    };
    let with = |cycles| RunOptions { cycles, threads: 1, ..RunOptions::default() };
    let few = "requests=20,gap=bimodal:100/0/300/0/0.5";
    let of = |cycles| {
        let mut plan = plan(few);
        let done = Curve::run(&mut plan, &with(cycles), &mut Alone, &mut Unobserved);
        let Some((Group { target: Target::Load { specs }, .. }, _)) = plan.group_of(1) else {
            panic!("a load is behind the server")
        };
        // The gaps keep their shape.
        let pinion_net::load::Arrivals::Open { gap, .. } = &specs[0].arrivals else { panic!() };
        assert_eq!((gap.modes(), gap.mean_cycles()), (2, 4000.0));
        done.unwrap().0
    };
    let whole = of(None);
    assert_eq!((whole.points.len(), whole.remarks.len()), (2, 0));
    let cut = of(Some(90_000));
    assert_eq!((cut.points.len(), cut.is_interrupted), (1, false));
    let why = "run 2 of 2, stopped after the cycles given: it gives no points";
    assert_eq!(cut.remarks, [why]);
    assert!(cut.to_text().contains(why), "{}", cut.to_text());
    let mut long = plan("requests=1000000,gap=400");
    let interrupted = Curve::run(&mut long, &with(None), &mut Alone, &mut Interrupting).unwrap().0;
    assert_eq!((interrupted.points.len(), interrupted.is_interrupted), (0, true));
    assert_eq!(interrupted.remarks, ["run 1 of 2, interrupted: it gives no points"]);
}

/// A folder with a cluster of echo servers, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("pinion-cluster-{}-{name}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    /// Writes the file: what stands before the servers and behind them.
    fn write(&self, before: &str, behind: &str) {
        let app = example("nanopu_echo").canonicalize().unwrap();
        let server = format!("[[node]]\nname = \"server\"\napp = \"{}\"\n", app.display());
        let network = "[network]\ntopology = { kind = \"star\" }\n";
        let text = format!("{before}{network}{server}{behind}");
        std::fs::write(self.0.join(FILE_NAME), text).unwrap();
    }

    fn plan(&self) -> Plan {
        Plan::load(&self.0.join(FILE_NAME), &Options::default()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn mistakes_have_their_place() {
    for (override_, part) in [
        ("client.count=0", "node[1].count"),
        ("client.args=[\"{nobody}\"]", "there is no group `nobody`"),
        ("client.app=nowhere", "nowhere"),
        ("network.link.latency_cycles=0", "at least a cycle"),
        ("network.link.rate=fast", "network.link.rate"),
        ("network.switch.overflow=explode", "explode"),
        ("network.topology.kind=ring", "ring"),
        ("network.topology.kind=back-to-back", "joins two nodes, there are 5"),
        ("client.colour=red", "colour"),
        ("client.machine.core.cout=2", "core.cout"),
        ("server.machine.clock.frequency_mhz=1000", "share one clock"),
    ] {
        let Err(error) = plan(&[override_]) else { panic!("{override_} is accepted") };
        let text = pinion_app::error::paragraph(&error);
        assert!(text.contains(part), "{override_}: {text}");
    }
    let plan = plan(&[]).unwrap();
    let captures = vec![("clint.0".to_owned(), PathBuf::from("x.pcap"))];
    let options = RunOptions { captures, ..RunOptions::default() };
    let Err(error) = run(&plan, &options, &mut Alone, &mut Unobserved) else { panic!() };
    assert!(error.to_string().contains("nearest is `client.0`"), "{error}");
}

#[test]
fn a_node_that_is_traced_does_the_same() {
    use pinion_observe::trace::SourceLines;
    use pinion_run::nanoservice::{Filter, Trace};

    let plan = plan(&["client.count=2"]).unwrap();
    let Some((Group { target: Target::Nanoservice { service, setup, .. }, .. }, _)) =
        plan.group_of(1)
    else {
        panic!("a client is a nanoservice")
    };
    let options = RunOptions::default();
    let path = std::env::temp_dir().join(format!("pinion-traced-{}", std::process::id()));
    let out = std::fs::File::create(&path).unwrap();
    let lines = SourceLines::read(&service.built.elf);
    let tracer = Trace::new(&service.image, lines, setup.clock, Filter::default(), out);
    let tracing = Tracing { nodes: vec![(1, NodeTracer::Nano(Box::new(tracer)))], network: None };
    let traced = trace(&plan, &options, &mut Alone, &mut Unobserved, tracing);
    let traced = traced.unwrap().unwrap();
    assert_eq!(traced.to_json(), run_plan(&plan, &options).to_json());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let instructions = text.lines().filter(|line| line.contains(" hart 0 ")).count() as u64;
    assert!(text.contains("_start"));
    // Turns of polling loops are left out.
    assert!(
        instructions > 1000 && instructions <= traced.section.nodes[1].instructions,
        "{instructions}"
    );
}

/// Traces the handlers of `cluster_filter` from a cycle of the NIC's on; gives the lines with their
/// cycles.
fn traced_handlers(plan: &Plan, from: Option<u64>) -> Vec<(u64, String)> {
    use pinion_observe::trace::{Choice, Filter, TextTrace, When};

    let node = plan.names.iter().position(|name| name == "filter").unwrap();
    let (Group { target: Target::Handlers { app }, .. }, _) = plan.group_of(node).unwrap() else {
        panic!("the filter has handlers")
    };
    let name = format!("pinion-traced-filter-{}-{from:?}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let out = std::fs::File::create(&path).unwrap();
    let choice = Choice { from: from.map(When::Cycle), ..Choice::default() };
    let tracer = TextTrace::new(app, Filter::new(app, &choice).unwrap(), (true, true), out);
    let tracing =
        Tracing { nodes: vec![(node, NodeTracer::Spin(Box::new(tracer)))], network: None };
    let options = RunOptions::default();
    trace(plan, &options, &mut Alone, &mut Unobserved, tracing).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let cycle = |line: &str| line.split_whitespace().nth(1).unwrap().parse().unwrap();
    text.lines().skip(1).map(|line| (cycle(line), line.to_owned())).collect()
}

#[test]
fn a_trace_that_begins_later_misses_nothing_from_then_on() {
    let path = example("cluster_filter").join(FILE_NAME);
    let plan = Plan::load(&path, &Options::default()).unwrap();
    let whole = traced_handlers(&plan, None);
    let instructions: Vec<u64> =
        whole.iter().filter(|(_, line)| !line.contains(" # ")).map(|(cycle, _)| *cycle).collect();
    // In the middle of handlers, and when nothing happens.
    let (early, late) =
        (instructions[instructions.len() / 3], instructions[instructions.len() / 2]);
    for from in [1, early, early + 1, late, late + 7, whole[whole.len() / 2].0 - 1] {
        let expected: Vec<_> = whole.iter().filter(|(cycle, _)| *cycle >= from).collect();
        let cut = traced_handlers(&plan, Some(from));
        assert!(cut.iter().eq(expected.iter().copied()), "from {from}");
    }
}

/// Hears instructions from a time on, exactly: it begins no earlier to be safe.
struct Exact {
    begin: pinion_sim::Time,
    settled: pinion_sim::Time,
    heard: std::sync::Arc<std::sync::Mutex<Vec<(pinion_sim::Time, u32)>>>,
}

impl pinion_spin::Hears<pinion_spin::Spin> for Exact {
    fn interest(&self) -> pinion_spin::Interest {
        let instructions = self.settled >= self.begin;
        pinion_spin::Interest { instructions, ..Default::default() }
    }

    fn hear(&mut self, event: &pinion_spin::Event<'_>) {
        if let pinion_spin::Event::Instruction(record) = event
            && record.time >= self.begin
        {
            self.heard.lock().unwrap().push((record.time, record.cluster << 8 | record.hpu));
        }
    }
}

impl pinion_observe::trace::Tracer for Exact {
    fn begin(&self) -> pinion_sim::Time {
        self.begin
    }

    fn settle(&mut self, until: pinion_sim::Time) -> pinion_app::Result<()> {
        self.settled = until;
        Ok(())
    }

    fn finish(&mut self, _: pinion_sim::Time) -> pinion_app::Result<()> {
        Ok(())
    }
}

#[test]
fn a_tracer_that_begins_within_a_window_hears_all_of_it() {
    use pinion_sim::Time;

    let path = example("cluster_filter").join(FILE_NAME);
    let plan = Plan::load(&path, &Options::default()).unwrap();
    let node = plan.names.iter().position(|name| name == "filter").unwrap();
    let heard_from = |begin: Time| {
        let heard = std::sync::Arc::default();
        let tracer = Exact { begin, settled: Time::ZERO, heard: std::sync::Arc::clone(&heard) };
        let tracing =
            Tracing { nodes: vec![(node, NodeTracer::Spin(Box::new(tracer)))], network: None };
        let options = RunOptions::default();
        trace(&plan, &options, &mut Alone, &mut Unobserved, tracing).unwrap();
        std::mem::take(&mut *heard.lock().unwrap())
    };
    let whole = heard_from(Time::ZERO);
    // The first instruction after the NIC's boot and a long sleep.
    let gap = |pair: &[(Time, u32)]| pair[1].0.since(pair[0].0);
    let mut times = whole.clone();
    times.sort();
    let woken = times.windows(2).max_by_key(|pair| gap(pair)).unwrap()[1].0;
    let begin = Time::from_ps(woken.ps() + 5_000);
    let count = |heard: &[(Time, u32)]| heard.iter().filter(|(time, _)| *time >= begin).count();
    let late = heard_from(begin);
    // Cores that ran ahead of the beginning may be missing some; a window later none is.
    let slack = Time::from_ps(begin.ps() + 20_000);
    let after = |heard: &[(Time, u32)]| heard.iter().filter(|(time, _)| *time >= slack).count();
    assert!(count(&late) > 0 && count(&late) <= count(&whole));
    assert_eq!(after(&late), after(&whole));
}

/// Two NICs, a capture and a generator.
const FED: &str = r#"
[cluster]
name = "fed"
[network]
topology = { kind = "star" }
[[node]]
name = "ping"
app = "icmp_echo"
[[node]]
name = "echo"
app = "udp_echo"
[[packets]]
name = "capture"
pcap = "icmp_echo/ping.pcap"
pace = "10g"
[[packets]]
name = "made"
generate = "udp,size=256,count=50,rate=100g,dport=9500"
to = "echo"
"#;

#[test]
fn packets_of_captures_and_generators_reach_nodes() {
    let fed = |text: &str| Plan::from_text(text, "fed.toml", &example(""), &Options::default());
    let plan = fed(FED).unwrap();
    let with = |threads| run_plan(&plan, &RunOptions { threads, ..RunOptions::default() });
    let summary = with(1);
    let frames = |name: &str| {
        let node = summary.section.nodes.iter().find(|node| node.name == name).unwrap();
        (node.frames_in, node.frames_out)
    };
    assert_eq!((frames("echo"), frames("made")), ((50, 50), (50, 50)), "{}", summary.to_text());
    // Its packets are for a host of another network.
    assert_eq!((frames("ping"), frames("capture")), ((0, 0), (0, 100)));
    assert!(summary.remarks.iter().any(|remark| remark.contains("100 frames led nowhere")));
    assert_eq!(summary.to_json(), with(2).to_json());
    let cut = run_plan(&plan, &RunOptions { cycles: Some(60_100), ..RunOptions::default() });
    assert!(cut.section.nodes.iter().take(2).all(|node| node.ending == "cycle_limit"));
    // Hardware addresses belong to the addresses.
    let made = plan.names.iter().position(|name| name == "made").unwrap();
    let Target::Frames { from: FramesFrom::Generator { spec, .. } } =
        &plan.group_of(made).unwrap().0.target
    else {
        panic!("it is made")
    };
    assert_eq!(spec.ends, Endpoints::between(spec.ends.src, spec.ends.dst));
    for (before, after, part) in [
        ("size=256", "size=256,src=10.9.9.9", "`src` does not apply to `cluster`"),
        ("size=256", "size=256,dst=10.9.9.9", "`dst` does not apply to `cluster`"),
        ("size=256", "size=256,sources=4", "`sources` does not apply to `cluster`"),
        ("\"star\"", "\"star\", nodes_per_leaf = 2", "nodes_per_leaf"),
        ("\"star\"", "\"back-to-back\", latency = 1", "latency"),
        ("ping.pcap", "nope.pcap", "packets[0].pcap"),
        ("pace = \"10g\"", "to = \"ping\"", "leave `to` out"),
        ("size=256", "size=9", "packets[1].generate"),
        ("to = \"echo\"", "to = \"nobody\"", "`nobody` is no group of nodes"),
        ("to = \"echo\"", "", "say with `to`"),
        ("to = \"echo\"", "to = \"echo\"\npace = \"recorded\"", "packets[1].pace"),
        ("to = \"echo\"", "to = \"echo\"\npcap = \"x\"", "one of both"),
        ("name = \"made\"", "name = \"outside\"", "no name of a group"),
    ] {
        let Err(error) = fed(&FED.replace(before, after)) else { panic!("{after} is accepted") };
        let text = pinion_app::error::paragraph(&error);
        assert!(text.contains(part), "{after}: {text}");
    }
}

#[test]
fn a_capture_straight_into_a_nic_is_answered_whatever_its_addresses() {
    let text = r#"
[cluster]
name = "pair"
[network]
topology = { kind = "back-to-back" }
[[node]]
name = "ping"
app = "icmp_echo"
[[packets]]
name = "capture"
pcap = "icmp_echo/ping.pcap"
"#;
    let pair = |text: &str| Plan::from_text(text, "pair.toml", &example(""), &Options::default());
    let switch =
        text.replace("back-to-back\" }\n", "back-to-back\" }\nswitch = { ecn_bytes = 9 }\n");
    let Err(error) = pair(&switch) else { panic!("there is no switch") };
    assert!(error.to_string().contains("this topology has no switch"), "{error}");
    let plan = pair(text).unwrap();
    let summary = run_plan(&plan, &RunOptions::default());
    // 97 of the 100 are echo requests.
    assert_eq!(
        (summary.section.nodes[0].frames_in, summary.section.nodes[0].frames_out),
        (100, 97)
    );
    assert_eq!(summary.section.nodes[1].frames_in, 97);
    assert_eq!(summary.ending, Ending::Finished);
}
