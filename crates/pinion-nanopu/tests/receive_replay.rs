//! The receive side and the harts' interfaces against the RTL's event tables: the frames come in
//! when they came in there, the harts do what they did there, and every event must fall in the same
//! cycle.
//!
//! What the harts did is in the tables but for their idle writes and the CSR writes of the thread
//! switch. Those follow from the programs: they poll in a loop of six cycles, and a switch
//! writes its CSRs at fixed distances from the trap.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, Listener};
use pinion_nanopu::hart_interface::{Command, HartInterface};
use pinion_nanopu::machine::hart_interface::{HartInterfaceFixes, HartInterfaceSection};
use pinion_nanopu::machine::receive::{ReceiveFixes, ReceiveSection};
use pinion_nanopu::nic::receive::{Receive, Requests};
use pinion_nanopu::nic::{ControlRequest, Credit, Delivered};
use pinion_nanopu::transport::ndp::Ndp;
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

/// The replay's cycle of the set's cycle 0.
const ZERO: Cycle = 100_000;

/// From a trap to the handler's writes of `lniccmd` and `lcurcontext`, its read of
/// `ltargetcontext` and the first instruction of the target, all warm.
const TRAP_TO_START_TIMER: Cycle = 51;
const TRAP_TO_TARGET: Cycle = 52;
const TRAP_TO_CONTEXT: Cycle = 56;
const TRAP_TO_THREAD: Cycle = 99;

/// The polling loop: `csrr`, three cycles later the branch, then the idle write and the jump.
const POLL_CYCLES: Cycle = 6;

fn set() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/nanopu");
    std::env::var_os("PINION_NANOPU_SET").map_or(default, PathBuf::from)
}

/// Is an event as the tables have it.
type Row = (Cycle, String);

struct Heard(Vec<Row>);

impl Listener for Heard {
    fn event(&mut self, at: Cycle, event: Event) {
        let end = |last: bool| if last { "last" } else { "" };
        let text = match event {
            Event::IngressIn { last } => format!("ingress_in,,{}", end(last)),
            Event::IngressOut { last } => format!("ingress_out,,{}", end(last)),
            Event::ReassemblyOut { last } => format!("reassembly_out,,{}", end(last)),
            Event::GlobalReceiveOut { hart, last } => format!("global_rx_out,{hart},{}", end(last)),
            Event::ReceiveWord { hart, context, last } => {
                format!("core_rx_word,{hart},{}ctx={context:04x}", if last { "last " } else { "" })
            }
            Event::ThreadInterrupt { hart, running, target } => {
                format!("thread_interrupt,{hart},cur={running:04x} top={target:04x}")
            }
            Event::ControlRequest => "control_request,,".into(),
            Event::Delivered => "delivered,,".into(),
            Event::Credit => "credit,,".into(),
            _ => return,
        };
        self.0.push((at, text));
    }
}

/// The transmit side is not needed.
struct Nobody;

impl Requests for Nobody {
    fn control(&mut self, _: ControlRequest) {}
    fn delivered(&mut self, _: Delivered) {}
    fn credit(&mut self, _: Credit) {}
}

fn lines(path: PathBuf) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(fields).collect()
}

