//! What a NIC tells its programs, and who they are.

use crate::machine::transport::TransportKind;

/// Numbers of the NIC that its programs are told.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The kind of transport that they are the programs of.
    pub kind: TransportKind,
    /// Packets of a message that may be under way before any answer.
    pub rtt_packets: u16,
    /// Messages that come in at a time.
    pub messages: usize,
    /// Packets that come again are to be answered again.
    pub acknowledge_again: bool,
    /// Messages that may have grants at the same time.
    pub overcommitment: u8,
    /// Port of context 0.
    pub port_base: u16,
    /// UDP port at which tables are changed; 0: none.
    pub control_port: u16,
    /// Programs are interpreted, however often they run.
    pub interpreted: bool,
}

impl Default for Numbers {
    /// Gives those of programs that somebody brings, all 0.
    fn default() -> Self {
        Self {
            kind: TransportKind::P4,
            rtt_packets: 0,
            messages: 0,
            acknowledge_again: false,
            overcommitment: 0,
            port_base: 0,
            control_port: 0,
            interpreted: false,
        }
    }
}
