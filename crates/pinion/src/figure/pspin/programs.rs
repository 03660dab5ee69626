//! The programs that figures run. In: where a program comes from, and changes of the machine. Out:
//! the application on that machine. Holds those that were built; who needs one that is being built
//! waits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::app::{self, App, Options};
use crate::error::{Error, Result};
use crate::{assets, build, manifest};

/// Tells where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::figure) enum Source<'a> {
    /// The handlers of the figures themselves (`figures/pspin/`).
    Figures,
    /// An example of that name.
    Example(&'a str),
}

/// Names an application: its folder, its machine where that is not its manifest's, and changes of the
/// machine.
type Key = (PathBuf, Option<String>, Vec<String>);

/// Holds applications.
#[derive(Default)]
pub(in crate::figure) struct Programs {
    built: Mutex<BTreeMap<Key, Arc<App>>>,
}

impl Programs {
    /// Gives an application on its machine, built if need be.
    ///
    /// # Errors
    /// When there is no such program, an override does not fit, there is no compiler, or it refuses.
    pub(super) fn app(&self, source: Source<'_>, overrides: &[String]) -> Result<Arc<App>> {
        self.app_on(source, None, overrides)
    }

    /// Does the same on another machine than its manifest's.
    ///
    /// # Errors
    /// As [`Programs::app`], and when there is no such machine.
    pub(in crate::figure) fn app_on(
        &self,
        source: Source<'_>,
        machine: Option<&str>,
        overrides: &[String],
    ) -> Result<Arc<App>> {
        let dir = match source {
            Source::Figures => assets::figures_dir()?.join("pspin"),
            Source::Example(name) => assets::example_dir(name)?,
        };
        let key: Key = (dir, machine.map(str::to_owned), overrides.to_vec());
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(app) = built.get(&key) {
            return Ok(app.clone());
        }
        let app = make(&key.0, machine, overrides);
        let app = app.map_err(|error| {
            Error::part(format!("cannot load {}, which the figure runs", key.0.display()), error)
        })?;
        let app = Arc::new(app);
        built.insert(key, app.clone());
        Ok(app)
    }
}

/// Builds a program under a name of its own for each layout of the machine, so that figures of
/// different machines do not write over each other's.
fn make(dir: &std::path::Path, machine: Option<&str>, overrides: &[String]) -> Result<App> {
    let manifest = manifest::load(dir)?;
    let loaded = crate::machine::load::<pinion_spin::Machine>(
        machine.unwrap_or(&manifest.app.machine),
        overrides,
        false,
    )?;
    let layout = format!("{:?}", app::layout(&loaded.value));
    let name = format!("{}-{:016x}.elf", manifest.app.name, assets::fnv1a(layout.bytes()));
    let is_built = manifest.app.elf.is_none();
    let out = is_built.then(|| dir.join("build").join(name));
    let build = build::Options { out, ..build::Options::default() };
    let machine = machine.map(str::to_owned);
    App::of(
        manifest,
        &Options { machine, overrides: overrides.to_vec(), build, ..Options::default() },
    )
}
