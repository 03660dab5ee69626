//! What a program says while it runs. In: a node, now and then. Out: whole lines that it printed, and
//! what it does wrong, to the observer, each once.

use pinion_nanopu::node::Node;

use super::run::empty_read;
use crate::watch::Observer;
use pinion_app::service::Service;

/// Counts the bytes of a text's whole lines.
pub(crate) fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1)
}

/// Remembers what the observer has been told.
pub(super) struct Said {
    /// Number of bytes of the program's output that were passed on.
    printed: usize,
    /// By hart: its first empty read was told of.
    warned: Vec<bool>,
}

impl Said {
    /// Begins with nothing told, for a node of so many harts.
    pub fn new(harts: usize) -> Self {
        Self { printed: 0, warned: vec![false; harts] }
    }

    /// Passes on what was printed since the last time: whole lines, or at the end everything. Tells
    /// whether there was anything.
    pub fn print(&mut self, node: &Node, observer: &mut dyn Observer, all: bool) -> bool {
        let new = node.memory().devices.console.get(self.printed..).unwrap_or_default();
        let end = match all {
            true => new.len(),
            false => whole_lines(new),
        };
        if end > 0 {
            observer.console(&String::from_utf8_lossy(&new[..end]));
            self.printed += end;
        }
        end > 0
    }

    /// Warns of harts that have read an empty queue.
    pub fn warn(&mut self, node: &Node, service: &Service, observer: &mut dyn Observer) {
        for hart in 0..self.warned.len() {
            if node.core(hart).empty_reads > 0 && !self.warned[hart] {
                self.warned[hart] = true;
                if let Some(text) = empty_read(node, service, hart) {
                    observer.notice(&text);
                }
            }
        }
    }
}
