//! Exceptions that ended a nanoservice: a node as it was left comes in; what each hart did not come
//! back from goes out, explained.

use pinion_nanopu::core::Failure;
use pinion_nanopu::machine::memory::MemorySection;
use pinion_nanopu::node::Node;
use pinion_sim::Clock;
use pinion_spin::listener::Fault as FaultKind;

use pinion_app::service::Service;
use pinion_observe::fault::{
    Explained, Fault, MessageOrigin, Origin, Registers, SHOWN_BYTES, ThreadOrigin, Threads,
};
use pinion_observe::report::Ending;

/// Bounds the bytes of a stack that are kept: the newest.
const STACK_BYTES: usize = 16 << 10;
/// Bytes of the longest instruction.
const INSTRUCTION_BYTES: usize = 4;
/// Bytes of a word of a message.
const WORD_BYTES: usize = 8;
/// The exceptions by which programs call their own trap handler.
const ENVIRONMENT_CALLS: [u32; 2] = [8, 11];

/// Explains what harts failed with, unless all went well.
pub fn faults(
    node: &Node,
    service: &Service,
    memory: &MemorySection,
    clock: Clock,
    ending: &Ending,
) -> Vec<Explained> {
    if matches!(ending, Ending::Finished | Ending::Exited { code: 0, .. }) {
        return Vec::new();
    }
    let found = (0..node.harts()).filter_map(|hart| {
        let failure = node.core(hart).failure.as_deref()?;
        (!ENVIRONMENT_CALLS.contains(&failure.cause)).then(|| fault(node, hart, failure, clock))
    });
    let found: Vec<Fault> = found.collect();
    if found.is_empty() {
        return Vec::new();
    }
    let file = std::fs::read(&service.built.elf).unwrap_or_default();
    let threads = Threads {
        name: &service.manifest.app.name,
        image: &service.image,
        file: &file,
        memory: (memory.base_address, memory.size.0),
    };
    found.into_iter().map(|fault| threads.explain(fault)).collect()
}

fn fault(node: &Node, hart: usize, failure: &Failure, clock: Clock) -> Fault {
    let registers = Registers::Rv64(failure.registers);
    let bytes = |address: u64, length: usize| {
        // The largest part that there is.
        let mut lengths = std::iter::successors(Some(length), |length| Some(length / 2));
        let found = lengths
            .by_ref()
            .take_while(|length| *length > 0)
            .find_map(|length| node.memory().bytes(address, length));
        found.unwrap_or_default()
    };
    let stack = registers.stack_pointer();
    let (message, head) = message(node, hart).unzip();
    let origin = ThreadOrigin { hart, context: node.interface(hart).context(), message };
    Fault {
        time: clock.time(failure.at),
        origin: Origin::Thread(origin),
        kind: FaultKind::Exception { cause: failure.cause },
        pc: failure.pc,
        address: failure.value,
        registers,
        instruction: bytes(failure.pc, INSTRUCTION_BYTES),
        stack: (stack, bytes(stack, STACK_BYTES)),
        trail: Vec::new(),
        packet: head.unwrap_or_default(),
        count: 1,
    }
}

/// Gives the message that a hart's thread began to read last, and its first bytes.
fn message(node: &Node, hart: usize) -> Option<(MessageOrigin, Vec<u8>)> {
    let last = node.interface(hart).last_message(SHOWN_BYTES.div_ceil(WORD_BYTES) as u64)?;
    // Address, context and length, from the top (nanoPU's application header).
    let header = last.application_header;
    let (address, port, bytes) = ((header >> 32) as u32, (header >> 16) as u16, header as u16);
    let mut head: Vec<u8> = last.words.iter().flat_map(|word| word.to_be_bytes()).collect();
    head.truncate(usize::from(bytes).min(SHOWN_BYTES));
    let is_done = last.is_done;
    Some((MessageOrigin { address: address.into(), port, bytes, is_done }, head))
}
