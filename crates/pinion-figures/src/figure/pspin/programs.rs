//! The programs that figures run. In: where a program comes from, and changes of the machine. Out:
//! the application on that machine. Holds those that were built; who needs one that is being built
//! waits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pinion_app::app::{App, Options};
use pinion_app::error::{Error, Result};
use pinion_app::{assets, build, manifest};

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
    /// Gives an application on its machine, built if need be, in a folder if that was chosen.
    ///
    /// # Errors
    /// When there is no such program, an override does not fit, there is no compiler, or it refuses.
    pub(super) fn app(
        &self,
        source: Source<'_>,
        overrides: &[String],
        folder: Option<&Path>,
    ) -> Result<Arc<App>> {
        self.app_on(source, None, overrides, folder)
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
        folder: Option<&Path>,
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
        let app = make(&key.0, machine, overrides, folder);
        let app = app.map_err(|error| {
            Error::part(format!("cannot load {}, which the figure runs", key.0.display()), error)
        })?;
        let app = Arc::new(app);
        built.insert(key, app.clone());
        Ok(app)
    }
}

/// Builds a program, unless it was made elsewhere; machines of different layout have their own.
fn make(
    dir: &Path,
    machine: Option<&str>,
    overrides: &[String],
    folder: Option<&Path>,
) -> Result<App> {
    let manifest = manifest::load(dir)?;
    let folder = folder.filter(|_| manifest.app.elf.is_none());
    let build = build::Options::into_folder(folder);
    let machine = machine.map(str::to_owned);
    App::of(
        manifest,
        &Options { machine, overrides: overrides.to_vec(), build, ..Options::default() },
    )
}
