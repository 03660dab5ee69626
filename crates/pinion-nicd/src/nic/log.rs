//! Handlers' standard output, for whoever asks: a bounded number of lines, the oldest forgotten
//! first. Every reader is told how many it missed. What shows a packet is for the user whose program
//! got it, and for whoever runs the NIC.

use std::collections::VecDeque;

use nix::unistd::Uid;
use pinion_sim::Time;

/// A line that a handler printed, or that the NIC says about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The simulated time.
    pub time: Time,
    /// The cluster.
    pub cluster: u32,
    /// The HPU within the cluster.
    pub hpu: u32,
    /// The text.
    pub text: String,
    /// The user whose it is; whoever runs the NIC and root see it too. `None`: everybody's.
    pub user: Option<u32>,
}

/// Says who reads lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Whoever runs the NIC, and root.
    Owner,
    /// Another user.
    User(u32),
}

impl Reader {
    /// Tells who a user is at a NIC that runs as another.
    pub fn new(user: Uid, owner: Uid) -> Self {
        match user == owner || user.is_root() {
            true => Self::Owner,
            false => Self::User(user.as_raw()),
        }
    }

    fn may_see(self, line: &Line) -> bool {
        match self {
            Self::Owner => true,
            Self::User(user) => line.user.is_none_or(|whose| whose == user),
        }
    }
}

/// Holds the last lines.
#[derive(Debug)]
pub struct Log {
    lines: VecDeque<Line>,
    capacity: usize,
    /// Number of the lines that were forgotten.
    forgotten: u64,
}

/// Where a reader has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    reader: Reader,
    /// The number of the next line.
    next: u64,
}

impl Cursor {
    /// Begins with the first line that there is.
    pub fn new(reader: Reader) -> Self {
        Self { reader, next: 0 }
    }
}

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
        let (index, lost) = self.place(cursor)?;
        self.lines.get(index).map(|line| (line, lost))
    }

    fn place(&self, cursor: Cursor) -> Option<(usize, u64)> {
        let lost = self.forgotten.saturating_sub(cursor.next);
        let mut index = usize::try_from(cursor.next + lost - self.forgotten).ok()?;
        while self.lines.get(index).is_some_and(|line| !cursor.reader.may_see(line)) {
            index += 1;
        }
        Some((index, lost))
    }

    /// Moves a reader on behind the line that [`Log::next`] gave.
    pub fn advance(&self, cursor: &mut Cursor) {
        if let Some((index, _)) = self.place(*cursor) {
            cursor.next = self.forgotten + index as u64 + 1;
        }
    }

    /// Counts all lines and those forgotten.
    pub fn counts(&self) -> (u64, u64) {
        (self.forgotten + self.lines.len() as u64, self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, user: Option<u32>) -> Line {
        Line { time: Time::ZERO, cluster: 0, hpu: 1, text: text.into(), user }
    }

    /// Reads all there is.
    fn read(log: &Log, user: u32, owner: u32) -> Vec<String> {
        let mut cursor = Cursor::new(Reader::new(Uid::from_raw(user), Uid::from_raw(owner)));
        let mut lines = Vec::new();
        while let Some((line, lost)) = log.next(cursor) {
            assert_eq!(lost, 0);
            lines.push(line.text.clone());
            log.advance(&mut cursor);
        }
        lines
    }

    #[test]
    fn packets_are_for_their_user_and_whoever_runs_the_nic() {
        let mut log = Log::new(10);
        log.push(line("1001's packet", Some(1001)));
        log.push(line("printed", None));
        log.push(line("1002's packet", Some(1002)));
        let all = ["1001's packet", "printed", "1002's packet"];
        assert_eq!(read(&log, 1000, 1000), all, "whoever runs it");
        assert_eq!(read(&log, 0, 1000), all, "root");
        assert_eq!(read(&log, 1001, 1000), all[..2]);
        assert_eq!(read(&log, 1002, 1000), all[1..]);
        assert_eq!(read(&log, 1003, 1000), ["printed"]);
        assert_eq!(read(&log, 1000, 0), ["printed"], "root's NIC");
    }

    #[test]
    fn readers_learn_what_they_missed() {
        let mut log = Log::new(3);
        let line = |text: &str| line(text, None);
        let mut cursor = Cursor::new(Reader::User(5));
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
        assert_eq!(log.next(Cursor::new(Reader::Owner)), Some((&line("d"), 3)));
        assert_eq!(log.counts(), (6, 3));
    }
}
