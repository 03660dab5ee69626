//! The host side of a NIC: memory, the PCIe link that leads to it, and the IOMMU that guards it.
//!
//! A handler's command crosses [`pcie::PcieLink`], which says when it is done; [`iommu::Iommu`]
//! says whether its context may; [`memory::HostMemory`] holds the bytes. Of those, windows may be
//! memory that host programs map too ([`shared`]); [`Exchange`] keeps what they write there. [`model::HostModel`] says how long the host's own
//! code takes.

#[cfg(target_os = "linux")]
mod exchange;
pub mod iommu;
pub mod memory;
pub mod model;
mod page;
pub mod pcie;
#[cfg(target_os = "linux")]
pub mod shared;
mod windows;

#[cfg(target_os = "linux")]
pub use exchange::{Exchange, Known, News};
pub use iommu::{Access, Iommu, IommuFault, Window};
pub use memory::{HostMemory, MemoryError};
pub use model::{HostModel, ModelError};
pub use pcie::{PcieConfig, PcieLink};
#[cfg(target_os = "linux")]
pub use shared::{ExportedMemory, SharedRegion};
