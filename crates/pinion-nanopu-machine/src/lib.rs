//! Every number of a nanoPU node, as its file in `machines/` gives it with its source.

pub mod address;
pub mod dma_nic;
pub mod error;
pub mod hart_interface;
mod limits;
pub mod memory;
pub mod node;
pub mod packets;
pub mod receive;
pub mod transmit;
pub mod transport;
