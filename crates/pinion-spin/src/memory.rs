//! The memories' content and the address map as a core sees it.
//!
//! Holds bytes only: who may touch them and how long it takes is the interconnect's, the clusters'
//! and the protection's affair.

use std::ops::{Deref, DerefMut};
#[cfg(target_os = "linux")]
use std::{ops::Range, os::fd::OwnedFd};

#[cfg(target_os = "linux")]
use pinion_host::ExportedMemory;

use crate::Machine;

/// Says what lies at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A cluster's L1, with the offset in it.
    L1 {
        /// The cluster.
        cluster: u32,
        /// Offset.
        offset: u32,
    },
    /// L2 handler memory, with the offset in it.
    L2Handler(u32),
    /// The L2 packet buffer, with the offset in it.
    L2Packet(u32),
    /// Program memory, with the offset in it.
    Program(u32),
    /// Peripherals of the core's own cluster, with the offset in them.
    Peripheral(u32),
    /// The standard output device, with the offset in it.
    Output(u32),
    /// SoC control.
    SocControl,
}

pub use pinion_spin_machine::{PERIPHERALS, PERIPHERALS_BYTES};
/// Offset of the public DMA port in a cluster's peripherals, and its bytes.
pub const PUBLIC_DMA: (u32, u32) = (0x1800, 0x100);
const SOC_CONTROL: u32 = 0x1a10_3000;
const OUTPUT: u32 = 0x1a10_4000;
const DEVICE_BYTES: u32 = 0x1000;

/// Holds a memory's bytes, by itself or where other processes can read them.
#[derive(Debug)]
enum Store {
    Own(Vec<u8>),
    #[cfg(target_os = "linux")]
    Exported(ExportedMemory),
}

/// A copy is nobody else's.
impl Clone for Store {
    fn clone(&self) -> Self {
        Self::Own(self.to_vec())
    }
}

impl Deref for Store {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Self::Exported(bytes) => bytes,
        }
    }
}

impl DerefMut for Store {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Self::Exported(bytes) => bytes,
        }
    }
}

/// Holds the bytes of all memories of a NIC.
#[derive(Clone, Debug)]
pub struct Memories {
    map: Map,
    l1: Vec<Vec<u8>>,
    l2_handler: Store,
    l2_packet: Vec<u8>,
    program: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Map {
    l1_base: u32,
    l1_stride_shift: u32,
    l1_alias: u32,
    l1_bytes: u32,
    clusters: u32,
    l2_handler: (u32, u32),
    l2_packet: (u32, u32),
    program: (u32, u32),
}

impl Map {
    /// Finds what lies at an offset behind a cluster's L1: its peripherals as everybody sees them.
    /// Of another cluster's, only the public DMA port answers, and the copy is made by the asking
    /// core's own engine.
    #[cold]
    fn peripheral(&self, offset: u32, own: bool) -> Option<Place> {
        let offset = offset.checked_sub(PERIPHERALS - self.l1_alias)?;
        let (from, bytes) = PUBLIC_DMA;
        let answers = own && offset < PERIPHERALS_BYTES || offset.wrapping_sub(from) < bytes;
        answers.then_some(Place::Peripheral(offset))
    }
}

impl Memories {
    /// Makes the memories of a machine, all zero.
    pub fn new(machine: &Machine) -> Self {
        let zeroed = |bytes: u32| vec![0; bytes as usize];
        Self {
            map: Map {
                l1_base: machine.l1.base,
                l1_stride_shift: machine.l1.stride.trailing_zeros(),
                l1_alias: machine.l1.alias,
                l1_bytes: machine.l1.bytes,
                clusters: machine.cluster.count,
                l2_handler: (machine.l2_handler.base, machine.l2_handler.bytes),
                l2_packet: (machine.l2_packet.base, machine.l2_packet.bytes),
                program: (machine.program.base, machine.program.bytes),
            },
            l1: (0..machine.cluster.count).map(|_| zeroed(machine.l1.bytes)).collect(),
            l2_handler: Store::Own(zeroed(machine.l2_handler.bytes)),
            l2_packet: zeroed(machine.l2_packet.bytes),
            program: zeroed(machine.program.bytes),
        }
    }

