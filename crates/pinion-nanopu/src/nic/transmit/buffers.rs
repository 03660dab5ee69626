//! The packetization buffers: memory cut into buffers of a few sizes, and lists of the free ones.
//!
//! In: requests for a buffer of at least so many bytes. Out: its class and where it starts, in
//! words of 64 B. A request takes the smallest class that has one free and is large enough; lists
//! are first in, first out, as in the RTL, so that names repeat in the same order.

use std::collections::VecDeque;

use crate::machine::transmit::{BufferClass, DATAPATH_BYTES};
use crate::nic::grow;

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
    classes: Vec<Class>,
}

/// Buffers of one size.
#[derive(Clone, Debug)]
struct Class {
    bytes: u16,
    /// Where the first starts, in words of 64 B.
    first: u16,
    /// Where those start that are free.
    free: VecDeque<u16>,
    /// The bytes of each as far as messages have used it; those behind are zero.
    bodies: Vec<Vec<u8>>,
}

impl Buffers {
    /// Makes buffers of these classes, all free.
    pub fn new(classes: &[BufferClass]) -> Self {
        let mut first = 0;
        let class = |class: &BufferClass| {
            let words = class.bytes / DATAPATH_BYTES as u16;
            let free = (0..class.count).map(|n| first + n * words).collect();
            let made = Class { bytes: class.bytes, first, free, bodies: Vec::new() };
            first += class.count * words;
            made
        };
        Self { classes: classes.iter().map(class).collect() }
    }

    /// Tells whether a buffer of `bytes` is free.
    pub fn has(&self, bytes: u16) -> bool {
        self.classes.iter().any(|class| class.bytes >= bytes && !class.free.is_empty())
    }

    /// Takes a buffer of at least `bytes`.
    pub fn take(&mut self, bytes: u16) -> Option<Buffer> {
        self.classes.iter_mut().enumerate().find_map(|(number, class)| {
            let pointer = (class.bytes >= bytes).then(|| class.free.pop_front()).flatten()?;
            let buffer = Buffer { pointer, class: number as u8 };
            // Whole words are written, and at least one.
            class.grow(pointer, usize::from(bytes).max(1).next_multiple_of(8));
            Some(buffer)
        })
    }

    /// Gives a buffer back.
    pub fn give_back(&mut self, buffer: Buffer) {
        self.classes[usize::from(buffer.class)].free.push_back(buffer.pointer);
    }

    /// Writes a word of a message, in network byte order, `offset` bytes into its buffer.
    pub fn write(&mut self, buffer: Buffer, offset: usize, word: u64) {
        self.body(buffer)[offset..offset + 8].copy_from_slice(&word.to_be_bytes());
    }

    /// Gives the places of `words` words, the first `offset` bytes into a buffer.
    pub fn words(
        &mut self,
        buffer: Buffer,
        offset: usize,
        words: usize,
    ) -> std::slice::ChunksExactMut<'_, u8> {
        self.body(buffer)[offset..offset + 8 * words].chunks_exact_mut(8)
    }

    /// Gives `bytes` bytes of a buffer from `offset` on.
    pub fn read(&self, buffer: Buffer, offset: usize, bytes: usize) -> &[u8] {
        let class = &self.classes[usize::from(buffer.class)];
        &class.bodies[class.number(buffer.pointer)][offset..offset + bytes]
    }

    fn body(&mut self, buffer: Buffer) -> &mut [u8] {
        let class = &mut self.classes[usize::from(buffer.class)];
        let number = class.number(buffer.pointer);
        &mut class.bodies[number]
    }

    /// Counts the free buffers of all classes.
    pub fn free(&self) -> usize {
        self.classes.iter().map(|class| class.free.len()).sum()
    }
}

impl Class {
    /// Gives the number of the buffer that starts there.
    fn number(&self, pointer: u16) -> usize {
        usize::from(pointer - self.first) * DATAPATH_BYTES / usize::from(self.bytes)
    }

    /// Lets a buffer have room for `bytes` bytes, and no more: many hold none but short messages.
    fn grow(&mut self, pointer: u16, bytes: usize) {
        let number = self.number(pointer);
        if self.bodies.len() <= number {
            self.bodies.resize(number + 1, Vec::new());
        }
        grow(&mut self.bodies[number], bytes);
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
