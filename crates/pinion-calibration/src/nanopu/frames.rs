//! The frames out of a scenario, ours against the hardware's: what they are, their order, and when
//! their first and last flits passed the pins.
//!
//! A frame's time is judged by how long it took since what it depends on: the packet that a control
//! frame answers, the request that a reply is for, otherwise the first frame after the last silence. How exact
//! it has to be is the set's word: 5 %, or the phase of the polling loop; more for what comes out of
//! cold caches and for the timer's first round.

use super::metrics::messages::{Message, messages};
use super::observation::{Direction, HEADER_BYTES, Observation, Record, crc32};
use super::set::Scenario;
use crate::TOLERANCE;

/// The polling loop's length: what a single response may differ by.
pub const POLLING_CYCLES: i64 = 6;
/// What a response may differ by while caches are cold.
pub const COLD_CYCLES: i64 = 32;
/// What the first timeout may differ by: the timers are looked at one after the other.
pub const FIRST_TIMEOUT_CYCLES: i64 = 256;
/// What the time between further timeouts may differ by.
pub const TIMEOUT_PERIOD_CYCLES: i64 = 2;
/// How long the wires must have been silent for an injected frame to begin something new.
const SILENCE_CYCLES: i64 = 500;
/// How long before the end of the observation a frame of ours must have begun to be too many.
const END_CYCLES: i64 = 16;

/// Holds a frame of the hardware's with its counterpart.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The hardware's frame.
    pub rtl: &'a Record,
    /// Ours, if there is one that says the same.
    pub ours: Option<&'a Record>,
    /// What its time may differ by, in cycles.
    pub allowed: i64,
}

impl Pair<'_> {
    /// Gives by how many cycles our first and last flit are late, whichever is more.
    pub fn late(&self) -> Option<i64> {
        let ours = self.ours?;
        let (first, last) = (ours.first - self.rtl.first, ours.last - self.rtl.last);
        Some(if first.abs() > last.abs() { first } else { last })
    }

    /// Tells whether it came when it should.
    pub fn in_time(&self) -> bool {
        self.late().is_some_and(|late| late.abs() <= self.allowed)
    }
}

/// Holds what became of the frames of a scenario.
#[derive(Debug)]
pub struct Matched<'a> {
    /// The hardware's frames in their order.
    pub pairs: Vec<Pair<'a>>,
    /// Holds our frames that the hardware did not send.
    pub surplus: Vec<&'a Record>,
    /// Number of the frames that say the right thing in the right order.
    pub right: usize,
    /// The first frame of the hardware's that came out of order on ours.
    pub overtaken: Option<&'a Record>,
}

/// Pairs the frames that left from the announcements to the end of the hardware's observation.
pub fn matched<'a>(
    scenario: &Scenario,
    rtl: &'a Observation,
    ours: &'a Observation,
) -> Matched<'a> {
    let out = |seen: &'a Observation| {
        let all = seen.frames.iter();
        all.filter(|frame| frame.direction == Direction::Out && frame.first >= 0)
            .collect::<Vec<_>>()
    };
    let (theirs, ours) = (out(rtl), out(ours));
    let mut used = vec![false; ours.len()];
    let mut places = Vec::with_capacity(theirs.len());
    let mut pairs = Vec::with_capacity(theirs.len());
    let allowed = allowances(scenario, rtl, &theirs);
    for (&frame, allowed) in theirs.iter().zip(allowed) {
        let place = (0..ours.len())
            .find(|&place| !used[place] && difference(scenario, ours[place], frame, rtl).is_none());
        if let Some(place) = place {
            used[place] = true;
        }
        places.push(place);
        pairs.push(Pair { rtl: frame, ours: place.map(|place| ours[place]), allowed });
    }
    for (pair, place) in pairs.iter_mut().zip(&mut places).filter(|(_, place)| place.is_none()) {
        let swapped = (0..ours.len()).find(|&place| {
            let late = (ours[place].first - pair.rtl.first).abs();
            !used[place] && late <= pair.allowed && is_swapped(scenario, ours[place], pair.rtl, rtl)
        });
        if let Some(swapped) = swapped {
            used[swapped] = true;
            (*place, pair.ours) = (Some(swapped), Some(ours[swapped]));
        }
    }
    for pair in &mut pairs {
        let ours = pair.ours.map_or(0, |frame| waits(frame, &ours));
        pair.allowed += waits(pair.rtl, &theirs).max(ours);
    }
    let surplus = ours
        .iter()
        .zip(&used)
        .filter(|(frame, used)| !**used && frame.first <= scenario.last_cycle - END_CYCLES);
    let surplus = surplus.map(|(frame, _)| *frame).collect();
    let overtaken = overtaken(&pairs, &places);
    let right = places.iter().flatten().count() - overtaken.len();
    let overtaken = overtaken.first().map(|&index| pairs[index].rtl);
    Matched { pairs, surplus, right, overtaken }
}

