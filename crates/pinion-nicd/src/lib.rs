//! A sPIN NIC as a process: host programs attach to it, each with its execution context ([`nic`]); and
//! the network namespaces it is tried in ([`lab`]). Both need Linux.

#[cfg(target_os = "linux")]
pub mod lab;
#[cfg(target_os = "linux")]
pub mod nic;
