//! The calls that led to a place, functions that were inlined included, as a debugger lists them.

use std::collections::HashMap;

use pinion_observe::fault::Registers;
use pinion_observe::fault::unwind;

use super::Symbols;

/// Reads memory from an address on; gives how many bytes there are.
pub type Memory<'m> = dyn Fn(u64, &mut [u8]) -> usize + 'm;

/// Bytes above the stack pointer that return addresses are looked for in.
const STACK_BYTES: usize = 4096;

/// What a core has at a stop.
pub struct Scene<'m> {
    /// The address of the instruction that is next.
    pub pc: u64,
    /// The registers.
    pub registers: Registers,
    /// Memory, as it sees it.
    pub memory: &'m Memory<'m>,
}

/// A call, or a function that was inlined into one.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Name of the function.
    pub function: String,
    /// Its file and line, if it is known.
    pub source: Option<(String, u32)>,
    /// The address of the instruction; of all calls but the innermost, of the one behind the call.
    pub pc: u64,
    /// An address within the instruction.
    pub within: u64,
    /// Functions that were inlined into it and lie further within; 0 of a call's innermost.
    pub level: usize,
    /// Whether it was inlined into the next.
    pub is_inlined: bool,
    /// Registers by DWARF's numbers, as far as they are known.
    pub registers: Vec<Option<u64>>,
    /// The canonical frame address.
    pub cfa: Option<u64>,
    /// Where the call returns to.
    pub returns_to: Option<u64>,
}

impl Symbols<'_> {
    /// Lists the calls that led to a place, the innermost first.
    pub fn frames(&self, scene: &Scene<'_>) -> Vec<Frame> {
        let pointer = scene.registers.stack_pointer();
        let mut stack = vec![0; STACK_BYTES];
        let count = (scene.memory)(pointer, &mut stack);
        stack.truncate(count);
        let calls = unwind::frames(&self.debug, scene.pc, &scene.registers, &(pointer, stack));
        let mut seen = HashMap::new();
        let mut frames = Vec::new();
        for unwind::Frame { call, registers, cfa, returns_to } in calls {
            let places = seen.entry(call.within).or_insert_with(|| self.debug.places(call.within));
            let count = places.len().max(1);
            for level in 0..count {
                let place = places.get(level);
                let named = place.and_then(|place| place.function.clone());
                let row = self.lines.row(call.within).filter(|_| level == 0);
                let by_row = row.map(|row| (self.lines.file(row.file).to_owned(), row.line));
                let source = by_row.or_else(|| Some((place?.file.clone()?, place?.line?)));
                frames.push(Frame {
                    function: named.unwrap_or_else(|| format!("{:#010x}", call.pc)),
                    source,
                    pc: call.pc,
                    within: call.within,
                    level,
                    is_inlined: level + 1 < count,
                    registers: registers.clone(),
                    cfa,
                    returns_to,
                });
            }
        }
        frames
    }
}
