//! What a sweep promises: the same rows at any number of jobs and after an interruption, a row for
//! each point whatever becomes of it, tables that say the same.

use std::fs;
use std::path::{Path, PathBuf};

use ::parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::*;
use pinion_app::error::{Error, Result};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("pinion-sweep-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies an example, so that its build folder is the test's own.
fn example(folder: &Folder, name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let to = folder.file(name);
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to
}

fn request(app: &Path, journal: PathBuf, set: &[&str]) -> Request {
    Request {
        subject: Subject::load(app).unwrap(),
        machine: None,
        faithful: false,
        engine_core: EngineCore::default(),
        untrusted: false,
        cc: None,
        build_dir: None,
        elf: None,
        load: None,
        generate: Some("udp,size=256,messages=8,packets=8,rate=400g".to_owned()),
        set: set.iter().map(|text| (*text).to_owned()).collect(),
        seed: Some("1,2".to_owned()),
        jobs: 3,
        journal,
        fresh: false,
        pinion: identity(),
    }
}

fn has_compiler() -> bool {
    let sdk = pinion_app::build::Sdk::find(pinion_app::build::Part::Handlers);
    sdk.is_ok_and(|sdk| pinion_app::build::Compiler::find(None, &sdk).is_ok())
}

fn sweep(request: Request) -> Result<Outcome> {
    run(&plan(request)?, &mut Unobserved)
}

/// Gives the rows without the one number that no two runs have alike.
fn rows(outcome: &Outcome) -> Vec<Row> {
    let plain = |row: &Row| Row {
        measured: row.measured.clone().map(Measured::without_host_time),
        ..row.clone()
    };
    outcome.rows.iter().map(plain).collect()
}

const GRID: [&str; 2] = ["cluster.count=1,2", "packet.bytes=64,1000"];

#[test]
fn jobs_and_interruptions_change_no_row() {
    if !has_compiler() {
        return;
    }
    let folder = Folder::new("rows");
    let app = example(&folder, "empty");
    let one = Request { jobs: 1, ..request(&app, folder.file("one.jsonl"), &GRID) };
    let one = sweep(one).unwrap();
    assert_eq!((one.rows.len(), one.effort.ran, one.effort.kept), (8, 8, 0));
    assert_eq!((one.effort.built, one.effort.workers), (2, 1));
    assert!(one.rows.iter().all(|row| row.problem.is_none() && row.measured.is_some()));
    let many = sweep(request(&app, folder.file("many.jsonl"), &GRID)).unwrap();
    assert_eq!(rows(&one), rows(&many));

    // Stop after the first point, tear the journal's last line, go on.
    struct StopAt(usize);
    impl Observer for StopAt {
        fn progress(&mut self, progress: &Progress) -> bool {
            progress.done < self.0
        }
    }
    let journal = folder.file("stopped.jsonl");
    let mut again = request(&app, journal.clone(), &GRID);
    again.generate = Some("udp,size=256,messages=600,packets=8,rate=400g".to_owned());
    let whole = sweep(Request { journal: folder.file("whole.jsonl"), ..again.clone() }).unwrap();
    let stopped = run(&plan(again.clone()).unwrap(), &mut StopAt(1));
    if let Err(error) = stopped {
        assert!(error.to_string().contains("stopped after"), "{error}");
    }
    let lines = fs::read_to_string(&journal).unwrap();
    let kept = lines.lines().count().min(4);
    let torn: String = lines.lines().take(kept).map(|line| format!("{line}\n")).collect();
    fs::write(&journal, format!("{torn}{{\"key\":\"00")).unwrap();
    let resumed = sweep(again.clone()).unwrap();
    assert_eq!((resumed.effort.kept, resumed.effort.built), (kept, 0));
    assert_eq!(rows(&resumed), rows(&whole));
    let fresh = sweep(Request { fresh: true, ..again.clone() }).unwrap();
    assert_eq!((fresh.effort.kept, fresh.effort.ran), (0, 8));
    assert_eq!(rows(&fresh), rows(&whole));
    // More values run only what is new.
    again.set[1] = "packet.bytes=64,128,1000".to_owned();
    let more = sweep(again).unwrap();
    assert_eq!((more.effort.kept, more.effort.ran), (8, 4));
}

#[test]
fn a_point_that_fails_says_why_and_the_others_go_on() {
    if !has_compiler() {
        return;
    }
    let folder = Folder::new("fails");
    let app = example(&folder, "empty");
    let grid = ["cluster.count=2,99", "packet.bytes=20,64,4000"];
    let outcome = sweep(request(&app, folder.file("sweep.jsonl"), &grid)).unwrap();
    let problems: Vec<&str> =
        outcome.rows.iter().map(|row| row.problem.as_deref().unwrap_or("")).collect();
    assert_eq!(outcome.failed(), 10);
    assert!(problems[0].contains("20"), "{problems:?}");
    assert_eq!((problems[2], problems[3]), ("", ""));
    assert!(problems[4].contains("takes packets of up to"), "{problems:?}");
    assert!(problems[6..].iter().all(|problem| problem.contains("99")), "{problems:?}");
    let csv = String::from_utf8(outcome.to_csv().unwrap()).unwrap();
    assert_eq!(csv.lines().count(), 13);
    assert!(csv.starts_with("cluster.count,packet.bytes,seed,packets,bytes,active_ns,"));
}

#[test]
fn what_is_wrong_with_all_points_is_refused() {
    let folder = Folder::new("refused");
    let app = example(&folder, "empty");
    let refuse = |change: &dyn Fn(&mut Request), part: &str| {
        let mut request = request(&app, folder.file("sweep.jsonl"), &GRID);
        request.elf = None;
        change(&mut request);
        let error = plan(request).map(|_| ()).unwrap_err();
        let text = pinion_app::error::paragraph(&error);
        assert!(text.contains(part), "{part}: {text}");
    };
    refuse(&|request| request.set[0] = "cluster.cont=1,2".to_owned(), "cluster.count");
    refuse(&|request| request.set[0] = "cluster.count=few,2".to_owned(), "cluster.count=few");
    refuse(&|request| request.set[0] = "cluster.count=".to_owned(), "has no values");
    refuse(&|request| request.jobs = 0, "--jobs 0");
    refuse(&|request| request.machine = Some("pspn".to_owned()), "no machine `pspn`");
    refuse(&|request| request.generate = Some("upd".to_owned()), "udp");
    refuse(&|request| request.elf = Some(folder.file("none.elf")), "none.elf");
    refuse(
        &|request| {
            request.generate = None;
            let Subject::Handlers(manifest) = &mut request.subject else { panic!() };
            manifest.traffic = None;
        },
        "--generate",
    );
    let other = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        Subject::load(&path).unwrap()
    };
    // What goes with one kind is refused with others.
    refuse(&|request| request.load = Some("requests=3".to_owned()), "--load asks nanoservices");
    refuse(&|request| request.subject = other("nanopu_echo"), "--generate makes packets");
    refuse(&|request| request.subject = other("cluster_echo"), "cluster.toml says who asks whom");
    refuse(&|request| request.set[0] = "load.gap=1,2".to_owned(), "loads are a nanoservice's");
    refuse(
        &|request| {
            request.generate = None;
            request.subject = other("nanopu_echo");
            request.set = vec!["load.gap=1,2".to_owned()];
        },
        "there is no load whose `gap` could vary",
    );
    assert!(!folder.file("sweep.jsonl").exists());
}

