//! Co-simulation: a simulated NIC with real handlers and real frames between two host models, all
//! on one time line.
//!
//! ```text
//!   host ──── NIC (cores, handlers) ════ cable ════ peer
//!    │ polls, answers, kernel                          │ ping, UDP client, SLMP senders
//!    └ HostWrite, unmatched frames                     └ frames that left the NIC
//! ```
//!
//! The NIC runs cycle by cycle. Host and peer are [`Actor`]s: they set timers, send frames, read and
//! write the NIC's and the host's memory, and take as long for it as a host model says
//! (`machines/hosts/*.toml`, [`pinion_host::HostModel`]). The NIC never runs past the next thing
//! that an actor does, and what happens at the same picosecond happens in the order in which it was
//! asked for: two runs are the same to the byte.
//!
//! ```no_run
//! use pinion_run::cosim::{Cosim, Idle, Ping, PingPlan, load_host, nic};
//! use pinion_app::app::{App, Options};
//! use pinion_sim::Time;
//!
//! let options = Options { machine: Some("fpspin".into()), ..Options::default() };
//! let app = App::load(std::path::Path::new("examples/icmp_echo"), &options)?;
//! let model = load_host("ryzen2700", &[])?;
//! let client = Ping::new(&model, PingPlan { payload_bytes: 116, ..PingPlan::default() })?;
//! let mut cosim = Cosim::new(nic(&app)?, &model, Idle, client);
//! cosim.run(Time::from_ns(1_000_000_000))?;
//! println!("{:?} ps", cosim.peer.round_trips_ps());
//! # Ok::<(), pinion_app::Error>(())
//! ```

mod compute;
mod ears;
mod echo;
mod kernel;
mod ping;
mod poll;
mod queue;
mod receive;
mod slmp;
mod world;

#[cfg(test)]
mod tests;

pub use compute::{Compute, ComputePlan};
pub use echo::Echo;
pub use kernel::Kernel;
pub use ping::{Ping, PingPlan, Protocol};
pub use poll::{Answer, Poller, Service};
pub use slmp::{Flow, Senders, SendersPlan};
pub use world::{Actor, Idle, World};

use pinion_host::HostModel;
use pinion_sim::Time;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{ExecutionContext, Inbox, Nic, Outcome};

use pinion_app::app::App;
use pinion_app::assets;
use pinion_app::error::{Error, Result};

use ears::Ears;
pub use ears::Heard;
use queue::{Queue, What};
use world::{Lane, Side};

/// Says how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An actor asked for it.
    Stopped,
    /// Nothing happens any more.
    Quiet,
    /// The given time was reached.
    TimeReached,
}

/// Simulates a NIC between a host and a peer.
pub struct Cosim<H, P> {
    /// The host that the NIC is in.
    pub host: H,
    /// What stands at the other end of the cable.
    pub peer: P,
    model: HostModel,
    nic: Nic,
    queue: Queue,
    to_nic: Lane,
    from_nic: Lane,
    inbox: Inbox,
    ears: Ears,
    skip: u32,
    started: bool,
    stopped: bool,
}

impl<H: Actor, P: Actor> Cosim<H, P> {
    /// Puts a NIC between two actors.
    pub fn new(nic: Nic, model: &HostModel, host: H, peer: P) -> Self {
        Self {
            host,
            peer,
            model: model.clone(),
            nic,
            queue: Queue::default(),
            to_nic: Lane::default(),
            from_nic: Lane::default(),
            inbox: Inbox::default(),
            ears: Ears::default(),
            skip: 0,
            started: false,
            stopped: false,
        }
    }

    /// Leaves out bytes in front of frames that handlers do not see
    /// ([`App::skipped_bytes`]).
    #[must_use]
    pub fn skip(mut self, bytes: u32) -> Self {
        self.skip = bytes;
        self
    }

    /// Gives the NIC.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    /// Gives what the NIC said so far.
    pub fn heard(&self) -> &Heard {
        &self.ears.heard
    }

    /// Gives the time that the run has come to.
    pub fn now(&self) -> Time {
        Time::from_ps(self.queue.now_ps())
    }

    /// Runs until an actor stops it, nothing happens any more, or a time is reached.
    ///
    /// # Errors
    /// When a handler goes wrong, or the NIC is stuck.
    pub fn run(&mut self, until: Time) -> Result<End> {
        if !self.started {
            self.started = true;
            self.deliver(What::Start { side: Side::Host });
            self.deliver(What::Start { side: Side::Peer });
        }
        while !self.stopped {
            let next = self.queue.next_ps();
            let is_done = self.advance(Time::from_ps(next.unwrap_or(u64::MAX)).min(until))?;
            if self.collect()? {
                continue;
            }
            match next {
                None if is_done => return Ok(End::Quiet),
                None => return Ok(End::TimeReached),
                Some(next) if next > until.ps() => return Ok(End::TimeReached),
                Some(_) => {
                    if let Some(what) = self.queue.pop() {
                        self.deliver(what);
                    }
                }
            }
        }
        Ok(End::Stopped)
    }

