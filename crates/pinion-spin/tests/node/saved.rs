//! A NIC at a cable that is saved at any cycle and restored, into itself or into another, goes on as if
//! nothing had happened: the same bytes in the same cycles, the same events, the same state.

use pinion_sim::Clock;
use pinion_sim::node::{Node, SaveError, Saved, flits};
use pinion_spin::matching::{
    ContextMatch, EndOfMessage, Limits, MatchingEngine, MessageId, Mode, Rule, Ruleset,
};
use pinion_spin::{Cabling, Nic, NicNode, Units};

use crate::harness::{Random, Recorder, context, image, machine, nic};

/// What left the node: cycles of the first and last flit, and the frame.
type Sent = Vec<(u64, u64, Vec<u8>)>;

/// Cycles of the network between two calls.
const WINDOW: u64 = 140;

const PROGRAMS: [(&str, [&str; 3]); 4] = [
    ("words", ["aggregate", "reduce", "to_host_done"]),
    ("move", ["", "pingpong_l1", "to_host_wait"]),
    ("table", ["", "lock", ""]),
    ("memory", ["", "amo_same", "remote_l1"]),
];

const MACHINES: [&[&str]; 4] = [
    &[],
    &["l2_packet.bytes=4096", "mpq.shared_cells=2"],
    &["inbound.when_full=drop", "l2_packet.bytes=4096", "mpq.count=4"],
    &["units.count=2"],
];

/// Makes a NIC whose packets say themselves which message they belong to, and whether they end it.
fn units(overrides: &[&str], (program, handlers): (&str, [&str; 3])) -> Units {
    let mut all = overrides.to_vec();
    all.push("protection.message_timeout_cycles=2000");
    let image = image(program);
    let end_of_message = EndOfMessage::Rule(Rule::exact(0, 1, 1));
    let entry = ContextMatch {
        ruleset: Ruleset { mode: Mode::And, rules: Vec::new(), end_of_message },
        message: MessageId::Field { offset_bytes: 4, mask: 0xff, shift: 0 },
        enabled: true,
    };
    let engine = MatchingEngine::new(vec![entry], Limits::default()).expect("one context");
    let context = context(&image, handlers);
    Units::new(machine(&all), &image, vec![context], engine).expect("they boot")
}

/// A NIC at its cable, the frames that are to come there, and everything that was seen of it.
struct Bench {
    node: NicNode<Recorder>,
    sent: Sent,
    now: u64,
}

/// Frames of interleaved messages, with the cycle of their first flit; some go to nobody.
fn traffic(random: &mut Random) -> Vec<(u64, Vec<u8>)> {
    let (mut at, mut frames) = (0, Vec::new());
    for _ in 0..60 {
        let bytes = random.pick(&[64, 256, 1000]);
        let mut frame = random.bytes(bytes);
        frame[..4].fill(u8::from(random.chance(25)));
        frame[4..8].fill(random.below(6) as u8);
        at += random.below(900);
        frames.push((at, frame.clone()));
        at += flits(frame.len());
    }
    frames
}

impl Bench {
    fn new(nic: Units) -> Self {
        let clock = Clock::from_hz(3_200_000_000);
        let cabling = Cabling { clock, skip: 0, header: vec![0xee; 14] };
        Self { node: NicNode::new(nic, cabling, Recorder::default()), sent: Sent::new(), now: 0 }
    }

    /// Runs before cycle `until` in windows; frames that arrive in a window are handed over first.
    fn run(&mut self, frames: &[(u64, Vec<u8>)], until: u64) {
        while self.now < until {
            let end = (self.now + WINDOW).min(until);
            for (first, frame) in frames.iter().filter(|(at, _)| (self.now..end).contains(at)) {
                self.node.arrive(0, *first, frame.clone());
            }
            let sent = &mut self.sent;
            self.node.run(end, &mut |_: usize, first: u64, last: u64, frame: Vec<u8>| {
                sent.push((first, last, frame));
            });
            self.now = end;
        }
    }

    fn state(&self) -> Vec<(String, u64)> {
        let mut told = Vec::new();
        self.node.state(&mut |name, value| told.push((name.to_owned(), value)));
        told
    }

    /// Goes to where another was saved; gives the log and the frames from there on when it has run.
    fn again(&mut self, saved: &Saved, cut: u64, frames: &[(u64, Vec<u8>)], end: u64) -> Seen {
        self.node.restore(saved).expect("the same kind");
        (self.now, self.sent, self.node.ears) = (cut, Sent::new(), Recorder::default());
        self.run(frames, end);
        self.seen()
    }

