//! The NIC of a node: from the pins to the harts' queues and back.
//!
//! The receive side asks the transmit side for three things, each a value with the cycle in which
//! it happens: a [`ControlRequest`], a [`Delivered`], a [`Credit`].

pub mod receive;
pub mod transmit;

pub use crate::transport::{ControlRequest, Credit, Delivered};

/// Lets a buffer have room for `length` elements, and no more: many hold none but short messages.
fn grow<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() < length {
        buffer.reserve_exact(length - buffer.len());
        buffer.resize(length, T::default());
    }
}
