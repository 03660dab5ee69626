//! Determinism: the same inputs give the same events, whether a run is one or cut into pieces.

use pinion_sim::Time;
use pinion_spin::{Frame, Nic, Offer, Outcome};

use crate::harness::{Random, Recorder, finish, machine, messages, nic};

const MACHINES: [&[&str]; 3] = [
    &[],
    &["l2_packet.bytes=4096", "mpq.shared_cells=2"],
    &["inbound.when_full=drop", "l2_packet.bytes=4096", "mpq.count=4"],
];

const PROGRAMS: [(&str, [&str; 3]); 4] = [
    ("words", ["aggregate", "reduce", "to_host_done"]),
    ("move", ["", "pingpong_l1", "to_host_wait"]),
    ("table", ["", "lock", ""]),
    ("memory", ["", "amo_same", "remote_l1"]),
];

fn setup(
    random: &mut Random,
    overrides: &[&str],
    (program, handlers): (&'static str, [&'static str; 3]),
) -> (impl Fn() -> Nic + use<>, Vec<Frame>) {
    let mut all = overrides.to_vec();
    all.push("protection.message_timeout_cycles=2000");
    let machine = machine(&all);
    let gap_ns = random.pick(&[0, 10, 200]);
    let frames = messages(random, 20, 8, &[64, 256, 1000], gap_ns);
    (move || nic(machine.clone(), program, handlers), frames)
}

#[test]
fn same_inputs_same_events() {
    let mut random = Random::seeded("same_inputs_same_events");
    for overrides in MACHINES {
        for program in PROGRAMS {
            let (make, frames) = setup(&mut random, overrides, program);
            let first = finish(&mut make(), frames.clone());
            let second = finish(&mut make(), frames);
            assert_eq!(first.log, second.log);
            assert_eq!(first.units, second.units);
        }
    }
}

/// Runs in pieces of up to `longest_ns`.
fn run_in_pieces(
    nic: &mut Nic,
    random: &mut Random,
    frames: Vec<Frame>,
    longest_ns: u64,
) -> Recorder {
    let (mut heard, mut until) = (Recorder::default(), Time::ZERO);
    let mut frames = frames.into_iter();
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    loop {
        until = until + Time::from_ns(random.below(longest_ns + 1));
        match nic.run(until, &mut next, &mut heard) {
            Outcome::Finished => return heard,
            Outcome::TimeReached => {}
            other => panic!("at {until}: {other:?}"),
        }
    }
}

#[test]
fn pieces_make_no_difference() {
    let mut random = Random::seeded("pieces_make_no_difference");
    for overrides in MACHINES {
        for program in PROGRAMS {
            let (make, frames) = setup(&mut random, overrides, program);
            let whole = finish(&mut make(), frames.clone());
            for longest_ns in [3, 40, 1000] {
                let what = format!("{overrides:?} {program:?} {longest_ns}");
                let mut nic = make();
                let pieces = run_in_pieces(&mut nic, &mut random, frames.clone(), longest_ns);
                let differs =
                    whole.log.iter().zip(&pieces.log).find(|(whole, piece)| whole != piece);
                assert_eq!(differs, None, "{what}");
                assert_eq!(whole.log.len(), pieces.log.len(), "{what}");
                assert!(whole.units == pieces.units, "{what}: the fine traces differ");
            }
        }
    }
}

/// A source that has nothing for a while is asked again in the next piece, not before.
#[test]
fn a_source_may_pause() {
    let mut random = Random::seeded("a_source_may_pause");
    let mut nic = nic(machine(&[]), "empty", ["", "ph", ""]);
    let mut frames = messages(&mut random, 10, 5, &[64], 100).into_iter().peekable();
    let count = frames.len();
    let mut heard = Recorder::default();
    loop {
        let mut left = 3;
        let mut next = || {
            left -= 1;
            assert!(left >= -1, "asked again after it had nothing");
            match frames.peek() {
                None => Offer::End,
                Some(_) if left < 0 => Offer::Nothing,
                Some(_) => frames.next().map_or(Offer::End, Offer::Frame),
            }
        };
        match nic.run(Time::MAX, &mut next, &mut heard) {
            Outcome::Finished => break,
            Outcome::Idle => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard.packets.len(), count);
}
