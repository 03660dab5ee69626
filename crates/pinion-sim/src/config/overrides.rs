//! Overrides from the command line: `key=value` texts come in, keys with TOML values go out.

use toml::de::DeValue;

use super::ConfigError;

/// One override, parsed.
pub(super) struct Override<'a> {
    pub text: &'a str,
    pub key: &'a str,
    pub value: DeValue<'a>,
}

pub(super) fn parse_all(texts: &[String]) -> Result<Vec<Override<'_>>, ConfigError> {
    texts.iter().map(|text| parse(text)).collect()
}

fn parse(text: &str) -> Result<Override<'_>, ConfigError> {
    let refuse = |problem: String| ConfigError::Override { text: text.to_owned(), problem };
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| refuse("write it as KEY=VALUE, for example cluster.count=8".to_owned()))?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err(refuse("write it as KEY=VALUE, for example cluster.count=8".to_owned()));
    }
    let value = match DeValue::parse(value) {
        Ok(parsed) => parsed.into_inner(),
        Err(_) if is_bare_word(value) => DeValue::String(value.into()),
        Err(error) => return Err(refuse(format!("the value is not TOML: {}", error.message()))),
    };
    Ok(Override { text, key, value })
}

/// Tells whether a value that is not TOML may stand for itself as a string (`drop`, `64KiB`).
fn is_bare_word(value: &str) -> bool {
    value.chars().all(|c| c.is_alphanumeric() || "_-./:+%,=".contains(c))
}