    fn seen(&self) -> Seen {
        let heard = &self.node.ears;
        let units = heard.units.iter().map(|unit| format!("{unit:?}"));
        Seen {
            sent: self.sent.clone(),
            log: heard.log.iter().cloned().chain(units).collect(),
            totals: format!("{:?}", self.node.nic().totals()),
            state: self.state(),
        }
    }
}

/// Everything that can be seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    sent: Sent,
    log: Vec<String>,
    totals: String,
    state: Vec<(String, u64)>,
}

#[test]
fn a_saved_nic_goes_on_from_any_cycle() {
    let mut random = Random::seeded("a_saved_nic_goes_on_from_any_cycle");
    let (mut departed, mut dropped) = (0, 0);
    // Each machine twice: once leaves too few frames behind the cuts of some seeds.
    for overrides in [MACHINES, MACHINES].concat() {
        for program in PROGRAMS {
            let frames = traffic(&mut random);
            let end = frames.last().expect("there are some").0 + 600_000;
            let busy = frames.last().expect("there are some").0 + 3_000;
            let mut whole = Bench::new(units(overrides, program));
            whole.run(&frames, end);
            assert_eq!(
                whole.node.value("packets").unwrap_or(0),
                0,
                "{overrides:?} {program:?}: all are out"
            );

            // Where it is cut makes no difference, and nor does being saved.
            let cut = random.below(busy);
            let what = format!("{overrides:?} {program:?} saved in cycle {cut}");
            let mut first = Bench::new(units(overrides, program));
            first.run(&frames, cut);
            let (before, saved) = (first.seen(), first.node.save().expect("all is simulated"));
            let state = first.state();
            (first.sent, first.node.ears) = (Sent::new(), Recorder::default());
            first.run(&frames, end);
            let after = first.seen();
            let sent: Sent = before.sent.iter().chain(&after.sent).cloned().collect();
            assert!(sent == whole.sent, "{what}: other frames leave, or in other cycles");
            assert_eq!(after.totals, whole.seen().totals, "{what}");

            // The same one and another, which has seen other packets.
            first.node.restore(&saved).expect("its own");
            assert_eq!(first.state(), state, "{what}");
            assert!(
                first.again(&saved, cut, &frames, end) == after,
                "{what}: the same one differs"
            );
            let mut other = Bench::new(units(overrides, program));
            other.run(&frames[7..], random.below(busy));
            assert!(other.again(&saved, cut, &frames, end) == after, "{what}: another differs");
            departed += after.sent.len();
            dropped += after.log.iter().filter(|line| line.starts_with("Dropped")).count();
        }
    }
    assert!(departed > 20, "{departed} frames left after the cut");
    println!("{departed} frames left and {dropped} were dropped after being restored");
}

#[test]
fn state_is_told_by_name() {
    let mut bench = Bench::new(units(&[], PROGRAMS[1]));
    let frames = traffic(&mut Random::from_seed(3, "state_is_told_by_name"));
    bench.run(&frames, frames[9].0 + 200);
    for name in ["mpq.ready", "mpq.cells_free", "inbound.holds", "core.31.pc", "core.0.x2"] {
        assert!(bench.node.value(name).is_some(), "{name}");
    }
    assert!(bench.node.value("packets") > Some(0));
    assert_eq!(bench.node.value("unit.0.packets"), None, "there is one unit");
    let mut names: Vec<_> = bench.state().into_iter().map(|(name, _)| name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "each name once");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_others_map_is_not_saved() {
    use pinion_host::SharedRegion;

    let mut nic = nic(machine(&[]), "empty", ["", "ph", ""]);
    let region = SharedRegion::new("pinion-test", 4096).expect("shared memory");
    nic.map_host(0x1000, region).expect("a page");
    let save = |nic: &Nic| Bench::new(Units::from(nic.clone())).node.save().map(|_| ());
    let error = save(&nic).expect_err("others map it");
    assert_eq!(error, SaveError::SharedMemory { what: "host memory".to_owned() });
    assert!(error.to_string().contains("run without host programs"), "{error}");
    nic.unmap_host(0x1000);
    assert_eq!(save(&nic), Ok(()));
    nic.share_handler_memory(0x1c00_0000..0x1c00_1000).expect("a window");
    assert_eq!(save(&nic), Ok(()), "a copy is nobody else's");
    let error = Bench::new(Units::from(nic)).node.save().expect_err("others map handler memory");
    assert!(
        error.to_string().starts_with("the NIC's L2 handler memory cannot be saved"),
        "{error}"
    );
}
