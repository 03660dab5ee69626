//! What happened to every frame between nodes, as steps that each know the one before. The network's
//! journals come in; the steps of a frame that reached a node, and what became of one that did not, go out.

use pinion_app::error::Result;
use pinion_net::fabric::{Arrived, Journal, Sent};
use pinion_net::switch::{DropCause, Enqueued};
use pinion_net::topology::Place;
use pinion_observe::trace::{FrameEars, FrameWays, Loss, Queue};
use pinion_run::cluster::{NetworkTracer, Plan};
use rustc_hash::FxHashMap as HashMap;

/// A step of a frame's way, by its number in the web.
pub type StepNumber = u32;

/// Something that happened to a frame; moments are the cluster's cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStep {
    /// What came before; a frame's first step is its own.
    pub before: StepNumber,
    /// From when.
    pub from: u64,
    /// Until when.
    pub to: u64,
    /// What.
    pub what: What,
}

/// Says what happened to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It left a node, as the n-th frame: from its first flit to behind its last.
    Left {
        /// The node.
        node: u32,
        /// Its number there.
        number: u32,
    },
    /// It was on a wire: from its first flit at one end to that at the other.
    Crossed {
        /// The wire.
        wire: u32,
    },
    /// It waited in a switch.
    Waited(At),
}

/// A queue of a switch, in few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The switch.
    pub switch: u32,
    /// The port it leads to.
    pub port: u16,
    /// It is the queue of control frames.
    pub control: bool,
}

impl From<Queue> for At {
    fn from(queue: Queue) -> Self {
        Self { switch: queue.switch as u32, port: queue.port as u16, control: queue.control }
    }
}

/// What became of a frame that did not get through whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The step before it.
    pub before: StepNumber,
    /// The cycle.
    pub at: u64,
    /// How.
    pub how: How,
}

/// Says how a frame did not get through whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It was lost on a wire.
    Lost(u32, Loss),
    /// A switch dropped it, with so many bytes of data and of control frames waiting.
    Dropped(At, DropCause, (u64, u64)),
    /// A switch cut its payload off, with so many bytes of data and of control frames waiting.
    Trimmed(At, (u64, u64)),
}

/// What is kept of a frame that is under way: its first step and its last.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    first: StepNumber,
    last: StepNumber,
}

/// Follows all frames of a cluster.
pub struct Web {
    ways: FrameWays<Kept>,
    steps: Steps,
}

/// What happened to frames.
#[derive(Default)]
pub struct Steps {
    steps: Vec<FrameStep>,
    /// By node, the last steps of the frames that reached it, in order.
    reached: Vec<Vec<StepNumber>>,
    /// By node, the first steps of the frames that left it, in order.
    left: Vec<Vec<StepNumber>>,
    /// By frame, what became of it and of its copies.
    fates: HashMap<StepNumber, Vec<Fate>>,
}

impl Web {
    /// Makes a listener for a cluster.
    pub fn new(plan: &Plan) -> Self {
        let nodes = plan.nodes();
        let lists = || vec![Vec::new(); nodes];
        let steps = Steps { reached: lists(), left: lists(), ..Steps::default() };
        Self { ways: FrameWays::new(&plan.network.topology, nodes), steps }
    }

    /// Gives what it has heard.
    pub fn into_steps(self) -> Steps {
        self.steps
    }
}

