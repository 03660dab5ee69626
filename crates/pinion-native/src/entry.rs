//! A handler that is to be called, with its packet: what lies where, and whose it is.

use std::ptr;

use crate::layout::ContextLayout;

/// A handler to call with its packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entry {
    /// Lays its context out.
    pub context: *const ContextLayout,
    /// The handler's address.
    pub handler: u32,
    /// Its message's queue, by which handlers know the message.
    pub queue: u32,
    /// Its packet in L1: address and bytes.
    pub l1_packet: [u32; 2],
    /// Its packet in L2: address and the message's home cluster.
    pub l2_packet: [u32; 2],
    /// Number of the packet's bytes in L2.
    pub bytes: u32,
    /// Its message.
    pub message: u32,
    /// Numbers its packet.
    pub packet: u64,
}

impl Entry {
    /// Is of no handler.
    pub const NONE: Self = Self {
        context: ptr::null(),
        handler: 0,
        queue: 0,
        l1_packet: [0; 2],
        l2_packet: [0; 2],
        bytes: 0,
        packet: 0,
        message: 0,
    };
}
