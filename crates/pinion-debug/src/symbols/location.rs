//! Where a variable is, at an instruction of a call: in memory, in registers, in pieces of both, or known
//! without being anywhere. What compilers write as expressions is evaluated with the call's registers.

use gimli::{EvaluationResult, Expression, Location, Piece, Value as Word};

use super::frames::{Frame, Memory};
use super::scopes::{Placed, Variable};
use super::values::Content;
use super::{Slice, Symbols};

/// Limits the steps of an evaluation, which a damaged expression may make endless.
const STEPS_MAX: u32 = 10_000;
/// Limits expressions within expressions.
const DEPTH_MAX: u32 = 8;

/// A call that expressions are evaluated in.
struct Within<'s, 'a> {
    symbols: &'s Symbols<'a>,
    unit: usize,
    frame: Option<&'s Frame>,
    memory: &'s Memory<'s>,
}

impl<'a> Symbols<'a> {
    /// Finds a variable of a call, or one of no function.
    pub fn find(
        &self,
        variable: &Variable<'a>,
        frame: Option<&Frame>,
        memory: &Memory<'_>,
    ) -> Content {
        let bytes = self.type_of(variable.type_id).bytes as usize;
        let within = Within { symbols: self, unit: variable.unit, frame, memory };
        within.content(&variable.place, bytes).unwrap_or(Content::Gone)
    }
}

impl<'a> Within<'_, 'a> {
    fn content(&self, place: &Placed<'a>, bytes: usize) -> Option<Content> {
        let known = |data: &[u8]| {
            let padded = data.iter().copied().chain(std::iter::repeat(0)).take(bytes);
            Content::Bytes(padded.map(Some).collect())
        };
        match place {
            Placed::Constant(number) => Some(known(&number.to_le_bytes())),
            Placed::Bytes(data) => Some(known(data.slice())),
            place => {
                let pieces = self.evaluate(self.expression(place)?, 0)?;
                Some(self.assemble(&pieces, bytes))
            }
        }
    }

    /// Chooses the expression that applies at the call's instruction.
    fn expression(&self, place: &Placed<'a>) -> Option<Expression<Slice<'a>>> {
        match place {
            Placed::Expression(expression) => Some(*expression),
            Placed::List(offset) => {
                let unit = &self.symbols.units[self.unit];
                let address = self.frame?.within;
                let mut list = self.symbols.dwarf.locations(unit, *offset).ok()?;
                while let Ok(Some(entry)) = list.next() {
                    if (entry.range.begin..entry.range.end).contains(&address) {
                        return Some(entry.data);
                    }
                }
                None
            }
            _ => None,
        }
    }

    fn evaluate(
        &self,
        expression: Expression<Slice<'a>>,
        depth: u32,
    ) -> Option<Vec<Piece<Slice<'a>>>> {
        let unit = &self.symbols.units[self.unit];
        let mut evaluation = expression.evaluation(unit.encoding());
        evaluation.set_max_iterations(STEPS_MAX);
        let mut result = evaluation.evaluate().ok()?;
        for _ in 0..STEPS_MAX {
            result = match result {
                EvaluationResult::Complete => return Some(evaluation.result()),
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(register.0)?;
                    evaluation.resume_with_register(Word::Generic(value))
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let word = self.read(address, usize::from(size))?;
                    evaluation.resume_with_memory(Word::Generic(word))
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.frame?.cfa?)
                }
                EvaluationResult::RequiresFrameBase => {
                    evaluation.resume_with_frame_base(self.frame_base(depth)?)
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address)
                }
                EvaluationResult::RequiresIndexedAddress { index, .. } => {
                    let address = self.symbols.dwarf.address(unit, index).ok()?;
                    evaluation.resume_with_indexed_address(address)
                }
                EvaluationResult::RequiresBaseType(offset) => {
                    let entry = unit.entry(offset).ok()?;
                    let kind = gimli::ValueType::from_entry(&entry).ok()??;
                    evaluation.resume_with_base_type(kind)
                }
                // What a register had when the function was entered is not known any more.
                _ => return None,
            }
            .ok()?;
        }
        None
    }

    fn frame_base(&self, depth: u32) -> Option<u64> {
        let scopes = self.symbols.scopes(self.frame?.within);
        let place = &scopes.first().filter(|_| depth < DEPTH_MAX)?.frame_base;
        let pieces = self.evaluate(self.expression(place)?, depth + 1)?;
        match pieces.first()?.location {
            Location::Address { address } => Some(address),
            // A register as a frame's base means what it holds.
            Location::Register { register } => self.register(register.0),
            Location::Value { value } => value.to_u64(u64::MAX).ok(),
            _ => None,
        }
    }

    fn register(&self, number: u16) -> Option<u64> {
        self.frame?.registers.get(usize::from(number)).copied().flatten()
    }

    fn read(&self, address: u64, bytes: usize) -> Option<u64> {
        let mut word = [0; 8];
        let part = word.get_mut(..bytes)?;
        ((self.memory)(address, part) == bytes).then(|| u64::from_le_bytes(word))
    }

    /// Puts pieces together.
    fn assemble(&self, pieces: &[Piece<Slice<'a>>], bytes: usize) -> Content {
        if let [Piece { size_in_bits: None, location: Location::Address { address }, .. }] = pieces
        {
            return Content::Memory(*address);
        }
        let mut content: Vec<Option<u8>> = Vec::new();
        for piece in pieces {
            let count = piece.size_in_bits.map_or(bytes, |bits| bits.div_ceil(8) as usize);
            // A size without reason is a damaged one.
            let count = count.min(bytes.saturating_sub(content.len()));
            content.extend(self.piece(piece, count));
        }
        content.resize(bytes, None);
        match content.iter().all(Option::is_none) {
            true => Content::Gone,
            false => Content::Bytes(content),
        }
    }

    fn piece(&self, piece: &Piece<Slice<'a>>, count: usize) -> Vec<Option<u8>> {
        let shift = piece.bit_offset.unwrap_or(0);
        let of_word = |word: Option<u64>| {
            let bytes = word.map(|word| word.checked_shr(shift as u32).unwrap_or(0).to_le_bytes());
            (0..count).map(|at| Some(*bytes?.get(at).unwrap_or(&0))).collect()
        };
        match piece.location {
            Location::Register { register } => of_word(self.register(register.0)),
            Location::Value { value } => of_word(value.to_u64(u64::MAX).ok()),
            Location::Bytes { value } => {
                (0..count).map(|at| value.slice().get(at).copied()).collect()
            }
            Location::Address { address } => {
                let mut data = vec![0; count];
                let read = (self.memory)(address, &mut data);
                let known = |(at, byte): (usize, &u8)| (at < read).then_some(*byte);
                data.iter().enumerate().map(known).collect()
            }
            _ => vec![None; count],
        }
    }
}
