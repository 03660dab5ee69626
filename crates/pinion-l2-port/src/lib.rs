//! How a sPIN NIC's clusters come to L2: the DMA engines' reads come together in [`mux`], and are read, with the
//! cores' loads between them, in [`reads`]; the cores' own accesses come through [`accesses`].
//! [`packet_buffer`] says where packets lie in L2.

pub mod accesses;
pub mod mux;
pub mod packet_buffer;
pub mod reads;
#[cfg(test)]
mod testing;
