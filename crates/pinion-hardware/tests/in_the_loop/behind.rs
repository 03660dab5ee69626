//! Blocks beside the model that run some cycles behind it: the outbound engine, the off-cluster DMA, the cores' accesses
//! to L2, the clusters' DMA engines and L1 interconnects.

use std::path::Path;

use pinion_hardware::choice::Choice;
use pinion_spin::Outcome;

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
        ("places <= reset ? COUNT'(LOADS)", "places <= reset ? COUNT'(LOADS - 7)", " is 0x"),
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

/// Applications whose packets are copied to L1 and, but for the first, whose handlers launch transfers, with the most cycles
/// by which a block ends one before the model, and behind it.
pub(crate) fn moves(count: u32) -> Vec<(&'static str, String, [u64; 2])> {
    let shape = "size=64:4/200:3/257:2/600:2/1500:1,packets=1,rate=400g";
    let udp = |dport: u32| format!("udp,dport={dport},{shape},messages={count}");
    vec![
        (BUSY, super::packets(count), [0, 2]),
        ("examples/kvstore", udp(9300), [0, 0]),
        ("examples/strided_ddt", format!("slmp,size=564,bytes={},syn=none", 512 * count), [3, 0]),
        (MOVES, udp(9000), [3, 16]),
    ]
}

const MOVES: &str = "tests/hardware/moves";

/// Lines of 16 bytes, whose blocks are compiled in a quarter of the time.
const NARROW: [&str; 5] =
    [SMALL[0], SMALL[1], SMALL[2], "dma.port_bytes=16", "command.port_bytes=16"];

/// Copies of packets, and transfers from anywhere to anywhere in a line, between all memories.
#[test]
fn cluster_dmas_of_hardware_do_as_the_models() {
    if is_left_out() {
        return;
    }
    for (app, traffic, most) in moves(400) {
        let Some(app) = load(app, &SMALL) else { return };
        let beside = super::choice(&["cluster_dma"], true);
        let (outcome, _, nic) = run(&app, &traffic, Some(&beside));
        assert_eq!((nic.hardware_failure(), outcome), (None, Outcome::Finished), "{traffic}");
        let done = nic.hardware_transfers();
        assert!(done.all >= 400, "{done:?}");
        let within = done.cycles.iter().zip(most).all(|(cycles, most)| *cycles <= most);
        assert!(within && 2 * done.moved <= done.all, "{traffic}: {done:?}");
    }
}

/// An engine that reads a line too many, at either side, writes one wrongly or not, goes too early or late, or says
/// too early or to another core that a transfer is done is found.
#[test]
fn cluster_dmas_that_differ_are_found() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(MOVES, &NARROW) else { return };
    let (_, traffic, _) = moves(400).pop().expect("applications");
    for (change, to, expected) in [
        ("is_rest ? NOWHERE : from_place", "from_place", "_valid is 0x"),
        ("!(down && at == 0) && bytes != 0", "bytes != 0", "engine_write is 0x1"),
        ("if (away[COMES]) earlier <= turned", "earlier <= 0", "_data"),
        ("is_last ? ~last_offset : {OFFSET{1'b0}}", "{OFFSET{1'b0}}", "_strobes is 0x"),
        ("from[OFFSET +: LINE] + LINE'(at)", "from[OFFSET +: LINE]", "_line is 0x"),
        ("COPIED = 12", "COPIED = 11", "copy_done is 0x1"),
        ("down ? last_read : is_last", "is_last", "_done is 0x0"),
        (
            "launches ? CORES'(1) << launcher",
            "launches ? CORES'(2) << launcher",
            "launch_ready is 0x",
        ),
        ("!pauses && waits", "waits", " is 0x"),
        ("&& l2_lately == 0", "", "engine_"),
        ("? CORES'(1) << beats[BEAT*(DONE-1) +: CORE]", "? CORES'(1)", "core_done is 0x1"),
    ] {
        let file = own(folder.path(), "cluster_dma", change, to);
        let named = format!("cluster_dma={}", file.display());
        let beside = Choice::read(&[named], true, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &traffic, Some(&beside));
        let said = nic.hardware_failure().unwrap_or(change);
        assert!(said.contains(expected) && said.contains("cycles behind"), "{change}: {said}");
    }
}

/// Applications whose handlers load, store and use atomics at L1, also in two words, all HPUs at once, while packets come.
fn l1_accesses(count: u32) -> Vec<(&'static str, String)> {
    let udp = |shape: &str, rate: &str| format!("udp,{shape},rate={rate},messages={count}");
    let slmp = format!("slmp,size=564,bytes={},syn=none", 64 * count);
    vec![
        ("examples/histogram", format!("{slmp},payload=integers,below=1025")),
        ("examples/kvstore", udp("dport=9300,size=64:1/200:1,packets=1", "400g")),
        ("examples/aggregate", slmp),
        (WORDS, udp("size=64:4/200:3/600:2,packets=1", "40g")),
    ]
}

const WORDS: &str = "tests/hardware/words";

#[test]
fn interconnects_of_hardware_serve_as_the_models() {
    if !is_left_out() {
        for (app, traffic) in l1_accesses(400) {
            beside(app, &SMALL, &traffic, &["tcdm_interconnect"]);
        }
    }
}

/// One whose turns do not move, which forgets who holds a bank, or serves beside a beat is found.
#[test]
fn interconnects_that_differ_are_found() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = load(WORDS, &SMALL) else { return };
    let (_, traffic) = l1_accesses(400).pop().expect("applications");
    for (change, to) in [
        (".advance(serves)", ".advance(1'b0)"),
        ("(serves && request_atomic[winner]) ||", ""),
        (" || (held && taken));", ");"),
        ("any && !held && !taken;", "any && !held;"),
    ] {
        let file = own(folder.path(), "tcdm_interconnect", change, to);
        let named = format!("tcdm_interconnect={}", file.display());
        let beside = Choice::read(&[named], true, folder.path().to_owned()).expect("a unit");
        let (_, _, nic) = run(&app, &traffic, Some(&beside));
        let said = nic.hardware_failure().unwrap_or(change);
        let expected = said.contains("request_grant is 0x") && said.contains("cycles behind");
        assert!(expected, "{change}: {said}");
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
    for (app, traffic, _) in moves(many()) {
        beside(app, &["mpq.count=16"], &traffic, &["cluster_dma"]);
    }
    for (app, traffic) in l1_accesses(many()) {
        beside(app, &["mpq.count=16"], &traffic, &["tcdm_interconnect"]);
    }
}
