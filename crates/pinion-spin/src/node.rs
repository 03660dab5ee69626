//! A sPIN NIC as a node of a network. In: frames at its only port. Out: what its handlers send. Holds
//! the NIC, who listens to it, frames that it has not taken, and frames that wait for the pins.
//!
//! The NIC has a clock of its own: cycles of the network become picoseconds and back. A frame has
//! arrived when its last flit is there; one that the outbound engine has sent goes on the cable whole,
//! at the pace of the pins. What no context matches goes to the host. The NIC's time begins in the
//! network's cycle 0.

use std::collections::VecDeque;

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};
use pinion_sim::{Clock, Time};

use crate::traffic::Inbox;
use crate::{Event, Hears, Interest, Listener, Outcome, Spin, Units};

/// How a NIC is joined to its cable.
#[derive(Clone, Debug)]
pub struct Cabling {
    /// The clock in whose cycles the network counts.
    pub clock: Clock,
    /// Bytes in front of frames that handlers do not see.
    pub skip: u32,
    /// What stands in front of the frames that leave, if handlers send them from the IP header on.
    pub header: Vec<u8>,
}

/// A sPIN NIC at its end of a cable.
pub struct NicNode<L> {
    /// Who listens.
    pub ears: L,
    cabling: Cabling,
    state: State,
}

/// What is saved of a NIC at a cable.
#[derive(Clone)]
struct State {
    nic: Units,
    inbox: Inbox,
    /// Frames for the cable, with the cycle in which the outbound engine had each whole.
    leaving: VecDeque<(u64, Vec<u8>)>,
    pins_free: u64,
    /// The first cycle that was not run.
    now: u64,
    moved: u64,
    /// Something goes on inside.
    is_active: bool,
    /// Why nothing moves, if packets are inside and nothing does.
    stuck: Option<String>,
    /// Handlers that went wrong.
    faults: u64,
}

/// Hears a NIC during a window: keeps what departs and passes all on.
struct Watch<'a, L> {
    ears: &'a mut L,
    departed: Vec<(Time, Vec<u8>)>,
    faults: u64,
}

impl<L: Listener> Hears<Spin> for Watch<'_, L> {
    fn interest(&self) -> Interest {
        self.ears.interest()
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Departed { time, frame, .. } => self.departed.push((*time, frame.to_vec())),
            Event::HandlerFault { .. } => self.faults += 1,
            _ => {}
        }
        self.ears.hear(event);
    }
}

impl<L: Listener> NicNode<L> {
    /// Puts a NIC at an end of a cable.
    pub fn new(nic: Units, cabling: Cabling, ears: L) -> Self {
        let state = State {
            nic,
            inbox: Inbox::default(),
            leaving: VecDeque::new(),
            pins_free: 0,
            now: 0,
            moved: 0,
            is_active: false,
            stuck: None,
            faults: 0,
        };
        Self { ears, cabling, state }
    }

    /// Gives the NIC.
    pub fn nic(&self) -> &Units {
        &self.state.nic
    }

    /// Gives the NIC, to change its memories between two windows.
    pub fn nic_mut(&mut self) -> &mut Units {
        &mut self.state.nic
    }

    /// Gives the NIC and who listened back.
    pub fn into_parts(self) -> (Units, L) {
        (self.state.nic, self.ears)
    }

    /// Tells why nothing moves in the NIC, if packets are inside and nothing does.
    pub fn stuck(&self) -> Option<&str> {
        self.state.stuck.as_deref()
    }

    /// Tells whether something goes on inside.
    pub fn is_active(&self) -> bool {
        self.state.is_active
    }

    /// Lets the NIC do what it does before cycle `until`, and queues what leaves it, in order of time.
    fn run_nic(&mut self, until: u64) {
        let state = &mut self.state;
        // The last picosecond before the cycle.
        let end = Time::from_ps(self.cabling.clock.time(until).ps().saturating_sub(1));
        let mut watch = Watch { ears: &mut self.ears, departed: Vec::new(), faults: 0 };
        match state.nic.run(end, &mut state.inbox, &mut watch) {
            Outcome::TimeReached => {}
            Outcome::Finished | Outcome::Idle => state.is_active = !state.inbox.is_empty(),
            Outcome::Stuck(report) => {
                state.stuck = Some(report);
                state.is_active = false;
            }
        }
        let Watch { departed, faults, .. } = watch;
        state.faults += faults;
        for (time, frame) in departed {
            let frame = match self.cabling.header.is_empty() {
                true => frame,
                false => [&self.cabling.header[..], &frame].concat(),
            };
            let ready = cycle_from(self.cabling.clock, time);
            state.moved = state.moved.max(ready);
            let at = state.leaving.partition_point(|(other, _)| *other <= ready);
            state.leaving.insert(at, (ready, frame));
        }
    }
}

/// Gives the first cycle that begins at or after a time.
fn cycle_from(clock: Clock, time: Time) -> u64 {
    let cycle = clock.cycle_at(time);
    cycle + u64::from(clock.time(cycle) < time)
}

impl<L: Listener> Node for NicNode<L> {
    fn arrive(&mut self, _: usize, first_flit: u64, frame: Vec<u8>) {
        let whole = first_flit + flits(frame.len());
        let state = &mut self.state;
        state.inbox.put(self.cabling.clock.time(whole), frame, self.cabling.skip);
        state.moved = state.moved.max(whole);
        state.is_active = state.stuck.is_none();
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        if self.state.is_active {
            self.run_nic(until);
        }
        let state = &mut self.state;
        state.now = until;
        while let Some((ready, _)) = state.leaving.front() {
            let first = state.pins_free.max(*ready);
            if first >= until {
                break;
            }
            let Some((_, frame)) = state.leaving.pop_front() else { break };
            state.pins_free = first + flits(frame.len());
            ports.send(0, first, state.pins_free - 1, frame);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        let state = &self.state;
        if state.is_active {
            return Some(state.now);
        }
        state.leaving.front().map(|(ready, _)| state.pins_free.max(*ready))
    }

    fn moved(&self) -> u64 {
        self.state.moved
    }

    fn has_failed(&self) -> bool {
        self.state.stuck.is_some() || self.state.faults > 0
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("arriving", self.state.inbox.len() as u64);
        tell("leaving", self.state.leaving.len() as u64);
        tell("faults", self.state.faults);
        self.state.nic.state(tell);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        match self.state.nic.shared_memory() {
            Some(what) => Err(SaveError::SharedMemory { what: what.to_owned() }),
            None => Ok(Saved::new(self.state.clone())),
        }
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let other = saved.get::<State>()?;
        let (ours, theirs) = (&self.state.nic.machine().name, &other.nic.machine().name);
        if ours != theirs {
            let what = format!("the machine {theirs}, not {ours}");
            return Err(RestoreError::BuiltDifferently { what });
        }
        self.state.clone_from(other);
        Ok(())
    }
}
