//! Why an ELF file cannot be used, and what to do about it.

/// Says what is wrong with an ELF file.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// The file cannot be read.
    #[error("cannot read {name}: {source}")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is something else than ELF.
    #[error(
        "{name} is not an ELF file ({found}); give the executable that the RISC-V linker wrote"
    )]
    NotElf {
        /// The file.
        name: String,
        /// What it looks like instead.
        found: String,
    },
    /// It ends too early.
    #[error(
        "{name} is truncated: {what} should reach byte {end}, but the file has {length} bytes; \
         build or copy it again"
    )]
    Truncated {
        /// The file.
        name: String,
        /// The part that is cut.
        what: String,
        /// Where the part should end.
        end: u64,
        /// Length of the file.
        length: u64,
    },
    /// It is for registers of another width, or for another byte order.
    #[error("{name} is {found}, but this core needs {needed}; compile with {option}")]
    WrongFormat {
        /// The file.
        name: String,
        /// What it is.
        found: &'static str,
        /// What it should be.
        needed: &'static str,
        /// The compiler options that give it.
        option: &'static str,
    },
    /// It is for another processor.
    #[error(
        "{name} is for {found}, but this core runs RISC-V; compile with a RISC-V compiler such as \
         riscv64-unknown-elf-gcc"
    )]
    WrongMachine {
        /// The file.
        name: String,
        /// The processor that it is for.
        found: String,
    },
    /// It is not linked to run at fixed addresses.
    #[error("{name} is {found}, not an executable; link it {advice}")]
    NotExecutable {
        /// The file.
        name: String,
        /// What it is.
        found: String,
        /// How to link it.
        advice: &'static str,
    },
    /// It has nothing to load.
    #[error("{name} has no segment to load; link it with the SDK's linker script")]
    NothingToLoad {
        /// The file.
        name: String,
    },
    /// Its tables contradict each other.
    #[error("{name} is damaged: {what}; build or copy it again")]
    Damaged {
        /// The file.
        name: String,
        /// What does not fit.
        what: String,
    },
    /// A symbol that somebody asked for is not there.
    #[error("{name} has no symbol `{symbol}`{}", suggestion(.nearest))]
    UnknownSymbol {
        /// The file.
        name: String,
        /// The symbol asked for.
        symbol: String,
        /// The symbol whose name comes nearest.
        nearest: Option<String>,
    },
}

fn suggestion(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; is it defined, not `static`, and kept by the linker?".into(),
    }
}
