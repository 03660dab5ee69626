//! What keeps the engine from starting.

/// Tells why the engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The NIC's addresses are taken.
    #[error(
        "{bytes} bytes at {address:#x} are in use in this process: one native engine runs in a \
         process at a time"
    )]
    AddressTaken {
        /// Where the memory should begin.
        address: u64,
        /// Number of its bytes.
        bytes: u64,
    },
    /// The system refuses memory.
    #[error("the system gives no {bytes} bytes for {what}")]
    NoMemory {
        /// What for.
        what: &'static str,
        /// Number of the bytes.
        bytes: u64,
        /// Why not.
        source: std::io::Error,
    },
    /// A part of the program lies outside the NIC's memories.
    #[error("{bytes} bytes of the program at {address:#x} lie outside the NIC's memories")]
    Misplaced {
        /// The part's address.
        address: u64,
        /// Number of its bytes.
        bytes: u64,
    },
    /// The program lacks a symbol of the runtime.
    #[error("the program has no `{0}`: it was not linked with the SDK's native runtime")]
    NoRuntime(&'static str),
    /// The number of workers does not fit the machine.
    #[error(
        "{workers} workers are too many: a worker stands for an HPU, and the machine has {hpus} \
         (--set cluster.count=…)"
    )]
    TooManyWorkers {
        /// The number asked for.
        workers: u32,
        /// Number of the machine's HPUs.
        hpus: u32,
    },
    /// A packet does not fit a worker's part of the packet buffer in L1.
    #[error(
        "a packet of {bytes} bytes (inbound.max_packet_bytes) does not fit into {slot} bytes, a \
         core's share of the packet buffer in L1 (l1.packet_buffer_bytes)"
    )]
    PacketTooLarge {
        /// Number of the largest packet's bytes.
        bytes: u32,
        /// Number of the bytes of a share.
        slot: u32,
    },
    /// A context's memory lies outside the NIC's.
    #[error("context {0}: its memory lies outside the NIC's")]
    BadContext(String),
    /// Workers of several clusters would share variables that each cluster has of its own.
    #[error(
        "the program has {bytes} bytes of variables in .data_tiny_l1, one copy per cluster on the \
         NIC; here all workers share one: use at most {cores} workers, which stand for one cluster"
    )]
    SharedClusterData {
        /// Number of the bytes.
        bytes: u64,
        /// Number of a cluster's cores.
        cores: u32,
    },
    /// A thread cannot be started.
    #[error("cannot start a worker thread")]
    NoThread(#[source] std::io::Error),
    /// Handlers that nobody trusts have no walls around them.
    #[error(
        "--engine native runs handlers on this computer, and --untrusted wants walls around them that \
         it does not have ({0}); leave --engine native out, or run where namespaces can be made"
    )]
    Untrusted(String),
    /// There is no process for the handlers.
    #[error("cannot start a process for the handlers")]
    NoWalls(#[source] std::io::Error),
    /// The engine does not start in its process.
    #[error("in the process of the handlers: {0}")]
    Confined(String),
    /// The process of the handlers is there no more.
    #[error(
        "the process that handlers run in has ended, or says what cannot be true ({0}): one of them did \
         more than fail; packets that were inside are lost"
    )]
    Lost(String),
}
