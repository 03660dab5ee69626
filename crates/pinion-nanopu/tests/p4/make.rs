//! Makes transports that are programs which Pinion comes with.

use std::sync::Arc;

use pinion_nanopu::machine::transport::TransportKind;
use pinion_nanopu::transport::Transport;
use pinion_nanopu::transport::p4::{Numbers, P4, Pipelines};

/// Makes raw messages, or UDP whose context 0 is port `port_base`.
pub fn shipped(kind: TransportKind, port_base: u16) -> Box<dyn Transport> {
    let name = if kind == TransportKind::Udp { "udp" } else { "raw" };
    let pipelines = Pipelines::shipped(name).expect("programs that Pinion comes with");
    let numbers = Numbers { kind, messages: 64, port_base, ..Numbers::default() };
    Box::new(P4::new(Arc::new(pipelines), numbers))
}
