//! Frames that the kernel dropped on a device because nobody read them in time. In: the kernel's
//! table of devices, kept open in the device's network namespace. Out: how many since then.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// The table of the network namespace that the thread which opens it is in.
const TABLE: &str = "/proc/thread-self/net/dev";
/// The column of frames dropped on their way out, behind the device's name (proc_net(5)).
const DROPPED_OUT: usize = 11;

/// Counts a device's drops.
#[derive(Debug)]
pub(super) struct Drops {
    table: File,
    device: String,
    before: u64,
}

impl Drops {
    /// Begins to count; `None` where the kernel does not tell.
    pub fn of(device: &str) -> Option<Self> {
        let table = File::open(TABLE).ok()?;
        let drops = Self { table, device: device.to_string(), before: 0 };
        let before = drops.all()?;
        Some(Self { before, ..drops })
    }

    /// Gives how many frames were dropped since.
    pub fn count(&self) -> u64 {
        self.all().unwrap_or(0).saturating_sub(self.before)
    }

    fn all(&self) -> Option<u64> {
        let mut text = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match self.table.read_at(&mut piece, text.len() as u64).ok()? {
                0 => break,
                bytes => text.extend_from_slice(&piece[..bytes]),
            }
        }
        dropped(&String::from_utf8_lossy(&text), &self.device)
    }
}

/// Finds a device's drops in the table.
fn dropped(table: &str, device: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.trim_start().split_once(':'));
    let (_, numbers) = lines.find(|(name, _)| *name == device)?;
    numbers.split_whitespace().nth(DROPPED_OUT)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_by_the_devices_name() {
        let table = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    2    0     0          0         0      100       1    0    3    0     0       0          0
  pin0:1000     10    0    4    0     0          0         0     2000      20    0   17    0     0       0          0
";
        assert_eq!(dropped(table, "pin0"), Some(17));
        assert_eq!(dropped(table, "lo"), Some(3));
        assert_eq!(dropped(table, "pin"), None);
    }
}
