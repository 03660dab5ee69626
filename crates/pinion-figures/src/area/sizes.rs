//! What components grow with. In: a machine's numbers, or those of the published configuration.
//! Out: a size for each component, of which only the quotient of two machines means something.
//!
//! - Memories (L1, L2, program) are macros of a fixed capacity, so area grows with bytes. The
//!   published power is that of every macro being accessed, so it grows with bytes too.
//! - A crossbar has a multiplexer of all masters for each slave, so it grows with masters × slaves
//!   × the bytes of a beat. The interconnect's share that is controllers of L2 grows less; the
//!   table does not tell it apart.
//! - The instruction cache is read through one port a core, and the multiplexers of the ports
//!   outweigh the storage: bytes × ports. It is an upper bound for more cores.
//! - Schedulers and drivers are registers full of handler execution requests (HERs).
//! - Cores are counted.

use pinion_spin::Machine;

use super::Component;
use pinion_app::error::Result;
use pinion_observe::plot::Parameters;

/// Counts the masters of the NIC-host interconnect beside the inbound engine: outbound engine and
/// off-cluster DMA (paper, figure 7).
const OUTBOUND_MASTERS: f64 = 2.0;
/// Counts the L2 memories on the wide interconnects: packet buffer and handler memory.
const L2_SLAVES: f64 = 2.0;
/// Counts the bytes of a core's access (paper, figure 7: 32-bit connections).
const WORD_BYTES: f64 = 4.0;
/// Counts a cluster's masters on its L1 beside the cores: DMA engine and port from outside.
const OTHER_MASTERS: f64 = 2.0;

/// Holds a machine's numbers that area and power depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Number of clusters.
    pub clusters: u32,
    /// Number of cores per cluster.
    pub cores: u32,
    /// Number of bytes of L2 packet buffer, handler memory and program memory.
    pub l2_bytes: u64,
    /// Number of bytes of one L1.
    pub l1_bytes: u64,
    /// Number of banks of one L1.
    pub l1_banks: u32,
    /// Number of bytes of one instruction cache.
    pub instruction_cache_bytes: u64,
    /// The width of the clusters' DMA interconnect in bytes a cycle.
    pub dma_port_bytes: u32,
    /// The width of the inbound engine's port in bytes a cycle.
    pub inbound_port_bytes: u32,
    /// The width of the other ports of the NIC-host interconnect in bytes a cycle.
    pub command_port_bytes: u32,
    /// Number of HERs that the inter-cluster scheduler holds.
    pub queued_hers: u32,
    /// Number of HERs that a cluster holds, running ones with them.
    pub cluster_hers: u32,
    /// The clock in MHz.
    pub frequency_mhz: u64,
}

impl Sizes {
    /// Takes the numbers of a machine.
    pub fn of(machine: &Machine) -> Self {
        let memories = [machine.l2_packet.bytes, machine.l2_handler.bytes, machine.program.bytes];
        Self {
            clusters: machine.cluster.count,
            cores: machine.cluster.cores,
            l2_bytes: memories.into_iter().map(u64::from).sum(),
            l1_bytes: machine.l1.bytes.into(),
            l1_banks: machine.l1.banks,
            instruction_cache_bytes: machine.instruction_cache.bytes.into(),
            dma_port_bytes: machine.dma.port_bytes,
            inbound_port_bytes: machine.inbound.port_bytes,
            command_port_bytes: machine.command.port_bytes,
            queued_hers: machine.mpq.shared_cells + machine.mpq.count * machine.mpq.static_cells,
            cluster_hers: machine.hers_per_cluster(),
            frequency_mhz: machine.clock.frequency_mhz,
        }
    }

    /// Takes the numbers of the published configuration from a figure's parameters.
    pub(super) fn read(parameters: &Parameters) -> Result<Self> {
        let whole = |name: &str| parameters.whole(&format!("reference_{name}"));
        let small = |name: &str| whole(name).map(|number| number.min(u32::MAX.into()) as u32);
        Ok(Self {
            clusters: small("clusters")?,
            cores: small("cores")?,
            l2_bytes: whole("l2_bytes")?,
            l1_bytes: whole("l1_bytes")?,
            l1_banks: small("l1_banks")?,
            instruction_cache_bytes: whole("instruction_cache_bytes")?,
            dma_port_bytes: small("port_bytes")?,
            inbound_port_bytes: small("port_bytes")?,
            command_port_bytes: small("port_bytes")?,
            queued_hers: small("queued_hers")?,
            cluster_hers: small("cluster_hers")?,
            frequency_mhz: whole("frequency_mhz")?,
        })
    }

    /// Gives one component's size.
    pub(super) fn of_component(&self, component: Component) -> f64 {
        match component {
            Component::L2 => self.l2_bytes as f64,
            Component::Interconnect => self.crossbars(),
            Component::Scheduler => f64::from(self.queued_hers),
            Component::L1 => self.l1_bytes as f64,
            Component::InstructionCache => {
                self.instruction_cache_bytes as f64 * f64::from(self.cores)
            }
            Component::ClusterInterconnect => {
                (f64::from(self.cores) + OTHER_MASTERS) * f64::from(self.l1_banks)
            }
            Component::ClusterRest => f64::from(self.cluster_hers),
            Component::Core | Component::Cluster | Component::Pspin => 1.0,
        }
    }

    /// Adds up the three crossbars between clusters, L2 and NIC (paper, §III-B and figure 7).
    fn crossbars(&self) -> f64 {
        let clusters = f64::from(self.clusters);
        let wide_slaves = clusters + L2_SLAVES;
        let outbound = OUTBOUND_MASTERS * f64::from(self.command_port_bytes);
        let dma = clusters * wide_slaves * f64::from(self.dma_port_bytes);
        let nic_host = (f64::from(self.inbound_port_bytes) + outbound) * wide_slaves;
        // The host is a master of the cores' interconnect too, the program memory a slave.
        let cores = (clusters + 1.0) * (wide_slaves + 1.0) * WORD_BYTES;
        dma + nic_host + cores
    }
}
