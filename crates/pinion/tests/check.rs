//! The checker finds what was put there to be found, each with its kind and its line and nothing else;
//! it finds nothing where the same handler is right, and nothing in the examples.

#[allow(dead_code)]
mod outside;
mod ranks;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use outside::{Folder, has_gcc};
use pinion::app::{App, Options};
use pinion::check::{Checker, Verdict};
use pinion::cluster::{self, Plan};
use pinion::nanoservice::run::RunOptions;
use pinion::nanoservice::{self, Script, Setup, Traffic};
use pinion::report::Outputs;
use pinion::service::Service;
use pinion::traffic::Packets;
use pinion::watch::Unobserved;
use pinion_net::fabric::Ranks;
use ranks::with_ranks;

/// Files with seeded bugs, the last one those of nanoservices.
const FILES: [&str; 5] = ["uninitialised.c", "packets.c", "commands.c", "races.c", SERVICES];
const SERVICES: &str = "nano.c";

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check")
}

/// A handler or nanoservice with a bug, as the file with it says.
struct Case {
    file: &'static str,
    name: String,
    /// The packets; of a nanoservice, the messages.
    packets: String,
    /// Keys of the context, and words: `slmp`, `header`, `completion`, `rtl`, `other`, `tenants`, `units`,
    /// `unfixed`; of nanoservices as their file says.
    keys: Vec<String>,
    /// Kinds with their lines.
    wanted: Vec<(String, String)>,
}

impl Case {
    fn says(&self, word: &str) -> bool {
        self.keys.iter().any(|key| key == word)
    }

    /// Writes its application; `elf`: the program that was built of its file already.
    fn manifest(&self, program: &str) -> String {
        let name = &self.name;
        let (matching, message) = match (self.says("slmp"), self.says("tenants")) {
            (true, _) => ("slmp", "message = \"field:offset=44\"\nend_of_message = \"slmp.eom\"\n"),
            // The second message is its own, the first the other context's.
            (_, true) => ("udp.sport=49153", ""),
            _ => ("udp", ""),
        };
        let mut handlers = format!("payload = \"{name}_ph\"\n");
        for (word, end) in [("header", "hh"), ("completion", "th")] {
            if self.says(word) {
                handlers += &format!("{word} = \"{name}_{end}\"\n");
            }
        }
        let sizes = ["handler_memory", "scratchpad", "host_memory"];
        let sizes = sizes.map(|size| match self.keys.iter().any(|key| key.starts_with(size)) {
            true => String::new(),
            false => format!("{size} = \"16KiB\"\n"),
        });
        let keys = self.keys.iter().filter(|key| key.contains('='));
        let keys: String = keys.map(|key| format!("{key}\n")).collect();
        let theirs = match (self.says("other"), self.says("tenants")) {
            (true, _) => Some("icmp.echo"),
            (_, true) => Some("udp"),
            _ => None,
        };
        let other = theirs.map_or(String::new(), |matching| {
            format!(
                "[[context]]\nname = \"other\"\nmatch = [\"{matching}\"]\n\
                 handler_memory = \"4KiB\"\npayload = \"{name}_ph\"\n"
            )
        });
        format!(
            "[app]\nname = \"{name}\"\n{program}\n\n[[context]]\nname = \"all\"\n\
             match = [\"{matching}\"]\n{message}{handlers}{}{keys}\n{other}",
            sizes.concat()
        )
    }
}

/// Reads the cases of a file.
fn cases(file: &'static str) -> Vec<Case> {
    let text = std::fs::read_to_string(sources().join(file)).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((name, rest)) = line.strip_prefix("// case ").and_then(|it| it.split_once(": "))
        {
            let mut parts = rest.split("; ");
            let packets = parts.next().unwrap().to_owned();
            let keys = parts.flat_map(|part| part.split(", ")).map(str::to_owned).collect();
            cases.push(Case { file, name: name.to_owned(), packets, keys, wanted: Vec::new() });
        }
        if let Some((_, kinds)) = line.split_once("// finds ") {
            let at = format!("{file}:{number}");
            let wanted = kinds.split(' ').map(|kind| (kind.to_owned(), at.clone()));
            cases.last_mut().unwrap().wanted.extend(wanted);
        }
    }
    cases
}

