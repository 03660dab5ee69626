//! What hardware is made of programs: its ports and stages; what it does is compared in tests/hardware.

#[path = "../../pinion-p4/tests/support/mod.rs"]
mod support;

use pinion_p4_hardware::{Answer, Hardware, InNic, Together, Vectors, Whole};
use pinion_sim::random::SplitMix64;
use support::{SHIPPED, check, program};

/// Makes the module of a program's packets.
fn packets(program: &pinion_p4::program::Program, file: &str) -> Hardware {
    Whole::of(program, file).unwrap().controls.remove(0).hardware
}

/// Tells whether a line of the head is a word of the lines behind it.
fn is_port(line: &str) -> bool {
    let kinds = ["input ", "output ", "request ", "response ", "unit "];
    kinds.iter().any(|kind| line.starts_with(kind))
}

#[test]
fn every_program_has_hardware_of_as_many_stages() {
    let with_tables =
        ["vxlan/ingress", "vxlan/egress", "balancer/ingress", "cache/ingress", "othello/ingress"];
    for name in SHIPPED.into_iter().chain(with_tables) {
        let file = format!("sdk/p4/{name}.p4");
        let checked = pinion_p4::load(&file, &pinion_p4::library::Library).unwrap();
        let program = checked.program.unwrap();
        let hardware = packets(&program, &file);
        assert_eq!(hardware.module, format!("p4_{}", name.replace('/', "_")));
        assert_eq!(hardware.ports.cycles, program.stages.cycles.max(1));
        let asked = program.stages.externs.iter().flatten().count();
        assert_eq!(hardware.ports.units.len(), asked);
        let mut vectors = Vectors::new(&program, &hardware, 7).unwrap();
        let head = vectors.head();
        // A packet's line has a word for each port, and one for each unit.
        let words = head.lines().filter(|line| is_port(line)).count();
        for _ in 0..100 {
            assert_eq!(vectors.line(None).split(' ').count(), words, "{name}");
        }
    }
}

#[test]
fn ndp_asks_its_units_in_the_stages_that_are_explained() {
    let file = "sdk/p4/ndp/ingress.p4";
    let checked = pinion_p4::load(file, &pinion_p4::library::Library).unwrap();
    let hardware = packets(&checked.program.unwrap(), file);
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
    let hardware = packets(&checked.program.unwrap(), "a/own-one.p4");
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
    let why = Whole::of(&program, "test.p4").unwrap_err();
    assert!(why.contains("extracts hdr.ipv4 under a condition"), "{why}");
}

#[test]
fn tables_are_ports_and_each_event_is_a_module() {
    let file = "../../tests/hardware/p4/handlers.p4";
    let checked = pinion_p4::load(file, &pinion_p4::library::Library).unwrap();
    let program = checked.program.unwrap();
    let whole = Whole::of(&program, file).unwrap();
    let hardware = &whole.controls[0].hardware;
    let tables: Vec<_> =
        hardware.ports.units.iter().filter(|unit| unit.to - unit.from == 2).collect();
    let names: Vec<_> = tables.iter().map(|unit| (unit.name.as_str(), unit.answer)).collect();
    assert_eq!(names, [("ways", Answer::Port), ("filter", Answer::Port)]);
    let bits: Vec<u32> = tables[0].response.iter().map(|(_, bits)| *bits).collect();
    assert_eq!(bits, [1, 8, 16, 128]);
    // Of the deparser's headers the timer's control makes Ethernet's valid, and no other.
    assert_eq!(whole.controls[2].hardware.ports.sent_bits, 8 * 14);
    let modules = whole.controls[1..].iter().map(|control| &control.hardware);
    let modules: Vec<_> = modules.map(|it| (it.module.as_str(), it.ports.cycles)).collect();
    assert_eq!(modules, [("p4_p4_handlers_on_drop", 3), ("p4_p4_handlers_on_timer", 2)]);
    assert!(whole.around.is_none() && whole.has_arrays());
}

