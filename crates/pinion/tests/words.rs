//! What the command says: of runs that came to nothing, of what it can do, in colour or without.

#[allow(dead_code)]
mod outside;

use std::fs;
use std::process::{Command, Output};

use outside::{Folder, MANIFEST, example, has_gcc, sdk};

/// Gives standard output of a command that must succeed.
fn said(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.pinion(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes an application whose handlers do nothing, for packets that a rule chooses.
fn idle(folder: &Folder, rule: &str, more: &str) {
    let manifest = format!(
        "[app]\nname = \"app\"\nsources = [\"app.c\"]\n[[context]]\nname = \"all\"\n\
         match = [\"{rule}\"]\npayload = \"idle_ph\"\n{more}"
    );
    let source = "#include <handler.h>\n__handler__ void idle_ph(handler_args_t *args) {}\n\
                  __handler__ void idle_th(handler_args_t *args) {}\n";
    folder.write("app/app.toml", manifest);
    folder.write("app/app.c", source);
}

#[test]
fn a_run_without_a_match_says_what_was_wanted() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("match");
    idle(&folder, "udp.dport=9330", "");
    let run = ["run", "app", "--generate", "udp,count=5,packets=1", "--json", "out.json"];
    let text = said(&folder, &run);
    let why = "no packet matched a context; `all` came nearest: destination port 9330 is wanted, \
               the packet has 9000 (1 of 3 comparisons failed)";
    assert!(text.contains(why), "{text}");
    let json = fs::read_to_string(folder.0.join("out.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["remarks"][0], why);
    // A trace shows no summary and says it beside.
    let traced = folder.pinion(&["trace", "app", "--generate", "udp,count=5,packets=1"]);
    let errors = String::from_utf8_lossy(&traced.stderr);
    assert!(traced.status.success() && errors.contains(why), "{errors}");
    // In a sweep it is the point's problem.
    let swept = folder.pinion(&["sweep", "app", "--generate", "udp,count=5", "--quiet"]);
    assert_eq!(swept.status.code(), Some(3));
    let table = fs::read_to_string(folder.0.join("out/sweeps/app.csv")).unwrap();
    assert!(table.contains("destination port 9330 is wanted"), "{table}");
}

#[test]
fn a_run_that_comes_to_nothing_says_so() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("nothing");
    idle(&folder, "udp", "");
    let run = ["run", "app", "--generate", "udp,count=3"];
    let text = said(&folder, &run);
    let silent = "no packet left the NIC, nothing was written to host memory, and no handler \
                  printed anything";
    assert!(text.contains(silent), "{text}");
    let text = said(&folder, &[&run[..], &["--pcap-out", "out.pcap"]].concat());
    assert!(text.contains("no handler sent one; --pcap-out is empty"), "{text}");
    let text = said(&folder, &[&run[..], &["--engine", "native"]].concat());
    assert!(text.contains(silent), "{text}");
    let endless = "message = \"flow\"\nend_of_message = \"packets=16\"\ncompletion = \"idle_th\"\n";
    idle(&folder, "udp", endless);
    let text = said(&folder, &run);
    assert!(text.contains("1 message has no end, so that no completion handler ran"), "{text}");
    let text = said(&folder, &["run", "app", "--generate", "udp,count=32,messages=2"]);
    assert!(!text.contains("no completion handler"), "{text}");
}

#[test]
fn a_nanoservice_without_messages_says_so() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("silent");
    said(&folder, &["new", "sums", "--nanoservice"]);
    fs::remove_file(folder.0.join("sums/messages.toml")).expect("a new service has messages");
    let text = said(&folder, &["run", "sums"]);
    assert!(text.contains("no message came: give --load SPEC"), "{text}");
    folder.write("none.toml", "");
    let text = said(&folder, &["run", "sums", "--messages", "none.toml"]);
    assert!(text.contains("no message came: the script has no [[message]]"), "{text}");
    let text = said(&folder, &["run", "sums", "--load", "requests=3,gap=2000,match=oldest"]);
    assert!(!text.contains("no message came"), "{text}");
    let ping = format!("{}/ping.pcap", example("icmp_echo"));
    let text = said(&folder, &["run", "sums", "--pcap-in", &ping]);
    assert!(text.contains("no message reached the program: 100 of 100 packets"), "{text}");
    // Neither kind of program runs on the other's machines, and it is not a key's fault.
    folder.refuses(
        &["run", "sums", "--machine", "pspin"],
        &["machine pspin is a sPIN NIC", "nanoservice needs a nanoPU: nanopu"],
    );
    folder.refuses(&["build", "sums", "--machine", "fpspin"], &["machine fpspin is a sPIN NIC"]);
    folder.app(MANIFEST);
    folder.refuses(
        &["run", "app", "--generate", "udp", "--machine", "nanopu"],
        &["machine nanopu is a nanoPU", "need a sPIN NIC: ", "pspin"],
    );
}

#[test]
fn nonsense_is_refused_with_what_would_make_sense() {
    let folder = Folder::new("nonsense");
    folder.app(MANIFEST);
    let run = |more: &[&'static str], parts: &[&str]| {
        folder.refuses(&[&["run", "app"], more].concat(), parts);
    };
    run(&["--generate", "udp,rate=400"], &["`400` has no unit", "`400g` for 400 Gbit/s"]);
    run(&["--generate", "udp", "--pace", "400"], &["--pace", "no unit", "`400g`"]);
    run(&["--generate", "icmp,port=5"], &["`port`", "keys of `icmp` traffic: size"]);
    run(&["--generate", "udp", "--set", "core.load_use_cycles=3"], &["core.ri5cy.load_use_cycles"]);
    folder.refuses(
        &["sweep", "app", "--generate", "udp", "--set", "packet.rate=400"],
        &["packet.rate=400", "`400g`"],
    );
    folder.refuses(
        &["trace", "app", "--generate", "udp,count=7", "--packet", "7"],
        &["--packet 7", "packets 0 to 6"],
    );
    let ping = format!("{}/ping.pcap", example("icmp_echo"));
    folder.refuses(
        &["trace", "app", "--pcap-in", &ping, "--packet", "3,100", "--out", "x.txt"],
        &["--packet 100", "packets 0 to 99"],
    );
    folder.refuses(
        &["trace", "app", "--generate", "udp", "--threads", "2"],
        &["--threads goes with clusters"],
    );
    folder.app(&MANIFEST.replace("[\"icmp.echo\"]", "\"udp\""));
    run(&["--generate", "udp"], &["line 7", "write match = [\"udp\"]"]);
}

/// Gives the options under a heading of a help text.
fn under<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| *line != format!("{heading}:")).skip(1);
    let own = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let option = |line: &'a str| line.trim_start().split([' ', '=']).find(|w| w.starts_with("--"));
    own.filter(|line| line.trim_start().starts_with('-')).filter_map(option).collect()
}

