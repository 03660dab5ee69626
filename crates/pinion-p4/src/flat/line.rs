//! Parsers that take one way only, as those of most transports do: Ethernet, IPv4, one protocol. In: operations.
//! Out: what is compared, and what is loaded.

use super::{Flat, Line, LineLoad, Op};

impl Line {
    /// Adds a comparison, to one that looks at the same bytes if there is one.
    fn check(&mut self, at: u16, mask: u64, key: u64) {
        for (first, all, keys) in &mut self.checks {
            let Some(behind) = at.checked_sub(*first).filter(|bytes| *bytes < 8) else { continue };
            let bits = 8 * u32::from(behind);
            let (near, near_key) = (mask >> bits, key >> bits);
            if near << bits == mask && *all & near == 0 {
                (*all, *keys) = (*all | near, *keys | near_key);
                return;
            }
        }
        self.checks.push((at, mask, key));
    }
}

impl Flat {
    /// Finds the parser's only way, if it has one.
    pub(super) fn find_line(&mut self) {
        self.line = self.line_of();
    }

    /// Tells whether all packets that the parser takes have headers of so many bytes, and nothing of them is wanted
    /// but that [they fit](Self::fits).
    pub fn is_line(&self, bytes: usize) -> bool {
        self.line.as_ref().is_some_and(|line| line.loads.is_empty() && line.taken == bytes)
    }

    /// Tells whether the parser takes a packet with these headers, all of them, if [it is a line](Self::is_line).
    #[inline]
    pub fn fits(&self, headers: &[u8]) -> bool {
        let Some(line) = &self.line else { return false };
        line.checks.iter().all(|(at, mask, key)| {
            let at = usize::from(*at);
            headers
                .get(at..at + 8)
                .and_then(|bytes| bytes.first_chunk())
                .is_some_and(|bytes| u64::from_be_bytes(*bytes) & mask == *key)
        })
    }

    /// Gives what this byte is in all packets that the parser takes, if [it is a line](Self::is_line) and compares it.
    pub fn byte_of_line(&self, byte: usize) -> Option<u8> {
        self.line.as_ref()?.checks.iter().find_map(|(at, mask, key)| {
            let place = byte.checked_sub(usize::from(*at)).filter(|place| *place < 8)?;
            (mask.to_be_bytes()[place] == u8::MAX).then(|| key.to_be_bytes()[place])
        })
    }

    fn line_of(&self) -> Option<Line> {
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
                Op::JumpUnlessFrame { at, key, to }
                    if self.parser.get(usize::from(to)) == Some(&Op::Reject)
                        && line.loads.is_empty() =>
                {
                    let [mask, key] = self.keys[usize::from(key)];
                    line.check(at, mask, key);
                    continue;
                }
                Op::LoadBits { to, at, drop, width } => {
                    let mask = u64::MAX >> (64 - u32::from(width)).min(63);
                    line.loads.push(LineLoad { to, at, drop: drop.into(), mask });
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
