//! The IOMMU: which host addresses an execution context may reach (PsPIN paper §III-B2). In: an
//! access. Out: leave, or a typed fault. Holds each context's windows; takes no time.

use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// Says what an access does to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// The NIC reads host memory.
    Read,
    /// The NIC writes host memory.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// A range of host addresses that a context may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// Whether the context may read it.
    pub read: bool,
    /// Whether the context may write it.
    pub write: bool,
}

impl Window {
    /// Makes a window to read and write.
    pub fn read_write(address: u64, bytes: u64) -> Self {
        Self { address, bytes, read: true, write: true }
    }

    fn allows(&self, access: Access) -> bool {
        match access {
            Access::Read => self.read,
            Access::Write => self.write,
        }
    }

    /// Returns how many of `bytes` from `address` on lie in the window, without a gap.
    fn covered(&self, address: u64, bytes: u64) -> u64 {
        match address.checked_sub(self.address) {
            Some(offset) if offset < self.bytes => bytes.min(self.bytes - offset),
            _ => 0,
        }
    }
}

/// Says why an access was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IommuFault {
    /// No window of the context begins to hold the range.
    #[error(
        "context {context} may not {access} {bytes} bytes at host address {address:#x}: it lies in \
         none of its windows"
    )]
    NotMapped {
        /// The context.
        context: u32,
        /// What it tried.
        access: Access,
        /// Where.
        address: u64,
        /// How much.
        bytes: u64,
    },
    /// The range leaves its window.
    #[error(
        "context {context} may not {access} {bytes} bytes at host address {address:#x}: only the \
         first {inside_bytes} lie in its window"
    )]
    LeavesWindow {
        /// The context.
        context: u32,
        /// What it tried.
        access: Access,
        /// Where.
        address: u64,
        /// How much.
        bytes: u64,
        /// How much of it would have been allowed.
        inside_bytes: u64,
    },
    /// The window does not allow this kind of access.
    #[error(
        "context {context} may not {access} {bytes} bytes at host address {address:#x}: its window \
         there is not for that"
    )]
    Forbidden {
        /// The context.
        context: u32,
        /// What it tried.
        access: Access,
        /// Where.
        address: u64,
        /// How much.
        bytes: u64,
    },
}

/// Guards host memory.
#[derive(Debug, Clone, Default)]
pub struct Iommu {
    windows: BTreeMap<u32, Vec<Window>>,
    faults: u64,
}

impl Iommu {
    /// Makes an IOMMU that refuses everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a context one more window; windows that overlap or touch count each for itself.
    pub fn add_window(&mut self, context: u32, window: Window) {
        self.windows.entry(context).or_default().push(window);
    }

    /// Takes all windows from a context.
    pub fn clear(&mut self, context: u32) {
        self.windows.remove(&context);
    }

    /// Returns a context's windows.
    pub fn windows(&self, context: u32) -> &[Window] {
        self.windows.get(&context).map_or(&[], Vec::as_slice)
    }

    /// Returns how many accesses were refused.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// Says whether a context may reach a range; one window must hold all of it. A range of 0
    /// bytes reaches nothing and is always allowed.
    ///
    /// # Errors
    /// [`IommuFault`], which is also counted.
    pub fn check(
        &mut self,
        context: u32,
        access: Access,
        address: u64,
        bytes: u64,
    ) -> Result<(), IommuFault> {
        let result = self.judge(context, access, address, bytes);
        self.faults += u64::from(result.is_err());
        result
    }

    fn judge(
        &self,
        context: u32,
        access: Access,
        address: u64,
        bytes: u64,
    ) -> Result<(), IommuFault> {
        if bytes == 0 {
            return Ok(());
        }
        let mut forbidden = false;
        let mut inside_bytes = 0;
        for window in self.windows(context) {
            let covered = window.covered(address, bytes);
            match window.allows(access) {
                true if covered == bytes => return Ok(()),
                true => inside_bytes = inside_bytes.max(covered),
                false => forbidden |= covered > 0,
            }
        }
        Err(match inside_bytes {
            0 if forbidden => IommuFault::Forbidden { context, access, address, bytes },
            0 => IommuFault::NotMapped { context, access, address, bytes },
            _ => IommuFault::LeavesWindow { context, access, address, bytes, inside_bytes },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iommu() -> Iommu {
        let mut iommu = Iommu::new();
        iommu.add_window(1, Window::read_write(0x1000_0000_0000_0000, 0x1000));
        iommu.add_window(1, Window { address: 0x8000, bytes: 0x100, read: true, write: false });
        iommu
    }

    #[test]
    fn a_window_allows_its_bytes_and_no_other() {
        let mut iommu = iommu();
        let base = 0x1000_0000_0000_0000;
        for (offset, bytes) in [(0, 1), (0, 0x1000), (0xfff, 1), (0x800, 0x800)] {
            assert_eq!(iommu.check(1, Access::Write, base + offset, bytes), Ok(()));
        }
        assert_eq!(
            iommu.check(1, Access::Write, base + 0xff8, 16),
            Err(IommuFault::LeavesWindow {
                context: 1,
                access: Access::Write,
                address: base + 0xff8,
                bytes: 16,
                inside_bytes: 8
            })
        );
        for address in [base - 1, base + 0x1000, 0, u64::MAX] {
            let fault = iommu.check(1, Access::Read, address, 1).unwrap_err();
            assert!(matches!(fault, IommuFault::NotMapped { .. }), "{fault}");
        }
        assert_eq!(iommu.faults(), 5);
    }

    #[test]
    fn contexts_have_only_their_own_windows_and_rights() {
        let mut iommu = iommu();
        assert_eq!(iommu.check(1, Access::Read, 0x8000, 0x100), Ok(()));
        let fault = iommu.check(1, Access::Write, 0x8000, 4).unwrap_err();
        assert!(matches!(fault, IommuFault::Forbidden { .. }), "{fault}");
        assert!(fault.to_string().contains("may not write 4 bytes at host address 0x8000"));
        for context in [0, 2, u32::MAX] {
            assert!(iommu.check(context, Access::Read, 0x8000, 4).is_err());
        }
        iommu.clear(1);
        assert!(iommu.check(1, Access::Read, 0x8000, 4).is_err());
    }

    #[test]
    fn lengths_that_overflow_are_refused() {
        let mut iommu = iommu();
        iommu.add_window(0, Window::read_write(u64::MAX - 7, u64::MAX));
        assert!(iommu.check(1, Access::Read, 0x8000, u64::MAX).is_err());
        assert_eq!(iommu.check(0, Access::Read, u64::MAX, 1), Ok(()));
        assert_eq!(iommu.check(0, Access::Read, 0, 0), Ok(()));
    }
}
