//! What may be put around any node, and is a node itself: a tap, faults. They stack:
//! `Tapped<Faulty<N>>` writes down what reaches the faulty cable, `Faulty<Tapped<N>>` what the node
//! itself sees.

mod capture;
mod faults;

pub use capture::{PortTap, Tapped};
pub use faults::Faulty;
