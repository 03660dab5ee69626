//! A debugger's visit to a live NIC, or to a live nanoPU or cluster: from its connection until it leaves that
//! running.
//!
//! While it is there simulated time stands, and goes on as gdb lets it; frames wait. Whoever runs the NIC
//! lends it for each turn, and does other things in between.

pub mod nodes;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use pinion_app::error::Result;
use pinion_observe::report::Collector;
use pinion_observe::trace::Tracer;
use pinion_sim::Time;
use pinion_spin::{AHEAD_CYCLES, ContextId, ExecutionContext, Offer, Units};

use crate::Timeline;
use crate::console::Console;
use crate::log::Target;
use crate::nic::live::Loan;
use crate::nic::{self, Nic};
use crate::session::{self, Ended, Turns};
use crate::terms::Said;

pub use crate::nic::live::{Effect, Effects, Lent};
pub use crate::nic::tape::Written;

/// Bytes of frames that are kept to go back by; with more of them, the way back begins anew.
const KEPT_BYTES: u64 = 256 << 20;

/// A NIC that is visited.
pub struct Host<'a> {
    /// Its execution contexts.
    pub contexts: &'a [ExecutionContext],
    /// The NIC.
    pub units: &'a mut Units,
    /// Who hears it.
    pub collector: &'a mut Collector,
    /// The simulated time that it has come to.
    pub now: Time,
    /// What stands in for both while they are lent.
    pub stand_in: Lent,
}

/// Has somebody hear what is kept of a NIC's run, from where it is kept on; `true`: to its end.
pub type HearNic<'h> = dyn FnMut(&mut (dyn Tracer + Send)) -> Result<bool> + 'h;

/// Tells why a packet or message took as long as it did.
pub type TellOfNic = Box<dyn FnMut(Target, &mut HearNic<'_>) -> Said<String>>;

/// A visit that goes on.
pub struct Visit {
    session: Box<dyn Turns>,
    loan: Loan,
}

/// How a turn of a visit ended.
pub struct Turn {
    /// How the visit has ended, if it has.
    pub ended: Option<Result<Ended>>,
    /// What the NIC has done.
    pub effects: Effects,
    /// The simulated time that it has come to.
    pub reached: Time,
    /// Whether nothing happens until a frame comes.
    pub rests: bool,
}

impl Visit {
    /// Begins a visit: the NIC stands.
    ///
    /// # Errors
    /// When the connection cannot be used, or the NIC cannot go on.
    pub fn begin(host: Host<'_>, stream: TcpStream, mut tell: TellOfNic) -> Result<Self> {
        let Host { contexts, units, collector, now, stand_in } = host;
        let shape = Arc::new(nic::shape_of(contexts, units.machine()));
        let cycle = shape.clock.cycle_at(now);
        let loan = Loan::new(Arc::clone(&shape), stand_in, cycle);
        let debuggee = Nic::with(contexts, shape, loan.clone(), String::new());
        let heard = loan.clone();
        let why =
            Box::new(move |target| tell(target, &mut |tracer| heard.repeat(tracer).map(|()| true)));
        loan.exchange(units, collector);
        loan.begin();
        let begun = Timeline::attach(Box::new(debuggee), cycle, AHEAD_CYCLES)
            .and_then(|timeline| session::begin(Console::new(timeline, why), stream));
        if begun.is_err() {
            loan.end();
        }
        loan.exchange(units, collector);
        Ok(Self { session: begun?, loan })
    }

    /// Says which contexts somebody has; handlers of others were left behind.
    pub fn hold(&self, held: Vec<ContextId>) {
        self.loan.hold(held);
    }

    /// Says that programs have come or gone, or changed rules: the NIC is looked at anew, and the way back
    /// begins where they did, as soon as the debugger is there.
    pub fn look_anew(&mut self, contexts: &[ExecutionContext], units: &Units) {
        self.loan.know(nic::shape_of(contexts, units.machine()));
    }

    /// Looks at a NIC anew that was changed, if nobody is behind.
    fn take_change(&mut self) -> Result<()> {
        let timeline = self.session.timeline();
        if !self.loan.halts() || !self.loan.is_at_edge() || timeline.goes_back() {
            return Ok(());
        }
        timeline.look_anew();
        self.loan.forget();
        timeline.forget()
    }

    /// Tells whether the NIC takes frames: it is to go on, from where it was never before.
    pub fn takes_frames(&self) -> bool {
        self.session.goes_on() && self.loan.is_at_edge() && !self.loan.halts()
    }

    /// Gives the simulated time that the NIC has come to: frames that come now come then.
    pub fn reached(&self) -> Time {
        self.loan.edge()
    }

    /// Leaves: the NIC is where it was never before.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    pub fn leave(&mut self, (units, collector): (&mut Units, &mut Collector)) -> Result<Effects> {
        self.loan.exchange(units, collector);
        let went = self.go_to_present();
        self.loan.end();
        self.loan.exchange(units, collector);
        went.map(|()| self.loan.take_effects())
    }

    /// Lets the visit go on for a turn with the NIC, frames that have come, and what host programs have
    /// written; waits for gdb so long at most, if there is nothing else to do.
    pub fn turn(
        &mut self,
        (units, collector): (&mut Units, &mut Collector),
        (frames, written): (Vec<Offer>, Vec<Written>),
        patience: Duration,
    ) -> Turn {
        self.loan.exchange(units, collector);
        self.loan.put(frames, written);
        let ended = self.go(patience);
        self.loan.exchange(units, collector);
        let (reached, rests) = (self.loan.edge(), self.loan.rests());
        Turn { ended, effects: self.loan.take_effects(), reached, rests }
    }

    /// Goes to where the NIC was never before, and on until it has taken the frames that were given to it.
    fn go_to_present(&mut self) -> Result<()> {
        let (timeline, loan) = (self.session.timeline(), &self.loan);
        timeline.go_to_present()?;
        timeline.go_on_while(|| !loan.has_taken_all())
    }

    fn go(&mut self, patience: Duration) -> Option<Result<Ended>> {
        let changed = self.take_change();
        let mut ended = changed.and_then(|()| self.session.turn(patience)).transpose();
        if ended.is_some() {
            // Whoever runs it goes on from where it was never before.
            if let Err(error) = self.go_to_present() {
                ended = Some(Err(error));
            }
            self.loan.end();
        } else if self.loan.is_full(KEPT_BYTES) && self.loan.is_at_edge() {
            self.loan.forget();
            ended = self.session.timeline().forget().err().map(Err);
        }
        ended
    }
}

/// Says how a visit has ended.
pub fn words(ended: &Result<Ended>) -> String {
    match ended {
        Ok(Ended::ByUser) => "the debugger has left".to_owned(),
        Ok(Ended::Lost { cycle }) => {
            format!("the connection to the debugger was lost in cycle {cycle}")
        }
        Err(error) => format!("the debugger was sent away: {error}"),
    }
}
