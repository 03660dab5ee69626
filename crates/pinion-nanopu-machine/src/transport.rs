//! Which transport a node speaks, and its numbers.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use pinion_net::frame::lnic::HOMA_PROTOCOL;
use pinion_p4::lnic::Pipelines;

/// IPv4 protocol number of UDP (RFC 768).
pub const UDP_PROTOCOL: u8 = 17;
/// IPv4 protocol number of raw messages: the first of those for experiments (RFC 3692).
pub const RAW_PROTOCOL: u8 = 0xfd;

/// NDP's programs.
const INGRESS: &str = "sdk/p4/ndp/ingress.p4";
const EGRESS: &str = "sdk/p4/ndp/egress.p4";

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
    /// File of the P4 program for packets on their way in, of the kind `p4`: one of this computer, from
    /// the folder that the run began in, or one that Pinion comes with.
    #[serde(default = "ingress")]
    pub ingress: String,
    /// File of the P4 program for packets on their way out.
    #[serde(default = "egress")]
    pub egress: String,
    /// File of the entries of the programs' tables, found as the programs are; empty: none.
    #[serde(default)]
    pub tables: String,
    /// UDP port of the node at which whoever sends a datagram changes the programs' tables; 0: none.
    #[serde(default)]
    pub control_port: u16,
    /// The programs are interpreted, however often they run; no result depends on it.
    #[serde(skip)]
    pub interpreted: bool,
    /// Both, compiled.
    #[serde(skip)]
    compiled: OnceLock<Arc<Pipelines>>,
    /// Homa's numbers.
    #[serde(default)]
    pub homa: HomaSection,
    /// UDP's numbers.
    #[serde(default)]
    pub udp: UdpSection,
}

impl TransportSection {
    /// Gives the P4 programs, which are compiled when first wanted; copies of the section share them. Raw
    /// messages and UDP are programs that Pinion comes with.
    ///
    /// # Errors
    /// The key of the program that is wrong, and what is wrong with it.
    pub fn pipelines(&self) -> Result<Arc<Pipelines>, (&'static str, String)> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(Arc::clone(compiled));
        }
        let tables = Some(&*self.tables).filter(|file| !file.is_empty());
        let compiled = match self.kind.shipped() {
            Some(name) => Pipelines::shipped(name)?,
            None => Pipelines::load(&self.ingress, &self.egress, tables)?,
        };
        let compiled = Arc::new(compiled);
        Ok(Arc::clone(self.compiled.get_or_init(|| compiled)))
    }

    /// Gives the P4 programs of the kind `p4`, each as one file, and the entries of their tables, with the key
    /// that names each; of other kinds there are none.
    ///
    /// # Errors
    /// As [`TransportSection::pipelines`].
    pub fn programs(&self) -> Result<Vec<(&'static str, String)>, (&'static str, String)> {
        if self.kind != TransportKind::P4 {
            return Ok(Vec::new());
        }
        let both = self.pipelines()?;
        let texts = [("ingress", &both.ingress.text), ("egress", &both.egress.text)];
        let texts = texts.into_iter().chain(both.changes_text.iter().map(|text| ("tables", text)));
        Ok(texts.map(|(key, text)| (key, text.clone())).collect())
    }

    /// Tells whether it is P4 programs, somebody's or such as Pinion comes with.
    pub fn is_programmed(&self) -> bool {
        self.kind == TransportKind::P4 || self.kind.shipped().is_some()
    }

    /// Names the transport whose frames these are: of the kind `p4` the built-in one with the protocol
    /// number that the program for packets on their way out writes, or NDP.
    pub fn frames(&self) -> TransportKind {
        match (self.kind, self.protocol()) {
            (TransportKind::P4, Some(UDP_PROTOCOL)) => TransportKind::Udp,
            (TransportKind::P4, Some(HOMA_PROTOCOL)) => TransportKind::Homa,
            (TransportKind::P4, Some(RAW_PROTOCOL)) => TransportKind::Raw,
            (TransportKind::P4, _) => TransportKind::Ndp,
            (kind, _) => kind,
        }
    }

    /// Gives the IPv4 protocol number that a program writes; none of transports that are built in, or of
    /// programs that are wrong.
    pub fn protocol(&self) -> Option<u8> {
        let is_programmed = self.kind == TransportKind::P4;
        let pipelines = is_programmed.then(|| self.pipelines().ok()).flatten()?;
        Some(pipelines.egress.protocol).filter(|protocol| *protocol != 0)
    }

    /// Checks that the programs are right, and that none is given to a transport that has none.
    ///
    /// # Errors
    /// The key of what is wrong, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.kind == TransportKind::P4 {
            let both = self.pipelines()?;
            if self.control_port > 0 && both.tables().is_empty() {
                return Err(("transport.control_port", "the programs have no tables".to_owned()));
            }
            return Ok(());
        }
        let why = || "goes with transport.kind = \"p4\"".to_owned();
        let given = [
            ("transport.ingress", self.ingress != INGRESS),
            ("transport.egress", self.egress != EGRESS),
            ("transport.tables", !self.tables.is_empty()),
            ("transport.control_port", self.control_port > 0),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err((key, why())),
            None => Ok(()),
        }
    }
}

fn ingress() -> String {
    INGRESS.to_owned()
}

fn egress() -> String {
    EGRESS.to_owned()
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
    /// What two P4 programs say.
    P4,
}

impl TransportKind {
    /// Names the programs of a kind that Pinion comes with; none of kinds that are no programs, or others'.
    fn shipped(self) -> Option<&'static str> {
        match self {
            Self::Raw => Some("raw"),
            Self::Udp => Some("udp"),
            Self::Ndp | Self::Homa | Self::P4 => None,
        }
    }
}
