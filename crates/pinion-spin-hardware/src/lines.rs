//! Lines of the NIC's memories as blocks move them: which memory an address is in, what a line's words are.

use pinion_sim::block::{Block, power_of_two};
use pinion_spin_machine::Machine;

/// Bits of an address above which blocks tell memories apart.
pub const WINDOW_SHIFT: u32 = 22;
const FIRST_L1: u32 = 0x1000_0000 >> WINDOW_SHIFT;
/// Windows of L2's memories.
pub const HANDLER: u32 = 0x1c00_0000 >> WINDOW_SHIFT;
pub const PACKET: u32 = 0x1c40_0000 >> WINDOW_SHIFT;
/// Most clusters, and most bytes of a line: there is a bit for each.
const MOST_CLUSTERS: u32 = 32;
const MOST_LINE_BYTES: u32 = 64;
const WORD_BYTES: usize = 4;
/// L2's memories.
pub const L2_MEMORIES: u32 = 2;
/// Cycles from a line's request to its data, of L1 and of L2, and to its place in the queue of what leaves.
const L1_DATA_CYCLES: u64 = 2;
const L2_DATA_CYCLES: u64 = 1;
pub const LEAVES_CYCLES: u64 = 3;

/// Refuses a number of the machine that is not the block's.
pub fn has(key: &str, value: u64, block: u64) -> Result<(), String> {
    match value == block {
        true => Ok(()),
        false => Err(format!("{key} is {value}; the block has {block}: --set {key}={block}")),
    }
}

/// Gives a line's bytes, of a machine whose memories are where blocks look for them.
pub fn line_bytes(machine: &Machine) -> Result<u32, String> {
    let bytes = power_of_two("command.port_bytes", machine.command.port_bytes, 8)? as u32;
    if bytes > MOST_LINE_BYTES {
        return Err(format!(
            "--set command.port_bytes={MOST_LINE_BYTES}: a block has no longer lines"
        ));
    }
    if machine.cluster.count > MOST_CLUSTERS {
        return Err(format!("--set cluster.count={MOST_CLUSTERS}: a block has no more clusters"));
    }
    has("l1.base", machine.l1.base.into(), (FIRST_L1 << WINDOW_SHIFT).into())?;
    has("l1.stride", machine.l1.stride.into(), 1 << WINDOW_SHIFT)?;
    Ok(bytes)
}

/// Gives the bits of a line's number in its memory.
pub const fn line_bits(line_bytes: u32) -> u32 {
    WINDOW_SHIFT - line_bytes.trailing_zeros()
}

/// Gives the number of an address' line in its memory.
pub const fn line_of(address: u32, line_bytes: u32) -> u32 {
    (address & ((1 << WINDOW_SHIFT) - 1)) / line_bytes
}

/// Names a memory as blocks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A cluster's.
    L1 {
        /// The cluster.
        cluster: u32,
    },
    /// Handlers' in L2.
    Handler,
    /// Packets' in L2.
    Packet,
}

impl Memory {
    /// Finds the memory of an address.
    pub fn of(address: u32, clusters: u32) -> Option<Self> {
        match address >> WINDOW_SHIFT {
            HANDLER => Some(Self::Handler),
            PACKET => Some(Self::Packet),
            window => {
                let cluster = window.checked_sub(FIRST_L1)?;
                (cluster < clusters).then_some(Self::L1 { cluster })
            }
        }
    }

    /// Gives the cycles from a line's request to its data.
    const fn data_cycles(self) -> u64 {
        if matches!(self, Self::L1 { .. }) { L1_DATA_CYCLES } else { L2_DATA_CYCLES }
    }
}

/// Names the ports of what reads lines of the NIC's memories.
#[derive(Clone, Copy, Debug)]
pub struct ReadPorts {
    /// `l1_valid`, with `l1_ready`, `l1_line` and `l1_data` behind it.
    pub l1: usize,
    /// `l2_valid`, likewise.
    pub l2: usize,
}

const READY: usize = 1;
const LINE: usize = 2;
const DATA: usize = 3;

/// Is a line that is read in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Reads {
    memory: Memory,
    line: u32,
    /// Whether it is the last of a command.
    pub is_last: bool,
}

/// Is a line that comes in a cycle.
#[derive(Debug)]
pub struct Comes {
    memory: Memory,
    bytes: Vec<u8>,
}

impl ReadPorts {
    /// Gives the lines that are read from an address on, with the cycles from the first request to each, and to
    /// its data.
    pub fn lines(
        from: u32,
        memory: Memory,
        lines: &[u8],
        line_bytes: usize,
    ) -> impl Iterator<Item = (u64, Reads, u64, Comes)> {
        let first = line_of(from, line_bytes as u32);
        let count = lines.len() / line_bytes;
        lines.chunks(line_bytes).enumerate().map(move |(number, line)| {
            let reads = Reads { memory, line: first + number as u32, is_last: number + 1 == count };
            let comes = Comes { memory, bytes: line.to_vec() };
            let at = number as u64;
            (at, reads, at + memory.data_cycles(), comes)
        })
    }

