//! What stands behind options: traffic, loads, faults, changes of a machine, rules, rates and times.

use pinion_hardware::choice::Choice;
use pinion_net::fault::FaultSpec;
use pinion_net::generator::{Generator, GeneratorSpec};
use pinion_net::load::LoadSpec;
use pinion_net::pacing::Rate;
use pinion_net::tap::InterfaceAddress;
use pinion_observe::trace::When;
use pinion_sim::config::{Bytes, Duration};
use pinion_spin::Machine as Spin;
use pinion_spin::matching::{Layout, Limits, MessageId, Mode, compile_rules, parse_rule};

use super::{Target, said, text};

pub const GENERATE: Target = Target::text("generate", generate, 10_000).words(&[
    "udp", "tcp", "icmp", "slmp", "raw", "arp", "size", "count", "rate", "gap", "messages",
    "packets", "seed", "sport", "dport", "src", "dst", "shuffle", "400g", "1us", "64-1500",
]);
pub const LOAD: Target = Target::text("load", load, 10_000).words(&[
    "requests",
    "gap",
    "exp",
    "fixed",
    "bimodal",
    "lognormal",
    "size",
    "contexts",
    "patience",
    "transport",
    "ndp",
    "homa",
    "udp",
    "seed",
    "dst",
    "window_packets",
    "outstanding",
    "clients",
]);
pub const FAULTS: Target = Target::text("faults", faults, 10_000).words(&[
    "loss", "dup", "reorder", "corrupt", "distance", "hold", "seed", "way", "in", "out", "both",
]);
pub const SET: Target = Target::text("set", set, 400).words(&[
    "cluster.count",
    "cluster.cores",
    "inbound.when_full",
    "l2_packet.bytes",
    "mpq.count",
    "clock_ghz",
    "matching.latency_cycles",
    "protection.message_timeout_cycles",
    "units",
    "kind",
]);
pub const RULES: Target = Target::text("rules", rules, 10_000).words(&[
    "udp",
    "tcp",
    "icmp.echo",
    "slmp",
    "ip.src",
    "ip.dst",
    "udp.dport",
    "u32(",
    "flow:src,sport",
    "field:offset=44,mask=0x3ff,shift=0",
    "packet",
    "context",
    "10.0.0.0/8",
    "1-2",
]);
pub const WORDS: Target = Target::text("words", words, 10_000).words(&[
    "KiB", "MiB", "GiB", "ns", "us", "ms", "s", "g", "m", "bit/s", "Gbit/s", "/24", "10.0.0.1",
    "cycles", "end", "..",
]);
pub const HARDWARE: Target = Target::text("hardware", hardware, 5000).words(&[
    "command_unit",
    "cluster_scheduler",
    "dispatcher",
    "mpq_engine",
    "jbsq",
    "thread_scheduler",
    "=own.sv",
    ",",
]);

fn generate(input: &[u8]) -> String {
    let text = text(input);
    let spec = match text.parse::<GeneratorSpec>() {
        Ok(spec) => spec,
        Err(error) => return error.to_string(),
    };
    let generator = Generator::new(spec);
    let total = generator.total_frames();
    let bytes: usize = generator.take(50).map(|frame| frame.bytes.len()).sum();
    format!("taken: {} {}", total.min(3), bytes.min(3))
}

fn load(input: &[u8]) -> String {
    said(text(input).parse::<LoadSpec>())
}

fn faults(input: &[u8]) -> String {
    said(text(input).parse::<FaultSpec>())
}

/// Changes of a machine, one in each line.
fn set(input: &[u8]) -> String {
    let overrides: Vec<String> = text(input).lines().map(str::to_owned).collect();
    said(pinion_app::machine::load::<Spin>("pspin", &overrides, input.len() % 2 == 1))
}

/// The rules of a context, one in each line; the last one says what a message is.
fn rules(input: &[u8]) -> String {
    let text = text(input);
    let lines: Vec<&str> = text.lines().collect();
    let message = MessageId::parse(lines.last().copied().unwrap_or_default());
    let both = [Layout::Ethernet, Layout::Ip].map(|layout| {
        let each = lines.iter().map(|line| said(parse_rule(line, layout))).next_back();
        format!(
            "{} {}",
            said(compile_rules(&lines, Mode::And, &Limits::default(), layout)),
            each.unwrap_or_default()
        )
    });
    format!("{} {}", both.concat(), said(message))
}

/// Units that are hardware.
fn hardware(input: &[u8]) -> String {
    let texts: Vec<String> = text(input).split(',').map(str::to_owned).collect();
    match Choice::read(&texts, input.len() % 2 == 1, "waves".into()) {
        Ok(choice) => format!("{} {}", choice.summary(), choice.own_file().is_some()),
        Err(error) => error.to_string(),
    }
}

/// Single words.
fn words(input: &[u8]) -> String {
    let text = text(input);
    let answers = [
        said(text.parse::<Bytes>()),
        said(text.parse::<Duration>()),
        said(text.parse::<Rate>()),
        said(text.parse::<InterfaceAddress>()),
        said(text.parse::<When>()),
        said(text.parse::<pinion_app::traffic::Pace>()),
    ];
    answers.concat()
}
