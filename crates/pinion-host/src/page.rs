//! The size in which host memory is handed out.

/// Bytes of a page, as on hosts that run NICs.
pub const PAGE_BYTES: usize = 4096;
