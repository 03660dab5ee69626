//! The hardware's own observations, put through our computations, must give the hardware's own
//! metrics and tables.

use std::path::Path;

use super::metrics::{View, number, order};
use super::set::{Metric, Set};

fn set() -> Set {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/nanopu");
    Set::open(&dir).unwrap()
}

/// Gives half a unit of a printed number's last place.
fn rounding(text: &str) -> f64 {
    let places = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 10_f64.powi(-(places as i32)) + 1e-9
}

fn problem(view: &View<'_>, metric: &Metric) -> Option<String> {
    let name = format!("{} {}", metric.scenario, metric.metric);
    if let Some(order) = order(view, &metric.metric) {
        let order: Vec<String> = order.iter().map(u64::to_string).collect();
        let order = order.join(" ");
        return (order != metric.value).then(|| format!("{name}: {order}, not {}", metric.value));
    }
    match number(view, &metric.metric) {
        None => Some(format!("{name}: no family knows it")),
        Some(None) => Some(format!("{name}: nothing to compute it from")),
        Some(Some(value)) => {
            let expected: f64 = metric.value.parse().unwrap();
            let differs = (value - expected).abs() > rounding(&metric.value);
            differs.then(|| format!("{name}: {value}, not {expected}"))
        }
    }
}

#[test]
fn the_hardwares_observations_give_the_hardwares_metrics() {
    let set = set();
    let mut problems = Vec::new();
    let mut checked = 0;
    for scenario in set.scenarios(None).unwrap() {
        let script = set.script(&scenario).unwrap();
        let seen = set.observed(&scenario).unwrap();
        let switches = set.switches(&scenario.name).unwrap();
        let program = scenario.elf.file_stem().unwrap().to_str().unwrap();
        let tests = set.core_timing(program).unwrap();
        let view = View {
            scenario: &scenario,
            script: &script,
            seen: &seen,
            switches: &switches,
            tests: &tests,
        };
        for metric in set.summary(&scenario.name).unwrap() {
            checked += 1;
            problems.extend(problem(&view, &metric));
        }
    }
    assert!(checked > 1000, "only {checked} metrics");
    assert!(problems.is_empty(), "{} of {checked}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_hardwares_events_give_the_hardwares_service_timeline() {
    let set = set();
    let mut checked = 0;
    for scenario in set.scenarios(None).unwrap() {
        let mut expected = set.services(&scenario.name).unwrap();
        if expected.is_empty() {
            continue;
        }
        let threads = super::has_threads(&scenario);
        let found = super::services::services(&set.observed(&scenario).unwrap(), threads);
        for service in &mut expected {
            service.scenario.clear();
        }
        expected.sort_by_key(|service| service.first_flit_in);
        assert_eq!(found, expected, "{}", scenario.name);
        checked += found.len();
    }
    assert!(checked > 200, "only {checked} requests");
}

#[test]
fn the_hardwares_events_and_commits_give_its_thread_switches() {
    let set = set();
    let mut checked = 0;
    for scenario in set.scenarios(None).unwrap() {
        let expected = set.switches(&scenario.name).unwrap();
        let path = set.dir().join(format!("traces/{}_commits.csv", scenario.name));
        if expected.is_empty() || !path.is_file() {
            continue;
        }
        let mut seen = set.observed(&scenario).unwrap();
        seen.commits = super::trace::commits(&path).unwrap();
        let (from, until) = (seen.commits[0].at, seen.commits[seen.commits.len() - 1].at);
        seen.events.retain(|&(at, _)| at >= from);
        let found = super::switches::switches(
            &seen,
            &super::mrets(&super::image(&set, &scenario).unwrap()),
        );
        let whole = expected.into_iter().filter(|switch| {
            switch.interrupt_pulse_cycle >= from && switch.first_target_commit <= until
        });
        let whole: Vec<_> =
            whole.map(|switch| super::set::Switch { scenario: String::new(), ..switch }).collect();
        assert_eq!(found, whole, "{}", scenario.name);
        checked += found.len();
    }
    assert!(checked >= 2, "only {checked} switches");
}

#[test]
fn the_hardwares_events_give_its_stages() {
    let set = set();
    let table = super::stages::table(&set.stages().unwrap()).unwrap();
    let name = "echo_8B";
    let scenario = set.scenarios(Some(name)).unwrap().into_iter().find(|s| s.name == name).unwrap();
    let seen = set.observed(&scenario).unwrap();
    let messages: std::collections::BTreeSet<usize> = table.iter().map(|row| row.0).collect();
    for message in messages {
        let rows = table.iter().filter(|row| row.0 == message);
        let mut expected: Vec<_> = rows.map(|row| (row.1, format!("{:?}", row.2))).collect();
        let found = super::stages::seen(&seen, message);
        let mut found: Vec<_> = found.iter().map(|row| (row.0, format!("{:?}", row.1))).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "message {message}");
    }
}

#[test]
fn the_hardware_passes_its_own_comparison() {
    let set = set();
    for scenario in set.scenarios(None).unwrap() {
        let truth = super::compare::Truth::read(&set, &scenario).unwrap();
        let comparisons = super::compare::compare(&truth, &truth.rtl, &[]);
        for comparison in comparisons {
            let from_commits = comparison.metric.contains("switch");
            let informative = !comparison.counts;
            assert!(comparison.pass || from_commits, "{comparison:?}");
            let same = comparison.error.abs() < 1e-3;
            assert!(same || from_commits || informative, "{comparison:?}");
        }
    }
}

#[test]
fn a_delay_a_loss_and_a_surplus_are_found() {
    let set = set();
    let name = "echo_64B";
    let scenario = set.scenarios(Some(name)).unwrap().into_iter().find(|s| s.name == name).unwrap();
    let truth = super::compare::Truth::read(&set, &scenario).unwrap();
    let failed = |ours| {
        let comparisons = super::compare::compare(&truth, &ours, &[]);
        let failed = comparisons.into_iter().filter(|comparison| !comparison.pass);
        failed.map(|comparison| (comparison.metric, comparison.note)).collect::<Vec<_>>()
    };
    let last = truth.rtl.frames.iter().rposition(|frame| frame.is_data_out()).unwrap();
    let mut late = truth.rtl.clone();
    late.frames[last].first += 9;
    late.frames[last].last += 9;
    let found = failed(late);
    assert_eq!(found[0].0, "frames_in_time");
    assert!(found[0].1.contains("+9 cycles, 6 allowed"), "{found:?}");

    let mut lost = truth.rtl.clone();
    lost.frames.remove(last);
    let found = failed(lost);
    assert_eq!(found[0].0, "frames_out");
    assert!(found[0].1.contains("never came"), "{found:?}");

    let mut twice = truth.rtl.clone();
    twice.frames.insert(9, truth.rtl.frames[8].clone());
    let found = failed(twice);
    assert_eq!(found[0].0, "frames_out");
    assert!(found[0].1.contains("1 too many"), "{found:?}");

    let mut swapped = truth.rtl.clone();
    let reply = swapped.frames[last].clone();
    swapped.frames[last - 4].first += 1000;
    swapped.frames[last - 4].last += 1000;
    swapped.frames.swap(last - 4, last);
    assert!(reply.is_data_out() && swapped.frames[last].is_data_out());
    let found = failed(swapped);
    assert_eq!(found[0].0, "frames_out");
    assert!(found[0].1.contains("came behind frames that should follow it"), "{found:?}");
}