#[test]
fn help_promises_what_is_taken_under_the_right_heading() {
    let folder = Folder::new("help");
    let help = |verb: &str| said(&folder, &[verb, "--help"]);
    let run = help("run");
    let output = ["--pcap-out", "--unmatched-out", "--json", "--packets", "--handlers"];
    assert_eq!(under(&run, "Output")[..5], output, "{run}");
    assert!(under(&run, "Clusters").iter().all(|option| !output.contains(option)), "{run}");
    assert!(under(&run, "Packets").contains(&"--generate"), "{run}");
    assert!(under(&run, "Nanoservices").contains(&"--load"), "{run}");
    assert!(run.contains("of a cluster, a cluster.toml"), "{run}");
    let trace = help("trace");
    for refused in ["--host-dump", "--engine", "--workers", "--handlers", "--histogram", "--curve"]
    {
        assert!(run.contains(refused) && !trace.contains(refused), "{refused}: {trace}");
    }
    assert!(under(&trace, "What is traced").contains(&"--packet"), "{trace}");
    assert!(under(&trace, "Clusters").contains(&"--threads"), "{trace}");
    for verb in ["trace", "build", "sweep"] {
        assert!(help(verb).contains("of a cluster, a cluster.toml"), "{verb}");
    }
    assert!(!help("up").contains("cluster.toml"));
    let sweep = help("sweep");
    assert!(sweep.contains("--set <KEY=VALUE,VALUE,…>"), "{sweep}");
    assert!(said(&folder, &["--help"]).starts_with("Runs packet handlers"));
}

#[test]
fn shells_and_man_know_every_command() {
    let folder = Folder::new("shell");
    let verbs = ["run", "trace", "sweep", "figure", "completions", "man"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = said(&folder, &["completions", shell]);
        assert!(verbs.iter().all(|verb| script.contains(verb)), "{shell}");
        assert!(script.contains("--generate") || script.contains("generate"), "{shell}");
    }
    let bash = folder.write("pinion.bash", said(&folder, &["completions", "bash"]));
    let asked = format!(
        "source {} && COMP_WORDS=(pinion swe) COMP_CWORD=1 && _pinion pinion swe pinion && \
         echo ${{COMPREPLY[@]}}",
        bash.display()
    );
    if let Ok(output) = Command::new("bash").args(["-c", &asked]).output() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.trim(), "sweep", "{}", String::from_utf8_lossy(&output.stderr));
    }
    let page = said(&folder, &["man"]);
    assert!(page.contains(".TH pinion 1") && page.contains("pinion\\-sweep(1)"), "{page}");
    let told = said(&folder, &["man", "--out", "man1"]);
    let pages = fs::read_dir(folder.0.join("man1")).unwrap().count();
    assert_eq!(told, format!("man1: {pages} pages\n"));
    for verb in verbs {
        let page = fs::read_to_string(folder.0.join(format!("man1/pinion-{verb}.1"))).unwrap();
        assert!(page.contains(&format!(".TH pinion-{verb} 1")), "{page}");
    }
    assert!(!folder.0.join("man1/pinion-lab-hold.1").exists(), "hidden commands have no page");
}

