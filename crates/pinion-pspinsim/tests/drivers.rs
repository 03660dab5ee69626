//! Drivers in C and C++, written as users of the published model write them, compiled against the
//! headers, linked with the library and run: what they check themselves counts, and what they print.

mod common;

use common::{compile, elf, folder, run, run_well};

/// Finds the number behind a text in what a driver printed.
fn number_after(text: &str, label: &str) -> f64 {
    let rest = text.split_once(label).unwrap_or_else(|| panic!("no `{label}` in {text}")).1;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().unwrap()
}

#[test]
fn random_packets_come_back_and_callbacks_add_more() {
    let driver = compile("mirror.c", &["cc", "-std=c99"]);
    let text = run_well(&driver, &[&elf("move")], &[]);
    assert!(text.contains("mirrored 600 packets"), "{text}");
    let (inbound, outbound) = text.split_once("NIC outbound engine").unwrap();
    assert_eq!(number_after(inbound, "packets: "), 600.0);
    assert_eq!(number_after(outbound, "packets: "), 600.0);
    assert_eq!(number_after(inbound, "bytes: "), number_after(outbound, "bytes: "));
    let mean = number_after(&text, "packet latency: mean ");
    assert!(number_after(&text, "ns; min ") <= mean && mean <= number_after(&text, "ns; max "));
    assert_eq!(number_after(&text, "bytes written: "), 4096.0);
    assert_eq!(number_after(&text, "bytes read: "), 4096.0);
    assert_eq!(number_after(&text, "payload: "), 600.0);
    assert!(text.contains("    0.0: ") && text.contains("    3.0: "), "{text}");
    assert_eq!(text, run_well(&driver, &[&elf("move")], &[]), "the same every time");
}

#[test]
fn the_environment_chooses_the_machine() {
    let driver = compile("mirror.c", &["cc", "-std=gnu11", "-DOTHER"]);
    let narrow = [("PINION_SET", "cluster.cores=2 network.rate_mbit_s=100000")];
    let text = run_well(&driver, &[&elf("move")], &narrow);
    assert!(text.contains("    3.1: ") && !text.contains("    3.2: "), "{text}");
    let rate = number_after(&text, "departures: ");
    assert!((90.0..100.5).contains(&rate), "{text}");
    let text = run_well(&driver, &[&elf("move")], &[("PINION_FAITHFUL", "0")]);
    assert!(text.contains("machine pspin, as in the paper"), "{text}");
    let wrong = run(&driver, &[&elf("move")], &[("PINION_MACHINE", "no_such")]);
    let errors = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && errors.contains("PINION_MACHINE is `no_such`"), "{errors}");
}

#[test]
fn a_packet_trace_runs_cycle_by_cycle() {
    let driver = compile("trace.c", &["cc", "-std=c99"]);
    let text = run_well(&driver, &[&elf("move"), &folder("trace.c")], &[]);
    assert!(text.contains("50 packets in "), "{text}");
    assert_eq!(number_after(&text, "writes: "), 250.0, "beats");
}

#[test]
fn a_driver_in_cpp_sees_the_network_throttle() {
    let driver = compile("throttled.cpp", &["c++", "-std=c++11"]);
    let text = run_well(&driver, &[&elf("move")], &[]);
    assert_eq!(text.matches("== Statistics").count(), 2);
    assert!(text.contains("128.000 Gbit/s, one every 32.000 ns"), "{text}");
}

#[test]
fn mistakes_are_errors_with_reasons() {
    let driver = compile("mistakes.c", &["cc", "-std=c99"]);
    let output = run(&driver, &[&elf("move"), &elf("empty")], &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{errors}");
    for expected in [
        "pspinsim_run: there is no simulation: call pspinsim_init first",
        "pspinsim_init: pcie_slv_conf.pcie_G of the configuration cannot be used",
        "pspinsim_run: no program: name its ELF",
        "spin_find_handler_by_name: ",
        "no_such_handler",
        "; there is no such handler",
        "empty.elf is another program than ",
        "pspinsim_packet_add: the packet has 20000 bytes, and the machine takes 16384",
        "outside the program memory",
        "spin_nicmem_read: 4 bytes at 0x00000000 do not lie in one of the NIC's memories",
        "pspinsim_run: nothing is left to do, and pspinsim_packet_eos was not called",
        "pspinsim_fini: the simulation is running",
    ] {
        assert!(errors.contains(expected), "no `{expected}` in\n{errors}");
    }
}
