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
    /// Homa's numbers.
    #[serde(default)]
    pub homa: HomaSection,
    /// UDP's numbers.
    #[serde(default)]
    pub udp: UdpSection,
}

/// Sets what is Homa's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomaSection {
    /// Incoming messages that may be granted at the same time, at least 1; each has a priority of
    /// its own behind that of unscheduled packets (RTL of the transport-dev branch: 3).
    pub overcommitment: u8,
}

impl Default for HomaSection {
    /// Gives the RTL's numbers.
    fn default() -> Self {
        Self { overcommitment: 3 }
    }
}

/// Sets what is UDP's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpSection {
    /// Port of context 0; context *n* is port `port_base` + *n* (ours; the paper has no UDP).
    pub port_base: u16,
}

impl Default for UdpSection {
    /// Gives ports that no service has been assigned.
    fn default() -> Self {
        Self { port_base: 47_000 }
    }
}

/// Names the transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// NDP, the paper's transport (§3.1).
    Ndp,
    /// Homa, which the artifact's later branch has.
    Homa,
    /// Messages of one packet, nothing acknowledged: the draft's prototype.
    Raw,
    /// One datagram, one message: for peers that speak UDP.
    Udp,
}
