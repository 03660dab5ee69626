//! `pinion debug` with a real gdb: what a user types leads where it should. Where no gdb knows RISC-V, or
//! no compiler is there, the tests say so and are left out.

#[allow(dead_code)]
mod outside;

use std::fs;
use std::path::{Path, PathBuf};

use outside::Folder;

/// Copies the application that is debugged; `None`: something is not installed.
fn application(folder: &Folder) -> Option<PathBuf> {
    if pinion::debug::gdb::find().is_none() {
        eprintln!("left out: no gdb knows RISC-V (Debian: apt-get install gdb-multiarch)");
        return None;
    }
    outside::has_gcc().then(|| {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug/sum");
        for file in ["app.toml", "sum.c"] {
            folder.write(&format!("sum/{file}"), fs::read(from.join(file)).unwrap());
        }
        folder.0.join("sum")
    })
}

/// Finds the line of the source that says of itself what it is.
fn line(folder: &Folder, words: &str) -> usize {
    let source = fs::read_to_string(folder.0.join("sum/sum.c")).unwrap();
    let mark = format!("/* here: {words} */");
    1 + source.lines().position(|line| line.contains(&mark)).expect("a line has the mark")
}

/// Has gdb do what a file says; gives what it printed and what pinion said.
fn gdb(folder: &Folder, options: &[&str], commands: &str) -> (String, String) {
    folder.write("commands.gdb", format!("set pagination off\nset width 0\n{commands}"));
    let debug = ["debug", "sum", "--build-dir", "built"];
    let behind = ["--", "-nx", "-batch", "-x", "commands.gdb"];
    let output = folder.pinion(&[&debug[..], options, &behind].concat());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{printed}{said}");
    (printed, said)
}

/// Expects texts in this order.
fn expect_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{rest}\nof\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn gdb_stops_at_a_line_and_goes_back_to_the_writer() {
    let folder = Folder::new("gdb-lines");
    let Some(_) = application(&folder) else { return };
    let there = line(&folder, "the sum is there");
    let commands = format!(
        "monitor break packet 12\n\
         continue\n\
         monitor delete packet 12\n\
         break sum.c:{there}\n\
         set scheduler-locking on\n\
         continue\n\
         print bytes\n\
         print sum >= bytes\n\
         up\n\
         print visit.age\n\
         watch -l visit.totals->bytes\n\
         reverse-continue\n\
         info threads\n\
         monitor cycle\n\
         monitor packets\n\
         detach\n"
    );
    let (printed, said) = gdb(&folder, &["--build-type", "debug"], &commands);
    let stop = format!("sum.c:{there}");
    let thread = "packet 12 of context sums";
    let watch = "atchpoint 2: -location visit.totals->bytes";
    expect_in_order(
        &printed,
        &[
            &stop,
            "= 128",
            "= 1",
            "in sum_ph",
            "= EARLY",
            watch,
            "hit",
            watch,
            "New value",
            "add (totals",
            "* ",
            thread,
        ],
    );
    let stopped = "packet 12 of context sums: message 12, Payload handler";
    let listed = "packet 12 of context sums: message 12, 128 B";
    expect_in_order(
        &said,
        &["stops at: packet 12", stopped, "stops no more at: packet 12", "cycle ", thread, listed],
    );
    assert!(said.contains("--build-type debug"), "{said}");
}

#[test]
fn gdb_stops_at_a_fault_and_steps_back_from_it() {
    let folder = Folder::new("gdb-fault");
    let Some(_) = application(&folder) else { return };
    let fault = line(&folder, "the fault");
    let commands = "continue\n\
                    print visit->number\n\
                    backtrace\n\
                    set scheduler-locking on\n\
                    reverse-finish\n\
                    frame\n\
                    monitor goto cycle 10\n\
                    continue\n\
                    monitor cycle\n\
                    detach\n";
    let (printed, said) = gdb(&folder, &["--build-type", "debug"], commands);
    let place = format!("sum.c:{fault}");
    let call = format!("sum.c:{}", line(&folder, "the call of it"));
    expect_in_order(
        &printed,
        &["received signal SIGSEGV", &place, "= 30", "in go_wrong", " in sum_ph", &call, &call],
    );
    expect_in_order(&said, &["it stores to where it may not: 0x1c2ffff0", "cycle 10 "]);
}

