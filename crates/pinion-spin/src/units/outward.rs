//! Passes a unit's events on under names that are unique in the whole machine, and keeps what the
//! scheduling level has to know.

use crate::listener::{
    Event, HandlerRecord, InstructionRecord, Interest, Listener, PacketRecord, RunningTask, Spin,
    TransferRecord,
};
use crate::{ContextId, Machine};
use pinion_sim::probe::Hears;

/// What a unit did that concerns the scheduling level.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Packets that it is done with.
    pub gone: u64,
    /// Messages that it gave up.
    pub evicted: Vec<(ContextId, u32)>,
}

/// Hears a unit and tells the machine's listener: clusters are counted through all units, and a
/// packet's number is its number in the unit times the units, plus the unit.
pub struct Outward<'a> {
    first_cluster: u32,
    unit: u64,
    units: u64,
    listener: &'a mut dyn Listener,
    news: News,
}

impl<'a> Outward<'a> {
    /// Listens to unit `index`.
    pub fn new(machine: &Machine, index: usize, listener: &'a mut dyn Listener) -> Self {
        Self {
            first_cluster: index as u32 * machine.cluster.count,
            unit: index as u64,
            units: u64::from(machine.units.count),
            listener,
            news: News::default(),
        }
    }

    /// Gives what the level has to know.
    pub fn into_news(self) -> News {
        self.news
    }

    const fn packet(&self, packet: u64) -> u64 {
        packet * self.units + self.unit
    }

    const fn task(&self, task: RunningTask) -> RunningTask {
        RunningTask { packet: self.packet(task.packet), ..task }
    }
}

impl Hears<Spin> for Outward<'_> {
    fn interest(&self) -> Interest {
        self.listener.interest()
    }

    fn hear(&mut self, event: &Event<'_>) {
        let first = self.first_cluster;
        match *event {
            Event::PacketDone(record) => {
                self.news.gone += 1;
                let record = PacketRecord {
                    packet: self.packet(record.packet),
                    hpu: record.hpu.map(|(cluster, hpu)| (first + cluster, hpu)),
                    ..record.clone()
                };
                self.listener.hear(&Event::PacketDone(&record));
            }
            Event::HandlerDone(record) => {
                let record = HandlerRecord {
                    packet: self.packet(record.packet),
                    cluster: first + record.cluster,
                    ..record.clone()
                };
                self.listener.hear(&Event::HandlerDone(&record));
            }
            Event::Departed { time, frame, packet } => {
                let packet = self.packet(packet);
                self.listener.hear(&Event::Departed { time, frame, packet });
            }
            Event::HostWrite { time, address, data, packet } => {
                let packet = self.packet(packet);
                self.listener.hear(&Event::HostWrite { time, address, data, packet });
            }
            Event::Output { time, cluster, hpu, byte } => {
                let cluster = first + cluster;
                self.listener.hear(&Event::Output { time, cluster, hpu, byte });
            }
            Event::HandlerFault {
                time,
                context,
                message,
                packet,
                cluster,
                hpu,
                fault,
                pc,
                address,
                scene,
            } => {
                let (packet, cluster) = (self.packet(packet), first + cluster);
                self.listener.hear(&Event::HandlerFault {
                    time,
                    context,
                    message,
                    packet,
                    cluster,
                    hpu,
                    fault,
                    pc,
                    address,
                    scene,
                });
            }
            Event::HandlerStarted { time, cluster, hpu, task, place } => {
                let (cluster, task) = (first + cluster, self.task(task));
                self.listener.hear(&Event::HandlerStarted { time, cluster, hpu, task, place });
            }
            Event::PacketTaken { record, address } => {
                let packet = self.packet(record.packet);
                let record = PacketRecord { packet, ..record.clone() };
                self.listener.hear(&Event::PacketTaken { record: &record, address });
            }
            Event::Transfer(record) => {
                let packet = record.packet.map(|packet| self.packet(packet));
                let record = TransferRecord { cluster: first + record.cluster, packet, ..*record };
                self.listener.hear(&Event::Transfer(&record));
            }
            Event::Instruction(record) => {
                let (cluster, task) = (first + record.cluster, record.task.map(|t| self.task(t)));
                let record = InstructionRecord { cluster, task, ..*record };
                self.listener.hear(&Event::Instruction(&record));
            }
            Event::Unit(mut unit) => {
                unit.cluster += first;
                self.listener.hear(&Event::Unit(unit));
            }
            Event::Dropped { .. } => {
                self.news.gone += 1;
                self.listener.hear(event);
            }
            Event::MessageEvicted { context, message, .. } => {
                self.news.evicted.push((context, message));
                self.listener.hear(event);
            }
            Event::Unmatched { .. } | Event::HostRead { .. } => self.listener.hear(event),
        }
    }
}
