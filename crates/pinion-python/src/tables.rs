//! The tables of a run. In: what was heard. Out: columns.

use pinion_observe::report::Ending;
use pinion_run::cluster::{NodeTracer, Plan, Target};
use pinion_sim::probe::Both;
use pinion_spin::{HandlerRecord, PacketRecord};
use pyo3::prelude::*;

use crate::flows::flows;
use crate::frames::Frames;
use crate::messages::{Log, NodeFrame};
use crate::queues::History;
use crate::result::Told;
use crate::table::Table;
use crate::watch::Watch;
use crate::written;

/// What a run leaves for Python.
pub struct Done {
    /// What its summary says.
    pub told: Told,
    /// How it ended.
    pub ending: Ending,
    /// What the table of packets is made of.
    pub rows: Rows,
    /// Contexts' host memory, by name.
    pub host_memory: Vec<(String, Vec<u8>)>,
    /// Frames that left a node.
    pub departed: Frames,
    /// Who heard of nodes' messages.
    pub messages: Vec<Log>,
    /// What units held over time.
    pub queues: Option<History>,
    /// Tables that went to files, by their names.
    pub files: Vec<written::Done>,
}

/// What the table of packets is made of.
pub enum Rows {
    /// Packets of a NIC, which the watch has; the names of its contexts.
    Packets(Vec<String>),
    /// Frames of a node.
    Frames(Vec<NodeFrame>),
}

/// Which tables are wanted.
#[derive(Clone, Copy)]
pub struct Wants {
    /// Runs of handlers, and HPUs.
    pub handlers: bool,
    /// Messages.
    pub messages: bool,
    /// Tables in files.
    pub parquet: bool,
}

/// The tables of a run.
pub struct Tables {
    /// Packets, or frames.
    pub packets: Table,
    /// Runs of handlers.
    pub handlers: Option<Table>,
    /// Messages.
    pub messages: Option<Table>,
    /// Harts or HPUs.
    pub harts: Option<Table>,
    /// What units held over time.
    pub queues: Option<Table>,
}

/// Makes the tables.
pub fn tables(py: Python<'_>, done: &Done, watch: &Watch, wants: Wants) -> PyResult<Tables> {
    let (packets, handlers): (&[PacketRecord], &[HandlerRecord]) =
        (&watch.packets, &watch.handlers);
    py.detach(|| {
        let queues = done.queues.as_ref();
        let queues = queues.and_then(|changes| Some((changes.take()?, &changes.names)));
        let queues = queues.map(|(changes, names)| Table::of_changes(&changes, names));
        let queues = queues.transpose()?;
        Ok(match &done.rows {
            Rows::Frames(frames) => {
                let messages = || {
                    let rows: Vec<_> = done.messages.iter().flat_map(Log::rows).collect();
                    Table::of_messages(&rows)
                };
                Tables {
                    packets: Table::of_frames(frames)?,
                    handlers: None,
                    messages: (wants.messages && !wants.parquet).then(messages).transpose()?,
                    harts: Some(done.told.harts()?),
                    queues,
                }
            }
            Rows::Packets(contexts) => {
                let is_there = wants.handlers && !wants.parquet;
                let messages = || Table::of_flows(&flows(packets), contexts);
                Tables {
                    packets: Table::of_packets(packets, contexts)?,
                    handlers: is_there
                        .then(|| Table::of_handlers(handlers, contexts))
                        .transpose()?,
                    messages: (wants.messages && !wants.parquet).then(messages).transpose()?,
                    harts: is_there.then(|| Table::of_hpus(handlers)).transpose()?,
                    queues,
                }
            }
        })
    })
}

/// Lets somebody hear of the messages of a cluster's nanoPUs, beside whoever hears them already.
pub fn listen<'a>(plan: &Plan, tracers: &mut Vec<(usize, NodeTracer<'a>)>) -> Vec<Log> {
    let mut logs = Vec::new();
    for (node, name) in plan.names.iter().enumerate() {
        let Some((group, _)) = plan.group_of(node) else { continue };
        let Target::Nanoservice { setup, .. } = &group.target else { continue };
        let log = Log::new(name, setup.clock);
        logs.push(log.clone());
        let other = tracers.iter().position(|(other, _)| *other == node);
        let tracer = match other.map(|place| tracers.swap_remove(place).1) {
            Some(NodeTracer::Nano(other)) => NodeTracer::Nano(Box::new(Both::new(other, log))),
            _ => NodeTracer::Nano(Box::new(log)),
        };
        tracers.push((node, tracer));
    }
    logs
}
