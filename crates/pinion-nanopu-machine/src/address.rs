//! How a node is called on the network.

/// Names a node on the network: what its frames carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Its own MAC address.
    pub mac: [u8; 6],
    /// MAC address of the switch (or peer) its frames go to.
    pub next_hop_mac: [u8; 6],
    /// Its IPv4 address.
    pub ip: u32,
}
