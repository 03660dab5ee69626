//! The simulated NIC between its wire and its host programs: frames come in from the device, a
//! slice of simulated time at a time goes by, and what handlers print, send and do wrong is kept.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pinion_net::capture::LinkType;
use pinion_sim::Time;
use pinion_sim::probe::Both;
use pinion_spin::matching::ContextMatch;
use pinion_spin::{
    ContextId, Event, ExecutionContext, Hears, Interest, Machine, Nic, PacketRecord, Spin,
};

use super::Options;
use super::debugged::count;
use super::deed::Deed;
use super::holder::Holder;
use super::images::Loaded;
use super::log::{Line, Log};
use super::script::Script;
use super::watched::Watched;
use pinion_app::error::{Error, Result};
use pinion_app::tape::Tape;
use pinion_debug::visit::{Effects, Written};
use pinion_host::Exchange;
use pinion_observe::fault::program::Code;
use pinion_observe::fault::{Explained, Fault, Nic as FaultyNic, Program};
use pinion_observe::report::{Collector, Ears, Ending, Links, Outputs, Sink, Subject, Summary};
use pinion_run::live::queue::Queue;
use pinion_run::live::slices::Slices;
use pinion_run::live::{Device, Outside, SLICE_PS};
use pinion_run::watch::Observer;

/// Tells of so many ended handlers on standard error; all are counted, and in the log.
const FAULTS_TOLD: u64 = 20;
/// Lets packets of a context that ended leave for this long.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// Lets handlers of a program that has left go on for this long, in simulated time.
const LINGER_TIME: Time = Time::from_ps(5 * SLICE_PS);
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

/// The NIC and its surroundings.
pub struct Board {
    pub nic: Nic,
    pub machine: Machine,
    pub log: Log,
    pub images: Vec<Option<Loaded>>,
    /// Holds host programs by the number of their connection.
    pub holders: BTreeMap<u64, Holder>,
    pub seen: Vec<Seen>,
    pub outside: Outside,
    pub slices: Slices,
    /// Whether a debugger has it, and nothing goes on but as that lets it.
    pub is_held: bool,
    /// Number of ended handlers told of since a context was last taken.
    faults_told: u64,
    /// Number of handlers that were ended because their program had left, or unloaded them.
    left_behind: u64,
    collector: Collector,
    start: Instant,
    /// What programs have written into the NIC's memory since a debugger was told.
    pub written: Vec<Written>,
    /// Keeps what comes in and what programs do.
    tape: Option<Tape>,
    /// What comes in and what programs do, of a run that is repeated.
    pub script: Option<Script>,
    /// What programs write, if that is kept or known.
    exchange: Option<Exchange>,
    /// Who hears where cycles go, while somebody looks.
    pub watched: Watched,
}

impl Board {
    /// Opens the device and makes a NIC without a program.
    pub fn new(asked: &Options, outputs: &Outputs) -> Result<Self> {
        let (mut machine, options) = (asked.machine.clone(), &asked.live);
        let device = Device::open(options, false)?;
        // Handlers may wait for a host program as long as their watchdog lets them: that is no
        // sign that the NIC is stuck.
        machine.protection.no_progress_cycles = 0;
        let mut nic = Nic::blank(machine.clone()).map_err(|error| {
            Error::part(format!("cannot make a NIC of {}", machine.name), error)
        })?;
        nic.set_engine_core(asked.engine_core);
        let exchange = options.tape.as_ref().map(|_| Exchange::keeping());
        nic.exchange(exchange.clone());
        let links = Links { out: LinkType::Ethernet, input: LinkType::Ethernet };
        let contexts = machine.matching.rulesets;
        let names = (0..contexts).map(|context| context.to_string()).collect();
        Ok(Self {
            nic,
            log: Log::new(asked.log_lines),
            images: Vec::new(),
            holders: BTreeMap::new(),
            seen: vec![Seen::default(); contexts as usize],
            outside: Outside::new(device, options, 0),
            slices: Slices::default(),
            is_held: false,
            faults_told: 0,
            left_behind: 0,
            collector: Collector::new(outputs, links, names)?,
            start: Instant::now(),
            written: Vec::new(),
            tape: options.tape.clone(),
            script: None,
            exchange,
            watched: Watched::default(),
            machine,
        })
    }

    /// Repeats a recorded run.
    pub fn follow(&mut self, script: Script) {
        let exchange = Exchange::giving();
        self.nic.exchange(Some(exchange.clone()));
        (self.script, self.exchange) = (Some(script), Some(exchange));
    }

