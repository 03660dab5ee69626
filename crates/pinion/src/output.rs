//! Writes to standard output; a reader that has gone away (`| head`) is no error, a full disk is. Colours
//! are for terminals, and for those who have not set NO_COLOR.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use anstyle::{AnsiColor, Style};
use pinion::error::Result;
use pinion::report::write_whole;
pub use pinion::words::columns;

/// What a text is about.
pub const HEADING: Style = Style::new().bold();
/// What is good.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What a reader should look at.
pub const REMARK: Style = AnsiColor::Yellow.on_default();
/// What is wrong.
pub const WRONG: Style = AnsiColor::Red.on_default();
/// Who speaks, on standard error.
const SPEAKER: Style = AnsiColor::Red.on_default().bold();

/// Holds the first error of standard output, which the process ends with.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);
/// Tells that standard output is for JSON alone.
static IS_FOR_JSON: AtomicBool = AtomicBool::new(false);

/// Prints text as it is: on standard output, or on standard error where that is for JSON.
pub fn print(text: &str) {
    if IS_FOR_JSON.load(Ordering::Relaxed) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    } else {
        write(text);
    }
}

/// Writes to standard output; tells whether it is worth going on. What commands say in tests of the commands
/// themselves nobody reads.
pub fn write(text: &str) -> bool {
    if cfg!(test) {
        return true;
    }
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    note(written)
}

/// Takes note of what became of a write to standard output; tells whether it succeeded.
pub fn note(written: io::Result<()>) -> bool {
    let Err(error) = written else { return true };
    if error.kind() != ErrorKind::BrokenPipe {
        let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
    }
    false
}

/// Takes the error of standard output, if it had one.
pub fn take_failure() -> Option<io::Error> {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Tells the user something on standard error, whether anybody reads it or not.
pub fn notice(text: &str) {
    let stderr = io::stderr();
    let style = if is_coloured(&stderr) { SPEAKER } else { Style::new() };
    let _ = writeln!(stderr.lock(), "{style}pinion:{style:#} {}", harmless(text));
}

/// Gives a text that a terminal shows and does not obey: names of files and what they hold are others' words.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_command = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(is_command) {
        return text.into();
    }
    let shown = |letter: char| match is_command(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Writes what explains itself on standard error, in colours if there are any.
pub fn explain(text: impl FnOnce(bool) -> String) {
    let stderr = io::stderr();
    let text = text(is_coloured(&stderr));
    let _ = stderr.lock().write_all(text.as_bytes());
}

/// Tells whether a path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Keeps standard output for JSON if that is where it is to go (`--json -`): what else a command
/// prints goes to standard error then.
pub fn keep_for_json(path: Option<&Path>) {
    IS_FOR_JSON.store(path.is_some_and(is_stdout), Ordering::Relaxed);
}

/// Writes JSON to a file, or to standard output for `-`.
///
/// # Errors
/// When the file cannot be written.
pub fn write_json(path: &Path, json: &str) -> Result<()> {
    let text = format!("{}\n", json.trim_end());
    if is_stdout(path) {
        write(&text);
        return Ok(());
    }
    write_whole(path, text.as_bytes())
}

/// Prints a summary: its first line as a heading, and what troubles it in a colour.
pub fn print_summary([summary, trouble]: &[String; 2], is_wrong: bool) {
    let (first, rest) = summary.split_once('\n').unwrap_or((summary, ""));
    let trouble: String = trouble
        .lines()
        .map(|line| paint(if is_wrong { WRONG } else { REMARK }, line) + "\n")
        .collect();
    print(&format!("{}\n{rest}{trouble}", paint(HEADING, first)));
}

/// Gives a text in a style if styles are shown where [`print`] goes.
pub fn paint(style: Style, text: &str) -> String {
    let is_shown = match IS_FOR_JSON.load(Ordering::Relaxed) {
        true => is_coloured(&io::stderr()),
        false => is_coloured(&io::stdout()),
    };
    match is_shown {
        true => format!("{style}{text}{style:#}"),
        false => text.to_owned(),
    }
}

/// Gives a table's text with some words, as columns of their own, in a style.
pub fn paint_words(text: String, words: &[(&str, Style)]) -> String {
    words.iter().fold(text, |text, (word, style)| {
        text.replace(&format!("  {word}"), &format!("  {}", paint(*style, word)))
    })
}

// Open MPI gives each process a pseudo-terminal, whatever its own output goes to: only who asks for
// colours gets them there.
fn is_coloured(stream: &impl RawStream) -> bool {
    let is_launched = pinion::ranks::started() > 1;
    let is_asked = || std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    AutoStream::choice(stream) != ColorChoice::Never && (!is_launched || is_asked())
}

/// Prints rows with their columns aligned; the last column is not padded.
pub fn print_columns(rows: &[Vec<String>]) {
    print(&columns(rows));
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(harmless("Zwölf\tof\n12"), "Zwölf\tof\n12");
        assert_eq!(harmless("\u{1b}]0;title\u{7}\r\u{9b}2J"), r"\u{1b}]0;title\u{7}\r\u{9b}2J");
    }
}
