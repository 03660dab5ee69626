//! Tables and events: what programs may say of them, entries from a text, and what comes of a packet.

mod support;

use std::sync::Arc;

use pinion_p4::flat::{Flat, Interface, Packet, Units, Words};
use pinion_p4::library::Library;
use pinion_p4::lnic::Pipelines;
use pinion_p4::lnic::unit::Unit;
use pinion_p4::load;
use pinion_p4::program::{EventKind, Program, TableShape};
use pinion_p4::table::Table;
use pinion_p4::table::entries::read;
use support::{check, program};

const LOCALS: &str = "
    bit<16> port;
    action to(bit<16> number, bit<48> mac) { port = number; hdr.eth.dst = mac; }
    action deny() { smeta.drop = 1; }
    table ways { key = { hdr.ipv4.dst : lpm; hdr.ipv4.tos : exact; } actions = { to; deny; } size = 4; default_action = to(7, 9); }
    table filter { key = { hdr.ipv4.src : ternary; } actions = { deny; NoAction; } }
";
const APPLY: &str = "
    port = 0;
    if (hdr.ipv4.isValid()) {
        if (ways.apply().hit) { hdr.ipv4.ttl = 1; } else { hdr.ipv4.ttl = 2; }
        filter.apply();
        hdr.ipv4.identification = port;
    }
";

fn said_of(text: &str) -> String {
    let checked = check(text);
    checked.found.to_text(&checked.sources, false)
}

/// Checks that a text tells each of these.
fn says(text: &str, wanted: &[&str]) {
    for what in wanted {
        assert!(text.contains(what), "{what:?} is not in\n{text}");
    }
}

fn whole(locals: &str, apply: &str) -> Program {
    let text = program(locals, apply);
    let checked = check(&text);
    let said = checked.found.to_text(&checked.sources, false);
    checked.program.unwrap_or_else(|| panic!("{said}"))
}

fn shapes(program: &Program) -> Vec<Arc<TableShape>> {
    program.tables.iter().cloned().map(Arc::new).collect()
}

/// Answers from tables alone.
struct Only(Vec<Unit>, Vec<Table>);

impl Units for Only {
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words) {
        let site = &flat.sites[site];
        if let Unit::Table(table) = &self.0[site.external] {
            table.ask(&mut self.1, site, registers);
        }
    }
}

#[test]
fn entries_decide_what_becomes_of_packets() {
    let program = whole(LOCALS, APPLY);
    let shapes = shapes(&program);
    let text = "
        # the longer prefix counts
        add ways 10.0.0.0/8, 0 -> to(1, 02:00:00:00:00:01)
        add ways 10.1.0.0/16, 0 -> to(2, 0x2)   // in any order
        add filter 192.168.0.0 &&& 255.255.0.0 -> deny()
        add filter _ -> NoAction()
        at 100 remove ways 10.1.0.0/16, 0
    ";
    let changes = read("entries", text, &shapes).unwrap();
    let mut tables: Vec<Table> = shapes.iter().map(Table::new).collect();
    for change in changes.iter().filter(|change| change.at == 0) {
        tables[change.table].change(&change.what).unwrap();
    }
    let flat = Flat::compile(&program, &Interface { deparses: true, ..Interface::default() });
    let flat = flat.unwrap();
    let units = pinion_p4::lnic::table_units(&program);
    let mut only = Only(units, tables);
    let mut packet = Packet::new(&flat);
    let mut run = |dst: [u8; 4], tos: u8, only: &mut Only| {
        let mut frame = vec![0u8; 34];
        frame[12] = 8;
        (frame[15], frame[14]) = (tos, 0x45);
        frame[26..30].copy_from_slice(&[1, 2, 3, 4]);
        frame[30..34].copy_from_slice(&dst);
        packet.parse(&flat, &frame).unwrap();
        let mut out = Vec::new();
        packet.process(&flat, &[], only, &mut out);
        // The address, the number and the time to live.
        (out[..6].to_vec(), u16::from_be_bytes([out[18], out[19]]), out[22])
    };
    assert_eq!(run([10, 0, 0, 1], 0, &mut only), (vec![2, 0, 0, 0, 0, 1], 1, 1));
    assert_eq!(run([10, 1, 0, 1], 0, &mut only), (vec![0, 0, 0, 0, 0, 2], 2, 1));
    // Another key, and no entry: what the program says then.
    assert_eq!(run([10, 1, 0, 1], 4, &mut only), (vec![0, 0, 0, 0, 0, 9], 7, 2));
    for change in changes.iter().filter(|change| change.at > 0) {
        only.1[change.table].change(&change.what).unwrap();
    }
    assert_eq!(run([10, 1, 0, 1], 0, &mut only), (vec![2, 0, 0, 0, 0, 1], 1, 1));
    let hits: Vec<_> = only.1[0].entries().iter().map(|entry| entry.hits).collect();
    assert_eq!((hits, only.1[0].misses(), only.1[1].entries()[1].hits), (vec![2], 1, 4));
}

