//! A debugger's visit to a live NIC, or to a live nanoPU or cluster: from its connection until it leaves that
//! running.
//!
//! While it is there simulated time stands, and goes on as gdb lets it; frames wait. Whoever runs the NIC
//! lends it for each turn, and does other things in between.

#[cfg(target_os = "linux")]
pub mod nodes;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use pinion_app::error::Result;
use pinion_observe::report::Collector;
use pinion_sim::Time;
use pinion_spin::{AHEAD_CYCLES, ContextId, ExecutionContext, Offer, Units};

use crate::Timeline;
use crate::console::{Console, Why};
use crate::nic::live::Loan;
use crate::nic::{self, Nic};
use crate::session::{self, Ended, Turns};

pub use crate::nic::live::{Effect, Effects, Lent};

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
    /// Why it cannot be gone back in, if so.
    pub stays: Option<String>,
}

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
    pub fn begin(host: Host<'_>, stream: TcpStream) -> Result<Self> {
        let Host { contexts, units, collector, now, stand_in, stays } = host;
        let shape = Arc::new(nic::shape_of(contexts, units.machine()));
        let cycle = shape.clock.cycle_at(now);
        let loan = Loan::new(Arc::clone(&shape), stand_in, cycle, stays);
        let debuggee = Nic::with(contexts, shape, loan.clone(), String::new());
        loan.exchange(units, collector);
        let begun = Timeline::attach(Box::new(debuggee), cycle, AHEAD_CYCLES)
            .and_then(|timeline| session::begin(Console::new(timeline, no_why()), stream));
        loan.exchange(units, collector);
        Ok(Self { session: begun?, loan })
    }

    /// Says which contexts somebody has; handlers of others were left behind.
    pub fn hold(&self, held: Vec<ContextId>) {
        self.loan.hold(held);
    }

    /// Looks at the NIC anew: programs have come or gone, and cores may have begun again.
    pub fn look_anew(
        &mut self,
        contexts: &[ExecutionContext],
        (units, collector): (&mut Units, &mut Collector),
    ) {
        self.loan.know(nic::shape_of(contexts, units.machine()));
        self.loan.exchange(units, collector);
        self.session.timeline().look_anew();
        self.loan.exchange(units, collector);
    }

    /// Tells whether the NIC takes frames: it is to go on, from where it was never before.
    pub fn takes_frames(&self) -> bool {
        self.session.goes_on() && self.loan.is_at_edge()
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
        let went = self.session.timeline().go_to_present();
        self.loan.exchange(units, collector);
        went.map(|()| self.loan.take_effects())
    }

    /// Lets the visit go on for a turn with the NIC and frames that have come; waits for gdb so long at
    /// most, if there is nothing else to do.
    pub fn turn(
        &mut self,
        (units, collector): (&mut Units, &mut Collector),
        frames: Vec<Offer>,
        patience: Duration,
    ) -> Turn {
        self.loan.exchange(units, collector);
        self.loan.put(frames);
        let ended = self.go(patience);
        self.loan.exchange(units, collector);
        let (reached, rests) = (self.loan.edge(), self.loan.rests());
        Turn { ended, effects: self.loan.take_effects(), reached, rests }
    }

    fn go(&mut self, patience: Duration) -> Option<Result<Ended>> {
        let mut ended = self.session.turn(patience).transpose();
        if ended.is_some() {
            // Whoever runs it goes on from where it was never before.
            if let Err(error) = self.session.timeline().go_to_present() {
                ended = Some(Err(error));
            }
        } else if self.loan.is_full(KEPT_BYTES) && self.loan.is_at_edge() {
            self.loan.forget();
            ended = self.session.timeline().forget().err().map(Err);
        }
        ended
    }
}

/// Says why nobody tells why on a live NIC.
fn no_why() -> Why {
    Box::new(|_| {
        Err("`why` repeats a run from its beginning: `pinion up --record FILE` keeps a live one, and \
             `pinion why FILE` tells of it"
            .to_owned())
    })
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
