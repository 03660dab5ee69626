//! What the tests share: machines, programs, contexts, traffic, a recorder, random numbers.

use std::path::PathBuf;

use pinion_isa::elf::Image;
use pinion_sim::random::SplitMix64;
use pinion_sim::{Time, config};
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{
    Classification, ContextId, DropReason, Event, ExecutionContext, Fault, Frame, Handler,
    HandlerRecord, Hears, Interest, Machine, Nic, Offer, Outcome, PacketRecord, Spin, UnitEvent,
};

/// Offset of the scratchpads in each cluster's L1.
pub const SCRATCHPAD: u32 = 0x1_4400;
/// Where the contexts' host memory starts.
pub const HOST: u64 = 1 << 60;
/// Where the calibration programs' first handler starts.
pub const FIRST_HANDLER: u32 = 0x1d00_0300;

/// Random numbers, which a seed replays.
pub struct Random(SplitMix64);

impl Random {
    /// Starts from `PINION_TEST_SEED` or a fixed seed and prints how to replay.
    pub fn seeded(test: &str) -> Self {
        let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
        Self::from_seed(seed.unwrap_or(0x5eed), test)
    }

    /// Starts from a given seed and prints how to replay.
    pub fn from_seed(seed: u64, test: &str) -> Self {
        println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-spin --test node {test}");
        Self(SplitMix64::new(seed))
    }

    /// Starts from a given seed; somebody else says how to replay.
    pub fn quiet(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.draw()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 32) as u8).collect()
    }
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of what the RTL was measured to do.
pub fn truth() -> PathBuf {
    root().join("tests/calibration/pspin")
}

/// The published machine with overrides (`key=value`).
pub fn machine(overrides: &[&str]) -> Machine {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let loaded = config::load_file(&root().join("machines/pspin.toml"), &overrides);
    loaded.unwrap_or_else(|error| panic!("{error}")).value
}

/// The machine that follows the RTL, and further overrides.
pub fn faithful(overrides: &[&str]) -> Machine {
    let pairs = machine(&[]).faithful;
    let mut all: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    all.extend(overrides.iter().map(|&text| text.to_owned()));
    machine(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn image(program: &str) -> Image {
    Image::read(&truth().join(format!("elf/{program}.elf"))).expect("a calibration program")
}

/// A context with header, payload and completion handler; an empty name: none.
pub fn context(image: &Image, handlers: [&str; 3]) -> ExecutionContext {
    let find = |name: &str| {
        (!name.is_empty()).then(|| {
            let symbol = image.require(name).expect("a handler of the program");
            Handler {
                name: name.to_owned(),
                address: symbol.address as u32,
                bytes: symbol.size as u32,
            }
        })
    };
    ExecutionContext {
        name: handlers.join("-"),
        header_handler: find(handlers[0]),
        payload_handler: find(handlers[1]),
        completion_handler: find(handlers[2]),
        handler_memory_address: 0x1c30_0000,
        handler_memory_bytes: 64 << 10,
        host_memory_address: HOST,
        host_memory_bytes: 1 << 20,
        scratchpad_bytes: 16 << 10,
        ..ExecutionContext::default()
    }
}

pub fn build(machine: Machine, image: &Image, contexts: Vec<ExecutionContext>) -> Nic {
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    Nic::new(machine, image, contexts, engine).unwrap_or_else(|error| panic!("{error}"))
}

/// A node with one context.
pub fn nic(machine: Machine, program: &str, handlers: [&str; 3]) -> Nic {
    let image = image(program);
    let context = context(&image, handlers);
    build(machine, &image, vec![context])
}

/// A frame of message `message` of context 0; all of it is copied to L1.
pub fn frame(arrival_ns: u64, message: u32, end_of_message: bool, bytes: Vec<u8>) -> Frame {
    let l1_bytes = bytes.len() as u32;
    Frame {
        arrival: Time::from_ns(arrival_ns),
        bytes,
        skip: 0,
        classification: Some(Classification {
            context: ContextId(0),
            message,
            end_of_message,
            l1_bytes,
        }),
        tag: 0,
    }
}

/// Random messages, randomly interleaved: unique ids, one to `longest` packets each, the last one
/// marked. Tags count frames from 0.
pub fn messages(
    random: &mut Random,
    count: usize,
    longest: u64,
    sizes: &[usize],
    gap_ns: u64,
) -> Vec<Frame> {
    let mut open: Vec<(u32, u64)> = (0..count)
        .map(|index| {
            let id = (random.next() as u32) & !0x3ff | index as u32;
            (id, 1 + random.below(longest))
        })
        .collect();
    let (mut frames, mut arrival_ns) = (Vec::new(), 0);
    while !open.is_empty() {
        // Only the first few are under way at a time.
        let chosen = random.below(open.len().min(12) as u64) as usize;
        open[chosen].1 -= 1;
        let (message, left) = open[chosen];
        let size = random.pick(sizes);
        let mut next = frame(arrival_ns, message, left == 0, random.bytes(size));
        next.tag = frames.len() as u64;
        frames.push(next);
        arrival_ns += random.below(gap_ns + 1);
        if left == 0 {
            open.remove(chosen);
        }
    }
    frames
}

/// What a handler did wrong, as it was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    pub time: Time,
    pub message: u32,
    pub packet: u64,
    pub hpu: (u32, u32),
    pub fault: Fault,
    pub pc: u32,
    pub address: u32,
}

/// Keeps everything it hears.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Every event but the fine trace, as text, in order.
    pub log: Vec<String>,
    pub packets: Vec<PacketRecord>,
    pub handlers: Vec<HandlerRecord>,
    pub units: Vec<UnitEvent>,
    pub faults: Vec<Reported>,
    pub dropped: Vec<(DropReason, Vec<u8>)>,
    pub unmatched: Vec<Vec<u8>>,
    /// Address, data, packet.
    pub host_writes: Vec<(u64, Vec<u8>, u64)>,
    /// Data, packet.
    pub departed: Vec<(Vec<u8>, u64)>,
    /// Time and message.
    pub evicted: Vec<(Time, u32)>,
}