#[test]
fn a_table_takes_two_cycles_and_one_apply() {
    let program = whole(LOCALS, APPLY);
    // The parser, the tables beside each other, and what they decide.
    assert_eq!((program.stages.parser, program.stages.cycles), (1, 3));
    let text =
        crate::program(LOCALS, &format!("{APPLY} if (hdr.ipv4.isValid()) {{ ways.apply(); }}"));
    says(&said_of(&text), &["ways is asked twice"]);
    let text = crate::program(LOCALS, "port = 0; hdr.eth.type = port;");
    says(&said_of(&text), &["ways is never asked", "ways.apply()"]);
}

#[test]
fn wrong_tables_are_told_where_they_are_wrong() {
    let table = |table: &str| said_of(&program(&format!("action a(bit<8> x) {{ }} {table}"), ""));
    for (wrong, what) in [
        ("table t { actions = { a; } }", "the table t compares nothing"),
        ("table t { key = { hdr.eth.type : exact; } }", "the table t has no actions"),
        (
            "table t { key = { hdr.eth.type : close; } actions = { a; } }",
            "nothing is compared by `close`",
        ),
        ("table t { key = { hdr.eth : exact; } actions = { a; } }", "a key is bits or a bool"),
        ("table t { key = { hdr.eth.type : exact; } actions = { b; } }", "there is no action `b`"),
        (
            "table t { key = { hdr.eth.type : exact; } actions = { a; a; } }",
            "the action a is there twice",
        ),
        (
            "table t { key = { hdr.eth.type : exact; } actions = { a; } size = 0; }",
            "a table of 0 entries",
        ),
        (
            "table t { key = { hdr.eth.type : exact; } actions = { a; } default_action = a(); }",
            "0 arguments for the 1 parameters of a",
        ),
        (
            "table t { key = { hdr.eth.type : exact; } actions = { a; } default_action = a(256); }",
            "256 does not fit into bit<8>",
        ),
        (
            "table t { key = { hdr.eth.type : exact; } actions = { a; } entries = { } }",
            "entries do not stand in the program",
        ),
        (
            "table t { key = { hdr.eth.type : lpm; hdr.eth.src : ternary; } actions = { a; } }",
            "which entry is the longest would not be clear",
        ),
        ("table t { keys = { } }", "a property of a table"),
        ("action b(in bit<8> x) { }", "an action's parameter that no entry could give"),
        ("action b() { return; }", "exit or return in an action"),
        ("action b(bit<8> x) { x = 1; }", "this cannot be written: an entry gives it"),
    ] {
        says(&table(wrong), &[what, "help"]);
    }
    let applied = |apply: &str| {
        let table = "action a() { } table t { key = { hdr.eth.type : exact; } actions = { a; } }";
        said_of(&program(table, apply))
    };
    says(
        &applied("bool x = t.apply().hit;"),
        &["a table is asked by a statement, or an if, alone"],
    );
    says(&applied("if (t.apply().action_run) { }"), &["a table does not say `action_run`"]);
    says(&applied("t.apply(1);"), &["nothing is to be given here"]);
    says(&applied("a();"), &["there are no functions to call"]);
    says(
        &said_of(&program(
            "",
            "table t { key = { hdr.eth.type : exact; } actions = { NoAction; } }",
        )),
        &["never asked"],
    );
}

