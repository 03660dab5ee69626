//! Makes inputs that are nearly right of inputs that are right.

use pinion_sim::random::SplitMix64;

/// The longest input that is made.
pub const LONGEST_BYTES: usize = 1 << 16;

/// Numbers at whose sides readers go wrong.
const NUMBERS: [u64; 24] = [
    0,
    1,
    2,
    7,
    8,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    1023,
    4096,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Texts that mean something to more than one reader.
const TEXTS: [&str; 32] = [
    "=",
    ",",
    ":",
    ";",
    ".",
    "-",
    "+",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "0x",
    "1_000",
    "%",
    "100%",
    "\"",
    "'",
    "\\",
    "\n",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "true",
    "\u{0}",
    "\u{e4}",
    "\u{1f980}",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
];

/// Draws a number below another one, which may be 0.
pub fn below(random: &mut SplitMix64, end: usize) -> usize {
    (random.draw() >> 11) as usize % end.max(1)
}

fn pick<'l, T>(random: &mut SplitMix64, from: &'l [T]) -> &'l T {
    &from[below(random, from.len())]
}

/// Changes an input in some places. `other` is another input of the same target, `words` what its format
/// knows; `is_text` keeps most changes within text.
pub fn mutate(
    random: &mut SplitMix64,
    input: &mut Vec<u8>,
    other: &[u8],
    words: &[&str],
    is_text: bool,
) {
    let changes = 1 << below(random, 5);
    for _ in 0..changes {
        if is_text && below(random, 8) != 0 {
            change_text(random, input, other, words);
        } else {
            change_bytes(random, input, other);
        }
        input.truncate(LONGEST_BYTES);
    }
}

fn change_bytes(random: &mut SplitMix64, input: &mut Vec<u8>, other: &[u8]) {
    let at = below(random, input.len() + 1);
    match below(random, 9) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << below(random, 8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.draw() as u8;
            }
        }
        2 => input.insert(at, *pick(random, &NUMBERS) as u8),
        3 => {
            let end = (at + 1 + below(random, 16)).min(input.len());
            input.drain(at.min(end)..end);
        }
        4 => input.truncate(at),
        5 => {
            let width = *pick(random, &[2usize, 4, 8]);
            let mut number = *pick(random, &NUMBERS);
            number = number.wrapping_add(below(random, 3) as u64).wrapping_sub(1);
            let bytes = match below(random, 2) {
                0 => number.to_le_bytes()[..width].to_vec(),
                _ => number.to_be_bytes()[8 - width..].to_vec(),
            };
            // Formats keep their numbers at multiples of their size.
            let at = at - at % width;
            for (to, from) in input.iter_mut().skip(at).zip(bytes) {
                *to = from;
            }
        }
        6 => {
            let end = (at + below(random, 64)).min(input.len());
            let piece = input[at.min(end)..end].to_vec();
            let to = below(random, input.len() + 1);
            input.splice(to..to, piece);
        }
        7 => {
            let from = below(random, other.len() + 1);
            let end = (from + below(random, 64)).min(other.len());
            input.splice(at..at, other[from..end].iter().copied());
        }
        _ => {
            let from = below(random, other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
    }
}

/// Tells where words of a text begin and end: letters and digits together, other signs each alone.
fn pieces(input: &[u8]) -> Vec<(usize, usize)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let mut found = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let begin = at;
        at += 1;
        while is_word(input[begin]) && at < input.len() && is_word(input[at]) {
            at += 1;
        }
        found.push((begin, at));
    }
    found
}

fn change_text(random: &mut SplitMix64, input: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    let own = pieces(input);
    if own.is_empty() {
        input.extend_from_slice(pick(random, &TEXTS).as_bytes());
        return;
    }
    let (begin, end) = *pick(random, &own);
    let numbers: Vec<(usize, usize)> =
        own.iter().copied().filter(|(begin, _)| input[*begin].is_ascii_digit()).collect();
    match below(random, 9) {
        0 if !numbers.is_empty() => {
            let (begin, end) = *pick(random, &numbers);
            let number = pick(random, &NUMBERS).to_string();
            input.splice(begin..end, number.into_bytes());
        }
        1 => drop(input.drain(begin..end)),
        2 => {
            input.splice(begin..end, pick(random, &TEXTS).bytes());
        }
        3 => {
            input.splice(begin..begin, pick(random, &TEXTS).bytes());
        }
        4 if !words.is_empty() => {
            input.splice(begin..end, pick(random, words).bytes());
        }
        5 if !words.is_empty() => {
            input.splice(begin..begin, pick(random, words).bytes());
        }
        6 => {
            let theirs = pieces(other);
            if !theirs.is_empty() {
                let (first, last) = *pick(random, &theirs);
                input.splice(begin..end, other[first..last].iter().copied());
            }
        }
        7 => change_lines(random, input, other),
        _ => {
            let (first, last) = *pick(random, &own);
            let piece = input[first..last].to_vec();
            let times = (1 << below(random, 12)).min(LONGEST_BYTES / piece.len());
            let piece = piece.repeat(if below(random, 16) == 0 { times } else { 1 });
            input.splice(begin..begin, piece);
        }
    }
}

/// Takes a line away, doubles it, or takes one of another input.
fn change_lines(random: &mut SplitMix64, input: &mut Vec<u8>, other: &[u8]) {
    let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let theirs: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let (at, from) = (below(random, lines.len()), below(random, lines.len()));
    match below(random, 4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[from]),
        2 => lines.swap(at, from),
        _ if !theirs.is_empty() => lines.insert(at, theirs[below(random, theirs.len())]),
        _ => {}
    }
    *input = lines.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_take_no_more_memory_than_a_few_of_the_longest_inputs() {
        let mut random = SplitMix64::new(1);
        for _ in 0..2_000 {
            let mut input = vec![b'a'; LONGEST_BYTES];
            mutate(&mut random, &mut input, b"b = 1\n", &["machine"], true);
            assert!(input.len() <= LONGEST_BYTES);
            assert!(input.capacity() <= 4 * LONGEST_BYTES, "{} bytes", input.capacity());
        }
    }
}
