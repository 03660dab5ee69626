//! Machine files: what all kinds of machines have in common.
//!
//! In: a machine file's text, which says its [`Kind`], and overrides. Out: the machine, checked, with
//! its file's entries. A machine file may hold a section `faithful`: overrides that make the machine
//! follow the published RTL where that lacks or breaks what the paper describes; `--faithful` applies
//! them, below the user's own.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::config::{self, ConfigError, Loaded};

/// Names the kinds of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A sPIN NIC, which runs packet handlers.
    Spin,
    /// A nanoPU node, which runs nanoservices.
    Nanopu,
}

impl Kind {
    /// Gives the kind's name in machine files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Nanopu => "nanopu",
        }
    }
}

/// Describes a machine that a file can describe.
pub trait MachineFile: DeserializeOwned {
    /// Kind of these machines.
    const KIND: Kind;

    /// Gives the kind that the file says.
    fn kind(&self) -> Kind;

    /// Gives the overrides that make the machine follow the published RTL.
    fn faithful(&self) -> &BTreeMap<String, String>;

    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// The key of a number that does not fit, and why.
    fn check(&self) -> Result<(), (&'static str, String)>;
}

/// Tells the kind of the machine that a file describes; `find` gives origin and text of the file that
/// it may build on.
///
/// # Errors
/// When the file is no TOML or says no kind; those of `find`.
pub fn kind<E: From<ConfigError>>(
    origin: &str,
    text: &str,
    find: impl FnOnce(&str) -> Result<(String, String), E>,
) -> Result<Kind, E> {
    #[derive(Deserialize)]
    struct File {
        kind: Option<Kind>,
    }
    let file: Loaded<File> = config::load_on_base(origin, text, &[], find)?;
    let missing = "says no kind of machine; write kind = \"spin\" (a NIC that runs packet handlers) \
                   or kind = \"nanopu\" at its top";
    Ok(file.value.kind.ok_or_else(|| file.error_at("kind", missing))?)
}

/// Loads a machine; with `faithful`, as the published RTL is.
///
/// # Errors
/// When the file is wrong or describes a machine of another kind, an override does not fit, or the
/// numbers do not fit together; those of `find`.
pub fn load<M: MachineFile, E: From<ConfigError>>(
    origin: &str,
    text: &str,
    overrides: &[String],
    faithful: bool,
    find: impl Fn(&str) -> Result<(String, String), E>,
) -> Result<Loaded<M>, E> {
    let load = |overrides: &[String]| config::load_on_base::<M, E>(origin, text, overrides, &find);
    let mut machine = load(overrides)?;
    if faithful {
        let pairs = machine.value.faithful().iter();
        let mut all: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
        all.extend(overrides.iter().cloned());
        machine = load(&all)?;
    }
    if machine.value.kind() != M::KIND {
        let problem = format!("what stands here describes a machine of kind `{}`", M::KIND.name());
        return Err(machine.error_at("kind", problem).into());
    }
    machine.value.check().map_err(|(key, problem)| machine.error_at(key, problem))?;
    Ok(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Small {
        kind: Kind,
        cores: u32,
        #[serde(default)]
        faithful: BTreeMap<String, String>,
    }

    impl MachineFile for Small {
        const KIND: Kind = Kind::Spin;

        fn kind(&self) -> Kind {
            self.kind
        }

        fn faithful(&self) -> &BTreeMap<String, String> {
            &self.faithful
        }

        fn check(&self) -> Result<(), (&'static str, String)> {
            if self.cores > 0 { Ok(()) } else { Err(("cores", "needs one".to_owned())) }
        }
    }

    const TEXT: &str = "kind = \"spin\"\ncores = 4\n[faithful]\ncores = \"2\"\n";

    fn none(name: &str) -> Result<(String, String), ConfigError> {
        Ok((name.to_owned(), TEXT.to_owned()))
    }

    fn cores(overrides: &[&str], faithful: bool) -> Result<u32, String> {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        let loaded = load::<Small, ConfigError>("x.toml", TEXT, &overrides, faithful, none);
        loaded.map(|machine| machine.value.cores).map_err(|error| error.to_string())
    }

    #[test]
    fn faithful_stands_below_the_users_own_overrides() {
        assert_eq!(cores(&[], false), Ok(4));
        assert_eq!(cores(&[], true), Ok(2));
        assert_eq!(cores(&["cores=3"], true), Ok(3));
    }

    #[test]
    fn numbers_and_kinds_that_do_not_fit_are_refused() {
        assert!(cores(&["cores=0"], false).unwrap_err().contains("needs one"));
        let kind = cores(&["kind=nanopu"], false).unwrap_err();
        assert!(kind.contains("a machine of kind `spin`"), "{kind}");
    }

    #[test]
    fn a_file_says_its_kind() {
        let kind = |text: &str| kind::<ConfigError>("x.toml", text, none);
        assert_eq!(kind(TEXT).unwrap(), Kind::Spin);
        assert_eq!(kind("kind = \"nanopu\"\n[core]\ncount = 4\n").unwrap(), Kind::Nanopu);
        assert_eq!(kind("base = \"small\"\ncores = 8\n").unwrap(), Kind::Spin);
        let error = kind("cores = 8\n").unwrap_err().to_string();
        assert!(error.contains("write kind ="), "{error}");
        assert!(kind("kind = \"gpu\"\n").unwrap_err().to_string().contains("`spin`"));
    }
}