#[test]
fn wrong_entries_are_told_with_line_and_caret() {
    let shapes = shapes(&whole(LOCALS, APPLY));
    let said = |text: &str| read("entries.txt", text, &shapes).unwrap_err();
    for (wrong, what) in [
        ("add paths 1 -> to(1)", "there is no table `paths`"),
        ("put ways 10.0.0.0/8, 0 -> deny()", "`put` changes no table"),
        ("add ways 10.0.0.0/8 -> deny()", "1 value for the 2 that ways compares"),
        ("add ways 10.0.0.0/33, 0 -> deny()", "a prefix of 33 bits of 32"),
        ("add ways 10.0.0.1/8, 0 -> deny()", "the value has bits that do not count"),
        ("add ways 02:00:00:00:00:01, 0 -> deny()", "48 bits for hdr.ipv4.dst, which has 32"),
        ("add ways 10.0.0.0/8, 256 -> deny()", "9 bits for hdr.ipv4.tos, which has 8"),
        ("add ways 10.0.0.0/8, _ -> deny()", "hdr.ipv4.tos is compared as a whole"),
        ("add ways 10.0.0.0 &&& 255.0.0.0, 0 -> deny()", "hdr.ipv4.dst has no mask"),
        ("add ways 10.0.0.0/8, 0 deny()", "`->` expected, but this is `deny`"),
        ("add ways 10.0.0.0/8, 0 -> drop()", "ways has no action `drop`"),
        ("add ways 10.0.0.0/8, 0 -> to(1)", "1 argument for the 2 parameters of to"),
        ("add ways 10.0.0.0/8, 0 -> to(65536, 1)", "17 bits for number, which has 16"),
        ("add ways 10.0.0.0/8, 0 -> deny() priority 3", "entries of ways have no priority"),
        ("add ways 10.0.0.0/8, 0 -> deny() more", "`more` behind the end"),
        ("add ways", "a value expected, but the line ends"),
        ("add ways ten, 0 -> deny()", "`ten` is no value"),
        ("at noon add ways 1, 0 -> deny()", "`noon` is no cycle"),
        ("remove filter 1.2.3.4", "filter has no entry for this key to remove"),
        ("add filter _ -> deny() priority x", "`x` is no priority"),
    ] {
        says(&said(wrong), &[what, "entries.txt:1:", "^", "help"]);
    }
    let twice = "add ways 1.0.0.0/8, 0 -> deny()\nadd ways 1.0.0.0/8, 0 -> deny()\n";
    says(&said(twice), &["ways has an entry for this key", "entries.txt:2:1", "first here"]);
    let five: String = (1..6).map(|n| format!("add ways {n}.0.0.0/8, 0 -> deny()\n")).collect();
    says(&said(&five), &["ways is full: it has room for 4 entries", "entries.txt:5:1"]);
    let more = five.clone() + "add ways 6.0.0.0/8, 0 -> deny()\n";
    assert_eq!(said(&more).matches("is full").count(), 1);
    // Room comes when another one goes, in the order of cycles and not of lines.
    let moved = format!(
        "at 20 {}at 10 remove ways 1.0.0.0/8, 0\n",
        five.lines().last().unwrap().to_owned() + "\n"
    );
    let four: String = five.lines().take(4).map(|line| format!("{line}\n")).collect();
    assert_eq!(read("entries.txt", &format!("{moved}{four}"), &shapes).unwrap().len(), 6);
}

