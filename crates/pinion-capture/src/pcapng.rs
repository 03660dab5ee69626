//! The blocks of a pcapng section. In: whole blocks. Out: packets with absolute time. Holds the
//! section's byte order and what its interfaces said about link type and clock.
//!
//! Times are computed here and not by the parsing crate, which reads a power-of-two resolution and
//! the offset of big-endian sections wrongly.

use super::LinkType;
use super::record::{PS_PER_S, Record};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    Block, EPB_MAGIC, EnhancedPacketBlock, IDB_MAGIC, InterfaceDescriptionBlock, OptionCode,
    SHB_MAGIC, SPB_MAGIC, SimplePacketBlock, parse_block_be, parse_block_le,
};

/// The type of the packet block that enhanced packet blocks replaced.
const OBSOLETE_PACKET: u32 = 2;
/// The byte-order mark of a section header block, read in the section's own order.
const BYTE_ORDER_MARK: u32 = 0x1a2b_3c4d;

struct Interface {
    link_number: u32,
    snap_bytes: u32,
    ticks_per_s: u128,
    offset_s: i64,
}

/// Interprets the blocks of the current section.
#[derive(Default)]
pub(super) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// One packet block's contents.
pub(super) struct Packet {
    pub(super) link_number: u32,
    time_ps: i128,
    original_bytes: u32,
    bytes: Vec<u8>,
}

impl Packet {
    pub(super) fn into_record(self, link: LinkType) -> Record {
        let Self { time_ps, original_bytes, bytes, .. } = self;
        Record { time_ps, link, original_bytes, bytes }
    }
}

impl Section {
    /// Tells a block's total length from its first 12 bytes; a section header sets the byte order.
    pub(super) fn block_bytes(&mut self, head: &[u8; 12]) -> Result<usize, String> {
        if le_word(head, 0) == SHB_MAGIC {
            self.big_endian = match (le_word(head, 8), le_word(head, 8).swap_bytes()) {
                (BYTE_ORDER_MARK, _) => false,
                (_, BYTE_ORDER_MARK) => true,
                (other, _) => {
                    return Err(format!("a section header has the byte-order mark {other:#010x}"));
                }
            };
        }
        let bytes = self.word(head, 4) as usize;
        if bytes < 12 || !bytes.is_multiple_of(4) {
            return Err(format!("its next block claims an impossible length of {bytes} bytes"));
        }
        Ok(bytes)
    }

    /// Interprets one whole block; kinds that carry no packet and no interface are passed over.
    pub(super) fn read_block(&mut self, block: &[u8]) -> Result<Option<Packet>, String> {
        let kind = self.word(block, 0);
        match kind {
            SHB_MAGIC | IDB_MAGIC | EPB_MAGIC | SPB_MAGIC => {}
            OBSOLETE_PACKET => {
                let advice = "rewrite the file with `editcap -F pcapng`";
                return Err(format!("it uses the obsolete packet block; {advice}"));
            }
            _ => return Ok(None),
        }
        let parse = if self.big_endian { parse_block_be } else { parse_block_le };
        let Ok((_, parsed)) = parse(block) else {
            return Err(format!("a block of type {kind:#010x} contradicts itself"));
        };
        match parsed {
            Block::SectionHeader(_) => self.interfaces.clear(),
            Block::InterfaceDescription(interface) => self.add_interface(&interface)?,
            Block::EnhancedPacket(packet) => return self.enhanced(&packet).map(Some),
            Block::SimplePacket(packet) => return self.simple(&packet).map(Some),
            _ => {}
        }
        Ok(None)
    }

    fn enhanced(&self, packet: &EnhancedPacketBlock) -> Result<Packet, String> {
        let Some(bytes) = packet.data.get(..packet.caplen as usize) else {
            return Err("a packet is longer than its block".into());
        };
        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
        let interface = self.interface(packet.if_id)?;
        Ok(Packet {
            link_number: interface.link_number,
            time_ps: interface.time_ps(ticks),
            original_bytes: packet.origlen,
            bytes: bytes.to_vec(),
        })
    }

    /// Reads a packet that has no time and no captured length of its own.
    fn simple(&self, packet: &SimplePacketBlock) -> Result<Packet, String> {
        let interface = self.interface(0)?;
        let snap_bytes = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
        let data = packet.packet_data();
        Ok(Packet {
            link_number: interface.link_number,
            time_ps: 0,
            original_bytes: packet.origlen,
            bytes: data[..data.len().min(snap_bytes as usize)].to_vec(),
        })
    }

    fn add_interface(&mut self, block: &InterfaceDescriptionBlock) -> Result<(), String> {
        let mut offset_s = 0;
        for option in block.options.iter().filter(|o| o.code == OptionCode::IfTsoffset) {
            if let Some(raw) = option.value().first_chunk::<8>() {
                let read = if self.big_endian { i64::from_be_bytes } else { i64::from_le_bytes };
                offset_s = read(*raw);
            }
        }
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let ticks_per_s = match block.if_tsresol & 0x80 {
            0 => 10u128.checked_pow(exponent),
            _ => 1u128.checked_shl(exponent),
        };
        let Some(ticks_per_s) = ticks_per_s else {
            return Err(format!("an interface has the time resolution {:#04x}", block.if_tsresol));
        };
        let (link_number, snap_bytes) = (block.linktype.0 as u32, block.snaplen);
        self.interfaces.push(Interface { link_number, snap_bytes, ticks_per_s, offset_s });
        Ok(())
    }

    fn interface(&self, index: u32) -> Result<&Interface, String> {
        self.interfaces.get(index as usize).ok_or_else(|| {
            format!("a packet names interface {index}; {} are described", self.interfaces.len())
        })
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = le_word(bytes, at);
        if self.big_endian { word.swap_bytes() } else { word }
    }
}

impl Interface {
    fn time_ps(&self, ticks: u64) -> i128 {
        let ticks = u128::from(ticks);
        let (whole, part) = (ticks / self.ticks_per_s, ticks % self.ticks_per_s);
        // A resolution so fine that the product overflows has no whole picosecond in `part`.
        let part_ps = part.checked_mul(PS_PER_S as u128).map_or(0, |p| p / self.ticks_per_s);
        (whole as i128 + i128::from(self.offset_s)) * PS_PER_S + part_ps as i128
    }
}

fn le_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
