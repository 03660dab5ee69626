//! A short run of every target, and the list that `cargo fuzz` has of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinion_fuzz::{Limits, TARGETS, Target, drive, seeds};

/// Two targets at a time: their inputs take a processor each.
const WORKERS: usize = 2;

#[test]
fn nothing_that_reads_panics_hangs_or_grows() {
    let seed = std::env::var("PINION_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(1);
    println!("replay: PINION_FUZZ_SEED={seed} cargo test -p pinion-fuzz --test targets");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failures = Vec::new();
        while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let limits = Limits { executions: target.quick, ..Limits::default() };
            match drive(target, seed, &limits, &folder) {
                Ok(report) => println!("{}: {report:?}", target.name),
                Err(failure) => failures.push(format!("{}: {failure}", target.name)),
            }
        }
        failures
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(work));
        workers.into_iter().flat_map(|worker| worker.join().expect("it catches panics")).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_reader_that_says_something_new_each_time_does_not_fill_the_memory() {
    static TIMES: AtomicUsize = AtomicUsize::new(0);
    static TALKATIVE: Target = Target {
        name: "talkative",
        run: |_| {
            format!("{:b}", TIMES.fetch_add(1, Ordering::Relaxed))
                .replace('0', "no ")
                .replace('1', "yes ")
        },
        seeds: &["machines/pspin.toml"],
        words: &[],
        is_text: true,
        mend: None,
        quick: 0,
    };
    let limits = Limits { executions: 1000, kept_bytes: 40_000, ..Limits::default() };
    let report = drive(&TALKATIVE, 1, &limits, &PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let report = report.expect("it panics at nothing");
    assert!(report.sayings > 900, "{report:?}");
    assert!(report.kept_bytes > 20_000 && report.kept_bytes <= 40_000, "{report:?}");
}

#[test]
fn every_target_has_inputs_to_begin_with() {
    for target in &TARGETS {
        let inputs = seeds::read(target.name, target.seeds);
        assert!(!inputs.is_empty(), "{} has none; put one into its corpus", target.name);
        let kept = seeds::root().join(format!("fuzz/corpus/{}.seeds", target.name));
        assert!(kept.is_file(), "{} is not there; scripts/coverage.py writes it", kept.display());
    }
}

#[test]
fn cargo_fuzz_has_the_same_targets() {
    let text = std::fs::read_to_string(seeds::root().join("fuzz/Cargo.toml")).expect("it is there");
    let mut theirs: Vec<&str> = text
        .split("[[bin]]")
        .skip(1)
        .filter_map(|part| part.split("name = \"").nth(1)?.split('"').next())
        .collect();
    theirs.sort_unstable();
    let mut ours = TARGETS.each_ref().map(|target| target.name);
    ours.sort_unstable();
    assert_eq!(theirs, ours);
}