fn cycle(text: &str) -> Cycle {
    (ZERO as i64 + text.parse::<i64>().unwrap()) as Cycle
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| {
        let eight = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
        (0..8).fold(crc ^ u32::from(byte), |crc, _| eight(crc))
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// Reads the frames that came in, with the cycles of their first flits.
fn frames(set: &Path, scenario: &str) -> Vec<(Cycle, Vec<u8>)> {
    let hex = |text: &str| -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len() / 2).map(|n| byte(2 * n)).collect()
    };
    let script = lines(set.join(format!("scenarios/{scenario}.csv")));
    let script: BTreeMap<u32, Vec<u8>> = script
        .iter()
        .map(|row| hex(row.last().unwrap()))
        .map(|frame| (crc32(&frame), frame))
        .collect();
    let rows = lines(set.join(format!("results/{scenario}.csv")));
    let arrived = rows.iter().filter(|row| row[2] == "in").map(|row| {
        let crc = u32::from_str_radix(&row[19], 16).unwrap();
        let ip = |text: &str| u32::from_str_radix(text, 16).unwrap();
        let number = |text: &str| text.parse().unwrap();
        let frame = script.get(&crc).cloned().unwrap_or_else(|| {
            let flag = |flags: Flags, name: &str| match name {
                "ACK" => flags.with(Flags::ACK),
                "NACK" => flags.with(Flags::NACK),
                "PULL" => flags.with(Flags::PULL),
                name => panic!("{scenario}: frame of kind {name} is not in the script"),
            };
            let header = Header {
                dst_mac: [0x08, 0x11, 0x22, 0x33, 0x44, 0x08],
                src_mac: [0x08, 0x55, 0x66, 0x77, 0x88, 0x08],
                protocol: NDP_PROTOCOL,
                src_ip: ip(&row[9]),
                dst_ip: ip(&row[10]),
                flags: row[5].split('+').fold(Flags::default(), flag),
                src_context: number(&row[11]),
                dst_context: number(&row[12]),
                msg_len: number(&row[13]),
                pkt_offset: number(&row[14]) as u8,
                pull_offset: number(&row[15]),
                tx_msg_id: number(&row[16]),
                buf_ptr: number(&row[17]),
                buf_size_class: number(&row[18]) as u8,
                ..Header::default()
            };
            header.frame(&[0; 64])
        });
        assert_eq!(crc32(&frame), crc, "{scenario}: a frame was not rebuilt right");
        (cycle(&row[7]), frame)
    });
    arrived.collect()
}

/// What a hart does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Write(u16, u64),
    Pop,
    Unread(u32),
    Trap,
    /// The switch reads which context to run.
    Target,
    /// The switch goes there.
    Switch,
    /// The thread that was switched to goes on.
    Resume,
}

type Actions = Vec<(Cycle, usize, Action)>;

/// Reads the table of events: what the harts did, and what is to be reproduced.
fn table(set: &Path, scenario: &str) -> (Actions, Vec<Row>) {
    let (mut actions, mut events) = (Vec::new(), Vec::new());
    for row in lines(set.join(format!("traces/{scenario}_events.csv"))) {
        let (at, count) = (cycle(&row[0]), row[1].parse::<Cycle>().unwrap());
        for at in at..at + count {
            let hart = || row[3].parse().unwrap();
            match row[2].as_str() {
                "core_rx_pop" => actions.push((at, hart(), Action::Pop)),
                "core_rx_unread" => {
                    // One bit per pipeline stage whose read is undone.
                    let stages: u32 = row[4].parse().unwrap();
                    actions.push((at, hart(), Action::Unread(stages.count_ones())));
                }
                "msg_done" => actions.push((at, hart(), Action::Write(0x056, 1))),
                "trap" => actions.push((at, hart(), Action::Trap)),
                "ingress_in" | "ingress_out" | "reassembly_out" | "global_rx_out"
                | "core_rx_word" | "thread_interrupt" | "control_request" | "delivered"
                | "credit" => events.push((at, row[2..5].join(","))),
                _ => {}
            }
        }
    }
    (actions, events)
}

/// Says which instruction of the polling loop a thread goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It works on a message.
    Working,
    Read,
    Branch,
    Idle,
    Jump,
}

/// Is what the replay knows of a hart beyond its interface.
#[derive(Clone, Debug)]
struct Hart {
    /// A `csrr` of the loop it polls in, and when it leaves it.
    polling: Option<(Cycle, Cycle)>,
    thread: usize,
    target: usize,
    places: [Place; 4],
}

/// Replays one scenario.
struct Replay {
    receive: Receive,
    interfaces: Vec<HartInterface>,
    harts: Vec<Hart>,
    threads: bool,
    /// What each hart does by the table, latest first.
    known: Vec<Vec<(Cycle, Action)>>,
    /// What is inferred, in order.
    inferred: BTreeMap<(Cycle, usize, Action), ()>,
    /// By hart: when words entered its queue and when its interrupt was up, by the table.
    entered: Vec<Vec<Cycle>>,
    pulses: Vec<Vec<Cycle>>,
    heard: Heard,
    end: Cycle,
}

