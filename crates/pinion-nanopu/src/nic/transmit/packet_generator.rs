//! The packet generator: requests for control frames in, control frames out (nanoPU paper, §2.1;
//! RTL LNIC/PktGen).
//!
//! In: what the transport asks for, each request with the header it answers. Out: which frame the
//! arbiter may pass next, and from when. Holds the frames that wait for the arbiter, and PULLs that
//! wait for the token.
//!
//! PULLs clock the senders, so that together they fill the link: the token that one takes is back
//! when a packet's time on the link is over. A request that finds the token gets one frame with
//! all its flags; otherwise its ACK or NACK goes at once and its PULL when the token is back, unless
//! a new request comes in that very cycle, which goes first.

use std::collections::VecDeque;

use pinion_net::frame::lnic::{Flags, Header};

use super::counters::Counters;
use crate::Cycle;
use crate::hardware::packet_generator::Answer;
use crate::hardware::{GeneratorSeat, InLoop};
use crate::machine::transmit::{GeneratorSection, TransmitFixes, TransmitLatency};
use crate::transport::ControlRequest;
use crate::transport::ControlRules;

/// Holds a control frame to be built.
#[derive(Clone, Debug)]
pub struct Control {
    /// What it answers and says.
    pub request: ControlRequest,
    /// Its flags.
    pub flags: Flags,
    /// Cycle from which the arbiter may pass it.
    pub from: Cycle,
}

/// Says which queue of the RTL overflowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// When.
    pub at: Cycle,
    /// What.
    pub queue: &'static str,
}

/// Holds the waiting requests, frames and PULLs, and the token.
#[derive(Clone, Debug)]
pub struct PacketGenerator {
    rules: ControlRules,
    latency: u64,
    token_cycles: u64,
    frame_limit: usize,
    pull_limit: usize,
    bounded: bool,
    requests: VecDeque<ControlRequest>,
    /// Frames for the arbiter: all together, or apart by flag in order of urgency.
    frames: [VecDeque<Control>; 3],
    /// PULLs that wait for the token, with the cycle from which they may take it.
    pulls: VecDeque<(Cycle, ControlRequest)>,
    token_from: Cycle,
    /// Cycle of the last request.
    requested: Option<Cycle>,
    /// The block in its place, or beside it.
    hardware: InLoop<GeneratorSeat>,
}

/// The flags a frame may have of its own, in the order in which frames leave.
const APART: [Flags; 3] = [Flags::ACK, Flags::NACK, Flags::PULL];

impl PacketGenerator {
    /// Makes a generator that works by a transport's `rules`.
    pub fn new(
        section: &GeneratorSection,
        latency: &TransmitLatency,
        fixes: &TransmitFixes,
        rules: ControlRules,
    ) -> Self {
        Self {
            rules,
            latency: latency.generator_cycles,
            token_cycles: section.pull_token_cycles,
            frame_limit: section.queue_frames,
            pull_limit: section.paced_pulls,
            bounded: fixes.pull_overflow,
            requests: VecDeque::new(),
            frames: Default::default(),
            pulls: VecDeque::new(),
            token_from: 0,
            requested: None,
            hardware: InLoop::default(),
        }
    }

    /// Puts a block into its place, or beside it.
    pub fn set_hardware(&mut self, seat: GeneratorSeat) {
        self.hardware = InLoop::new(seat);
    }

