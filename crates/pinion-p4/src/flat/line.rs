//! Parsers that take one way only, as those of most transports do: Ethernet, IPv4, one protocol. In: operations.
//! Out: what is compared, and what is loaded.

use super::{Flat, Line, LineLoad, Op, Register};

impl Flat {
    /// Finds the parser's only way, if it has one.
    pub(super) fn find_line(&mut self) {
        self.line = self.line_of();
    }

    fn line_of(&self) -> Option<Line> {
        let constant = |register: Register| {
            let known = self.initial.iter().find(|(known, _)| *known == register);
            known.map_or(0, |(_, value)| *value)
        };
        let last = self.fewest_bytes.checked_sub(8)?;
        // Eight bytes that every packet has, and how many bits are behind those that are wanted.
        let window = |at: u16, bits: usize| {
            let start = usize::from(at).min(last);
            let behind = (8 * (start + 8)).checked_sub(8 * usize::from(at) + bits)?;
            Some((start as u16, behind as u16))
        };
        let mut line = Line::default();
        let mut ops = self.parser.iter();
        loop {
            let (to, at, bits) = match *ops.next()? {
                Op::JumpUnlessFrame { at, mask, key, to }
                    if self.parser.get(usize::from(to)) == Some(&Op::Reject)
                        && line.loads.is_empty() =>
                {
                    line.checks.push((at, constant(mask), constant(key)));
                    continue;
                }
                Op::LoadBits { to, at, drop, mask } => {
                    line.loads.push(LineLoad { to, at, drop, mask: constant(mask) });
                    continue;
                }
                Op::Load8 { to, at } => (to, at, 8),
                Op::Load16 { to, at } => (to, at, 16),
                Op::Load32 { to, at } => (to, at, 32),
                Op::Load48 { to, at } => (to, at, 48),
                Op::Take { bytes } if ops.next() == Some(&Op::Accept) => {
                    line.taken = bytes.into();
                    break;
                }
                _ => return None,
            };
            let (at, drop) = window(at, bits)?;
            line.loads.push(LineLoad { to, at, drop, mask: (1 << bits) - 1 });
        }
        let is_sure = |at: u16| usize::from(at) <= last;
        let all_sure = line.checks.iter().all(|(at, ..)| is_sure(*at))
            && line.loads.iter().all(|load| is_sure(load.at));
        all_sure.then_some(line)
    }
}