impl NetworkTracer for Web {
    fn passed(&mut self, place: Place, journal: &Journal) {
        self.ways.tell(place, journal, &mut self.steps);
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Steps {
    fn push(&mut self, before: StepNumber, (from, to): (u64, u64), what: What) -> StepNumber {
        self.steps.push(FrameStep { before, from, to, what });
        (self.steps.len() - 1) as StepNumber
    }

    fn lose(&mut self, frame: Kept, at: u64, how: How) {
        let fate = Fate { before: frame.last, at, how };
        self.fates.entry(frame.first).or_default().push(fate);
    }

    /// Gives a step.
    pub fn step(&self, number: StepNumber) -> FrameStep {
        self.steps[number as usize]
    }

    /// Gives the steps up to one, from the frame's first on.
    pub fn until(&self, last: StepNumber) -> Vec<FrameStep> {
        let mut steps = Vec::new();
        let mut number = last;
        loop {
            let step = self.step(number);
            steps.push(step);
            if step.before == number {
                break;
            }
            number = step.before;
        }
        steps.reverse();
        steps
    }

    /// Gives the last step of the n-th frame that reached a node.
    pub fn reached(&self, node: usize, number: u64) -> Option<StepNumber> {
        self.reached[node].get(number as usize).copied()
    }

    /// Gives the node that sent a frame, and which of its frames it is, by one of its steps.
    pub fn sender(&self, step: StepNumber) -> (usize, u64) {
        let mut number = step;
        loop {
            let step = self.step(number);
            if let What::Left { node, number } = step.what {
                return (node as usize, u64::from(number));
            }
            number = step.before;
        }
    }

    /// Gives the frames that reached a node, by their numbers, with their last steps.
    pub fn all_reached(&self, node: usize) -> impl Iterator<Item = (u64, StepNumber)> + '_ {
        (0..).zip(self.reached[node].iter().copied())
    }

    /// Gives the first step of the n-th frame that left a node.
    pub fn left(&self, node: usize, number: u64) -> Option<StepNumber> {
        self.left[node].get(number as usize).copied()
    }

    /// Gives what became of a frame, by its first step, and of its copies.
    pub fn fates(&self, first: StepNumber) -> &[Fate] {
        self.fates.get(&first).map_or(&[], Vec::as_slice)
    }

    /// Gives all that became of frames, in order of time: the frames' first steps, and what.
    pub fn all_fates(&self) -> Vec<(StepNumber, Fate)> {
        let mut all: Vec<(StepNumber, Fate)> = self
            .fates
            .iter()
            .flat_map(|(first, fates)| fates.iter().map(|fate| (*first, *fate)))
            .collect();
        all.sort_by_key(|(first, fate)| (fate.at, *first, fate.before));
        all
    }

    /// Gives the senders of the frames that left a queue's port in a span of cycles, the last one first; if
    /// there are none but `own`, that of the last before, which was on its way out.
    pub fn passed_port(
        &self,
        at: At,
        (from, to): (u64, u64),
        own: (usize, u64),
    ) -> Vec<(usize, u64)> {
        let mut passed: Vec<(u64, StepNumber)> = Vec::new();
        let mut before: Option<(u64, StepNumber)> = None;
        for (number, step) in self.steps.iter().enumerate() {
            let What::Waited(other) = step.what else { continue };
            if (other.switch, other.port) != (at.switch, at.port) || step.to > to {
                continue;
            }
            let left = (step.to, number as StepNumber);
            match step.to >= from {
                true => passed.push(left),
                false => before = before.max(Some(left)),
            }
        }
        passed.sort_by_key(|one| std::cmp::Reverse(*one));
        let senders = passed.into_iter().map(|(_, number)| self.sender(number));
        let others: Vec<(usize, u64)> = senders.filter(|sender| *sender != own).collect();
        match (others.is_empty(), before) {
            (true, Some((_, number))) => vec![self.sender(number)],
            _ => others,
        }
    }

    /// Gives the senders of the frames that waited in a queue in a cycle, the last one first.
    pub fn waited_in(&self, at: At, cycle: u64) -> Vec<(usize, u64)> {
        let waited = self.steps.iter().enumerate().filter(|(_, step)| {
            step.what == What::Waited(at) && step.from <= cycle && step.to > cycle
        });
        let mut numbers: Vec<StepNumber> = waited.map(|(number, _)| number as StepNumber).collect();
        numbers.reverse();
        numbers.into_iter().map(|number| self.sender(number)).collect()
    }
}

impl FrameEars for Steps {
    type Frame = Kept;

    fn leaves(&mut self, node: usize, number: u64, sent: &Sent) -> Kept {
        let own = self.steps.len() as StepNumber;
        let what = What::Left { node: node as u32, number: number as u32 };
        let first = self.push(own, (sent.first_flit, sent.last_flit + 1), what);
        self.left[node].push(first);
        Kept { first, last: first }
    }

    fn crosses(&mut self, sent: u64, arrived: &Arrived, frame: Kept) -> Kept {
        let what = What::Crossed { wire: arrived.wire as u32 };
        let last = self.push(frame.last, (sent, arrived.first_flit), what);
        Kept { last, ..frame }
    }

    fn reaches(&mut self, node: usize, number: u64, _: &Arrived, frame: Kept) {
        debug_assert_eq!(self.reached[node].len() as u64, number, "frames come in order");
        self.reached[node].push(frame.last);
    }

    fn lost(&mut self, wire: usize, (from, _): (u64, u64), loss: Loss, frame: Kept) {
        self.lose(frame, from, How::Lost(wire as u32, loss));
    }

    fn waits(
        &mut self,
        queue: Queue,
        at: u64,
        how: Enqueued,
        waiting: (u64, u64),
        frame: Kept,
    ) -> Kept {
        match how {
            Enqueued::Dropped(cause) => {
                self.lose(frame, at, How::Dropped(queue.into(), cause, waiting));
            }
            Enqueued::Trimmed => self.lose(frame, at, How::Trimmed(queue.into(), waiting)),
            Enqueued::Data { .. } | Enqueued::Control => {}
        }
        frame
    }

    fn waited(&mut self, queue: Queue, cycles: (u64, u64), _: (u64, u64), frame: Kept) -> Kept {
        let last = self.push(frame.last, cycles, What::Waited(queue.into()));
        Kept { last, ..frame }
    }
}
