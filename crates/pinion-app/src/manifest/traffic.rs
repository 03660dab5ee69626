//! The section `[traffic]`: the packets an application is run on when no others are given.

use pinion_net::generator::GeneratorSpec;
use pinion_sim::config::{ConfigError, Loaded};
use serde::Deserialize;

/// Describes an application's standard traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct StandardTraffic {
    /// The generator's specification, read.
    pub generate: GeneratorSpec,
    /// The specification as the manifest has it.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTraffic {
    generate: String,
}

/// Checks the section.
pub(super) fn check(
    loaded: &Loaded<()>,
    raw: Option<RawTraffic>,
    is_nanoservice: bool,
) -> Result<Option<StandardTraffic>, ConfigError> {
    let Some(RawTraffic { generate: text }) = raw else { return Ok(None) };
    if is_nanoservice {
        let problem = "packets are for handlers; a nanoservice gets messages: see messages.toml \
                       and --load";
        return Err(loaded.error_at("traffic.generate", problem));
    }
    let generate = GeneratorSpec::parse(&text);
    let generate =
        generate.map_err(|error| loaded.error_at("traffic.generate", error.to_string()))?;
    Ok(Some(StandardTraffic { generate, text }))
}
