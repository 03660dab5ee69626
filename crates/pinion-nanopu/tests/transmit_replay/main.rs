//! The transmit side does what the RTL did, cycle by cycle: every scenario of the calibration set is
//! replayed with the words that the RTL's harts wrote and the requests its receive side made, and
//! compared in its frames and in the events of packetization, timers and egress.
//!
//! `PINION_NANOPU_SET` names another set of the same layout.

mod set;

use std::collections::HashMap;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, NanoPu, Told};
use pinion_nanopu::machine::transmit::{TransmitFixes, TransmitSection};
use pinion_nanopu::nic::receive::Requests as _;
use pinion_nanopu::nic::transmit::Transmit;
use pinion_nanopu::nic::{ControlRequest, Credit, Delivered};
use pinion_nanopu::transport::ndp::Ndp;
use pinion_nanopu::transport::p4::{Numbers, P4, Pipelines};
use pinion_nanopu::transport::{Address, Transport};
use pinion_net::frame::lnic::{Flags, Header, LNIC_HEADER_BYTES, NDP_PROTOCOL};
use pinion_sim::probe::Hears;

use set::{EventRow, FrameRow, Scenario};

/// Cycle of the model at which the tables' cycle 0 lies.
const ZERO: i64 = 100_000;
/// Cycles from a frame's first flit in to what the ingress pipeline asks for.
const INGRESS: i64 = 15;
/// Cycle, counted from the hardware's reset, in which its timer scan compares entry 0, modulo 256.
const SCAN_FROM_RESET: i64 = 128;

/// Is one thing that reaches the transmit side.
#[derive(Clone, Debug)]
enum Input {
    Word(u8, u16, u64),
    Control(ControlRequest),
    Delivered(Delivered),
    Credit(Credit),
}

/// Holds an event's cycle, hart, and whether it was the last word.
type Seen = (i64, Option<u8>, bool);

