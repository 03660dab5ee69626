//! Handlers' standard output, for whoever asks: a bounded number of lines, the oldest forgotten
//! first. Every reader is told how many it missed.

use std::collections::VecDeque;

use pinion_sim::Time;

/// A line that a handler printed, or that the NIC says about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Is the simulated time.
    pub time: Time,
    /// Is the cluster.
    pub cluster: u32,
    /// Is the HPU within the cluster.
    pub hpu: u32,
    /// Is the text.
    pub text: String,
}

/// Holds the last lines.
#[derive(Debug)]
pub struct Log {
    lines: VecDeque<Line>,
    capacity: usize,
    /// Counts the lines that were forgotten.
    forgotten: u64,
}

/// Is where a reader has come to: the number of the next line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor(u64);

impl Log {
    /// Makes a log of so many lines.
    pub fn new(capacity: usize) -> Self {
        Self { lines: VecDeque::new(), capacity: capacity.max(1), forgotten: 0 }
    }

    /// Adds a line.
    pub fn push(&mut self, line: Line) {
        if self.lines.len() == self.capacity {
            self.lines.pop_front();
            self.forgotten += 1;
        }
        self.lines.push_back(line);
    }

    /// Gives a reader's next line and how many before it are forgotten.
    pub fn next(&self, cursor: Cursor) -> Option<(&Line, u64)> {
        let lost = self.forgotten.saturating_sub(cursor.0);
        let index = usize::try_from(cursor.0 + lost - self.forgotten).ok()?;
        self.lines.get(index).map(|line| (line, lost))
    }

    /// Moves a reader on behind the line that [`Log::next`] gave.
    pub fn advance(&self, cursor: &mut Cursor) {
        cursor.0 = cursor.0.max(self.forgotten) + 1;
    }

    /// Counts all lines and those forgotten.
    pub fn counts(&self) -> (u64, u64) {
        (self.forgotten + self.lines.len() as u64, self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_learn_what_they_missed() {
        let mut log = Log::new(3);
        let line = |text: &str| Line { time: Time::ZERO, cluster: 0, hpu: 1, text: text.into() };
        let mut cursor = Cursor::default();
        assert_eq!(log.next(cursor), None);
        log.push(line("a"));
        assert_eq!(log.next(cursor), Some((&line("a"), 0)));
        log.advance(&mut cursor);
        assert_eq!(log.next(cursor), None);
        for text in ["b", "c", "d", "e", "f"] {
            log.push(line(text));
        }
        assert_eq!(log.next(cursor), Some((&line("d"), 2)));
        log.advance(&mut cursor);
        assert_eq!(log.next(cursor), Some((&line("e"), 0)));
        assert_eq!(log.next(Cursor::default()), Some((&line("d"), 3)));
        assert_eq!(log.counts(), (6, 3));
    }
}