fn reduce() -> Subject {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/reduce");
    Subject::load(path.as_ref()).unwrap()
}

/// Makes an outcome without runs: throughput is clusters times the seed.
fn made_up() -> Outcome {
    let set = ["cluster.count=1,2,4", "core.model=ri5cy,ibex", "packet.bytes=64"];
    let axes = grid::axes(&reduce(), &set.map(str::to_owned), Some("10,30"))
        .unwrap_or_else(|error| panic!("{error}"));
    let rows = grid::product(&axes).into_iter().map(|values| {
        let mut numbers = vec![Some(1.0); OF_HANDLERS.metrics.len()];
        let of = |place: usize| grid::number(&values[place]).unwrap();
        numbers[3] = Some(of(0) * of(3));
        numbers[9] = None;
        Row { values, measured: Some(Measured(numbers)), problem: None }
    });
    Outcome {
        app: "made_up".to_owned(),
        machine: "pspin".to_owned(),
        numbers: &OF_HANDLERS,
        rows: rows.collect(),
        axes,
        effort: Effort::default(),
    }
}

#[test]
fn a_chart_shows_means_over_seeds_with_a_curve_for_each_other_value() {
    let outcome = made_up();
    let svg = plot(&outcome, &Choice::default()).unwrap().unwrap();
    for text in ["core.model ri5cy", "core.model ibex", "cluster.count", "mean of 2 seeds"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let choice = |x: Option<&str>, y: Option<&str>| Choice {
        x: x.map(str::to_owned),
        y: y.map(str::to_owned),
    };
    // Words are bars; seeds may go across too.
    for x in ["core.model", "seed", "packet.bytes"] {
        assert!(plot(&outcome, &choice(Some(x), Some("ipc"))).unwrap().is_some(), "{x}");
    }
    let refuse = |choice: Choice, part: &str| {
        let error: Error = choice.check(outcome.numbers, &outcome.axes).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refuse(choice(Some("l1.banks"), None), "the keys are cluster.count");
    refuse(choice(None, Some("latency")), "latency_p99_ns");
    let still = Outcome { axes: Vec::new(), rows: Vec::new(), ..outcome.clone() };
    assert_eq!(plot(&still, &Choice::default()).unwrap(), None);
}

#[test]
fn tables_hold_every_row() {
    let outcome = made_up();
    let csv = String::from_utf8(outcome.to_csv().unwrap()).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 13);
    assert_eq!(
        lines[2].split(',').take(7).collect::<Vec<_>>(),
        ["1", "ri5cy", "64", "30", "1", "1", "1"]
    );
    assert_eq!(lines[2].split(',').nth(7), Some("30"));
    assert_eq!(outcome.to_text().len(), 13);
    let bytes = bytes::Bytes::from(outcome.to_parquet());
    let file = SerializedFileReader::new(bytes).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows(), 12);
    let names = file.metadata().file_metadata().schema().get_fields().iter();
    assert_eq!(names.map(|field| field.name()).collect::<Vec<_>>().join(","), lines[0]);
}