#[test]
fn gdb_of_another_architecture_is_refused() {
    let folder = Folder::new("gdb-foreign");
    let Some(_) = application(&folder) else { return };
    let computers = Path::new("/usr/bin/gdb");
    if !computers.exists() || computers.canonicalize().unwrap().ends_with("gdb-multiarch") {
        eprintln!("left out: there is no gdb of this computer alone");
        return;
    }
    let arguments = ["debug", "sum", "--gdb", "/usr/bin/gdb"];
    folder.refuses(&arguments, &["/usr/bin/gdb does not know RISC-V", "gdb-multiarch"]);
}

#[test]
fn gdb_stops_at_a_command_and_is_told_why() {
    let folder = Folder::new("gdb-command");
    let Some(_) = application(&folder) else { return };
    let commands = "monitor break command send packet 3\n\
                    monitor break command frobnicate\n\
                    continue\n\
                    backtrace\n\
                    monitor why\n\
                    monitor why packet 9999999\n\
                    detach\n";
    folder.write("commands.gdb", format!("set pagination off\nset width 0\n{commands}"));
    let echo = outside::example("udp_echo");
    let debug = ["debug", &echo, "--build-dir", "built", "--generate", "udp,dport=9500,count=20"];
    let output =
        folder.pinion(&[&debug[..], &["--", "-nx", "-batch", "-x", "commands.gdb"]].concat());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{printed}{said}");
    expect_in_order(&printed, &["udp_echo_ph"]);
    let parts = [
        "stops at: command send packet 3",
        "`frobnicate` is no kind of command, but send, host-dma, host-direct",
        "packet 3 of context echo: issues a command (send)",
        "packet 3, message 3 of echo",
        "udp_echo_ph runs until it sends",
        "packet 9999999: the run has packets 0 to 19",
    ];
    expect_in_order(&said, &parts);
}

