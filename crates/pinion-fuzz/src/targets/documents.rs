//! Files in TOML that people write: machines, applications, clusters, messages, tests, figures.

use std::fs;

use pinion_app::app::Options;
use pinion_app::assets::machine_text;
use pinion_app::{Error, manifest};
use pinion_expect::Suite;
use pinion_figures::measure::Particulars;
use pinion_nanopu::machine::node::Machine as Nanopu;
use pinion_net::load::LoadSpec;
use pinion_observe::plot::Definition;
use pinion_run::cluster::Plan;
use pinion_run::nanoservice::Script;
use pinion_sim::machine;
use pinion_spin::Machine as Spin;

use super::{Target, folder, put, said, text};

pub const MACHINE: Target = Target::text("machine", machine, 600)
    .seeds(&["machines/*.toml"])
    .words(&["kind", "base", "\"spin\"", "\"nanopu\"", "count", "bytes", "cycles"]);
pub const APPLICATION: Target = Target::text("application", application, 2000)
    .seeds(&["examples/*/app.toml", "tests/faults/*/app.toml", "templates/*/app.toml"])
    .words(&["host_memory", "scratchpad", "machine", "set", "elf", "traffic", "transport"]);
pub const CLUSTER: Target = Target::text("cluster", cluster, 1500)
    .seeds(&["examples/*/cluster.toml", "templates/*/cluster.toml"])
    .words(&[
        "[[load]]",
        "[[packets]]",
        "count",
        "spec",
        "fat-tree",
        "dragonfly",
        "line",
        "faults",
        "requests",
        "patience",
        "topology",
        "uplink",
        "gaps",
        "generate",
        "address",
    ]);
pub const MESSAGES: Target = Target::text("messages", messages, 3000)
    .seeds(&["examples/*/messages.toml", "tests/*/*/messages.toml"])
    .words(&["[[message]]", "send", "reply", "context", "announcements", "any"]);
pub const EXPECT: Target = Target::text("expect", expect, 1500)
    .seeds(&["examples/*/expect.toml", "templates/*/expect.toml"])
    .words(&["[[run]]", "in", "out", "udp", "text", "hex", "host_memory", "latency_at_most"]);
pub const FIGURE: Target =
    Target::text("figure", figure, 600).seeds(&["figures/*.toml", "figures/*/*.toml"]);
pub const BENCH: Target = Target::text("bench", bench, 3000)
    .seeds(&["examples/*/bench.toml", "examples/*/*/bench.toml"])
    .words(&["[any]", "[pspin]", "set", "load", "patience", "packet.bytes=64", "requests=3"]);

fn machine(input: &[u8]) -> String {
    let text = text(input);
    let kind = machine::kind::<Error>("input.toml", &text, machine_text);
    let is_faithful = input.len() % 2 == 1;
    let spin = machine::load::<Spin, Error>("input.toml", &text, &[], is_faithful, machine_text);
    let nanopu =
        machine::load::<Nanopu, Error>("input.toml", &text, &[], is_faithful, machine_text);
    format!("{} {} {}", said(kind), said(spin), said(nanopu))
}

fn application(input: &[u8]) -> String {
    let folder = folder();
    put(folder.path(), "app.toml", input);
    said(manifest::load(folder.path()))
}

/// A cluster's file beside applications that are there, and need no compiler.
fn cluster(input: &[u8]) -> String {
    let folder = folder();
    let programs = crate::seeds::root().join("tests/calibration");
    let applications = [
        ("handlers", "pspin/elf/words.elf", "[[context]]\nname = \"c\"\npayload = \"reduce\"\n"),
        ("server", "nanopu/elf/echo.elf", "[nanoservice]\nharts = 1\n"),
        ("client", "nanopu/elf/echo4.elf", "[nanoservice]\nharts = 4\n"),
    ];
    for (name, elf, more) in applications {
        let own = folder.path().join(name);
        let elf = programs.join(elf);
        let text = format!("[app]\nname = \"{name}\"\nelf = {elf:?}\n{more}");
        fs::create_dir(&own).unwrap_or_else(|error| panic!("cannot make a folder: {error}"));
        put(&own, "app.toml", text.as_bytes());
    }
    let mut options = Options::default();
    options.build.untrusted = true;
    let text = text(input).replace("../", "");
    said(Plan::from_text(&text, "input.toml", folder.path(), &options))
}

fn messages(input: &[u8]) -> String {
    let folder = folder();
    let script = Script::read(&put(folder.path(), "messages.toml", input));
    if let Ok(mut script) = script {
        let mut taken = 0;
        while script.take_next().is_some() && taken < 1000 {
            taken += 1;
        }
        return format!("taken, {}", script.differences().concat());
    }
    said(script)
}

fn expect(input: &[u8]) -> String {
    let folder = folder();
    said(Suite::read(&put(folder.path(), "expect.toml", input)))
}

fn figure(input: &[u8]) -> String {
    said(Definition::read("input", &text(input), &[]))
}

/// How an application wants to be measured: its file, then the load and the changes that stand in it.
fn bench(input: &[u8]) -> String {
    let folder = folder();
    put(folder.path(), "bench.toml", input);
    let particulars = match Particulars::of_folder(folder.path(), Some("pspin")) {
        Ok(particulars) => particulars,
        Err(error) => return error.to_string(),
    };
    let load = particulars.load.map(|load| said(load.parse::<LoadSpec>()));
    let machine = said(pinion_app::machine::load::<Spin>("pspin", &particulars.set, false));
    format!("{machine} {}", load.unwrap_or_default())
}
