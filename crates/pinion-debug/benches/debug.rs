//! How fast a debugged run goes, forward and back: PsPIN with all its HPUs busy.
//!
//! `cargo bench -p pinion-debug` prints the time of a million simulated cycles of 1 ns; the bar for the
//! way back is 2 s.

use std::fs;
use std::path::{Path, PathBuf};

use divan::Bencher;
use pinion_app::app::{App, Options};
use pinion_app::traffic::Packets;
use pinion_debug::{Goal, Position, Reason, Timeline};

/// What is gone forward and back.
const CYCLES: u64 = 1_000_000;

fn main() {
    divan::main();
}

/// Puts a calibration program with a manifest into a folder.
fn application() -> PathBuf {
    let elves = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/pspin/elf");
    let folder = std::env::temp_dir().join(format!("pinion-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(elves.join("words.elf"), folder.join("words.elf")).expect("a calibration program");
    let manifest = "[app]\nname = \"words\"\nelf = \"words.elf\"\n\n[[context]]\nname = \"all\"\n\
                    match = [\"udp\"]\npayload = \"reduce\"\nhost_memory = \"1MiB\"\n\
                    scratchpad = \"16KiB\"\nhandler_memory = \"64KiB\"\n";
    fs::write(folder.join("app.toml"), manifest).expect("a manifest");
    folder
}

/// Begins a run whose HPUs are busy from a cycle on that it has come to.
fn begin() -> Timeline {
    let folder = application();
    let app = App::load(&folder, &Options::default()).expect("it fits");
    let packets = Packets::generate("udp,size=1024,count=200000,rate=400g", None, None);
    let timeline = Timeline::new(&app, packets.expect("packets")).expect("it begins");
    fs::remove_dir_all(folder).expect("its folder");
    timeline
}

/// Goes to a cycle.
fn go_to(timeline: &mut Timeline, cycle: u64) {
    let to = Position::of_units(cycle);
    timeline.go(true, Goal::Position(to)).expect("it goes on");
    assert_eq!(timeline.position(), to);
}

/// From the end of a million cycles to their beginning: nothing stops in between.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn debug_reverse_continue(bencher: Bencher<'_, '_>) {
    let there = || {
        let mut timeline = begin();
        go_to(&mut timeline, CYCLES);
        timeline
    };
    bencher.with_inputs(there).bench_local_values(|mut timeline| {
        let arrival = timeline.go(false, Goal::Condition).expect("it goes back");
        assert_eq!(arrival.reason, Reason::Begin);
        timeline
    });
}

/// A million cycles forward, with a look at every one for a stop.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn debug_continue(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(begin).bench_local_values(|mut timeline| {
        let to = Position::of_units(CYCLES);
        timeline.conditions.breakpoints.push(0);
        while timeline.position() < to {
            timeline.begin(true, Goal::Condition, None, None);
            for _ in 0..CYCLES / 512 {
                assert!(timeline.advance(std::time::Duration::ZERO).expect("it goes on").is_none());
            }
            timeline.stop();
        }
        timeline
    });
}
