//! Where commands write: nothing that they read, or that is not theirs, and they know it before they begin.

#[allow(dead_code)]
mod outside;

use std::fs;

use outside::{Folder, MANIFEST, has_gcc, sdk};

const RUN: [&str; 4] = ["run", "app", "--generate", "udp,count=4"];

#[test]
fn a_program_takes_no_other_files_place() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("program");
    for name in ["one", "other"] {
        assert!(folder.pinion(&["new", name]).status.success());
    }
    let source = fs::read(folder.0.join("one/one.c")).unwrap();
    for file in ["one/one.c", "one/app.toml", "one/expect.toml", "one/../one/one.c"] {
        folder.refuses(&["build", "one", "--out", file], &["--out", "overwrite what APP reads"]);
    }
    folder.refuses(
        &["pspin", "compile", "one/one.c", "--ethernet", "--out", "one/one.c"],
        &["--out", "overwrite"],
    );
    folder.refuses(&["fpspin", "compile", "one/one.c", "-o", "one/one.c"], &["overwrite"]);
    assert_eq!(fs::read(folder.0.join("one/one.c")).unwrap(), source);
    let others =
        ["ld", "lock", "stamp"].map(|end| folder.write(&format!("out/prog.{end}"), "kept"));
    let before = folder.files();
    let build = |app: &str| {
        let built = folder.pinion(&["build", app, "--out", "out/prog.elf"]);
        let text = String::from_utf8_lossy(&built.stdout).into_owned();
        assert!(built.status.success(), "{text}{}", String::from_utf8_lossy(&built.stderr));
        (fs::read(folder.0.join("out/prog.elf")).unwrap(), text)
    };
    let (one, said) = build("one");
    assert!(said.starts_with("out/prog.elf: built with "), "{said}");
    assert!(build("one").1.starts_with("out/prog.elf: up to date"));
    // Whose program stood there last counts, not whether one's own is up to date.
    assert_ne!(build("other").0, one);
    assert_eq!(build("one").0, one);
    assert!(others.iter().all(|file| fs::read(file).unwrap() == b"kept"));
    let mut with_program = before;
    with_program.push(folder.0.join("out/prog.elf"));
    with_program.sort();
    assert_eq!(folder.files(), with_program);
}

#[test]
fn a_program_made_elsewhere_is_not_built() {
    let folder = Folder::new("elsewhere");
    folder.app(MANIFEST);
    for options in [&["--force"][..], &["--out", "x.elf"], &["--build-type", "debug"]] {
        let line = [&["build", "app"], options].concat();
        folder.refuses(&line, &["app.toml, line 3", options[0], "do not apply"]);
    }
}

#[test]
fn files_behind_a_name_are_kept_apart() {
    let folder = Folder::new("names");
    folder.app(MANIFEST);
    folder.write("t.pcap", "kept");
    folder.write("mine.sv", "kept");
    let refuses = |more: &[&str], parts: &[&str]| folder.refuses(&[&RUN, more].concat(), parts);
    folder.refuses(
        &["run", "app", "--pcap-in", "t.pcap", "--ports", "mpq_engine=t.pcap"],
        &["--ports t.pcap would overwrite what --pcap-in reads"],
    );
    refuses(&["--ports", "mpq_engine=app/app.toml"], &["--ports", "overwrite what APP reads"]);
    refuses(
        &["--hardware", "dispatcher=mine.sv", "--ports", "mpq_engine=mine.sv"],
        &["--ports", "overwrite what --hardware reads"],
    );
    refuses(
        &["--packets", "x.csv", "--ports", "mpq_engine=x.csv"],
        &["--packets and --ports both write to x.csv"],
    );
    refuses(
        &["--ports", "mpq_engine=x.csv", "--ports", "dispatcher=./x.csv"],
        &["--ports and --ports both write to ./x.csv"],
    );
    refuses(&["--ports", "mpq_engine="], &["--ports mpq_engine=: give a file", "mpq_engine=ports"]);
    refuses(&["--host-dump", "all="], &["--host-dump all=: write it as CONTEXT=FILE"]);
}

#[test]
fn what_cannot_be_written_is_said_before_the_run() {
    let folder = Folder::new("before");
    folder.app(MANIFEST);
    for option in ["--json", "--packets", "--pcap-out", "--html", "--record"] {
        folder.refuses(&[&RUN[..], &[option, "gone/x"]].concat(), &["cannot write gone/x"]);
    }
    folder.refuses(&[&RUN[..], &["--host-dump", "all=gone/x"]].concat(), &["cannot write gone/x"]);
    folder.refuses(&[&RUN[..], &["--json", "app"]].concat(), &["app: it is a folder"]);
    let long: [&[&str]; 3] =
        [&["calibrate"], &["bench", "app"], &["figure", "pspin-table3", "--out", "out"]];
    for command in long {
        folder.refuses(&[command, &["--json", "gone/x"]].concat(), &["cannot write gone/x"]);
    }
    // What was there stays when a run comes to nothing.
    let old = folder.write("old.json", "old");
    folder.refuses(&["run", "app", "--pcap-in", "gone.pcap", "--json", "old.json"], &["gone.pcap"]);
    assert_eq!(fs::read(old).unwrap(), b"old");
}

#[test]
fn machines_lie_where_the_files_say_that_name_them() {
    let folder = Folder::new("machines");
    let named =
        |machine: &str| MANIFEST.replace("elf =", &format!("machine = \"{machine}\"\nelf ="));
    folder.app(&named("mine.toml"));
    let whole = fs::read(sdk().join("../machines/pspin.toml")).unwrap();
    folder.write("app/below/whole.toml", whole);
    folder.write("app/mine.toml", "base = \"below/whole.toml\"\nname = \"mine\"\n");
    let built = folder.pinion(&["build", "app"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.refuses(
        &[&RUN[..], &["--json", "app/mine.toml"]].concat(),
        &["--json", "overwrite what APP reads"],
    );
    for base in ["mine.toml", "pspin-2units"] {
        folder.write("app/mine.toml", format!("base = \"{base}\"\n"));
        folder.refuses(&["build", "app"], &["app/mine.toml, line 1", "has a base itself"]);
    }
    folder.write("outside.toml", "base = \"pspin\"\n");
    folder.app(&named("../outside.toml"));
    assert!(folder.pinion(&["build", "app"]).status.success());
    folder.refuses(&["build", "app", "--untrusted"], &["app.machine", "lies outside"]);
}

#[test]
fn what_the_matching_engine_lacks_is_said_of_its_key() {
    let folder = Folder::new("keys");
    for (key, value) in [
        ("match", "[\"u32(99999, 0xff, 0, 1)\"]"),
        ("message", "\"field:offset=9999999\""),
        ("end_of_message", "\"u32(99999, 0xff, 0, 1)\""),
    ] {
        let mut text = MANIFEST.replace("match = [\"icmp.echo\"]\n", "");
        text.push_str(&format!("{key} = {value}\n"));
        if key == "message" {
            text.push_str("end_of_message = \"always\"\n");
        }
        folder.app(&text);
        folder.refuses(&["build", "app"], &[&format!("`context[0].{key}`"), "sees the first"]);
    }
}
