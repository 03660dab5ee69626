//! Blocks of hardware in real runs: handlers of `tests/hardware/busy` and an example, packets, and units
//! that Verilator simulates. Without a RISC-V compiler, Verilator or a C++ compiler they are left out.

mod behind;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pinion_app::app::{App, Options};
use pinion_app::traffic::Packets;
use pinion_hardware::choice::Choice;
use pinion_hardware::{HardwareError, verilator};
use pinion_sim::Time;
use pinion_sim::probe::Hears;
use pinion_spin::{Event, Interest, Outcome, Spin, Units};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const BUSY: &str = "tests/hardware/busy";

/// Keeps what came of each packet.
#[derive(Default)]
struct Records(String);

impl Hears<Spin> for Records {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::PacketDone(record) => {
                let _ = writeln!(self.0, "{record:?}");
            }
            Event::Departed { time, frame, .. } => {
                let _ = writeln!(self.0, "{time} {}", frame.len());
            }
            _ => {}
        }
    }
}

/// Says why a test is left out, if it is.
fn is_left_out() -> bool {
    let missing = verilator::find().err();
    if let Some(problem) = &missing {
        eprintln!("left out: {problem}");
    }
    missing.is_some()
}

/// Small enough to be compiled in seconds.
const SMALL: [&str; 3] = ["mpq.count=16", "cluster.count=2", "cluster.cores=4"];