#[test]
fn what_is_installed_lies_where_shells_look() {
    let folder = Folder::new("install");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/install_shell.sh");
    let home = folder.0.join("home");
    // Twice: it replaces what is there. A relative XDG_DATA_HOME does not count.
    for (data, told) in [("", "home/.local/share"), ("data", "home/.local/share")] {
        let mut command = Command::new("bash");
        command.args([script, env!("CARGO_BIN_EXE_pinion")]).current_dir(&folder.0);
        command.env("HOME", &home).env("XDG_DATA_HOME", data);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{output:?}");
        let at = folder.0.join(told);
        for (file, part) in [
            ("bash-completion/completions/pinion", "_pinion()"),
            ("zsh/site-functions/_pinion", "#compdef pinion"),
            ("fish/vendor_completions.d/pinion.fish", "complete -c pinion"),
            ("man/man1/pinion.1", ".TH pinion 1"),
            ("man/man1/pinion-run.1", ".TH pinion-run 1"),
        ] {
            let found = fs::read_to_string(at.join(file)).unwrap();
            assert!(found.contains(part), "{file}: {found}");
            let is_told = text.contains(&at.join(file).display().to_string());
            assert!(is_told || file.ends_with("run.1"), "{file}: {text}");
        }
        assert!(text.contains("fpath=(") && text.contains("MANPATH="), "{text}");
        assert!(!folder.0.join("data").exists());
    }
    assert_eq!(fs::read_dir(home).unwrap().count(), 1, "nothing elsewhere");
}

#[test]
fn templates_are_listed_and_each_runs() {
    let folder = Folder::new("templates");
    let list = said(&folder, &["new", "--list"]);
    for option in ["pinion new NAME ", "--nanoservice", "--cluster"] {
        assert!(list.contains(option), "{list}");
    }
    folder.refuses(&["new", "8ball", "--cluster"], &["cannot name an application"]);
    for name in ["8ball", "module", "logic", "s_until_with", "packet_allocator"] {
        let words = ["hardware", "new", name, "--like", "packet_allocator"];
        folder.refuses(&words, &["cannot name a module", "no word of SystemVerilog"]);
    }
    let told = said(&folder, &["new", "sum-cluster", "--cluster"]);
    let file = "sum-cluster: cluster.toml, server/app.toml";
    assert!(told.starts_with(file) && told.contains("pinion run sum-cluster"), "{told}");
    if !has_gcc() {
        return;
    }
    let text = said(&folder, &["run", "sum-cluster", "--set", "client.count=2", "--quiet"]);
    assert!(
        text.contains("[client.1] 100 sums in") && text.contains("3 nodes, 1 switch"),
        "{text}"
    );
    let faulty = ["run", "sum-cluster", "--quiet", "--link", "loss=2%,dup=2%,reorder=4%"];
    let text = said(&folder, &faulty);
    assert!(text.contains("[client.3] 100 sums in"), "{text}");
}

/// Runs with an environment of its own; without it output goes nowhere near a terminal.
fn coloured(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinion"));
    command.args(arguments).current_dir(&folder.0).env("PINION_SDK", sdk());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.envs(environment.iter().copied()).output().unwrap()
}

#[test]
fn colours_are_for_terminals() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("colours");
    idle(&folder, "udp.dport=9330", "");
    let run = ["run", "app", "--generate", "udp,count=5,packets=1"];
    let plain = coloured(&folder, &run, &[]);
    let text = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(!text.contains('\x1b') && text.starts_with("app on pspin\n"), "{text:?}");
    let forced = coloured(&folder, &run, &[("CLICOLOR_FORCE", "1")]);
    let text = String::from_utf8_lossy(&forced.stdout).into_owned();
    assert!(text.starts_with("\x1b[1mapp on pspin\x1b[0m\n"), "{text:?}");
    assert!(text.contains("\x1b[33m  no packet matched a context"), "{text:?}");
    let refused = coloured(&folder, &run, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]);
    assert!(!refused.stdout.contains(&0x1b));
    let wrong = ["run", "gone", "--generate", "udp"];
    let error = coloured(&folder, &wrong, &[("CLICOLOR_FORCE", "1")]).stderr;
    assert!(error.starts_with(b"\x1b[1m\x1b[31mpinion:\x1b[0m "), "{error:?}");
    assert!(coloured(&folder, &wrong, &[]).stderr.starts_with(b"pinion: cannot read gone"));
}
