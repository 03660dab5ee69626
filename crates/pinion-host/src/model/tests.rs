use super::*;

/// Makes a host with round numbers.
fn host() -> HostModel {
    HostModel {
        name: "round".to_owned(),
        cpu: CpuSection { cores: 2, frequency_mhz: 1000.0, flops_per_cycle: 1.0 },
        nic: NicSection {
            transmit_ns: 1000.0,
            transmit_gap_ns: 100.0,
            receive_ns: 500.0,
            pcie_mbit_s: 8000.0,
        },
        link: LinkSection { rate_mbit_s: 8000.0, delay_ns: 10.0, overhead_bytes: 24 },
        kernel: KernelSection {
            send_ns: 1.0,
            byte_ns: 0.5,
            receive_ns: 2.0,
            interrupt_ns: 3.0,
            frame_ns: 4.0,
            icmp_reply_ns: 5.0,
            wake_call_ns: 6.0,
            wake_ns: 7.0,
            idle_after_ns: 1000.0,
            idle_interrupt_ns: 30.0,
            idle_wake_ns: 70.0,
            busy_wake_ns: 700.0,
        },
        program: ProgramSection {
            poll_ns: 100.0,
            push_ns: 200.0,
            read_ns: 300.0,
            checksum_ns_per_byte: 0.5,
            start_ns: 0.0,
            start_window_ns: 0.0,
            thread_ns: 0.0,
        },
        memory: MemorySection {
            copy_mbit_s: 8000.0,
            unpack_mbit_s: 4000.0,
            unpack_block_ns: 10.0,
            gemm_efficiency: 0.5,
            gemm_bytes_per_flop: 0.0,
            rate_mbit_s: 8000.0,
        },
    }
}

#[test]
fn a_frame_takes_its_own_time_on_pcie_and_cable() {
    let host = host();
    assert_eq!(host.check(), Ok(()));
    // A byte takes a nanosecond on both.
    assert_eq!(host.nic.transmit_ps(64), 1_064_000);
    assert_eq!(host.nic.receive_ps(100), 600_000);
    assert_eq!(host.link.occupied_ps(64), 88_000);
    assert_eq!(host.link.delay_ps(), 10_000);
}

#[test]
fn a_core_that_sleeps_deeply_costs_more() {
    let kernel = host().kernel;
    assert!(!kernel.is_asleep(999_999) && kernel.is_asleep(1_000_000));
    assert_eq!((kernel.interrupt_ps(false), kernel.interrupt_ps(true)), (3_000, 33_000));
    assert_eq!((kernel.wake_ps(false, false), kernel.wake_ps(true, false)), (7_000, 77_000));
    assert_eq!(kernel.wake_ps(true, true), 777_000);
    assert_eq!((kernel.send_ps(100), kernel.frame_ps(100)), (51_000, 54_000));
}

#[test]
fn memory_bounds_copies_unpacking_and_matrices() {
    let host = host();
    assert_eq!(host.memory.copy_ps(1000), 1_000_000);
    assert_eq!(host.memory.unpack_ps(1000, 10), 2_100_000);
    assert_eq!(host.program.checksum_ps(100), 50_000);
    // 2 · 10³ operations at half of two cores' 10⁹ a second each.
    assert_eq!(host.memory.gemm_ps(&host.cpu, 10, 0.0), 2_000_000);
    let mut hungry = host.memory.clone();
    hungry.gemm_bytes_per_flop = 2.0;
    let (alone, beside) =
        (hungry.gemm_ps(&host.cpu, 10, 0.0), hungry.gemm_ps(&host.cpu, 10, 4000.0));
    assert_eq!((alone, beside), (4_000_000, 8_000_000), "half of the memory's rate is left");
}

#[test]
fn the_order_of_a_multiplication_is_the_smallest_that_lasts() {
    let host = host();
    for ps in [1, 1_000_000, 123_456_789, 1_000_000_000_000] {
        let order = host.memory.gemm_order(&host.cpu, ps, 0.0);
        assert!(host.memory.gemm_ps(&host.cpu, order, 0.0) >= ps);
        assert!(order <= 2 || host.memory.gemm_ps(&host.cpu, order - 1, 0.0) < ps);
    }
}

#[test]
fn a_server_does_one_thing_after_the_other() {
    let mut server = Server::default();
    assert_eq!((server.serve(10, 5), server.serve(11, 5)), (15, 20));
    assert!(server.is_busy(19) && !server.is_busy(20));
    assert_eq!((server.idle_ps(25), server.serve(30, 1)), (5, 31));
}

