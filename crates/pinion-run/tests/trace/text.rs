//! Traces as text: known lines, filters against the whole trace, order.

use crate::testing::{Spy, app, packets, text};
use pinion_app::app::App;
use pinion_observe::report::Outputs;
use pinion_observe::trace::{Choice, Filter, TextTrace, When};
use pinion_run::run;
use pinion_run::watch::Unobserved;

const HANDLERS: [&str; 3] = ["aggregate", "reduce", "to_host_done"];
const INSTRUCTIONS: (bool, bool) = (true, false);

fn words() -> App {
    app("words", HANDLERS, &[])
}

/// Takes the lines behind the titles.
fn lines(text: &str) -> Vec<&str> {
    text.lines().skip(1).collect()
}

fn column(line: &str, index: usize) -> &str {
    line.split_whitespace().nth(index).unwrap_or("")
}

fn cycle(line: &str) -> u64 {
    column(line, 1).parse().unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn every_filter_takes_its_part_of_the_whole_trace() {
    let app = words();
    let whole = text(&app, &Choice::default(), INSTRUCTIONS);
    let whole = lines(&whole);
    assert!(whole.is_sorted_by_key(|line| cycle(line)), "in order of time");
    let part = |choice: Choice| -> Vec<String> {
        lines(&text(&app, &choice, INSTRUCTIONS)).into_iter().map(str::to_owned).collect()
    };
    let expect = |wanted: &dyn Fn(&&&str) -> bool| -> Vec<String> {
        whole.iter().filter(wanted).map(|line| (*line).to_owned()).collect()
    };
    let by_hpu = Choice { hpus: vec!["1.0".to_owned(), "2".to_owned()], ..Choice::default() };
    let hpus = |line: &&&str| column(line, 2) == "1.0" || column(line, 2).starts_with("2.");
    assert_eq!(part(by_hpu), expect(&hpus));
    let (from, to) = (Some(When::Cycle(400)), Some(When::Cycle(700)));
    let by_time = Choice { from, to, ..Choice::default() };
    let times = |line: &&&str| (400..700).contains(&cycle(line));
    assert_eq!(part(by_time), expect(&times));
    assert!(expect(&times).len() > 100);
}

#[test]
fn packets_and_handlers_have_their_instructions() {
    let app = words();
    let filter = Filter::new(&app, &Choice::default()).unwrap();
    let (spy, finished) = Spy::run(&app, TextTrace::new(&app, filter, INSTRUCTIONS, Vec::new()));
    let count = |choice: &Choice| lines(&text(&app, choice, INSTRUCTIONS)).len() as u64;
    assert_eq!(count(&Choice::default()), finished.summary.section.totals.instructions);
    for record in spy.packets.iter().take(4) {
        let choice = Choice { packets: vec![record.packet], ..Choice::default() };
        assert_eq!(count(&choice), record.instructions, "packet {}", record.packet);
    }
    for name in HANDLERS {
        let choice = Choice { handlers: vec![name.to_owned()], ..Choice::default() };
        let of = |kind| HANDLERS[kind as usize] == name;
        let records = spy.handlers.iter().filter(|record| of(record.kind));
        let sum: u64 = records.map(|record| record.instructions).sum();
        assert!(sum > 0);
        assert_eq!(count(&choice), sum, "{name}");
    }
    let choice = Choice { contexts: vec!["all".to_owned()], ..Choice::default() };
    let sum: u64 = spy.handlers.iter().map(|record| record.instructions).sum();
    assert_eq!(count(&choice), sum);
}

#[test]
fn the_first_packets_way_is_told() {
    let app = words();
    let choice = Choice { packets: vec![0], ..Choice::default() };
    let told = text(&app, &choice, (true, true));
    let order = [
        "# packet 0 of message 0 is written to 1c400000 (256 B, all)",
        "# packet 0's HER reaches the packet scheduler",
        "# a task for packet 0 goes to cluster 0",
        "# cluster 0's DMA copies 256 B from 1c400000 to 10004400 to bring a packet",
        "0.0 # aggregate begins for packet 0",
        "PA:1b205000",
        "0.0 # aggregate ends for packet 0",
        "# reduce begins for packet 0",
        "# packet 0 is done",
    ];
    let mut rest = &told[..];
    for part in order {
        let at = rest.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{rest}"));
        rest = &rest[at + part.len()..];
    }
    assert!(!told.contains("packet 1"), "{told}");
}

#[test]
fn a_traced_run_is_the_untraced_one() {
    let app = words();
    let plain = run::run(&app, packets(), &Outputs::default(), &mut Unobserved).unwrap();
    let filter = Filter::new(&app, &Choice::default()).unwrap();
    let (_, traced) = Spy::run(&app, TextTrace::new(&app, filter, (true, true), Vec::new()));
    let (plain, traced) = (plain.summary.section.totals, traced.summary.section.totals);
    assert!(plain.instructions > 0 && plain.processed == 12);
    assert_eq!((plain.cycles, plain.instructions), (traced.cycles, traced.instructions));
    assert_eq!((plain.busy_cycles, plain.host_bytes), (traced.busy_cycles, traced.host_bytes));
}

#[test]
fn wrong_choices_are_told() {
    let app = words();
    let refused = |choice: Choice, part: &str| {
        let error = Filter::new(&app, &choice).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    for text in ["4.0", "0.8", "4", "a", "0.", "0.0.0", ""] {
        let choice = Choice { hpus: vec![text.to_owned()], ..Choice::default() };
        refused(choice, "from 0.0 to 3.7");
    }
    let choice = Choice { handlers: vec!["reduse".to_owned()], ..Choice::default() };
    refused(choice, "aggregate, reduce, to_host_done");
    refused(Choice { contexts: vec!["none".to_owned()], ..Choice::default() }, "but all");
    let (from, to) = (Some(When::Cycle(5)), Some(When::Cycle(5)));
    refused(Choice { from, to, ..Choice::default() }, "later than --from");
}
