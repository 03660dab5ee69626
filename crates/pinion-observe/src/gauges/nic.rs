//! The gauges of a sPIN NIC: what is in its packet buffer, queues and clusters, what HPUs work at, commands
//! and transfers under way, what came in and went out.

use pinion_isa::Class as Kind;
use pinion_sim::{Clock, Time};
use pinion_spin::{
    DropReason, Event, HandlerRecord, Hears, Interest, Machine, PacketRecord, RunningTask, Spin,
    UnitEvent, UnitEventKind,
};

use super::occupancy::{Chart, Scale};
use super::{Gauge, Gauges, Id, Meter};
use crate::trace::{INTERFACES, Inside, Packets, clock};
use pinion_app::app::App;

/// The charts, by their numbers.
pub const CHARTS: [Chart; 8] = [
    Chart { column: "hpus_busy", title: "HPUs that run handlers", scale: Scale::Mean },
    Chart {
        column: "packets_inside",
        title: "packets in the L2 packet buffer",
        scale: Scale::Mean,
    },
    Chart { column: "tasks_waiting", title: "tasks between scheduler and HPU", scale: Scale::Mean },
    Chart {
        column: "dma_transfers",
        title: "transfers in the clusters' DMA engines",
        scale: Scale::Mean,
    },
    Chart {
        column: "commands_open",
        title: "commands that are issued and not done",
        scale: Scale::Mean,
    },
    Chart { column: "l1_accesses", title: "accesses to L1 in a cycle", scale: Scale::PerCycle },
    Chart { column: "in_gbit_s", title: "packets in, Gbit/s", scale: Scale::GbitPerSecond },
    Chart { column: "out_gbit_s", title: "packets out, Gbit/s", scale: Scale::GbitPerSecond },
];
const BUSY: Option<usize> = Some(0);
const PACKETS: Option<usize> = Some(1);
const WAITING: Option<usize> = Some(2);
const DMA: Option<usize> = Some(3);
const COMMANDS: Option<usize> = Some(4);
const BANKS: Option<usize> = Some(5);
const IN: Option<usize> = Some(6);
const OUT: Option<usize> = Some(7);

/// Hears a NIC.
#[derive(Debug)]
pub struct NicGauges {
    meter: Meter,
    clock: Clock,
    align_bytes: u32,
    /// Addresses of all clusters' L1.
    l1: std::ops::Range<u32>,
    inside: Packets,
    /// HPUs of a cluster.
    cores: u32,
    in_bytes: Id,
    out_bytes: Id,
    dropped: Id,
    /// Accesses to L1, where somebody wants to know: every instruction is heard for them.
    accesses: Option<Id>,
    units: Vec<OfUnit>,
    clusters: Vec<OfCluster>,
    hpus: Vec<OfHpu>,
}

/// The gauges of a unit: a NIC has one, unless its machine says otherwise.
#[derive(Clone, Debug)]
struct OfUnit {
    packets: Id,
    buffered: Id,
    dispatching: Id,
    interfaces: Vec<Id>,
}

#[derive(Clone, Copy, Debug)]
struct OfCluster {
    tasks: Id,
    waiting: Id,
    transfers: Id,
}

#[derive(Clone, Copy, Debug)]
struct OfHpu {
    busy: Id,
    packet: Id,
    context: Id,
    commands: Id,
    bank_waits: Id,
}

