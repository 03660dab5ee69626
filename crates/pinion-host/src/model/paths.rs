//! The paths of a packet through a host: NIC, cable, kernel, program. Costs in nanoseconds.

use serde::Deserialize;

use super::{ModelError, above_zero, costs, costs_of_each, to_ps};

/// Describes an ordinary NIC between memory and cable.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NicSection {
    /// From the driver's doorbell to the frame's first bit on the cable, in ns.
    pub transmit_ns: f64,
    /// Time between two frames that the NIC takes from memory, in ns.
    pub transmit_gap_ns: f64,
    /// From a frame's last bit to the interrupt's message, data in memory, in ns.
    pub receive_ns: f64,
    /// Rate of PCIe, in Mbit/s, for the frame's own time.
    pub pcie_mbit_s: f64,
}

/// Describes the cable between two ports.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSection {
    /// Rate in Mbit/s.
    pub rate_mbit_s: f64,
    /// Delay of cable and both ports' MACs, in ns.
    pub delay_ns: f64,
    /// Bytes on the cable beside a frame's own: preamble, check sequence, gap.
    pub overhead_bytes: u32,
}

/// Describes the kernel's network stack and its scheduler.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSection {
    /// A program's call that sends a datagram: system call, socket, IP, driver, in ns.
    pub send_ns: f64,
    /// A byte of a frame that the kernel copies and sums, on the way out or in, in ns.
    pub byte_ns: f64,
    /// A program's call that receives a datagram that is there, in ns.
    pub receive_ns: f64,
    /// From an interrupt's message to the driver's poll on a core that is awake, in ns.
    pub interrupt_ns: f64,
    /// Driver, IP and socket for one received frame, in ns.
    pub frame_ns: f64,
    /// An ICMP echo request's answer in the kernel, in ns.
    pub icmp_reply_ns: f64,
    /// Making a sleeping process runnable, on the core that does it, in ns.
    pub wake_call_ns: f64,
    /// From then until the process runs, on a core that is awake, in ns.
    pub wake_ns: f64,
    /// Time without work after which a core sleeps deeply, in ns.
    pub idle_after_ns: f64,
    /// What an interrupt costs more on a core that sleeps deeply, in ns.
    pub idle_interrupt_ns: f64,
    /// What a process costs more to wake that waits for such an interrupt, in ns.
    pub idle_wake_ns: f64,
    /// What a process costs more to wake while all cores compute, in ns.
    pub busy_wake_ns: f64,
}

/// Describes what a host program of a sPIN NIC does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSection {
    /// One look at a flag in the DMA area, in ns.
    pub poll_ns: f64,
    /// A request's answer: finding the request in memory that is not cached, a system call, a word
    /// written to NIC memory, in ns.
    pub push_ns: f64,
    /// A word read from NIC memory: system call and PCIe read, in ns.
    pub read_ns: f64,
    /// A byte of the portable checksum over the DMA area, in ns.
    pub checksum_ns_per_byte: f64,
    /// Starting a sender that has one packet under way at a time, in ns.
    pub start_ns: f64,
    /// What a sender costs more to start that has several, in ns.
    pub start_window_ns: f64,
    /// Starting another thread of a sender, in ns.
    pub thread_ns: f64,
}

impl NicSection {
    /// Gives the time from doorbell to the first bit of a frame, in ps.
    pub fn transmit_ps(&self, bytes: usize) -> u64 {
        to_ps(self.transmit_ns) + self.pcie_ps(bytes)
    }

    /// Gives the time from a frame's last bit to the interrupt's message, in ps.
    pub fn receive_ps(&self, bytes: usize) -> u64 {
        to_ps(self.receive_ns) + self.pcie_ps(bytes)
    }

    /// Gives the time that bytes take on PCIe, in ps.
    pub fn pcie_ps(&self, bytes: usize) -> u64 {
        serialise_ps(bytes as f64, self.pcie_mbit_s)
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        above_zero("nic.pcie_mbit_s", self.pcie_mbit_s)?;
        costs(&[
            ("nic.transmit_ns", self.transmit_ns),
            ("nic.transmit_gap_ns", self.transmit_gap_ns),
            ("nic.receive_ns", self.receive_ns),
        ])
    }
}