    /// Gives its block, if it has one.
    pub fn hardware(&self) -> Option<&GeneratorSeat> {
        self.hardware.get()
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.clock(to);
        }
    }

    /// Takes a request; requests come in order of their cycles.
    pub fn push(&mut self, request: ControlRequest) {
        let flags = wanted(&request);
        if let Some(seat) = self.hardware.get_mut().filter(|_| flags.contains(&true)) {
            seat.request(request.at, Answer { header: name(&request.answers), flags });
        }
        self.requests.push_back(request);
    }

    /// Tells when [`act`](Self::act) is due.
    pub fn next(&self) -> Option<Cycle> {
        if let Some(seat) = self.hardware.in_place() {
            // Nobody knows ahead what it will say.
            return (!self.requests.is_empty()).then(|| seat.next());
        }
        let request = self.requests.front().map(|request| request.at);
        // Only when a cycle is over is it known that no request came in it.
        let pull = self.pull_from().map(|at| at + 1);
        request.into_iter().chain(pull).min()
    }

    /// Tells the earliest cycle in which another frame may be there for the arbiter.
    pub fn wake(&self) -> Option<Cycle> {
        if self.hardware.in_place().is_some() {
            return self.next();
        }
        let request = self.requests.front().map(|request| request.at);
        let first = request.into_iter().chain(self.pull_from()).min()?;
        Some(first + self.latency)
    }

    /// Does what is due in cycle `at`.
    pub fn act(&mut self, at: Cycle, counters: &mut Counters) -> Option<Overflow> {
        if self.hardware.in_place().is_some() {
            self.ask_block(at);
            return None;
        }
        let request_at = self.requests.front().map(|r| r.at).filter(|&request| request <= at);
        let pull_at = self.pull_from().filter(|&pull| pull < at);
        // A request in the cycle of a PULL goes first.
        if let Some(pull_at) = pull_at.filter(|&pull| request_at.is_none_or(|r| pull < r)) {
            let (_, request) = self.pulls.pop_front()?;
            self.token_from = pull_at + self.token_cycles + 1;
            return self.put(0, request, Flags::PULL, pull_at, counters);
        }
        request_at?;
        let request = self.requests.pop_front()?;
        self.answer(request, counters)
    }

    /// Tells from when the arbiter may pass a frame.
    pub fn frame_from(&self) -> Option<Cycle> {
        self.frames.iter().filter_map(|queue| queue.front()).map(|frame| frame.from).min()
    }

    /// Gives the frame that the arbiter passes in cycle `at`.
    pub fn take(&mut self, at: Cycle) -> Option<Control> {
        let due = |queue: &&mut VecDeque<Control>| queue.front().is_some_and(|f| f.from <= at);
        let frame = self.frames.iter_mut().find(due)?.pop_front()?;
        if let Some(seat) = self.hardware.get_mut() {
            seat.take(at);
        }
        Some(frame)
    }

    /// Takes the frame that the block in its place offers in cycle `at`, if it is one that was asked for.
    fn ask_block(&mut self, at: Cycle) {
        let Some(seat) = self.hardware.in_place_mut() else { return };
        let Some(answer) = seat.offered(at) else { return };
        if !self.frames[0].is_empty() {
            return; // the arbiter has not taken it yet
        }
        let asked = self.requests.iter_mut().enumerate().find(|(_, request)| {
            let includes =
                wanted(request).iter().zip(answer.flags).all(|(has, said)| *has || !said);
            request.at < at && name(&request.answers) == answer.header && includes
        });
        let Some((place, request)) = asked.filter(|_| answer.flags.contains(&true)) else {
            return seat.refuse(answer);
        };
        let [acknowledges, negates, pulls] = answer.flags;
        let whole = request.clone();
        request.acknowledge &= !acknowledges;
        request.negative &= !negates;
        request.pull &= !pulls;
        if !wanted(request).contains(&true) {
            self.requests.remove(place);
        }
        let flags = flags_of(answer.flags);
        self.frames[0].push_back(Control { request: whole, flags, from: at });
    }

    /// Tells when the next PULL takes the token, if no request comes then.
    fn pull_from(&self) -> Option<Cycle> {
        let (from, _) = self.pulls.front()?;
        let at = (*from).max(self.token_from);
        Some(if self.requested == Some(at) { at + 1 } else { at })
    }

    /// Makes the frames for a request, or makes its PULL wait.
    fn answer(&mut self, request: ControlRequest, counters: &mut Counters) -> Option<Overflow> {
        let at = request.at;
        self.requested = Some(at);
        let wanted = wanted(&request);
        if !self.rules.combined {
            return APART
                .iter()
                .enumerate()
                .filter(|(queue, _)| wanted[*queue])
                .filter_map(|(queue, &flag)| self.put(queue, request.clone(), flag, at, counters))
                .last();
        }
        let flags = flags_of(wanted);
        if flags == Flags::default() {
            return None;
        }
        if !(self.rules.paced && request.pull) {
            return self.put(0, request, flags, at, counters);
        }
        if at >= self.token_from {
            self.token_from = at + self.token_cycles + 1;
            return self.put(0, request, flags, at, counters);
        }
        if self.pulls.len() >= self.pull_limit {
            if !self.bounded {
                return Some(Overflow { at, queue: "the queue of paced PULLs is full" });
            }
            counters.pulls_unpaced += 1;
            return self.put(0, request, flags, at, counters);
        }
        let at_once = Flags(flags.0 & !Flags::PULL.0);
        self.pulls.push_back((at + 1, request.clone()));
        if at_once == Flags::default() {
            return None;
        }
        self.put(0, request, at_once, at, counters)
    }

    /// Queues a frame for the arbiter.
    fn put(
        &mut self,
        queue: usize,
        request: ControlRequest,
        flags: Flags,
        at: Cycle,
        counters: &mut Counters,
    ) -> Option<Overflow> {
        if self.frames[queue].len() >= self.frame_limit {
            counters.control_frames_dropped += 1;
            let overflow = Overflow { at, queue: "the queue of control frames is full" };
            return (!self.bounded).then_some(overflow);
        }
        let from = at + self.latency;
        if let Some(seat) = self.hardware.get_mut() {
            let flags = APART.map(|flag| flags.has(flag));
            seat.follow(from, Answer { header: name(&request.answers), flags });
        }
        self.frames[queue].push_back(Control { request, flags, from });
        None
    }
}

/// Says which flags a request wants, in the order of [`APART`].
fn wanted(request: &ControlRequest) -> [bool; 3] {
    [request.acknowledge, request.negative, request.pull]
}