/// Tells whether a packet of data of ours differs from the hardware's only in its place in line:
/// messages that are sent within the tolerated time may take their ids and buffers the other way
/// round.
fn is_swapped(scenario: &Scenario, ours: &Record, theirs: &Record, rtl: &Observation) -> bool {
    if !ours.fields.is_data() || !theirs.fields.is_data() || ours.frame.len() < HEADER_BYTES {
        return false;
    }
    let mut frame = ours.frame.clone();
    frame[44..46].copy_from_slice(&theirs.fields.tx_msg_id.to_be_bytes());
    frame[46..48].copy_from_slice(&theirs.fields.buf_ptr.to_be_bytes());
    let other = Record::new(Direction::Out, ours.first, ours.last, frame);
    difference(scenario, &other, theirs, rtl).is_none()
}

/// Gives how long a control frame may have waited for the packet of data before it and the control
/// frames between them: one that comes a cycle sooner than the packet does not wait.
fn waits(frame: &Record, out: &[&Record]) -> i64 {
    let mut began = frame.first;
    let mut last = frame;
    while !last.fields.is_data() {
        let before = out.iter().rfind(|other| other.last + 1 == began);
        let Some(before) = before else { return 0 };
        (began, last) = (before.first, *before);
    }
    frame.first - began
}

