//! Use cases on this computer, for figures: the native engine's times and instructions of their
//! payload handlers. One run at a time, since the engine's memories have fixed addresses.

use std::sync::{Mutex, PoisonError};

use crate::figure::Setting;
use pinion_app::error::Result;
use pinion_observe::report::HandlerRow;

/// Tells whether this computer has the native engine.
pub(super) const IS_THERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Describes a handler's executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// Number of them.
    pub handlers: u64,
    /// The time that half are within.
    pub median_ns: f64,
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// The number of instructions of one, on average; `None` where they cannot be counted.
    pub instructions: Option<f64>,
}

impl Times {
    /// Takes them from a run's row.
    pub fn of(row: &HandlerRow) -> Self {
        let quantiles = row.quantiles();
        let instructions = row.instructions as f64 / row.runs.max(1) as f64;
        Self {
            handlers: row.runs,
            // A handler that is over before the clock moves takes less than its tick.
            median_ns: quantiles.p50.max(1.0),
            mean_ns: quantiles.mean.max(1.0),
            instructions: (row.instructions > 0).then_some(instructions),
        }
    }
}

/// Runs use cases on this computer.
#[derive(Default)]
pub(super) struct Host {
    /// Held while an engine runs.
    turn: Mutex<()>,
}

impl Host {
    /// Runs an example's standard traffic with packets of a size; gives its payload handler's times,
    /// and instructions, which are counted in a run of their own.
    ///
    /// # Errors
    /// When the example cannot be built or run.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn times(
        &self,
        example: &str,
        bytes: &str,
        workers: u32,
        setting: &Setting<'_>,
    ) -> Result<Option<Times>> {
        use pinion_app::app::{App, Options};
        use pinion_app::traffic::{self, Packets};
        use pinion_app::{assets, build};
        use pinion_observe::report::Outputs;
        use pinion_run::{native, watch};

        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let build =
            build::Options { native: true, ..build::Options::into_folder(setting.build_dir) };
        let options = Options { build, ..Options::default() };
        let app = App::load(&assets::example_dir(example)?, &options)?;
        let packets = || {
            let spec = traffic::standard(&app.manifest, &[("packet.bytes", bytes)])?;
            Packets::of(spec, Some(setting.seed), None)
        };
        let outputs = Outputs { handlers: true, ..Outputs::default() };
        // Each run's engine is gone at the end of its line.
        let timed =
            native::run(&app, packets()?, workers, &outputs, &mut watch::Unobserved)?.summary;
        let counted = native::run_counted(&app, packets()?, workers)?.summary;
        let row = super::fig11::payload_row;
        let Some(times) = row(&timed.section.handlers).map(Times::of) else { return Ok(None) };
        let instructions =
            row(&counted.section.handlers).and_then(|row| Times::of(row).instructions);
        Ok(Some(Times { instructions, ..times }))
    }

    /// Has nothing to run on this computer.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub fn times(&self, _: &str, _: &str, _: u32, _: &Setting<'_>) -> Result<Option<Times>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(None)
    }
}