#[test]
fn numbers_that_are_no_cost_are_refused() {
    let mut wrong = host();
    wrong.kernel.wake_ns = -1.0;
    let error = wrong.check().unwrap_err();
    assert_eq!(error.key, "kernel.wake_ns");
    assert!(error.to_string().contains("from 0"), "{error}");
    let mut endless = host();
    endless.program.poll_ns = 0.0;
    assert_eq!(endless.check().unwrap_err().key, "program.poll_ns");
    let mut slow = host();
    slow.link.rate_mbit_s = f64::NAN;
    assert_eq!(slow.check().unwrap_err().key, "link.rate_mbit_s");
    let mut empty = host();
    empty.cpu.cores = 0;
    assert_eq!(empty.check().unwrap_err().key, "cpu.cores");
}

/// Every number, alone, where things break: it is refused, or every time that follows from it can be
/// added to others.
#[test]
fn every_number_is_refused_or_gives_times() {
    type Set = fn(&mut HostModel, f64);
    let setters: [Set; 32] = [
        |h, x| h.cpu.cores = x as u32,
        |h, x| h.cpu.frequency_mhz = x,
        |h, x| h.cpu.flops_per_cycle = x,
        |h, x| h.nic.transmit_ns = x,
        |h, x| h.nic.transmit_gap_ns = x,
        |h, x| h.nic.receive_ns = x,
        |h, x| h.nic.pcie_mbit_s = x,
        |h, x| h.link.rate_mbit_s = x,
        |h, x| h.link.delay_ns = x,
        |h, x| h.link.overhead_bytes = x as u32,
        |h, x| h.kernel.send_ns = x,
        |h, x| h.kernel.byte_ns = x,
        |h, x| h.kernel.receive_ns = x,
        |h, x| h.kernel.interrupt_ns = x,
        |h, x| h.kernel.frame_ns = x,
        |h, x| h.kernel.icmp_reply_ns = x,
        |h, x| h.kernel.wake_call_ns = x,
        |h, x| h.kernel.wake_ns = x,
        |h, x| h.kernel.idle_after_ns = x,
        |h, x| h.kernel.idle_interrupt_ns = x,
        |h, x| h.kernel.idle_wake_ns = x,
        |h, x| h.kernel.busy_wake_ns = x,
        |h, x| h.program.poll_ns = x,
        |h, x| h.program.push_ns = x,
        |h, x| h.program.read_ns = x,
        |h, x| h.program.checksum_ns_per_byte = x,
        |h, x| h.memory.copy_mbit_s = x,
        |h, x| h.memory.unpack_mbit_s = x,
        |h, x| h.memory.unpack_block_ns = x,
        |h, x| h.memory.gemm_efficiency = x,
        |h, x| h.memory.gemm_bytes_per_flop = x,
        |h, x| h.memory.rate_mbit_s = x,
    ];
    let edges = [
        0.0,
        1e-300,
        1e-9,
        1e-3,
        1.0,
        65_536.0,
        4_294_967_295.0,
        1e12,
        1e13,
        1.8446744073709552e19,
        f64::MAX,
        -1.0,
        f64::INFINITY,
        f64::NAN,
    ];
    let (mut accepted, mut refused) = (0, 0);
    for (number, set) in setters.iter().enumerate() {
        for edge in edges {
            let mut host = host();
            set(&mut host, edge);
            if host.check().is_err() {
                refused += 1;
                continue;
            }
            accepted += 1;
            for bytes in [0, 64, 65_536] {
                let times = [
                    host.nic.transmit_ps(bytes),
                    host.nic.receive_ps(bytes),
                    host.link.occupied_ps(bytes),
                    host.link.delay_ps(),
                    host.kernel.send_ps(bytes),
                    host.kernel.frame_ps(bytes),
                    host.kernel.interrupt_ps(true),
                    host.kernel.wake_ps(true, true),
                    host.program.checksum_ps(bytes),
                    host.memory.copy_ps(bytes as u64),
                    host.memory.unpack_ps(bytes as u64, 64),
                    host.memory.gemm_ps(&host.cpu, 64, 0.0),
                    to_ps(host.program.poll_ns),
                ];
                let total = times.iter().try_fold(0u64, |sum, time| sum.checked_add(*time));
                // A thousand such and the clock still counts.
                let total = total.and_then(|total| total.checked_mul(1000));
                assert!(total.is_some(), "number {number} = {edge}: {times:?}");
                assert!(to_ps(host.program.poll_ns) > 0, "an endless poll");
            }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}
