//! What can go wrong before a run: one enum whose messages tell what, where and what to do.

use std::path::{Path, PathBuf};

use pinion_sim::config::ConfigError;

/// Abbreviates results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Tells why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A machine file or a manifest is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file or folder cannot be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried (`read`, `write`, `create`).
        action: &'static str,
        /// Name of the file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A compiler was asked for or is needed and is not there.
    #[error("{0}")]
    CompilerMissing(String),
    /// The compiler refused the sources; what it wrote is kept unaltered.
    #[error("{compiler} could not build {app}; what it says stands above{hint}")]
    CompilerFailed {
        /// Name of the compiler.
        compiler: String,
        /// Name of the application.
        app: String,
        /// What the compiler wrote.
        output: Vec<u8>,
        /// What would help, if that is known: the end of the sentence.
        hint: String,
    },
    /// A program is missing, foreign or does not fit.
    #[error("program {}: {problem}", path.display())]
    Program {
        /// Name of the ELF.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A capture cannot be read or written.
    #[error(transparent)]
    Capture(#[from] pinion_net::capture::CaptureError),
    /// A generator's specification is wrong.
    #[error(transparent)]
    Generator(#[from] pinion_net::generator::GeneratorError),
    /// A link's faults are wrong.
    #[error(transparent)]
    Fault(#[from] pinion_net::fault::FaultError),
    /// A load's specification is wrong.
    #[error(transparent)]
    Load(#[from] pinion_net::load::LoadError),
    /// A TAP device cannot be used.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Tap(#[from] pinion_net::tap::TapError),
    /// A network interface cannot be used.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Interface(#[from] pinion_net::interface::InterfaceError),
    /// A program file cannot be used.
    #[error(transparent)]
    Elf(#[from] pinion_isa::elf::ElfError),
    /// An option cannot be used so.
    #[error("{0}")]
    Usage(String),
    /// A part above has errors of its own.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// Some part below reported an error of its own.
    #[error("{what}")]
    Part {
        /// What was being done.
        what: String,
        /// What went wrong there.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<pinion_output::OutputError> for Error {
    fn from(error: pinion_output::OutputError) -> Self {
        Self::File { action: "write", path: error.path, source: error.source }
    }
}

impl Error {
    /// Makes an error about a file.
    pub fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }

    /// Makes an error about a program.
    pub fn program(path: &Path, problem: impl Into<String>) -> Self {
        Self::Program { path: path.to_owned(), problem: problem.into() }
    }

    /// Wraps the error of another part, telling what was being done.
    pub fn part<E>(what: impl Into<String>, source: E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::Part { what: what.into(), source: source.into() }
    }
}

/// Writes an error and its causes as one paragraph; what shows lines of source keeps them.
pub fn paragraph(error: &dyn std::error::Error) -> String {
    let mut text = one_line(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let line = one_line(&error.to_string());
        if !text.contains(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        cause = error.source();
    }
    text
}

/// Joins lines, unless they show lines of source with what is wrong below them.
fn one_line(text: &str) -> String {
    if text.lines().any(|line| line.trim_start().starts_with("--> ")) {
        return text.trim().to_owned();
    }
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_keeps_every_cause_once() {
        let io = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = Error::part("cannot start", Error::file("read", Path::new("a.pcap"), io));
        assert_eq!(paragraph(&error), "cannot start: cannot read a.pcap: no such file");
        let config = Error::from(ConfigError::Read {
            path: "app.toml".to_owned(),
            source: std::io::Error::other("denied\n\nfor good"),
        });
        assert_eq!(paragraph(&config), "cannot read app.toml: denied for good");
        let shown = "error: no such name\n --> a.p4:1:3\n  |\n1 | x.y\n  |   ^";
        assert_eq!(
            paragraph(&Error::part(shown, std::io::Error::other("b"))),
            format!("{shown}: b")
        );
    }
}
