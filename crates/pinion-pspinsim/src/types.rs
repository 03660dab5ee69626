//! Types of the headers, as C lays them out.

use std::ffi::{c_char, c_void};

/// Clusters that the headers' arrays have (`NUM_CLUSTERS`).
pub const HEADER_CLUSTERS: usize = 4;
/// `SPIN_SUCCESS`.
pub const SUCCESS: i32 = 0;
/// `SPIN_ERR`.
pub const FAILURE: i32 = 1;
/// `PCIE_START_ADDR`: where host memory begins for commands.
pub const PCIE_START: u64 = 0x1000_0000_0000_0000;

/// Configures the NIC inbound engine (`ni_conf_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NiConf {
    /// Entries of the write address buffer.
    pub axi_aw_buffer: u32,
    /// Entries of the write data buffer.
    pub axi_w_buffer: u32,
    /// Entries of the write response buffer.
    pub axi_b_buffer: u32,
}

/// Configures the NIC outbound engine (`no_conf_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(non_snake_case)]
pub struct NoConf {
    /// Entries of the read address buffer.
    pub axi_ar_buffer: u32,
    /// Entries of the read data buffer.
    pub axi_r_buffer: u32,
    /// Gap per byte of the network, in ns.
    pub network_G: f64,
    /// Largest packet that is sent, in bytes.
    pub max_pkt_size: u32,
    /// Packets that may wait for the network.
    pub max_network_queue_len: u32,
}

/// Configures the host's side of PCIe (`pcie_slv_conf_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(non_snake_case)]
pub struct PcieSlvConf {
    /// Entries of the write address buffer.
    pub axi_aw_buffer: u32,
    /// Entries of the write data buffer.
    pub axi_w_buffer: u32,
    /// Entries of the read address buffer.
    pub axi_ar_buffer: u32,
    /// Entries of the write response buffer.
    pub axi_b_buffer: u32,
    /// Entries of the read data buffer.
    pub axi_r_buffer: u32,
    /// Latency.
    pub pcie_L: u32,
    /// Gap per byte, in ns.
    pub pcie_G: f64,
}

/// Configures a simulation (`pspin_conf_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PspinConf {
    /// Folder of memory images, or null.
    pub slm_files_path: *const c_char,
    /// NIC inbound engine.
    pub ni_conf: NiConf,
    /// NIC outbound engine.
    pub no_conf: NoConf,
    /// Host's side of PCIe.
    pub pcie_slv_conf: PcieSlvConf,
}

impl PspinConf {
    /// Gives what `pspinsim_default_conf` fills in: the published defaults.
    pub const DEFAULT: Self = Self {
        slm_files_path: std::ptr::null(),
        ni_conf: NiConf { axi_aw_buffer: 32, axi_w_buffer: 32, axi_b_buffer: 32 },
        no_conf: NoConf {
            axi_ar_buffer: 32,
            axi_r_buffer: 32,
            network_G: 0.0,
            max_pkt_size: 2048,
            max_network_queue_len: 32,
        },
        pcie_slv_conf: PcieSlvConf {
            axi_aw_buffer: 32,
            axi_w_buffer: 32,
            axi_ar_buffer: 32,
            axi_b_buffer: 32,
            axi_r_buffer: 32,
            pcie_L: 2,
            pcie_G: 0.014_782,
        },
    };
}

/// Describes an execution context (`spin_ec_t`).
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpinEc {
    /// Address of the handler memory in L2.
    pub handler_mem_addr: u32,
    /// Its bytes.
    pub handler_mem_size: u32,
    /// Address of the host memory.
    pub host_mem_addr: u64,
    /// Its bytes.
    pub host_mem_size: u32,
    /// Address of the header handler, 0 for none.
    pub hh_addr: u32,
    /// Its bytes.
    pub hh_size: u32,
    /// Address of the payload handler, 0 for none.
    pub ph_addr: u32,
    /// Its bytes.
    pub ph_size: u32,
    /// Address of the completion handler, 0 for none.
    pub th_addr: u32,
    /// Its bytes.
    pub th_size: u32,
    /// Offset of the scratchpad in each cluster.
    pub scratchpad_addr: [u32; HEADER_CLUSTERS],
    /// Its bytes.
    pub scratchpad_size: [u32; HEADER_CLUSTERS],
}

/// Takes a packet that left the NIC.
pub type PktOutCallback = unsafe extern "C" fn(data: *mut u8, length: usize);
/// Takes a packet's completion: its user pointer and three times in ps.
pub type PktFeedbackCallback = unsafe extern "C" fn(u64, u64, u64, u64);
/// Takes or gives data of an access of the NIC to host memory.
pub type PcieSlvCallback = unsafe extern "C" fn(address: u64, data: *mut u8, length: usize);
/// Takes the end of an access of the host to NIC memory.
pub type PcieMstCallback = unsafe extern "C" fn(user: *mut c_void);

/// Holds a driver's callbacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Callbacks {
    /// A packet left.
    pub pkt_out: Option<PktOutCallback>,
    /// The NIC writes host memory.
    pub pcie_slv_write: Option<PcieSlvCallback>,
    /// The NIC reads host memory.
    pub pcie_slv_read: Option<PcieSlvCallback>,
    /// A `spin_nicmem_write` is done.
    pub pcie_mst_write: Option<PcieMstCallback>,
    /// A `spin_nicmem_read` is done.
    pub pcie_mst_read: Option<PcieMstCallback>,
    /// A packet's completion came back.
    pub pkt_feedback: Option<PktFeedbackCallback>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<SpinEc>(), 44 + 8 * HEADER_CLUSTERS);
        assert_eq!(std::mem::offset_of!(SpinEc, host_mem_size), 16);
        assert_eq!(std::mem::offset_of!(SpinEc, scratchpad_addr), 44);
        assert_eq!(std::mem::offset_of!(NoConf, network_G), 8);
        assert_eq!(std::mem::offset_of!(PcieSlvConf, pcie_G), 24);
    }
}
