//! The part of a manifest that makes an application a nanoservice: the table `[nanoservice]`.

use std::path::{Path, PathBuf};

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
    /// Name of the file of its transport's P4 program for packets on their way in.
    pub ingress: Option<PathBuf>,
    /// The same for packets on their way out.
    pub egress: Option<PathBuf>,
    /// Name of the file of the entries of their tables.
    pub tables: Option<PathBuf>,
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

/// The table `[transport]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTransport {
    kind: Option<String>,
    ingress: Option<PathBuf>,
    egress: Option<PathBuf>,
    tables: Option<PathBuf>,
}

impl Nanoservice {
    /// Lists what it says about the machine's transport, as `key=value`.
    pub fn transport_overrides(&self) -> Vec<String> {
        let kind = self.transport.iter().map(|kind| format!("transport.kind={kind}"));
        let files =
            [("ingress", &self.ingress), ("egress", &self.egress), ("tables", &self.tables)];
        let files = files.into_iter().filter_map(|(key, file)| {
            Some(format!("transport.{key}={}", file.as_ref()?.display()))
        });
        kind.chain(files).collect()
    }
}

/// Checks the tables `[nanoservice]` and `[transport]` of a manifest in this folder.
pub(super) fn check(
    loaded: &Loaded<()>,
    raw: RawNanoservice,
    transport: Option<RawTransport>,
    dir: &Path,
) -> Result<Nanoservice, ConfigError> {
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
    let mut service = Nanoservice {
        harts: raw.harts,
        args: raw.args,
        transport: raw.transport,
        set: raw.set,
        ..Nanoservice::default()
    };
    if let Some(table) = transport {
        if service.transport.is_some() {
            let problem = "[transport] says it already: leave this out";
            return Err(at("transport", problem.to_owned()));
        }
        let has_files = table.ingress.is_some() || table.egress.is_some();
        service.transport = table.kind.or(has_files.then(|| "p4".to_owned()));
        // A program of the folder, or one that Pinion comes with.
        let find = |file: PathBuf| match dir.join(&file) {
            own if own.exists() => own,
            _ => file,
        };
        (service.ingress, service.egress) = (table.ingress.map(find), table.egress.map(find));
        service.tables = table.tables.map(find);
    }
    Ok(service)
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
    fn a_table_names_the_transport_and_its_programs() {
        let text = format!("{GOOD}\n[transport]\ningress = \"app.c\"\negress = \"sdk/x.p4\"\n");
        let dir = folder("transport", &text);
        let manifest = load(&dir).unwrap();
        let own = format!("transport.ingress={}", dir.join("app.c").display());
        let told = manifest.nanoservice().unwrap().transport_overrides();
        assert_eq!(told, ["transport.kind=p4", &own, "transport.egress=sdk/x.p4"]);
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (name, from, to, line, part) in [
            ("key", "harts =", "hart =", 6, "nearest valid key: `harts`"),
            ("none", "harts = 2", "harts = 0", 6, "give 1 to"),
            ("set", "args = [\"fast\", \"3\"]", "set = [\"x\"]", 7, "key=value"),
            (
                "twice",
                "args = [\"fast\", \"3\"]\n",
                "transport = \"udp\"\n[transport]\nkind = \"udp\"\n",
                7,
                "leave this out",
            ),
            (
                "alone",
                "[nanoservice]\nharts = 2\nargs = [\"fast\", \"3\"]",
                "[transport]\nkind = \"udp\"",
                6,
                "a sPIN NIC",
            ),
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
