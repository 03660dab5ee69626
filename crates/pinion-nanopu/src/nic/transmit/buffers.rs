//! The packetization buffers: memory cut into buffers of a few sizes, and lists of the free ones.
//!
//! In: requests for a buffer of at least so many bytes. Out: its class and where it starts, in
//! words of 64 B. A request takes the smallest class that has one free and is large enough; lists
//! are first in, first out, as in the RTL, so that names repeat in the same order.

use std::collections::VecDeque;

use crate::machine::transmit::{BufferClass, DATAPATH_BYTES};

/// Names a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// Where it starts, in words of 64 B.
    pub pointer: u16,
    /// Its size class.
    pub class: u8,
}

/// Holds the memory and the free buffers.
#[derive(Clone, Debug)]
pub struct Buffers {
    memory: Vec<u8>,
    classes: Vec<(u16, VecDeque<u16>)>,
}

impl Buffers {
    /// Makes buffers of these classes, all free.
    pub fn new(classes: &[BufferClass]) -> Self {
        let mut pointer = 0usize;
        let mut free = Vec::new();
        for class in classes {
            let words = usize::from(class.bytes) / DATAPATH_BYTES;
            let count = usize::from(class.count);
            let pointers = (0..count).map(|n| (pointer + n * words) as u16).collect();
            pointer += count * words;
            free.push((class.bytes, pointers));
        }
        Self { memory: vec![0; pointer * DATAPATH_BYTES], classes: free }
    }

    /// Tells whether a buffer of `bytes` is free.
    pub fn has(&self, bytes: u16) -> bool {
        self.classes.iter().any(|(size, free)| *size >= bytes && !free.is_empty())
    }

    /// Takes a buffer of at least `bytes`.
    pub fn take(&mut self, bytes: u16) -> Option<Buffer> {
        self.classes.iter_mut().enumerate().find_map(|(class, (size, free))| {
            let pointer = (*size >= bytes).then(|| free.pop_front()).flatten()?;
            Some(Buffer { pointer, class: class as u8 })
        })
    }

    /// Gives a buffer back.
    pub fn give_back(&mut self, buffer: Buffer) {
        self.classes[usize::from(buffer.class)].1.push_back(buffer.pointer);
    }

    /// Writes a word of a message, in network byte order, `offset` bytes into its buffer.
    pub fn write(&mut self, buffer: Buffer, offset: usize, word: u64) {
        let at = usize::from(buffer.pointer) * DATAPATH_BYTES + offset;
        self.memory[at..at + 8].copy_from_slice(&word.to_be_bytes());
    }

    /// Gives the places of `words` words, the first `offset` bytes into a buffer.
    pub fn words(
        &mut self,
        buffer: Buffer,
        offset: usize,
        words: usize,
    ) -> std::slice::ChunksExactMut<'_, u8> {
        let at = usize::from(buffer.pointer) * DATAPATH_BYTES + offset;
        self.memory[at..at + 8 * words].chunks_exact_mut(8)
    }

    /// Gives `bytes` bytes of a buffer from `offset` on.
    pub fn read(&self, buffer: Buffer, offset: usize, bytes: usize) -> &[u8] {
        let at = usize::from(buffer.pointer) * DATAPATH_BYTES + offset;
        &self.memory[at..at + bytes]
    }

    /// Counts the free buffers of all classes.
    pub fn free(&self) -> usize {
        self.classes.iter().map(|(_, free)| free.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers() -> Buffers {
        let small = BufferClass { bytes: 1024, count: 64 };
        Buffers::new(&[small, BufferClass { bytes: 2048, count: 64 }])
    }

    #[test]
    fn pointers_are_those_of_the_rtl() {
        let mut buffers = buffers();
        let pointers: Vec<_> = (0..3).map(|_| buffers.take(8).unwrap().pointer).collect();
        assert_eq!(pointers, [0, 16, 32]);
        let pointers: Vec<_> = (0..2).map(|_| buffers.take(1025).unwrap().pointer).collect();
        assert_eq!(pointers, [1024, 1056]);
    }

    #[test]
    fn small_messages_overflow_into_large_buffers_and_names_come_back_in_order() {
        let mut buffers = buffers();
        let taken: Vec<_> = (0..128).map(|_| buffers.take(16).unwrap()).collect();
        assert_eq!((taken[63].class, taken[64].class), (0, 1));
        assert_eq!(buffers.take(16), None);
        buffers.give_back(taken[7]);
        buffers.give_back(taken[3]);
        assert_eq!(buffers.take(16), Some(taken[7]));
        assert!(!buffers.has(2048) && buffers.has(1024) && buffers.free() == 1);
    }
}
