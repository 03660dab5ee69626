//! The driver on stable Rust. In: a target, a seed, how long. Out: how many inputs were answered, or the one
//! that was not, as a file with the command that replays it.
//!
//! Nothing tells it which code ran. What is *said* of an input stands for that: the digits and names taken out
//! of it, a sentence that was not heard before makes its input one to go on from. So a run is its seed's alone.

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pinion_app::assets::fnv1a;
use pinion_sim::random::SplitMix64;

use crate::mutate::{below, mutate};
use crate::seeds;
use crate::targets::Target;

/// From when on the slowest input is worth looking at.
const SLOW: Duration = Duration::from_secs(1);

/// How long a run is, and what an input may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Number of inputs; the first ones are those that are kept.
    pub executions: u64,
    /// The longest time all of them take.
    pub duration: Duration,
    /// The longest time one of them takes; a reader that takes longer hangs.
    pub longest: Duration,
    /// The most memory that the process may have taken behind one of them.
    pub memory_bytes: u64,
    /// The most bytes of inputs that are kept to go on from: they are no reader's memory.
    pub kept_bytes: usize,
    /// Writes every input to its file before it is answered: for what ends the process.
    pub is_careful: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            executions: u64::MAX,
            duration: Duration::MAX,
            longest: Duration::from_secs(20),
            memory_bytes: 2 << 30,
            kept_bytes: 64 << 20,
            is_careful: false,
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of inputs that were answered.
    pub executions: u64,
    /// Number of different things that were said.
    pub sayings: usize,
    /// Bytes of the inputs that were kept to go on from.
    pub kept_bytes: usize,
    /// The longest time an input took.
    pub slowest: Duration,
}

/// An input that was not answered.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where the input lies.
    pub path: PathBuf,
    /// What happened.
    pub what: String,
    /// The command that repeats it.
    pub command: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}\n  input {}\n  again: {}", self.what, self.path.display(), self.command)
    }
}

/// What the watchman looks at.
struct Watched {
    since: Instant,
    input: Vec<u8>,
    has_ended: bool,
}

/// Gives mutated inputs to a target, those kept first. Files of inputs that fail go into `folder`, and the
/// slowest one (`.slow`), if it took a second.
///
/// # Errors
/// The first input that is answered by a panic. One that hangs, or takes memory without end, is written and
/// told, and ends the process: nothing could be tried behind it.
pub fn drive(
    target: &'static Target,
    seed: u64,
    limits: &Limits,
    folder: &Path,
) -> Result<Report, Failure> {
    let file = folder.join(format!("{}-{seed}.input", target.name));
    let watched = Arc::new(Mutex::new(Watched {
        since: Instant::now(),
        input: Vec::new(),
        has_ended: false,
    }));
    let (shared, at, bounds) = (Arc::clone(&watched), file.clone(), limits.clone());
    let watchman = std::thread::spawn(move || watch(target, &shared, &bounds, &at));
    let result = answers(target, seed, limits, &file, &watched);
    watched.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
    // It only sleeps.
    let _ = watchman.join();
    result
}

fn answers(
    target: &'static Target,
    seed: u64,
    limits: &Limits,
    file: &Path,
    watched: &Mutex<Watched>,
) -> Result<Report, Failure> {
    let mut random = SplitMix64::new(seed);
    let mut inputs = seeds::read(target.name, target.seeds);
    inputs.push(Vec::new());
    let (kept, begun) = (inputs.len() as u64, Instant::now());
    let (mut report, mut heard) = (Report::default(), HashSet::new());
    while report.executions < limits.executions.max(kept) && begun.elapsed() < limits.duration {
        let number = report.executions as usize;
        let input = match inputs.get(number).filter(|_| report.executions < kept) {
            Some(input) => input.clone(),
            None => {
                let mut input = inputs[below(&mut random, inputs.len())].clone();
                let other = &inputs[below(&mut random, inputs.len())];
                mutate(&mut random, &mut input, other, target.words, target.is_text);
                if let Some(mend) = target.mend {
                    mend(&mut input);
                }
                input
            }
        };
        if limits.is_careful {
            write(file, &input);
        }
        {
            let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
            watched.since = Instant::now();
            watched.input.clone_from(&input);
        }
        let begun = Instant::now();
        let said = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)))
            .map_err(|_| fails(target, file, &input, "a panic (its words are above)".to_owned()))?;
        let took = begun.elapsed();
        if took > report.slowest {
            report.slowest = took;
            if took > SLOW {
                write(&file.with_extension("slow"), &input);
            }
        }
        let is_new = heard.insert(saying(&said)) && report.executions >= kept;
        if is_new && report.kept_bytes + input.len() <= limits.kept_bytes {
            report.kept_bytes += input.len();
            inputs.push(input);
        }
        report.executions += 1;
    }
    report.sayings = heard.len();
    Ok(report)
}

/// Gives one input to a target.
pub fn replay(target: &Target, input: &[u8]) -> String {
    (target.run)(input)
}

/// Digests what was said without what is the input's own: quoted words, those that are none, and lines that show
/// the input. There may be millions of them, whose words would be most of the memory.
fn saying(said: &str) -> u64 {
    let is_own_line = |line: &&str| line.contains(" | ") || line.trim_end().ends_with('|');
    let outside = said
        .lines()
        .filter(|line| !is_own_line(line))
        .flat_map(|line| line.split(['`', '"']).step_by(2).flat_map(str::split_whitespace));
    let words = outside.map(|word| word.trim_matches(|letter: char| letter.is_ascii_punctuation()));
    let words = words.filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
    fnv1a(words.take(40).flat_map(|word| word.bytes().chain([b' '])))
}

/// Ends the process when an input takes too long, or the process too much memory.
fn watch(target: &Target, watched: &Mutex<Watched>, limits: &Limits, file: &Path) {
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.has_ended {
            return;
        }
        let (took, memory) = (watched.since.elapsed(), resident_bytes());
        let what = if took > limits.longest {
            format!("no answer within {} s", limits.longest.as_secs())
        } else if memory > limits.memory_bytes {
            format!("{} MiB of memory are taken", memory >> 20)
        } else {
            continue;
        };
        println!("FAIL {}: {}", target.name, fails(target, file, &watched.input, what));
        std::process::exit(1);
    }
}

/// Memory of this process.
fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn fails(target: &Target, file: &Path, input: &[u8], what: String) -> Failure {
    write(file, input);
    let command = format!("cargo run -p pinion-fuzz -- {} --input {}", target.name, file.display());
    Failure { path: file.to_owned(), what, command }
}

fn write(file: &Path, input: &[u8]) {
    if let Some(folder) = file.parent() {
        // What cannot be written is told with the file.
        let _ = fs::create_dir_all(folder);
    }
    if let Err(error) = fs::write(file, input) {
        eprintln!("cannot write {}: {error}", file.display());
    }
}
