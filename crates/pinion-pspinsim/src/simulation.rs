//! The one simulation of a process: where its engine is. Callbacks may call every function again but
//! those that run, so the engine is away while it runs, and nothing is locked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::state;

static ENGINE: Mutex<Place> = Mutex::new(Place::NotBuilt);

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

fn engine() -> MutexGuard<'static, Place> {
    // A panic within leaves nothing half done that later calls would trip over.
    ENGINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the simulation and gives its engine, if anything ran.
pub fn end() -> Result<(Settings, Option<Box<Engine>>)> {
    let mut place = engine();
    state::with(|_| if matches!(*place, Place::Away) { Err(Error::Running) } else { Ok(()) })?;
    let settings = state::end()?;
    Ok((
        settings,
        match std::mem::replace(&mut *place, Place::NotBuilt) {
            Place::Here(engine) => Some(engine),
            Place::NotBuilt | Place::Away => None,
        },
    ))
}

/// Lets the engine do something that may call back; builds it before the first time.
pub fn run<T>(action: impl FnOnce(&mut Engine) -> Result<T>) -> Result<T> {
    let mut taken = take()?;
    let result = action(&mut taken);
    *engine() = Place::Here(taken);
    result
}

fn take() -> Result<Box<Engine>> {
    let mut place = engine();
    // There is one to run.
    state::with(|_| Ok(()))?;
    match std::mem::replace(&mut *place, Place::Away) {
        Place::Here(engine) => Ok(engine),
        Place::Away => Err(Error::Running),
        Place::NotBuilt => {
            *place = Place::NotBuilt;
            let program = state::program();
            let engine = state::with(|now| Engine::new(&now.settings, program))?;
            *place = Place::Away;
            Ok(Box::new(engine))
        }
    }
}
