//! The tracks of a NIC, in the order of a packet's way; the flows that follow packets.

use std::io::Write;

use pinion_sim::Time;
use pinion_spin::Machine;

use super::{Corner, Lanes, Slice, Track, UNIT_BYTES, UNIT_COUNT, Value, Writer};
use crate::trace::inside::Inside;

/// Numbers the flow that follows a packet: these are even, those of commands odd.
const fn flow_of(packet: u64) -> u64 {
    2 * packet + 2
}

/// Tells which packet a slice belongs to.
pub fn notes(inside: &Inside) -> Vec<(&'static str, Value)> {
    vec![
        ("packet", Value::Count(inside.packet)),
        ("message", Value::Count(u64::from(inside.message))),
        ("bytes", Value::Count(u64::from(inside.bytes))),
    ]
}

/// Holds a machine's tracks.
pub struct Tracks {
    /// Which of a trace's machines this is.
    pub corner: Corner,
    /// Packets on the wire, on their way in.
    pub ingress: Link,
    /// PsPIN units.
    pub units: Vec<UnitTracks>,
    /// Clusters of all units.
    pub clusters: Vec<ClusterTracks>,
    /// Bytes in the L2 packet buffers.
    pub buffered: Track,
    /// HPUs that have a task.
    pub busy: Track,
}

/// Holds a PsPIN unit's tracks.
pub struct UnitTracks {
    /// Packets from when the inbound engine takes them until their HERs are handed over.
    pub inbound: Lanes,
    /// Tasks from when the MPQ engine's arbiter chooses them until they are dispatched.
    pub scheduler: Track,
    /// What the command interfaces work at, by their numbers.
    pub interfaces: Vec<Lanes>,
    /// Packets on the wire, on their way out.
    pub egress: Link,
    /// Completions that free packets.
    pub completions: Track,
}

/// Holds a cluster's tracks.
pub struct ClusterTracks {
    /// Transfers of its DMA engine.
    pub dma: Lanes,
    /// HPUs' handlers.
    pub hpus: Vec<Track>,
    /// Commands from when HPUs issue them until they hear that they are done.
    pub commands: Lanes,
    /// Whether each HPU has a task.
    pub occupied: Vec<Track>,
}

/// Holds a link's track: one packet after the other.
pub struct Link {
    track: Track,
    free: Time,
    mbit_s: u64,
}

impl Link {
    fn new<W: Write>(writer: &mut Writer<W>, parent: Track, name: &str, machine: &Machine) -> Self {
        let rank = if name.starts_with("Ingress") { 0 } else { (1 << 20) + 10 };
        let track = writer.track(Some(parent), rank, name);
        Self { track, free: Time::ZERO, mbit_s: machine.network.rate_mbit_s }
    }

    /// Writes the slice of a packet of so many bytes whose last bit passes at `slice.end`.
    pub fn pass<W: Write>(&mut self, writer: &mut Writer<W>, bytes: u64, slice: Slice<'_>) {
        let ps = (bytes * 8_000_000).checked_div(self.mbit_s).unwrap_or(0);
        let first_bit = Time::from_ps(slice.end.ps().saturating_sub(ps));
        let end = slice.end.max(self.free);
        let begin = first_bit.max(self.free);
        self.free = end;
        writer.slice(self.track, Slice { begin, end, ..slice });
    }
}

impl Tracks {
    /// Describes a machine's tracks.
    pub fn new<W: Write>(writer: &mut Writer<W>, machine: &Machine, corner: Corner) -> Self {
        let title = corner.title(&format!("NIC ({})", machine.name));
        let root = writer.track(None, 0, &title);
        let ingress = Link::new(writer, root, "Ingress link", machine);
        let counters = writer.track(Some(root), u32::MAX >> 1, "Occupancy");
        let (mut units, mut clusters) = (Vec::new(), Vec::new());
        for unit in 0..machine.units.count {
            let parent = match machine.units.count {
                1 => root,
                _ => writer.track(Some(root), 1 + unit, &format!("Unit {unit}")),
            };
            let first = unit * machine.cluster.count;
            for cluster in first..first + machine.cluster.count {
                let track = writer.track(Some(parent), 10 + cluster, &format!("Cluster {cluster}"));
                clusters.push(ClusterTracks::new(writer, (track, counters), cluster, machine));
            }
            units.push(UnitTracks::new(writer, parent, machine));
        }
        Self {
            corner,
            ingress,
            units,
            clusters,
            buffered: writer.counter(counters, 0, "Packet buffer", UNIT_BYTES),
            busy: writer.counter(counters, 1, "Busy HPUs", UNIT_COUNT),
        }
    }

    /// Numbers the flow that follows a packet.
    pub fn flow_of(&self, packet: u64) -> u64 {
        self.corner.flow(flow_of(packet))
    }

    /// Numbers the flow that follows a command.
    pub fn flow_of_command(&self, command: u64) -> u64 {
        self.corner.flow(2 * command + 1)
    }

    /// Gives an HPU's track.
    pub fn hpu(&self, (cluster, hpu): (u32, u32)) -> Track {
        self.clusters[cluster as usize].hpus[hpu as usize]
    }

    /// Gives the track that counts an HPU's tasks.
    pub fn occupied(&self, (cluster, hpu): (u32, u32)) -> Track {
        self.clusters[cluster as usize].occupied[hpu as usize]
    }
}

impl UnitTracks {
    fn new<W: Write>(writer: &mut Writer<W>, parent: Track, machine: &Machine) -> Self {
        const LAST: u32 = 1 << 20; // behind every cluster
        let names = ["HostDirect", "NIC outbound engine", "Off-cluster DMA"];
        let interfaces = names.into_iter().zip(LAST..);
        Self {
            inbound: Lanes::new(writer, parent, 1, "Inbound engine"),
            scheduler: writer.track(Some(parent), 2, "MPQ engine and dispatcher"),
            interfaces: interfaces
                .map(|(name, rank)| Lanes::new(writer, parent, rank, name))
                .collect(),
            egress: Link::new(writer, parent, "Egress link", machine),
            completions: writer.track(Some(parent), LAST + 11, "Completions"),
        }
    }
}

impl ClusterTracks {
    fn new<W: Write>(
        writer: &mut Writer<W>,
        (track, counters): (Track, Track),
        cluster: u32,
        machine: &Machine,
    ) -> Self {
        let cores = machine.cluster.cores;
        let name = |hpu: u32| format!("HPU {cluster}.{hpu}");
        let dma = Lanes::new(writer, track, 0, "DMA");
        let hpus = (0..cores).map(|hpu| writer.track(Some(track), 1 + hpu, &name(hpu))).collect();
        let commands = Lanes::new(writer, track, 1 + cores, "Commands");
        let first = 2 + cluster * cores;
        let occupied = (0..cores)
            .map(|hpu| writer.counter(counters, first + hpu, &name(hpu), UNIT_COUNT))
            .collect();
        Self { dma, hpus, commands, occupied }
    }
}
