//! The NIC memory that a host program reaches: what its image occupies, its handler memory, its
//! scratchpads. In: an access of a program. Out: leave, or whose memory it would have been.
//!
//! An image that several programs share is read by all of them; written is what its handlers and host
//! programs share (`__host_data`), and the rest by a program that has the image alone.

use std::ops::Range;

use pinion_host::Access;
use pinion_spin::Machine;

use super::board::Board;
use super::holder::Holder;
use super::images::Loaded;
use super::refusal::{Code, Refusal};

/// Tells whether some ranges hold all of another one, perhaps together.
pub fn covers(windows: &[Range<u32>], wanted: &Range<u32>) -> bool {
    let mut at = wanted.start;
    while at < wanted.end {
        let Some(window) = windows.iter().find(|window| window.contains(&at)) else { return false };
        at = window.end;
    }
    true
}

/// Gives a range as everybody sees it: at the alias lies the first cluster's L1 for a host.
fn canonical(machine: &Machine, Range { start, end }: Range<u32>) -> Range<u32> {
    let l1 = &machine.l1;
    match start.checked_sub(l1.alias) {
        Some(offset) if offset < l1.bytes => l1.base + offset..l1.base + offset + (end - start),
        _ => start..end,
    }
}

fn refuse(text: String) -> Refusal {
    Refusal::new(Code::Range, text)
}

impl Board {
    /// Refuses an access to NIC memory that is not a program's own.
    ///
    /// # Errors
    /// Where there is no memory, or it is another's, or nobody's.
    pub fn check_access(
        &self,
        connection: u64,
        access: Access,
        (address, bytes): (u32, u32),
    ) -> Result<(), Refusal> {
        let end = address.checked_add(bytes);
        let is_memory = self.nic.read_memory(address, &mut vec![0; bytes as usize]);
        let Some(end) = end.filter(|_| is_memory) else {
            return Err(refuse(format!("{bytes} bytes at {address:#x} are not NIC memory")));
        };
        let wanted = canonical(&self.machine, address..end);
        let holder = self.holders.get(&connection);
        let own = holder.map(|holder| self.windows(holder, access)).unwrap_or_default();
        if covers(&own, &wanted) {
            return Ok(());
        }
        let verb = match access {
            Access::Read => "show",
            Access::Write => "change",
        };
        let meets = |(range, _): &&(Range<u32>, String)| {
            wanted.start < range.end && range.start < wanted.end
        };
        Err(refuse(match self.others_memory(connection).iter().find(meets) {
            Some((_, whose)) => format!("{bytes} bytes at {address:#x} would {verb} {whose}"),
            None => format!(
                "{bytes} bytes at {address:#x} would {verb} what is not this program's: it has its \
                 image, its handler memory and its scratchpads"
            ),
        }))
    }

    /// Lists the memory that a program may read or write.
    fn windows(&self, holder: &Holder, access: Access) -> Vec<Range<u32>> {
        let mut windows: Vec<_> =
            holder.ranges(&self.machine).into_iter().map(|(range, _)| range).collect();
        let loaded = holder.image.and_then(|index| self.images[index].as_ref());
        let Some(loaded) = loaded else { return windows };
        if access == Access::Read || loaded.users == 1 {
            windows.extend(loaded.ranges.iter().map(|(range, _)| range.clone()));
        } else {
            windows.extend(loaded.host_data.clone());
        }
        windows
    }

    /// Lists memory that belongs to others than a connection, with whose it is.
    fn others_memory(&self, connection: u64) -> Vec<(Range<u32>, String)> {
        let mut all = Vec::new();
        let own = self.holders.get(&connection).and_then(|holder| holder.image);
        for (index, loaded) in self.images.iter().enumerate() {
            let Some(loaded) = loaded else { continue };
            if own == Some(index) && loaded.users == 1 {
                continue;
            }
            let whose = match own == Some(index) {
                true => format!("the image {}, which other programs share", loaded.image.name),
                false => format!("the image {}", loaded.image.name),
            };
            all.extend(loaded.ranges.iter().map(|(range, _)| (range.clone(), whose.clone())));
        }
        for (_, holder) in self.holders.iter().filter(|(number, _)| **number != connection) {
            let whose =
                |what| format!("the {what} of context {}, {}", holder.first, holder.describe());
            let ranges = holder.ranges(&self.machine).into_iter();
            all.extend(ranges.map(|(range, what)| (range, whose(what))));
        }
        all
    }
}

/// Refuses an image that lies where a context's programs must not: in another context's part of
/// handler memory.
pub fn check_share(loaded: &Loaded, machine: &Machine, share: &Range<u32>) -> Result<(), String> {
    let l2 = super::holder::l2(machine);
    let allowed = [super::holder::statics(machine), share.clone()];
    let outside = loaded
        .ranges
        .iter()
        .find(|(range, _)| l2.contains(&range.start) && !covers(&allowed, range));
    let Some((range, what)) = outside else { return Ok(()) };
    Err(format!(
        "its {what} at {:#x} to {:#x} reach beyond what its context has of handler memory, {:#x} to \
         {:#x}: make them smaller, or give contexts more (pinion nic --contexts 1)",
        range.start, range.end, share.start, share.end
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_side_by_side_hold_what_lies_in_both() {
        let windows = [0x100..0x200, 0x200..0x280, 0x300..0x400];
        for inside in [0x100..0x101, 0x1ff..0x201, 0x100..0x280, 0x3ff..0x400, 5..5] {
            assert!(covers(&windows, &inside), "{inside:x?}");
        }
        for outside in [0xff..0x101, 0x27f..0x281, 0x280..0x300, 0x100..0x400, 0x400..0x401] {
            assert!(!covers(&windows, &outside), "{outside:x?}");
        }
    }

    #[test]
    fn a_host_sees_the_first_cluster_at_the_alias() {
        let machine =
            pinion_app::machine::load::<pinion_spin::Machine>("fpspin", &[], false).unwrap().value;
        let l1 = &machine.l1;
        let seen = canonical(&machine, l1.alias + 8..l1.alias + 16);
        assert_eq!(seen, l1.base + 8..l1.base + 16);
        assert_eq!(canonical(&machine, l1.base..l1.base + 4), l1.base..l1.base + 4);
    }
}
