//! Which transport a node speaks, and its numbers.

use serde::Deserialize;

/// Chooses and sets the transport of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportSection {
    /// Which transport.
    pub kind: TransportKind,
    /// Packets of a message that may be sent before any credit comes: the bandwidth-delay product
    /// (RTL plusarg `rtt_pkts`; 2 in the artifact's runs).
    pub rtt_packets: u16,
    /// Fix: a data packet that comes again is acknowledged again, since the sender asks because the
    /// first acknowledgement was lost. The RTL drops it in silence (Ingress: a failed
    /// `get_rx_msg_info` emits nothing).
    pub lost_reack: bool,
}

/// Names the transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// NDP, the paper's transport (§4).
    Ndp,
}
