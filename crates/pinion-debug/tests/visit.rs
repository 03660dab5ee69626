//! A visit to live nodes: whoever leaves them leaves nothing behind that came while it was there.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pinion_app::app::Options;
use pinion_app::service::Service;
use pinion_debug::log::Target;
use pinion_debug::session::Ended;
use pinion_debug::terms::Said;
use pinion_debug::visit::nodes::{HearNode, Nodes, NodesVisit};
use pinion_nanopu::event::{NanoPu, Told};
use pinion_nanopu::waypoint::Met;
use pinion_run::live::{Cycles, Inside as _};
use pinion_run::nanoservice::live::{Live, node_ip};
use pinion_run::nanoservice::run::{self, RunOptions, Settling};
use pinion_run::nanoservice::{Outputs, Setup, Traffic};
use pinion_run::watch::Unobserved;
use pinion_sim::Time;
use pinion_sim::probe::{Deaf, Hears};

const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Keeps the frames that came.
#[derive(Default)]
struct Came(Vec<Vec<u8>>);

impl Hears<NanoPu> for Came {
    fn hear(&mut self, told: &Told<'_>) {
        if let Told::Arrived { frame, .. } = told {
            self.0.push(frame.to_vec());
        }
    }
}

impl Settling for Came {}

/// Nobody asks why.
fn tell(_: &Nodes, _: usize, _: Target, _: &Met, _: &mut HearNode<'_>) -> Said<String> {
    Err(String::new())
}

#[test]
fn frames_that_came_in_a_debuggers_last_turn_are_taken() {
    let gcc = std::process::Command::new("riscv64-unknown-elf-gcc").arg("--version").output();
    if gcc.is_err() {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
        return;
    }
    let folder = format!("{}/../../examples/nanopu_echo", env!("CARGO_MANIFEST_DIR"));
    let overrides = vec!["transport.kind=udp".to_owned()];
    let options = Options { overrides, ..Options::default() };
    let service = Arc::new(Service::load(Path::new(&folder), &options).unwrap());
    let mut setup = Setup::new(&service, &options).unwrap();
    // What a request looks like, a run with one tells.
    let load = Traffic::load("requests=1,gap=400", None, &setup, true).unwrap();
    let (mut came, outputs) = (Came::default(), Outputs::default());
    let alone = RunOptions::of(load);
    run::run(&service, &setup, alone, &outputs, &mut Unobserved, &mut came).unwrap();

    let ip = node_ip(&setup, None);
    let live = Live::new(Arc::clone(&service), &mut setup, (ip, PEER_MAC), &outputs, Deaf).unwrap();
    let mut cycles = Cycles::new(live, setup.clock, 0);
    let ran = |cycles: &mut Cycles<_>, until| cycles.slice([], until, &mut |_| {});
    cycles.get_ready(&mut Unobserved, ran).unwrap();
    let door = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut gdb = TcpStream::connect(door.local_addr().unwrap()).unwrap();
    let stream = door.accept().unwrap().0;
    let what = Nodes::Nanoservice(Arc::clone(&service), Box::new(setup.clone()), None);
    let mut visit = NodesVisit::begin(&what, None, (&mut cycles, PEER_MAC), stream, tell).unwrap();
    gdb.write_all(b"$D#44").unwrap();
    let mut left = Vec::new();
    let mut frames = came.0;
    assert!(!frames.is_empty(), "a request");
    loop {
        let patience = Duration::from_secs(10);
        let given = (std::mem::take(&mut frames), Time::ZERO);
        let turn = visit.turn(&mut cycles, given, patience).unwrap();
        left.extend(turn.done.into_iter().flat_map(|done| done.left));
        if let Some(ended) = turn.ended {
            assert!(matches!(ended.unwrap(), Ended::ByUser));
            break;
        }
    }
    // The nodes go on without it.
    for _ in 0..20 {
        let until = cycles.now + 1_000;
        cycles.slice([], until, &mut |frame| left.push(frame.to_vec())).unwrap();
        cycles.inside.pass_on(&mut Unobserved);
    }
    assert_eq!(left.len(), 1, "the request is answered");
}
