//! Debugged nanoservices and nodes of clusters, by gdb's protocol; that what is seen is the run's is tested in
//! `pinion-debug`.

#[path = "debug/client.rs"]
#[allow(dead_code)]
mod client;
#[allow(dead_code)]
mod outside;

use client::Session;
use outside::{Folder, example};

const LOAD: &str = "requests=60,gap=exp:400,seed=3";

#[test]
fn gdb_speaks_to_a_nanoservice() {
    if !outside::has_gcc() {
        return;
    }
    let app = example("nanopu_echo");
    let session = Session::start(&[&app, "--load", LOAD]);
    let mut gdb = session.connect();
    // It comes in pieces, the last one with an l in front.
    let mut description = String::new();
    loop {
        let at = description.len();
        let piece = gdb.ask(&format!("qXfer:features:read:target.xml:{at:x},1ffb"));
        description.push_str(&piece[1..]);
        if piece.starts_with('l') {
            break;
        }
        assert!(piece.starts_with('m') && piece.len() > 1, "{piece}, behind {at} bytes");
    }
    for part in ["riscv:rv64", "mcause", "lcurcontext", "org.gnu.gdb.riscv.fpu", "bitsize=\"64\""] {
        assert!(description.contains(part), "{part}: {description}");
    }
    gdb.monitor("break message 17");
    let stop = gdb.ask("vCont;c");
    assert!(stop.starts_with("T02"), "{stop}");
    let name = gdb.ask_text("qThreadExtraInfo,1");
    assert_eq!(name, "hart 0: message 17 of context 0");
    let registers = gdb.ask("g");
    assert_eq!(registers.len(), 33 * 16);
    let head = &registers[30 * 16..31 * 16];
    assert!(!head.contains('x'), "the message's first word is there: {head}");
    assert_eq!(gdb.ask("p1e"), head, "as often as one looks");
    assert_eq!(&registers[31 * 16..32 * 16], "xxxxxxxxxxxxxxxx", "what was sent has left");
    assert!(gdb.monitor("units").contains("hart 0: message 17 of context 0; "));
    assert!(gdb.monitor("packets").contains("message 17 of context 0: on hart 0"));
    assert!(gdb.monitor("queues").contains("hart.0.queue.0.words"));
    assert!(gdb.monitor("break context 70000").contains("there is no context `70000`, but 0 to"));
    assert!(gdb.monitor("host 0 4").contains("no host memory"));
    assert!(gdb.monitor("break packet 3").contains("harts work at messages here"));
    gdb.monitor("goto message 3");
    assert!(gdb.ask("vCont;c").starts_with("T02"));
    assert!(gdb.monitor("cycle").contains("message 3 of context 0"));
    gdb.ask("Hc1");
    assert!(gdb.ask("bs").starts_with("T05"));
    gdb.monitor("delete all");
    assert!(gdb.ask("vCont;c").contains("replaylog:end"));
    assert_eq!(gdb.ask("D"), "OK");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_cluster_wants_to_know_which_node() {
    if !outside::has_gcc() {
        return;
    }
    let folder = Folder::new("debug-nodes-refused");
    let cluster = example("cluster_echo");
    folder.refuses(&["debug", &cluster], &["say with --node NAME", "server, client.0, client.1"]);
    folder.refuses(&["debug", &cluster, "--node", "nobody"], &["there is no such node", "server"]);
    let echo = example("nanopu_echo");
    folder.refuses(&["debug", &echo, "--node", "server"], &["--node goes with clusters"]);
    folder.refuses(&["debug", &cluster, "--threads", "2"], &["--threads goes with `pinion run`"]);
}
