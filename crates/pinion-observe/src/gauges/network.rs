//! The gauges of a network: which cables carry a frame in which direction, and how many bytes wait at the
//! ports of switches. Cycles are those of the fabric's clock.

use pinion_net::fabric::Journal;
use pinion_net::switch::Step;
use pinion_net::topology::{Jack, Place, Topology};
use pinion_sim::{Clock, Time};

use super::{Gauge, Gauges, Id, Meter};

/// Hears what happens to frames between nodes.
pub struct NetworkGauges {
    meter: Meter,
    clock: Clock,
    last: u64,
    /// By wire: whether a frame is sent.
    wires: Vec<Id>,
    /// By switch and port: bytes of data and of control frames that wait.
    switches: Vec<Vec<[Id; 2]>>,
}

impl NetworkGauges {
    /// Makes the gauges of a topology whose nodes have these names.
    pub fn new(clock: Clock, topology: &Topology, names: &[String]) -> Self {
        let mut meter = Meter::default();
        let name = |place: Place| match place {
            // A dot would be a unit within another.
            Place::Node(node) => names[node].replace('.', "_"),
            Place::Switch(switch) => format!("switch_{switch}"),
        };
        let mut wires = Vec::new();
        for cable in &topology.cables {
            for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
                let unit = format!("network.{}_to_{}", name(from.place), name(to.place));
                wires.push(meter.flag(&unit, "busy", None));
            }
        }
        let mut switches = Vec::new();
        for (switch, ports) in topology.switches.iter().enumerate() {
            let place = Place::Switch(switch);
            let mut queues = |port| {
                let own = Jack { place, port };
                let cable = topology.cables.iter().find(|cable| cable.ends.contains(&own));
                let other = cable.map(|cable| cable.ends[usize::from(cable.ends[0] == own)].place);
                let to = other.map_or_else(|| format!("port_{port}"), name);
                let unit = format!("network.switch_{switch}.to_{to}");
                ["data_bytes", "control_bytes"].map(|what| meter.level(&unit, what, None))
            };
            switches.push((0..*ports).map(&mut queues).collect());
        }
        Self { meter, clock, last: 0, wires, switches }
    }

    /// Hears what happened at a place in a window.
    pub fn passed(&mut self, place: Place, journal: &Journal) {
        for sent in &journal.sent {
            let wire = self.wires[sent.wire];
            self.meter.by(self.clock.time(sent.first_flit), wire, 1);
            self.meter.by(self.clock.time(sent.last_flit + 1), wire, -1);
            self.last = self.last.max(sent.last_flit + 1);
        }
        let Place::Switch(switch) = place else { return };
        for step in &journal.steps {
            let (at, port, waiting) = match *step {
                Step::In { .. } => continue,
                Step::Waits { at, port, waiting, .. } | Step::Out { at, port, waiting, .. } => {
                    (at, port, waiting)
                }
            };
            self.last = self.last.max(at);
            let at = self.clock.time(at);
            let [data, control] = self.switches[switch][port];
            self.meter.set(at, data, Some(waiting.0));
            self.meter.set(at, control, Some(waiting.1));
        }
    }

    /// Gives the time of a cycle.
    pub fn time(&self, cycle: u64) -> Time {
        self.clock.time(cycle)
    }

    /// Gives the time of the last cycle in which something happened.
    pub fn last(&self) -> Time {
        self.time(self.last)
    }
}

impl Gauges for NetworkGauges {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    fn gauges(&self) -> &[Gauge] {
        self.meter.gauges()
    }
}
