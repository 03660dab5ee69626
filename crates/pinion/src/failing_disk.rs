//! Every output of the command on a disk that fails at each call in turn, within this process: exit status 2,
//! nothing partial under a final name, what was done is kept; and where a write is short or interrupted, all
//! as if nothing had been.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use pinion_output::faults::{Fault, fail};

use crate::cli::Cli;
use crate::commands::{Status, dispatch};

/// What is written, by name: words of a command, in which `in/` and `out/` are folders of the test's own, and
/// the files that come of it.
const OUTPUTS: [(&str, &str, &[&str]); 17] = [
    (
        "run",
        "run in/app --generate udp,count=400,size=64 --quiet --pcap-out out/sent.pcap --unmatched-out \
         out/unmatched.pcap --json out/run.json --packets out/packets.csv --host-dump all=out/host.bin \
         --record out/run.pinion",
        &["sent.pcap", "unmatched.pcap", "run.json", "packets.csv", "host.bin", "run.pinion"],
    ),
    ("page", "run in/app --generate udp,count=40 --quiet --html out/run.html", &["run.html"]),
    ("trace", "trace in/app --generate udp,count=5 --quiet --out out/trace.txt", &["trace.txt"]),
    (
        "perfetto",
        "trace in/app --generate udp,count=40 --quiet --perfetto out/run.perfetto-trace",
        &["run.perfetto-trace"],
    ),
    ("vcd", "trace in/app --generate udp,count=40 --quiet --vcd out/run.vcd", &["run.vcd"]),
    (
        "profile",
        "profile in/app --generate udp,count=40 --quiet --json out/profile.json --flame out/flame.svg \
         --occupancy out/occupancy.svg --speedscope out/speed.json --pprof out/profile.pb.gz --lcov \
         out/lines.lcov",
        &[
            "profile.json",
            "flame.svg",
            "occupancy.svg",
            "speed.json",
            "profile.pb.gz",
            "lines.lcov",
        ],
    ),
    (
        "why",
        "why in/app --generate udp,count=10 --packet 3 --svg out/why.svg --json out/why.json",
        &["why.svg", "why.json"],
    ),
    (
        "diff",
        "diff in/app in/app --generate udp,count=10 --other-set core.ri5cy.load_use_cycles=2 --json \
         out/diff.json",
        &["diff.json"],
    ),
    (
        "nanoservice",
        "run in/service --load requests=40 --quiet --json out/run.json --pcap-out out/sent.pcap --packets \
         out/packets.csv --record out/run.pinion",
        &["run.json", "sent.pcap", "packets.csv", "run.pinion"],
    ),
    (
        "cluster",
        "run in/two.toml --quiet --json out/run.json --histogram load=out/load.csv --record out/run.pinion",
        &["run.json", "load.csv", "run.pinion"],
    ),
    (
        "sweep",
        "sweep in/app --generate udp,count=10 --quiet --set cluster.count=1,2,4 --out out",
        &["app.csv", "app.parquet", "app.svg", "app.jsonl"],
    ),
    ("figure", "figure pspin-table3 --out out", &[]),
    (
        "calibrate",
        "calibrate --set tests/calibration/pspin2 --row st_l2_2 --json out/rows.json",
        &["rows.json"],
    ),
    (
        "p4 explain",
        "p4 explain sdk/p4/udp/ingress.p4 --json out/p4.json --svg out/p4.svg",
        &["p4.json", "p4.svg"],
    ),
    ("p4 hardware", "p4 hardware sdk/p4/udp/ingress.p4 --out out --vectors 20", &[]),
    ("new", "new out/mine --cluster", &[]),
    ("hardware new", "hardware new out/mine --like dispatcher", &["mine/mine.sv"]),
];

/// A command's folders, and what it wrote.
struct Bench {
    folder: tempfile::TempDir,
}

