//! Frames, captures, TAP devices and traffic generators: everything between a file or a wire and
//! the first byte that a modelled NIC sees.
//!
//! A packet's way in: a [`capture::CaptureReader`], a [`generator::Generator`] or a [`tap::Tap`]
//! yields bytes; a [`pacing::Pacer`] says at which picosecond they reach the NIC. Its way out: a
//! [`capture::CaptureWriter`] or the TAP device again. [`frame`] builds and takes apart headers
//! for all of them and for tests. [`load`] sends requests to a node and measures the answers;
//! [`link`] lies between two nodes, or a node and a source, and counts cycles of their clock;
//! [`fault`] loses, repeats, reorders and damages frames. Whatever stands in a [`fabric`] or at the end
//! of a link is a [node](pinion_sim::node), and [`middleware`] wraps any of them.
//!
//! Times at this crate's border are integer picoseconds (`_ps`).

pub mod fabric;
pub mod fault;
pub mod frame;
pub mod generator;
#[cfg(target_os = "linux")]
pub mod interface;
pub mod link;
pub mod load;
pub mod middleware;
#[cfg(target_os = "linux")]
pub mod namespace;
pub mod pacing;
pub mod switch;
#[cfg(target_os = "linux")]
pub mod tap;
pub mod topology;

#[cfg(test)]
mod testing;

pub use pinion_capture as capture;

use thiserror::Error;

/// Says what went wrong anywhere in this crate; the message is the inner error's.
#[derive(Debug, Error)]
pub enum NetError {
    /// A frame could not be built or taken apart.
    #[error(transparent)]
    Frame(#[from] frame::FrameError),
    /// A capture could not be read or written.
    #[error(transparent)]
    Capture(#[from] capture::CaptureError),
    /// A generator specification is wrong.
    #[error(transparent)]
    Generator(#[from] generator::GeneratorError),
    /// A link is wrong, or its tap cannot write.
    #[error(transparent)]
    Link(#[from] link::LinkError),
    /// A network is none, or one of its ranks fails.
    #[error(transparent)]
    Fabric(#[from] fabric::FabricError),
    /// A link's faults are wrong.
    #[error(transparent)]
    Fault(#[from] fault::FaultError),
    /// A load is wrong.
    #[error(transparent)]
    Load(#[from] load::LoadError),
    /// A rate is wrong.
    #[error(transparent)]
    Rate(#[from] pacing::RateError),
    /// A TAP device could not be opened or used.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Tap(#[from] tap::TapError),
}