    /// Finds what lies at an address; `own` is the asking core's cluster.
    #[inline]
    pub fn place(&self, address: u32, own: u32) -> Option<Place> {
        let map = &self.map;
        let offset = address.wrapping_sub(map.l1_base);
        let cluster = offset >> map.l1_stride_shift;
        if cluster < map.clusters {
            let offset = offset & ((1 << map.l1_stride_shift) - 1);
            if offset < map.l1_bytes {
                return Some(Place::L1 { cluster, offset });
            }
            return map.peripheral(offset, cluster == own);
        }
        let offset = address.wrapping_sub(map.l1_alias);
        if offset < map.l1_bytes {
            return Some(Place::L1 { cluster: own, offset });
        }
        let within = |(base, bytes): (u32, u32)| {
            let offset = address.wrapping_sub(base);
            (offset < bytes).then_some(offset)
        };
        if let Some(offset) = within((PERIPHERALS, PERIPHERALS_BYTES)) {
            return Some(Place::Peripheral(offset));
        }
        if let Some(offset) = within(map.l2_handler) {
            return Some(Place::L2Handler(offset));
        }
        if let Some(offset) = within(map.l2_packet) {
            return Some(Place::L2Packet(offset));
        }
        if let Some(offset) = within(map.program) {
            return Some(Place::Program(offset));
        }
        if let Some(offset) = within((OUTPUT, DEVICE_BYTES)) {
            return Some(Place::Output(offset));
        }
        within((SOC_CONTROL, DEVICE_BYTES)).map(|_| Place::SocControl)
    }

    /// Gives the bytes of a memory range, if it lies in one memory.
    #[inline]
    pub fn slice(&self, place: Place, bytes: u32) -> Option<&[u8]> {
        let (memory, offset) = match place {
            Place::L1 { cluster, offset } => (&self.l1[cluster as usize][..], offset),
            Place::L2Handler(offset) => (&self.l2_handler[..], offset),
            Place::L2Packet(offset) => (&self.l2_packet[..], offset),
            Place::Program(offset) => (&self.program[..], offset),
            Place::Peripheral(_) | Place::Output(_) | Place::SocControl => return None,
        };
        memory.get(offset as usize..offset as usize + bytes as usize)
    }

    /// Gives the bytes of a memory range for writing, if it lies in one memory.
    #[inline]
    pub fn slice_mut(&mut self, place: Place, bytes: u32) -> Option<&mut [u8]> {
        let (memory, offset) = match place {
            Place::L1 { cluster, offset } => (&mut self.l1[cluster as usize][..], offset),
            Place::L2Handler(offset) => (&mut self.l2_handler[..], offset),
            Place::L2Packet(offset) => (&mut self.l2_packet[..], offset),
            Place::Program(offset) => (&mut self.program[..], offset),
            Place::Peripheral(_) | Place::Output(_) | Place::SocControl => return None,
        };
        memory.get_mut(offset as usize..offset as usize + bytes as usize)
    }

    /// Gives the bytes at an address outside any cluster's own view.
    pub fn read(&self, address: u32, bytes: u32) -> Option<&[u8]> {
        self.slice(self.place(address, 0)?, bytes)
    }

    /// Writes bytes at an address outside any cluster's own view; `None` if it is no memory.
    pub fn write(&mut self, address: u32, data: &[u8]) -> Option<()> {
        let place = self.place(address, 0)?;
        let bytes = u32::try_from(data.len()).ok()?;
        self.slice_mut(place, bytes)?.copy_from_slice(data);
        Some(())
    }

