//! Blocks of hardware in nanoservices' runs, beside the model and in its place, and beside it in every scenario of the
//! calibration. Without a compiler for nanoservices, Verilator or a C++ compiler they are left out.

mod service_folder;

use std::fs;
use std::path::Path;

use pinion::calibration::Comparison;
use pinion::calibration::nanopu::{self, model::Model, set::Set};
use pinion::hardware::{choice::Choice, verilator};
use service_folder::{Folder, example, has_gcc};

/// Runs a nanoservice with a unit's block beside the model, and where it `replaces` it in its place: the frames are
/// the same, and so are their cycles.
fn holds(folder: &Folder, app: &str, traffic: &[&str], unit: &str, replaces: bool) {
    let run = |file: &str, more: &[&str]| {
        let all = [traffic, &["--packets", file], more].concat();
        let (status, said, _) = folder.run(app, &all);
        assert_eq!(status, 0, "{app} {more:?}: {said}");
        fs::read_to_string(folder.0.join(file)).unwrap()
    };
    let model = run("model.csv", &[]);
    assert_eq!(model, run("beside.csv", &["--hardware", unit, "--compare"]), "{unit}");
    if replaces {
        assert_eq!(model, run("block.csv", &["--hardware", unit]), "{unit}");
    }
}

/// Settings that packetization's block needs: an id for each of few buffers.
const FEW: [&str; 4] = [
    "--set",
    "transmit.message_ids=16",
    "--set",
    "transmit.buffers=[{ bytes = 1024, count = 8 }, { bytes = 2048, count = 8 }]",
];

/// Names what sends all messages back, on four harts.
fn echo_app() -> String {
    format!("{}/../../tests/hardware/echo", env!("CARGO_MANIFEST_DIR"))
}

/// Lets four harts echo so many messages of one and two packets with each block of what reads and sends them,
/// with these further settings.
fn echo(requests: u32, settings: &[&str]) {
    let folder = Folder::new(&format!("echo-{requests}"));
    let app = echo_app();
    let load = format!("requests={requests},gap=exp:150,size=W3:2048,match=oldest");
    let traffic = [&["--load", &load], &FEW[..], settings].concat();
    for unit in ["packet_generator", "local_queues", "packetization"] {
        holds(&folder, &app, &traffic, unit, true);
    }
}

#[test]
fn blocks_that_read_and_send_hold_for_messages_of_several_packets() {
    if has_gcc() && verilator::find().is_ok() {
        // Some time-outs run out before all of a message has arrived.
        echo(300, &["--set", "transmit.timer.timeout_cycles=400"]);
    }
}

/// Most packets go several times, as their timers run out before an answer can be there: some wait until their message is
/// delivered and another one has its id, some are on their way meanwhile, some go for the first time as the timer runs out.
#[test]
fn packetization_holds_where_packets_go_again_and_again() {
    if has_gcc() && verilator::find().is_ok() {
        let folder = Folder::new("again");
        let load = "requests=1500,gap=exp:150,size=W3:2048,match=oldest,seed=2";
        let hurried = ["--load", load, "--set", "transmit.timer.timeout_cycles=300"];
        holds(&folder, &echo_app(), &[&hurried, &FEW[..]].concat(), "packetization", false);
    }
}

/// Ingress and egress with NDP fixed in them, and the registers, of the machine that the published hardware is; the
/// registers in the model's place as well.
fn pins_and_registers(requests: u32) {
    let folder = Folder::new(&format!("pins-{requests}"));
    let load = format!("requests={requests},gap=exp:150,size=W3:2048,match=oldest");
    let traffic = [&["--faithful", "--load", &load], &FEW[..]].concat();
    holds(&folder, &echo_app(), &traffic, "ndp_ingress,ndp_egress", false);
    holds(&folder, &echo_app(), &traffic, "register_interface", true);
}

#[test]
fn blocks_at_the_pins_and_of_registers_hold() {
    if has_gcc() && verilator::find().is_ok() {
        pins_and_registers(300);
        let folder = Folder::new("threads");
        holds(&folder, &example("nanopu_priorities"), &[], "register_interface", true);
    }
}

/// A long run, for `make hardware`.
#[test]
#[ignore = "long: a hundred thousand messages"]
fn blocks_that_read_and_send_hold_for_random_messages() {
    if has_gcc() && verilator::find().is_ok() {
        let count = std::env::var("PINION_PACKETS").ok().and_then(|text| text.parse().ok());
        let count = count.unwrap_or(100_000);
        pins_and_registers(count);
        echo(count, &[]);
    }
}

