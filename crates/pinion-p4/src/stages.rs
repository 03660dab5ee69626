//! When what happens to a header: the pipeline's stages. In: a checked program. Out: for each extern the
//! cycle of its request and that of its answer, and how many cycles the pipeline has.
//!
//! The pipeline takes a header in every cycle; each is in another stage. The parser takes a cycle for
//! each 64-byte word of headers (RTL: one word, one cycle). Logic between externs takes no cycle of its
//! own: a request leaves when everything is known that it is made of, and everything that decides whether
//! it is made; the answer is there as many cycles later as the extern says. An extern whose answer nobody
//! reads is an event: it tells another unit what to do, so it leaves in the last stage, when nothing can
//! change any more (nanoPU paper, §3.1; the RTL's Ingress: one cycle to parse, two for the message, two
//! for its credit, and then the control packet's event).

use crate::program::{Asked, Program, Slot, Stages, Step, StepKind, Value, visit};

/// Bits of a word of the datapath that the parser sees in a cycle (RTL `NET_DP_BITS`).
const WORD_BITS: u32 = 512;

/// Works out the stages of a program.
///
/// # Errors
/// The number of an extern that waits for itself: one place asks it before another extern, one
/// behind it.
pub fn stages(program: &Program) -> Result<Stages, usize> {
    let parser = longest_headers(program).div_ceil(WORD_BITS);
    let mut schedule = Schedule {
        program,
        known: vec![parser; program.slots.len()],
        asked: vec![None; program.externs.len()],
    };
    // Requests of one extern at several places leave in the same stage, that of the latest.
    let mut rounds = 0;
    loop {
        let before = schedule.asked.clone();
        schedule.known.fill(parser);
        schedule.steps(&program.control, parser);
        let moved = (0..before.len()).find(|&number| schedule.asked[number] != before[number]);
        let Some(moved) = moved else { break };
        rounds += 1;
        if rounds > program.externs.len() + 1 {
            return Err(moved);
        }
    }
    let is_event = events(program);
    let answers = schedule.asked.iter().zip(&program.externs).zip(&is_event);
    let last = answers
        .filter(|(_, is_event)| !**is_event)
        .filter_map(|((from, external), _)| Some((*from)? + external.latency))
        .fold(parser, u32::max);
    let mut externs = Vec::new();
    for ((from, external), is_event) in schedule.asked.iter().zip(&program.externs).zip(is_event) {
        externs.push(from.map(|from| {
            let from = if is_event { from.max(last) } else { from };
            Asked { from, to: from + external.latency, is_event }
        }));
    }
    let cycles = externs.iter().flatten().map(|asked| asked.to).fold(last, u32::max);
    Ok(Stages { parser, externs, cycles })
}

/// Counts the bits of the most headers that the parser takes from one packet.
pub fn longest_headers(program: &Program) -> u32 {
    let mut most = vec![None; program.states.len()];
    match program.states.is_empty() {
        true => 0,
        false => bits_from(program, 0, &mut most),
    }
}

/// Counts the bits of the fewest headers with which the parser takes a packet.
pub fn fewest_headers(program: &Program) -> u32 {
    fewest_from(program, 0, &mut vec![None; program.states.len()]).unwrap_or(0)
}

fn own_bits(program: &Program, state: usize) -> u32 {
    let mut bits = 0;
    visit(&program.states[state].steps, &mut |step| {
        if let StepKind::Extract(header) = step.kind {
            bits += program.headers[header as usize].bits;
        }
    });
    bits
}

fn next_states(program: &Program, state: usize) -> impl Iterator<Item = usize> + '_ {
    program.states[state].cases.iter().filter_map(|case| match case.to {
        crate::program::Target::State(next) => Some(next),
        _ => None,
    })
}

fn bits_from(program: &Program, state: usize, most: &mut [Option<u32>]) -> u32 {
    if let Some(known) = most[state] {
        return known;
    }
    let next: Vec<usize> = next_states(program, state).collect();
    let behind = next.into_iter().map(|next| bits_from(program, next, most)).max().unwrap_or(0);
    let all = own_bits(program, state) + behind;
    most[state] = Some(all);
    all
}

fn fewest_from(program: &Program, state: usize, fewest: &mut [Option<Option<u32>>]) -> Option<u32> {
    if let Some(known) = fewest.get(state).copied().flatten() {
        return known;
    }
    let of_state = program.states.get(state)?;
    let accepts = of_state.cases.iter().any(|case| case.to == crate::program::Target::Accept);
    let next: Vec<usize> = next_states(program, state).collect();
    let behind = next.into_iter().filter_map(|next| fewest_from(program, next, fewest)).min();
    let behind = if accepts { Some(0) } else { behind };
    let all = behind.map(|behind| own_bits(program, state) + behind);
    fewest[state] = Some(all);
    all
}

