//! What Xpulp's operations compute, in plain code by name, as the RI5CY user manual tells it.

/// Gives the result of an instruction from its sources and its destination's old value; `None` for
/// accesses, branches and loops.
pub fn result(name: &str, word: u32, a: u32, b: u32, c: u32) -> Option<u32> {
    match name.split_once('.')? {
        ("pv", packed) => Some(lanes(packed, word, a, b, c)),
        ("p", scalar) => field(scalar, word, a, b, c)
            .or_else(|| product(scalar, word, a, b, c))
            .or_else(|| sum(scalar, word, a, b, c))
            .or_else(|| single(scalar, word, a, b, c)),
        _ => None,
    }
}

fn single(name: &str, word: u32, a: u32, b: u32, c: u32) -> Option<u32> {
    let (sa, sb) = (i64::from(a as i32), i64::from(b as i32));
    let bit = |index: u32| a >> index & 1;
    let power = 1i64 << (word >> 20 & 31);
    Some(match name {
        "abs" => (a as i32).unsigned_abs(),
        "slet" => u32::from(sa <= sb),
        "sletu" => u32::from(a <= b),
        "min" => {
            if sa < sb {
                a
            } else {
                b
            }
        }
        "max" => {
            if sa > sb {
                a
            } else {
                b
            }
        }
        "minu" => {
            if a < b {
                a
            } else {
                b
            }
        }
        "maxu" => {
            if a > b {
                a
            } else {
                b
            }
        }
        "exths" => (a & 0xffff ^ 0x8000).wrapping_sub(0x8000),
        "exthz" => a & 0xffff,
        "extbs" => (a & 0xff ^ 0x80).wrapping_sub(0x80),
        "extbz" => a & 0xff,
        "clip" => sa.clamp(-(power / 2).max(1), (power / 2 - 1).max(0)) as u32,
        "clipu" => sa.clamp(0, (power / 2 - 1).max(0)) as u32,
        // Bounds below zero have no meaning; whatever is above them becomes them.
        "clipr" if sa > sb => b,
        "clipr" => sa.max(-sb - 1) as u32,
        "clipur" if sa > sb => b,
        "clipur" => sa.max(0) as u32,
        "ror" => (0..32).map(|index| bit((index + (b & 31)) % 32) << index).sum(),
        "ff1" => (0..32).find(|&index| bit(index) == 1).unwrap_or(32),
        "fl1" => (0..32).rev().find(|&index| bit(index) == 1).unwrap_or(32),
        "clb" if a == 0 => 0,
        "clb" => (0..31).rev().take_while(|&index| bit(index) == bit(31)).count() as u32,
        "cnt" => (0..32).map(bit).sum(),
        "mac" => (i64::from(c as i32) + sa * sb) as u32,
        "msu" => (i64::from(c as i32) - sa * sb) as u32,
        _ => return None,
    })
}

/// Bit fields, bit by bit.
fn field(name: &str, word: u32, a: u32, b: u32, c: u32) -> Option<u32> {
    let register = ["extractr", "extractur", "insertr", "bclrr", "bsetr"].contains(&name);
    let (width, lowest) = if register {
        ((b >> 5 & 31) + 1, b & 31)
    } else {
        ((word >> 25 & 31) + 1, word >> 20 & 31)
    };
    let inside = |index: u32| (lowest..lowest + width).contains(&index);
    let collect = |bit: &dyn Fn(u32) -> u32| (0..32).map(|index| bit(index) << index).sum();
    let at = |value: u32, index: u32, sign: u32| {
        if index < 32 { value >> index & 1 } else { sign }
    };
    Some(match name {
        "extract" | "extractr" => collect(&|index| at(a, lowest + index.min(width - 1), a >> 31)),
        "extractu" | "extractur" => {
            collect(&|index| if index < width { at(a, lowest + index, 0) } else { 0 })
        }
        "insert" | "insertr" => {
            collect(&|index| if inside(index) { at(a, index - lowest, 0) } else { at(c, index, 0) })
        }
        "bclr" | "bclrr" => collect(&|index| if inside(index) { 0 } else { at(a, index, 0) }),
        "bset" | "bsetr" => collect(&|index| if inside(index) { 1 } else { at(a, index, 0) }),
        _ => return None,
    })
}

