//! The handlers of the examples: each application's sources, the SDK's runtime and the harness
//! `programs/handlers.c` become a bare-metal program, and memory holds what to do: the packets of
//! the application's traffic, which handler gets which, and the tasks' memory regions.
//!
//! The harness carries out commands and copies in memory, so what the example is expected to send
//! and to write to host memory must be there at the end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use pinion_isa::elf::Image;
use pinion_isa::flat::FlatMachine;
use toml::{Table, Value};

use crate::generate::Kind;
use crate::layout::BASE;
use crate::{config, elf};

const MEMORY_BYTES: usize = 16 << 20;
/// Where the program, its data and its stack must end; `PLAN` in handlers.c.
const PLAN: u32 = BASE + 0x2_0000;
const L1_PACKETS: u32 = BASE + 0x6_0000;
const HANDLER_MEMORY: u32 = BASE + 0x8_0000;
const PACKETS: u32 = BASE + 0x10_0000;
const SENT: u32 = BASE + 0x30_0000;
const HOST: u32 = BASE + 0x40_0000;
const SCRATCHPADS: u32 = BASE + 0x70_0000;
/// Where SLMP's packets go (FPsPIN paper), and where in a frame its flags and message id lie.
const SLMP_PORT: u16 = 9330;
const SLMP_FLAGS: usize = 42;
const SLMP_MESSAGE: usize = 44;
/// Bytes of host memory of a context that does not say.
const HOST_DEFAULT: u32 = 1 << 20;
/// Examples that are not run, and why.
const LEFT_OUT: [(&str, &str); 6] = [
    ("datatypes", "its host memory is larger than there is here"),
    ("energy", "its handlers need Xpulp, which QEMU does not have"),
    ("gemm_overlap", "its handlers are those of datatypes"),
    ("multi_tenant", "its handlers crash and never end, on purpose"),
    ("slmp", "its host memory is larger than there is here"),
    ("to_host", "its contexts have host memory each, of which there is one here"),
];
const CLUSTERS: u32 = 4;
const CORES: u32 = 8;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_toml(path: &Path) -> Table {
    let text = String::from_utf8(read(path)).expect("TOML is UTF-8");
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Gives a size such as "4KiB", 0 if there is none.
fn size(value: Option<&Value>) -> u32 {
    let Some(text) = value.and_then(Value::as_str) else {
        return value.and_then(Value::as_integer).unwrap_or(0) as u32;
    };
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap());
    let shift = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        _ => panic!("size {text}: unknown unit"),
    };
    digits.parse::<u32>().expect("a number") << shift
}

/// Gives the frames of a capture.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = read(path);
    let mut rest = &bytes[24..];
    let mut frames = Vec::new();
    while let Some((header, data)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(header[8..12].try_into().expect("four bytes")) as usize;
        frames.push(data[..length].to_vec());
        rest = &data[length..];
    }
    frames
}

/// Says whether a frame (IPv4 without options) fits a rule of a manifest.
fn matches(rule: &str, frame: &[u8]) -> bool {
    const ICMP: u8 = 1;
    const UDP: u8 = 17;
    if frame.len() < 42 || frame[12..14] != [8, 0] {
        return false;
    }
    match rule.split_once("udp.dport=") {
        Some((_, port)) => {
            let port: u16 = port.parse().expect("a port");
            frame[23] == UDP && frame[36..38] == port.to_be_bytes()
        }
        None if rule == "slmp" => matches(&format!("udp.dport={SLMP_PORT}"), frame),
        None if rule == "udp" => frame[23] == UDP,
        None if rule == "icmp.echo" => frame[23] == ICMP && frame[34] == 8,
        None => panic!("rule {rule}: teach it to this test"),
    }
}

/// An example, compiled.
pub struct Example {
    folder: PathBuf,
    manifest: Table,
    image: Image,
}

/// Says whether an example is made of packet handlers, not a nanoservice.
fn is_packet_handler(folder: &Path) -> bool {
    !read_toml(&folder.join("app.toml")).contains_key("nanoservice")
}

/// Compiles all examples of packet handlers.
///
/// # Panics
/// When one does not compile.
pub fn compile() -> Vec<Example> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(repository().join("examples"))
        .expect("there are examples")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.join("app.toml").exists() && is_packet_handler(path))
        .filter(|path| !LEFT_OUT.iter().any(|(name, _)| path.ends_with(name)))
        .collect();
    folders.sort();
    assert!(!folders.is_empty(), "no examples");
    folders.into_iter().map(Example::compile).collect()
}

