//! How an application wants to be measured. In: the `bench.toml` beside it, with a table for each machine and one
//! for all others. Out: what its table says.

use std::collections::BTreeMap;
use std::path::Path;

use pinion_app::error::Result;
use pinion_sim::config;
use serde::Deserialize;

/// The file beside an application.
const BESIDE: &str = "bench.toml";
/// Its table for every machine that has none of its own.
const ANY: &str = "any";

/// Says how to measure an application on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Particulars {
    /// Changes of the machine, and of standard traffic (`packet.bytes=1024`).
    pub set: Vec<String>,
    /// Requests of a nanoservice, as of `pinion run --load`.
    pub load: Option<String>,
    /// Cycles without a message after which its run ends.
    pub patience: Option<u64>,
}

impl Particulars {
    /// Reads what an application's folder says of a machine; nothing, if it says nothing.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn of_folder(folder: &Path, machine: Option<&str>) -> Result<Self> {
        let path = folder.join(BESIDE);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let mut tables = config::load_file::<BTreeMap<String, Self>>(&path, &[])?.value;
        let own = machine.and_then(|machine| tables.remove(machine));
        Ok(own.or_else(|| tables.remove(ANY)).unwrap_or_default())
    }
}