/// Keeps the events that the tables have.
#[derive(Default)]
struct Recorder(HashMap<&'static str, Vec<Seen>>);

impl Hears<NanoPu> for Recorder {
    fn hear(&mut self, told: &Told<'_>) {
        let Told::Event { at, event } = *told else { return };
        let (name, hart, last) = match event {
            Event::PacketizeIn { hart } => ("packetize_in", Some(hart), false),
            Event::PacketizeOut { last } => ("packetize_out", None, last),
            Event::EgressIn { last } => ("egress_in", None, last),
            Event::EgressOut { last } => ("egress_out", None, last),
            Event::Timeout => ("timeout", None, false),
            Event::TimerCancel => ("timer_cancel", None, false),
            _ => return,
        };
        self.0.entry(name).or_default().push((at as i64 - ZERO, hart, last));
    }
}

/// Completes a data packet's payload, of which the table has the first words: the rest is that of
/// an injected frame, plus 1 in each word, or the last word repeated, whichever has the right CRC.
fn payload(row: &FrameRow, injected: &[Vec<u8>]) -> Option<Vec<u8>> {
    let bytes = row.bytes - LNIC_HEADER_BYTES;
    let start = &row.payload_start;
    let plus_one = |payload: &Vec<u8>| -> Vec<u8> {
        let add = |word: &[u8]| {
            let mut full = [0; 8];
            full[..word.len()].copy_from_slice(word);
            u64::from_be_bytes(full).wrapping_add(1).to_be_bytes()[..word.len()].to_vec()
        };
        payload.chunks(8).flat_map(add).collect()
    };
    let repeated = start.iter().chain(start[start.len().saturating_sub(8)..].iter().cycle());
    let candidates = [start.clone(), repeated.copied().take(bytes).collect()];
    let others = injected.iter().flat_map(|payload| [payload.clone(), plus_one(payload)]);
    candidates.into_iter().chain(others).find(|payload| {
        payload.len() == bytes
            && payload.starts_with(start)
            && set::crc32(&row.header.frame(payload)) == row.crc
    })
}

/// Lists the words of the messages that frames carry, by first transmission: hart unknown.
struct Messages {
    words: Vec<(u16, Vec<u64>)>,
    exact: bool,
}

fn messages(frames: &[FrameRow], injected: &[Vec<u8>]) -> Messages {
    let data = || frames.iter().filter(|f| f.out && f.data());
    let mut words = Vec::new();
    let mut exact = true;
    let mut seen: Vec<&FrameRow> = Vec::new();
    for (n, first) in data().enumerate() {
        let header = &first.header;
        let same = |f: &&FrameRow| f.payload_start == first.payload_start && f.header == *header;
        if header.pkt_offset != 0 || seen.iter().rev().take(16).any(same) {
            continue; // Not the beginning, or a retransmission.
        }
        seen.push(first);
        let value = u64::from(header.dst_ip) << 32
            | u64::from(header.dst_context) << 16
            | u64::from(header.msg_len);
        let mut message = vec![value];
        let mut bytes = Vec::new();
        for packet in 0..header.msg_len.div_ceil(1024) {
            let mut later = data().skip(n);
            let row = later.find(|f| {
                f.header.tx_msg_id == header.tx_msg_id && u16::from(f.header.pkt_offset) == packet
            });
            let mut payload = row.and_then(|row| payload(row, injected));
            exact &= payload.is_some();
            if payload.is_none() {
                payload = row.map(|row| row.payload_start.clone());
            }
            bytes.extend(payload.unwrap_or_default());
            bytes.resize(usize::from(header.msg_len.min((packet + 1) * 1024)), 0);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let word = |chunk: &[u8]| u64::from_be_bytes(chunk.try_into().expect("8 bytes"));
        message.extend(bytes.chunks(8).map(word));
        words.push((header.src_context, message));
    }
    Messages { words, exact }
}

/// Tells which context a hart runs, by its traps.
struct Contexts(Vec<Vec<(i64, u16)>>);

impl Contexts {
    fn new(harts: usize, events: &[EventRow]) -> Self {
        let mut switches = vec![Vec::new(); harts];
        let mut target = vec![0; harts];
        for event in events {
            let hart = usize::from(event.hart.unwrap_or(0));
            match (event.event.as_str(), event.target) {
                ("thread_interrupt", Some(context)) => target[hart] = context,
                ("trap", _) => switches[hart].push((event.cycle, target[hart])),
                _ => {}
            }
        }
        Self(switches)
    }

    fn at(&self, hart: usize, cycle: i64) -> u16 {
        let past = self.0[hart].partition_point(|(at, _)| *at <= cycle);
        past.checked_sub(1).map_or(0, |last| self.0[hart][last].1)
    }
}

/// Gives each word written to x31 its value. One hart's contexts write their messages in the order
/// in which they first leave; several harts' messages are all equally long, and end in that order.
fn word_inputs(scenario: &Scenario, events: &[EventRow], messages: &Messages) -> Vec<(i64, Input)> {
    let mut left = messages.words[scenario.harts.min(messages.words.len())..].iter().cloned();
    let contexts = Contexts::new(scenario.harts, events);
    let mut writes: HashMap<(usize, u16), Vec<i64>> = HashMap::new();
    for event in events.iter().filter(|e| e.event == "core_tx_word") {
        let hart = usize::from(event.hart.expect("a hart"));
        writes.entry((hart, contexts.at(hart, event.cycle))).or_default().push(event.cycle);
    }
    let mut by_stream: HashMap<(usize, u16), Vec<Vec<u64>>> = HashMap::new();
    if scenario.harts == 1 {
        for (context, words) in left {
            by_stream.entry((0, context)).or_default().push(words);
        }
    } else {
        let length = left.clone().next().map_or(2, |(_, words)| words.len());
        assert!(left.clone().all(|(_, words)| words.len() == length), "equally long");
        let mut taken = vec![0; scenario.harts];
        for event in events.iter().filter(|e| e.event == "packetize_in") {
            let hart = usize::from(event.hart.expect("a hart"));
            taken[hart] += 1;
            if usize::is_multiple_of(taken[hart], length)
                && let Some((context, words)) = left.next()
            {
                by_stream.entry((hart, context)).or_default().push(words);
            }
        }
    }
    let mut inputs = Vec::new();
    for ((hart, context), cycles) in writes {
        // What is cut off by the end of the run never left: any header will do.
        let written = by_stream.remove(&(hart, context)).unwrap_or_default();
        let cut = written.last().cloned().unwrap_or(vec![0x0a00_0001_0000_0008, 0]);
        let values = written.into_iter().chain(std::iter::repeat(cut)).flatten();
        for (cycle, value) in cycles.into_iter().zip(values) {
            inputs.push((cycle, Input::Word(hart as u8, context, value)));
        }
    }
    inputs
}

/// Announces the harts, as before cycle 0: header words in the order of their ids, the others in the
/// order of the frames.
fn announcements(frames: &[FrameRow], messages: &Messages) -> Vec<(i64, Input)> {
    let mut inputs = Vec::new();
    let sent = frames.iter().filter(|f| f.out && f.data() && f.first_flit < 0);
    for (n, (frame, (context, words))) in sent.zip(&messages.words).enumerate() {
        let hart = (frame.header.dst_context - 0x7000) as u8;
        let header_at = -3300 + 10 * i64::from(frame.header.tx_msg_id);
        inputs.push((header_at, Input::Word(hart, *context, words[0])));
        inputs.push((-3200 + 10 * n as i64, Input::Word(hart, *context, words[1])));
    }
    inputs
}

/// Makes what the receive side asks for of the frames in and the events that say when.
fn receive_inputs(events: &[EventRow], frames: &[FrameRow]) -> Vec<(i64, Input)> {
    let mut inputs = Vec::new();
    let mut answers =
        frames.iter().filter(|f| f.out && (f.header.flags.0 & (Flags::ACK.0 | Flags::NACK.0)) != 0);
    let before_zero = frames.iter().filter(|f| !f.out && f.first_flit + INGRESS < 9);
    let ours = before_zero
        .filter(|f| f.header.flags.has(Flags::ACK))
        .map(|f| (f.first_flit + INGRESS, ["delivered", "credit"]));
    let early: Vec<_> = ours.flat_map(|(at, names)| names.map(|name| (at, name))).collect();
    let traced = events.iter().map(|e| (e.cycle, e.event.as_str()));
    for (cycle, name) in early.into_iter().chain(traced) {
        let frame = || {
            let arrived = |f: &&FrameRow| !f.out && f.first_flit + INGRESS == cycle;
            frames.iter().find(arrived).unwrap_or_else(|| panic!("{name} at {cycle}: no frame"))
        };
        let at = (cycle + ZERO) as Cycle;
        match name {
            "control_request" => {
                let answers_to = frame().header;
                let negative = answers_to.flags.has(Flags::CHOP);
                let answer = answers.next();
                inputs.push((
                    cycle,
                    Input::Control(ControlRequest {
                        at,
                        answers: answers_to,
                        acknowledge: !negative,
                        negative,
                        pull: true,
                        pull_offset: answer.map_or(0, |a| a.header.pull_offset),
                        grant_priority: 0,
                    }),
                ));
            }
            "delivered" => {
                let Header { tx_msg_id, pkt_offset: packet, .. } = frame().header;
                let (and_all_before, generation) = (false, 0);
                let delivered = Delivered { at, tx_msg_id, packet, and_all_before, generation };
                inputs.push((cycle, Input::Delivered(delivered)));
            }
            "credit" => {
                let header = frame().header;
                inputs.push((
                    cycle,
                    Input::Credit(Credit {
                        at,
                        tx_msg_id: header.tx_msg_id,
                        retransmit: header.flags.has(Flags::NACK).then_some(header.pkt_offset),
                        credit: header.flags.has(Flags::PULL).then_some(header.pull_offset),
                        priority: 0,
                    }),
                ));
            }
            _ => {}
        }
    }
    inputs
}

/// Is a frame that the model sent.
#[derive(PartialEq)]
struct Sent {
    first_flit: i64,
    last_flit: i64,
    frame: Vec<u8>,
}

/// Makes NDP: ours, or the program that comes with Pinion.
fn ndp(is_p4: bool, rtt_packets: u16) -> Box<dyn Transport> {
    if !is_p4 {
        return Box::new(Ndp::new(rtt_packets, 128, false));
    }
    let numbers = Numbers { rtt_packets, messages: 128, ..Numbers::default() };
    let pipelines = Pipelines::load("sdk/p4/ndp/ingress.p4", "sdk/p4/ndp/egress.p4", None);
    Box::new(P4::new(pipelines.expect("NDP's programs").into(), numbers))
}

/// Runs a scenario. `eager` calls `advance` at every input besides the cycles asked for.
fn run(
    scenario: &Scenario,
    inputs: &[(i64, Input)],
    eager: bool,
    is_p4: bool,
) -> (Recorder, Vec<Sent>, Transmit) {
    let mut section = TransmitSection::artifact(scenario.timeout_cycles, TransmitFixes::NONE);
    let phase = SCAN_FROM_RESET - scenario.cycles_from_reset_to_cycle_0 + ZERO;
    section.timer.scan_phase_cycles = phase.rem_euclid(256) as u64;
    let own = Address {
        mac: [8, 0x11, 0x22, 0x33, 0x44, 8],
        next_hop_mac: [8, 0x55, 0x66, 0x77, 0x88, 8],
        ip: 0x0a00_0002,
    };
    let ndp = ndp(is_p4, scenario.rtt_pkts);
    let mut transmit = Transmit::new(&section, scenario.harts, 4, scenario.rtt_pkts, own, ndp)
        .expect("the artifact's numbers describe a machine");
    let mut recorder = Recorder::default();
    let mut sent = Vec::new();
    let mut out = |first: Cycle, last: Cycle, frame: &[u8]| {
        let (first_flit, last_flit) = (first as i64 - ZERO, last as i64 - ZERO);
        sent.push(Sent { first_flit, last_flit, frame: frame.to_vec() });
    };
    let end = (scenario.last_cycle + ZERO) as Cycle;
    for (at, input) in inputs {
        let at = (at + ZERO) as Cycle;
        while let Some(next) = transmit.next_event().filter(|&next| next < at) {
            transmit.advance(next, &mut out, &mut recorder);
        }
        if eager {
            transmit.advance(at - 1, &mut out, &mut recorder);
        }
        match input.clone() {
            Input::Word(hart, context, word) => transmit.word(hart, context, word, at),
            Input::Control(request) => transmit.control(request),
            Input::Delivered(delivered) => transmit.delivered(delivered),
            Input::Credit(credit) => transmit.credit(credit),
        }
    }
    while let Some(next) = transmit.next_event().filter(|&next| next <= end) {
        transmit.advance(next, &mut out, &mut recorder);
        if transmit.stopped().is_some() {
            break;
        }
    }
    transmit.advance(end, &mut out, &mut recorder);
    (recorder, sent, transmit)
}

/// Counts what was compared.
#[derive(Default)]
struct Compared {
    frames: usize,
    events: usize,
    whole: bool,
    mismatches: Vec<String>,
}

/// Compares the frames, then the events of each name.
fn compare(
    scenario: &Scenario,
    events: &[EventRow],
    frames: &[FrameRow],
    exact: bool,
    recorder: &Recorder,
    sent: &[Sent],
) -> Compared {
    let mut compared = Compared { whole: exact, ..Compared::default() };
    let in_time = |at: i64| (0..=scenario.last_cycle).contains(&at);
    let whole = |first: i64, last: i64| in_time(first) && in_time(last);
    let ours: Vec<_> = sent.iter().filter(|s| whole(s.first_flit, s.last_flit)).collect();
    let theirs: Vec<_> =
        frames.iter().filter(|f| f.out && whole(f.first_flit, f.last_flit)).collect();
    if ours.len() != theirs.len() {
        compared.mismatches.push(format!("{} frames, {} expected", ours.len(), theirs.len()));
    }
    for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        compared.frames += 1;
        let (header, payload) = Header::parse(&ours.frame, NDP_PROTOCOL).expect("our own frame");
        let start = &payload[..payload.len().min(48)];
        let got = (header, ours.first_flit, ours.last_flit, ours.frame.len());
        let want = (theirs.header, theirs.first_flit, theirs.last_flit, theirs.bytes);
        if got != want || theirs.data() && start != theirs.payload_start {
            compared.mismatches.push(format!("frame {n}: {got:?}, expected {want:?}"));
        } else if exact && set::crc32(&ours.frame) != theirs.crc {
            compared.mismatches.push(format!("frame {n}: another CRC"));
        }
    }
    for name in
        ["packetize_in", "packetize_out", "egress_in", "egress_out", "timeout", "timer_cancel"]
    {
        let theirs: Vec<_> =
            events.iter().filter(|e| e.event == name).map(|e| (e.cycle, e.hart, e.last)).collect();
        let ours: Vec<_> = recorder
            .0
            .get(name)
            .into_iter()
            .flatten()
            .copied()
            .filter(|event| in_time(event.0))
            .collect();
        compared.events += theirs.len();
        if let Some(n) = (0..ours.len().max(theirs.len())).find(|&n| ours.get(n) != theirs.get(n)) {
            compared.mismatches.push(format!(
                "{name} {n}: {:?}, expected {:?}; {} of {}",
                ours.get(n),
                theirs.get(n),
                ours.len(),
                theirs.len()
            ));
        }
    }
    compared
}

#[test]
fn every_scenario_is_that_of_the_rtl_cycle_by_cycle() {
    let folder = set::folder();
    let mut wrong = 0;
    let scenarios = set::scenarios(&folder);
    assert!(!scenarios.is_empty(), "{} has no scenarios with events", folder.display());
    for scenario in &scenarios {
        let events = set::events(&folder, &scenario.name);
        let frames = set::frames(&folder, &scenario.name);
        let messages = messages(&frames, &set::injected_payloads(&folder, &scenario.name));
        let mut inputs = announcements(&frames, &messages);
        inputs.extend(word_inputs(scenario, &events, &messages));
        inputs.extend(receive_inputs(&events, &frames));
        inputs.sort_by_key(|(at, _)| *at);
        let (recorder, sent, _) = run(scenario, &inputs, false, false);
        let compared = compare(scenario, &events, &frames, messages.exact, &recorder, &sent);
        println!(
            "{:34} {:5} frames{} {:6} events  {}",
            scenario.name,
            compared.frames,
            if compared.whole { " (bytes)" } else { " (start)" },
            compared.events,
            if compared.mismatches.is_empty() { "same" } else { "DIFFERENT" },
        );
        for mismatch in compared.mismatches.iter().take(4) {
            println!("    {mismatch}");
        }
        wrong += usize::from(!compared.mismatches.is_empty());
        let (in_p4, sent_in_p4, _) = run(scenario, &inputs, false, true);
        assert!(in_p4.0 == recorder.0, "{} in P4: other events", scenario.name);
        assert!(sent_in_p4 == sent, "{} in P4: other frames", scenario.name);
        let (eager, eagerly_sent, _) = run(scenario, &inputs, true, false);
        assert_eq!(eager.0, recorder.0, "{}: depends on when it is advanced", scenario.name);
        assert_eq!(eagerly_sent.len(), sent.len());
    }
    assert_eq!(wrong, 0, "{wrong} of {} scenarios differ", scenarios.len());
}

#[test]
fn the_rtl_stops_at_an_acknowledgement_too_many() {
    let folder = set::folder();
    for scenario in set::scenarios(&folder) {
        if !["transport_double_ack", "transport_nack_only"].contains(&scenario.name.as_str()) {
            continue;
        }
        let events = set::events(&folder, &scenario.name);
        let frames = set::frames(&folder, &scenario.name);
        let messages = messages(&frames, &set::injected_payloads(&folder, &scenario.name));
        let mut inputs = announcements(&frames, &messages);
        inputs.extend(word_inputs(&scenario, &events, &messages));
        inputs.extend(receive_inputs(&events, &frames));
        inputs.sort_by_key(|(at, _)| *at);
        let longer = Scenario { last_cycle: scenario.last_cycle + 100, ..scenario.clone() };
        let (_, _, transmit) = run(&longer, &inputs, false, false);
        let at = transmit.stopped().map(|(at, _)| at as i64 - ZERO);
        assert_eq!(at, Some(scenario.last_cycle), "{}", scenario.name);
    }
}