#[test]
fn blocks_of_hardware_change_no_result() {
    if !has_gcc() {
        return;
    }
    if let Err(problem) = verilator::find() {
        eprintln!("left out: {problem}");
        return;
    }
    let folder = Folder::new("blocks");
    // One hart with two threads, which has more to do than it can.
    let one_hart = folder.0.join("one_hart");
    fs::create_dir(&one_hart).unwrap();
    for entry in fs::read_dir(example("nanopu_service")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace(r#"args = ["jbsq"]"#, r#"args = ["priority"]"#);
        fs::write(one_hart.join(path.file_name().unwrap()), text).unwrap();
    }
    let one_hart = one_hart.display().to_string();
    let (service, priorities) = (example("nanopu_service"), example("nanopu_priorities"));
    let load = ["--load", "requests=400,gap=exp:120,service=exp:500"];
    let overload = ["--load", "requests=100,gap=exp:900,service=exp:2000,contexts=uniform:2"];
    // Timers run out before an acknowledgement can be there.
    let hurried = [
        "--load",
        "requests=300,gap=exp:120,service=exp:500",
        "--set",
        "transmit.timer.timeout_cycles=300",
    ];
    let cases: [(&str, &[&str], &str); 4] = [
        (&service, &load, "jbsq"),
        (&priorities, &[], "thread_scheduler"),
        (&one_hart, &overload, "thread_scheduler"),
        (&service, &hurried, "reassembly,timers"),
    ];
    for (app, traffic, unit) in cases {
        // In its place it interrupts in other cycles under overload: the book says why.
        holds(&folder, app, traffic, unit, app != one_hart);
    }
    let (status, said, _) =
        folder.run(&example("nanopu_priorities"), &["--hardware", "dispatcher"]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("a unit of a sPIN NIC"), "{said}");
}

#[test]
fn a_block_that_differs_ends_a_nanoservice_with_both_sides() {
    if !has_gcc() || verilator::find().is_err() {
        return;
    }
    let folder = Folder::new("differs");
    let service = example("nanopu_service");
    let load = ["--load", "requests=60,gap=exp:120,service=exp:500"];
    let cases: [(&str, &str, &str, &str); 6] = [
        (
            "ndp_ingress",
            "flags[DATA] ? credit + 16'(!packet_trimmed)",
            "flags[DATA] ? credit",
            "control_data from bit",
        ),
        ("ndp_egress", "16'h0800, 8'h45, 8'h00", "16'h0800, 8'h45, 8'h01", "out_data is"),
        ("register_interface", "waits <= runs && held[running];", "waits <= runs;", "csr_value is"),
        ("packet_generator", "<= TOKEN'(TOKEN_CYCLES);", "<= TOKEN'(TOKEN_CYCLES - 1);", "frame_"),
        ("local_queues", "enter_begins ? now : begun", "now", "stamps is "),
        (
            "packetization",
            "word_data[7:0], word_data[15:8],",
            "word_data[15:8], word_data[7:0],",
            "packet_word from bit",
        ),
    ];
    for (unit, change, to, expected) in cases {
        let rtl = format!("{}/../../hardware/rtl/nanopu/{unit}.sv", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(rtl).unwrap();
        assert!(text.contains(change), "{unit} has no {change}");
        let text = text.replacen(&format!("module {unit}"), "module mine", 1);
        fs::write(folder.0.join("mine.sv"), text.replacen(change, to, 1)).unwrap();
        let named = format!("{unit}=mine.sv");
        let run = ["run", &service, "--quiet", "--faithful"];
        let all = [&run[..], &load, &FEW, &["--hardware", &named, "--compare"]].concat();
        let output = folder.pinion(&all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{unit}: {said}");
        assert!(
            said.contains("differs from the model") && said.contains(expected),
            "{unit}: {said}"
        );
    }
}

/// Blocks that every scenario's machine can have.
const UNITS: [&str; 3] = ["ndp_ingress", "ndp_egress", "register_interface"];

fn told(rows: &[Comparison]) -> Vec<String> {
    let told = rows.iter().map(|row| {
        let Comparison { row, metric, ours, error, pass, note, .. } = row;
        format!("{row}, {metric}: {ours} {error} {pass} {note}")
    });
    told.collect()
}

#[test]
fn blocks_hold_in_every_scenario() {
    if let Err(problem) = verilator::find() {
        eprintln!("left out: {problem}");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let set = Set::open(&root.join("tests/calibration/nanopu")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let units = UNITS.map(str::to_owned);
    let choice = Choice::read(&units, true, folder.path().to_owned()).unwrap();
    let beside = Model::load().unwrap().prepared(move |node, machine| {
        choice.seat_in_node(node, machine).map_err(|error| pinion::Error::Usage(error.to_string()))
    });
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let alone = nanopu::compare(&set, &Model::load().unwrap(), None, jobs).unwrap();
    assert_eq!(told(&alone), told(&nanopu::compare(&set, &beside, None, jobs).unwrap()));
}
