//! The programs that figures run. In: an example's name, what it is compiled with. Out: its image.
//! Holds those that were built; who needs one that is being built waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pinion_isa::elf::Image;

use crate::figure::Setting;
use pinion_app::app::Options;
use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_app::{assets, build, manifest};

/// Holds programs by name and definitions.
#[derive(Debug, Default)]
pub(super) struct Programs {
    built: Mutex<BTreeMap<(String, String), Arc<Image>>>,
}

impl Programs {
    /// Gives an example's program, built if need be; a definition (`WORDS=8`) makes a variant.
    ///
    /// # Errors
    /// When there is no compiler for it, or it refuses.
    pub(super) fn get(
        &self,
        name: &str,
        definition: Option<&str>,
        setting: &Setting<'_>,
    ) -> Result<Arc<Image>> {
        let key = (name.to_owned(), definition.unwrap_or_default().to_owned());
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = built.get(&key) {
            return Ok(image.clone());
        }
        let image = Arc::new(make(name, definition, setting).map_err(|error| {
            Error::part(format!("the figure runs the example `{name}`, which is not there"), error)
        })?);
        built.insert(key, image.clone());
        Ok(image)
    }
}

fn make(name: &str, definition: Option<&str>, setting: &Setting<'_>) -> Result<Image> {
    let dir = assets::example_dir(name)?;
    let mut manifest = manifest::load(&dir)?;
    if let Some(definition) = definition {
        manifest.app.defines.push(definition.to_owned());
    }
    let build = build::Options::into_folder(setting.build_dir);
    Ok(Service::of(manifest, &Options { build, ..Options::default() })?.image)
}
