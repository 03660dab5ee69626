//! What the loader promises: annotations stripped, overrides checked, errors with a place.

use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Machine {
    name: String,
    cluster: Cluster,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Cluster {
    count: u32,
    l1_bytes: Bytes,
    timeout: Duration,
    #[serde(default)]
    latencies: Vec<u32>,
}

const GOOD: &str = r#"name = "pspin"

[cluster]
count = { value = 4, unit = "clusters", source = "paper, table II" }
l1_bytes = { value = "1MiB", source = "paper, table II", note = "64 banks" }
timeout = "100us"
latencies = [1, 2]
"#;

fn load_with(text: &str, overrides: &[&str]) -> Result<Loaded<Machine>, ConfigError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    load("pspin.toml", text, &overrides)
}

#[test]
fn strips_annotations_and_keeps_them() {
    let loaded = load_with(GOOD, &[]).unwrap();
    assert_eq!(loaded.value.cluster.count, 4);
    assert_eq!(loaded.value.cluster.l1_bytes, Bytes(1 << 20));
    assert_eq!(loaded.value.cluster.timeout.ps, 100_000_000);
    let keys: Vec<&str> = loaded.entries.iter().map(|entry| entry.key.as_str()).collect();
    let expected =
        ["name", "cluster.count", "cluster.l1_bytes", "cluster.timeout", "cluster.latencies"];
    assert_eq!(keys, expected);
    let count = &loaded.entries[1];
    assert_eq!((count.value.as_str(), count.unit.as_deref()), ("4", Some("clusters")));
    assert_eq!(count.source.as_deref(), Some("paper, table II"));
    assert_eq!(loaded.entries[2].note.as_deref(), Some("64 banks"));
    assert_eq!(loaded.entries[4].value, "[1, 2]");
}

#[test]
fn overrides_replace_values_of_either_notation() {
    let loaded = load_with(
        GOOD,
        &["cluster.count=8", "name=wide", "cluster.l1_bytes = 64KiB", "cluster.count=16"],
    )
    .unwrap();
    assert_eq!(loaded.value.cluster.count, 16);
    assert_eq!(loaded.value.name, "wide");
    assert_eq!(loaded.value.cluster.l1_bytes, Bytes(65_536));
    assert!(loaded.entries[1].overridden && !loaded.entries[3].overridden);
    assert_eq!(loaded.entries[1].value, "16");
}

#[test]
fn refuses_an_override_of_an_unknown_key() {
    let error = load_with(GOOD, &["cluster.cont=8"]).unwrap_err();
    let ConfigError::UnknownOverride { nearest, .. } = &error else { panic!("{error}") };
    assert_eq!(nearest.as_deref(), Some("cluster.count"));
    assert!(error.to_string().contains("pspin.toml has no key `cluster.cont`"), "{error}");
}

#[test]
fn refuses_an_override_that_is_not_one_or_does_not_fit() {
    for bad in ["cluster.count", "=8", "cluster.count=", "cluster.count=\"8", "cluster.count=many"]
    {
        let error = load_with(GOOD, &[bad]).unwrap_err();
        assert!(matches!(&error, ConfigError::Override { text, .. } if text == bad), "{error}");
    }
}

#[test]
fn names_place_and_nearest_key_of_an_unknown_key() {
    let error = load_with(&GOOD.replace("timeout =", "timeuot ="), &[]).unwrap_err();
    let ConfigError::UnknownKey { at, key, nearest, .. } = &error else { panic!("{error}") };
    assert_eq!((at.line, at.column, key.as_str()), (6, 1, "timeuot"));
    assert_eq!(at.text, "timeuot = \"100us\"");
    assert_eq!(nearest.as_deref(), Some("timeout"));
}

#[test]
fn names_place_of_an_unknown_annotation() {
    let error = load_with(&GOOD.replace("unit =", "unti ="), &[]).unwrap_err();
    let ConfigError::UnknownKey { at, nearest, .. } = &error else { panic!("{error}") };
    assert_eq!((at.line, at.column), (4, 22));
    assert_eq!(nearest.as_deref(), Some("unit"));
}

#[test]
fn names_place_and_key_of_an_ill_typed_value() {
    for (from, to, line, key) in [
        ("value = 4", "value = \"four\"", 4, "cluster.count"),
        ("value = 4", "value = -4", 4, "cluster.count"),
        ("\"1MiB\"", "\"1 megabyte\"", 5, "cluster.l1_bytes"),
        ("\"100us\"", "100", 6, "cluster.timeout"),
    ] {
        let error = load_with(&GOOD.replace(from, to), &[]).unwrap_err();
        let ConfigError::Invalid { at, key: found, .. } = &error else { panic!("{error}") };
        assert_eq!((at.line, found.as_str()), (line, key), "{error}");
    }
}