impl NicGauges {
    /// Makes the gauges of an application's machine; with `accesses` those of L1 are counted, too.
    pub fn new(app: &App, accesses: bool) -> Self {
        let machine: &Machine = &app.machine.value;
        let (l1, count) = (&machine.l1, machine.units.count.max(1));
        let clusters = machine.cluster.count * count;
        let mut meter = Meter::default();
        let in_bytes = meter.count("inbound", "bytes", IN);
        let out_bytes = meter.count("outbound", "bytes", OUT);
        let dropped = meter.count("inbound", "dropped", None);
        let accesses = accesses.then(|| meter.count("l1", "accesses", BANKS));
        let units = (0..count).map(|unit| OfUnit::new(&mut meter, unit, count)).collect();
        let path = |cluster: u32| match count {
            1 => format!("cluster.{cluster}"),
            _ => format!("unit.{}.cluster.{cluster}", cluster / machine.cluster.count),
        };
        let of_cluster = |cluster| OfCluster::new(&mut meter, &path(cluster));
        let of_clusters = (0..clusters).map(of_cluster).collect();
        let cores = machine.cluster.cores;
        let of_hpu = |hpu| OfHpu::new(&mut meter, &path(hpu / cores), hpu % cores);
        let hpus = (0..clusters * cores).map(of_hpu).collect();
        Self {
            clock: clock(app),
            align_bytes: machine.inbound.align_bytes,
            l1: l1.base..l1.base + clusters * l1.stride,
            inside: Packets::new(machine),
            cores,
            in_bytes,
            out_bytes,
            dropped,
            accesses,
            units,
            clusters: of_clusters,
            hpus,
            meter,
        }
    }

    fn hpu(&self, (cluster, hpu): (u32, u32)) -> OfHpu {
        self.hpus[(cluster * self.cores + hpu) as usize]
    }

    /// Counts the bytes that a packet takes in the packet buffer.
    fn room(&self, bytes: u32) -> i64 {
        i64::from(bytes.max(1).next_multiple_of(self.align_bytes))
    }

    fn taken(&mut self, record: &PacketRecord, address: u32) {
        let inside = self.inside.insert(record, address);
        self.meter.by(record.inbound, self.in_bytes, i64::from(record.bytes));
        self.count(record.inbound, &inside, 1);
    }

    /// Counts a packet that comes into the packet buffer, or one that leaves it.
    fn count(&mut self, at: Time, inside: &Inside, number: i64) {
        let unit = &self.units[(inside.packet % self.units.len() as u64) as usize];
        self.meter.by(at, unit.packets, number);
        self.meter.by(at, unit.buffered, number * self.room(inside.bytes));
    }

    fn started(&mut self, at: Time, hpu: (u32, u32), task: RunningTask) {
        let OfHpu { busy, packet, context, .. } = self.hpu(hpu);
        self.meter.set(at, busy, Some(1));
        self.meter.set(at, packet, Some(task.packet));
        self.meter.set(at, context, Some(u64::from(task.context.0)));
    }

    fn ended(&mut self, record: &HandlerRecord) {
        let OfHpu { busy, packet, context, bank_waits, .. } =
            self.hpu((record.cluster, record.hpu));
        self.meter.set(record.end, busy, Some(0));
        self.meter.set(record.end, packet, None);
        self.meter.set(record.end, context, None);
        self.meter.by(record.end, bank_waits, record.stalls.l1 as i64);
    }

    fn unit(&mut self, event: &UnitEvent) {
        let UnitEvent { kind, cluster, hpu, address, cycle, .. } = *event;
        let at = self.clock.time(cycle);
        let owner = self.inside.unit_of(cluster) as usize;
        let of_cluster = self.clusters[cluster as usize];
        match kind {
            UnitEventKind::HerIn => {
                let mut inside = self.inside.take_up_to(cluster, address);
                inside.pop();
                for dropped in inside {
                    self.inside.remove(dropped.packet);
                    self.count(at, &dropped, -1);
                }
            }
            UnitEventKind::MpqArbitrated => {
                self.meter.set(at, self.units[owner].dispatching, Some(1));
            }
            UnitEventKind::TaskOut => {
                self.meter.set(at, self.units[owner].dispatching, Some(0));
                self.meter.by(at, of_cluster.tasks, 1);
                self.meter.by(at, of_cluster.waiting, 1);
            }
            UnitEventKind::HpuTask => self.meter.by(at, of_cluster.waiting, -1),
            UnitEventKind::HpuFeedback => self.meter.by(at, of_cluster.tasks, -1),
            UnitEventKind::CommandIssue => {
                let open = self.hpu((cluster, hpu)).commands;
                self.meter.by(at, open, 1);
            }
            UnitEventKind::CommandResponse => {
                let open = self.hpu((cluster, hpu)).commands;
                self.meter.by(at, open, -1);
            }
            UnitEventKind::InterfaceCommand | UnitEventKind::InterfaceResponse => {
                let number = if kind == UnitEventKind::InterfaceCommand { 1 } else { -1 };
                let interfaces = &self.units[owner].interfaces;
                let interface = interfaces[address as usize % interfaces.len()];
                self.meter.by(at, interface, number);
            }
            _ => {}
        }
    }
}

