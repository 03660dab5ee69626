//! A live run of a nanoservice that comes again slice by slice, and can be saved and gone back to between
//! them. What came in is kept, so it can come as often as somebody goes back.

use std::borrow::Borrow;

use pinion_app::error::Result;
use pinion_app::service::Service;
use pinion_app::tape::Played;
use pinion_nanopu::Cycle;
use pinion_nanopu::node::Node;
use pinion_observe::report::Ending;
use pinion_run::live::Cycles;
use pinion_run::nanoservice::live::{Live, Recorded, node_ip};
use pinion_run::nanoservice::run::Settling;
use pinion_run::nanoservice::{Outputs, Setup};
use pinion_sim::node::{Node as _, RestoreError, SaveError, Saved};

/// A slice: the frames that come at its beginning, and the cycle that it ends in front of.
type Slice = (Vec<Vec<u8>>, Cycle);

/// A live run as it comes again.
pub struct Again<S, L> {
    cycles: Cycles<Live<S, L>>,
    slices: Vec<Slice>,
    /// Slices that are over.
    over: usize,
}

/// What is saved of it.
struct State {
    end: Saved,
    times: (Cycle, Cycle),
    over: usize,
}

impl<S: Borrow<Service>, L: Settling> Again<S, L> {
    /// Puts a nanoservice before what came in; nothing has happened yet.
    ///
    /// # Errors
    /// When the recording is damaged, or the program does not fit.
    pub fn new(service: S, setup: &Setup, recorded: &Recorded, listener: L) -> Result<Self> {
        let (mut setup, mut played) = (setup.clone(), Played::open(&recorded.folder)?);
        let at = (node_ip(&setup, recorded.kernel), played.peer);
        let live = Live::new(service, &mut setup, at, &Outputs::default(), listener)?;
        let mut slices = Vec::new();
        while let Some(until) = played.until() {
            let mut frames = Vec::new();
            while let Some((_, frame)) = played.frame()? {
                frames.push(frame);
            }
            slices.push((frames, until));
            if !played.turn() {
                break;
            }
        }
        let cycles = Cycles::new(live, setup.clock, played.ready);
        Ok(Self { cycles, slices, over: 0 })
    }

    /// Gives the node.
    pub fn node(&self) -> &Node {
        &self.cycles.inside.end.node
    }

    /// Gives the first cycle that was not run.
    pub fn now(&self) -> Cycle {
        self.cycles.now
    }

    /// Runs the next slice, which nobody may cut; `false`: there is none.
    ///
    /// # Errors
    /// When an output fails.
    pub fn run_slice(&mut self) -> Result<bool> {
        let Some((frames, until)) = self.slices.get(self.over) else { return Ok(false) };
        self.cycles.slice(frames.iter().cloned(), *until)?;
        self.over += 1;
        Ok(true)
    }

    /// Tells how the program has ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        let live = &self.cycles.inside;
        live.end.has_ended().then(|| live.ending())
    }

    /// Runs up to a cycle, wherever that cuts a slice. What happens from then on may be another run's
    /// where harts share memory: it is for looking at the node there.
    ///
    /// # Errors
    /// As [`run_slice`](Self::run_slice).
    pub fn cut(&mut self, cycle: Cycle) -> Result<()> {
        while let Some((frames, until)) = self.slices.get(self.over) {
            if *until >= cycle {
                return self.cycles.slice(frames.iter().cloned(), cycle);
            }
            self.run_slice()?;
        }
        Ok(())
    }

    /// Saves the run; who listens to it is not part of that.
    ///
    /// # Errors
    /// None, for all that comes in is kept.
    pub fn save(&self) -> std::result::Result<Saved, SaveError> {
        let end = self.cycles.inside.end.save()?;
        Ok(Saved::new(State { end, times: self.cycles.times(), over: self.over }))
    }

    /// Goes to where the run was saved.
    ///
    /// # Errors
    /// When it was another run.
    pub fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        let State { end, times, over } = saved.get()?;
        self.cycles.inside.end.restore(end)?;
        self.cycles.go_to(*times);
        self.over = *over;
        Ok(())
    }
}
