//! The loops that a handler was in when the watchdog ended it: the instructions around a place come
//! in, the lines of the innermost loop go out. A loop is a branch or jump back to or before the
//! place, from there or behind it.

use std::collections::BTreeMap;

use pinion_isa::{Class, Instruction};

use crate::words::ranges;

use super::program::{Code, Debug, Program};

/// A loop in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Name of the function it is in.
    pub function: Option<String>,
    /// Name of the lines by file: `flood.c:12-14, 20`.
    pub lines: String,
}

/// Finds the innermost loop around an address, if its function has one there.
pub fn around(program: &Program<'_>, debug: &Debug<'_>, address: u64) -> Option<Loop> {
    let Code::RiscV(extensions) = program.code else { return None };
    let function = debug.function(address)?;
    let all: Vec<_> = program.image.instructions_in(function.clone(), extensions).collect();
    let back = all.iter().filter_map(|(at, instruction)| {
        let target = target(*at, instruction)?;
        let is_around = target <= address && address <= *at && target >= function.start;
        is_around.then_some(target..*at + u64::from(instruction.length))
    });
    let range = back.min_by_key(|range| range.end - range.start)?;
    let inside = all.iter().map(|(at, _)| *at).filter(|at| range.contains(at));
    let name = program.image.symbol_at(address).map(|symbol| symbol.name.clone());
    Some(Loop { function: name, lines: lines(debug, inside)? })
}

/// Finds the loops in a trail of instructions, those with the most steps first: the functions in
/// which some instruction came again.
pub fn walked(program: &Program<'_>, debug: &Debug<'_>, trail: &[u32]) -> Vec<Loop> {
    let mut functions: BTreeMap<&str, BTreeMap<u64, usize>> = BTreeMap::new();
    for address in trail.iter().map(|address| u64::from(*address)) {
        let Some(symbol) = program.image.symbol_at(address) else { continue };
        *functions.entry(&symbol.name).or_default().entry(address).or_default() += 1;
    }
    let mut found: Vec<_> = functions
        .into_iter()
        .filter(|(_, steps)| steps.values().any(|times| *times > 1))
        .map(|(name, steps)| (steps.values().sum::<usize>(), name, steps))
        .collect();
    found.sort_by_key(|(steps, ..)| std::cmp::Reverse(*steps));
    let each = found.into_iter().filter_map(|(_, name, steps)| {
        let lines = lines(debug, steps.into_keys())?;
        Some(Loop { function: Some(name.to_owned()), lines })
    });
    each.collect()
}

/// Gives where a branch or a jump that is no call goes.
fn target(at: u64, instruction: &Instruction) -> Option<u64> {
    let goes = match instruction.class {
        Class::Branch => true,
        Class::Jump => instruction.rd == 0,
        _ => false,
    };
    goes.then(|| at.wrapping_add_signed(i64::from(instruction.imm)))
}

/// Writes the lines that instructions were compiled from: the user's where there are any.
fn lines(debug: &Debug<'_>, addresses: impl Iterator<Item = u64>) -> Option<String> {
    let mut own: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut other: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for address in addresses {
        for place in debug.places(address) {
            let (Some(file), Some(line)) = (&place.file, place.line) else { continue };
            let name = file.rsplit('/').next().unwrap_or(file).to_owned();
            let lines = if place.is_of_sdk() { &mut other } else { &mut own };
            lines.entry(name).or_default().push(line);
        }
    }
    let chosen = if own.is_empty() { other } else { own };
    let each = chosen.into_iter().map(|(file, lines)| format!("{file}:{}", ranges(lines)));
    let text = each.collect::<Vec<_>>().join(", ");
    (!text.is_empty()).then_some(text)
}
