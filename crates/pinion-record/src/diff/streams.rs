//! Two traces as they are written: lines come in from two threads, the first that differs goes out with
//! those around it. Holds no more than the lines around, and what has been written and not compared.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Pieces that may wait to be compared.
const PIECES: usize = 16;
/// Lines that are shown before the first that differs.
const BEFORE: usize = 3;
/// Lines that are shown of each run from there on.
const FROM: usize = 3;

/// Takes a trace; nobody reads it any more once its first different line is known.
pub struct Feed(SyncSender<Vec<u8>>);

/// Gives a trace's lines.
pub struct Lines(BufReader<Pieces>);

struct Pieces {
    receiver: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

/// Makes the two ends of a trace.
pub fn stream() -> (Feed, Lines) {
    let (sender, receiver) = sync_channel(PIECES);
    (Feed(sender), Lines(BufReader::new(Pieces { receiver, piece: Vec::new(), at: 0 })))
}

impl Write for Feed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let gone = |_| Error::from(ErrorKind::BrokenPipe);
        self.0.send(bytes.to_vec()).map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.at == self.piece.len() {
            // Its writer is gone: the trace is over.
            let Ok(piece) = self.receiver.recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let bytes = buffer.len().min(self.piece.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.piece[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

impl Lines {
    /// Reads a line into a buffer; `false`: there is none any more.
    fn next(&mut self, line: &mut Vec<u8>) -> bool {
        line.clear();
        matches!(self.0.read_until(b'\n', line), Ok(bytes) if bytes > 0)
    }
}

/// Where two traces part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parting {
    /// Number of the lines that both have.
    pub same: u64,
    /// The last of them.
    pub before: Vec<String>,
    /// How the first goes on; nothing: it is over.
    pub first: Vec<String>,
    /// How the second goes on.
    pub second: Vec<String>,
}

impl Parting {
    /// Gives the cycle in which the runs part: a number in the column that has them.
    pub fn cycle(&self, column: usize) -> Option<u64> {
        let cycle =
            |lines: &Vec<String>| lines.first()?.split_whitespace().nth(column)?.parse().ok();
        [&self.first, &self.second].into_iter().filter_map(cycle).min()
    }
}

/// Compares two traces that begin with so many lines of titles; gives the number of lines if they are the same.
///
/// # Errors
/// Where they part.
pub fn compare(
    mut first: Lines,
    mut second: Lines,
    titles: usize,
) -> std::result::Result<u64, Box<Parting>> {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for _ in 0..titles {
        first.next(&mut one);
        second.next(&mut other);
    }
    let mut parting = Parting::default();
    let mut before: VecDeque<Vec<u8>> = VecDeque::new();
    loop {
        let there = (first.next(&mut one), second.next(&mut other));
        if there == (false, false) {
            return Ok(parting.same);
        }
        if one != other {
            break;
        }
        parting.same += 1;
        let mut kept = match before.len() {
            BEFORE => before.pop_front().unwrap_or_default(),
            _ => Vec::new(),
        };
        kept.clone_from(&one);
        before.push_back(kept);
    }
    parting.before = before.iter().map(|line| text(line)).collect();
    parting.first = from(&mut first, one);
    parting.second = from(&mut second, other);
    Err(Box::new(parting))
}

/// Gives a line and those behind it.
fn from(lines: &mut Lines, mut line: Vec<u8>) -> Vec<String> {
    let mut texts = Vec::new();
    while !line.is_empty() && texts.len() < FROM {
        texts.push(text(&line));
        if !lines.next(&mut line) {
            break;
        }
    }
    texts
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(one: &str, other: &str) -> std::result::Result<u64, Box<Parting>> {
        let [(mut first, one_lines), (mut second, other_lines)] = [stream(), stream()];
        let [one, other] = [one, other].map(|text| format!("title\n{text}"));
        // In pieces that end within lines.
        for piece in one.as_bytes().chunks(5) {
            first.write_all(piece).unwrap();
        }
        second.write_all(other.as_bytes()).unwrap();
        drop((first, second));
        compare(one_lines, other_lines, 1)
    }

    #[test]
    fn the_first_line_that_differs_is_found() {
        assert_eq!(compared("a\nb\n", "a\nb\n"), Ok(2));
        assert_eq!(compared("", ""), Ok(0));
        let parting = *compared("1\n2\n3\n4\nx\ny\n", "1\n2\n3\n4\nz\n").unwrap_err();
        assert_eq!((parting.same, parting.before.join(" ")), (4, "2 3 4".to_owned()));
        assert_eq!((parting.first.join(" "), parting.second.join(" ")), ("x y".into(), "z".into()));
        let parting = *compared(" 7.0 7 x\n", " 6.0 6 x\n").unwrap_err();
        assert_eq!((parting.cycle(1), parting.cycle(2)), (Some(6), None));
        let parting = *compared("1\n", "1\n2\n").unwrap_err();
        assert_eq!((parting.first.len(), parting.second.join(" ")), (0, "2".to_owned()));
    }

    #[test]
    fn who_writes_hears_that_nobody_reads_any_more() {
        let (mut feed, lines) = stream();
        drop(lines);
        assert_eq!(feed.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
