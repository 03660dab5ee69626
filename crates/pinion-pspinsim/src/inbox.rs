//! What a driver has added and the engine has not taken yet: packets, accesses to NIC memory, the
//! end of the stream.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::types::SpinEc;

/// Says whether something was added since the engine looked, so that it need not lock to find out.
static ADDED: AtomicBool = AtomicBool::new(false);

/// Holds a packet to hand to the NIC inbound engine.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its execution context.
    pub context: SpinEc,
    /// Its message id.
    pub message: u32,
    /// Its bytes.
    pub data: Vec<u8>,
    /// How many of them are copied to L1.
    pub l1_bytes: u32,
    /// Whether it is its message's last.
    pub end_of_message: bool,
    /// Cycles that the inbound engine pauses after it.
    pub wait_cycles: u32,
    /// What the driver wants to see again.
    pub user: u64,
}

/// Holds an access of the host to NIC memory.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// NIC address.
    pub address: u32,
    /// What it moves.
    pub data: TransferData,
    /// The driver's pointer for the callback.
    pub user: usize,
}

/// Says what an access moves, and which way.
#[derive(Clone, Debug)]
pub enum TransferData {
    /// To the NIC: a copy, taken when the driver called.
    Write(Vec<u8>),
    /// From the NIC, to a driver's buffer (its address and bytes).
    Read(usize, usize),
}

impl TransferData {
    /// Counts its bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Write(data) => data.len(),
            Self::Read(_, bytes) => *bytes,
        }
    }
}

/// Holds what was added.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Packets, in order.
    pub packets: Vec<Packet>,
    /// Accesses to NIC memory, in order.
    pub transfers: Vec<Transfer>,
    /// Whether no packets follow.
    pub end_of_stream: bool,
}

impl Inbox {
    /// Adds packets.
    pub fn add_packets(&mut self, packets: impl IntoIterator<Item = Packet>) {
        self.packets.extend(packets);
        ADDED.store(true, Ordering::Release);
    }

    /// Adds an access to NIC memory.
    pub fn add_transfer(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
        ADDED.store(true, Ordering::Release);
    }

    /// Notes that no packets follow.
    pub fn end_stream(&mut self) {
        self.end_of_stream = true;
        ADDED.store(true, Ordering::Release);
    }

    /// Takes everything.
    pub fn take(&mut self) -> Self {
        ADDED.store(false, Ordering::Release);
        std::mem::take(self)
    }
}

/// Says whether something was added since the inbox was taken.
pub fn has_news() -> bool {
    ADDED.load(Ordering::Acquire)
}
