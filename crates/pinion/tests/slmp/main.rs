//! SLMP's receiver on the whole machine, with the real handlers, over a link that loses, repeats,
//! reorders and damages frames: every message is in host memory byte by byte.
//!
//! `PINION_TEST_SEED=N cargo test -p pinion --test slmp` replays a run.

mod sender;

use std::collections::VecDeque;
use std::path::Path;
use std::process::Command;

use pinion::app::{App, Options};
use pinion_net::fault::{FaultLane, FaultSpec};
use pinion_net::frame::{Checksums, SLMP_PORT, SlmpHeader, verify_checksums};
use pinion_sim::Time;
use pinion_sim::random::Xorshift64;
use pinion_spin::{Event, Frame, Hears, Offer, Spin, Units};

use sender::Sender;

const SLICE_PS: u64 = 5_000_000;
const LATENCY_PS: u64 = 2_000_000;
const LONGEST_PS: u64 = 3_000_000_000_000;
const SLOTS: usize = 16;
const PAGE: usize = 4096;

fn has_gcc() -> bool {
    let found = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !found {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    found
}

fn seed(test: &str) -> u64 {
    let seed = std::env::var("PINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(0x51);
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion --test slmp {test}");
    seed
}

/// The example's handlers with a configuration of their own.
fn app(name: &str, options: u32) -> App {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slmp");
    let own = std::env::temp_dir().join(format!("pinion-slmp-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    let config: Vec<u8> = [0, 0, options, 0u32].iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(own.join("config.bin"), config).unwrap();
    let manifest = std::fs::read_to_string(folder.join("app.toml")).unwrap();
    let source = folder.join("slmp.c").canonicalize().unwrap();
    let manifest = manifest
        .replace("\"slmp.c\"", &format!("{source:?}"))
        .replace("handler_memory =", "handler_memory_image = \"config.bin\"\nhandler_memory =");
    std::fs::write(own.join("app.toml"), manifest).unwrap();
    let loaded = App::load(&own, &load_options());
    std::fs::remove_dir_all(&own).unwrap();
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

/// FPsPIN's shape and clock, where the machine is there; else on the default machine.
fn load_options() -> Options {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/fpspin.toml");
    let machine = machine.is_file().then(|| "fpspin".to_owned());
    Options { machine, ..Options::default() }
}

/// What the link did, and what was sent.
#[derive(Debug, PartialEq)]
struct Outcome {
    sent: u64,
    repeated: u64,
    printed: String,
    damaged: u64,
    time_ps: u64,
    memory: Vec<u8>,
}

struct Run {
    app: App,
    nic: Units,
    senders: Vec<Sender>,
    to_nic: FaultLane,
    from_nic: FaultLane,
    arriving: VecDeque<Frame>,
    printed: Vec<u8>,
}

/// Puts what leaves the NIC on the link and keeps what handlers print.
struct Ears<'a> {
    from_nic: &'a mut FaultLane,
    printed: &'a mut Vec<u8>,
}

impl Hears<Spin> for Ears<'_> {
    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Departed { time, frame, .. } => self.from_nic.push(time.ps(), frame),
            Event::Output { byte, .. } => self.printed.push(*byte),
            Event::HandlerFault { fault, pc, address, .. } => {
                panic!("a handler failed: {fault:?} at {pc:#x}, {address:#x}")
            }
            _ => {}
        }
    }
}

impl Run {
    fn new(app: App, senders: Vec<Sender>, faults: &FaultSpec) -> Self {
        let nic = app.nic().unwrap_or_else(|error| panic!("{error}"));
        Self {
            app,
            nic,
            senders,
            to_nic: FaultLane::new(faults, 0),
            from_nic: FaultLane::new(faults, 1),
            arriving: VecDeque::new(),
            printed: Vec::new(),
        }
    }

    fn go(mut self) -> Outcome {
        let mut now_ps = 0;
        while !self.senders.iter().all(Sender::is_done) {
            assert!(now_ps < LONGEST_PS, "messages are not through after {now_ps} ps");
            for sender in &mut self.senders {
                for frame in sender.poll(now_ps) {
                    self.to_nic.push(now_ps, &frame);
                }
            }
            self.to_nic.release_due(now_ps);
            while let Some((time_ps, bytes)) = self.to_nic.take() {
                let arrival = Time::from_ps(time_ps + LATENCY_PS);
                let (classification, tag) = (None, 0);
                self.arriving.push_back(Frame { arrival, bytes, skip: 0, classification, tag });
            }
            now_ps += SLICE_PS;
            self.simulate(now_ps);
            self.from_nic.release_due(now_ps);
            while let Some((_, frame)) = self.from_nic.take() {
                self.acknowledge(&frame);
            }
        }
        // Whatever is still under way gets through, and no handler is left.
        self.to_nic.finish();
        self.simulate(now_ps + 1_000_000_000);
        self.finish(now_ps)
    }

    fn simulate(&mut self, until_ps: u64) {
        let Self { nic, arriving, from_nic, printed, .. } = self;
        let mut traffic = || arriving.pop_front().map_or(Offer::Nothing, Offer::Frame);
        let mut ears = Ears { from_nic, printed };
        nic.run(Time::from_ps(until_ps), &mut traffic, &mut ears);
    }

    /// Takes a frame at the senders' end: as a kernel does, only when its checksums are right.
    fn acknowledge(&mut self, frame: &[u8]) {
        let is_slmp = frame.len() >= 52 && frame[34..36] == SLMP_PORT.to_be_bytes();
        let is_intact = verify_checksums(frame).is_ok_and(|sums| sums == Checksums::ALL_GOOD);
        if !is_slmp || !is_intact {
            return;
        }
        let Some((header, rest)) = SlmpHeader::split(&frame[42..]) else { return };
        assert!(rest.is_empty() && header.flags == SlmpHeader::ACK, "{header:?}");
        let found = self.senders.iter_mut().find(|s| s.message().0 == header.message_id);
        if let Some(sender) = found {
            sender.acknowledge(header);
        }
    }

    fn finish(self, time_ps: u64) -> Outcome {
        let context = self.app.context("receiver").unwrap();
        let mut memory = vec![0; context.host_memory_bytes as usize];
        self.nic.read_host(context.host_memory_address, &mut memory);
        let machine = &self.app.machine.value;
        let records = (machine.cluster.count * machine.cluster.cores) as usize * PAGE;
        let slot_bytes = (memory.len() - records - PAGE) / SLOTS / PAGE * PAGE;
        for sender in &self.senders {
            let (id, data) = sender.message();
            let slot = id as usize % SLOTS;
            let word = |at: usize| {
                let at = records + slot * 64 + at;
                u32::from_le_bytes(memory[at..at + 4].try_into().unwrap())
            };
            let bytes = data.len() as u32;
            assert_eq!(word(0) & 0xff, 1, "message {id} is complete");
            assert_eq!([word(4), word(8), word(12)], [bytes, id, bytes], "message {id}");
            let at = records + PAGE + slot * slot_bytes;
            assert!(memory[at..at + data.len()] == *data, "message {id} differs");
        }
        Outcome {
            sent: self.senders.iter().map(|sender| sender.sent).sum(),
            repeated: self.senders.iter().map(|sender| sender.repeated).sum(),
            printed: String::from_utf8_lossy(&self.printed).into_owned(),
            damaged: self.to_nic.counts().corrupted + self.from_nic.counts().corrupted,
            time_ps,
            memory,
        }
    }
}

/// Messages with about so many packets in all.
fn senders(seed: u64, packets: usize) -> Vec<Sender> {
    let mut stream = Xorshift64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut random = move |limit: usize| (stream.draw() >> 20) as usize % limit;
    let shares = [40, 30, 20, 9, 1];
    let sender = |(index, share): (usize, usize)| {
        // Not more than a slot of a MiB takes.
        let (count, piece) = ((packets * share / 100).max(1), 32 + random(200));
        let bytes = (count - 1) * piece + 1 + random(piece);
        let data = (0..bytes).map(|_| random(256) as u8).collect();
        Sender::new(3 + index as u32, data, piece, [1, 4, 16, 64, 2][index])
    };
    shares.into_iter().enumerate().map(sender).collect()
}

fn go(name: &str, seed: u64, packets: usize, faults: &str, options: u32) -> Outcome {
    let faults = format!("{faults},hold=50us,seed={seed}").parse().unwrap();
    Run::new(app(name, options), senders(seed, packets), &faults).go()
}

#[test]
fn ten_thousand_packets_survive_loss_repetition_and_reordering() {
    if !has_gcc() {
        return;
    }
    let seed = seed("ten_thousand_packets_survive_loss_repetition_and_reordering");
    let faults = "loss=2%,dup=2%,reorder=10%,distance=8";
    let outcome = go("faults", seed, 10_000, faults, 0);
    assert!(outcome.sent > 10_000 && outcome.repeated > 200, "{}", outcome.repeated);
    assert_eq!(outcome.printed, "", "nothing is refused");
}

#[test]
fn damaged_frames_are_found_by_their_checksums() {
    if !has_gcc() {
        return;
    }
    let seed = seed("damaged_frames_are_found_by_their_checksums");
    let outcome = go("damage", seed, 1_500, "corrupt=3%,loss=1%,dup=1%", 2);
    assert!(outcome.damaged > 30 && outcome.repeated > 30, "{}", outcome.damaged);
    assert!(outcome.printed.contains("wrong checksum"), "{}", outcome.printed);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    if !has_gcc() {
        return;
    }
    let faults = "loss=5%,dup=5%,reorder=20%";
    let run = |name| go(name, 9, 400, faults, 0);
    assert_eq!(run("once"), run("again"));
}

#[test]
fn without_faults_nothing_is_sent_twice() {
    if !has_gcc() {
        return;
    }
    let outcome = go("none", 4, 600, "loss=0", 0);
    assert_eq!((outcome.repeated, outcome.printed.as_str()), (0, ""));
}

#[test]
fn links_that_make_no_sense_are_refused() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slmp");
    for (verb, link, complaint) in [
        ("run", "140", "goes with nanoservices"),
        ("run", "los=1%", "did you mean `loss`"),
        ("run", "loss=1%,way=both", "way=in"),
        ("up", "loss=150%", "a probability"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinion"));
        command.arg(verb).arg(&example).args(["--link", link]);
        if verb == "up" {
            command.args(["--tap", "pin0"]);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{link}: {text}");
        assert!(text.contains(complaint), "{link}: {text}");
    }
}
