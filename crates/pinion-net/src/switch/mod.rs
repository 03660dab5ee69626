//! An output-queued switch. In: frames with the cycle of their first flit on a port. Out: frames on
//! other ports, each whole before it goes on (store and forward), at the rate of the port's cable.
//! Holds frames that are still coming in and, at every output port, a queue of data and one of
//! control frames, which go first. Data waits in bands if there are several, a strict order of priorities.
//!
//! A frame's way: the port's pins → its last flit and the latency → [`Directory`] and [`Routes`] say
//! which ports lead to its node, [`Paths`] picks one → that port's queues → the cable. When the data
//! queue has no room, a frame between nanoPUs loses its payload and its header goes on among the
//! control frames (NDP's trimming), or the frame is dropped ([`Overflow`]).
//!
//! Order within a cycle: all frames that have come in enter their queues, in the order of the ports
//! they came from; then the ports that are free send. Nothing depends on anything but cycles, port
//! numbers and the seed, so a run may be cut into windows anywhere.
//!
//! Work: one event per frame in and one per frame out, in one heap; ports where nothing happens cost
//! nothing. A frame is never copied.

mod counts;
mod directory;
mod frames;
mod paths;
mod port;
mod routes;
mod steps;
#[cfg(test)]
mod tests;

pub use counts::{PortCounts, SwitchCounts};
pub use directory::{Directory, Unroutable};
pub use paths::Paths;
pub use port::Occupancy;
pub use routes::Routes;
pub use steps::{DropCause, Enqueued, Step};

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::link::{Link, LinkError};
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits, tell_part};
use port::Port;

/// Says what happens to a data frame that finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Its payload is cut off (NDP); frames that are not between nanoPUs are dropped.
    Trim,
    /// It is dropped.
    Drop,
}

/// Describes a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Cycles from a frame's last flit in to its first flit out at the earliest.
    pub latency_cycles: u64,
    /// Bytes that the data frames waiting at a port stay below; the one that is leaving is not
    /// counted.
    pub data_queue_bytes: u64,
    /// Bytes that the control frames waiting at a port stay below.
    pub control_queue_bytes: u64,
    /// What happens to a data frame that finds no room.
    pub overflow: Overflow,
    /// Marks frames that can be marked (IPv4 ECN) when so many bytes of data wait; `None`: never.
    /// Frames between nanoPUs cannot: NDP's do not use ECN, Homa's have their priority there.
    pub ecn_bytes: Option<u64>,
    /// Bands of the data queue, which share its room: of those that have frames the first sends. A Homa
    /// frame's is its priority (Homa, SIGCOMM 2018, §3.4: switches of eight), the last if there are fewer;
    /// all other frames are in the first. 1: whoever comes first goes first.
    pub priority_bands: u8,
    /// Which of several shortest ways a frame takes.
    pub paths: Paths,
    /// Chooses among ways that are equally good.
    pub seed: u64,
}

impl Default for SwitchSpec {
    /// Gives the switch of the published evaluation.
    fn default() -> Self {
        Self {
            latency_cycles: 0,
            data_queue_bytes: 92_480,
            control_queue_bytes: 92_480,
            overflow: Overflow::Trim,
            ecn_bytes: None,
            priority_bands: 1,
            paths: Paths::Spray,
            seed: 1,
        }
    }
}

/// What happens next; of one cycle's, arrivals come first, each kind in the order of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A frame is in.
    Arrives { port: u32, slot: u32 },
    /// A port can send.
    Leaves { port: u32 },
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    spec: SwitchSpec,
    routes: Routes,
    directory: Arc<Directory>,
    ports: Vec<Port>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// Frames that are coming in, and the places in there that are empty.
    incoming: Vec<Vec<u8>>,
    vacant: Vec<u32>,
    /// What happened to frames since it was asked last, once it is to be told.
    steps: Option<Vec<Step>>,
}

impl Switch {
    /// Makes a switch whose ports have these cables; `None` where there is none.
    ///
    /// # Errors
    /// When a cable has a rate but no clock.
    pub fn new(
        spec: &SwitchSpec,
        cables: &[Option<Link>],
        routes: Routes,
        directory: Arc<Directory>,
    ) -> Result<Self, LinkError> {
        let ports = cables.iter().map(|cable| Port::new(cable.as_ref(), spec.priority_bands));
        Ok(Self {
            spec: spec.clone(),
            routes,
            directory,
            ports: ports.collect::<Result<_, _>>()?,
            events: BinaryHeap::new(),
            incoming: Vec::new(),
            vacant: Vec::new(),
            steps: None,
        })
    }

