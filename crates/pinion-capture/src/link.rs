//! Link types: what the first byte of a captured packet belongs to.

/// Names the header a packet begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LinkType {
    /// An Ethernet header, without preamble and FCS.
    #[default]
    Ethernet,
    /// An IPv4 or IPv6 header.
    RawIp,
}

impl LinkType {
    /// Returns the number the capture formats use for this link type.
    pub fn number(self) -> u32 {
        match self {
            Self::Ethernet => 1,
            Self::RawIp => 101,
        }
    }

    /// Looks up a capture's link-type number: 1 is Ethernet; 12, 14 and 101 are the values that
    /// different systems use for raw IP, and 228 is raw IPv4.
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            12 | 14 | 101 | 228 => Some(Self::RawIp),
            _ => None,
        }
    }

    /// Names link types that captures often have and that cannot be used here.
    pub(super) fn describe(number: u32) -> &'static str {
        match number {
            0 | 108 => "BSD loopback",
            9 => "PPP",
            105 => "IEEE 802.11",
            113 => "Linux cooked, as `-i any` records",
            127 => "IEEE 802.11 with radiotap",
            220 => "USB",
            229 => "raw IPv6",
            253 => "netlink",
            276 => "Linux cooked v2, as `-i any` records",
            _ => "unknown here",
        }
    }
}

impl std::fmt::Display for LinkType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::RawIp => "raw IP",
        })
    }
}
