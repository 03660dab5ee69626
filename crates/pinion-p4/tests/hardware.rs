//! What hardware is made of programs: its ports and stages; what it does is compared in tests/hardware.

mod support;

use pinion_p4::hardware::{Answer, Hardware, Vectors};
use support::{SHIPPED, check, program};

#[test]
fn every_program_has_hardware_of_as_many_stages() {
    for name in SHIPPED {
        let file = format!("sdk/p4/{name}.p4");
        let checked = pinion_p4::load(&file, &pinion_p4::library::Library).unwrap();
        let program = checked.program.unwrap();
        let hardware = Hardware::of(&program, &file).unwrap();
        assert_eq!(hardware.module, format!("p4_{}", name.replace('/', "_")));
        assert_eq!(hardware.ports.cycles, program.stages.cycles.max(1));
        let asked = program.stages.externs.iter().flatten().count();
        assert_eq!(hardware.ports.units.len(), asked);
        let mut vectors = Vectors::new(&program, &hardware, 7).unwrap();
        let head = vectors.head();
        // A packet's line has a word for each port, and one for each unit.
        let kinds = ["input ", "output ", "request ", "response ", "unit "];
        let ports = head.lines().filter(|line| kinds.iter().any(|kind| line.starts_with(kind)));
        let words = ports.count();
        for _ in 0..100 {
            assert_eq!(vectors.line(None).split(' ').count(), words, "{name}");
        }
    }
}

#[test]
fn ndp_asks_its_units_in_the_stages_that_are_explained() {
    let file = "sdk/p4/ndp/ingress.p4";
    let checked = pinion_p4::load(file, &pinion_p4::library::Library).unwrap();
    let hardware = Hardware::of(&checked.program.unwrap(), file).unwrap();
    let units: Vec<_> = hardware
        .ports
        .units
        .iter()
        .map(|unit| (unit.name.as_str(), unit.from, unit.to, unit.answer))
        .collect();
    assert_eq!(
        units,
        [
            ("get_rx_msg_info", 1, 3, Answer::Port),
            ("credit_ifElseRaw", 3, 5, Answer::Inside),
            ("ctrlPkt_event", 5, 6, Answer::None),
            ("delivered_event", 5, 6, Answer::None),
            ("creditToBtx_event", 5, 6, Answer::None),
        ]
    );
    assert_eq!((hardware.rate_mhz(), hardware.latency_mhz()), (391, 600));
}

#[test]
fn what_is_always_so_needs_no_ports() {
    let checked = check(&program("", "hdr.eth.type = 7;"));
    let hardware = Hardware::of(&checked.program.unwrap(), "a/own-one.p4").unwrap();
    assert_eq!(hardware.module, "p4_a_own_one");
    assert!(hardware.ports.inputs.is_empty() && hardware.ports.units.is_empty());
    assert!(hardware.ports.outputs.is_empty());
    assert!(!hardware.has_arrays());
}

#[test]
fn a_header_that_is_extracted_under_a_condition_has_no_hardware() {
    let text = program("", "").replace(
        "state ip { packet.extract(hdr.ipv4);",
        "state ip { if (hdr.eth.dst == 0) { packet.extract(hdr.ipv4); }",
    );
    let checked = check(&text);
    let said = checked.found.to_text(&checked.sources, false);
    let program = checked.program.unwrap_or_else(|| panic!("{said}"));
    let why = Hardware::of(&program, "test.p4").unwrap_err();
    assert!(why.contains("extracts hdr.ipv4 under a condition"), "{why}");
}
