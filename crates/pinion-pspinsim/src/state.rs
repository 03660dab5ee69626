//! What lives between calls beside the engine ([`simulation`](crate::simulation)). The interface names no simulation, so there is one per
//! process; it is locked for moments only and never while a callback runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pinion_isa::elf::Image;

use crate::error::{Error, Result};
use crate::inbox::Inbox;
use crate::program;
use crate::settings::Settings;
use crate::types::Callbacks;

static STATE: Mutex<State> = Mutex::new(State { program: None, simulation: None });

/// Holds what C functions share.
#[derive(Debug)]
pub struct State {
    /// The program that `spin_find_handler_by_name` was given; it may be called at any time.
    program: Option<Image>,
    simulation: Option<Simulation>,
}

/// Holds a simulation between `pspinsim_init` and `pspinsim_fini`.
#[derive(Debug)]
pub struct Simulation {
    /// What is simulated.
    pub settings: Settings,
    /// The driver's callbacks.
    pub callbacks: Callbacks,
    /// What was added.
    pub inbox: Inbox,
}

fn state() -> MutexGuard<'static, State> {
    // A panic within leaves nothing half done that later calls would trip over.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a simulation.
pub fn begin(settings: Settings) -> Result<()> {
    let mut state = state();
    if state.simulation.is_some() {
        return Err(Error::SecondSimulation);
    }
    let (callbacks, inbox) = (Callbacks::default(), Inbox::default());
    state.simulation = Some(Simulation { settings, callbacks, inbox });
    Ok(())
}

/// Ends the simulation, and forgets the program.
pub fn end() -> Result<Settings> {
    let mut state = state();
    let simulation = state.simulation.take().ok_or(Error::NoSimulation)?;
    state.program = None;
    Ok(simulation.settings)
}

/// Does something with the simulation; nothing that calls back.
pub fn with<T>(action: impl FnOnce(&mut Simulation) -> Result<T>) -> Result<T> {
    action(state().simulation.as_mut().ok_or(Error::NoSimulation)?)
}

/// Gives the callbacks as they are now.
pub fn callbacks() -> Callbacks {
    state().simulation.as_ref().map_or_else(Callbacks::default, |simulation| simulation.callbacks)
}

/// Gives the program that was remembered.
pub fn program() -> Option<Image> {
    state().program.clone()
}

/// Remembers the program that handlers are looked up in.
pub fn remember_program(image: Image) -> Result<()> {
    let mut state = state();
    match &state.program {
        // The same file may have been built again before anything ran.
        Some(known) if known.name != image.name => program::same(known, &image),
        _ => {
            state.program = Some(image);
            Ok(())
        }
    }
}
