//! The host side of a NIC: PCIe, IOMMU and host memory.
