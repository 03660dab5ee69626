//! Applications that answer each request once: how long that takes, and whether the answer is
//! right by a computation of its own.

use super::super::observation::{HEADER_BYTES, Record, word};
use super::board;
use super::messages::{Message, PACKET_BYTES, messages, payload};
use super::{Answer, View, count, truth};

/// How far a force may be from ours, relatively: the program may fuse operations.
const FORCE_TOLERANCE: f64 = 1e-12;
/// Counts the weights of the multiply-accumulate program.
const WEIGHTS: usize = 250;

pub fn number(view: &View<'_>, metric: &str) -> Answer {
    if let Some((index, what)) = numbered(metric) {
        let replies = replies(view);
        let reply = replies.get(index);
        return match what {
            "program_cycles" => Some(reply.and_then(|reply| Some(*reply.words.get(3)? as f64))),
            "first_in_to_reply_first_out" => {
                let requests = messages(view.seen.requests());
                let request = requests.get(index).map(|request| request.first().first);
                Some(reply.and_then(|reply| Some((reply.first - request?) as f64)))
            }
            _ => None,
        };
    }
    match metric {
        "replies" => count(replies(view).len()),
        "total_first_in_to_last_reply_last_out" => {
            let first = view.seen.requests().next().map(|request| request.first);
            let last = replies(view).last().map(|reply| reply.last);
            Some(first.and_then(|first| Some((last? - first) as f64)))
        }
        "results_correct" => match view.program() {
            name if name.starts_with("dot") => truth(dots_correct(view)),
            name if name.starts_with("nbody") => truth(forces_correct(view)),
            name if name.starts_with("board") => truth(moves_correct(view)),
            _ => None,
        },
        "children_sent" => count(children(view).len()),
        "children_correct" => truth(children_correct(view)),
        _ => None,
    }
}

/// Takes `mN_what` apart.
fn numbered(metric: &str) -> Option<(usize, &str)> {
    let (index, what) = metric.strip_prefix('m')?.split_once('_')?;
    Some((index.parse().ok()?, what))
}

fn is_client(view: &View<'_>, context: u16) -> bool {
    view.seen.requests().any(|request| request.fields.src_context == context)
}

fn replies<'a>(view: &View<'a>) -> Vec<&'a Record> {
    let out = view.seen.data_out();
    out.filter(|frame| is_client(view, frame.fields.dst_context)).collect()
}

fn children<'a>(view: &View<'a>) -> Vec<&'a Record> {
    let out = view.seen.data_out();
    out.filter(|frame| !is_client(view, frame.fields.dst_context)).collect()
}

/// Gives the words of each request, whole, from the script's frames.
fn requests(view: &View<'_>) -> Vec<Vec<u64>> {
    let whole = |message: &Message<'_>| {
        let frames = message.packets.iter().filter_map(|packet| {
            let same = |frame: &&super::ScriptFrame| {
                super::super::observation::crc32(&frame.frame) == packet.crc32
            };
            view.script.iter().find(same).map(|frame| frame.frame.as_slice())
        });
        let bytes = payload(frames);
        debug_assert!(bytes.len() <= message.packets.len() * (PACKET_BYTES + HEADER_BYTES));
        bytes.chunks(8).map(word).collect()
    };
    messages(view.seen.requests()).iter().map(whole).collect()
}

/// Tells whether every reply begins with the words expected of its request.
fn all_begin_with(view: &View<'_>, expected: impl Iterator<Item = Vec<u64>>) -> bool {
    let (replies, expected) = (replies(view), expected.collect::<Vec<_>>());
    replies.len() == expected.len()
        && replies.iter().zip(&expected).all(|(reply, words)| reply.words.starts_with(words))
}

/// Does what the multiply-accumulate program does: {row, words} gives {row, count, running sum}.
fn dots_correct(view: &View<'_>) -> bool {
    let weight = |index: usize| ((index % WEIGHTS) as i64 * 37 + 11) % 201 - 100;
    let mut sums = [0_i64; 8];
    let requests = requests(view);
    let expected = requests.iter().filter_map(|words| {
        let (&row, vector) = words.split_first()?;
        let sum = &mut sums[(row & 7) as usize];
        for (index, &word) in vector.iter().enumerate() {
            *sum = sum.wrapping_add((word as i64).wrapping_mul(weight(index)));
        }
        Some(vec![row, vector.len() as u64, *sum as u64])
    });
    all_begin_with(view, expected)
}

/// Computes forces as the program does, each direction within [`FORCE_TOLERANCE`].
fn forces_correct(view: &View<'_>) -> bool {
    let (replies, requests) = (replies(view), requests(view));
    replies.len() == requests.len()
        && replies.iter().zip(&requests).all(|(reply, words)| {
            let numbers: Vec<f64> = words.iter().map(|&word| f64::from_bits(word)).collect();
            let Some(force) = force(&numbers) else { return false };
            let scale = force.iter().fold(0.0, |scale: f64, part| scale.max(part.abs()));
            force.iter().zip(&reply.words).all(|(expected, &word)| {
                (f64::from_bits(word) - expected).abs() <= FORCE_TOLERANCE * scale.max(1e-300)
            })
        })
}

fn force(numbers: &[f64]) -> Option<[f64; 3]> {
    let (body, others) = numbers.split_first_chunk::<3>()?;
    let mut force = [0.0; 3];
    for other in others.chunks_exact(4) {
        let distance: [f64; 3] = std::array::from_fn(|axis| other[axis] - body[axis]);
        let square: f64 = distance.iter().map(|part| part * part).sum::<f64>() + 0.0625;
        let strength = other[3] / (square * square.sqrt());
        for (sum, part) in force.iter_mut().zip(distance) {
            *sum += strength * part;
        }
    }
    Some(force)
}

/// Checks {tag, legal moves, their number} of every position {mine, theirs, tag}.
fn moves_correct(view: &View<'_>) -> bool {
    let requests = requests(view);
    let expected = requests.iter().filter_map(|words| {
        let &[mine, theirs, tag] = words.as_slice() else { return None };
        let moves = board::legal(mine, theirs);
        Some(vec![tag, moves, u64::from(moves.count_ones())])
    });
    all_begin_with(view, expected)
}

/// Checks {theirs after, mine after, tag, square} of every legal move, in order.
fn children_correct(view: &View<'_>) -> bool {
    let requests = requests(view);
    let expected = requests.iter().filter(|words| words.len() == 3).flat_map(|words| {
        let (mine, theirs, tag) = (words[0], words[1], words[2]);
        let moves = board::legal(mine, theirs);
        let squares = (0..64).filter(move |square| moves >> square & 1 == 1);
        squares.map(move |square| {
            let taken = board::captured(1 << square, mine, theirs);
            [theirs & !taken, mine | taken | 1 << square, tag, square]
        })
    });
    let children = children(view);
    let sent: Vec<&[u64]> = children.iter().map(|child| child.words.as_slice()).collect();
    let expected: Vec<[u64; 4]> = expected.collect();
    sent.len() == expected.len() && sent.iter().zip(&expected).all(|(sent, words)| sent == words)
}