impl Replay {
    /// Does what the units do up to cycle `to`.
    fn advance(&mut self, to: Cycle) {
        loop {
            let room = self.interfaces.iter().filter_map(HartInterface::next_room);
            let next = room.chain(self.receive.next_event()).min();
            let Some(at) = next.filter(|at| *at <= to) else { break };
            self.receive.advance(at, &mut Nobody, &mut self.interfaces, &mut self.heard);
        }
    }

    /// Writes a CSR and does what it asks for.
    fn write(&mut self, hart: usize, csr: u16, value: u64, now: Cycle) {
        match self.interfaces[hart].write_csr(csr, value, now).unwrap() {
            Command::Nothing => {}
            Command::Bind { context } => {
                assert!(self.receive.bind(hart as u8, context, now));
            }
            Command::MessageDone { context } => {
                self.receive.message_done(hart as u8, context, now);
            }
        }
    }

    fn act(&mut self, hart: usize, action: Action, now: Cycle) {
        match action {
            Action::Pop => drop(self.interfaces[hart].pop(now)),
            Action::Unread(words) => self.interfaces[hart].unread(words),
            Action::Write(csr, value) => {
                self.write(hart, csr, value, now);
                if (csr, value) == (0x056, 1) {
                    self.poll(hart, now + 2, None);
                }
            }
            Action::Trap => {
                let state = &mut self.harts[hart];
                let polling = state.polling.filter(|(_, until)| now <= *until);
                let place = polling.map(|(read, _)| match (now + 600 - read % 6) % 6 {
                    0 => Place::Read,
                    1..=3 => Place::Branch,
                    4 => Place::Idle,
                    _ => Place::Jump,
                });
                state.places[state.thread] = place.unwrap_or(Place::Working);
                state.polling = None;
                self.interfaces[hart].interrupt_taken(now);
                self.infer(hart, now + TRAP_TO_START_TIMER, Action::Write(0x054, 4));
                self.infer(hart, now + TRAP_TO_TARGET, Action::Target);
                self.infer(hart, now + TRAP_TO_CONTEXT, Action::Switch);
                self.infer(hart, now + TRAP_TO_THREAD, Action::Resume);
            }
            Action::Target => {
                let target = self.interfaces[hart].read_csr(0x058, now).unwrap();
                self.harts[hart].target = target as usize;
            }
            Action::Switch => {
                let target = self.harts[hart].target;
                self.harts[hart].thread = target;
                self.write(hart, 0x053, target as u64, now);
            }
            Action::Resume => match self.harts[hart].places[self.harts[hart].thread] {
                Place::Working => {}
                Place::Read => self.poll(hart, now, None),
                Place::Branch => self.poll(hart, now + 3, Some(2)),
                Place::Idle => self.poll(hart, now + 2, Some(2)),
                Place::Jump => self.poll(hart, now + 1, None),
            },
        }
    }

    fn infer(&mut self, hart: usize, at: Cycle, action: Action) {
        self.inferred.insert((at, hart, action), ());
    }

    /// Infers the idle writes of a loop whose first `csrr` retires in `first`, and of one
    /// `before` it, until the hart does something else.
    fn poll(&mut self, hart: usize, first: Cycle, before: Option<Cycle>) {
        if !self.threads {
            return;
        }
        // Reads on a wrong path, given back at once, do not end the loop.
        let mut known = self.known[hart].iter().rev().peekable();
        let mut next = None;
        while let Some(&(at, action)) = known.next() {
            match (action, known.peek()) {
                (Action::Pop, Some((_, Action::Unread(1)))) => drop(known.next()),
                _ => {
                    next = Some((at, action));
                    break;
                }
            }
        }
        let (first, end) = match next {
            // The last `csrr` is four cycles before the first read of x30.
            Some((at, Action::Pop)) if at >= first + 4 => {
                let last = at - 4;
                (last - (last - first) / POLL_CYCLES * POLL_CYCLES, last)
            }
            Some((_, Action::Pop)) => return,
            Some((at, _)) => (self.phase(hart, first, at), at),
            None => (first, self.end),
        };
        self.harts[hart].polling = Some((first, end));
        let idle = before.map(|before| first - before);
        let writes = (first + 4..end).step_by(POLL_CYCLES as usize);
        for at in idle.into_iter().chain(writes) {
            self.infer(hart, at, Action::Write(0x056, 2));
        }
    }

