//! Blocks beside the model that run some cycles behind it: the outbound engine, the off-cluster DMA, the cores' accesses
//! to L2.

use std::path::Path;

use pinion_hardware::choice::Choice;

use super::{BUSY, ROOT, SMALL, beside, is_left_out, load, many, own, run};

/// Packets of any length leave from L2 and from L1, from anywhere in a line, one behind the other.
#[test]
fn an_outbound_engine_of_hardware_does_as_the_model() {
    if !is_left_out() {
        for (app, traffic) in sends(400) {
            beside(app, &SMALL, &traffic, &["outbound"]);
        }
    }
}

/// Applications that send.
pub(crate) fn sends(count: u32) -> [(&'static str, String); 3] {
    let shape = format!("size=64:4/200:3/257:2/600:2/1500:1,packets=1,rate=400g,messages={count}");
    [
        (SENDS, format!("udp,{shape}")),
        ("examples/ping_pong", format!("udp,dport=9001,{shape}")),
        ("examples/ping_pong", format!("udp,dport=9002,{shape}")),
    ]
}

const SENDS: &str = "tests/hardware/sends";

/// An engine that reads a line too many, drops a packet's end, or is done early is found.
#[test]
fn an_outbound_engine_that_differs_is_found() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(SENDS, &SMALL) else { return };
    let (_, traffic) = sends(100)[0].clone();
    let reader = std::fs::read_to_string(Path::new(ROOT).join("hardware/rtl/spin/nic_reader.sv"));
    let reader = reader.expect("the reader").replacen("module nic_reader", "module own_reader", 1);
    let change = "(lines_out > reads ? lines_out : reads)";
    assert!(reader.contains(change), "the reader has no {change}");
    let reader = reader.replacen(change, "lines_out + STEP'(down)", 1);
    std::fs::write(folder.path().join("own_reader.sv"), reader).expect("a file");
    let cases = [
        ("nic_reader #(", "own_reader #(", "_valid is 0x"),
        ("fetched_far ? now + FAR_CYCLES : now", "now", "done_valid is 0x1 and the model's 0x0"),
        ("$clog2(BYTES)'(0)", "from[$clog2(BYTES)-1:0]", "m_axis_t"),
    ];
    for (change, to, expected) in cases {
        let file = own(folder.path(), "outbound", change, to);
        let named = format!("outbound={}", file.display());
        let beside = Choice::read(&[named], true, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &traffic, Some(&beside));
        let said = nic.hardware_failure().expect("a difference");
        assert!(said.contains(expected) && said.contains("cycles behind"), "{said}");
    }
}

/// The host that the off-cluster DMA's block has: at once.
pub(crate) const HOST: [&str; 2] = ["pcie.latency_ps=0", "pcie.rate_mbit_s=0"];

/// Applications that copy to and from the host, and write words there.
pub(crate) fn copies(count: u32) -> Vec<(&'static str, String)> {
    let shape = format!("size=64:4/200:3/257:2/600:2/1500:1,packets=1,rate=400g,messages={count}");
    vec![
        ("examples/to_host", format!("udp,dport=9200,{shape}")),
        ("examples/to_host", format!("udp,dport=9201,{shape}")),
        ("examples/copy_from_host", format!("udp,dport=9400,{shape}")),
        ("examples/host_direct", format!("udp,dport=9500,{shape}")),
        (COPIES, format!("udp,{shape}")),
    ]
}

const COPIES: &str = "tests/hardware/copies";

/// Copies of any length, from anywhere to anywhere in a line, in both directions at once, and words between.
#[test]
fn an_off_cluster_dma_of_hardware_does_as_the_model() {
    if !is_left_out() {
        let set: Vec<&str> = SMALL.into_iter().chain(HOST).collect();
        for (app, traffic) in copies(400) {
            beside(app, &set, &traffic, &["off_cluster_dma"]);
        }
    }
}

/// Applications whose handlers load, store and use atomics at L2, all HPUs at once; packets that do not fit L1.
pub(crate) fn accesses(count: u32) -> Vec<(&'static str, String)> {
    let udp = |shape: &str| format!("udp,{shape},rate=400g,messages={count}");
    vec![
        (BUSY, super::packets(count)),
        ("examples/kvstore", udp("dport=9300,size=64:1/200:1,packets=1")),
        ("examples/filter", udp("size=64,packets=1")),
        (FAR, udp("size=64:4/200:3/600:2,packets=1")),
    ]
}

const FAR: &str = "tests/hardware/far";

#[test]
fn core_accesses_of_hardware_are_served_as_in_the_model() {
    if !is_left_out() {
        for (app, traffic) in accesses(400) {
            beside(app, &SMALL, &traffic, &["core_accesses"]);
        }
    }
}

/// One that lets another cluster or core go first, has too few places, begins an atomic early or takes one
/// where two wait is found.
#[test]
fn core_accesses_that_differ_are_found() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(FAR, &SMALL) else { return };
    let (_, traffic) = accesses(100).pop().expect("applications");
    for (change, to, expected) in [
        ("if (any) served <= served + 1'b1;", "", "_core is 0x"),
        (".advance(enters)", ".advance(1'b0)", "_core is 0x"),
        ("places <= reset ? COUNT'(LOADS)", "places <= reset ? COUNT'(LOADS - 5)", " is 0x"),
        ("ATOMIC'(ATOMIC_CYCLES - 1)", "ATOMIC'(ATOMIC_CYCLES - 2)", "atomic_valid is 0x1"),
        ("store_ready && !(before_waits && !begins_waiting)", "store_ready", "atomic_"),
    ] {
        let file = own(folder.path(), "core_accesses", change, to);
        let named = format!("core_accesses={}", file.display());
        let beside = Choice::read(&[named], true, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &traffic, Some(&beside));
        let said = nic.hardware_failure().unwrap_or(change);
        assert!(said.contains(expected) && said.contains("cycles behind"), "{change}: {said}");
    }
}

#[test]
#[ignore = "long: a hundred thousand packets"]
fn random_traffic_behind() {
    for (app, traffic) in sends(many()) {
        beside(app, &["mpq.count=16"], &traffic, &["outbound"]);
    }
    let [latency, rate] = HOST;
    for (app, traffic) in copies(many()) {
        beside(app, &["mpq.count=16", latency, rate], &traffic, &["off_cluster_dma"]);
    }
    for (app, traffic) in accesses(many()) {
        beside(app, &["mpq.count=16"], &traffic, &["core_accesses"]);
    }
}