/// Builds a file's handlers or nanoservices; gives the program.
fn build(folder: &Folder, file: &str, is_fixed: bool) -> PathBuf {
    let name = format!("{}-{is_fixed}", file.trim_end_matches(".c"));
    let defines = if is_fixed { "defines = { FIXED = true }\n" } else { "" };
    let what = match file {
        SERVICES => "[nanoservice]\nharts = 4\n".to_owned(),
        _ => {
            let first = &cases_of(file).next().unwrap().name;
            format!("[[context]]\nname = \"all\"\nmatch = [\"udp\"]\npayload = \"{first}_ph\"\n")
        }
    };
    let manifest = format!("[app]\nname = \"{name}\"\nsources = [\"{file}\"]\n{defines}\n{what}");
    for source in [file, "seeded.h"] {
        folder.write(&format!("{name}/{source}"), std::fs::read(sources().join(source)).unwrap());
    }
    folder.write(&format!("{name}/app.toml"), manifest);
    let (path, options) = (folder.0.join(&name), Options::default());
    match file {
        SERVICES => Service::load(&path, &options).unwrap().built.elf,
        _ => App::load(&path, &options).unwrap().built.elf,
    }
}

fn cases_of(file: &str) -> impl Iterator<Item = Case> {
    let file = FILES.into_iter().find(|one| *one == file).unwrap();
    cases(file).into_iter()
}

/// Runs an application and checks it.
fn check(app: &App, packets: Packets) -> Verdict {
    let mut checker = Checker::new(app);
    let finished =
        pinion::run::trace(app, packets, &Outputs::default(), &mut Unobserved, &mut checker);
    finished.unwrap();
    checker.verdict(app)
}

/// Gives the messages' file of a nanoservice.
fn script(messages: &str) -> String {
    let message = |message: &str| {
        let (context, words) = message.split_once(':').unwrap();
        format!("[[message]]\ncontext = {context}\nsend = [{words}]\n")
    };
    messages.split_whitespace().map(message).collect()
}

/// Writes the application of a nanoservice that is in a program.
fn service_app(folder: &Folder, name: &str, more: &str, elf: &Path) -> PathBuf {
    let elf = elf.display();
    let manifest =
        format!("[app]\nname = \"{name}\"\nelf = \"{elf}\"\n\n[nanoservice]\nharts = 4\n{more}");
    folder.write(&format!("{name}/app.toml"), manifest);
    folder.0.join(name)
}

/// Checks a nanoservice.
fn check_service(service: &Service, traffic: Traffic) -> Verdict {
    let setup = Setup::new(service, &Options::default()).unwrap();
    let options = RunOptions { patience: 100_000, ..RunOptions::of(traffic) };
    let outputs = nanoservice::Outputs::default();
    let summary = nanoservice::check(service, &setup, options, &outputs, &mut Unobserved);
    summary.unwrap().check.unwrap()
}

/// Checks a cluster, with one thread and two, and with several ranks.
fn check_cluster(file: &Path, options: &Options, patience: Option<u64>) -> Verdict {
    let plan = Plan::load(file, options).unwrap();
    let check = |threads, ranks| {
        let options = cluster::RunOptions { threads, patience, ..cluster::RunOptions::default() };
        let summary = with_ranks(ranks, |ranks: &mut dyn Ranks| {
            cluster::check(&plan, &options, ranks, &mut Unobserved).unwrap()
        });
        summary.check.unwrap()
    };
    let verdict = check(1, 1);
    for (threads, ranks) in [(2, 1), (1, 2), (1, 3)] {
        let other = check(threads, ranks);
        let of = format!("{}: {threads} threads, {ranks} ranks", file.display());
        assert_eq!(verdict.to_json(), other.to_json(), "{of}");
        assert_eq!(verdict.to_text(), other.to_text(), "{of}");
    }
    verdict
}

