//! A node of which somebody hears every instruction goes the reference's way; one of which nobody does leaves out
//! what it can: turns of loops that poll, and asking when nothing has changed. Both do the same, wherever they are
//! stopped.

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, Hears, NanoPu, Retirements, Told};
use pinion_nanopu::node::{Node, Progress};

use crate::echo::message;
use crate::saved::{messages, state};
use crate::support::{self, Random};

const BOOTED: Cycle = 30_000;
const STOPS: u64 = 400;

/// Hears events, and every instruction if it wants to.
struct Ears {
    retired: bool,
    instructions: u64,
    events: Vec<(Cycle, Event)>,
}

impl Hears<NanoPu> for Ears {
    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Event { at, event } => self.events.push((at, event)),
            Told::Retired { .. } => self.instructions += 1,
            _ => {}
        }
    }

    fn interest(&self) -> Retirements {
        Retirements { retired: self.retired, waypoints: false }
    }
}

/// A node and what is seen of it.
struct Bench {
    node: Node,
    ears: Ears,
    frames: Vec<(Cycle, Cycle, Vec<u8>)>,
}

impl Bench {
    fn run(&mut self, end: Cycle) -> (Progress, String) {
        let frames = &mut self.frames;
        let mut sink = |first: Cycle, last: Cycle, frame: &[u8]| {
            frames.push((first, last, frame.to_vec()));
        };
        let progress = self.node.run_until(end, &mut sink, &mut self.ears);
        (progress, state(&self.node))
    }
}

/// Makes short messages, some close together, some far apart.
fn short(random: &mut Random) -> Vec<(Cycle, Vec<u8>)> {
    let mut at = BOOTED;
    let frame = |id: u64| {
        let far = [1, 12, 60, 300, 700][random.below(5) as usize];
        at += 40 + random.below(far);
        let words = 1 + random.below(12);
        (at, message((id % 100) as u16, &vec![id as u8; 8 * words as usize]))
    };
    (0..160).map(frame).collect()
}

#[test]
fn a_node_that_is_heard_does_the_same() {
    let mut random = Random::new(0x4ea2d, "a_node_that_is_heard");
    let programs = [
        ("echo", 1, 1, false),
        ("echo", 1, 1, true),
        ("echo4", 4, 1, false),
        ("service", 1, 1, false),
        ("service4", 4, 1, true),
        ("threads_p0_p1", 1, 2, false),
        ("threads4_p0_p1", 4, 2, false),
    ];
    let mut instructions = 0;
    for (program, harts, contexts, faithful) in programs {
        for is_short in [true, false] {
            let harts = format!("core.count={harts}");
            let machine = support::machine(faithful, &[&harts, "memory.size=16MiB"]);
            let mut transport = pinion_nanopu::transport::build(&machine.transport, 1);
            let frames = match is_short {
                true => short(&mut random),
                false => messages(transport.as_mut(), 0..contexts, &mut random),
            };
            let [mut heard, mut left] = [true, false].map(|retired| Bench {
                node: support::node(&machine, program),
                ears: Ears { retired, instructions: 0, events: Vec::new() },
                frames: Vec::new(),
            });
            let (mut end, mut frames) = (BOOTED - 5_000, frames.into_iter().peekable());
            for stop in 0..STOPS {
                let most = [3, 40, 300][random.below(3) as usize];
                end += 1 + random.below(most);
                let early = end + random.below(200);
                while let Some((at, frame)) = frames.next_if(|(at, _)| *at >= end && *at < early) {
                    heard.node.inject(at, &frame);
                    left.node.inject(at, &frame);
                }
                // What should have come by now comes no more.
                while frames.next_if(|(at, _)| *at < end).is_some() {}
                let [reference, lean] = [heard.run(end), left.run(end)];
                let place = format!("{program}, short: {is_short}, stop {stop} at {end}");
                assert_eq!(reference, lean, "{place}");
                assert_eq!(heard.frames, left.frames, "{place}");
                assert_eq!(heard.ears.events, left.ears.events, "{place}");
            }
            assert!(heard.frames.len() > 20, "{program}: {} frames", heard.frames.len());
            instructions += heard.ears.instructions;
        }
    }
    println!("{instructions} instructions");
    assert!(instructions > 100_000, "only {instructions} instructions");
}
