use super::*;

const READERS: usize = 2;

/// Goes on until all bursts have ended; gives each one's cycle by token.
fn ends(path: &mut AxiPath) -> Vec<u64> {
    path.advance(200, |_, _, _| true);
    let mut ends: Vec<_> = std::iter::from_fn(|| path.take_ended()).collect();
    ends.sort_by_key(|ended| ended.token);
    ends.iter().map(|ended| ended.cycle).collect()
}

fn burst(from: u64, memory: u32, beats: u64, token: u32) -> Burst {
    Burst { from, memory, beats, line: 0, token }
}

/// RTL axi_demux: a master's burst to another memory waits until the one before has come back.
#[test]
fn another_memory_costs_a_cycle() {
    let mut path = AxiPath::new(READERS, 4, 1);
    for (token, memory) in [0, 0, 1, 1].into_iter().enumerate() {
        path.read(1, burst(10, memory, 4, token as u32));
    }
    assert_eq!(path.next_end(|_| 1), Some(15));
    assert_eq!(ends(&mut path), [14, 18, 23, 27]);
    assert!(!path.has_reads(1));
}

/// RTL cluster_noc: the memories share one way back, on which they take turns.
#[test]
fn one_beat_comes_back_in_a_cycle() {
    let mut path = AxiPath::new(READERS, 4, 1);
    path.read(0, burst(10, 0, 4, 0));
    path.read(1, burst(10, 1, 4, 1));
    // One comes in at 10, the other at 11; from 12 on they take turns.
    assert_eq!(ends(&mut path), [16, 18]);
}

/// RTL axi_id_remap, HoldAW: a write's request, which waits for its data in front of the memory, keeps
/// reads' waiting; between two of them one passes.
#[test]
fn writes_that_wait_for_data_keep_reads_waiting() {
    let mut path = AxiPath::new(READERS, 4, 1);
    path.write(burst(10, 0, 2, 0), 20);
    path.write(burst(11, 0, 2, 1), 30);
    path.read(1, burst(11, 1, 2, 2));
    path.read(1, burst(11, 1, 2, 3));
    assert_eq!(ends(&mut path), [21, 31, 23, 33]);
}

/// RTL axi_id_remap, HoldAR: a read's request that waits for its memory keeps writes' requests waiting,
/// which have data and go to another memory; between two reads one passes.
#[test]
fn reads_that_wait_keep_writes_waiting() {
    let mut path = AxiPath::new(READERS, 4, 1);
    for token in 0..3 {
        path.read(1, burst(10, 0, 8, token));
    }
    path.write(burst(13, 1, 1, 3), 13);
    path.write(burst(13, 1, 1, 4), 13);
    assert_eq!(ends(&mut path), [18, 26, 34, 19, 27]);
}

/// RTL axi_mux: a write's data pass from the cycle on that follows the first of its request.
#[test]
fn writes_of_one_beat_go_every_second_cycle() {
    let mut path = AxiPath::new(READERS, 4, 1);
    (0..3).for_each(|token| path.write(burst(10, 0, 1, token), 10));
    (3..5).for_each(|token| path.write(burst(10, 0, 2, token), 10));
    assert_eq!(ends(&mut path), [11, 13, 15, 18, 20]);
    assert!(!path.has_writes());
}

/// RTL axi_to_mem_interleaved: where both ask, a memory's port reads and writes by turns.
#[test]
fn reads_and_writes_share_a_memory_by_turns() {
    let mut path = AxiPath::new(READERS, 1, 1);
    path.read(0, burst(10, 0, 8, 0));
    path.write(burst(8, 0, 4, 1), 12);
    // The read passes once the write's request was taken, at 12.
    assert_eq!(ends(&mut path), [24, 17]);
}

/// RTL tcdm_superbank_mux: a line that others have is asked for again, and what comes behind it waits.
#[test]
fn who_does_not_get_a_line_asks_again() {
    let mut path = AxiPath::new(READERS, 4, 1);
    path.read(0, Burst { line: 5, ..burst(10, 0, 4, 0) });
    path.write(Burst { line: 9, ..burst(20, 1, 2, 1) }, 20);
    let mut asked = Vec::new();
    path.advance(200, |memory, line, cycle| {
        asked.push((memory, line, cycle));
        ![(0, 6, 11), (1, 10, 22)].contains(&(memory, line, cycle))
    });
    let reads = [(0, 5, 10), (0, 6, 11), (0, 6, 12), (0, 7, 13), (0, 8, 14)];
    assert_eq!(asked[..5], reads);
    assert_eq!(asked[5..], [(1, 9, 21), (1, 10, 22), (1, 10, 23)]);
    let ends: Vec<_> = std::iter::from_fn(|| path.take_ended()).map(|it| it.cycle).collect();
    assert_eq!(ends, [15, 23]);
}