/// Checks a case's nanoservice in a program: behind a link, or as a node of a cluster.
fn check_service_case(folder: &Folder, case: &Case, elf: &Path) -> Verdict {
    let name = &case.name;
    if !case.says("node") {
        let path = service_app(folder, name, &format!("args = [\"{name}\"]\n"), elf);
        let messages = folder.write(&format!("{name}/messages.toml"), script(&case.packets));
        let service = Service::load(&path, &Options::default()).unwrap();
        return check_service(&service, Traffic::Script(Script::read(&messages).unwrap()));
    }
    let other = if case.says("relay") { "relay" } else { "echo" };
    service_app(folder, "echo", "", elf);
    service_app(folder, name, "", elf);
    let file = folder.write(
        &format!("{name}.toml"),
        format!(
            "[cluster]\nname = \"{name}\"\n\n[network]\ntopology = {{ kind = \"star\" }}\n\n\
             [[node]]\nname = \"server\"\napp = \"echo\"\nargs = [\"{other}\"]\n\n\
             [[node]]\nname = \"wrong\"\napp = \"{name}\"\nends = true\n\
             args = [\"{name}\", \"{{server}}\", \"{{wrong}}\"]\n"
        ),
    );
    let verdict = check_cluster(&file, &Options::default(), Some(100_000));
    let is_of_it = |node: &Option<String>| node.as_deref() == Some("wrong");
    assert!(verdict.findings.iter().all(|told| is_of_it(&told.node)), "{}", verdict.to_text());
    verdict
}

/// Checks a case's handlers in a program.
fn check_case(folder: &Folder, case: &Case, elf: &Path) -> Verdict {
    if case.file == SERVICES {
        return check_service_case(folder, case, elf);
    }
    let program = format!("elf = \"{}\"", elf.display());
    let name = format!("{}/app.toml", case.name);
    folder.write(&name, case.manifest(&program));
    let mut options = Options::default();
    if case.says("rtl") {
        let silent = ["protection.pmp=rtl", "protection.check_commands=false"];
        options.overrides = silent.map(str::to_owned).into();
    }
    if case.says("units") {
        options.machine = Some("pspin-2units".to_owned());
    }
    let app = App::load(&folder.0.join(&case.name), &options).unwrap();
    check(&app, Packets::generate(&case.packets, None, None).unwrap())
}

/// Says what a verdict has, a line for each finding.
fn told(verdict: &Verdict) -> String {
    verdict.to_text()
}

