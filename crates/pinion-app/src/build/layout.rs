//! The numbers of a machine that a program is compiled and linked against.
//!
//! In: the SDK's linker template with `@NAME@`s, and the machine. Out: the linker script and the
//! preprocessor definitions.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

use super::sdk::Sdk;

/// Maps the names used by the SDK to a machine's numbers.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    values: BTreeMap<&'static str, u64>,
}

impl Layout {
    /// Makes a layout of named numbers.
    pub fn new(values: impl IntoIterator<Item = (&'static str, u64)>) -> Self {
        Self { values: values.into_iter().collect() }
    }

    fn value(&self, name: &str, sdk: &Sdk) -> Result<u64> {
        self.values.get(name).copied().ok_or_else(|| {
            Error::Usage(format!(
                "{} asks for the machine's {name}, which this pinion does not know; use the SDK \
                 that came with it",
                sdk.origin().display()
            ))
        })
    }

    /// Renders the linker script.
    pub(super) fn linker_script(&self, sdk: &Sdk) -> Result<String> {
        let path = sdk.link_template();
        let mut script =
            pinion_input::text(&path).map_err(|error| Error::file("read", &path, error))?;
        for name in sdk.file.value.link.values.keys() {
            let value = format!("{:#x}", self.value(name, sdk)?);
            script = script.replace(&format!("@{name}@"), &value);
        }
        Ok(script)
    }

    /// Lists the definitions `NAME=number`.
    pub(super) fn defines(&self, sdk: &Sdk) -> Result<Vec<String>> {
        let names = sdk.file.value.defines.keys();
        names.map(|name| Ok(format!("{name}={}", self.value(name, sdk)?))).collect()
    }
}
