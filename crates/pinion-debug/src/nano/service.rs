//! A nanoPU alone at its end of a link: a run of a nanoservice as it goes on, with requests at the other end.
//!
//! It goes on in windows that nobody cuts, so it is usually somewhat further than the position. To be
//! seen in a cycle it is cut there once, and forgets that again.

use std::sync::Arc;

use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_nanopu::node::Node;
use pinion_observe::report::Ending;
use pinion_run::nanoservice::run::{Run, RunOptions};
use pinion_run::nanoservice::{Outputs, Setup};
use pinion_run::watch::Unobserved;
use pinion_sim::node::Saved;

use super::Nano;
use super::ears::Interpreter;
use crate::debuggee::Debuggee;
use crate::drive::Drive;
use crate::log::Log;
use crate::tap::Tap;
use crate::terms::Reached;

/// Runs a nanoservice.
struct Alone {
    run: Run<Arc<Service>, Tap<Interpreter>>,
    tap: Tap<Interpreter>,
    reached: Reached,
    shown: Option<Node>,
}

/// What is saved of it.
struct State {
    run: Saved,
    interpreter: Interpreter,
    reached: Reached,
}

/// Debugs a nanoservice on requests.
///
/// # Errors
/// When the program does not fit, or the requests are none.
pub fn service(service: Service, setup: &Setup, options: RunOptions) -> Result<Box<dyn Debuggee>> {
    let tap = Tap::new(Interpreter::new(&setup.machine.value, &service.image));
    let service = Arc::new(service);
    let mut run = Run::new(service, setup, options, &Outputs::default(), tap.clone())?;
    run.keep();
    let drive = Alone { run, tap: tap.clone(), reached: Reached::default(), shown: None };
    let contexts = setup.machine.value.hart_interface.contexts;
    Ok(Box::new(Nano::new(drive, tap, (contexts, setup.clock), String::new())))
}

impl Drive for Alone {
    type Node = Node;

    fn look<R>(&self, look: impl FnOnce(&Node) -> R) -> R {
        look(self.run.node())
    }

    fn look_shown<R>(&self, look: impl FnOnce(&Node) -> R) -> R {
        look(self.shown.as_ref().unwrap_or_else(|| self.run.node()))
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        self.shown = None;
        while self.reached.ended.is_none() && self.run.now() <= cycle {
            self.reached.ended =
                self.run.run_to_next_look(cycle, &mut Unobserved)?.as_ref().map(words);
            self.tap.drain(log);
            self.reached.cycle = self.run.now().saturating_sub(1);
        }
        if self.reached.ended.is_some() {
            let last = log.heard.harts.last_cycle().unwrap_or(0);
            self.reached.cycle = self.reached.cycle.max(last);
        }
        Ok(self.reached.clone())
    }

    fn save(&self) -> Result<Saved> {
        let run = self.run.save().map_err(|error| Error::part("cannot keep the run", error))?;
        let (interpreter, reached) = (self.tap.save(), self.reached.clone());
        Ok(Saved::new(State { run, interpreter, reached }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let back = |error| Error::part("cannot go back", error);
        let State { run, interpreter, reached } = saved.get().map_err(back)?;
        self.run.restore(run).map_err(back)?;
        self.tap.restore(interpreter);
        (self.reached, self.shown) = (reached.clone(), None);
        Ok(())
    }

    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        let here = self.save()?;
        self.restore(from)?;
        self.run.cut(cycle + 1, &mut Unobserved)?;
        self.tap.drain(log);
        let shown = self.run.node().clone();
        self.restore(&here)?;
        self.shown = Some(shown);
        Ok(())
    }
}

/// Says how a run has ended.
pub fn words(ending: &Ending) -> String {
    match ending {
        Ending::Finished => "nothing is left to do".to_owned(),
        Ending::Exited { code, .. } => format!("the program has exited with {code}"),
        Ending::Stopped { why, .. } => format!("the hardware stops: {why}"),
        Ending::Stuck(report) => format!("nothing moves any more\n{report}"),
        Ending::CycleLimit => "that is the cycle of --cycles".to_owned(),
        Ending::Failed => "a program has failed".to_owned(),
        Ending::Interrupted | Ending::CutOff => "it was interrupted".to_owned(),
    }
}
