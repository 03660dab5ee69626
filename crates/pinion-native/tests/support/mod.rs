//! Compiles a program as `sdk/native/sdk.toml` says, and lays out one context, without the command.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion_isa::elf::Image;
use pinion_sim::config;
use pinion_spin::matching::{
    ContextMatch, EndOfMessage, Layout, Limits, MatchingEngine, MessageId, Mode, Ruleset,
    compile_rules,
};
use pinion_spin::{ExecutionContext, Handler, Machine};
use serde::Deserialize;

#[derive(Deserialize)]
struct Sdk {
    runtime: Runtime,
    include: Include,
    flags: Flags,
    gcc: Compiler,
}

#[derive(Deserialize)]
struct Runtime {
    sources: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Include {
    ethernet: Vec<PathBuf>,
    system: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Flags {
    compile: Vec<String>,
    c: Vec<String>,
    link: Vec<String>,
}

#[derive(Deserialize)]
struct Compiler {
    command: Vec<String>,
    flags: Vec<String>,
}

/// Finds the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Loads the published machine.
pub fn machine() -> Machine {
    let path = root().join("machines/pspin.toml");
    config::load_file(&path, &[]).expect("the published machine").value
}

/// Compiles sources; `None` where this computer has no C compiler.
pub fn compile(name: &str, sources: &[PathBuf], defines: &[String]) -> Option<Image> {
    let dir = root().join("sdk/native");
    let sdk: Sdk = config::load_file(&dir.join("sdk.toml"), &[]).expect("the SDK's settings").value;
    let out = std::env::temp_dir().join(format!("pinion-native-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&out).expect("a folder");
    let script = std::fs::read_to_string(dir.join("native.ld.in")).expect("the linker script");
    let values = [
        ("PROGRAM_ORIGIN", "0x1d000000"),
        ("L1_BASE", "0x10000000"),
        ("L1_RUNTIME_OFFSET", "0x400"),
        ("STACK_BYTES", "0x400"),
        ("CORES", "8"),
        ("L2_ORIGIN", "0x1c000000"),
        ("L2_BYTES", "0x300000"),
    ];
    let fill =
        |text: String, (name, value): (&str, &str)| text.replace(&format!("@{name}@"), value);
    std::fs::write(out.join("native.ld"), values.into_iter().fold(script, fill)).expect("written");
    let mut command = Command::new(&sdk.gcc.command[0]);
    command.args(&sdk.gcc.flags).args(&sdk.flags.compile).args(&sdk.flags.c);
    command.args(&sdk.flags.link);
    command.args(["-DNB_CLUSTERS=4", "-DNB_CORES=8"]);
    command.args(defines.iter().map(|define| format!("-D{define}")));
    for folder in &sdk.include.ethernet {
        command.arg("-I").arg(dir.join(folder));
    }
    for folder in &sdk.include.system {
        command.arg("-isystem").arg(dir.join(folder));
    }
    command.arg("-T").arg(out.join("native.ld")).arg("-o").arg(out.join("program.elf"));
    command.args(sdk.runtime.sources.iter().map(|source| dir.join(source))).args(sources);
    let done = match command.output() {
        Ok(done) => done,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{command:?}: {error}"),
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let bytes = std::fs::read(out.join("program.elf")).expect("the program");
    std::fs::remove_dir_all(&out).expect("removed");
    Some(Image::parse_x32(&bytes, name).expect("a program for the native engine"))
}

/// Lays out contexts one behind the other; each has 256 KiB of handler memory, 512 KiB of
/// scratchpad on every cluster or 4 KiB where there are several, and 1 MiB of host memory.
pub fn contexts(image: &Image, handlers: &[[&str; 3]]) -> Vec<ExecutionContext> {
    let handler = |name: &str| {
        (!name.is_empty()).then(|| {
            let symbol = image.require(name).expect("a handler");
            Handler {
                name: name.to_owned(),
                address: symbol.address as u32,
                bytes: symbol.size as u32,
            }
        })
    };
    let scratchpad_bytes = if handlers.len() == 1 { 512 << 10 } else { 4 << 10 };
    let context = |(index, names): (usize, &[&str; 3])| {
        let index = index as u32;
        ExecutionContext {
            name: names.concat(),
            header_handler: handler(names[0]),
            payload_handler: handler(names[1]),
            completion_handler: handler(names[2]),
            handler_memory_address: 0x1c30_0000 + index * (256 << 10),
            handler_memory_bytes: 256 << 10,
            host_memory_address: (1 << 60) + u64::from(index) * (1 << 20),
            host_memory_bytes: 1 << 20,
            scratchpad_offset: index * scratchpad_bytes,
            scratchpad_bytes,
            ..ExecutionContext::default()
        }
    };
    handlers.iter().enumerate().map(context).collect()
}

/// Makes an engine that sends packets to the contexts whose rules they match; `packets` per message
/// of a flow, 1: every packet is a message.
pub fn matching(rules: &[&str], packets: u32) -> MatchingEngine {
    let limits = Limits { rules: 8, rulesets: 64, ..Limits::default() };
    let compile =
        |rule: &str| compile_rules(&[rule], Mode::And, &limits, Layout::Ethernet).expect("rules");
    let entry = |rule: &&str| ContextMatch {
        ruleset: Ruleset {
            mode: Mode::And,
            rules: compile(rule),
            end_of_message: match packets {
                1 => EndOfMessage::Always,
                count => EndOfMessage::Packets(count),
            },
        },
        message: match packets {
            1 => MessageId::PerPacket,
            _ => MessageId::parse("flow").expect("a message"),
        },
        enabled: true,
    };
    MatchingEngine::new(rules.iter().map(entry).collect(), limits).expect("an engine")
}