    /// Puts a frame into the queue of the port it leaves by.
    fn forward(&mut self, cycle: u64, (from, slot): (usize, u32), frame: Vec<u8>) {
        let ways = self.directory.destination(&frame).and_then(|node| {
            let ways = self.routes.ports(node);
            if ways.is_empty() { Err(Unroutable::NoWay) } else { Ok(ways) }
        });
        match ways {
            Err(reason) => {
                self.ports[from].counts.drop_unroutable(reason);
                let how = Enqueued::Dropped(DropCause::Unroutable(reason));
                self.note_waits(cycle, slot, from, how);
            }
            Ok(ways) => {
                let choice = match ways.len() {
                    1 => 0,
                    count => self.spec.paths.choose(self.spec.seed, cycle, from, &frame, count),
                };
                let to = usize::from(ways[choice]);
                let how = self.ports[to].enqueue(cycle, frame, &self.spec);
                self.note_waits(cycle, slot, to, how);
                self.schedule(cycle, to);
            }
        }
    }

    fn note_waits(&mut self, at: u64, slot: u32, port: usize, how: Enqueued) {
        if let Some(steps) = &mut self.steps {
            let waiting = self.ports[port].bytes_waiting();
            steps.push(Step::Waits { at, slot, port, how, waiting });
        }
    }

    /// Has it tell from now on what happens to each frame.
    pub fn follow(&mut self) {
        self.steps.get_or_insert_default();
    }

    /// Gives what happened to frames since it was asked last.
    pub fn take_steps(&mut self) -> Vec<Step> {
        self.steps.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sees to it that a port sends what waits in it, once.
    fn schedule(&mut self, now: u64, number: usize) {
        if let Some(cycle) = self.ports[number].schedule(now) {
            self.events.push(Reverse((cycle, Event::Leaves { port: number as u32 })));
        }
    }

    /// Counts ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Gives what a port did: what came in there, and what happened to what left or was to leave
    /// there.
    pub fn port_counts(&self, port: usize) -> PortCounts {
        self.ports.get(port).map(|port| port.counts).unwrap_or_default()
    }

    /// Gives what happened to all frames.
    pub fn counts(&self) -> SwitchCounts {
        let coming_in = self.incoming.len() - self.vacant.len();
        let waiting: usize = self.ports.iter().map(Port::waiting).sum();
        let ports =
            self.ports.iter().map(|port| port.counts).fold(PortCounts::default(), |a, b| a + b);
        SwitchCounts { ports, resident: (coming_in + waiting) as u64 }
    }

    /// Writes down from now on how much waits at a port, whenever that changes.
    pub fn watch(&mut self, port: usize) {
        if let Some(port) = self.ports.get_mut(port) {
            port.watch();
        }
    }

    /// Gives how much waited at a port after every change since it is watched.
    pub fn occupancy(&self, port: usize) -> &[Occupancy] {
        self.ports.get(port).map_or(&[], Port::occupancy)
    }
}

impl Node for Switch {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        let ready = first_flit + flits(frame.len()) + self.spec.latency_cycles;
        let counts = &mut self.ports[port].counts;
        counts.frames_in += 1;
        counts.bytes_in += frame.len() as u64;
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.incoming[slot as usize] = frame;
                slot
            }
            None => {
                self.incoming.push(frame);
                self.incoming.len() as u32 - 1
            }
        };
        if let Some(steps) = &mut self.steps {
            steps.push(Step::In { slot });
        }
        self.events.push(Reverse((ready, Event::Arrives { port: port as u32, slot })));
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        while let Some(&Reverse((cycle, event))) = self.events.peek() {
            if cycle >= until {
                break;
            }
            self.events.pop();
            match event {
                Event::Arrives { port, slot } => {
                    let frame = std::mem::take(&mut self.incoming[slot as usize]);
                    self.vacant.push(slot);
                    self.forward(cycle, (port as usize, slot), frame);
                }
                Event::Leaves { port } => {
                    let number = port as usize;
                    let port = &mut self.ports[number];
                    let control = port.control_is_next();
                    if let Some((frame, last)) = port.send(cycle) {
                        if let Some(steps) = &mut self.steps {
                            let waiting = port.bytes_waiting();
                            steps.push(Step::Out { at: cycle, port: number, control, waiting });
                        }
                        ports.send(number, cycle, last, frame);
                    }
                    self.schedule(cycle, number);
                }
            }
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.events.peek().map(|Reverse((cycle, _))| *cycle)
    }

    /// Gives 0: what passes a switch moved on in a node.
    fn moved(&self) -> u64 {
        0
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("incoming", (self.incoming.len() - self.vacant.len()) as u64);
        for (number, port) in self.ports.iter().enumerate() {
            tell_part(&format!("port.{number}"), tell, |tell| port.state(tell));
        }
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(self.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let other = saved.get::<Self>()?;
        if self.ports.len() != other.ports.len() {
            let what = format!("{} ports, not {}", other.ports.len(), self.ports.len());
            return Err(RestoreError::BuiltDifferently { what });
        }
        self.clone_from(other);
        Ok(())
    }
}
