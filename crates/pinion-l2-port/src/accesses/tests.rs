use pinion_sim::random::SplitMix64;

mod plain;

use super::*;
use crate::testing::machine;

/// An access of a core of one of four clusters of eight.
fn asked(at: u64, core: u32, way: Way) -> Asked {
    let port_cycles = match way {
        Way::PacketLoad => 1,
        Way::HandlerLoad => 2,
        Way::Write => 3,
    };
    let index = core % 8;
    Asked {
        at,
        core,
        index,
        generation: 0,
        way,
        port_cycles,
        cycles: 20,
        atomic_cycles: 0,
        keeps_loads: 0,
    }
}

/// Asks for all, and gives who is served when, as the owner does: it looks when it is to, and reads packet
/// memory where nobody else does.
fn served(list: &[Asked]) -> Vec<(u32, u64)> {
    let mut ports = CoreAccesses::new(&machine());
    let (mut served, mut from) = (Vec::new(), list.iter().copied().peekable());
    let mut look = Some(0);
    while look.is_some() || from.peek().is_some() {
        let next = from.peek().map(|asked| asked.at + 1);
        let now = look.into_iter().chain(next).min().expect("something is to come");
        while let Some(asked) = from.next_if(|asked| asked.at < now) {
            ports.ask(asked.core / 8, asked);
        }
        while let Some((asked, at)) = ports.next(now) {
            served.push((asked.core, at));
            if asked.way == Way::PacketLoad {
                ports.packet_load_read(at + ports.packet_load_cycles());
            }
        }
        ports.check_kept();
        look = ports.look();
        assert!(look.is_none_or(|look| look > now), "time goes on");
    }
    served
}

#[test]
fn one_alone_is_served_as_it_asks() {
    for way in [Way::HandlerLoad, Way::PacketLoad, Way::Write] {
        assert_eq!(served(&[asked(100, 9, way)]), [(9, 100)]);
    }
}

/// A store is served sooner than a load, which nobody has looked at yet.
#[test]
fn a_store_behind_a_load_is_looked_at_in_time() {
    for way in [Way::HandlerLoad, Way::PacketLoad] {
        let mut ports = CoreAccesses::new(&machine());
        ports.ask(0, asked(100, 0, way));
        let late = ports.look().expect("it is on its way") - 1;
        ports.ask(1, asked(late, 8, Way::Write));
        assert!(ports.look().is_some_and(|look| look > late), "time goes on");
    }
}

/// A store every three cycles, of each cluster in turn, though one cluster's eight came first (row
/// st_l2_2-burst_64).
#[test]
fn clusters_take_turns() {
    let mut list: Vec<Asked> = (0..8).map(|core| asked(100, core, Way::Write)).collect();
    list.extend([8, 16, 24].map(|core| asked(102, core, Way::Write)));
    let (cores, at): (Vec<u32>, Vec<u64>) = served(&list).into_iter().unzip();
    assert_eq!(at, (0..11).map(|turn| 100 + 3 * turn).collect::<Vec<_>>());
    // Three of the first cluster's are past the turns as the others come.
    assert_eq!(cores, [0, 1, 2, 8, 16, 24, 3, 4, 5, 6, 7]);
}

/// Loads from handler memory are served every other cycle while some wait behind, and the last ones
/// each cycle; the first is a cycle late where three follow it (row table1-burst_64, cluster 0).
#[test]
fn loads_from_handler_memory_go_or_come() {
    let at = |count| {
        let list: Vec<Asked> = (0..count).map(|core| asked(100, core, Way::HandlerLoad)).collect();
        served(&list).into_iter().map(|(_, at)| at).collect::<Vec<_>>()
    };
    assert_eq!(at(2), [100, 101]);
    assert_eq!(at(8), [101, 103, 105, 107, 109, 110, 111, 112]);
}

/// Atomics are served every ten cycles; three of them are past the port then, and the queue behind the
/// turns holds two (row amo_word-single_by32).
#[test]
fn atomics_wait_behind_the_port() {
    let atomic = |core| Asked { atomic_cycles: 10, ..asked(100, core, Way::Write) };
    let mut list: Vec<Asked> = (0..8).map(atomic).collect();
    list.push(Asked { at: 101, ..atomic(8) });
    let (cores, at): (Vec<u32>, Vec<u64>) = served(&list).into_iter().unzip();
    assert_eq!(at, (0..9).map(|turn| 100 + 10 * turn).collect::<Vec<_>>());
    assert_eq!(cores, [0, 1, 8, 2, 3, 4, 5, 6, 7]);
}