const EVENTS: &str = "
control OnTimer(inout headers hdr, inout full_ingress_metadata_t meta, inout standard_metadata_t smeta, in event_t event) {
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) fired_ifElseRaw;
    apply {
        ifElseRaw_req_t more = { event.timer, true, 1, REG_ADD, 0, REG_READ };
        ifElseRaw_resp_t fired;
        fired_ifElseRaw.apply(more, fired);
    }
}
";

fn with_event(event: &str, objects: &str, locals: &str, apply: &str) -> String {
    let text = program(locals, apply)
        .replace("#include \"ndp.p4\"", "#include \"ndp.p4\"\n#include \"events.p4\"");
    let (before, main) = text.split_once("control C(").unwrap();
    format!("{before}{event}control C({main}\n{objects}\n")
}

const START: &str = "UserExtern<timer_req_t, dummy_t>(1) startTimer_event;";
const STARTS: &str =
    "timer_req_t start = { 1, 100, false }; dummy_t d; startTimer_event.apply(start, d);";

#[test]
fn an_event_is_a_control_of_its_own() {
    let text = with_event(EVENTS, "TimerEvent(OnTimer()) timer;", START, STARTS);
    let checked = check(&text);
    let said = checked.found.to_text(&checked.sources, false);
    let program = checked.program.unwrap_or_else(|| panic!("{said}"));
    let event = &program.events[0];
    assert_eq!((event.kind, event.program.stages.cycles), (EventKind::Timer, 2));
    assert_eq!(event.program.externs[0].name, "fired_ifElseRaw");
    assert_eq!(said, "");
}

#[test]
fn wrong_events_are_told_where_they_are_wrong() {
    let said = |objects: &str| said_of(&with_event(EVENTS, objects, START, STARTS));
    let without = with_event(EVENTS, "TimerEvent(OnTimer()) timer;", "", "");
    says(
        &said_of(&without),
        &["nothing ever starts a timer for this event", "startTimer_event", "^"],
    );
    says(&said(""), &["nobody hears when these timers fire", "`OnTimer` is not used"]);
    says(
        &said("TimerEvent(OnTimer()) a; TimerEvent(OnTimer()) b;"),
        &["a second control for this event"],
    );
    says(&said("QueueEvent(OnTimer()) a;"), &["QueueEvent takes a control and a threshold, not 1"]);
    says(&said("QueueEvent(OnTimer(), 0) a;"), &["a threshold of 0 words"]);
    says(&said("DropEvent(OnDrop()) a;"), &["there is no block `OnDrop`"]);
    says(&said("DropEvent(C()) a;"), &["`C` is no EventControl"]);
    let lookup = EVENTS.replace(
        "apply {",
        "UserExtern<get_rx_msg_info_req_t, get_rx_msg_info_resp_t>(2) get_rx_msg_info; apply {",
    );
    let text = with_event(&lookup, "TimerEvent(OnTimer()) timer;", START, STARTS);
    let file = std::env::temp_dir().join(format!("pinion-events-{}.p4", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let why = Pipelines::load(&file.to_string_lossy(), "sdk/p4/raw/egress.p4", None).unwrap_err();
    let _ = std::fs::remove_file(&file);
    says(&why.1, &["get_rx_msg_info asks about the packet at hand, and an event has none"]);
}

#[test]
fn what_comes_with_pinion_is_right() {
    for name in ["vxlan", "telemetry", "balancer", "cache", "othello"] {
        for way in ["ingress", "egress"] {
            let file = format!("sdk/p4/{name}/{way}.p4");
            let checked = load(&file, &Library).unwrap();
            let said = checked.found.to_text(&checked.sources, false);
            assert_eq!((said.as_str(), checked.program.is_some()), ("", true), "{file}");
        }
        let file = |way| format!("sdk/p4/{name}/{way}.p4");
        let loaded = Pipelines::load(&file("ingress"), &file("egress"), None);
        assert_eq!(loaded.map(|_| ()), Ok(()), "{name}");
    }
}