    /// Lets a block read a line in this cycle, which it has to ask for, or none; it asks for none where nothing is
    /// `open`.
    pub fn read(self, block: &mut dyn Block, reads: Option<Reads>, is_open: bool) {
        let (mut l1, mut l2) = (0, 0);
        if let Some(Reads { memory, line, .. }) = reads {
            let port = match memory {
                Memory::L1 { cluster } => {
                    l1 = 1 << cluster;
                    self.l1
                }
                Memory::Handler | Memory::Packet => {
                    l2 = 1 << u32::from(memory == Memory::Packet);
                    self.l2
                }
            };
            block.expect(port + LINE, line.into());
        }
        if reads.is_some() || !is_open {
            block.expect(self.l1, l1);
            block.expect(self.l2, l2);
        }
        block.put(self.l1 + READY, l1);
        block.put(self.l2 + READY, l2);
    }

    /// Gives a block a line that it asked for.
    pub fn come(self, block: &mut dyn Block, line: &Comes) {
        let (port, place) = match line.memory {
            Memory::L1 { cluster } => (self.l1, cluster as usize),
            Memory::Handler => (self.l2, 0),
            Memory::Packet => (self.l2, 1),
        };
        put_bytes(block, port + DATA, place * line.bytes.len(), &line.bytes);
    }
}

/// Gives the address at which the lines begin that bytes lie in, and these lines' bytes.
pub fn lines_of(from: u64, bytes: u32, line_bytes: u32) -> (u64, u32) {
    let begins = from & !u64::from(line_bytes - 1);
    let span = ((from - begins) as u32).saturating_add(bytes);
    (begins, span.checked_next_multiple_of(line_bytes).unwrap_or(span))
}

/// Gives an input bytes from a place on, which is a word's.
pub fn put_bytes(block: &mut dyn Block, port: usize, place: usize, bytes: &[u8]) {
    for (word, four) in bytes.chunks(WORD_BYTES).enumerate() {
        block.put_word(port, place / WORD_BYTES + word, word_of(four));
    }
}

/// Wants an output to have bytes from a place on; of words of which it has not all bytes nothing is wanted.
pub fn expect_bytes(block: &mut dyn Block, port: usize, place: usize, bytes: &[u8]) {
    let skipped = place.next_multiple_of(WORD_BYTES) - place;
    let whole = bytes.get(skipped..).unwrap_or_default();
    for (word, four) in whole.chunks_exact(WORD_BYTES).enumerate() {
        block.expect_word(port, (place + skipped) / WORD_BYTES + word, word_of(four));
    }
}

/// Gives the bits of bytes from a place on.
pub fn strobes(place: usize, bytes: usize) -> u64 {
    let all = u64::MAX.checked_shr(64 - bytes as u32).unwrap_or(0);
    all << place
}

/// Is part of a line that is written: the line's number, the part's place in it, its bytes.
pub type Written = (u64, usize, Vec<u8>);

/// Wants a line to be written, whose data and strobes are the ports behind its own.
pub fn expect_written(block: &mut dyn Block, port: usize, written: &Written) {
    let (line, place, bytes) = written;
    block.expect(port, *line);
    expect_bytes(block, port + 1, *place, bytes);
    block.expect(port + 2, strobes(*place, bytes.len()));
}

fn word_of(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))
}

/// Is a part of some bytes: where it lies in its line, and its bytes.
pub type Part<'a> = (usize, &'a [u8]);

/// Cuts bytes that begin at an offset in a line into lines.
pub fn parts(offset: usize, bytes: &[u8], line_bytes: usize) -> impl Iterator<Item = Part<'_>> {
    let (first, rest) = bytes.split_at(bytes.len().min(line_bytes - offset));
    std::iter::once((offset, first)).chain(rest.chunks(line_bytes).map(|part| (0, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_all_that_have_a_byte() {
        assert_eq!(lines_of(0x1c40_0008, 56, 64), (0x1c40_0000, 64));
        assert_eq!(lines_of(0x1c40_0008, 57, 64), (0x1c40_0000, 128));
        let cut: Vec<Part<'_>> = parts(62, &[1, 2, 3], 64).collect();
        assert_eq!(cut, [(62, &[1, 2][..]), (0, &[3][..])]);
        assert_eq!(parts(0, &[1], 64).count(), 1);
        assert_eq!(strobes(62, 2), 3 << 62);
        assert_eq!((strobes(0, 64), strobes(3, 0)), (u64::MAX, 0));
    }

    #[test]
    fn memories_are_told_by_their_windows() {
        assert_eq!(Memory::of(0x1040_4400, 2), Some(Memory::L1 { cluster: 1 }));
        assert_eq!(Memory::of(0x1080_4400, 2), None);
        assert_eq!(Memory::of(0x1c3f_ffff, 2), Some(Memory::Handler));
        assert_eq!(Memory::of(0x1c40_0000, 2), Some(Memory::Packet));
    }
}
