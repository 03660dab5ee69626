//! Hears the NIC for the time line, and counts.

use pinion_sim::Time;
use pinion_spin::{Event, Hears, Interest, Spin};

use super::queue::What;

/// Holds what a NIC said in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// Number of frames that were dropped for want of room.
    pub dropped: u64,
    /// Number of handlers that ended.
    pub handlers: u64,
    /// Adds up their times, in ps.
    pub handlers_ps: u64,
    /// Number of bytes that handlers wrote to host memory.
    pub host_bytes: u64,
    /// Number of the writes.
    pub host_writes: u64,
    /// What handlers wrote to standard output.
    pub output: Vec<u8>,
    /// Tells the first handler that went wrong.
    pub fault: Option<String>,
}

impl Heard {
    /// Gives the mean time of a handler, in ns.
    pub fn handler_ns(&self) -> Option<f64> {
        let mean = self.handlers_ps as f64 / self.handlers.max(1) as f64 / 1000.0;
        (self.handlers > 0).then_some(mean)
    }
}

/// Collects what concerns actors.
#[derive(Debug, Default)]
pub(super) struct Ears {
    pub heard: Heard,
    said: Vec<(Time, What)>,
}

impl Ears {
    /// Tells whether there is nothing for actors.
    pub fn is_silent(&self) -> bool {
        self.said.is_empty() && self.heard.fault.is_none()
    }

    /// Takes what there is for actors.
    pub fn take(&mut self) -> Vec<(Time, What)> {
        std::mem::take(&mut self.said)
    }
}

impl Hears<Spin> for Ears {
    fn interest(&self) -> Interest {
        Interest { handlers: true, host_writes: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        let heard = &mut self.heard;
        match *event {
            Event::Departed { time, frame, .. } => {
                self.said.push((time, What::ToPeer(frame.to_vec())));
            }
            Event::Unmatched { time, frame } => {
                self.said.push((time, What::ToHost(frame.to_vec())));
            }
            Event::HostWrite { time, address, data, .. } => {
                let bytes = data.len() as u32;
                heard.host_writes += 1;
                heard.host_bytes += data.len() as u64;
                self.said.push((time, What::HostWrite { address, bytes }));
            }
            Event::HandlerDone(record) => {
                heard.handlers += 1;
                heard.handlers_ps += record.end.since(record.start).ps();
            }
            Event::Dropped { .. } => heard.dropped += 1,
            Event::Output { byte, .. } => heard.output.push(byte),
            Event::HandlerFault { time, cluster, hpu, fault, pc, address, .. } => {
                heard.fault.get_or_insert_with(|| {
                    format!(
                        "{fault:?} on cluster {cluster} HPU {hpu} at pc {pc:#010x} (address \
                         {address:#010x}), {time}"
                    )
                });
            }
            _ => {}
        }
    }
}