/// Shifts right with floor division, after adding half of the divisor where it rounds.
fn scaled(value: i64, shift: u32, signed: bool, rounds: bool) -> u32 {
    let half = if rounds { (1i64 << shift) / 2 } else { 0 };
    let wrapped = (value + half) as u32;
    let value = if signed { i64::from(wrapped as i32) } else { i64::from(wrapped) };
    value.div_euclid(1 << shift) as u32
}

/// `mul` or `mac`, `hh`, `s` or `u`, `r`, `n`.
fn product(name: &str, word: u32, a: u32, b: u32, c: u32) -> Option<u32> {
    let rest = name.strip_prefix("mul").or_else(|| name.strip_prefix("mac"))?;
    let high = rest.starts_with("hh");
    let rest = rest.trim_start_matches("hh");
    let (signed, rounds) = (rest.starts_with('s'), rest.contains('r'));
    if !rest.ends_with('n') {
        return None;
    }
    let half = |value: u32| {
        let half = if high { value >> 16 } else { value & 0xffff };
        if signed { i64::from(half as u16 as i16) } else { i64::from(half) }
    };
    let start = if name.starts_with("mac") { i64::from(c as i32) } else { 0 };
    Some(scaled(start + half(a) * half(b), word >> 25 & 31, signed, rounds))
}

/// `add` or `sub`, `u`, `r`, `n`, and `r` for a shift in a register.
fn sum(name: &str, word: u32, a: u32, b: u32, c: u32) -> Option<u32> {
    let rest = name.strip_prefix("add").or_else(|| name.strip_prefix("sub"))?;
    let (rest, register) = match rest.strip_suffix("nr") {
        Some(rest) => (rest, true),
        None => (rest.strip_suffix('n')?, false),
    };
    let (first, second, shift) = if register { (c, a, b & 31) } else { (a, b, word >> 25 & 31) };
    let (first, second) = (i64::from(first as i32), i64::from(second as i32));
    let sum = if name.starts_with("add") { first + second } else { first - second };
    Some(scaled(sum, shift, !rest.contains('u'), rest.contains('r')))
}

macro_rules! lane_operations {
    ($name:ident $signed:ty, $unsigned:ty) => {
        fn $name(name: &str, x: $unsigned, y: $unsigned) -> $unsigned {
            let (sx, sy) = (x as $signed, y as $signed);
            let yes = |condition: bool| if condition { <$unsigned>::MAX } else { 0 };
            match name {
                "add" => x.wrapping_add(y),
                "sub" => x.wrapping_sub(y),
                "avg" => (sx.wrapping_add(sy) >> 1) as $unsigned,
                "avgu" => x.wrapping_add(y) >> 1,
                "min" => sx.min(sy) as $unsigned,
                "minu" => x.min(y),
                "max" => sx.max(sy) as $unsigned,
                "maxu" => x.max(y),
                "srl" => x.wrapping_shr(u32::from(y)),
                "sra" => sx.wrapping_shr(u32::from(y)) as $unsigned,
                "sll" => x.wrapping_shl(u32::from(y)),
                "or" => x | y,
                "xor" => x ^ y,
                "and" => x & y,
                "abs" => sx.wrapping_abs() as $unsigned,
                "cmpeq" => yes(x == y),
                "cmpne" => yes(x != y),
                "cmpgt" => yes(sx > sy),
                "cmpge" => yes(sx >= sy),
                "cmplt" => yes(sx < sy),
                "cmple" => yes(sx <= sy),
                "cmpgtu" => yes(x > y),
                "cmpgeu" => yes(x >= y),
                "cmpltu" => yes(x < y),
                "cmpleu" => yes(x <= y),
                _ => panic!("{name} has no lanes"),
            }
        }
    };
}

lane_operations!(half i16, u16);
lane_operations!(byte i8, u8);

/// The lowest lane first.
fn halves(value: u32) -> [u16; 2] {
    [value as u16, (value >> 16) as u16]
}