/// Has gdb debug an example, with these commands; gives what pinion said.
fn of_echo(folder: &Folder, traffic: &str, commands: &str) -> String {
    folder.write("commands.gdb", format!("set pagination off\nset width 0\n{commands}"));
    let echo = outside::example("udp_echo");
    let debug = ["debug", &echo, "--build-dir", "built", "--generate", traffic];
    let behind = ["--", "-nx", "-batch", "-x", "commands.gdb"];
    let output = folder.pinion(&[&debug[..], &behind].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

#[test]
fn what_is_gone_to_is_reached_from_a_breakpoint_and_behind_steps() {
    let folder = Folder::new("gdb-goto-cycle");
    let Some(_) = application(&folder) else { return };
    let commands = "break udp_echo_ph\n\
                    continue\n\
                    monitor goto cycle 200\n\
                    continue\n\
                    monitor cycle\n\
                    monitor goto cycle 300\n\
                    stepi\n\
                    monitor cycle\n\
                    continue\n\
                    monitor cycle\n\
                    detach\n";
    let said = of_echo(&folder, "udp,dport=9500,size=512,count=20", commands);
    expect_in_order(&said, &["goes to cycle 200", "\ncycle 200 ", "goes to cycle 300"]);
    expect_in_order(&said, &["goes to cycle 300", "\ncycle 20", "\ncycle 300 "]);
}

#[test]
fn what_a_unit_writes_is_shown_in_the_cycle_of_it() {
    let folder = Folder::new("gdb-unit");
    let Some(_) = application(&folder) else { return };
    // In L2, where the NIC puts packets.
    let commands = "watch *(unsigned *)0x1c402808\n\
                    continue\n\
                    monitor cycle\n\
                    continue\n\
                    reverse-continue\n\
                    monitor cycle\n\
                    detach\n";
    let said = of_echo(&folder, "udp,dport=9500,size=512,count=60,rate=100g", commands);
    let by_unit = "a unit of the NIC wrote it";
    expect_in_order(&said, &[by_unit, "\ncycle 861 ", by_unit, "\ncycle 860 "]);
}

#[test]
fn why_leads_to_where_the_longest_part_begins() {
    let folder = Folder::new("gdb-goto");
    let Some(_) = application(&folder) else { return };
    let asked = ["why", "sum", "--build-dir", "built", "--packet", "12", "--goto"];
    // gdb's user says nothing more, and it ends.
    let output = folder.pinion(&asked);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{printed}{said}");
    expect_in_order(&printed, &["packet 12, message 12 of sums", "Switching to thread"]);
    expect_in_order(&said, &["where its longest part begins: sum_ph runs", "goes to cycle"]);
}

/// Asks `why` with `--goto`; gives what it prints and says.
fn goes_to(folder: &Folder, asked: &[&str]) -> (String, String) {
    let output = folder.pinion(&[&["why", "--goto"], asked].concat());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{printed}{said}");
    (printed, said)
}

#[test]
fn of_a_cluster_it_leads_to_the_node_where_it_took_longest() {
    let folder = Folder::new("gdb-goto-cluster");
    let Some(_) = application(&folder) else { return };
    // Handlers, at which a request takes longer than in the generator and on the cables; and harts.
    for (example, node) in [("cluster_filter", "filter"), ("cluster_echo", "server")] {
        let cluster = outside::example(example);
        let (printed, said) =
            goes_to(&folder, &[&cluster, "--message", "3", "--build-dir", "built"]);
        expect_in_order(&printed, &["request 3"]);
        expect_in_order(
            &said,
            &[
                &format!("gdb opens at {node} in cycle "),
                "where its longest part",
                "goes to cycle ",
            ],
        );
    }
    // Somebody may want another one: its own message.
    let cluster = outside::example("cluster_echo");
    let (_, said) =
        goes_to(&folder, &[&cluster, "--message", "3", "--node", "server", "--build-dir", "built"]);
    expect_in_order(&said, &["gdb opens at server in cycle "]);
    // Lost on a cable, it is at no node.
    let lost = ["--link", "loss=20%,seed=3", "--dropped", "--build-dir", "built", "--goto"];
    let output = folder.pinion(&[&["why", &cluster][..], &lost].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    expect_in_order(&said, &["--goto: nothing of that is at a node that runs a program"]);
}

#[test]
fn what_was_dropped_is_gone_to() {
    let folder = Folder::new("gdb-goto-drop");
    let Some(_) = application(&folder) else { return };
    let app = folder.calibration("words", "reduce").display().to_string();
    let words = "--generate udp,size=1024,count=60 --set inbound.when_full=\"drop\" --set mpq.count=4 \
                 --set mpq.static_cells=1 --set mpq.shared_cells=4 --dropped";
    let asked: Vec<&str> = std::iter::once(app.as_str()).chain(words.split_whitespace()).collect();
    let (printed, said) = goes_to(&folder, &asked);
    expect_in_order(&printed, &["dropped"]);
    expect_in_order(&said, &["gdb opens in cycle ", "where it is dropped", "goes to cycle "]);
}

#[test]
fn why_is_told_of_messages_and_leads_to_them() {
    let folder = Folder::new("gdb-why");
    let Some(_) = application(&folder) else { return };
    let service = outside::example("nanopu_echo");
    let cluster = outside::example("cluster_echo");
    let subjects = [
        vec![service.as_str(), "--load", "requests=20"],
        vec![cluster.as_str(), "--node", "server"],
    ];
    for subject in subjects {
        let build = ["--build-dir", "built"];
        let why = [&["why"][..], &subject, &build, &["--message", "3", "--goto"]].concat();
        let output = folder.pinion(&why);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{printed}{said}");
        expect_in_order(&printed, &["essage 3"]);
        expect_in_order(&said, &["gdb opens", " in cycle ", "`continue` goes to cycle "]);
        let commands = "monitor goto message 3\ncontinue\nmonitor why\nmonitor why message 2\n\
                        monitor why message 99999\ndetach\n";
        folder.write("commands.gdb", format!("set pagination off\nset width 0\n{commands}"));
        let behind = ["--", "-nx", "-batch", "-x", "commands.gdb"];
        let output = folder.pinion(&[&["debug"][..], &subject, &build, &behind].concat());
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{printed}{said}");
        let parts = ["message 3 of context 0: begins", "essage 3", "essage 2", "99999"];
        expect_in_order(&said, &parts);
    }
}