impl Example {
    fn compile(folder: PathBuf) -> Self {
        let manifest = read_toml(&folder.join("app.toml"));
        let sdk = repository().join("sdk");
        let build = read_toml(&sdk.join("sdk.toml"));
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let name = folder.file_name().expect("it has a name").to_string_lossy();
        let elf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.elf"));
        let packet = manifest["app"].get("packet").and_then(Value::as_str).unwrap_or("ethernet");
        let mut command = Command::new(elf::COMPILER);
        command
            .args(strings(&build["flags"]["compile"]))
            .args(strings(&build["flags"]["c"]))
            .args(strings(&build["gcc"]["flags"]))
            .args([format!("-DNB_CLUSTERS={CLUSTERS}"), format!("-DNB_CORES={CORES}")])
            .arg("-include")
            .arg(programs.join("handlers.h"))
            .arg("-I")
            .arg(&folder);
        for include in strings(&build["include"][packet]) {
            command.arg("-I").arg(sdk.join(include));
        }
        for include in strings(&build["include"]["system"]) {
            command.arg("-isystem").arg(sdk.join(include));
        }
        let runtime =
            strings(&build["runtime"]["sources"]).filter(|source| !source.ends_with("boot.S"));
        command
            .arg("-T")
            .arg(programs.join("link.ld"))
            .args(strings(&build["flags"]["link"]))
            .args(["start.S", "handlers.c"].map(|source| programs.join(source)))
            .args(runtime.map(|source| sdk.join(source)))
            .args(strings(&manifest["app"]["sources"]).map(|source| folder.join(source)))
            .args(strings(&build["gcc"]["libraries"]))
            .arg("-o")
            .arg(&elf);
        let status = command.status().expect("the compiler can be started");
        assert!(status.success(), "{name}: {command:?} failed");
        let image = Image::read(&elf).unwrap_or_else(|error| panic!("{error}"));
        Self { folder, manifest, image }
    }

    /// Runs the example on both sides.
    ///
    /// # Panics
    /// When they disagree, or the handlers do not do what the example's expectations say.
    pub fn compare(&self, emulator: &str) {
        let stack_top = self.image.require("stack_top").expect("link.ld defines it").address;
        assert!(stack_top <= u64::from(PLAN), "{}: program too long", self.image.name);
        let mut machine =
            FlatMachine::<u32>::new(&config(Kind::Integer, false), BASE, MEMORY_BYTES);
        machine.load_image(&self.image).unwrap_or_else(|error| panic!("{error}"));
        let expected = read_toml(&self.folder.join("expect.toml"));
        let run = &expected["run"][0];
        let input = frames(&self.folder.join(run["input"].as_str().expect("a file")));
        self.prepare(&mut machine, &input);
        let machine = elf::compare_machine(emulator, &self.image.name, machine, Kind::Integer);
        self.check(&machine, run);
    }

    fn contexts(&self) -> &[Value] {
        self.manifest["context"].as_array().expect("contexts")
    }

    /// Gives the largest size that a context asks for.
    fn largest(&self, key: &str) -> u32 {
        self.contexts().iter().map(|context| size(context.get(key))).max().unwrap_or(0)
    }

    /// Puts the packets, the tasks' memory and what to do into memory.
    fn prepare(&self, machine: &mut FlatMachine<u32>, input: &[Vec<u8>]) {
        let mut load = |address, bytes: &[u8]| {
            machine.load(address, bytes).unwrap_or_else(|error| panic!("{error}"));
        };
        for context in self.contexts() {
            if let Some(file) = context.get("handler_memory_image").and_then(Value::as_str) {
                load(HANDLER_MEMORY, &read(&self.folder.join(file)));
            }
            if let Some(file) = context.get("host_memory_image").and_then(Value::as_str) {
                load(HOST, &read(&self.folder.join(file)));
            }
        }
        let mut at = PACKETS;
        let mut steps = Steps::default();
        for frame in input {
            load(at, frame);
            let rules = |context: &Value| strings(&context["match"]).all(|r| matches(r, frame));
            if let Some(context) = self.contexts().iter().find(|context| rules(context)) {
                steps.add(&self.image, context, at, frame);
            }
            at = (at + frame.len() as u32).next_multiple_of(64);
        }
        let scratchpad = self.largest("scratchpad");
        assert!(at <= SENT && SCRATCHPADS + CLUSTERS * scratchpad <= BASE + MEMORY_BYTES as u32);
        let says = self.contexts().iter().any(|context| context.get("host_memory").is_some());
        let host = if says { self.largest("host_memory") } else { HOST_DEFAULT };
        let plan = [
            [HANDLER_MEMORY, self.largest("handler_memory"), SCRATCHPADS, scratchpad],
            [HOST, host, L1_PACKETS, SENT],
        ];
        let words = plan.into_iter().flatten().chain([steps.words.len() as u32 / 6]);
        let plan: Vec<u8> = words.chain(steps.words).flat_map(u32::to_le_bytes).collect();
        assert!(plan.len() <= (L1_PACKETS - PLAN) as usize, "too many packets");
        load(PLAN, &plan);
    }

