//! What co-simulations share: an example on a machine, and the host's model.

use std::sync::Arc;

use pinion_host::HostModel;

use crate::figure::Setting;
use crate::figure::engine::Asked;
use crate::figure::pspin::programs::{Programs, Source};
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_run::cosim;

/// Begins overrides of the host's numbers.
const HOST: &str = "host.";

/// A run's surroundings.
pub(super) struct Bench<'a> {
    programs: &'a Programs,
    setting: &'a Setting<'a>,
    machine: String,
    overrides: Vec<String>,
    /// The host on both sides of the cable.
    pub host: HostModel,
}

impl<'a> Bench<'a> {
    /// Sets up a run on the host and the machine that it is told: `on` names one, `machine` one that the
    /// request may exchange.
    ///
    /// # Errors
    /// When there is no such host, or an override does not fit it.
    pub fn new(
        programs: &'a Programs,
        asked: &Asked<'_>,
        setting: &'a Setting<'a>,
    ) -> Result<Self> {
        let machine = match setting.machine_name {
            _ if asked.has("on") => asked.text("on")?,
            Some(name) => name,
            None => asked.text("machine")?,
        };
        let machine = machine.to_owned();
        let (host, overrides): (Vec<String>, Vec<String>) =
            setting.machine.iter().cloned().partition(|text| text.trim_start().starts_with(HOST));
        let host: Vec<String> =
            host.iter().map(|text| text.trim_start()[HOST.len()..].to_owned()).collect();
        let host = cosim::load_host(asked.text("host")?, &host)?;
        Ok(Self { programs, setting, machine, overrides, host })
    }

    /// Gives an example on the machine.
    ///
    /// # Errors
    /// When it cannot be built or does not fit the machine.
    pub fn app(&self, example: &str) -> Result<Arc<App>> {
        let folder = self.setting.build_dir;
        let source = Source::Example(example);
        self.programs.app_on(source, Some(&self.machine), &self.overrides, folder)
    }
}

/// Gives where the host's answers go in NIC memory: `__host_data.flag`.
///
/// # Errors
/// When the program has no such symbol.
pub(super) fn flags_address(app: &App) -> Result<u32> {
    Ok(app.image.require("__host_data")?.address as u32)
}
