//! Shapes: machines of other sizes boot, spread the work and lose nothing.

use std::collections::BTreeSet;

use crate::harness::{
    FIRST_HANDLER, Random, faithful, finish, frame, machine, memory, messages, nic, scratchpad,
    words,
};

#[test]
fn every_shape_processes_traffic() {
    let mut random = Random::seeded("every_shape_processes_traffic");
    for clusters in [1u32, 2, 8, 16] {
        for cores in [1u32, 4, 8, 16] {
            println!("{clusters} clusters of {cores} cores");
            let shape = [format!("cluster.count={clusters}"), format!("cluster.cores={cores}")];
            let shape = shape.each_ref().map(String::as_str);
            let mut nic = nic(machine(&shape), "move", ["", "pingpong_l1", "to_host_wait"]);
            let frames = messages(&mut random, 60, 8, &[64, 512], 0);
            let count = frames.len();
            let heard = finish(&mut nic, frames);
            assert_eq!(heard.packets.len(), count);
            assert_eq!((heard.departed.len(), heard.host_writes.len()), (count, 60));
            assert_eq!(heard.faults, []);
            let places = heard.packets.iter().map(|record| record.hpu.expect("it ran"));
            let places: BTreeSet<(u32, u32)> = places.collect();
            assert!(places.iter().all(|&(cluster, hpu)| cluster < clusters && hpu < cores));
            let used: BTreeSet<u32> = places.iter().map(|&(cluster, _)| cluster).collect();
            assert_eq!(used.len(), clusters as usize, "every cluster works");
        }
    }
}

/// More HPUs finish the same work sooner.
#[test]
fn more_hpus_are_faster() {
    let duration = |clusters: u32, cores: u32| {
        let mut random = Random::from_seed(1, "more_hpus_are_faster");
        let shape = [format!("cluster.count={clusters}"), format!("cluster.cores={cores}")];
        let shape = shape.each_ref().map(String::as_str);
        let mut nic = nic(machine(&shape), "words", ["", "aggregate", ""]);
        finish(&mut nic, messages(&mut random, 40, 8, &[1024], 0));
        nic.totals().cycles
    };
    let shapes = [(1, 1), (1, 4), (2, 4), (2, 8), (4, 8)].map(|(a, b)| duration(a, b));
    assert!(shapes.is_sorted_by(|slow, fast| slow > fast), "{shapes:?}");
}

/// Handlers reach stack and packet in every cluster, under both protection policies.
#[test]
fn stacks_work_in_every_cluster() {
    // sw a0, -4(sp); lw a5, 8(a0); sw a0, 0(a5); ret
    let code = [0xfea1_2e23u32, 0x0085_2783, 0x00a7_a023, 0x0000_8067];
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    for clusters in [1, 4, 8, 16] {
        let overrides =
            [format!("cluster.count={clusters}"), "protection.no_progress_cycles=100000".into()];
        let overrides = overrides.each_ref().map(String::as_str);
        for machine in [machine(&overrides), faithful(&overrides)] {
            let mut nic = nic(machine, "empty", ["", "ph", ""]);
            assert!(nic.write_memory(FIRST_HANDLER, &code));
            let frames = (0..64).map(|message| frame(0, message, true, vec![0; 64])).collect();
            let heard = finish(&mut nic, frames);
            assert_eq!(heard.faults, [], "{clusters} clusters");
            assert_eq!(heard.packets.len(), 64);
        }
    }
}

/// Each cluster's scratchpad lies behind its packet buffer, wherever a machine's sizes put that.
#[test]
fn scratchpads_move_with_the_sizes() {
    let overrides = ["l1.packet_buffer_bytes=32768", "cluster.count=2"];
    let mut nic = nic(machine(&overrides), "words", ["", "aggregate", ""]);
    let frames = (0..2).map(|message| frame(0, message, true, vec![1; 64])).collect();
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.faults, []);
    for cluster in 0..2 {
        let found = words(&memory(&nic, scratchpad(cluster) - 32768, 4));
        assert_eq!(found, [0x0101_0101 * 16]);
    }
}
