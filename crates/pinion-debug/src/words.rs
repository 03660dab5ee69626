//! What a debugger says of a run, in words.

use pinion_spin::Fault;

/// Says how a program went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// By an exception.
    Exception {
        /// Its `mcause`.
        mcause: u32,
        /// The address it was to access.
        address: Option<u64>,
    },
    /// Otherwise.
    Other(Fault),
}

/// Shows bytes as text of one line.
pub fn printable(bytes: &[u8]) -> String {
    let shown = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}

/// Says how a program went wrong.
pub fn wrong(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Exception { mcause, address: None } => exception(*mcause),
        Wrong::Exception { mcause, address: Some(address) } => {
            format!("{}: {address:#010x}", exception(*mcause))
        }
        Wrong::Other(Fault::Exception { cause }) => exception(*cause),
        Wrong::Other(Fault::Watchdog { limit_cycles }) => {
            format!("the watchdog ends it after {limit_cycles} cycles")
        }
        Wrong::Other(Fault::Released) => "its context was released".to_owned(),
        Wrong::Other(Fault::BadCommand { what }) => format!("a command is refused: {what}"),
        Wrong::Other(Fault::HpuLost) => "its trap vector leads nowhere: the HPU is lost".to_owned(),
    }
}

/// Says what an exception is (privileged specification, `mcause`).
fn exception(mcause: u32) -> String {
    match mcause {
        0 => "it jumps to an address that is not aligned".to_owned(),
        1 => "it executes where nothing may be executed".to_owned(),
        2 => "it executes an illegal instruction".to_owned(),
        3 => "it executes ebreak".to_owned(),
        4 => "it loads from an address that is not aligned".to_owned(),
        5 => "it loads from where it may not".to_owned(),
        6 => "it stores to an address that is not aligned".to_owned(),
        7 => "it stores to where it may not".to_owned(),
        8 => "it executes ecall".to_owned(),
        _ => format!("it traps with mcause {mcause:#x}"),
    }
}
