//! The part of a manifest that makes an application a nanoservice: the table `[nanoservice]`.

use pinion_sim::config::{ConfigError, Loaded};
use serde::Deserialize;

/// Names the machine of nanoservices whose manifest names none.
pub(super) const DEFAULT_MACHINE: &str = "nanopu";
/// Bounds the harts of a machine: what the boot code's numbers leave room for.
const MOST_HARTS: u32 = 1024;

/// Describes a nanoservice: a program that runs on the harts of a nanoPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nanoservice {
    /// Number of the harts that run it; `None` takes as many as the machine has.
    pub harts: Option<u32>,
    /// The program's arguments, behind its name.
    pub args: Vec<String>,
    /// Name of the transport it is meant for, instead of the machine's own.
    pub transport: Option<String>,
    /// Lists numbers of the machine that it wants changed, as `key=value`; `--set` goes before.
    pub set: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNanoservice {
    harts: Option<u32>,
    #[serde(default)]
    args: Vec<String>,
    transport: Option<String>,
    #[serde(default)]
    set: Vec<String>,
}

/// Checks the table.
pub(super) fn check(loaded: &Loaded<()>, raw: RawNanoservice) -> Result<Nanoservice, ConfigError> {
    let at = |key: &str, problem: String| loaded.error_at(&format!("nanoservice.{key}"), problem);
    if let Some(harts) = raw.harts.filter(|harts| !(1..=MOST_HARTS).contains(harts)) {
        return Err(at("harts", format!("{harts} harts: give 1 to {MOST_HARTS}")));
    }
    if let Some(text) = raw.set.iter().find(|text| !text.contains('=')) {
        return Err(at("set", format!("`{text}` changes nothing: write it as key=value")));
    }
    if let Some(text) = raw.args.iter().find(|text| text.contains('\0')) {
        return Err(at("args", format!("{text:?} holds a zero byte, which ends an argument")));
    }
    Ok(Nanoservice { harts: raw.harts, args: raw.args, transport: raw.transport, set: raw.set })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{FILE_NAME, Target, load};

    fn folder(name: &str, text: &str) -> PathBuf {
        let dir = format!("pinion-nanoservice-{}-{name}", std::process::id());
        let dir = std::env::temp_dir().join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("app.c"), "").unwrap();
        std::fs::write(dir.join(FILE_NAME), text).unwrap();
        dir
    }

    const GOOD: &str = r#"[app]
name = "echo"
sources = ["app.c"]

[nanoservice]
harts = 2
args = ["fast", "3"]
"#;

    #[test]
    fn a_table_makes_a_nanoservice() {
        let manifest = load(&folder("good", GOOD)).unwrap();
        let Target::Nanoservice(service) = &manifest.target else { panic!("{manifest:?}") };
        assert_eq!((service.harts, service.args.len()), (Some(2), 2));
        assert_eq!(manifest.app.machine, "nanopu");
        assert!(manifest.contexts().is_empty());
        let bare = GOOD.replace("harts = 2\nargs = [\"fast\", \"3\"]\n", "");
        let manifest = load(&folder("bare", &bare)).unwrap();
        assert_eq!(manifest.nanoservice(), Some(&super::Nanoservice::default()));
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (name, from, to, line, part) in [
            ("key", "harts =", "hart =", 6, "nearest valid key: `harts`"),
            ("none", "harts = 2", "harts = 0", 6, "give 1 to"),
            ("set", "args = [\"fast\", \"3\"]", "set = [\"x\"]", 7, "key=value"),
            ("packet", "name = \"echo\"", "packet = \"ip\"", 2, "handlers alone"),
            (
                "both",
                "[nanoservice]\nharts = 2\nargs = [\"fast\", \"3\"]",
                "[nanoservice]\n[[context]]\nname = \"a\"\npayload = \"p\"",
                7,
                "not both",
            ),
        ] {
            let error = load(&folder(name, &GOOD.replace(from, to))).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line},")), "{name}: {error}");
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}