/// Sweeps with any number of workers, and again with what the journal has.
fn check_of_other_kinds(request: Request, points: usize, columns: &[(&str, bool)]) {
    let again = Request { jobs: 1, fresh: true, ..request.clone() };
    let kept = Request { fresh: false, ..request.clone() };
    let outcome = sweep(request).unwrap();
    assert_eq!((outcome.rows.len(), outcome.failed()), (points, 0), "{:?}", outcome.rows);
    for (name, is_there) in columns {
        let of = |row: &Row| row.measured.as_ref().unwrap().get(outcome.numbers, name);
        assert!(outcome.rows.iter().all(|row| of(row).is_some() == *is_there), "{name}");
    }
    assert!(plot(&outcome, &Choice::default()).unwrap().is_some());
    assert_eq!(rows(&sweep(again).unwrap()), rows(&outcome));
    let kept = sweep(kept).unwrap();
    assert_eq!((kept.effort.kept, rows(&kept)), (points, rows(&outcome)));
}

fn has_gcc() -> bool {
    let tried = std::process::Command::new("riscv64-unknown-elf-gcc").arg("--version").output();
    tried.is_ok_and(|done| done.status.success())
}

#[test]
fn nanoservices_are_swept_over_machine_and_load() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("nano");
    let app = example(&folder, "nanopu_echo");
    let set = ["load.gap=exp:900,exp:2000", "transport.rtt_packets=2,4"];
    let request = |load: Option<&str>| Request {
        generate: None,
        load: load.map(str::to_owned),
        ..request(&app, folder.file("nano.jsonl"), &set)
    };
    let columns = [("response_p99_ns", true), ("answered", true), ("cycles", true)];
    check_of_other_kinds(request(Some("requests=50,gap=exp:1")), 8, &columns);
    // Without a load, the folder's messages are asked.
    let own = Request {
        set: vec!["transport.rtt_packets=2,4".to_owned()],
        seed: None,
        journal: folder.file("own.jsonl"),
        ..request(None)
    };
    check_of_other_kinds(own, 2, &[("response_p99_ns", false), ("wire_to_wire_mean_ns", true)]);
}

#[test]
fn clusters_are_swept_over_what_their_file_says() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("cluster");
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster_echo");
    let set = ["client.count=1,3", "network.link.latency_cycles=140,280"];
    let request = Request {
        generate: None,
        seed: None,
        build_dir: Some(folder.file("build")),
        ..request(&app, folder.file("cluster.jsonl"), &set)
    };
    check_of_other_kinds(request, 4, &[("messages_in", true), ("cycles", true), ("nodes", true)]);
}