    /// Finds the phase of a loop that a trap ends. The caches and the predictor shift it by some
    /// cycles the first times, which is not the matter of this test: the last interrupt that no
    /// word caused shows where the idle writes were.
    fn phase(&self, hart: usize, first: Cycle, trap: Cycle) -> Cycle {
        let polled = |cycle: &&Cycle| (trap - 3..=trap + 1).contains(*cycle);
        // If a word of a message interrupts, all do.
        let by_word = |cycle: &&Cycle| {
            let (words, pulses) = (&self.entered[hart], &self.pulses[hart]);
            let entered = |word: &Cycle| words.contains(word);
            let up = |word: Cycle| pulses.contains(&(word + 2));
            let word = **cycle - 2;
            let after = (word..).take_while(entered);
            entered(&word) && after.chain((0..word).rev().take_while(entered)).all(up)
        };
        let idle = self.pulses[hart].iter().filter(polled).filter(|cycle| !by_word(cycle)).max();
        let shift = match idle {
            Some(pulse) => (pulse - 2 + 600 - (first + 4) % 6) % 6,
            None => match (trap + 600 - (first + 4) % 6) % 6 {
                // Such a write would have been heard of.
                1 | 2 => 4,
                _ => 0,
            },
        };
        first + shift
    }

    /// Boots as the programs do; cycles are the set's.
    fn boot(&mut self, program: &str) {
        let early = program.contains("early");
        let reset = |cycle: i64| (ZERO as i64 + cycle) as Cycle;
        let priorities = match program {
            _ if program.contains("p0_p0") => [0, 0],
            _ if program.contains("p1_p1") => [1, 1],
            _ => [0, 1],
        };
        for hart in 0..self.interfaces.len() {
            if !self.threads {
                self.write(hart, 0x053, 0, reset(-5000));
                self.write(hart, 0x054, 1, reset(-4999));
                continue;
            }
            // The idle timer ran out for the first switch some 150 cycles before cycle 0.
            let start = if early { -153 - 6 * 3001 } else { -155 - 3000 };
            if !early {
                self.write(hart, 0x054, 4, reset(start));
            }
            for context in 0..2 {
                self.write(hart, 0x053, context, reset(start + 1));
                self.write(hart, 0x055, priorities[context as usize], reset(start + 2));
                self.write(hart, 0x054, 1, reset(start + 3));
            }
            if program.contains("unbounded") {
                self.write(hart, 0x060, 1_000_000, reset(start + 4));
            }
            self.write(hart, 0x053, 0, reset(start + 5));
            self.write(hart, 0x053, 0xffff, reset(-2995));
            self.write(hart, 0x054, 4, reset(-60));
            let target = self.interfaces[hart].read_csr(0x058, reset(-59));
            assert_eq!(target, Some(0), "idle rotation starts context 0");
            self.write(hart, 0x053, 0, reset(-10));
            self.poll(hart, reset(0), None);
        }
    }

    fn run(&mut self) {
        loop {
            let known = (0..self.harts.len())
                .filter_map(|hart| self.known[hart].last().map(|&(at, a)| (at, hart, a)))
                .min();
            let inferred = self.inferred.first_key_value().map(|(&key, ())| key);
            let Some((at, hart, action)) = known.into_iter().chain(inferred).min() else { break };
            self.advance(at);
            if known == Some((at, hart, action)) {
                self.known[hart].pop();
            } else {
                self.inferred.pop_first();
            }
            self.act(hart, action, at);
        }
        self.advance(self.end);
        for interface in &mut self.interfaces {
            interface.advance(self.end + 2, &mut self.heard);
        }
    }
}