impl LinkSection {
    /// Gives the time that a frame occupies the cable, in ps.
    pub fn occupied_ps(&self, bytes: usize) -> u64 {
        serialise_ps(bytes as f64 + f64::from(self.overhead_bytes), self.rate_mbit_s)
    }

    /// Gives the delay of cable and MACs, in ps.
    pub fn delay_ps(&self) -> u64 {
        to_ps(self.delay_ns)
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        above_zero("link.rate_mbit_s", self.rate_mbit_s)?;
        costs(&[("link.delay_ns", self.delay_ns)])
    }
}

impl KernelSection {
    /// Gives the time of a program's call that sends a frame, in ps.
    pub fn send_ps(&self, bytes: usize) -> u64 {
        to_ps(self.send_ns + self.byte_ns * bytes as f64)
    }

    /// Gives the time of driver, IP and socket for a received frame, in ps.
    pub fn frame_ps(&self, bytes: usize) -> u64 {
        to_ps(self.frame_ns + self.byte_ns * bytes as f64)
    }

    /// Gives the time from an interrupt's message to the driver's poll, in ps; a core sleeps deeply
    /// or not ([`KernelSection::is_asleep`]).
    pub fn interrupt_ps(&self, asleep: bool) -> u64 {
        to_ps(self.interrupt_ns + if asleep { self.idle_interrupt_ns } else { 0.0 })
    }

    /// Gives the time until a process runs that such an interrupt makes runnable, in ps.
    pub fn wake_ps(&self, asleep: bool, all_compute: bool) -> u64 {
        let deep = if asleep { self.idle_wake_ns } else { 0.0 };
        let busy = if all_compute { self.busy_wake_ns } else { 0.0 };
        to_ps(self.wake_ns + deep + busy)
    }

    /// Tells whether a core that has had no work for so long sleeps deeply.
    pub fn is_asleep(&self, idle_ps: u64) -> bool {
        idle_ps >= to_ps(self.idle_after_ns)
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        costs_of_each(&[("kernel.byte_ns", self.byte_ns)])?;
        costs(&[
            ("kernel.send_ns", self.send_ns),
            ("kernel.receive_ns", self.receive_ns),
            ("kernel.interrupt_ns", self.interrupt_ns),
            ("kernel.frame_ns", self.frame_ns),
            ("kernel.icmp_reply_ns", self.icmp_reply_ns),
            ("kernel.wake_call_ns", self.wake_call_ns),
            ("kernel.wake_ns", self.wake_ns),
            ("kernel.idle_after_ns", self.idle_after_ns),
            ("kernel.idle_interrupt_ns", self.idle_interrupt_ns),
            ("kernel.idle_wake_ns", self.idle_wake_ns),
            ("kernel.busy_wake_ns", self.busy_wake_ns),
        ])
    }
}

impl ProgramSection {
    /// Gives the time of the portable checksum over bytes of the DMA area, in ps.
    pub fn checksum_ps(&self, bytes: usize) -> u64 {
        to_ps(self.checksum_ns_per_byte * bytes as f64)
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        // A poll that takes no time would be an endless one.
        above_zero("program.poll_ns", self.poll_ns)?;
        costs_of_each(&[("program.checksum_ns_per_byte", self.checksum_ns_per_byte)])?;
        costs(&[
            ("program.poll_ns", self.poll_ns),
            ("program.push_ns", self.push_ns),
            ("program.read_ns", self.read_ns),
            ("program.start_ns", self.start_ns),
            ("program.start_window_ns", self.start_window_ns),
            ("program.thread_ns", self.thread_ns),
        ])
    }
}

/// Gives the time of bytes at a rate, in ps.
fn serialise_ps(bytes: f64, mbit_s: f64) -> u64 {
    (bytes * 8e6 / mbit_s).round() as u64
}