/// Tells, for each extern, whether nobody reads its answer.
fn events(program: &Program) -> Vec<bool> {
    let mut read = vec![false; program.slots.len()];
    let mut answers: Vec<Vec<(Slot, Slot)>> = vec![Vec::new(); program.externs.len()];
    visit(&program.control, &mut |step| match &step.kind {
        StepKind::Set(_, value) | StepKind::SetBits(_, _, value) | StepKind::If(value, ..) => {
            value.reads(&mut |slot| read[slot as usize] = true);
        }
        StepKind::Copy(from, _, count) => {
            read[*from as usize..(*from + *count) as usize].fill(true);
        }
        StepKind::Apply(number, request, response) => {
            let external = &program.externs[*number as usize];
            let end = *request as usize + external.request.len();
            read[*request as usize..end.min(program.slots.len())].fill(true);
            let end = *response + external.response.len() as Slot;
            answers[*number as usize].push((*response, end));
        }
        _ => {}
    });
    // What leaves the control is read by the NIC.
    for (first, count) in program.regions {
        read[first as usize..(first + count) as usize].fill(true);
    }
    let unread = |(from, to): &(Slot, Slot)| (*from..*to).all(|slot| !read[slot as usize]);
    answers.iter().map(|ranges| ranges.iter().all(unread)).collect()
}

struct Schedule<'p> {
    program: &'p Program,
    /// By place: the cycle from which its value is known.
    known: Vec<u32>,
    /// By extern: the cycle of its request.
    asked: Vec<Option<u32>>,
}

impl Schedule<'_> {
    fn value(&self, value: &Value) -> u32 {
        let mut known = 0;
        value.reads(&mut |slot| known = known.max(self.known[slot as usize]));
        known
    }

    /// Follows steps that are done if something holds that is known from cycle `guard` on; gives from
    /// when it is known whether what follows is done.
    fn steps(&mut self, steps: &[Step], guard: u32) -> u32 {
        let mut guard = guard;
        for step in steps {
            match &step.kind {
                StepKind::Set(slot, value) => {
                    self.known[*slot as usize] = self.value(value).max(guard);
                }
                StepKind::SetBits(slot, _, value) => {
                    let known = self.value(value).max(guard);
                    let slot = &mut self.known[*slot as usize];
                    *slot = known.max(*slot);
                }
                StepKind::Copy(from, to, count) => {
                    for n in 0..*count as usize {
                        self.known[*to as usize + n] = self.known[*from as usize + n].max(guard);
                    }
                }
                StepKind::Validate(header, _) => {
                    let valid = self.program.headers[*header as usize].valid;
                    self.known[valid as usize] = guard;
                }
                StepKind::Apply(number, request, response) => {
                    let external = &self.program.externs[*number as usize];
                    let slots = self.known.len();
                    let request = *request as usize..*request as usize + external.request.len();
                    let made = self.known[request.start.min(slots)..request.end.min(slots)].iter();
                    let from = made.copied().fold(guard, u32::max);
                    let from = from.max(self.asked[*number as usize].unwrap_or(0));
                    self.asked[*number as usize] = Some(from);
                    let end = (*response as usize + external.response.len()).min(slots);
                    self.known[*response as usize..end].fill(from + external.latency);
                }
                StepKind::If(condition, then, otherwise) => {
                    let inside = self.value(condition).max(guard);
                    let before = self.known.clone();
                    let first = self.steps(then, inside);
                    let one = std::mem::replace(&mut self.known, before.clone());
                    let second = self.steps(otherwise, inside);
                    for ((known, one), before) in self.known.iter_mut().zip(one).zip(before) {
                        let is_changed = *known != before || one != before;
                        *known = (*known).max(one).max(if is_changed { inside } else { 0 });
                    }
                    let mut has_exit = false;
                    for branch in [then, otherwise] {
                        visit(branch, &mut |step| has_exit |= matches!(step.kind, StepKind::Exit));
                    }
                    if has_exit {
                        guard = guard.max(inside).max(first).max(second);
                    }
                }
                StepKind::Begin(first, count) => {
                    self.known[*first as usize..(*first + *count) as usize].fill(0);
                }
                StepKind::Extract(_) | StepKind::Emit(..) | StepKind::Exit => {}
            }
        }
        guard
    }
}
