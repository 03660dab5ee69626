//! How a sPIN NIC's clusters come to L2: the DMA engines' reads come together in [`mux`], and are read, with the
//! cores' loads between them, in [`reads`]; the cores' own accesses come through [`accesses`]. Where packets lie in L2
//! says [`packet_buffer`].

pub mod accesses;
pub mod mux;
pub mod packet_buffer;
pub mod reads;
#[cfg(test)]
mod testing;
