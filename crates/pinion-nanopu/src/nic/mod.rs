//! The NIC of a node: from the pins to the harts' queues and back.
//!
//! The receive side asks the transmit side for three things, each a value with the cycle in which
//! it happens: a [`ControlRequest`], a [`Delivered`], a [`Credit`].

pub mod receive;
pub mod transmit;

pub use crate::transport::{ControlRequest, Credit, Delivered};
