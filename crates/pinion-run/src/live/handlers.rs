//! Packet handlers live: the simulated NIC takes frames from the queue when it can, as from a wire that
//! it holds back.

use std::time::Duration;

use pinion_net::capture::LinkType;
use pinion_sim::Time;
use pinion_sim::probe::Both;
use pinion_spin::{PacketRecord, Units};

use super::guest::{self, Guest, Lent};
use super::slices::Slices;
use super::{Device, Faults, Options, Outside, Standing, Subject, drive};
use crate::run::links;
use crate::watch::{Observer, Seen};
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_observe::fault::Fault;
use pinion_observe::profile::{HpuProfile, Profile};
use pinion_observe::report::{Collector, Ending, Outputs, Report, Sink, Summary};

/// Runs an application on a device until the observer stops it or the time is over; a guest may take part.
///
/// # Errors
/// When a device cannot be opened or is lost, or an output fails.
pub fn run(
    app: &App,
    options: &Options,
    outputs: &Outputs,
    guest: &mut dyn Guest,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let skip = app.skipped_bytes();
    let mut outside = Outside::new(Device::open(options, skip > 0)?, options, skip);
    let mut handlers = Handlers {
        app,
        nic: app.nic()?,
        collector: Collector::new(outputs, links(app, LinkType::Ethernet), app.context_names())?,
        slices: Slices::default(),
        faults: Faults::default(),
        profile: HpuProfile::new(app),
        listens: false,
    };
    let driven = drive(&mut handlers, &mut outside, options, (guest, observer));
    let Handlers { nic, collector, slices, mut faults, .. } = handlers;
    let device = &mut outside.device;
    let mut passing = Passing { device, faults: &mut faults, app, observer };
    // What there was until the device went away is written all the same.
    let (stats, driven) = (collector.finish(&mut passing)?, driven?);
    let ending = slices.stuck.map_or(Ending::Finished, Ending::Stuck);
    let mut summary = Summary::new(app, nic.totals(), stats, (ending, nic.now(), driven.host));
    driven.mark(&mut summary);
    summary.working = Some(outside.pace.working);
    outside.tell(&mut summary);
    Ok(summary)
}

/// A NIC behind a wire.
struct Handlers<'a> {
    app: &'a App,
    nic: Units,
    collector: Collector,
    slices: Slices,
    faults: Faults,
    /// Where cycles went while somebody listened, and whether somebody does.
    profile: HpuProfile<'a>,
    listens: bool,
}

impl Seen for Handlers<'_> {
    fn report(&mut self) -> Box<dyn Report> {
        let stats = self.collector.stats.clone();
        let ended = (Ending::Finished, self.nic.now(), Duration::ZERO);
        Box::new(Summary::new(self.app, self.nic.totals(), stats, ended))
    }

    fn simulated(&self) -> Time {
        self.slices.now(self.nic.now())
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.nic.state(tell);
    }

    fn listen(&mut self, closely: bool) {
        if closely && !self.listens {
            self.profile.pause();
        }
        self.listens = closely;
    }

    fn profiles(&self) -> Vec<Profile<'_>> {
        vec![self.profile.so_far()]
    }
}

impl Subject for Handlers<'_> {
    fn standing(&mut self) -> Standing {
        self.slices.standing()
    }

    fn simulate(&mut self, outside: &mut Outside, observer: &mut dyn Observer) -> Result<()> {
        let Self { app, nic, collector, slices, faults, profile, listens } = self;
        let Outside { device, queue, pace, .. } = outside;
        let slice = slices.next(queue, (nic.now(), None), |until, queue| {
            let mut passing = Passing { device, faults, app, observer };
            let mut ears = collector.ears(&mut passing);
            let outcome = match *listens {
                true => nic.run(until, queue, &mut Both::new(&mut ears, &mut *profile)),
                false => nic.run(until, queue, &mut ears),
            };
            queue.ran(until.ps());
            device.take_error()?;
            collector.take_error().map_or(Ok(()), Err)?;
            Ok((outcome, nic.now(), nic.totals().resident))
        })?;
        if let Some(slice) = slice {
            pace.add(slice);
        }
        Ok(())
    }

    fn lend(&mut self) -> Lent<'_> {
        let Self { app, nic, collector, slices, faults, .. } = self;
        Lent::Handlers(guest::Handlers { app, nic, collector, slices, faults })
    }
}

/// Passes on what happens during a slice.
pub struct Passing<'a> {
    /// Takes the frames.
    pub device: &'a mut Device,
    /// Number of equal faults, so that each is told once.
    pub faults: &'a mut Faults,
    /// The application whose handlers run.
    pub app: &'a App,
    /// Hears everything else.
    pub observer: &'a mut dyn Observer,
}

impl Sink for Passing<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.observer.line(time, cluster, hpu, text);
    }

    fn departed(&mut self, _time: Time, frame: &[u8]) {
        self.device.send(frame);
    }

    fn unmatched(&mut self, _time: Time, frame: &[u8]) {
        self.device.take_unmatched(frame);
    }

    fn packet(&mut self, record: &PacketRecord) {
        self.observer.packet(record);
    }

    fn fault(&mut self, fault: &Fault) {
        if let Some(text) = self.faults.tell(self.app, fault) {
            self.observer.notice(&text);
        }
    }
}
