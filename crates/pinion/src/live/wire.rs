//! The wire of a live run: a TAP device or a network interface.

use std::os::fd::{AsFd, BorrowedFd};

use pinion_net::interface::Interface;
use pinion_net::tap::{InterfaceAddress, Tap};

use crate::error::Result;

/// Names the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireName {
    /// A TAP device, made when it does not exist.
    Tap(String),
    /// An interface that exists: frames it receives are the NIC's too.
    Interface(String),
}

/// Is an open wire.
#[derive(Debug)]
pub(crate) enum Wire {
    Tap(Tap),
    Interface(Interface),
}

impl Wire {
    /// Opens it.
    pub fn open(name: &WireName, address: Option<InterfaceAddress>) -> Result<Self> {
        Ok(match name {
            WireName::Tap(name) => Self::Tap(Tap::open(name, address)?),
            WireName::Interface(name) => Self::Interface(Interface::open(name)?),
        })
    }

    /// Gives the device's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Tap(tap) => tap.name(),
            Self::Interface(interface) => interface.name(),
        }
    }

    /// Gives the hardware address of the kernel's side.
    pub fn mac(&self) -> [u8; 6] {
        match self {
            Self::Tap(tap) => tap.mac(),
            Self::Interface(interface) => interface.mac(),
        }
    }

    /// Gives the size of a buffer that takes every frame.
    pub fn max_frame_bytes(&self) -> usize {
        match self {
            Self::Tap(tap) => tap.max_frame_bytes(),
            Self::Interface(interface) => interface.max_frame_bytes(),
        }
    }

    /// Reads a frame, if there is one.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>> {
        Ok(match self {
            Self::Tap(tap) => tap.read(buffer)?,
            Self::Interface(interface) => interface.read(buffer)?,
        })
    }

    /// Writes a frame; tells whether the kernel took it.
    pub fn write(&mut self, frame: &[u8]) -> Result<bool> {
        Ok(match self {
            Self::Tap(tap) => tap.write(frame)?,
            Self::Interface(interface) => interface.write(frame)?,
        })
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tap(tap) => tap.as_fd(),
            Self::Interface(interface) => interface.as_fd(),
        }
    }
}
