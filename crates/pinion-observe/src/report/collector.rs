//! Hears a run: captures and CSV lines are written as things happen, everything else is counted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pinion_net::capture::{CaptureWriter, LinkType};
use pinion_sim::Time;
use pinion_spin::listener::DropReason;
use pinion_spin::{
    ContextId, Event, HandlerKind, HandlerRecord, Hears, Interest, PacketRecord, Spin,
};

use crate::fault::{Fault, HandlerOrigin, Ledger};
use pinion_app::error::{Error, Result};

use super::handlers::HandlerRow;
use super::histogram::Histogram;
use super::nothing::{KEPT_BYTES, KEPT_PACKETS};
use super::packets::PacketFile;

/// Limits a line of handler output; longer ones are broken.
const LINE_BYTES: usize = 4096;

/// Chooses what is written while a run goes on.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// Name of the capture of packets that left.
    pub pcap_out: Option<PathBuf>,
    /// Name of the capture of packets no context matched.
    pub unmatched_out: Option<PathBuf>,
    /// Name of the CSV file with a line per packet.
    pub packets: Option<PathBuf>,
    /// Collects a row per handler.
    pub handlers: bool,
}

/// Receives lines that handlers print and packets for a live device, as they come.
pub trait Sink {
    /// Takes one line of a handler's standard output.
    fn line(&mut self, _time: Time, _cluster: u32, _hpu: u32, _text: &str) {}
    /// Takes a packet that left the NIC.
    fn departed(&mut self, _time: Time, _frame: &[u8]) {}
    /// Takes a packet no context matched.
    fn unmatched(&mut self, _time: Time, _frame: &[u8]) {}
    /// Takes what there is to say of a packet whose completion came back.
    fn packet(&mut self, _record: &PacketRecord) {}
    /// Takes what there is to say of one run of a handler, where [`Outputs::handlers`] asks for them.
    fn handler(&mut self, _record: &HandlerRecord) {}
    /// Takes a fault: the first of those that are equal.
    fn fault(&mut self, _fault: &Fault) {}
}

/// Writes and counts what a run's events say.
pub struct Collector {
    names: Vec<String>,
    pcap_out: Option<CaptureWriter>,
    unmatched_out: Option<CaptureWriter>,
    /// Bytes to remove from the front of unmatched frames: an Ethernet header made up on the way
    /// in.
    made_up_bytes: usize,
    packet_file: Option<PacketFile>,
    wants_handlers: bool,
    lines: BTreeMap<(u32, u32), Vec<u8>>,
    error: Option<Error>,
    too_large: Option<(Time, usize)>,
    /// What it has counted so far.
    pub stats: Stats,
}

/// Holds what a run's events add up to.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// The distribution of times from HER to completion.
    pub latency: Histogram,
    /// The distribution of times from arrival to departure.
    pub transit: Histogram,
    /// Number of bytes of completed packets.
    pub processed_bytes: u64,
    /// When the first packet arrived.
    pub first_arrival: Option<Time>,
    /// When the last packet arrived.
    pub last_arrival: Time,
    /// When the last completion came back.
    pub last_completion: Time,
    /// When the last packet left.
    pub last_departure: Time,
    /// The faults, each once.
    pub faults: Ledger,
    /// Number of messages evicted.
    pub evicted: u64,
    /// The first packets that no context matched, as far as a matching engine sees.
    pub unmatched: Vec<Vec<u8>>,
    /// Whether a handler printed anything.
    pub printed: bool,
    /// A row per handler.
    pub handlers: BTreeMap<(ContextId, HandlerKind), HandlerRow>,
}

/// Tells what packets begin with, on the way out and for unmatched ones.
#[derive(Debug, Clone, Copy)]
pub struct Links {
    /// What packets that handlers send begin with.
    pub out: LinkType,
    /// What the input's packets begin with.
    pub input: LinkType,
}

impl Collector {
    /// Opens the outputs.
    pub fn new(outputs: &Outputs, links: Links, names: Vec<String>) -> Result<Self> {
        let capture = |path: &Option<PathBuf>, link| {
            let open = |path| CaptureWriter::create(path, link);
            path.as_ref().map(open).transpose()
        };
        Ok(Self {
            names,
            pcap_out: capture(&outputs.pcap_out, links.out)?,
            unmatched_out: capture(&outputs.unmatched_out, links.input)?,
            made_up_bytes: match links.input {
                LinkType::Ethernet => 0,
                LinkType::RawIp => pinion_app::traffic::ETHERNET_HEADER_BYTES,
            },
            packet_file: outputs.packets.as_deref().map(PacketFile::create).transpose()?,
            wants_handlers: outputs.handlers,
            lines: BTreeMap::new(),
            error: None,
            too_large: None,
            stats: Stats::default(),
        })
    }

    /// Listens for a while, passing on to `sink` what is to be seen at once.
    pub fn ears<'a>(&'a mut self, sink: &'a mut dyn Sink) -> Ears<'a> {
        Ears { collector: self, sink }
    }

    /// Forgets a context's faults: what comes is another program's.
    pub fn forget_faults(&mut self, context: ContextId) {
        self.stats.faults.forget(context);
    }

    /// Takes the error that made an output stop, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Gives arrival and bytes of the first packet that was larger than the machine takes.
    pub fn too_large(&self) -> Option<(Time, usize)> {
        self.too_large
    }

