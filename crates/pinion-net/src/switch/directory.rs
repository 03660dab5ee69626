//! Who has which address. In: a frame. Out: the node it is for, or why there is none. Holds every
//! node's IPv4 address.

use std::collections::HashMap;

/// Stands for no node in a table of addresses.
const NOBODY: u32 = u32::MAX;

/// Says why a frame leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroutable {
    /// It is not an IPv4 frame.
    NotIpv4,
    /// No node has its destination's address.
    Unknown,
    /// No way leads from here to its destination.
    NoWay,
}

/// Knows which node an address is.
#[derive(Debug, Default)]
pub struct Directory {
    /// The address of the table's first entry.
    first: u32,
    table: Vec<u32>,
    /// Addresses too far from the others for the table.
    others: HashMap<u32, u32>,
}

impl Directory {
    /// Makes one; the n-th address is node n's. Of two nodes with one address the later has it.
    pub fn new(addresses: impl IntoIterator<Item = u32>) -> Self {
        let addresses: Vec<u32> = addresses.into_iter().collect();
        let first = addresses.iter().copied().min().unwrap_or(0);
        let most = 16 * addresses.len() + 1024;
        let mut directory = Self { first, table: Vec::new(), others: HashMap::new() };
        for (node, address) in addresses.into_iter().enumerate() {
            let place = (address - first) as usize;
            if place >= most {
                directory.others.insert(address, node as u32);
                continue;
            }
            if directory.table.len() <= place {
                directory.table.resize(place + 1, NOBODY);
            }
            directory.table[place] = node as u32;
        }
        directory
    }

    /// Gives the node that has an address.
    pub fn node(&self, address: u32) -> Option<usize> {
        let near = address.checked_sub(self.first).and_then(|at| self.table.get(at as usize));
        let node = match near {
            Some(&node) => Some(node).filter(|&node| node != NOBODY),
            None => self.others.get(&address).copied(),
        };
        node.map(|node| node as usize)
    }

    /// Gives the node a frame is for: that of its IPv4 destination.
    ///
    /// # Errors
    /// [`Unroutable`] when the frame is not IPv4 or nobody has the address.
    pub fn destination(&self, frame: &[u8]) -> Result<usize, Unroutable> {
        let Some(head) = frame.first_chunk::<34>() else { return Err(Unroutable::NotIpv4) };
        if head[12..14] != [0x08, 0x00] || head[14] >> 4 != 4 {
            return Err(Unroutable::NotIpv4);
        }
        let address = u32::from_be_bytes([head[30], head[31], head[32], head[33]]);
        self.node(address).ok_or(Unroutable::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_nodes_near_and_far() {
        let directory = Directory::new([0x0a00_0002, 0x0a00_0003, 0x0a00_0009, 0xc0a8_0001, 7]);
        let nodes = |addresses: &[u32]| -> Vec<Option<usize>> {
            addresses.iter().map(|&address| directory.node(address)).collect()
        };
        let near = nodes(&[0x0a00_0002, 0x0a00_0003, 0x0a00_0004, 0x0a00_0009]);
        assert_eq!(near, [Some(0), Some(1), None, Some(2)]);
        assert_eq!(nodes(&[0xc0a8_0001, 7, 8, 0, u32::MAX]), [Some(3), Some(4), None, None, None]);
        assert_eq!(Directory::default().node(0), None);
    }

    #[test]
    fn frames_that_lead_nowhere_say_why() {
        let directory = Directory::new([0x0a00_0002]);
        let mut frame = vec![0; 60];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        frame[30..34].copy_from_slice(&[10, 0, 0, 2]);
        assert_eq!(directory.destination(&frame), Ok(0));
        assert_eq!(directory.destination(&frame[..33]), Err(Unroutable::NotIpv4));
        frame[33] = 3;
        assert_eq!(directory.destination(&frame), Err(Unroutable::Unknown));
        frame[14] = 0x60;
        assert_eq!(directory.destination(&frame), Err(Unroutable::NotIpv4));
    }
}
