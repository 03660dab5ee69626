//! The Python package's native half, `pinion._pinion`. In: calls from Python. Out: what the command's
//! library does, with the interpreter released while it works.
//!
//! | module | what Python has of it |
//! |---|---|
//! | `machine` | `Machine`, `Entry`: machines, changed, and where each number comes from |
//! | `app` | `App`: a folder, or source in a string |
//! | `packets` | `Generator`, `Load`, `Messages`, and frames as bytes: what comes in |
//! | `arrow` | frames in a table |
//! | `run`, `asked` | `run()`, and what is asked of it |
//! | `result` | `Result`: summary, frames, tables |
//! | `sweep` | `Plan`, `Sweep`: grids of settings, point by point for workers anywhere |
//! | `why` | `why()`: why a packet or message took so long |
//! | `profile` | `profile()`: where cycles go |
//! | `nic` | `Nic`, `Memory`, `Snapshot`: a NIC step by step |
//! | `figure` | `figures()`, `figure()`, `calibrate()`: published figures made again, and ours beside the RTL |
//! | `expect` | `describe()`, `differences()`: frames in words |
//! | `tables` | the tables of a run |
//! | `table` | `Table`: columns by the Arrow PyCapsule interface |
//! | `messages`, `flows`, `queues` | what a run says of messages, and of what units held over time |
//! | `stream`, `drain`, `gather` | tables that go to files while a run goes on |
//! | `replay`, `again` | the command that shows a defect again: Pinion's, or a call of Python |
//! | `errors` | exceptions, and a panic as one |
//!
//! `python/pinion/_pinion.pyi` describes every name with its type; a test holds both against each other.

mod again;
mod app;
mod arrow;
mod asked;
mod drain;
mod errors;
mod expect;
mod figure;
mod flows;
mod frames;
mod gather;
mod html;
mod incoming;
mod machine;
mod messages;
mod nic;
mod packets;
mod profile;
mod progress;
mod queues;
mod replay;
mod result;
mod run;
mod stream;
mod sweep;
mod table;
mod tables;
mod time;
mod watch;
mod why;
mod written;

use pyo3::prelude::*;

/// Fills the module `pinion._pinion`.
#[pymodule]
fn _pinion(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<app::App>()?;
    module.add_class::<app::Program>()?;
    module.add_class::<machine::Entry>()?;
    module.add_class::<machine::Machine>()?;
    module.add_class::<nic::Memory>()?;
    module.add_class::<nic::Nic>()?;
    module.add_class::<nic::Snapshot>()?;
    module.add_class::<figure::Calibration>()?;
    module.add_class::<figure::Figure>()?;
    module.add_class::<packets::Generator>()?;
    module.add_class::<packets::Load>()?;
    module.add_class::<packets::Messages>()?;
    module.add_class::<profile::Profile>()?;
    module.add_class::<result::Result>()?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<why::Why>()?;
    module.add_function(wrap_pyfunction!(expect::describe, module)?)?;
    module.add_function(wrap_pyfunction!(expect::differences, module)?)?;
    module.add_function(wrap_pyfunction!(figure::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(figure::make, module)?)?;
    module.add_function(wrap_pyfunction!(figure::figures, module)?)?;
    module.add_function(wrap_pyfunction!(machine::machines, module)?)?;
    module.add_function(wrap_pyfunction!(profile::profile, module)?)?;
    module.add_function(wrap_pyfunction!(errors::_defect, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(why::why, module)?)?;
    Ok(())
}