fn join(halves: [u16; 2]) -> u32 {
    u32::from(halves[0]) | u32::from(halves[1]) << 16
}

fn lanes(name: &str, word: u32, a: u32, b: u32, c: u32) -> u32 {
    let (operation, form) = name.split_once('.').unwrap_or((name, ""));
    let bytes = form.ends_with('b');
    let immediate = (word >> 20 & 31) << 1 | word >> 25 & 1;
    if let Some(result) = moves(name, immediate, a, b, c) {
        return result;
    }
    let unsigned = ["avgu", "minu", "maxu", "srl", "sra", "sll", "dotup", "sdotup"]
        .contains(&operation)
        || operation.starts_with("cmp") && operation.ends_with('u');
    let scalar = match form {
        "sci.h" | "sci.b" if unsigned => immediate,
        "sci.h" | "sci.b" => (immediate ^ 32).wrapping_sub(32),
        _ => b,
    };
    let b = match (form.starts_with("sc"), bytes) {
        (true, true) => u32::from_le_bytes([scalar as u8; 4]),
        (true, false) => join([scalar as u16; 2]),
        _ => b,
    };
    let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
    let (p, q) = (halves(a), halves(b));
    if operation.contains("dot") {
        let signs = match operation.trim_start_matches('s') {
            "dotup" => (false, false),
            "dotusp" => (false, true),
            _ => (true, true),
        };
        let start = if operation.starts_with('s') { i64::from(c as i32) } else { 0 };
        let sum: i64 = if bytes {
            let value = |byte: u8, signed| if signed { byte as i8 as i64 } else { byte as i64 };
            (0..4).map(|lane| value(x[lane], signs.0) * value(y[lane], signs.1)).sum()
        } else {
            let value = |half: u16, signed| if signed { half as i16 as i64 } else { half as i64 };
            (0..2).map(|lane| value(p[lane], signs.0) * value(q[lane], signs.1)).sum()
        };
        return (start + sum) as u32;
    }
    if bytes {
        u32::from_le_bytes(std::array::from_fn(|lane| byte(operation, x[lane], y[lane])))
    } else {
        join(std::array::from_fn(|lane| half(operation, p[lane], q[lane])))
    }
}

/// What only moves lanes.
fn moves(name: &str, immediate: u32, a: u32, b: u32, c: u32) -> Option<u32> {
    let (x, y, mut z) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
    let (p, q, mut r) = (halves(a), halves(b), halves(c));
    let lane = immediate as usize;
    Some(match name {
        "extract.h" => p[lane] as i16 as u32,
        "extract.b" => x[lane] as i8 as u32,
        "extractu.h" => u32::from(p[lane]),
        "extractu.b" => u32::from(x[lane]),
        "insert.h" => {
            r[lane] = p[0];
            join(r)
        }
        "insert.b" => {
            z[lane] = x[0];
            u32::from_le_bytes(z)
        }
        "shuffle.h" => join(q.map(|selector| p[usize::from(selector) % 2])),
        "shuffle.b" => u32::from_le_bytes(y.map(|selector| x[usize::from(selector) % 4])),
        "shuffle.sci.h" => join([p[lane % 2], p[lane / 2 % 2]]),
        "shuffle2.h" => join(q.map(|selector| {
            let from = if selector & 2 != 0 { p } else { r };
            from[usize::from(selector) % 2]
        })),
        "shuffle2.b" => u32::from_le_bytes(y.map(|selector| {
            let from = if selector & 4 != 0 { x } else { z };
            from[usize::from(selector) % 4]
        })),
        "pack" => join([q[0], p[0]]),
        "pack.h" => join([q[1], p[1]]),
        "packhi.b" => u32::from_le_bytes([z[0], z[1], y[0], x[0]]),
        "packlo.b" => u32::from_le_bytes([y[0], x[0], z[2], z[3]]),
        _ => {
            let last = name.strip_prefix("shufflei")?.as_bytes()[0] - b'0';
            let pick = |at: usize| x[lane >> at & 3];
            u32::from_le_bytes([pick(0), pick(2), pick(4), x[usize::from(last)]])
        }
    })
}
