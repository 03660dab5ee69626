//! Who watches a run from Python: keeps what comes out, notices Ctrl-C, tells how far the run is.

use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_observe::report::Sink;
use pinion_observe::settling::Settling;
use pinion_run::watch::{Observer, Progress};
use pinion_sim::probe::Hears;
use pinion_sim::{Clock, Time};
use pinion_spin::{HandlerRecord, PacketRecord};
use pyo3::prelude::*;

use crate::frames::Frames;
use crate::messages::NodeFrame;
use crate::progress::Heard;
use crate::stream::Stream;
use crate::written::{Done, Written};

/// Keeps what a run says.
#[derive(Default)]
pub struct Watch {
    /// Called with packets done, packets in all or `None`, simulated nanoseconds and seconds of the host.
    pub progress: Heard,
    /// Whether frames, packets and handlers are kept.
    pub keeps: bool,
    /// What handlers or the program printed.
    pub output: String,
    /// What the command says on standard error.
    pub notices: Vec<String>,
    /// Frames that left, with the times at which they did.
    pub departed: Frames,
    /// Frames that no context matched.
    pub unmatched: Vec<Vec<u8>>,
    /// Packets that are through.
    pub packets: Vec<PacketRecord>,
    /// Runs of handlers.
    pub handlers: Vec<HandlerRecord>,
    /// Where packets and runs of handlers go instead.
    pub stream: Option<Stream>,
    /// What Python raised during the run: Ctrl-C, or an error of `progress`.
    pub raised: Option<PyErr>,
}

impl Watch {
    fn report(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        py.check_signals()?;
        let Some(callback) = self.progress.callback() else { return Ok(()) };
        let simulated = progress.simulated.ns();
        let seconds = progress.host.as_secs_f64();
        callback.call1(py, (progress.done, progress.total, simulated, seconds)).map(drop)
    }
}

impl Sink for Watch {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.output.push_str(&format!("[{time} cluster {cluster} HPU {hpu}] {text}\n"));
    }

    fn departed(&mut self, time: Time, frame: &[u8]) {
        if self.keeps {
            self.departed.push(time, frame);
        }
    }

    fn unmatched(&mut self, _: Time, frame: &[u8]) {
        if self.keeps {
            self.unmatched.push(frame.to_vec());
        }
    }

    fn packet(&mut self, record: &PacketRecord) {
        if let Some(stream) = &mut self.stream {
            stream.packet(record);
        } else if self.keeps {
            self.packets.push(record.clone());
        }
    }

    fn handler(&mut self, record: &HandlerRecord) {
        if let Some(stream) = &mut self.stream {
            stream.handler(record);
        } else if self.keeps {
            self.handlers.push(record.clone());
        }
    }
}

impl Observer for Watch {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        let reported = Python::attach(|py| self.report(py, progress));
        self.raised = reported.err();
        self.raised.is_none() && !self.stream.as_ref().is_some_and(Stream::has_failed)
    }

    fn console(&mut self, text: &str) {
        self.output.push_str(text);
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }
}

/// Hears the frames at a nanoPU's pins.
pub struct Pins {
    clock: Clock,
    keeps: bool,
    /// Where frames go instead, and why one could not.
    written: Option<Written<NodeFrame>>,
    error: Option<pinion_app::Error>,
    /// Frames in both directions.
    pub frames: Vec<NodeFrame>,
    /// Frames that left, with the times of their first flits.
    pub departed: Frames,
}

impl Pins {
    /// Hears a node with this clock, and keeps what it hears if it is to.
    pub fn new(clock: Clock, keeps: bool, written: Option<Written<NodeFrame>>) -> Self {
        Self { clock, keeps, written, error: None, frames: Vec::new(), departed: Frames::default() }
    }

    /// Ends the file, if frames go to one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> pinion_app::Result<Option<Done>> {
        self.error.take().map_or(Ok(()), Err)?;
        self.written.take().map(Written::finish).transpose()
    }

    fn is_listening(&self) -> bool {
        self.keeps || self.written.is_some()
    }

    fn note(&mut self, is_in: bool, first_flit: u64, last_flit: u64, frame: &[u8]) {
        let time = self.clock.time(first_flit);
        let bytes = frame.len() as u32;
        let row = NodeFrame { is_in, first_flit, last_flit, time, bytes };
        if let Some(written) = &mut self.written {
            if self.error.is_none() {
                self.error = written.add(row).err();
            }
            return;
        }
        self.frames.push(row);
        if !is_in {
            self.departed.push(time, frame);
        }
    }
}

impl Hears<NanoPu> for Pins {
    fn interest(&self) -> Retirements {
        Retirements::default()
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Arrived { first_flit, frame } if self.is_listening() => {
                let last_flit = first_flit + pinion_net::load::flits(frame.len()) - 1;
                self.note(true, first_flit, last_flit, frame);
            }
            Told::Left { first_flit, last_flit, frame } if self.is_listening() => {
                self.note(false, first_flit, last_flit, frame);
            }
            _ => {}
        }
    }
}

impl Settling for Pins {
    fn settle(&mut self, _: u64) -> pinion_app::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}

/// Somebody who hears a nanoPU, or nobody.
pub struct Perhaps<L>(pub Option<L>);

impl<L: Settling> Hears<NanoPu> for Perhaps<L> {
    fn interest(&self) -> Retirements {
        self.0.as_ref().map(Hears::interest).unwrap_or_default()
    }

    fn hear(&mut self, told: &Told<'_>) {
        if let Some(listener) = &mut self.0 {
            listener.hear(told);
        }
    }
}

impl<L: Settling> Settling for Perhaps<L> {
    fn settle(&mut self, cycle: u64) -> pinion_app::Result<()> {
        self.0.as_mut().map_or(Ok(()), |listener| listener.settle(cycle))
    }
}