impl Hears<Spin> for Recorder {
    fn interest(&self) -> Interest {
        Interest { handlers: true, host_writes: true, units: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        if let Event::Unit(unit) = event {
            self.units.push(*unit);
            return;
        }
        self.log.push(format!("{event:?}"));
        match event {
            Event::Unmatched { frame, .. } => self.unmatched.push(frame.to_vec()),
            Event::Dropped { reason, frame, .. } => self.dropped.push((*reason, frame.to_vec())),
            Event::HandlerDone(record) => self.handlers.push((*record).clone()),
            Event::PacketDone(record) => self.packets.push((*record).clone()),
            Event::Departed { frame, packet, .. } => self.departed.push((frame.to_vec(), *packet)),
            Event::HostWrite { address, data, packet, .. } => {
                self.host_writes.push((*address, data.to_vec(), *packet));
            }
            Event::HandlerFault {
                time, message, packet, cluster, hpu, fault, pc, address, ..
            } => self.faults.push(Reported {
                time: *time,
                message: *message,
                packet: *packet,
                hpu: (*cluster, *hpu),
                fault: *fault,
                pc: *pc,
                address: *address,
            }),
            Event::MessageEvicted { time, message, .. } => self.evicted.push((*time, *message)),
            Event::Output { .. }
            | Event::Unit(_)
            | Event::HostRead { .. }
            | Event::HandlerStarted { .. }
            | Event::PacketTaken { .. }
            | Event::Transfer(_)
            | Event::Instruction(_) => {}
        }
    }
}

/// Runs all frames to the end.
pub fn run(nic: &mut Nic, frames: Vec<Frame>) -> (Outcome, Recorder) {
    let mut recorder = Recorder::default();
    let mut frames = frames.into_iter();
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    let outcome = nic.run(Time::MAX, &mut next, &mut recorder);
    (outcome, recorder)
}

/// Runs all frames; they must all get out.
pub fn finish(nic: &mut Nic, frames: Vec<Frame>) -> Recorder {
    let (outcome, recorder) = run(nic, frames);
    assert_eq!(outcome, Outcome::Finished);
    let totals = nic.totals();
    totals.conserved().unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(totals.resident, 0);
    recorder
}

/// Writes words, such as code, to NIC memory.
pub fn put(nic: &mut Nic, address: u32, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(nic.write_memory(address, &bytes));
}

/// Reads NIC memory.
pub fn memory(nic: &Nic, address: u32, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    assert!(nic.read_memory(address, &mut buffer), "{address:#x} is memory");
    buffer
}

/// Little-endian words; what is left over is dropped.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |chunk: &[u8]| u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
    bytes.chunks_exact(4).map(word).collect()
}

/// Address of a context's scratchpad in a cluster.
pub fn scratchpad(cluster: u32) -> u32 {
    0x1000_0000 + cluster * 0x40_0000 + SCRATCHPAD
}
