//! What is said by what runs step by step. In: its events. Out: what is kept of them, and calls of Python's
//! functions.

use std::collections::HashMap;

use pinion_observe::words::kind_name;
use pinion_sim::Time;
use pinion_sim::probe::Hears;
use pinion_spin::{ContextId, Event, Fault, HandlerRecord, Interest, PacketRecord, Spin};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::messages::News;

/// What Python can hear of packet handlers.
pub const OF_HANDLERS: &[&str] = &[
    "departed",
    "dropped",
    "fault",
    "handler",
    "handler_start",
    "host_write",
    "output",
    "packet",
    "unmatched",
];
/// What it can hear of a nanoservice.
pub const OF_SERVICES: &[&str] = &["departed", "message", "message_start", "output"];
/// What it can hear of a cluster, of nodes of both kinds.
pub const OF_CLUSTERS: &[&str] =
    &["departed", "handler", "message", "message_start", "output", "packet"];

/// What is kept of a run.
#[derive(Clone, Default)]
pub struct Told {
    /// Frames that left, with their times.
    pub departed: Vec<(Time, Vec<u8>)>,
    /// Packets that are through.
    pub packets: Vec<PacketRecord>,
    /// Lines that handlers printed.
    pub output: String,
    /// Lines that have not ended yet, by cluster and HPU.
    lines: HashMap<(u32, u32), Vec<u8>>,
}

/// Keeps what is said, and passes it on.
pub struct Hearing<'e> {
    /// What is kept.
    pub told: &'e mut Told,
    /// Functions by the event that they hear.
    pub callbacks: &'e HashMap<&'static str, Vec<Py<PyAny>>>,
    /// What one of them raised; none is called any more then.
    pub raised: Option<PyErr>,
}

/// Hears a NIC.
pub struct Ears<'h, 'e> {
    /// Who keeps it.
    pub hearing: &'h mut Hearing<'e>,
    /// The contexts' names.
    pub contexts: &'h [String],
    /// The NIC's node, in a cluster.
    pub node: Option<&'h str>,
}

impl Hears<Spin> for Ears<'_, '_> {
    fn interest(&self) -> Interest {
        let is_heard = |name| self.hearing.callbacks.contains_key(name);
        Interest {
            handlers: is_heard("handler") || is_heard("handler_start"),
            host_writes: is_heard("host_write"),
            ..Interest::default()
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Departed { time, frame, packet } => {
                self.hearing.told.departed.push((*time, frame.to_vec()));
                self.call("departed", |py, say| {
                    say.set_item("time_ns", time.ns())?;
                    say.set_item("packet", packet)?;
                    say.set_item("frame", PyBytes::new(py, frame))
                });
            }
            Event::PacketDone(record) => {
                self.hearing.told.packets.push((*record).clone());
                let context = self.context(record.context);
                self.call("packet", |_, say| packet(say, record, &context));
            }
            Event::HandlerStarted { time, cluster, hpu, task, .. } => {
                let context = self.context(task.context);
                self.call("handler_start", |_, say| {
                    say.set_item("time_ns", time.ns())?;
                    say.set_item("packet", task.packet)?;
                    say.set_item("message", task.message)?;
                    say.set_item("context", context)?;
                    say.set_item("kind", kind_name(task.kind))?;
                    place(say, *cluster, *hpu)
                });
            }
            Event::HandlerDone(record) => {
                let context = self.context(record.context);
                self.call("handler", |_, say| handler(say, record, &context));
            }
            Event::Dropped { time, reason, frame } => self.call("dropped", |py, say| {
                say.set_item("time_ns", time.ns())?;
                say.set_item("reason", reason.name())?;
                say.set_item("frame", PyBytes::new(py, frame))
            }),
            Event::Unmatched { time, frame } => self.call("unmatched", |py, say| {
                say.set_item("time_ns", time.ns())?;
                say.set_item("frame", PyBytes::new(py, frame))
            }),
            Event::HostWrite { time, address, data, packet } => {
                self.call("host_write", |py, say| {
                    say.set_item("time_ns", time.ns())?;
                    say.set_item("packet", packet)?;
                    say.set_item("address", address)?;
                    say.set_item("data", PyBytes::new(py, data))
                })
            }
            Event::HandlerFault {
                time, context, packet, cluster, hpu, fault, pc, address, ..
            } => {
                let context = self.context(*context);
                self.call("fault", |_, say| {
                    say.set_item("time_ns", time.ns())?;
                    say.set_item("packet", packet)?;
                    say.set_item("context", context)?;
                    say.set_item("what", what(fault))?;
                    say.set_item("pc", pc)?;
                    say.set_item("address", address)?;
                    place(say, *cluster, *hpu)
                });
            }
            Event::Output { time, cluster, hpu, byte } => {
                self.printed(*time, *cluster, *hpu, *byte)
            }
            _ => {}
        }
    }
}