    /// Tells lines that have not ended.
    pub fn tell_unfinished(&self, sink: &mut dyn Sink) {
        for ((cluster, hpu), line) in self.lines.iter().filter(|(_, line)| !line.is_empty()) {
            let text = String::from_utf8_lossy(line);
            sink.line(self.stats.last_completion, *cluster, *hpu, &text);
        }
    }

    /// Completes the outputs and gives what was counted.
    pub fn finish(self, sink: &mut dyn Sink) -> Result<Stats> {
        self.tell_unfinished(sink);
        if let Some(error) = self.error {
            return Err(error);
        }
        for writer in [self.pcap_out, self.unmatched_out].into_iter().flatten() {
            writer.finish()?;
        }
        if let Some(file) = self.packet_file {
            file.finish()?;
        }
        Ok(self.stats)
    }

    fn departed(&mut self, time: Time, frame: &[u8]) {
        self.stats.last_departure = self.stats.last_departure.max(time);
        if let Some(writer) = &mut self.pcap_out {
            let written = writer.write(time.ps(), frame);
            self.note(written.map_err(Error::from));
        }
    }

    fn unmatched(&mut self, time: Time, frame: &[u8]) {
        self.arrived(time);
        if self.stats.unmatched.len() < KEPT_PACKETS {
            self.stats.unmatched.push(frame[..frame.len().min(KEPT_BYTES)].to_vec());
        }
        if let Some(writer) = &mut self.unmatched_out {
            let frame = frame.get(self.made_up_bytes..).unwrap_or(&[]);
            let written = writer.write(time.ps(), frame);
            self.note(written.map_err(Error::from));
        }
    }

    fn done(&mut self, record: &PacketRecord) {
        self.arrived(record.arrival);
        self.stats.processed_bytes += u64::from(record.bytes);
        self.stats.last_completion = self.stats.last_completion.max(record.completion);
        self.stats.latency.record(record.completion.since(record.her));
        if let Some(departure) = record.departure {
            self.stats.transit.record(departure.since(record.arrival));
        }
        if let Some(file) = &mut self.packet_file {
            let name = self.names.get(record.context.0 as usize).map_or("", String::as_str);
            let written = file.write(record, name);
            self.note(written);
        }
    }

    fn arrived(&mut self, time: Time) {
        let first = self.stats.first_arrival.get_or_insert(time);
        *first = time.min(*first);
        self.stats.last_arrival = self.stats.last_arrival.max(time);
    }

    fn output(&mut self, sink: &mut dyn Sink, time: Time, hpu: (u32, u32), byte: u8) {
        self.stats.printed = true;
        let line = self.lines.entry(hpu).or_default();
        if byte != b'\n' {
            line.push(byte);
        }
        if byte == b'\n' || line.len() >= LINE_BYTES {
            let text = String::from_utf8_lossy(line).into_owned();
            line.clear();
            sink.line(time, hpu.0, hpu.1, &text);
        }
    }

    fn note(&mut self, result: Result<()>) {
        if let (Err(error), None) = (result, &self.error) {
            self.error = Some(error);
        }
    }
}

/// A collector that listens.
pub struct Ears<'a> {
    collector: &'a mut Collector,
    sink: &'a mut dyn Sink,
}

impl Hears<Spin> for Ears<'_> {
    fn interest(&self) -> Interest {
        let handlers = self.collector.wants_handlers;
        Interest { handlers, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        let (collector, sink) = (&mut *self.collector, &mut *self.sink);
        match *event {
            Event::Unmatched { time, frame } => {
                sink.unmatched(time, frame);
                collector.unmatched(time, frame);
            }
            Event::Dropped { time, reason, frame } => {
                collector.arrived(time);
                if reason == DropReason::TooLarge {
                    collector.too_large.get_or_insert((time, frame.len()));
                }
            }
            Event::HandlerDone(record) => {
                let key = (record.context, record.kind);
                collector.stats.handlers.entry(key).or_default().add(record);
                sink.handler(record);
            }
            Event::PacketDone(record) => {
                sink.packet(record);
                collector.done(record);
            }
            Event::Departed { time, frame, .. } => {
                sink.departed(time, frame);
                collector.departed(time, frame);
            }
            Event::Output { time, cluster, hpu, byte } => {
                collector.output(sink, time, (cluster, hpu), byte);
            }
            Event::HandlerFault {
                time,
                context,
                message,
                packet,
                cluster,
                hpu,
                fault: kind,
                pc,
                address,
                scene,
            } => {
                let origin = HandlerOrigin {
                    context,
                    kind: scene.kind,
                    handler: scene.handler,
                    message,
                    packet,
                    cluster,
                    hpu,
                    l1_packet: scene.l1_packet,
                    refused: scene.refused,
                };
                let faults = &mut collector.stats.faults;
                if let Some(fault) = faults.add(time, origin, kind, (pc, address), scene) {
                    sink.fault(fault);
                }
            }
            Event::MessageEvicted { .. } => collector.stats.evicted += 1,
            Event::HostWrite { .. }
            | Event::Unit(_)
            | Event::HostRead { .. }
            | Event::HandlerStarted { .. }
            | Event::PacketTaken { .. }
            | Event::Transfer(_)
            | Event::Instruction(_) => {}
        }
    }
}
