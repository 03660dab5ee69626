//! A whole nanoPU node, as its machine file describes it.

use std::collections::BTreeMap;

use pinion_cores::rocket::section::{CacheSection, CoreSection};
use pinion_sim::machine::{Kind, MachineFile};
use serde::Deserialize;

use super::dma_nic::DmaNicSection;
use super::hart_interface::HartInterfaceSection;
use super::memory::MemorySection;
use super::receive::ReceiveSection;
use super::transmit::TransmitSection;
use super::transport::TransportSection;

/// Describes a nanoPU node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The machine's name.
    pub name: String,
    /// The kind of machine that the file says it describes.
    pub kind: Kind,
    /// The clock of cores and NIC.
    pub clock: ClockSection,
    /// How the node is called on the network.
    pub address: AddressSection,
    /// The cores' pipeline.
    pub core: CoreSection,
    /// Each core's first-level instruction cache.
    pub instruction_cache: CacheSection,
    /// Each core's first-level data cache.
    pub data_cache: CacheSection,
    /// The memory behind them.
    pub memory: MemorySection,
    /// The local receive queues and the thread scheduler.
    pub hart_interface: HartInterfaceSection,
    /// The NIC's receive side.
    pub receive: ReceiveSection,
    /// The NIC's transmit side.
    pub transmit: TransmitSection,
    /// The transport.
    pub transport: TransportSection,
    /// The baseline's NIC, which takes the place of what the network is here.
    pub dma_nic: Option<DmaNicSection>,
    /// What ends a run that does not end by itself.
    pub limits: LimitsSection,
    /// Overrides that make the machine follow the published RTL where that lacks or breaks
    /// something the paper describes; what `pinion calibrate` and `--faithful` apply.
    #[serde(default)]
    pub faithful: BTreeMap<String, String>,
}

impl MachineFile for Machine {
    const KIND: Kind = Kind::Nanopu;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn faithful(&self) -> &BTreeMap<String, String> {
        &self.faithful
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.clock.frequency_mhz == 0 {
            return Err(("clock.frequency_mhz", "a clock needs a frequency".to_owned()));
        }
        self.transport.check()
    }
}

/// Gives the clock.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockSection {
    /// Frequency in MHz.
    pub frequency_mhz: u64,
}

/// Names the node on the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressSection {
    /// Its IPv4 address.
    pub ip: std::net::Ipv4Addr,
    /// Its MAC address.
    pub mac: String,
    /// MAC address that its frames go to: the switch's.
    pub next_hop_mac: String,
}

/// Says when a run has gone on for long enough.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsSection {
    /// Cycles that harts may run apart from each other: how late one sees another's stores.
    pub skew_cycles: u64,
}

impl AddressSection {
    /// Gives the addresses in binary.
    ///
    /// # Errors
    /// The key and text of an address that is none.
    pub fn parse(&self) -> Result<crate::address::Address, (&'static str, String)> {
        let mac = |key: &'static str, text: &str| {
            let bytes: Vec<u8> = text
                .split(':')
                .filter_map(|part| (part.len() == 2).then(|| u8::from_str_radix(part, 16).ok())?)
                .collect();
            <[u8; 6]>::try_from(bytes).map_err(|_| (key, text.to_owned()))
        };
        Ok(crate::address::Address {
            mac: mac("address.mac", &self.mac)?,
            next_hop_mac: mac("address.next_hop_mac", &self.next_hop_mac)?,
            ip: u32::from(self.ip),
        })
    }
}
