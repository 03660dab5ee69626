//! What hardware is made of programs: its ports and stages; what it does is compared in tests/hardware.

#[path = "../../pinion-p4/tests/support/mod.rs"]
mod support;

use pinion_p4_hardware::{Answer, Hardware, Vectors};
use support::{SHIPPED, check, program};

#[test]
fn every_program_has_hardware_of_as_many_stages() {
    let with_tables =
        ["vxlan/ingress", "vxlan/egress", "balancer/ingress", "cache/ingress", "othello/ingress"];
    for name in SHIPPED.into_iter().chain(with_tables) {
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

#[test]
fn tables_are_ports_and_each_event_is_a_module() {
    let file = "../../tests/hardware/p4/handlers.p4";
    let checked = pinion_p4::load(file, &pinion_p4::library::Library).unwrap();
    let program = checked.program.unwrap();
    let hardware = Hardware::of(&program, file).unwrap();
    let tables: Vec<_> =
        hardware.ports.units.iter().filter(|unit| unit.to - unit.from == 2).collect();
    let names: Vec<_> = tables.iter().map(|unit| (unit.name.as_str(), unit.answer)).collect();
    assert_eq!(names, [("ways", Answer::Port), ("filter", Answer::Port)]);
    let bits: Vec<u32> = tables[0].response.iter().map(|(_, bits)| *bits).collect();
    assert_eq!(bits, [1, 8, 16, 128]);
    // Of the deparser's headers the timer's control makes Ethernet's valid, and no other.
    let timer = Hardware::of_event(&program.events[0], file).unwrap();
    assert_eq!(timer.ports.sent_bits, 8 * 14);
    let modules = program.events.iter().map(|event| Hardware::of_event(event, file).unwrap());
    let modules: Vec<_> = modules.map(|module| (module.module, module.ports.cycles)).collect();
    let names = [("p4_p4_handlers_on_timer", 2), ("p4_p4_handlers_on_drop", 3)];
    assert_eq!(modules, names.map(|(name, cycles)| (name.to_owned(), cycles)));
}

#[test]
fn an_array_that_two_controls_reach_has_no_hardware() {
    let file = "sdk/p4/telemetry/ingress.p4";
    let checked = pinion_p4::load(file, &pinion_p4::library::Library).unwrap();
    let why = Hardware::of(&checked.program.unwrap(), file).unwrap_err();
    let wanted =
        "OnDelivery and OnTimer both reach deliveries_ifElseRaw, and a register array has one port";
    assert!(why.starts_with(wanted), "{why}");
}
