//! What a packet costs in the NIC alone, without matching and without anybody who listens.
//!
//! `packets empty COUNT` runs so many packets of 64 B whose handler does nothing, `packets reduce COUNT` and
//! `packets aggregate COUNT` such of 1,024 B that are added word by word, into L1 and into a register;
//! `tests/speed/run.py` counts the host instructions of that.

use std::path::PathBuf;

use pinion_isa::elf::Image;
use pinion_sim::{Time, config};
use pinion_spin::listener::Deaf;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{
    Classification, ContextId, ExecutionContext, Frame, Handler, Machine, Nic, Offer, Outcome,
};

const MESSAGES: u64 = 8;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["empty", count] => run(("empty", "ph"), 64, count.parse().expect("a number")),
        [handler @ ("reduce" | "aggregate"), count] => {
            run(("words", handler), 1024, count.parse().expect("a number"));
        }
        _ => println!("say empty, reduce or aggregate, and how many"),
    }
}

/// Runs so many packets of `bytes` bytes as fast as the NIC takes them; prints how many handlers have run.
fn run((program, handler): (&str, &str), bytes: u32, count: u64) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let machine: Machine = config::load_file(&root.join("machines/pspin.toml"), &[])
        .expect("the published machine")
        .value;
    let file = root.join(format!("tests/calibration/pspin/elf/{program}.elf"));
    let image = Image::read(&file).expect("it is there");
    let symbol = image.require(handler).expect("its handler");
    let context = ExecutionContext {
        payload_handler: Some(Handler {
            name: handler.to_owned(),
            address: symbol.address as u32,
            bytes: symbol.size as u32,
        }),
        handler_memory_address: 0x1c30_0000,
        handler_memory_bytes: 64 << 10,
        scratchpad_bytes: 16 << 10,
        ..ExecutionContext::default()
    };
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    let mut nic = Nic::new(machine, &image, vec![context], engine).expect("it boots");
    let mut index = 0;
    let mut next = || {
        if index == count {
            return Offer::End;
        }
        index += 1;
        Offer::Frame(Frame {
            arrival: Time::ZERO,
            bytes: vec![index as u8; bytes as usize],
            skip: 0,
            classification: Some(Classification {
                context: ContextId(0),
                message: ((index - 1) % MESSAGES) as u32,
                end_of_message: index + MESSAGES > count,
                l1_bytes: bytes,
            }),
            tag: 0,
        })
    };
    assert_eq!(nic.run(Time::MAX, &mut next, &mut Deaf), Outcome::Finished);
    println!("{} handlers, {} instructions", nic.totals().processed, nic.totals().instructions);
}
