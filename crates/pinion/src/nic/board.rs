//! The simulated NIC between its wire and its host programs: frames come in from the device, a
//! slice of simulated time at a time goes by, and what handlers print, send and do wrong is kept.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pinion_net::capture::LinkType;
use pinion_sim::Time;
use pinion_spin::{ContextId, Event, Interest, Listener, Machine, Nic, Outcome};

use super::holder::Holder;
use super::images::Loaded;
use super::log::{Line, Log};
use crate::error::{Error, Result};
use crate::live::clock::Clock;
use crate::live::pace::Pace;
use crate::live::queue::Queue;
use crate::live::{Device, Observer, Options as LiveOptions, SLICE_PS};
use crate::report::{Collector, Ears, Ending, Fault, Links, Outputs, Sink, Subject, Summary};

/// Tells of so many ended handlers on standard error; all are counted, and in the log.
const FAULTS_TOLD: u64 = 20;
/// Lets packets of a context that ended leave for this long.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// Lets simulated time run ahead of the host's this far before it waits.
const AHEAD: Duration = Duration::from_micros(50);

/// Counts what happened in a context since it was last taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Packets whose handlers are done.
    pub packets: u64,
    /// Handlers that failed.
    pub faults: u64,
}

/// Is the NIC and its surroundings.
pub struct Board {
    pub nic: Nic,
    pub machine: Machine,
    pub log: Log,
    pub images: Vec<Option<Loaded>>,
    /// Holds host programs by the number of their connection.
    pub holders: BTreeMap<u64, Holder>,
    pub seen: Vec<Seen>,
    pub device: Device,
    /// Says why nothing moves any more, if so.
    pub is_stuck: Option<String>,
    /// Counts ended handlers told of since a context was last taken.
    pub faults_told: u64,
    collector: Collector,
    queue: Queue,
    clock: Clock,
    pace: Pace,
    is_idle: bool,
    /// Is the simulated time that the last slice ended at, if packets are inside: cores may have
    /// nothing to tell until behind it.
    reached: Time,
    start: Instant,
}

impl Board {
    /// Opens the device and makes a NIC without a program.
    pub fn new(
        mut machine: Machine,
        options: &LiveOptions,
        outputs: &Outputs,
        log_lines: usize,
    ) -> Result<Self> {
        let device = Device::open(options, false)?;
        // Handlers may wait for a host program as long as their watchdog lets them: that is no
        // sign that the NIC is stuck.
        machine.protection.no_progress_cycles = 0;
        let nic = Nic::blank(machine.clone()).map_err(|error| {
            Error::part(format!("cannot make a NIC of {}", machine.name), error)
        })?;
        let links = Links { out: LinkType::Ethernet, input: LinkType::Ethernet };
        let contexts = machine.matching.rulesets;
        let names = (0..contexts).map(|context| context.to_string()).collect();
        Ok(Self {
            nic,
            log: Log::new(log_lines),
            images: Vec::new(),
            holders: BTreeMap::new(),
            seen: vec![Seen::default(); contexts as usize],
            device,
            is_stuck: None,
            faults_told: 0,
            collector: Collector::new(outputs, links, names)?,
            queue: Queue::new(options.bound, 0),
            clock: Clock::new(),
            pace: Pace::default(),
            is_idle: true,
            reached: Time::ZERO,
            start: Instant::now(),
            machine,
        })
    }

    /// Takes the frames that are there.
    pub fn read(&mut self) -> Result<()> {
        let (queue, clock) = (&mut self.queue, &self.clock);
        self.device.read_each(|frame| queue.push(frame, clock.now()))
    }

    /// Gives the simulated time that it is.
    pub fn now(&self) -> Time {
        self.nic.now().max(self.reached)
    }

    /// Gives how long there is nothing to do unless something comes; `None`: until it does.
    pub fn rest(&self) -> Option<Duration> {
        if self.is_idle && self.queue.is_empty() {
            return None;
        }
        let ahead = self.clock.until(self.now());
        Some(if ahead > AHEAD && self.queue.is_empty() { ahead } else { Duration::ZERO })
    }

    /// Simulates for a slice, if there is something to simulate.
    pub fn simulate(&mut self, observer: &mut dyn Observer) -> Result<()> {
        if self.is_idle && self.queue.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let before = self.now();
        let until = before.max(self.queue.newest_arrival()) + Time::from_ps(SLICE_PS);
        self.queue.first_given = None;
        let (images, holders) = (&self.images, &self.holders);
        let told = &mut self.faults_told;
        let (device, log) = (&mut self.device, &mut self.log);
        let mut hearing = Hearing { device, log, told, images, holders, observer };
        let ears = self.collector.ears(&mut hearing);
        let mut counting = Counting { ears, seen: &mut self.seen };
        let outcome = self.nic.run(until, &mut self.queue, &mut counting);
        self.device.take_error()?;
        if let Some(error) = self.collector.take_error() {
            return Err(error);
        }
        self.reached = if outcome == Outcome::TimeReached { until } else { Time::ZERO };
        let first = self.queue.first_given.unwrap_or(before);
        let from = if self.is_idle { first.max(before) } else { before };
        self.pace.add(self.now().since(from), started.elapsed());
        self.is_idle = match outcome {
            Outcome::Stuck(report) => {
                self.is_stuck = Some(report);
                true
            }
            Outcome::TimeReached => self.nic.totals().resident == 0,
            Outcome::Idle | Outcome::Finished => true,
        };
        if !self.is_idle {
            // What the host does next happens now, however long the simulation took to get here.
            self.clock.hold_at(self.now());
        }
        if let Some(text) = self.pace.notice(&mut self.queue) {
            observer.notice(&text);
        }
        Ok(())
    }