fn tell_apart(file: &'static str) {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new(&format!("check-{}", file.trim_end_matches(".c")));
    let (wrong, right) = (build(&folder, file, false), build(&folder, file, true));
    let mut problems = Vec::new();
    for case in cases(file) {
        let verdict = check_case(&folder, &case, &wrong);
        for (kind, line) in &case.wanted {
            let is_told = verdict.findings.iter().any(|told| {
                let lines = told.accesses.iter().filter_map(|access| access.source.as_deref());
                told.kind.name() == kind && lines.into_iter().any(|source| source == line)
            });
            if !is_told {
                let told = told(&verdict);
                problems.push(format!("{}: no {kind} at {line}, but\n{told}", case.name));
            }
        }
        let kinds: BTreeSet<&str> = case.wanted.iter().map(|(kind, _)| kind.as_str()).collect();
        let more = verdict.findings.iter().filter(|told| !kinds.contains(told.kind.name()));
        problems.extend(more.map(|told| format!("{}: {told:?}", case.name)));
        if !case.says("unfixed") {
            let verdict = check_case(&folder, &case, &right);
            if !verdict.findings.is_empty() {
                let told = told(&verdict);
                problems.push(format!("{} is right, but in {}\n{told}", case.name, case.file));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn values_that_nobody_wrote_are_found() {
    tell_apart("uninitialised.c");
}

#[test]
fn what_is_not_the_handler_s_is_found() {
    tell_apart("packets.c");
}

#[test]
fn buffers_in_use_are_found() {
    tell_apart("commands.c");
}

#[test]
fn races_are_found() {
    tell_apart("races.c");
}

#[test]
fn what_nanoservices_and_nodes_do_wrong_is_found() {
    tell_apart(SERVICES);
}

#[test]
fn there_are_enough_of_them() {
    let all: Vec<Case> = FILES.into_iter().flat_map(cases).collect();
    assert!(all.len() >= 85, "{}", all.len());
    let of_services = all.iter().filter(|case| case.file == SERVICES);
    assert!(of_services.count() >= 30);
    assert!(all.iter().all(|case| !case.wanted.is_empty()));
    let kinds: BTreeSet<&str> =
        all.iter().flat_map(|case| &case.wanted).map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds.len(), pinion::check::Kind::ALL.len(), "{kinds:?}");
}

/// Examples, and variants of them: what is meant so is marked in their sources.
#[test]
fn examples_have_no_findings() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("check-examples");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut checked = 0;
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().flatten().map(|entry| entry.path()).collect();
    let variants: Vec<PathBuf> = folders.iter().map(|folder| folder.join("rtl")).collect();
    folders.extend(variants);
    folders.sort();
    for path in folders.iter().filter(|path| path.join("app.toml").is_file()) {
        let manifest = pinion::manifest::load(path).unwrap();
        let mut options = Options::default();
        options.build.folder = Some(folder.0.join("build"));
        if manifest.nanoservice().is_some() {
            let service = Service::of(manifest, &options).unwrap();
            let verdict = check_service(&service, Traffic::of_folder(&service).unwrap());
            assert!(verdict.findings.is_empty(), "{}: {}", path.display(), verdict.to_text());
            checked += 1;
            continue;
        }
        let app = App::of(manifest, &options).unwrap();
        let packets = match pinion::traffic::standard(&app.manifest, &[]) {
            Ok(standard) => Packets::of(standard, None, None).unwrap(),
            Err(_) => {
                let capture = ["traffic.pcap", "ping.pcap"].map(|name| path.join(name));
                let capture = capture.iter().find(|capture| capture.is_file());
                Packets::from_capture(capture.expect("packets of an example"), None).unwrap()
            }
        };
        let verdict = check(&app, packets);
        assert!(verdict.findings.is_empty(), "{}: {}", path.display(), verdict.to_text());
        checked += 1;
    }
    assert!(checked >= 30, "{checked}");
}

/// Of clusters those that do not take long.
#[test]
fn clusters_of_examples_have_no_findings() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("check-clusters");
    let mut options = Options::default();
    options.build.folder = Some(folder.0.join("build"));
    let names = [
        "cluster_echo",
        "cluster_filter",
        "cluster_rpc",
        "nanopu_chain",
        "nanopu_neural",
        "nanopu_sets",
    ];
    for name in names {
        let file = Path::new(&outside::example(name)).join("cluster.toml");
        let verdict = check_cluster(&file, &options, None);
        assert!(verdict.findings.is_empty(), "{name}: {}", verdict.to_text());
    }
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let folder = Folder::new("check-refused");
    let cluster = outside::example("cluster_echo");
    folder.refuses(&["run", &cluster, "--check", "--curve", "curve.csv"], &["--check", "--curve"]);
    folder.app(outside::MANIFEST);
    for verb in ["debug", "profile", "trace", "why"] {
        folder.refuses(
            &[verb, "app", "--check", "--generate", "icmp,count=1"],
            &["--check goes with"],
        );
    }
    let native = ["run", "app", "--check", "--engine", "native", "--generate", "icmp,count=1"];
    folder.refuses(&native, &["--check", "native"]);
}
