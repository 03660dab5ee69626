//! Bursts and loads at the clusters' port to L2.

use std::collections::VecDeque;

use pinion_sim::random::SplitMix64;

use super::*;
use crate::testing::machine;

fn port() -> ReadPort {
    let mut machine = machine();
    machine.dma.port_lead_cycles = 0;
    ReadPort::new(&machine)
}

#[test]
fn bursts_alone_stream() {
    let mut port = port();
    let ends: Vec<u64> =
        (0..4).map(|engine| port.book_burst(10, engine, (10, 8), None).1).collect();
    assert_eq!(ends, [18, 26, 34, 42]);
}

#[test]
fn loads_alone_are_read_one_in_a_cycle() {
    let mut port = port();
    let starts: Vec<u64> = (0..4).map(|core| port.book_load(10, core, 1, 0).1).collect();
    assert_eq!(starts, [10, 11, 12, 13]);
}

/// A packet's beat that is written to a burst's bank in its cycle goes first, and what waits behind the
/// burst comes later; other banks are no matter.
#[test]
fn a_beat_waits_while_its_bank_is_written() {
    let ends = |offset: u32| {
        let mut port = port();
        let read = [0, 1].map(|engine| {
            port.book_burst(100, engine, (100, 4), Some(0x1c40_0000 + 256 * engine)).0
        });
        // The inbound engine's cycle 108 is the port's 102.
        port.note_write(101, 108, 1, 0x1c40_0000 + 32 * 64 + offset);
        read.map(|burst| port.burst_end(burst).expect("booked"))
    };
    assert_eq!(ends(128), [105, 109], "the third beat of the first");
    assert_eq!(ends(192), [104, 108], "the fourth one's bank, a cycle too soon");
}

/// A load waits while its bank is written, and who is behind it; but where the bank was read since the last write to it,
/// it is the reader's turn (RTL rr_arb_tree; rows ldst_l2-burst_64, swap_l2-burst_64).
#[test]
fn a_load_and_a_write_take_turns_at_a_bank() {
    const ADDRESS: u32 = 0x1c40_0000;
    let mut port = port();
    // The inbound engine's cycle 30 is the port's 24.
    port.note_write(20, 30, 1, ADDRESS);
    assert_eq!(port.book_load(21, 5, 1, ADDRESS + 4).1, 21);
    assert_eq!(port.book_load(24, 5, 1, ADDRESS + 4).1, 24, "it was the last to have the bank");
    port.note_write(25, 46, 1, ADDRESS);
    port.note_write(25, 47, 1, ADDRESS + 32 * 64);
    port.book_burst(38, 0, (38, 8), Some(ADDRESS + 64));
    let loads = [0, 64].map(|offset| port.book_load(41, 5, 1, ADDRESS + offset).0);
    let starts = loads.map(|load| port.load_start(load).expect("booked"));
    assert_eq!(starts, [42, 43], "written in cycle 41");
}

/// What a send reads keeps a copy waiting at a bank, unless the clusters had it last: then the send waits.
#[test]
fn a_send_and_a_copy_take_turns_at_a_bank() {
    const ADDRESS: u32 = 0x1c40_0000;
    let mut port = port();
    // The outbound engine's cycle 23 is the port's 20.
    assert_eq!(port.note_nic_read(16, NicSide::Sends, (23, 4), ADDRESS), 0);
    let (copy, _) = port.book_burst(17, 0, (20, 4), Some(ADDRESS));
    assert_eq!(port.burst_end(copy), Some(25), "a cycle behind, all along");
    let (copy, _) = port.book_burst(40, 1, (40, 4), Some(ADDRESS + 32 * 64));
    assert_eq!(port.note_nic_read(40, NicSide::ToHost, (43, 4), ADDRESS), 1);
    assert_eq!(port.burst_end(copy), Some(44));
}

/// A load takes a beat's place, and the burst ends a cycle later.
#[test]
fn a_load_goes_before_the_next_beat() {
    let mut port = port();
    let (burst, end) = port.book_burst(10, 0, (10, 8), None);
    assert_eq!(end, 18);
    assert_eq!(port.book_load(13, 5, 1, 0).1, 13);
    assert_eq!(port.burst_end(burst), Some(19));
}