impl Ears<'_, '_> {
    fn context(&self, ContextId(context): ContextId) -> String {
        self.contexts.get(context as usize).cloned().unwrap_or_default()
    }

    fn printed(&mut self, time: Time, cluster: u32, hpu: u32, byte: u8) {
        let told = &mut *self.hearing.told;
        let line = told.lines.entry((cluster, hpu)).or_default();
        if byte != b'\n' {
            line.push(byte);
            return;
        }
        let text = String::from_utf8_lossy(&std::mem::take(line)).into_owned();
        told.output.push_str(&format!("[{time} cluster {cluster} HPU {hpu}] {text}\n"));
        self.call("output", |_, say| {
            say.set_item("time_ns", time.ns())?;
            say.set_item("text", text)?;
            place(say, cluster, hpu)
        });
    }

    fn call(
        &mut self,
        name: &'static str,
        tell: impl FnOnce(Python<'_>, &Bound<'_, PyDict>) -> PyResult<()>,
    ) {
        let node = self.node;
        self.hearing.call(name, |py, say| {
            node.map_or(Ok(()), |node| say.set_item("node", node))?;
            tell(py, say)
        });
    }
}

impl Hearing<'_> {
    /// Hears of a frame that left nodes.
    pub fn departed(&mut self, time: Time, frame: Vec<u8>) {
        self.call("departed", |py, say| {
            say.set_item("time_ns", time.ns())?;
            say.set_item("frame", PyBytes::new(py, &frame))
        });
        self.told.departed.push((time, frame));
    }

    /// Hears that a hart has begun a message, or is done with it.
    pub fn message(&mut self, News { at, message, has_ended }: &News) {
        let name = if *has_ended { "message" } else { "message_start" };
        self.call(name, |_, say| {
            say.set_item("time_ns", at.ns())?;
            if !message.node.is_empty() {
                say.set_item("node", &*message.node)?;
            }
            say.set_item("message", message.number)?;
            say.set_item("context", message.context)?;
            say.set_item("hart", message.hart)?;
            say.set_item("packets", message.packets)?;
            say.set_item("first_packet_ns", message.first.map(Time::ns))?;
            say.set_item("begun_ns", message.begun.map(Time::ns))
        });
    }

    /// Hears of a line that a node's program printed.
    pub fn printed(&mut self, time: Time, line: &str) {
        self.told.output.push_str(&format!("{line}\n"));
        self.call("output", |_, say| {
            say.set_item("time_ns", time.ns())?;
            say.set_item("text", line)
        });
    }

    /// Calls the functions that hear an event; `tell` says what it was.
    fn call(
        &mut self,
        name: &'static str,
        tell: impl FnOnce(Python<'_>, &Bound<'_, PyDict>) -> PyResult<()>,
    ) {
        let Some(functions) = self.callbacks.get(name).filter(|_| self.raised.is_none()) else {
            return;
        };
        let called = Python::attach(|py| {
            let say = PyDict::new(py);
            say.set_item("event", name)?;
            tell(py, &say)?;
            functions.iter().try_for_each(|function| function.call1(py, (&say,)).map(drop))
        });
        self.raised = called.err();
    }
}

fn place(say: &Bound<'_, PyDict>, cluster: u32, hpu: u32) -> PyResult<()> {
    say.set_item("cluster", cluster)?;
    say.set_item("hpu", hpu)
}

fn packet(say: &Bound<'_, PyDict>, record: &PacketRecord, context: &str) -> PyResult<()> {
    say.set_item("time_ns", record.completion.ns())?;
    say.set_item("packet", record.packet)?;
    say.set_item("message", record.message)?;
    say.set_item("context", context)?;
    say.set_item("bytes", record.bytes)?;
    say.set_item("arrival_ns", record.arrival.ns())?;
    say.set_item("handler_start_ns", record.handler_start.map(Time::ns))?;
    say.set_item("handler_end_ns", record.handler_end.map(Time::ns))?;
    say.set_item("instructions", record.instructions)?;
    say.set_item("failed", record.failed)
}

fn handler(say: &Bound<'_, PyDict>, record: &HandlerRecord, context: &str) -> PyResult<()> {
    say.set_item("time_ns", record.end.ns())?;
    say.set_item("packet", record.packet)?;
    say.set_item("context", context)?;
    say.set_item("kind", kind_name(record.kind))?;
    say.set_item("start_ns", record.start.ns())?;
    say.set_item("instructions", record.instructions)?;
    say.set_item("failed", record.failed)?;
    place(say, record.cluster, record.hpu)
}

/// Says how a handler went wrong.
fn what(fault: &Fault) -> String {
    match fault {
        Fault::Exception { cause } => format!("exception {cause}"),
        Fault::Watchdog { limit_cycles } => format!("ran for more than {limit_cycles} cycles"),
        Fault::Released => "its context was released".to_owned(),
        Fault::BadCommand { what } => format!("a command was refused: {what}"),
        Fault::HpuLost => "the trap vector leads nowhere".to_owned(),
    }
}