/// A load does not wait for stores, but for an atomic.
#[test]
fn an_atomic_keeps_loads_waiting() {
    let store = asked(100, 0, Way::Write);
    let load = asked(100, 1, Way::HandlerLoad);
    assert_eq!(served(&[store, load]), [(0, 100), (1, 101)]);
    let atomic = Asked { keeps_loads: 5, ..store };
    assert_eq!(served(&[atomic, load]), [(0, 100), (1, 105)]);
}

/// Atomics are forgotten where no load is that they could keep waiting.
#[test]
fn atomics_alone_take_no_room() {
    let atomic = |at| Asked { atomic_cycles: 10, keeps_loads: 5, ..asked(at, 0, Way::Write) };
    let mut ports = CoreAccesses::new(&machine());
    for at in (0..10_000).step_by(20) {
        ports.ask(0, atomic(at));
        assert_eq!(ports.next(at + 10).map(|(_, at)| at), Some(at));
        assert_eq!(ports.next(at + 19), None);
        assert_eq!(ports.handler.atomics_held(), 0);
    }
}

/// Stretches in which stores waited are forgotten likewise.
#[test]
fn stores_alone_take_no_room() {
    let mut ports = CoreAccesses::new(&machine());
    for at in (0..10_000).step_by(40) {
        (0..4).for_each(|cluster| ports.ask(cluster, asked(at, 8 * cluster, Way::Write)));
        let served = std::iter::from_fn(|| ports.next(at + 39)).map(|(_, served)| served - at);
        assert_eq!(served.collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(ports.held.len(), 0);
    }
}

/// Makes accesses of all cores, which ask once in `apart` cycles or so: loads and stores, some of which take their
/// port for twice as long, and atomics if there are to be.
fn random_accesses(seed: u64, apart: u64, atomics: bool) -> Vec<Asked> {
    let mut stream = SplitMix64::new(seed);
    let mut at = 10;
    let one = |_| {
        at += stream.draw() % apart;
        let ways = [Way::HandlerLoad, Way::PacketLoad, Way::Write];
        let way = ways[(stream.draw() % 3) as usize];
        let mut asked = asked(at, (stream.draw() % 32) as u32, way);
        if atomics && way == Way::Write && stream.draw().is_multiple_of(3) {
            (asked.atomic_cycles, asked.keeps_loads) = (10, 5);
        }
        if stream.draw().is_multiple_of(8) {
            asked.port_cycles *= 2;
        }
        asked
    };
    (0..300).map(one).collect()
}

/// Everybody is served once, nobody before he asks, stores three cycles apart at least, and as the ports do that
/// keep nothing, whether they are looked at in each cycle or when told.
#[test]
fn random_accesses_keep_the_rules() {
    for seed in 0..200 {
        let atomics = seed >= 100;
        let list = random_accesses(seed, [2, 4, 8, 40][seed as usize % 4], atomics);
        let mut ports = CoreAccesses::new(&machine());
        for asked in &list {
            ports.ask(asked.core / 8, *asked);
        }
        let (mut writes, mut result) = (Vec::new(), Vec::new());
        for now in 0..9_000 {
            while let Some((asked, at)) = ports.next(now) {
                assert!(at >= asked.at, "seed {seed}");
                result.push((asked.core, at));
                match asked.way {
                    Way::Write => writes.push(at),
                    Way::PacketLoad => ports.packet_load_read(at + ports.packet_load_cycles()),
                    Way::HandlerLoad => {}
                }
            }
            ports.check_kept();
        }
        let apart = writes.windows(2).all(|pair| pair[1] >= pair[0] + 3);
        assert!(apart || atomics, "seed {seed}: three cycles apart");
        assert_eq!(result.len(), list.len(), "seed {seed}: all of them");
        let mut when_told = served(&list);
        let mut as_drawn = plain::served(&list, &machine().core_ports);
        [&mut result, &mut when_told, &mut as_drawn]
            .into_iter()
            .for_each(|list| list.sort_unstable());
        assert_eq!(result, as_drawn, "seed {seed}: looked at in each cycle");
        assert_eq!(when_told, as_drawn, "seed {seed}: looked at when told to");
    }
}