    /// Moves a window of L2 handler memory, an offset and bytes, to where other processes can read it
    /// and nothing else, and gives that.
    ///
    /// # Errors
    /// When it is no window of whole pages, or the kernel gives no such memory.
    #[cfg(target_os = "linux")]
    pub fn share_handler_memory(&mut self, window: Range<usize>) -> std::io::Result<OwnedFd> {
        if let Store::Own(bytes) = &self.l2_handler {
            let mut exported = ExportedMemory::new(bytes.len())?;
            exported.copy_from_slice(bytes);
            self.l2_handler = Store::Exported(exported);
        }
        match &mut self.l2_handler {
            Store::Exported(exported) => exported.share("pinion-handler-memory", window),
            Store::Own(_) => unreachable!("it was moved just now"),
        }
    }

    /// Tells whether other processes can read some of it.
    pub fn is_shared(&self) -> bool {
        !matches!(self.l2_handler, Store::Own(_))
    }

    /// Zeroes all memories.
    pub fn clear(&mut self) {
        self.l1.iter_mut().for_each(|memory| memory.fill(0));
        self.l2_handler.fill(0);
        self.l2_packet.fill(0);
        self.program.fill(0);
    }

    /// Gives a cluster's L1.
    #[inline]
    pub fn l1_mut(&mut self, cluster: usize) -> &mut [u8] {
        &mut self.l1[cluster]
    }

    /// Reads a little-endian value of up to four bytes.
    #[inline]
    pub fn load(&self, place: Place, bytes: u8) -> Option<u32> {
        read_value(self.slice(place, u32::from(bytes))?)
    }

    /// Writes a little-endian value of up to four bytes.
    #[inline]
    pub fn store(&mut self, place: Place, bytes: u8, value: u32) -> Option<()> {
        write_value(self.slice_mut(place, u32::from(bytes))?, value)
    }

    /// Copies between two memory ranges; `None` if one of them is no memory.
    pub fn copy(
        &mut self,
        from: Place,
        to: Place,
        bytes: u32,
        scratch: &mut Vec<u8>,
    ) -> Option<()> {
        if let (Place::L2Packet(from), Place::L1 { cluster, offset }) = (from, to) {
            // Nearly always: a packet on its way to a handler.
            let from = self.l2_packet.get(from as usize..from as usize + bytes as usize)?;
            let to = &mut self.l1[cluster as usize];
            to.get_mut(offset as usize..offset as usize + bytes as usize)?.copy_from_slice(from);
            return Some(());
        }
        scratch.clear();
        scratch.extend_from_slice(self.slice(from, bytes)?);
        self.slice_mut(to, bytes)?.copy_from_slice(scratch);
        Some(())
    }
}

/// Reads one, two or four bytes, little-endian.
#[inline(always)]
pub fn read_value(bytes: &[u8]) -> Option<u32> {
    Some(match *bytes {
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        [a] => u32::from(a),
        _ => return None,
    })
}

/// Writes one, two or four bytes, little-endian.
#[inline(always)]
pub fn write_value(bytes: &mut [u8], value: u32) -> Option<()> {
    match bytes {
        [_, _, _, _] => bytes.copy_from_slice(&value.to_le_bytes()),
        [_, _] => bytes.copy_from_slice(&(value as u16).to_le_bytes()),
        [byte] => *byte = value as u8,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn peripherals_answer_behind_each_l1_too() {
        let memories = Memories::new(&machine());
        let peripheral = |offset| Some(Place::Peripheral(offset));
        assert_eq!(memories.place(0x1b20_5000, 1), peripheral(0x5000));
        assert_eq!(memories.place(0x1060_5000, 1), peripheral(0x5000));
        assert_eq!(memories.place(0x1060_5000, 0), None, "another cluster's");
        assert_eq!(memories.place(0x1060_1800, 0), peripheral(0x1800), "but its public port");
        assert_eq!(memories.place(0x1050_0000, 1), None, "behind L1");
    }
}
