//! The co-simulation's own parts; the handlers' numbers are tested with the figures.

use pinion_sim::Time;

use super::*;
use pinion_app::app::Options;

fn host() -> HostModel {
    load_host("ryzen2700", &[]).unwrap()
}

/// Builds an example on FPsPIN's machine; nothing without a compiler.
fn example(name: &str) -> Option<App> {
    if std::process::Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_err() {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
        return None;
    }
    let options = Options { machine: Some("fpspin".to_owned()), ..Options::default() };
    Some(App::load(&assets::example_dir(name).unwrap(), &options).unwrap())
}

#[test]
fn what_happens_at_the_same_time_happens_in_the_order_it_was_asked_for() {
    let timer = |token| What::Timer { side: Side::Host, token };
    let mut queue = Queue::default();
    for (at_ps, token) in [(20, 0), (10, 1), (20, 2), (10, 3)] {
        queue.push(at_ps, timer(token));
    }
    let mut seen = Vec::new();
    while let Some(what) = queue.pop() {
        seen.push((queue.now_ps(), what));
    }
    assert_eq!(seen, [(10, timer(1)), (10, timer(3)), (20, timer(0)), (20, timer(2))]);
    queue.push(5, timer(4));
    assert_eq!(queue.next_ps(), Some(20), "nothing happens in the past");
}

#[test]
fn frames_of_both_sources_share_the_cable() {
    let mut lane = world::Lane::default();
    assert_eq!((lane.pass(100, 10), lane.pass(105, 10)), (110, 120));
    assert_eq!(lane.pass_ready(121, 10), 130, "ready before the cable had room for it");
    assert_eq!(lane.pass_ready(200, 10), 200);
}

#[test]
fn a_host_without_a_name_or_with_a_wrong_number_is_refused() {
    let error = load_host("ryzen", &[]).unwrap_err().to_string();
    assert!(error.contains("ryzen2700"), "{error}");
    let error = load_host("ryzen2700", &["program.poll_ns=0".to_owned()]).unwrap_err();
    assert!(pinion_app::error::paragraph(&error).contains("poll_ns"), "{error}");
}

#[test]
fn pings_are_answered_the_same_way_twice() {
    let Some(app) = example("icmp_echo") else { return };
    let model = host();
    let run = || {
        let client = Ping::new(&model, PingPlan { payload_bytes: 116, ..PingPlan::default() });
        let mut cosim = Cosim::new(nic(&app).unwrap(), &model, Idle, client.unwrap());
        assert_eq!(cosim.run(Time::from_ns(10_000_000_000)).unwrap(), End::Stopped);
        assert_eq!(cosim.heard().handlers, 5);
        cosim.peer.median_us().unwrap();
        cosim.peer.round_trips_ps().to_vec()
    };
    let first = run();
    assert_eq!(first, run());
    assert!(first[0] > first[4], "the first finds cold caches: {first:?}");
}

#[test]
fn a_run_cut_anywhere_is_the_same_run() {
    let Some(app) = example("icmp_echo") else { return };
    let model = host();
    let run = |step_ns: u64| {
        let client = Ping::new(&model, PingPlan { count: 2, ..PingPlan::default() }).unwrap();
        let mut cosim = Cosim::new(nic(&app).unwrap(), &model, Idle, client);
        let mut until = Time::from_ns(step_ns);
        while cosim.run(until).unwrap() == End::TimeReached {
            until = until + Time::from_ns(step_ns);
        }
        cosim.peer.round_trips_ps().to_vec()
    };
    assert_eq!(run(1_000_000_000), run(1_777));
}

#[test]
fn a_client_that_nobody_answers_says_so() {
    let Some(app) = example("icmp_echo") else { return };
    let model = host();
    let client = Ping::new(&model, PingPlan::default()).unwrap();
    let mut cosim = Cosim::new(unmatched_nic(&app).unwrap(), &model, Idle, client);
    assert_eq!(cosim.run(Time::from_ns(10_000_000_000)).unwrap(), End::Quiet);
    assert!(cosim.peer.median_us().is_err());
    assert!(Ping::new(&model, PingPlan { payload_bytes: 9000, ..PingPlan::default() }).is_err());
}

#[test]
fn the_kernel_answers_what_no_context_matches() {
    let Some(app) = example("icmp_echo") else { return };
    let model = host();
    for protocol in [Protocol::Icmp, Protocol::Udp { port: 7 }] {
        let client = Ping::new(&model, PingPlan { protocol, ..PingPlan::default() }).unwrap();
        let kernel = Kernel::new(&model);
        let mut cosim = Cosim::new(unmatched_nic(&app).unwrap(), &model, kernel, client);
        cosim.run(Time::from_ns(10_000_000_000)).unwrap();
        let median_us = cosim.peer.median_us().unwrap();
        assert!(median_us > 20.0, "{protocol:?}: {median_us}");
        assert_eq!(cosim.heard().handlers, 0);
    }
}
