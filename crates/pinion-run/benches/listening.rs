//! What it costs that a run can be listened to, where nobody does: the same machine with the same packets, once
//! heard by nobody at all, once by who hears it when a command runs it and nothing is traced, profiled,
//! checked or debugged: the summary's counters.
//!
//! `listening handlers|nanoservice bare|command COUNT` runs with so many packets or requests;
//! `tests/speed/run.py` counts the host instructions of that.

use std::fs;
use std::path::{Path, PathBuf};

use pinion_app::app::{App, Options};
use pinion_app::service::Service;
use pinion_app::traffic::Packets;
use pinion_nanopu::event::{Deaf, Listener};
use pinion_nanopu::node::NodeEnd;
use pinion_net::link::{Link, Pair};
use pinion_net::load::{LoadSource, LoadSpec, Peer as _, PeerEnd};
use pinion_observe::report::Outputs;
use pinion_run::nanoservice::Setup;
use pinion_run::nanoservice::ears::Ears;
use pinion_run::nanoservice::frames::{Frames, Matching};
use pinion_run::nanoservice::wire::Wire;
use pinion_run::watch::Unobserved;
use pinion_sim::Time;
use pinion_spin::Outcome;

/// Puts a calibration program with a manifest into a folder; both are there until the end.
fn application(elf: &str, manifest: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration").join(elf);
    let folder = std::env::temp_dir().join(format!("pinion-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(from, folder.join("program.elf")).expect("a calibration program");
    fs::write(folder.join("app.toml"), manifest).expect("a manifest");
    folder
}

/// Runs packet handlers.
fn handlers(is_bare: bool, count: u64) {
    let folder = application(
        "pspin/elf/words.elf",
        "[app]\nname = \"words\"\nelf = \"program.elf\"\n\n[[context]]\nname = \"all\"\n\
         match = [\"udp\"]\npayload = \"reduce\"\nhost_memory = \"1MiB\"\n\
         scratchpad = \"16KiB\"\nhandler_memory = \"64KiB\"\n",
    );
    let app = App::load(&folder, &Options::default()).expect("it fits");
    let text = format!("udp,size=64,count={count},rate=200g");
    let packets = Packets::generate(&text, None, None).expect("packets");
    let done = if is_bare {
        let (mut nic, mut packets) = (app.nic().expect("it fits"), packets);
        assert_eq!(nic.run(Time::MAX, &mut packets, &mut Deaf), Outcome::Finished);
        nic.totals().packets_in
    } else {
        let outputs = Outputs::default();
        let run = pinion_run::run::run(&app, packets, &outputs, &mut Unobserved);
        run.expect("it runs").summary.section.totals.packets_in
    };
    println!("{done}");
    fs::remove_dir_all(folder).expect("its folder");
}

/// Runs a nanoservice that echoes, asked over a cable.
fn nanoservice(is_bare: bool, count: u64) {
    let folder = application(
        "nanopu/elf/echo.elf",
        "[app]\nname = \"echo\"\nelf = \"program.elf\"\n\n[nanoservice]\nharts = 1\n",
    );
    let service = Service::load(&folder, &Options::default()).expect("it is there");
    let setup = Setup::new(&service, &Options::default()).expect("it fits");
    let node = setup.node(&service).expect("it fits");
    let answered = if is_bare {
        ask(NodeEnd::new(node, Deaf), count)
    } else {
        let frames = Frames::silent(Wire::new(&setup, 0), Matching::Oldest, setup.clock);
        let harts = node.harts();
        ask(NodeEnd::new(node, Ears::new(harts, frames, Deaf)), count)
    };
    println!("{answered}");
    fs::remove_dir_all(folder).expect("its folder");
}

/// Asks a node, request by request; gives the answers.
fn ask<L: Listener + Send>(node: NodeEnd<L>, count: u64) -> u64 {
    let spec = LoadSpec::parse(&format!("requests={count},gap=400")).expect("a load");
    let source = LoadSource::new(spec).expect("a load");
    let mut pair = Pair::new(node, PeerEnd::new(source), &Link::new(140)).expect("a cable");
    pair.run(u64::MAX, |pair| !pair.b.peer().is_done(pair.now())).expect("it runs");
    pair.finish().1.into_peer().into_report().answered
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [what, how @ ("bare" | "command"), count] => {
            let count = count.parse().expect("a number");
            match what {
                "handlers" => handlers(how == "bare", count),
                _ => nanoservice(how == "bare", count),
            }
        }
        _ => println!("say handlers or nanoservice, bare or command, and how many"),
    }
}