    /// Keeps what a program does, if somebody records.
    pub fn keep(&self, deed: impl FnOnce() -> Option<Deed>) {
        let Some(tape) = &self.tape else { return };
        if let Some(deed) = deed() {
            tape.host(&deed.line());
        }
    }

    /// Writes memory of the NIC's for a program; `false` if there is none.
    pub fn write(&mut self, address: u32, bytes: &[u8]) -> bool {
        if self.is_held {
            self.written.push(Written { address, bytes: bytes.to_vec() });
        }
        self.nic.write_memory(address, bytes)
    }

    /// Gives the simulated time that it is.
    pub fn now(&self) -> Time {
        self.slices.now(self.nic.now())
    }

    /// Gives how long there is nothing to do unless something comes; `None`: until it does.
    pub fn rest(&self) -> Option<Duration> {
        if self.slices.is_idle && self.outside.queue.is_empty() {
            return None;
        }
        let ahead = self.outside.clock.until(self.now());
        Some(if ahead > AHEAD && self.outside.queue.is_empty() { ahead } else { Duration::ZERO })
    }

    /// Simulates for a slice, if there is something to simulate.
    pub fn simulate(&mut self, observer: &mut dyn Observer) -> Result<()> {
        if self.is_held {
            return Ok(());
        }
        let known = match &mut self.script {
            None => None,
            Some(script) => {
                let Some((news, until)) = script.slice(&mut self.outside)? else { return Ok(()) };
                if let Some(exchange) = &self.exchange {
                    exchange.give(news);
                }
                Some(until)
            }
        };
        let (images, holders, machine) = (&self.images, &self.holders, &self.machine);
        let mut watched = self.watched.ears(machine, images);
        let (log, told, nic) = (&mut self.log, &mut self.faults_told, &mut self.nic);
        let (seen, left_behind) = (&mut self.seen, &mut self.left_behind);
        let (collector, outside) = (&mut self.collector, &mut self.outside);
        let device = &mut outside.device;
        let (tape, exchange) = (&self.tape, &self.exchange);
        let times = (nic.now(), known);
        let slice = self.slices.next(&mut outside.queue, times, |until, queue| {
            let mut hearing = Hearing { device, log, told, machine, images, holders, observer };
            let ears = collector.ears(&mut hearing);
            let mut counting = Counting { ears, seen, holders, left_behind };
            let outcome = match watched.as_mut() {
                Some(watched) => nic.run(until, queue, &mut Both::new(&mut counting, watched)),
                None => nic.run(until, queue, &mut counting),
            };
            if let (Some(tape), Some(exchange)) = (tape, exchange) {
                exchange.take().into_iter().for_each(|news| tape.host(&Deed::wrote(news).line()));
            }
            queue.ran(until.ps());
            device.take_error()?;
            collector.take_error().map_or(Ok(()), Err)?;
            Ok((outcome, nic.now(), nic.totals().resident))
        })?;
        self.script.as_mut().map_or(Ok(()), Script::turn)?;
        let Some(slice) = slice else { return Ok(()) };
        self.outside.pace.add(slice);
        if !self.slices.is_idle {
            // What the host does next happens now, however long the simulation took to get here.
            self.outside.clock.hold_at(self.now());
        }
        self.outside.notice(observer);
        Ok(())
    }

    /// Lets the packets of a context leave; tells whether they did in time.
    pub fn drain(&mut self, context: u32, observer: &mut dyn Observer) -> Result<bool> {
        let started = Instant::now();
        while self.nic.packets_of(ContextId(context)) > 0 && self.slices.stuck.is_none() {
            let is_late = match &mut self.script {
                None => started.elapsed() > DRAIN_TIME,
                Some(script) => script.takes_stay() || !script.has_slice(),
            };
            if self.is_held || is_late {
                self.keep(|| Some(Deed::Stayed));
                return Ok(false);
            }
            self.slices.is_idle = false;
            self.simulate(observer)?;
        }
        Ok(true)
    }