    /// Lets the packets of a context leave; tells whether they did in time.
    pub fn drain(&mut self, context: u32, observer: &mut dyn Observer) -> Result<bool> {
        let started = Instant::now();
        while self.nic.packets_of(ContextId(context)) > 0 && self.is_stuck.is_none() {
            if started.elapsed() > DRAIN_TIME {
                return Ok(false);
            }
            self.is_idle = false;
            self.simulate(observer)?;
        }
        Ok(true)
    }

    /// Drops what is inside and holds the cores.
    pub fn reset(&mut self, observer: &mut dyn Observer) {
        let (images, holders) = (&self.images, &self.holders);
        let told = &mut self.faults_told;
        let (device, log) = (&mut self.device, &mut self.log);
        let mut hearing = Hearing { device, log, told, images, holders, observer };
        let ears = self.collector.ears(&mut hearing);
        self.nic.reset(&mut Counting { ears, seen: &mut self.seen });
    }

    /// Gives the host's time since the NIC began.
    pub fn age(&self) -> Duration {
        self.start.elapsed()
    }

    /// Completes the outputs and sums up.
    pub fn finish(
        self,
        name: &str,
        bound: Duration,
        observer: &mut dyn Observer,
    ) -> Result<Summary> {
        let Self { mut device, mut log, images, holders, .. } = self;
        let mut remarks = self.pace.remarks(device.name(), &self.queue, bound);
        remarks.extend(device.remarks());
        let place = |pc| place(&images, pc);
        let contexts: Vec<_> = (0..self.machine.matching.rulesets)
            .map(|context| pinion_spin::ExecutionContext {
                name: context.to_string(),
                ..Default::default()
            })
            .collect();
        let (images, holders) = (&images, &holders);
        let mut told = self.faults_told;
        let (device, log, told) = (&mut device, &mut log, &mut told);
        let mut hearing = Hearing { device, log, told, images, holders, observer };
        let stats = self.collector.finish(&mut hearing)?;
        let subject = Subject { name, machine: &self.machine, contexts: &contexts, place: &place };
        let ending = self.is_stuck.map_or(Ending::Finished, Ending::Stuck);
        let ended = (ending, self.nic.now(), self.start.elapsed());
        let mut summary = Summary::of(&subject, self.nic.totals(), stats, ended);
        summary.working = self.pace.working;
        summary.remarks = remarks;
        Ok(summary)
    }
}

/// Names the function that an address lies in, and how far into it.
fn place(images: &[Option<Loaded>], pc: u32) -> Option<String> {
    let holds = |loaded: &&Loaded| loaded.ranges.iter().any(|(range, _)| range.contains(&pc));
    let loaded = images.iter().flatten().find(holds)?;
    let symbol = loaded.image.symbol_at(u64::from(pc))?;
    Some(match u64::from(pc) - symbol.address {
        0 => symbol.name.clone(),
        offset => format!("{}+{offset:#x}", symbol.name),
    })
}

/// Passes on what happens during a slice.
struct Hearing<'a> {
    device: &'a mut Device,
    log: &'a mut Log,
    told: &'a mut u64,
    images: &'a [Option<Loaded>],
    holders: &'a BTreeMap<u64, Holder>,
    observer: &'a mut dyn Observer,
}

impl Sink for Hearing<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.log.push(Line { time, cluster, hpu, text: text.to_owned() });
    }

    fn departed(&mut self, _time: Time, frame: &[u8]) {
        self.device.send(frame);
    }

    fn unmatched(&mut self, _time: Time, frame: &[u8]) {
        self.device.take_unmatched(frame);
    }

    fn fault(&mut self, fault: &Fault) {
        let context = fault.context.0;
        let mut holders = self.holders.values();
        // Handlers of a context that was released are ended: that is no fault of theirs.
        let Some(holder) = holders.find(|holder| holder.contexts().contains(&context)) else {
            return;
        };
        let name = format!("{context} ({})", holder.program);
        let fault = Fault { place: place(self.images, fault.pc), ..fault.clone() };
        let text = format!("a handler was ended: {}", fault.describe(&name));
        *self.told += 1;
        if *self.told <= FAULTS_TOLD {
            self.observer.notice(&text);
        }
        if *self.told == FAULTS_TOLD {
            self.observer.notice("further ended handlers are in `pinion nic log` only");
        }
        let Fault { time, cluster, hpu, .. } = fault;
        self.log.push(Line { time, cluster, hpu, text });
    }
}

/// Counts for each context.
struct Counting<'a> {
    ears: Ears<'a>,
    seen: &'a mut [Seen],
}

impl Listener for Counting<'_> {
    fn interest(&self) -> Interest {
        self.ears.interest()
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::PacketDone(record) => {
                if let Some(seen) = self.seen.get_mut(record.context.0 as usize) {
                    seen.packets += 1;
                }
            }
            Event::HandlerFault { context, .. } => {
                if let Some(seen) = self.seen.get_mut(context.0 as usize) {
                    seen.faults += 1;
                }
            }
            _ => {}
        }
        self.ears.hear(event);
    }
}
