//! NDP that is written in P4 is the built-in one: the same frames in the same cycles, the same events, the
//! same books, whatever comes, with the RTL's weaknesses and without.

use pinion_nanopu::Cycle;
use pinion_nanopu::transport;

use crate::saved::{END, Seen, messages, run, state};
use crate::support::{self, Random};

/// Spoils frames as networks and strangers do: duplicates, some late; cut, changed and foreign ones.
fn spoil(frames: Vec<(Cycle, Vec<u8>)>, random: &mut Random) -> Vec<(Cycle, Vec<u8>)> {
    let mut spoilt = Vec::new();
    for (at, frame) in frames {
        let mut other = frame.clone();
        match random.below(8) {
            0 => other.truncate(random.below(other.len() as u64) as usize),
            1 => {
                let at = random.below(64) as usize;
                other[at] = random.below(256) as u8;
            }
            2 => other[34] = random.below(32) as u8,
            _ => {}
        }
        spoilt.push((at, frame));
        // A whole frame takes 136 cycles, and the next one comes 200 later.
        if other.is_empty() || random.below(3) == 0 {
            continue;
        }
        let late = random.below(4) == 0;
        spoilt.push((at + if late { 9_000 } else { 170 }, other));
    }
    spoilt.sort();
    let mut free = 0;
    for (at, frame) in &mut spoilt {
        *at = (*at).max(free);
        free = *at + frame.len().div_ceil(8) as Cycle;
    }
    spoilt
}

#[test]
fn ndp_in_p4_is_ndp() {
    let mut random = Random::new(0x9471, "ndp_in_p4_is_ndp");
    let programs = [("echo", 1, 1), ("service4", 4, 1), ("threads4_p0_p1", 4, 2)];
    for ((program, harts, contexts), faithful) in
        programs.into_iter().flat_map(|program| [(program, false), (program, true)])
    {
        let runs = ["ndp", "p4"].map(|kind| {
            let overrides = [
                &format!("core.count={harts}"),
                &format!("transport.kind={kind}"),
                "memory.size=16MiB",
            ];
            support::machine(faithful, &overrides)
        });
        let mut peer = transport::build(&runs[0].transport, 1);
        let frames = messages(peer.as_mut(), 0..contexts, &mut random);
        // The RTL stops at much of what strangers send.
        let frames = if faithful { frames } else { spoil(frames, &mut random) };
        let [ours, in_p4] = runs.map(|machine| {
            let mut node = support::node(&machine, program);
            for (at, frame) in &frames {
                node.inject(*at, frame);
            }
            let mut seen = Seen::default();
            run(&mut node, END, &mut seen);
            let books = (node.receive().accounting(), *node.transmit().counters());
            (seen, format!("{books:?}"), state(&node))
        });
        let what = format!("{program}, faithful: {faithful}");
        assert!(ours.0.frames.len() > 60, "{what}: {} frames", ours.0.frames.len());
        let differs = ours.0.frames.iter().zip(&in_p4.0.frames).find(|(one, other)| one != other);
        assert!(differs.is_none(), "{what}: {differs:x?}");
        assert_eq!(ours.1, in_p4.1, "{what}");
        assert!(ours == in_p4, "{what}");
    }
}