/// Gives flags that are set in the order of [`APART`].
fn flags_of(set: [bool; 3]) -> Flags {
    let set = APART.iter().zip(set).filter(|(_, is_set)| *is_set);
    set.fold(Flags::default(), |flags, (&flag, _)| flags.with(flag))
}

/// Gives what a block is told of a header: whom it comes from, its message and packet.
fn name(header: &Header) -> u64 {
    let message = u64::from(header.tx_msg_id) << 8 | u64::from(header.pkt_offset);
    u64::from(header.src_ip) << 32 | message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::transmit::TransmitSection;

    const NDP: ControlRules = ControlRules { paced: true, combined: true, payload_bytes: 64 };

    fn generator(fixes: TransmitFixes, rules: ControlRules) -> PacketGenerator {
        let section = TransmitSection::artifact(1000, fixes);
        PacketGenerator::new(&section.generator, &section.latency, &section.fixes, rules)
    }

    fn request(at: Cycle, id: u16) -> ControlRequest {
        ControlRequest {
            at,
            answers: Header { tx_msg_id: id, ..Header::default() },
            acknowledge: true,
            negative: false,
            pull: true,
            pull_offset: 3,
            grant_priority: 0,
        }
    }

    /// Answers requests of these cycles; gives when each frame may go, its flags and id.
    fn run(generator: &mut PacketGenerator, requests: &[Cycle]) -> Vec<(Cycle, String, u16)> {
        for (id, &at) in requests.iter().enumerate() {
            generator.push(request(at, id as u16));
        }
        let mut frames = Vec::new();
        while let Some(at) = generator.next() {
            assert_eq!(generator.act(at, &mut Counters::default()), None);
            while let Some(from) = generator.frame_from() {
                let frame = generator.take(from).unwrap();
                frames.push((from, frame.flags.to_string(), frame.request.answers.tx_msg_id));
            }
        }
        frames
    }

    #[test]
    fn requests_123_cycles_apart_get_one_frame_each() {
        let frames = run(&mut generator(TransmitFixes::NONE, NDP), &[15, 138, 261]);
        assert!(frames.iter().all(|(_, flags, _)| flags == "ACK+PULL"), "{frames:?}");
    }

    #[test]
    fn faster_requests_get_their_pull_when_the_token_is_back() {
        let frames = run(&mut generator(TransmitFixes::NONE, NDP), &[15, 24, 33]);
        let wanted = [
            (17, "ACK+PULL", 0),
            (26, "ACK", 1),
            (35, "ACK", 2),
            (140, "PULL", 1),
            (263, "PULL", 2),
        ];
        let wanted: Vec<_> = wanted.iter().map(|&(at, f, id)| (at, f.to_string(), id)).collect();
        assert_eq!(frames, wanted);
    }

    #[test]
    fn a_request_a_cycle_after_the_token_is_back_finds_it_taken() {
        let frames = run(&mut generator(TransmitFixes::NONE, NDP), &[15, 24, 139]);
        assert_eq!(frames[2], (140, "PULL".into(), 1));
        assert_eq!(frames[3], (141, "ACK".into(), 2));
    }

    #[test]
    fn a_request_in_the_tokens_cycle_goes_before_a_waiting_pull() {
        let frames = run(&mut generator(TransmitFixes::NONE, NDP), &[15, 24, 138]);
        assert_eq!(frames[2], (140, "ACK+PULL".into(), 2));
        assert_eq!(frames[3], (263, "PULL".into(), 1));
    }

    #[test]
    fn too_many_pulls_stop_the_rtl_and_go_at_once_with_the_fix() {
        for (fixes, stops) in [(TransmitFixes::NONE, true), (TransmitFixes::ALL, false)] {
            let mut generator = generator(fixes, NDP);
            let mut counters = Counters::default();
            let mut overflow = None;
            for n in 0..300 {
                generator.push(request(n / 8, 0));
                overflow = overflow.or(generator.act(n / 8, &mut counters));
                generator.take(n / 8 + 2);
            }
            assert_eq!(overflow.is_some(), stops);
            assert_eq!(counters.pulls_unpaced > 0, !stops);
        }
    }

    #[test]
    fn transports_may_have_a_frame_for_each_flag_in_order_of_urgency() {
        let rules = ControlRules { paced: false, combined: false, payload_bytes: 1 };
        let mut generator = generator(TransmitFixes::ALL, rules);
        let mut first = request(5, 1);
        first.acknowledge = false;
        for r in [first, request(6, 2)] {
            generator.push(r);
            generator.act(6, &mut Counters::default());
        }
        let order: Vec<_> = std::iter::from_fn(|| generator.take(100))
            .map(|frame| (frame.flags.to_string(), frame.request.answers.tx_msg_id))
            .collect();
        assert_eq!(order, [("ACK".into(), 2), ("PULL".into(), 1), ("PULL".into(), 2)]);
    }
}