type Files = BTreeMap<String, Vec<u8>>;

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join("in").join(name);
        for (name, elf, more) in [
            (
                "app",
                "pspin-apps/ping_pong-burst/ping_pong.elf",
                "[[context]]\nname = \"all\"\nmatch = [\"udp\"]\npayload = \"pingpong_l1_ph\"\n\
                 host_memory = \"4KiB\"\n",
            ),
            ("service", "nanopu/elf/echo.elf", "[nanoservice]\nharts = 1\n"),
        ] {
            fs::create_dir_all(place(name)).unwrap();
            let elf = repository().join("tests/calibration").join(elf);
            let text = format!("[app]\nname = {name:?}\nelf = {elf:?}\n{more}");
            fs::write(place(name).join("app.toml"), text).unwrap();
        }
        let cluster = "[cluster]\nname = \"two\"\n[network]\ntopology = { kind = \"star\" }\n\
                       [[node]]\nname = \"server\"\napp = \"service\"\n\
                       [[load]]\nname = \"load\"\nto = \"server\"\nspec = \"requests=20\"\n";
        fs::write(place("two.toml"), cluster).unwrap();
        Self { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Runs a command with call number `at` on its outputs failing; gives its status, what it says is wrong,
    /// and the number of calls.
    fn run(&self, words: &str, at: u64, fault: Fault) -> (Status, String, u64) {
        let _ = fs::remove_dir_all(self.out());
        fs::create_dir_all(self.out()).unwrap();
        let whole = |word: &str| match word.split_once('/') {
            Some(("tests" | "sdk", _)) => repository().join(word).display().to_string(),
            _ => {
                let folder = self.folder.path().display();
                let word = word.replace("=out/", &format!("={folder}/out/"));
                match ["in/", "out/"].iter().any(|own| word.starts_with(own)) || word == "out" {
                    true => format!("{folder}/{word}"),
                    false => word,
                }
            }
        };
        let words = ["pinion".to_owned()].into_iter().chain(words.split_whitespace().map(whole));
        let mut cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let planned = fail(&self.out(), at, fault);
        let (status, error) = dispatch(&mut cli.command);
        (status, error.map_or_else(String::new, |e| pinion::error::paragraph(&e)), planned.calls())
    }

    fn files(&self) -> Files {
        let mut found = Files::new();
        gather(&self.out(), &self.out(), &mut found);
        found
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn gather(root: &Path, folder: &Path, found: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// Files that grow under their names: what was done is kept in them.
fn grows(name: &str) -> bool {
    name.ends_with(".jsonl") || name.contains(".unfinished/")
}

/// Tells whether a file is all there; times of this computer in it differ from run to run.
fn is_complete(name: &str, content: &[u8], whole: &[u8]) -> bool {
    let ends = |bytes: &[u8]| bytes[bytes.len().saturating_sub(6)..].to_vec();
    let is_like = content.len().abs_diff(whole.len()) <= 64 && ends(content) == ends(whole);
    let lines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
    content == whole
        || name.ends_with(".json") && content.ends_with(b"}\n")
        || name.ends_with(".csv") && content.ends_with(b"\n") && lines(content) == lines(whole)
        || is_like
}

#[test]
fn no_output_is_left_half_whatever_call_fails() {
    let (bench, mut tried) = (Bench::new(), 0);
    for (name, words, wanted) in OUTPUTS {
        let (status, said, calls) = bench.run(words, 0, Fault::Full);
        let whole = bench.files();
        assert_eq!(status, Status::Success, "{name}: {said}");
        assert!(calls > 0 && !whole.is_empty(), "{name}: {calls} calls");
        for file in wanted {
            assert!(whole.contains_key(*file), "{name}: {file} is missing in {:?}", whole.keys());
        }
        for fault in [Fault::Full, Fault::FullOnce, Fault::Short, Fault::Interrupted] {
            let is_failure = matches!(fault, Fault::Full | Fault::FullOnce);
            for at in 1..=calls {
                let (status, said, _) = bench.run(words, at, fault);
                let (found, where_) = (bench.files(), format!("{name}, call {at} {fault:?}"));
                match is_failure {
                    true => {
                        assert_eq!(status, Status::Mistake, "{where_}: {said}");
                        assert!(said.contains("space"), "{where_}: {said}");
                    }
                    false => {
                        assert_eq!(status, Status::Success, "{where_}: {said}");
                        assert!(found.keys().eq(whole.keys()), "{where_}: {:?}", found.keys());
                    }
                }
                for (file, content) in found.iter().filter(|(file, _)| !grows(file)) {
                    let whole = whole.get(file);
                    let whole = whole.unwrap_or_else(|| panic!("{where_}: {file} is left over"));
                    assert!(is_complete(file, content, whole), "{where_}: {file} is partial");
                }
                tried += 1;
            }
        }
        println!("{name}: {calls} calls");
    }
    println!("{tried} runs with a call that failed, was short or was interrupted");
}
