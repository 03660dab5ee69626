//! Runs. In: an application, frames from a capture, a generator, a device or other nodes. Out: a
//! summary, and whatever listens.
//!
//! | module | runs |
//! |---|---|
//! | [`run`] | packet handlers on one sPIN NIC |
//! | [`native`] | packet handlers on this computer's processor |
//! | [`live`] | packet handlers on a TAP device or a network interface |
//! | [`nanoservice`] | a nanoservice on one nanoPU, live as well |
//! | [`cluster`] | many nodes of both kinds and load generators, over a network |
//! | [`cosim`] | a sPIN NIC between models of hosts |
//! | [`ranks`] | clusters on several processes |
//! | [`watch`] | nothing: who watches any of them |

mod arrivals;
pub mod cluster;
pub mod cosim;
#[cfg(target_os = "linux")]
pub mod live;
pub mod nanoservice;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod native;
pub mod ranks;
pub mod run;
pub mod watch;