/// Replays a scenario; returns how many events agree and those that one side lacks.
fn replay(set: &Path, scenario: &str, program: &str, harts: usize) -> (usize, Vec<String>) {
    let (actions, mut expected) = table(set, scenario);
    let last = expected.iter().map(|(at, _)| *at).max().unwrap_or(ZERO);
    let end = actions.iter().map(|(at, ..)| *at).max().unwrap_or(ZERO).max(last);
    let section = ReceiveSection::artifact(ReceiveFixes::NONE);
    let transport = Ndp::new(2, section.reassembly.messages(), false);
    let shape = HartInterfaceSection::artifact(HartInterfaceFixes::NONE);
    let known = (0..harts).map(|hart| {
        let mine = actions.iter().filter(|(_, core, _)| *core == hart);
        let mut mine: Vec<_> = mine.map(|&(at, _, action)| (at, action)).collect();
        mine.sort_unstable_by(|a, b| b.cmp(a));
        mine
    });
    let hart = Hart { polling: None, thread: 0, target: 0, places: [Place::Jump; 4] };
    let mut replay = Replay {
        receive: Receive::new(&section, Box::new(transport), harts).unwrap(),
        interfaces: (0..harts as u8).map(|hart| HartInterface::new(hart, &shape)).collect(),
        harts: vec![hart; harts],
        threads: program.contains("threads"),
        known: known.collect(),
        inferred: BTreeMap::new(),
        entered: cycles_of(&expected, "core_rx_word", harts),
        pulses: cycles_of(&expected, "thread_interrupt", harts),
        heard: Heard(Vec::new()),
        end,
    };
    replay.boot(program);
    for (at, frame) in frames(set, scenario) {
        replay.receive.frame(at, &frame);
    }
    replay.run();
    let books = replay.receive.accounting();
    assert!(books.balances(), "{scenario}: {books:?}");
    let mut ours = replay.heard.0;
    ours.retain(|(at, _)| (ZERO..=last).contains(at));
    ours.sort();
    expected.sort();
    compare(&expected, &ours)
}

/// Lists by hart when an event happened.
fn cycles_of(events: &[Row], name: &str, harts: usize) -> Vec<Vec<Cycle>> {
    let of = |hart| {
        let start = format!("{name},{hart},");
        events.iter().filter(|row| row.1.starts_with(&start)).map(|row| row.0).collect()
    };
    (0..harts).map(of).collect()
}

/// Counts the events in both lists and tells those in one only.
fn compare(expected: &[Row], ours: &[Row]) -> (usize, Vec<String>) {
    let (mut same, mut differ) = (0, Vec::new());
    let (mut e, mut o) = (expected.iter().peekable(), ours.iter().peekable());
    let tell = |sign: char, row: &Row| format!("{sign} {} {}", row.0 as i64 - ZERO as i64, row.1);
    loop {
        match (e.peek(), o.peek()) {
            (None, None) => return (same, differ),
            (Some(a), Some(b)) if a == b => {
                same += 1;
                e.next();
                o.next();
            }
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                differ.push(tell('-', a));
                e.next();
            }
            (_, Some(b)) => {
                differ.push(tell('+', b));
                o.next();
            }
            (Some(_), None) => unreachable!("the arm above takes it"),
        }
    }
}

#[test]
fn every_event_falls_in_the_rtls_cycle() {
    let set = set();
    let index = set.join("scenarios/index.json");
    let Ok(index) = std::fs::read_to_string(&index) else {
        println!(
            "skipped: there is no {}; set PINION_NANOPU_SET to a set's folder",
            index.display()
        );
        return;
    };
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let only = std::env::var("PINION_SCENARIO").ok();
    let (mut wrong, mut total) = (0, 0);
    for entry in index.as_array().unwrap() {
        let text = |key: &str| entry[key].as_str().unwrap();
        let (name, program) = (text("name"), text("elf"));
        let traced = set.join(format!("traces/{name}_events.csv")).exists();
        if !traced || only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let harts = entry["harts"].as_u64().unwrap() as usize;
        let (same, differ) = replay(&set, name, program, harts);
        println!("{name}: {same} events agree, {} do not", differ.len());
        for line in differ.iter().take(if only.is_some() { 200 } else { 8 }) {
            println!("    {line}");
        }
        total += same;
        wrong += differ.len();
    }
    println!("in all: {total} events agree, {wrong} do not");
    assert!(total > 10_000 || only.is_some(), "the set's tables are nearly empty");
    assert_eq!(wrong, 0, "events that are only in the tables (-) or only ours (+) are above");
}
