//! Everything that lives between calls. The interface names no simulation, so there is one per
//! process; it is locked for moments only and never while a callback runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pinion_isa::elf::Image;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ffi::types::Callbacks;
use crate::inbox::Inbox;
use crate::program;
use crate::settings::Settings;

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
    engine: Place,
}

/// Says where the engine is.
#[derive(Debug)]
enum Place {
    /// Nothing has run yet.
    NotBuilt,
    /// At rest.
    Here(Box<Engine>),
    /// Running: a call further up has it.
    Away,
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
    state.simulation = Some(Simulation { settings, callbacks, inbox, engine: Place::NotBuilt });
    Ok(())
}

/// Ends the simulation and gives its engine, if anything ran.
pub fn end() -> Result<(Settings, Option<Box<Engine>>)> {
    let mut state = state();
    match state.simulation.as_ref() {
        None => return Err(Error::NoSimulation),
        Some(simulation) if matches!(simulation.engine, Place::Away) => return Err(Error::Running),
        Some(_) => {}
    }
    state.program = None;
    let simulation = state.simulation.take().ok_or(Error::NoSimulation)?;
    let engine = match simulation.engine {
        Place::Here(engine) => Some(engine),
        Place::NotBuilt | Place::Away => None,
    };
    Ok((simulation.settings, engine))
}

/// Does something with the simulation; nothing that calls back.
pub fn with<T>(action: impl FnOnce(&mut Simulation) -> Result<T>) -> Result<T> {
    action(state().simulation.as_mut().ok_or(Error::NoSimulation)?)
}

/// Gives the callbacks as they are now.
pub fn callbacks() -> Callbacks {
    state().simulation.as_ref().map_or_else(Callbacks::default, |simulation| simulation.callbacks)
}

/// Lets the engine do something that may call back; builds it before the first time.
pub fn run<T>(action: impl FnOnce(&mut Engine) -> Result<T>) -> Result<T> {
    let mut engine = take_engine()?;
    let result = action(&mut engine);
    if let Some(simulation) = state().simulation.as_mut() {
        simulation.engine = Place::Here(engine);
    }
    result
}

fn take_engine() -> Result<Box<Engine>> {
    let mut state = state();
    let program = state.program.clone();
    let simulation = state.simulation.as_mut().ok_or(Error::NoSimulation)?;
    match std::mem::replace(&mut simulation.engine, Place::Away) {
        Place::Here(engine) => Ok(engine),
        Place::Away => Err(Error::Running),
        Place::NotBuilt => {
            let engine = Engine::new(&simulation.settings, program);
            if engine.is_err() {
                simulation.engine = Place::NotBuilt;
            }
            Ok(Box::new(engine?))
        }
    }
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