    /// Lets handlers of a program that has left go on for a moment without new packets: what it
    /// answered last is still sent.
    pub fn linger(&mut self, number: u64, observer: &mut dyn Observer) {
        let Some(holder) = self.holders.get(&number).filter(|holder| holder.image.is_some()) else {
            return;
        };
        let contexts = holder.contexts();
        for context in contexts.clone() {
            let cleared = self.nic.matching_mut().set_context(context, ContextMatch::none());
            debug_assert!(cleared.is_ok(), "it held this context");
        }
        let end = self.now() + LINGER_TIME;
        let is_inside = |nic: &Nic| contexts.clone().any(|id| nic.packets_of(ContextId(id)) > 0);
        let may = |script: &Option<Script>| script.as_ref().is_none_or(Script::has_slice);
        while !self.is_held
            && is_inside(&self.nic)
            && self.now() < end
            && self.slices.stuck.is_none()
            && may(&self.script)
        {
            self.slices.is_idle = false;
            if self.simulate(observer).is_err() {
                // The next turn says why.
                return;
            }
        }
    }

    /// Tells whether what comes in and what programs do is kept, or was.
    pub fn is_recorded(&self) -> bool {
        self.tape.is_some() || self.script.is_some()
    }

    /// Gives who hears it, and the frames that wait.
    pub fn ears(&mut self) -> (&mut Collector, &mut Queue) {
        (&mut self.collector, &mut self.outside.queue)
    }

    /// Gives who hears it.
    pub fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    /// Lists the contexts that programs with handlers hold.
    pub fn held(&self) -> Vec<ContextId> {
        let with_handlers = self.holders.values().filter(|holder| holder.image.is_some());
        with_handlers.flat_map(Holder::contexts).map(ContextId).collect()
    }

    /// Lists the contexts with whose they are.
    pub fn contexts(&self) -> Vec<ExecutionContext> {
        contexts(&self.machine, &self.images, &self.holders)
    }

    /// Takes over from a debugger that has let the NIC go on up to a time, and what it did.
    pub fn take_over(
        &mut self,
        effects: Effects,
        (reached, rests): (Time, bool),
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let (images, holders, machine) = (&self.images, &self.holders, &self.machine);
        let (log, told) = (&mut self.log, &mut self.faults_told);
        let (seen, left_behind) = (&mut self.seen, &mut self.left_behind);
        let device = &mut self.outside.device;
        let mut hearing = Hearing { device, log, told, machine, images, holders, observer };
        effects.pass_on(&mut hearing, |effect| count(&effect, seen, left_behind));
        self.slices.take_over(reached, rests);
        self.outside.clock.hold_at(reached);
        self.outside.device.take_error()
    }

    /// Drops what is inside and holds the cores.
    pub fn reset(&mut self, observer: &mut dyn Observer) {
        let (images, holders) = (&self.images, &self.holders);
        let told = &mut self.faults_told;
        let (device, log) = (&mut self.outside.device, &mut self.log);
        let machine = &self.machine;
        let mut hearing = Hearing { device, log, told, machine, images, holders, observer };
        let ears = self.collector.ears(&mut hearing);
        let (seen, left_behind) = (&mut self.seen, &mut self.left_behind);
        self.nic.reset(&mut Counting { ears, seen, holders, left_behind });
    }

    /// Begins to tell of a context's faults anew: another program has it.
    pub fn forget_faults(&mut self, context: u32) {
        self.faults_told = 0;
        self.collector.forget_faults(ContextId(context));
    }

    /// Gives the host's time since the NIC began.
    pub fn age(&self) -> Duration {
        self.start.elapsed()
    }

    /// Completes the outputs and sums up.
    pub fn finish(self, name: &str, observer: &mut dyn Observer) -> Result<Summary> {
        let summary = self.sum_up(name);
        let Self { mut outside, mut log, images, holders, machine, mut faults_told, .. } = self;
        let (device, log, told) = (&mut outside.device, &mut log, &mut faults_told);
        let (images, holders, machine) = (&images, &holders, &machine);
        let mut hearing = Hearing { device, log, told, machine, images, holders, observer };
        self.collector.finish(&mut hearing)?;
        Ok(summary)
    }

    /// Sums up what has happened so far.
    pub fn sum_up(&self, name: &str) -> Summary {
        let explain_all = |faults: Vec<Fault>| {
            let each = faults.into_iter();
            each.map(|fault| explain(&self.machine, &self.images, &self.holders, fault)).collect()
        };
        let contexts = contexts(&self.machine, &self.images, &BTreeMap::new());
        let explain = &explain_all;
        let subject = Subject { name, machine: &self.machine, contexts: &contexts, explain };
        let ending = self.slices.stuck.clone().map_or(Ending::Finished, Ending::Stuck);
        let ended = (ending, self.nic.now(), self.start.elapsed());
        let mut totals = self.nic.totals();
        totals.faults = totals.faults.saturating_sub(self.left_behind);
        let mut summary = Summary::of(&subject, totals, self.collector.stats.clone(), ended);
        summary.working = Some(self.outside.pace.working);
        self.outside.tell(&mut summary);
        if self.left_behind > 0 {
            let ended = self.left_behind;
            summary.remarks.push(format!(
                "handlers ended because their program had left or unloaded them: {ended}"
            ));
        }
        summary
    }
}

