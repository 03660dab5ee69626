//! How a sPIN NIC's clusters read L2: the DMA engines' reads come together in [`mux`], and are read, with the
//! cores' loads between them, in [`reads`].

pub mod mux;
pub mod reads;