/// Lists the paired frames that a later frame of the hardware's overtook on ours, save where both
/// are in time anyway.
fn overtaken(pairs: &[Pair<'_>], places: &[Option<usize>]) -> Vec<usize> {
    let is_overtaken = |index: usize, place: usize| {
        let rest = places[index + 1..].iter().zip(&pairs[index + 1..]);
        let mut sooner = rest.filter(|(later, _)| later.is_some_and(|later| later < place));
        sooner.any(|(_, pair)| !(pair.in_time() && pairs[index].in_time()))
    };
    let paired = places.iter().enumerate().filter_map(|(index, place)| Some((index, (*place)?)));
    paired.filter(|&(index, place)| is_overtaken(index, place)).map(|(index, _)| index).collect()
}

/// Says in what a frame of ours is not the hardware's; numbers of cycles in it do not count.
pub fn difference(
    scenario: &Scenario,
    ours: &Record,
    theirs: &Record,
    rtl: &Observation,
) -> Option<String> {
    if let Some(field) = ours.fields.difference(&theirs.fields) {
        return Some(field);
    }
    if ours.bytes != theirs.bytes {
        return Some(format!("{} bytes, not {}", ours.bytes, theirs.bytes));
    }
    if ours.crc32 == theirs.crc32 {
        return None;
    }
    let mut frame = ours.frame.clone();
    for index in cycle_words(scenario, theirs, rtl) {
        let at = HEADER_BYTES + 8 * index;
        if let (Some(word), Some(place)) = (theirs.words.get(index), frame.get_mut(at..at + 8)) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
    if crc32(&frame) == theirs.crc32 {
        return None;
    }
    let words = ours.words.iter().zip(&theirs.words).enumerate();
    let mut different = words.filter(|(_, (ours, theirs))| ours != theirs);
    Some(match different.next() {
        Some((index, (ours, theirs))) => {
            format!("payload word {index} is {ours:#x}, not {theirs:#x}")
        }
        None => "payload or constant header fields differ".to_owned(),
    })
}

/// Tells which words of a reply are cycles that the program counted, by the program's name.
fn cycle_words(scenario: &Scenario, reply: &Record, rtl: &Observation) -> std::ops::Range<usize> {
    let client = reply.fields.dst_context;
    if !rtl.requests().any(|request| request.fields.src_context == client) {
        return 0..0;
    }
    let program = scenario.elf.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is = |name: &str| program.starts_with(name);
    match reply.fields.msg_len {
        40 if is("service") || is("threads") => 3..5,
        32 if is("throughput") => 2..3,
        48 if is("ubench") => 2..6,
        24 if is("ubench") => 2..3,
        32 if is("dot") || is("nbody") || is("board") => 3..4,
        _ => 0..0,
    }
}

/// Gives what each frame's time may differ by.
fn allowances(scenario: &Scenario, rtl: &Observation, out: &[&Record]) -> Vec<i64> {
    let warm = warm_from(rtl);
    let requests = messages(rtl.requests());
    let replies = messages(out.iter().copied().filter(|frame| frame.fields.is_data()));
    let allowance = |(index, frame): (usize, &&Record)| {
        let before = &out[..index];
        let took = frame.first - cause(rtl, frame, &requests, &replies);
        let share = (took.max(0) as f64 * TOLERANCE) as i64;
        let phase = if began(rtl, frame) < warm { COLD_CYCLES } else { POLLING_CYCLES };
        let timer = match timeouts(scenario, before, frame) {
            0 => 0,
            count => FIRST_TIMEOUT_CYCLES + TIMEOUT_PERIOD_CYCLES * (count - 1),
        };
        share.max(phase).max(timer)
    };
    out.iter().enumerate().map(allowance).collect()
}

/// Gives the cycle from which caches are warm: the end of the warm-up, or else the fifth message.
pub fn warm_from(rtl: &Observation) -> i64 {
    let warmed = rtl.frames.iter().any(|frame| frame.script && super::set::warms(&frame.label));
    if warmed {
        return rtl.warm_from();
    }
    let messages = messages(rtl.requests());
    messages.get(super::metrics::COLD_MESSAGES).map_or(i64::MAX, |message| message.first().first)
}

/// Gives when that began which a frame out depends on.
fn cause(
    rtl: &Observation,
    frame: &Record,
    requests: &[Message<'_>],
    replies: &[Message<'_>],
) -> i64 {
    let cause = match frame.fields.is_data() {
        true => asked(frame, requests, replies),
        false => answered(rtl, frame),
    };
    if let Some(request) = cause {
        return request.first;
    }
    began(rtl, frame)
}

/// Gives when that began which a frame out is part of: the injected frame after the last silence.
/// What was late while caches were cold stays late until then.
fn began(rtl: &Observation, frame: &Record) -> i64 {
    let mut began = 0;
    let mut silent_since = i64::MIN / 2;
    for other in rtl.frames.iter().take_while(|other| other.first < frame.first) {
        if other.script && other.first - silent_since >= SILENCE_CYCLES {
            began = other.first;
        }
        silent_since = silent_since.max(other.last);
    }
    began
}

/// Finds the packet that a control frame answers.
fn answered<'a>(rtl: &'a Observation, frame: &Record) -> Option<&'a Record> {
    let injected = rtl.requests().filter(|request| request.first < frame.first);
    let answered = injected.filter(|request| {
        (request.fields.tx_msg_id, request.fields.pkt_offset, request.fields.src_context)
            == (frame.fields.tx_msg_id, frame.fields.pkt_offset, frame.fields.dst_context)
    });
    answered.last()
}

/// Finds the request of a packet of data: one that begins with the same two words or, where there
/// are as many messages out as in, the one with the same number.
fn asked<'a>(
    frame: &Record,
    requests: &[Message<'a>],
    replies: &[Message<'_>],
) -> Option<&'a Record> {
    let begins_so = |request: &&Message<'_>| {
        frame.words.len() >= 2
            && request.packets[0].words.get(..2) == frame.words.get(..2)
            && request.packets[0].first < frame.first
    };
    if let Some(request) = requests.iter().rfind(begins_so) {
        return Some(request.packets[0]);
    }
    let is_it = |reply: &Message<'_>| {
        let same = |packet: &&Record| packet.first == frame.first;
        reply.packets.iter().any(same)
    };
    let number = replies.iter().position(is_it)?;
    let one_each = requests.len() == replies.len();
    requests.get(number).filter(|_| one_each).map(|request| request.packets[0])
}

/// Counts the timeouts that a frame has been through: how often it was sent before, at least a
/// timeout apart, or how often its message's other packets were.
fn timeouts(scenario: &Scenario, before: &[&Record], frame: &Record) -> i64 {
    if !frame.fields.is_data() {
        return 0;
    }
    let message = |record: &&&Record| {
        record.fields.is_data()
            && record.fields.tx_msg_id == frame.fields.tx_msg_id
            && record.fields.dst_context == frame.fields.dst_context
    };
    let mut earlier: Vec<i64> = before.iter().filter(message).map(|record| record.first).collect();
    earlier.push(frame.first);
    let timeout = scenario.timeout_cycles as i64;
    let waits = earlier.windows(2).map(|pair| pair[1] - pair[0]);
    waits.filter(|&wait| wait >= timeout && wait <= 4 * timeout).map(|wait| wait / timeout).sum()
}