/// Explains a fault by the image whose handler it is.
fn explain(
    machine: &Machine,
    images: &[Option<Loaded>],
    holders: &BTreeMap<u64, Holder>,
    fault: Fault,
) -> Explained {
    let handler = fault.handler().map_or(0, |origin| origin.handler);
    let holds = |loaded: &&Loaded| loaded.ranges.iter().any(|(range, _)| range.contains(&handler));
    let loaded = images.iter().flatten().find(holds);
    let program = loaded.map(|loaded| Program::new(&loaded.image, &*loaded.bytes, Code::HPU));
    let contexts = &contexts(machine, images, holders);
    let nic = FaultyNic { machine, contexts, starts_with_ip: false, is_native: false };
    nic.explain(fault, program.as_ref())
}

/// Lists the contexts with whose they are.
fn contexts(
    machine: &Machine,
    images: &[Option<Loaded>],
    holders: &BTreeMap<u64, Holder>,
) -> Vec<ExecutionContext> {
    let nobodys = |context: u32| ExecutionContext {
        name: context.to_string(),
        ..ExecutionContext::default()
    };
    let mut all: Vec<_> = (0..machine.matching.rulesets).map(nobodys).collect();
    for holder in holders.values() {
        let Some(loaded) = holder.image.and_then(|index| images[index].as_ref()) else { continue };
        for number in holder.contexts() {
            if let Some(context) = all.get_mut(number as usize) {
                *context = holder.execution_context(loaded, number);
            }
        }
    }
    all
}

/// Passes on what happens during a slice.
struct Hearing<'a> {
    device: &'a mut Device,
    log: &'a mut Log,
    told: &'a mut u64,
    machine: &'a Machine,
    images: &'a [Option<Loaded>],
    holders: &'a BTreeMap<u64, Holder>,
    observer: &'a mut dyn Observer,
}

impl Sink for Hearing<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.log.push(Line { time, cluster, hpu, text: text.to_owned(), user: None });
    }

    fn departed(&mut self, _time: Time, frame: &[u8]) {
        self.device.send(frame);
    }

    fn unmatched(&mut self, _time: Time, frame: &[u8]) {
        self.device.take_unmatched(frame);
    }

    fn packet(&mut self, record: &PacketRecord) {
        self.observer.packet(record);
    }

    fn fault(&mut self, fault: &Fault) {
        let Some(origin) = fault.handler() else { return };
        let context = origin.context.0;
        let mut holders = self.holders.values();
        let Some(holder) = holders.find(|holder| holder.contexts().contains(&context)) else {
            return;
        };
        let (time, cluster, hpu) = (fault.time, origin.cluster, origin.hpu);
        let explained = explain(self.machine, self.images, self.holders, fault.clone());
        let text = format!("a handler was ended: {}", explained.headline());
        *self.told += 1;
        if *self.told <= FAULTS_TOLD {
            let details = explained.details().join("\n  ");
            self.observer.notice(&format!("{text}\n  {details}"));
        }
        if *self.told == FAULTS_TOLD {
            self.observer.notice("further ended handlers are in `pinion nic log` only");
        }
        self.log.push(Line { time, cluster, hpu, text, user: None });
        // Packet and registers are nobody's business but the program's.
        let user = Some(holder.user);
        for line in explained.details() {
            self.log.push(Line { time, cluster, hpu, text: format!("  {line}"), user });
        }
    }
}

/// Counts for each context.
struct Counting<'a> {
    ears: Ears<'a>,
    seen: &'a mut [Seen],
    holders: &'a BTreeMap<u64, Holder>,
    left_behind: &'a mut u64,
}

impl Counting<'_> {
    /// Tells whether a program is there that has handlers in a context.
    fn is_held(&self, context: u32) -> bool {
        let mut holders = self.holders.values();
        holders.any(|holder| holder.image.is_some() && holder.contexts().contains(&context))
    }
}

impl Hears<Spin> for Counting<'_> {
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
            // Handlers of a context that was released are ended: that is no fault of theirs.
            Event::HandlerFault { context, .. } if !self.is_held(context.0) => {
                *self.left_behind += 1;
                return;
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