fn load(folder: &str, set: &[&str]) -> Option<App> {
    let overrides = set.iter().map(|text| (*text).to_owned()).collect();
    let options = Options { overrides, ..Options::default() };
    match App::load(&Path::new(ROOT).join(folder), &options) {
        Ok(app) => Some(app),
        Err(pinion_app::Error::CompilerMissing(what)) => {
            eprintln!("left out: {what}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs an application on generated packets; gives how it ended, what came of packets, and the NIC.
fn run(app: &App, traffic: &str, hardware: Option<&Choice>) -> (Outcome, String, Units) {
    let mut nic = app.nic().expect("a NIC");
    if let Some(choice) = hardware {
        choice.seat(&mut nic).expect("blocks");
    }
    let packets = Packets::generate(traffic, Some(1), None).expect("packets");
    let mut packets = packets.skip(app.skipped_bytes());
    let mut records = Records::default();
    let outcome = nic.run(Time::MAX, &mut packets, &mut records);
    (outcome, records.0, nic)
}

fn choice(units: &[&str], compares: bool) -> Choice {
    let units: Vec<String> = units.iter().map(|unit| (*unit).to_owned()).collect();
    Choice::read(&units, compares, std::env::temp_dir()).expect("units")
}

/// What the runs of a test are about.
fn packets(count: u32) -> String {
    let shape = "udp,size=64:4/256:2/512:1,packets=8,order=interleaved:16,rate=400g";
    format!("{shape},messages={}", count / 8)
}

/// Runs with hardware beside the model and in its place: the results are the same.
fn same(folder: &str, set: &[&str], traffic: &str, units: &[&str]) {
    let Some(app) = load(folder, set) else { return };
    let (outcome, expected, nic) = run(&app, traffic, Some(&choice(units, true)));
    assert_eq!(nic.hardware_failure(), None, "{units:?} beside the model");
    assert_eq!(outcome, Outcome::Finished);
    let (outcome, found, nic) = run(&app, traffic, Some(&choice(units, false)));
    assert_eq!(nic.hardware_failure(), None, "{units:?} in the model's place");
    assert_eq!(outcome, Outcome::Finished, "{units:?}");
    let differs = expected.lines().zip(found.lines()).find(|(model, block)| model != block);
    assert_eq!(differs, None, "{units:?}");
    assert_eq!(expected, found);
}

/// The L2 packet buffer of FPsPIN, so small that packets wait for room, and an engine whose answer takes four
/// cycles.
const FPSPIN: [&str; 9] = [
    SMALL[0],
    SMALL[1],
    SMALL[2],
    "allocator.kind=slots",
    "inbound.max_packet_bytes=1536",
    "allocator.small_slots=16",
    "allocator.large_slots=8",
    "matching.latency_cycles=4",
    "matching.swapped_compare=true",
];

#[test]
fn a_matching_engine_of_hardware_changes_no_result() {
    if !is_left_out() {
        same(BUSY, &FPSPIN, &packets(2_000), &["matching_engine"]);
        same(
            "examples/aggregate",
            &FPSPIN,
            "slmp,size=512,bytes=65536,syn=none",
            &["matching_engine"],
        );
        same(
            "examples/kvstore",
            &FPSPIN,
            "udp,dport=9300,size=64:1/200:1,messages=2000,rate=20g",
            &["matching_engine"],
        );
    }
}

#[test]
fn a_packet_allocator_of_hardware_changes_no_result() {
    if !is_left_out() {
        same(BUSY, &FPSPIN, &packets(2_000), &["packet_allocator"]);
    }
}

#[test]
fn a_dispatcher_of_hardware_changes_no_result() {
    if !is_left_out() {
        same(BUSY, &SMALL, &packets(2_000), &["dispatcher"]);
    }
}

#[test]
fn an_mpq_engine_of_hardware_changes_no_result() {
    if !is_left_out() {
        same(BUSY, &SMALL, &packets(2_000), &["mpq_engine"]);
    }
}

#[test]
fn cluster_schedulers_of_hardware_change_no_result() {
    if !is_left_out() {
        same(BUSY, &SMALL, &packets(2_000), &["cluster_scheduler"]);
    }
}

/// Commands of each kind, from all clusters at once: more than the interfaces take.
const COMMANDS: [(&str, &str); 3] = [
    ("examples/ping_pong", "udp,dport=9001,size=64,packets=1,rate=400g"),
    ("examples/host_direct", "udp,dport=9500,size=64,packets=1,rate=400g"),
    ("examples/copy_from_host", "udp,dport=9400,size=128,packets=1,rate=400g"),
];

#[test]
fn a_command_unit_of_hardware_changes_no_result() {
    if !is_left_out() {
        for (app, traffic) in COMMANDS {
            same(app, &SMALL, &format!("{traffic},messages=2000"), &["command_unit"]);
        }
    }
}

/// Runs with blocks beside the model.
fn beside(folder: &str, set: &[&str], traffic: &str, units: &[&str]) {
    let Some(app) = load(folder, set) else { return };
    let (outcome, _, nic) = run(&app, traffic, Some(&choice(units, true)));
    assert_eq!(nic.hardware_failure(), None, "{units:?} beside {folder}");
    assert_eq!(outcome, Outcome::Finished, "{folder}");
}

/// What handlers do with their HPU's driver: nothing, commands of each kind, transfers of the cluster's DMA engine.
fn driven(count: u32) -> Vec<(&'static str, String)> {
    let mut all = vec![
        (BUSY, packets(count)),
        ("examples/strided_ddt", format!("slmp,size=564,bytes={},syn=none", 512 * count)),
        (TENANTS, format!("udp,dport=9600,size=512,packets=1,rate=100g,messages={count}")),
    ];
    let with_count = |(app, traffic)| (app, format!("{traffic},messages={count}"));
    all.extend(COMMANDS.map(with_count));
    all
}

const TENANTS: &str = "examples/multi_tenant";

#[test]
fn drivers_of_hardware_do_as_the_models() {
    if !is_left_out() {
        for (app, traffic) in driven(300) {
            beside(app, &SMALL, &traffic, &["hpu_driver"]);
        }
        beside("examples/aggregate", &SMALL, "slmp,size=512,bytes=65536,syn=none", &["hpu_driver"]);
        let Some(app) = load(BUSY, &SMALL) else { return };
        let said = choice(&["hpu_driver"], false).seat(&mut app.nic().expect("a NIC"));
        let said = said.expect_err("no seat").to_string();
        assert!(said.contains("add --compare"), "{said}");
    }
}

/// At full rate completions wait for their turn while the next task of their HPU launches a transfer already:
/// they wait for that, too.
#[test]
fn drivers_of_hardware_hold_completions_back() {
    if !is_left_out() {
        let all = ["mpq.count=16", "cluster.count=2"];
        let traffic = "slmp,size=564,bytes=1048576,syn=none";
        beside("examples/strided_ddt", &all, traffic, &["hpu_driver"]);
    }
}

/// Handlers that trap, reach where they may not, or hang: the watchdog's interrupt, and what the trap handler says.
#[test]
fn drivers_of_hardware_end_what_hangs() {
    if !is_left_out() {
        let faults = "tests/faults/handlers";
        // A null pointer, an illegal instruction, a stack that overflows, a loop; a tenant that tries all.
        let cases =
            [(faults, 9600), (faults, 9610), (faults, 9613), (faults, 9614), (TENANTS, 9601)];
        for (app, port) in cases {
            let traffic = format!("udp,dport={port},size=64,packets=1,messages=40,rate=100g");
            beside(app, &SMALL, &traffic, &["hpu_driver"]);
        }
    }
}

#[test]
fn all_units_that_can_are_hardware_at_once() {
    if !is_left_out() {
        let all = ["mpq_engine", "dispatcher", "cluster_scheduler", "command_unit"];
        same(BUSY, &SMALL, &packets(2_000), &all);
        same("examples/aggregate", &SMALL, "slmp,size=512,bytes=65536,syn=none", &all);
    }
}

/// Gives the packets of a long run.
fn many() -> u32 {
    let count = std::env::var("PINION_PACKETS").ok().and_then(|text| text.parse().ok());
    count.unwrap_or(100_000)
}

/// A long run, for `make hardware`: `PINION_PACKETS=100000`.
#[test]
#[ignore = "long: a hundred thousand packets"]
fn random_traffic() {
    let all = ["mpq_engine", "dispatcher", "cluster_scheduler"];
    let count = many();
    same(BUSY, &["mpq.count=16"], &packets(count), &all);
    same(BUSY, &FPSPIN[3..], &packets(count), &["matching_engine", "packet_allocator"]);
    for (app, traffic) in COMMANDS {
        same(app, &[], &format!("{traffic},messages={count}"), &["command_unit"]);
    }
}

#[test]
#[ignore = "long: a hundred thousand packets"]
fn random_traffic_of_drivers() {
    for (app, traffic) in driven(many()) {
        beside(app, &["mpq.count=16"], &traffic, &["hpu_driver"]);
    }
}

/// Writes a block of one's own; gives its file.
fn own(folder: &Path, unit: &str, change: &str, to: &str) -> PathBuf {
    let text = ["spin", "hpu"].into_iter().find_map(|group| {
        let path = Path::new(ROOT).join(format!("hardware/rtl/{group}/{unit}.sv"));
        std::fs::read_to_string(path).ok()
    });
    let text = text.expect("the unit").replacen(&format!("module {unit}"), "module mine", 1);
    assert!(text.contains(change), "{unit} has no {change}");
    let file = folder.join("mine.sv");
    std::fs::write(&file, text.replacen(change, to, 1)).expect("a file");
    file
}

#[test]
fn a_block_that_differs_is_told_at_its_first_cycle() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = own(folder.path(), "dispatcher", "takes[task_home] ? task_home : least", "least");
    let Some(app) = load(BUSY, &SMALL) else { return };
    let named = format!("dispatcher={}", file.display());
    let beside =
        Choice::read(std::slice::from_ref(&named), true, folder.path().to_owned()).expect("a unit");
    let (_, _, nic) = run(&app, &packets(400), Some(&beside));
    let said = nic.hardware_failure().expect("a difference").to_owned();
    for part in
        ["in cycle ", "cluster_valid is 0x1 and the model's 0x2", "packet ", "state_occupancy"]
    {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let waves = std::fs::read_to_string(folder.path().join("dispatcher.vcd")).expect("waves");
    assert!(waves.contains("model_cluster_valid"), "{waves}");
    let alone = Choice::read(&[named], false, folder.path().to_owned()).expect("a unit");
    let (outcome, records, nic) = run(&app, &packets(400), Some(&alone));
    assert_eq!((outcome, nic.hardware_failure()), (Outcome::Finished, None), "it decides alone");
    assert_ne!(records, run(&app, &packets(400), None).1);
}

#[test]
fn a_block_that_matches_or_gives_room_otherwise_is_found() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(BUSY, &FPSPIN) else { return };
    let cases = [
        (
            "matching_engine",
            "value <= to",
            "value < to",
            "result_matched is 0x0 and the model's 0x1",
        ),
        (
            "packet_allocator",
            "any_small && any_large",
            "any_small",
            "packet_ready is 0x1 and the model's 0x0",
        ),
    ];
    for (unit, change, to, expected) in cases {
        let file = own(folder.path(), unit, change, to);
        let named = format!("{unit}={}", file.display());
        let beside = Choice::read(&[named], true, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &packets(800), Some(&beside));
        let said = nic.hardware_failure().expect("a difference");
        assert!(said.contains(expected), "{said}");
        assert!(folder.path().join(format!("{unit}.vcd")).is_file());
    }
    let cases = [
        (
            "matching_engine",
            "assign result_context = ",
            "assign result_context = 1 | ",
            "there are 1 contexts",
        ),
        (
            "packet_allocator",
            "? ADDRESS'(small_address)",
            "? ADDRESS'(0)",
            "meet the packet at 0x0",
        ),
    ];
    for (unit, change, to, expected) in cases {
        let file = own(folder.path(), unit, change, to);
        let named = format!("{unit}={}", file.display());
        let alone = Choice::read(&[named], false, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &packets(80), Some(&alone));
        let said = nic.hardware_failure().expect("a failure");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_driver_that_differs_is_told_at_its_first_cycle() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let hangs = ("tests/faults/handlers", "udp,dport=9614,size=64,packets=1");
    let cases = [
        (COMMANDS[0], "held && busy == 0", "held", "completion_valid is 0x1 and the model's 0x0"),
        (
            COMMANDS[2],
            "!busy[asked] || answered",
            "!busy[asked]",
            "reg_ready is 0x0 and the model's 0x1",
        ),
        (
            hangs,
            "if (takes || interrupts",
            "if (interrupts",
            "interrupts is 0x0 and the model's 0x1",
        ),
    ];
    for ((app, traffic), change, to, expected) in cases {
        let file = own(folder.path(), "hpu_driver", change, to);
        let Some(app) = load(app, &SMALL) else { return };
        let named = format!("hpu_driver={}", file.display());
        let beside = Choice::read(&[named], true, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &format!("{traffic},messages=40"), Some(&beside));
        let said = nic.hardware_failure().expect("a difference");
        assert!(said.contains(expected) && said.contains("state_busy"), "{said}");
    }
}

#[test]
fn a_block_that_stops_answering_is_told_with_who_waits() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(BUSY, &FPSPIN) else { return };
    let cases = [
        ("dispatcher", "assign task_ready = |takes;", "assign task_ready = 0;", "task_valid is up"),
        (
            "matching_engine",
            "assign result_valid = answered;",
            "assign result_valid = 0;",
            "it has not had result_valid up for",
        ),
        (
            "packet_allocator",
            "assign packet_ready = any_small && any_large;",
            "assign packet_ready = 0;",
            "packet_valid is up and packet_ready has not come",
        ),
        (
            "mpq_engine",
            "assign task_valid = offered;",
            "assign task_valid = 0;",
            "task_valid up for",
        ),
        ("mpq_engine", "has_queue && (takes_own", "0 && (takes_own", "her_ready has not come for"),
    ];
    for (unit, change, to, expected) in cases {
        let file = own(folder.path(), unit, change, to);
        let named = format!("{unit}={}", file.display());
        let alone = Choice::read(&[named], false, folder.path().to_owned()).expect("a unit");
        let (outcome, _, _) = run(&app, &packets(80), Some(&alone));
        let Outcome::Stuck(said) = outcome else { panic!("{unit}: {outcome:?}") };
        assert!(said.contains(expected) && said.contains(unit), "{unit}: {said}");
    }
}

#[test]
fn a_block_that_does_what_no_unit_may_is_told() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(BUSY, &SMALL) else { return };
    let cases = [
        ("assign task_packet = offered_packet;", "assign task_packet = 77;", "task_packet is 77"),
        ("offered <= 1;", "begin offered <= 1; $stop; end", "$stop"),
    ];
    for (change, to, expected) in cases {
        let file = own(folder.path(), "mpq_engine", change, to);
        let named = format!("mpq_engine={}", file.display());
        let alone = Choice::read(&[named], false, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &packets(80), Some(&alone));
        let said = nic.hardware_failure().expect("a failure");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_block_with_other_ports_is_refused_with_those_it_needs() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(BUSY, &SMALL) else { return };
    let refused = |file: &Path, unit: &str| {
        let named = format!("{unit}={}", file.display());
        let choice = Choice::read(&[named], false, folder.path().to_owned()).expect("a unit");
        choice.seat(&mut app.nic().expect("a NIC")).expect_err("a problem")
    };
    let change = "output wire [CLUSTERS-1:0]         cluster_valid,";
    let to = "output wire [CLUSTERS:0]           cluster_valid,";
    let file = own(folder.path(), "dispatcher", change, to);
    let said = refused(&file, "dispatcher").to_string();
    assert!(said.contains("`cluster_valid`, which is an output of 2 bits"), "{said}");
    let other = refused(&file, "mpq_engine");
    assert!(matches!(other, HardwareError::Ports { .. }), "{other}");
    assert!(other.to_string().contains("it lacks `her_valid`"), "{other}");
    std::fs::write(&file, "module mine (input wire clock;").expect("a file");
    let broken = refused(&file, "dispatcher");
    assert!(matches!(broken, HardwareError::Refused { .. }), "{broken}");
    let missing = refused(Path::new("/nowhere/mine.sv"), "dispatcher");
    assert!(matches!(missing, HardwareError::File { .. }), "{missing}");
}