#[test]
fn names_the_table_that_lacks_a_key() {
    let error = load_with(&GOOD.replace("timeout = \"100us\"", ""), &[]).unwrap_err();
    let ConfigError::Invalid { at, key, problem } = &error else { panic!("{error}") };
    assert_eq!((at.line, key.as_str()), (3, "cluster"));
    assert!(problem.contains("missing field `timeout`"), "{problem}");
}

#[test]
fn names_place_of_a_syntax_error() {
    let error = load_with(&GOOD.replace("timeout =", "timeout"), &[]).unwrap_err();
    let ConfigError::Syntax { at, .. } = &error else { panic!("{error}") };
    assert_eq!(at.line, 6);
}

#[test]
fn points_at_a_leaf_for_later_checks() {
    let loaded = load_with(GOOD, &[]).unwrap();
    let error = loaded.error_at("cluster.timeout", "too short");
    let ConfigError::Invalid { at, .. } = &error else { panic!("{error}") };
    assert_eq!(at.line, 6);
}

#[test]
fn a_missing_file_keeps_its_cause() {
    let error = load_file::<Machine>(Path::new("/nonexistent/pspin.toml"), &[]).unwrap_err();
    assert!(std::error::Error::source(&error).is_some());
}

fn load_changed(text: &str, overrides: &[&str]) -> Result<Loaded<Machine>, ConfigError> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    load_on_base("twice.toml", text, &overrides, |name| {
        assert_eq!(name, "pspin");
        Ok::<_, ConfigError>(("pspin.toml".to_owned(), GOOD.to_owned()))
    })
}

#[test]
fn a_base_has_no_base_of_its_own() {
    let text = "base = \"between\"\nname = \"third\"\n";
    for between in ["base = \"pspin\"\n", text] {
        let found = |_: &str| Ok(("between.toml".to_owned(), between.to_owned()));
        let error = load_on_base::<Machine, ConfigError>("third.toml", text, &[], found);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("third.toml, line 1, column 8"), "{error}");
        assert!(error.contains("between.toml has a base itself"), "{error}");
    }
}

#[test]
fn a_file_may_say_only_what_differs() {
    let text = "base = \"pspin\"\nname = \"twice\"\n\n[cluster]\n\
        count = { value = 8, source = \"ours\" }\ntimeout = \"1us\"\n";
    let loaded = load_changed(text, &["cluster.timeout=2us"]).unwrap();
    assert_eq!((loaded.value.name.as_str(), loaded.value.cluster.count), ("twice", 8));
    assert_eq!(loaded.value.cluster.timeout.ps, 2_000_000, "the command line has the last word");
    assert_eq!(loaded.value.cluster.latencies, [1, 2]);
    let count = &loaded.entries[1];
    let said = (count.value.as_str(), count.unit.as_deref(), count.source.as_deref());
    assert_eq!(said, ("8", Some("clusters"), Some("ours")));
    assert!(!count.overridden);
    let own = loaded.error_at("cluster.count", "too many").to_string();
    assert!(own.starts_with("twice.toml, line 5, column "), "{own}");
    let inherited = loaded.error_at("cluster.l1_bytes", "too many").to_string();
    assert!(inherited.starts_with("pspin.toml, line 5, column "), "{inherited}");
    let loaded = load_changed(text, &["cluster.count=99"]).unwrap();
    let given = loaded.error_at("cluster.count", "99 is outside 1 to 16").to_string();
    assert_eq!(given, "override `cluster.count=99`: 99 is outside 1 to 16");
}

#[test]
fn what_differs_must_exist_and_fit() {
    let error = load_changed("base = \"pspin\"\n[cluster]\ncuont = 8\n", &[]).unwrap_err();
    let expected = "twice.toml, line 3, column 9 (`cuont = 8`): unknown key `cluster.cuont`; \
        nearest valid key: `cluster.count`";
    assert_eq!(error.to_string(), expected);
    let error = load_changed("base = \"pspin\"\n[cluster]\ncount = \"x\"\n", &[]).unwrap_err();
    assert!(error.to_string().starts_with("twice.toml, line 3, column 9"), "{error}");
    let error = load_changed("base = 3\n", &[]).unwrap_err();
    assert!(error.to_string().contains("`base`: expected the name"), "{error}");
    assert_eq!(load_changed(GOOD, &[]).unwrap().value, load_with(GOOD, &[]).unwrap().value);
}

#[test]
fn keys_of_what_is_not_chosen_are_not_suggested() {
    #[derive(Debug, serde::Deserialize)]
    struct Core {
        #[expect(dead_code, reason = "only what is refused matters here")]
        core: std::collections::BTreeMap<String, serde::de::IgnoredAny>,
    }
    let text = |model: &str| {
        format!("[core]\nmodel = \"{model}\"\n[core.ibex]\nload = 1\n[core.ri5cy]\nload = 2\n")
    };
    for model in ["ibex", "ri5cy"] {
        let error = load::<Core>("m.toml", &text(model), &["core.load=3".to_owned()]).unwrap_err();
        let suggested = format!("nearest valid key: `core.{model}.load`");
        assert!(error.to_string().contains(&suggested), "{error}");
    }
}