    /// Checks what the handlers sent and wrote to host memory.
    fn check(&self, machine: &FlatMachine<u32>, run: &Value) {
        if let Some(file) = run.get("output").and_then(Value::as_str) {
            let mut expected = frames(&self.folder.join(file));
            let mut sent = Vec::new();
            let mut at = SENT;
            while let length @ 1.. = word(machine, at) {
                sent.push(machine.bytes(at + 4, length as usize).expect("in memory").to_vec());
                at += 4 + length;
            }
            expected.sort();
            sent.sort();
            assert!(sent == expected, "{}: sends other packets than {file}", self.image.name);
        }
        for memory in run.get("host_memory").and_then(Value::as_array).into_iter().flatten() {
            let at = HOST + memory["offset"].as_integer().expect("an offset") as u32;
            let expected = match memory.get("words").and_then(Value::as_array) {
                Some(words) => words
                    .iter()
                    .flat_map(|word| (word.as_integer().expect("a word") as u32).to_le_bytes())
                    .collect(),
                None => read(&self.folder.join(memory["file"].as_str().expect("a file"))),
            };
            let found = machine.bytes(at, expected.len());
            let name = &self.image.name;
            assert!(found == Some(&expected[..]), "{name}: other host memory at {at:#x}");
        }
    }
}

fn word(machine: &FlatMachine<u32>, address: u32) -> u32 {
    let bytes = machine.bytes(address, 4).expect("in memory");
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// The handlers to call, six words each (`step_t` in handlers.c).
#[derive(Default)]
struct Steps {
    words: Vec<u32>,
    /// Of each flow of messages that is under way: its number and the packets so far.
    messages: HashMap<Vec<u8>, (u32, u32)>,
    count: u32,
}

impl Steps {
    /// Adds the handlers that a packet at an address calls.
    fn add(&mut self, image: &Image, context: &Value, at: u32, frame: &[u8]) {
        let text = |key| context.get(key).and_then(Value::as_str);
        // Packets of a message; `None`: its last one says so.
        let most: Option<u32> = match text("end_of_message").map(|rule| rule.split_once('=')) {
            Some(Some(("packets", packets))) => Some(packets.parse().expect("a number")),
            Some(None) if text("end_of_message") == Some("slmp.eom") => None,
            Some(_) => panic!("messages that end by something else: teach it to this test"),
            None => Some(1),
        };
        // A flow has its own addresses and ports, an SLMP message its id besides.
        let mut key = frame[26..38].to_vec();
        match text("message") {
            Some("field:offset=44") => key.extend(&frame[SLMP_MESSAGE..SLMP_MESSAGE + 4]),
            Some(other) if other.starts_with("field") => panic!("{other}: teach it to this test"),
            _ => {}
        }
        let flow = self.messages.entry(key).or_insert_with(|| {
            self.count += 1;
            (self.count - 1, 0)
        });
        flow.1 += 1;
        let (number, packets) = *flow;
        let is_last = match most {
            Some(most) => packets == most,
            None => frame[SLMP_FLAGS] & 0x80 != 0,
        };
        if is_last {
            let all = self.messages.len();
            self.messages.retain(|_, (other, _)| *other != number);
            debug_assert_eq!(self.messages.len() + 1, all);
        }
        let length = frame.len() as u32;
        let l1_bytes =
            context.get("l1_bytes").map_or(length, |bytes| size(Some(bytes)).min(length));
        let hpu = self.words.len() as u32 / 6 * 11 % (CLUSTERS * CORES);
        let due = [("header", packets == 1), ("payload", true), ("completion", is_last)];
        for (key, _) in due.into_iter().filter(|(_, due)| *due) {
            if let Some(name) = text(key) {
                let handler = image.require(name).unwrap_or_else(|error| panic!("{error}"));
                self.words.extend([handler.address as u32, at, length, l1_bytes, number, hpu]);
            }
        }
    }
}