    /// Runs the NIC until it says something or a time is reached; tells whether it has nothing left
    /// to do.
    fn advance(&mut self, horizon: Time) -> Result<bool> {
        loop {
            match self.nic.take_step(horizon, &mut self.inbox, &mut self.ears) {
                None if self.ears.is_silent() => {}
                Some(Outcome::Stuck(report)) => {
                    return Err(Error::Usage(format!("the co-simulated NIC is stuck: {report}")));
                }
                outcome => return Ok(outcome != Some(Outcome::TimeReached)),
            }
        }
    }

    /// Puts what the NIC said on the time line; tells whether there was anything.
    fn collect(&mut self) -> Result<bool> {
        let said = !self.ears.is_silent();
        for (time, what) in self.ears.take() {
            let now = self.queue.now_ps().max(time.ps());
            match what {
                // Its last bit left at `now`; frames of both sources share the cable.
                What::ToPeer(frame) => {
                    let occupied = self.model.link.occupied_ps(frame.len());
                    let left = self.from_nic.pass_ready(now, occupied);
                    self.queue.push(left + self.model.link.delay_ps(), What::ToPeer(frame));
                }
                other => self.queue.push(now, other),
            }
        }
        match &self.ears.heard.fault {
            Some(fault) => Err(Error::Usage(format!("the co-simulated handler failed: {fault}"))),
            None => Ok(said),
        }
    }

    fn deliver(&mut self, what: What) {
        let side = match what {
            What::ToNic(frame) => {
                self.inbox.put(Time::from_ps(self.queue.now_ps()), frame, self.skip);
                return self.nic.reopen();
            }
            What::ToPeer(_) => Side::Peer,
            What::ToHost(_) | What::HostWrite { .. } => Side::Host,
            What::Timer { side, .. } | What::Start { side } => side,
        };
        let mut world = World {
            side,
            nic: &mut self.nic,
            queue: &mut self.queue,
            lane: if side == Side::Host { &mut self.from_nic } else { &mut self.to_nic },
            model: &self.model,
            stopped: &mut self.stopped,
        };
        let actor: &mut dyn Actor = match side {
            Side::Host => &mut self.host,
            Side::Peer => &mut self.peer,
        };
        match what {
            What::Start { .. } => actor.start(&mut world),
            What::Timer { token, .. } => actor.timer(token, &mut world),
            What::ToPeer(frame) | What::ToHost(frame) => actor.frame(frame, &mut world),
            What::HostWrite { address, bytes } => actor.host_written(address, bytes, &mut world),
            What::ToNic(_) => {}
        }
    }
}

/// Loads a host model: a file, when it looks like a path, else one that Pinion comes with.
///
/// # Errors
/// When there is none of that name, its file is wrong, or an override does not fit.
pub fn load_host(name: &str, overrides: &[String]) -> Result<HostModel> {
    let loaded = assets::load_host::<HostModel>(name, overrides)?;
    let checked = loaded.value.check();
    checked.map_err(|error| loaded.error_at(error.key, error.problem))?;
    Ok(loaded.value)
}

/// Builds the NIC of an application, matching engine included.
///
/// # Errors
/// When the machine has several units, or the application does not fit it.
pub fn nic(app: &App) -> Result<Nic> {
    build(app, app.contexts.clone(), app.engine()?)
}

/// Does the same with contexts that were changed: other sizes or contents of their memories.
///
/// # Errors
/// As [`nic`].
pub fn nic_with(app: &App, contexts: Vec<ExecutionContext>) -> Result<Nic> {
    build(app, contexts, app.engine()?)
}

/// Builds the NIC of an application whose matching engine never matches: every frame goes to the
/// host's network stack.
///
/// # Errors
/// As [`nic`].
pub fn unmatched_nic(app: &App) -> Result<Nic> {
    let engine = MatchingEngine::new(Vec::new(), Limits::default())
        .map_err(|error| Error::part("cannot set up the matching engine", error))?;
    build(app, app.contexts.clone(), engine)
}

fn build(app: &App, contexts: Vec<ExecutionContext>, engine: MatchingEngine) -> Result<Nic> {
    let machine = app.machine.value.clone();
    if machine.units.count > 1 {
        let problem = "co-simulation takes a machine of one PsPIN unit (units.count = 1)";
        return Err(Error::Usage(problem.to_owned()));
    }
    let failed = |error| Error::part(format!("cannot load {}", app.built.elf.display()), error);
    let mut nic = Nic::new(machine, &app.image, contexts, engine).map_err(failed)?;
    nic.set_engine_core(app.engine_core);
    for (context, image) in app.contexts.iter().zip(&app.host_images) {
        if !nic.write_host(context.host_memory_address, image) {
            return Err(Error::program(&app.built.elf, "its host memory does not fit"));
        }
    }
    Ok(nic)
}