impl OfUnit {
    fn new(meter: &mut Meter, unit: u32, of: u32) -> Self {
        let path = |name: &str| match of {
            1 => name.to_owned(),
            _ => format!("unit.{unit}.{name}"),
        };
        let interface = |name: &&str| {
            let name = name.to_lowercase().replace(' ', "_");
            meter.level(&path(&format!("command.{name}")), "in_flight", None)
        };
        let interfaces = INTERFACES.iter().map(interface).collect();
        Self {
            interfaces,
            packets: meter.level(&path("packet_buffer"), "packets", PACKETS),
            buffered: meter.level(&path("packet_buffer"), "occupied_bytes", None),
            dispatching: meter.flag(&path("dispatcher"), "busy", None),
        }
    }
}

impl OfCluster {
    fn new(meter: &mut Meter, path: &str) -> Self {
        Self {
            tasks: meter.level(path, "tasks", None),
            waiting: meter.level(path, "waiting", WAITING),
            transfers: meter.level(&format!("{path}.dma"), "transfers", DMA),
        }
    }
}

impl OfHpu {
    fn new(meter: &mut Meter, cluster: &str, hpu: u32) -> Self {
        let path = format!("{cluster}.hpu.{hpu}");
        Self {
            busy: meter.flag(&path, "busy", BUSY),
            packet: meter.label(&path, "packet"),
            context: meter.label(&path, "context"),
            commands: meter.level(&path, "commands", COMMANDS),
            bank_waits: meter.count(&path, "bank_wait_cycles", None),
        }
    }
}

impl Gauges for NicGauges {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    fn gauges(&self) -> &[Gauge] {
        self.meter.gauges()
    }
}

impl Hears<Spin> for NicGauges {
    fn interest(&self) -> Interest {
        let instructions = self.accesses.is_some();
        Interest { handlers: true, units: true, instructions, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::HandlerStarted { time, cluster, hpu, task, .. } => {
                self.started(time, (cluster, hpu), task);
            }
            Event::HandlerDone(record) => self.ended(record),
            Event::PacketTaken { record, address } => self.taken(record, address),
            Event::PacketDone(record) => {
                if let Some(inside) = self.inside.remove(record.packet) {
                    self.count(record.completion, &inside, -1);
                }
            }
            Event::Dropped { time, reason, .. } => {
                self.meter.by(time, self.dropped, 1);
                let taken = (reason == DropReason::NoQueue).then(|| self.inside.take_next());
                if let Some(inside) = taken.flatten() {
                    self.inside.remove(inside.packet);
                    self.count(time, &inside, -1);
                }
            }
            Event::Departed { time, frame, .. } => {
                self.meter.by(time, self.out_bytes, frame.len() as i64);
            }
            Event::Transfer(transfer) => {
                let transfers = self.clusters[transfer.cluster as usize].transfers;
                self.meter.by(transfer.issued, transfers, 1);
                self.meter.by(transfer.done, transfers, -1);
            }
            Event::Instruction(record) => {
                let is_l1 = record.address.is_some_and(|address| self.l1.contains(&address));
                let accesses = self.accesses.filter(|_| is_l1);
                if let Some(id) = accesses.filter(|_| record.instruction.class != Kind::EventLoad) {
                    self.meter.by(record.time, id, 1);
                }
            }
            Event::Unit(ref event) => self.unit(event),
            _ => {}
        }
    }
}