/// Where three bursts of even ids, or of odd ones, are on their way, a load waits until one of them
/// has been read; then loads and bursts come in in turns (rows swap_l2-burst_512 and
/// swap_l2-spread_512).
#[test]
fn a_load_waits_while_too_many_are_on_their_way() {
    let loads = |engines: &[u32]| {
        let mut port = port();
        for &engine in engines {
            port.book_burst(10, engine, (10, 8), None);
        }
        let ids = [5, 6, 7].map(|core| port.book_load(12, core, 1, 0).0);
        ids.map(|id| port.load_start(id).expect("booked"))
    };
    // Bursts 0 and 2 and the second load have even ids: the third waits until a load has left.
    assert_eq!(loads(&[0, 1, 2]), [12, 13, 15]);
    let starts = loads(&[0, 1, 2, 3, 0, 1, 2, 3]);
    assert!(starts[0] > 18 + 8, "behind two bursts at the gate: {starts:?}");
    assert!(starts[1] > starts[0] + 8, "in turns: {starts:?}");
}

/// In each cycle one thing at most is read; bursts take their beats and the loads within them.
#[test]
fn random_reads_keep_the_rules() {
    for seed in 0..200 {
        let mut stream = SplitMix64::new(seed);
        let mut random = |below: u64| stream.draw() % below;
        let (mut port, mut now) = (port(), 0);
        let (mut bursts, mut loads) = (Vec::new(), Vec::new());
        // What is on its way: when owners look again.
        for _ in 0..300 {
            now += random(9);
            if random(3) == 0 {
                let beats = 1 + random(16);
                let (id, _) = port.book_burst(now, random(4) as u32, (now, beats), None);
                bursts.push((id, now, beats));
            } else {
                loads.push((port.book_load(now, random(32) as u32, 1, 0).0, now));
            }
        }
        let starts: Vec<u64> =
            loads.iter().map(|&(id, _)| port.load_start(id).expect("kept")).collect();
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {starts:?}");
        assert!(starts.iter().zip(&loads).all(|(start, load)| *start >= load.1), "seed {seed}");
        let mut free_at = 0;
        for &(id, ready, beats) in &bursts {
            let end = port.burst_end(id).expect("kept");
            let begin = free_at.max(ready);
            let within = starts.iter().filter(|at| (begin..end).contains(*at)).count() as u64;
            assert!(end <= begin + beats + within + 12, "seed {seed}: {begin} {end} {beats}");
            assert!(end >= begin + beats, "seed {seed}: {begin} {end} {beats}");
            free_at = end;
        }
    }
}

/// Owners that forget what was read change nothing for the others.
#[test]
fn forgetting_changes_nothing() {
    for seed in 0..100 {
        let mut stream = SplitMix64::new(seed);
        let mut random = |below: u64| stream.draw() % below;
        let (mut keeps, mut forgets, mut now) = (port(), port(), 0);
        let (mut writes_from, mut reads_from) = (0, 0);
        let mut loads: VecDeque<ReadId> = VecDeque::new();
        for step in 0..400 {
            now += random(4);
            while let Some(&id) = loads.front()
                && forgets.load_start(id).is_some_and(|start| start < now)
            {
                assert_eq!(keeps.load_start(id), forgets.load_start(id), "{seed}, {step}");
                forgets.forget_load(id);
                loads.pop_front();
            }
            let address = 0x1c40_0000 + 64 * random(8) as u32;
            if random(6) == 0 {
                let beats = 1 + random(8);
                let from = reads_from.max(now + NIC_READ_LEAD_CYCLES + random(4));
                let read = (from, beats);
                let late = [&mut keeps, &mut forgets]
                    .map(|port| port.note_nic_read(now, NicSide::Sends, read, address));
                assert_eq!(late[0], late[1], "{seed}, {step}");
                reads_from = from + late[0] + beats;
            } else if random(6) == 0 {
                let beats = 1 + random(8);
                let start = writes_from.max(now + WRITE_LEAD_CYCLES + random(4));
                writes_from = start + beats;
                keeps.note_write(now, start, beats, address);
                forgets.note_write(now, start, beats, address);
            } else if random(4) == 0 {
                let (engine, beats) = (random(4) as u32, 1 + random(8));
                let (kept, other) = (
                    keeps.book_burst(now, engine, (now, beats), Some(address)),
                    forgets.book_burst(now, engine, (now, beats), Some(address)),
                );
                assert_eq!(kept, other, "{seed}, {step}");
            } else {
                let core = random(32) as u32;
                let (kept, other) = (
                    keeps.book_load(now, core, 1, address),
                    forgets.book_load(now, core, 1, address),
                );
                assert_eq!(kept, other, "{seed}, {step}");
                loads.push_back(other.0);
            }
        }
    }
}
