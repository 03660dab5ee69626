//! Texts with names in braces. In: `{bytes} B`, and what names stand for. Out: `64 B`.

use super::super::Parameter;

/// Puts in for each `{name}` what it stands for.
pub(super) fn expand(
    pattern: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, behind) = behind
            .split_once('}')
            .ok_or_else(|| format!("`{pattern}` has a brace that is not closed"))?;
        let value = value(name)
            .ok_or_else(|| format!("`{pattern}`: no axis and no parameter is called `{name}`"))?;
        text.push_str(before);
        text.push_str(&value);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}

/// Does the same in each text of a value; one that is a single name becomes what that stands for.
pub(super) fn resolve(
    value: &Parameter,
    named: &dyn Fn(&str) -> Option<Parameter>,
) -> Result<Parameter, String> {
    let text = |name: &str| named(name).and_then(|value| plain(&value));
    match value {
        Parameter::Text(pattern) => {
            let alone = pattern.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            match alone.and_then(named) {
                Some(value) => Ok(value),
                None => expand(pattern, &text).map(Parameter::Text),
            }
        }
        Parameter::Texts(patterns) => {
            let all: Result<_, String> = patterns.iter().map(|one| expand(one, &text)).collect();
            all.map(Parameter::Texts)
        }
        other => Ok(other.clone()),
    }
}

/// Writes a number or a word; lists have no text.
pub(super) fn plain(value: &Parameter) -> Option<String> {
    match value {
        Parameter::Number(number) => Some(number.to_string()),
        Parameter::Text(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_stand_for_values() {
        let value = |name: &str| (name == "bytes").then(|| "64".to_owned());
        assert_eq!(expand("{bytes} B of {bytes}", &value).unwrap(), "64 B of 64");
        assert!(expand("{size} B", &value).unwrap_err().contains("`size`"));
        assert!(expand("{bytes B", &value).unwrap_err().contains("not closed"));
    }

    #[test]
    fn a_single_name_keeps_its_kind() {
        let value = |name: &str| (name == "bytes").then_some(Parameter::Number(64.0));
        let of = |text: &str| resolve(&Parameter::Text(text.to_owned()), &value).unwrap();
        assert_eq!(of("{bytes}"), Parameter::Number(64.0));
        assert_eq!(of("alu_{bytes}"), Parameter::Text("alu_64".to_owned()));
    }
}