/// Telemetry, of which some text is another.
fn telemetry(changes: &[(&str, &str)]) -> pinion_p4::program::Program {
    let file = "sdk/p4/telemetry/ingress.p4";
    let mut text = pinion_p4::library::text(file).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let checked = check(&text);
    let said = checked.found.to_text(&checked.sources, false);
    checked.program.unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn an_array_that_two_controls_reach_stands_between_them() {
    let program = telemetry(&[]);
    let whole = Whole::of(&program, "telemetry/ingress.p4").unwrap();
    let shares: Vec<_> = whole.controls.iter().filter(|it| it.shares()).map(|it| it.name).collect();
    assert_eq!(shares, ["delivery", "timer"]);
    let around = whole.around.as_ref().unwrap();
    assert_eq!((around.module.as_str(), around.arrays), ("p4_telemetry_ingress_all", 1));
    // The first in a cycle has the lowest port.
    let wires = "{timer_deliveries_ifElseRaw_advance, delivery_deliveries_ifElseRaw_advance}";
    assert!(around.text.contains(wires), "{}", around.text);
    // A timer's postcard has what deliveries before it, and in its cycle, have counted.
    let mut all = Together::new(&whole, 5).unwrap();
    let mut seen = [0; 6];
    for _ in 0..1000 {
        for (control, line) in all.cycle(None) {
            let words = all.head(control).lines().filter(|line| is_port(line)).count();
            assert_eq!(line.split(' ').count(), 1 + words);
            seen[control] += 1;
        }
    }
    assert!(seen[..5].iter().all(|count| *count > 500), "{seen:?}");
}

#[test]
fn ports_of_an_array_that_are_asked_at_different_times_are_refused() {
    let later = telemetry(&[
        (
            "    UserExtern<timer_req_t, dummy_t>(1) startTimer_event;",
            "    UserExtern<timer_req_t, dummy_t>(1) startTimer_event;\n    UserExtern<MsgID_t, MsgID_t>(3) late_delay;",
        ),
        (
            "        more.index = event.dst_context;",
            "        MsgID_t late;\n        late_delay.apply(event.dst_context, late);\n        more.index = late;",
        ),
    ]);
    let why = Whole::of(&later, "test.p4").unwrap_err();
    assert!(why.contains("OnTimer asks it 3 cycles sooner"), "{why}");
    let slower = telemetry(&[(
        "UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) deliveries_ifElseRaw;\n    ContextID_t",
        "UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(3) deliveries_ifElseRaw;\n    ContextID_t",
    )]);
    let why = Whole::of(&slower, "test.p4").unwrap_err();
    assert!(why.contains("takes 2 cycles in OnDelivery and 3 in OnTimer"), "{why}");
}

#[test]
fn what_is_left_of_a_program_has_hardware_or_is_refused() {
    let mut random = SplitMix64::new(11);
    let mut made = 0;
    for name in ["telemetry/ingress", "ndp/ingress", "cache/ingress", "vxlan/egress", "udp/ingress"]
    {
        let text = pinion_p4::library::text(&format!("sdk/p4/{name}.p4")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..60 {
            // A line goes, comes twice, or changes places with another.
            let mut other = lines.clone();
            let mut draw = || (random.draw() % lines.len() as u64) as usize;
            let (one, two) = (draw(), draw());
            match draw() % 3 {
                0 => _ = other.remove(one),
                1 => other.insert(two, lines[one]),
                _ => other.swap(one, two),
            }
            let Some(program) = check(&other.join("\n")).program else { continue };
            let Ok(whole) = Whole::of(&program, "test.p4") else { continue };
            let mut all = Together::new(&whole, 1).unwrap();
            for _ in 0..8 {
                all.cycle(None);
            }
            made += 1;
        }
    }
    assert!(made > 50, "{made}");
}

/// Puts a shipped program in its place in the NIC.
fn in_nic(name: &str) -> Result<InNic, String> {
    let file = format!("sdk/p4/{name}.p4");
    let checked = pinion_p4::load(&file, &pinion_p4::library::Library).unwrap();
    InNic::of(&Whole::of(&checked.program.unwrap(), &file).unwrap())
}

#[test]
fn programs_that_ask_what_the_nic_has_stand_in_it() {
    for name in ["ndp", "credit", "dctcp"] {
        let ingress = in_nic(&format!("{name}/ingress")).unwrap();
        assert_eq!(ingress.module, "p4_ingress_program");
        assert!(ingress.text.contains(&format!("p4_{name}_ingress pipeline (")), "{name}");
        assert_eq!(in_nic(&format!("{name}/egress")).unwrap().module, "p4_egress_program");
    }
    // The lookup's answer waits for two cycles, the stages' number is told.
    let ndp = in_nic("ndp/ingress").unwrap().text;
    for part in ["assign cycles = 6'd6;", "answered_1 <= ~reset & answered_0;"] {
        assert!(ndp.contains(part), "{part} in\n{ndp}");
    }
    let carried = in_nic("dctcp/egress").unwrap().text;
    assert!(carried.contains(".in_meta_meta_rank(in_data[23:16])"), "{carried}");
}

#[test]
fn programs_that_ask_more_are_refused_with_the_reason() {
    let refused = [
        ("homa/ingress", "10 stages"),
        ("homa/egress", "txMsgPrioReg"),
        ("raw/ingress", "does not ask get_rx_msg_info"),
        ("udp/ingress", "longest headers"),
        ("vxlan/egress", "the table"),
        ("telemetry/ingress", "events"),
        ("udp/egress", "headers of"),
    ];
    for (name, why) in refused {
        let said = in_nic(name).expect_err(name);
        assert!(said.contains(why), "{name}: {said}");
    }
}
