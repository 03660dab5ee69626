//! The units that hardware can stand for, of both machines, and their SystemVerilog.

use std::fmt;

use pinion_nanopu::hardware::Unit as NanoPuUnit;
use pinion_spin::hardware::Unit as SpinUnit;

/// A file's name and its text.
pub type File = (&'static str, &'static str);

macro_rules! rtl {
    ($($path:literal as $name:literal),* $(,)?) => {
        /// All files that units' modules are in.
        pub const FILES: &[File] =
            &[$(($name, include_str!(concat!("../../../hardware/rtl/", $path)))),*];
    };
}

rtl! {
    "common/first_one.sv" as "first_one.sv",
    "common/due_queue.sv" as "due_queue.sv",
    "common/free_list.sv" as "free_list.sv",
    "common/queue.sv" as "queue.sv",
    "common/queue_bypass.sv" as "queue_bypass.sv",
    "common/realign.sv" as "realign.sv",
    "common/round_robin.sv" as "round_robin.sv",
    "hpu/hpu_driver.sv" as "hpu_driver.sv",
    "nanopu/egress_frames.sv" as "egress_frames.sv",
    "nanopu/frame_words.sv" as "frame_words.sv",
    "nanopu/jbsq.sv" as "jbsq.sv",
    "nanopu/local_queues.sv" as "local_queues.sv",
    "nanopu/message_table.sv" as "message_table.sv",
    "nanopu/ndp_egress.sv" as "ndp_egress.sv",
    "nanopu/ndp_ingress.sv" as "ndp_ingress.sv",
    "nanopu/packetization.sv" as "packetization.sv",
    "nanopu/packet_generator.sv" as "packet_generator.sv",
    "nanopu/reassembly.sv" as "reassembly.sv",
    "nanopu/register_interface.sv" as "register_interface.sv",
    "nanopu/thread_scheduler.sv" as "thread_scheduler.sv",
    "nanopu/timers.sv" as "timers.sv",
    "spin/cluster_dma.sv" as "cluster_dma.sv",
    "spin/cluster_scheduler.sv" as "cluster_scheduler.sv",
    "spin/command_unit.sv" as "command_unit.sv",
    "spin/core_accesses.sv" as "core_accesses.sv",
    "spin/dispatcher.sv" as "dispatcher.sv",
    "spin/matching_engine.sv" as "matching_engine.sv",
    "spin/mpq_engine.sv" as "mpq_engine.sv",
    "spin/mpq_queue.sv" as "mpq_queue.sv",
    "spin/nic_reader.sv" as "nic_reader.sv",
    "spin/off_cluster_dma.sv" as "off_cluster_dma.sv",
    "spin/outbound.sv" as "outbound.sv",
    "spin/packet_allocator.sv" as "packet_allocator.sv",
    "spin/packet_ring.sv" as "packet_ring.sv",
    "spin/tcdm_interconnect.sv" as "tcdm_interconnect.sv",
}

/// Names a unit that hardware can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One of a sPIN NIC.
    Spin(SpinUnit),
    /// One of a nanoPU.
    NanoPu(NanoPuUnit),
}

impl Unit {
    /// Gives all of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let nanopu = NanoPuUnit::ALL.into_iter().map(Self::NanoPu);
        SpinUnit::ALL.into_iter().map(Self::Spin).chain(nanopu)
    }

    /// Gives its name, which is its module's, too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin(unit) => unit.name(),
            Self::NanoPu(unit) => unit.name(),
        }
    }

    /// Says whether a block can only run beside the model.
    pub const fn only_compares(self) -> bool {
        match self {
            Self::Spin(unit) => unit.only_compares(),
            Self::NanoPu(unit) => unit.only_compares(),
        }
    }

    /// Says whose unit it is.
    pub const fn machine(self) -> &'static str {
        match self {
            Self::Spin(_) => "a sPIN NIC",
            Self::NanoPu(_) => "a nanoPU",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Gives the text of a unit's module.
pub fn text(unit: Unit) -> &'static str {
    let name = format!("{}.sv", unit.name());
    FILES.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| text)
}

/// Says what a unit that hardware can stand for does.
const fn what(unit: Unit) -> &'static str {
    match unit {
        Unit::Spin(SpinUnit::MatchingEngine) => {
            "packets' contexts, and where messages end: FPsPIN's"
        }
        Unit::Spin(SpinUnit::PacketAllocator) => "room in L2, in slots of two sizes: FPsPIN's",
        Unit::Spin(SpinUnit::MpqEngine) => {
            "a queue per message: header before payload before completion"
        }
        Unit::Spin(SpinUnit::Dispatcher) => "the cluster of each task",
        Unit::Spin(SpinUnit::ClusterScheduler) => {
            "room in L1, the copy, an idle HPU; one in each cluster"
        }
        Unit::Spin(SpinUnit::CommandUnit) => "whose command goes to which interface",
        Unit::Spin(SpinUnit::HpuDriver) => {
            "tasks, commands, completions, the watchdog; one at each HPU, beside the model only"
        }
        Unit::Spin(SpinUnit::Outbound) => {
            "packets that handlers send, onto the wire; beside the model only"
        }
        Unit::Spin(SpinUnit::OffClusterDma) => {
            "copies to and from the host, and single words; beside the model only"
        }
        Unit::Spin(SpinUnit::CoreAccesses) => {
            "whose load, store or atomic goes to L2 when; beside the model only"
        }
        Unit::Spin(SpinUnit::ClusterDma) => {
            "packets' copies to L1, cores' transfers; one in each cluster, beside the model only"
        }
        Unit::Spin(SpinUnit::TcdmInterconnect) => {
            "who gets a bank of L1 in which cycle; one in each cluster, beside the model only"
        }
        Unit::NanoPu(NanoPuUnit::Jbsq) => "nanoPU: the hart of each message, JBSQ(n)",
        Unit::NanoPu(NanoPuUnit::ThreadScheduler) => {
            "nanoPU: the context that should run, its interrupt; one at each hart"
        }
        Unit::NanoPu(NanoPuUnit::Reassembly) => {
            "nanoPU: each packet's message, room for it, messages that are complete"
        }
        Unit::NanoPu(NanoPuUnit::Timers) => "nanoPU: messages whose time is over",
        Unit::NanoPu(NanoPuUnit::PacketGenerator) => {
            "nanoPU: acknowledgements at once, PULLs at the pace of the link"
        }
        Unit::NanoPu(NanoPuUnit::LocalQueues) => {
            "nanoPU: the words that x30 reads, a queue for each context; at each hart"
        }
        Unit::NanoPu(NanoPuUnit::Packetization) => {
            "nanoPU: messages' packets, which go within their credit, and again"
        }
        Unit::NanoPu(NanoPuUnit::NdpIngress) => {
            "nanoPU: frames from the pins, NDP's answers, payload to its buffer; beside the model only"
        }
        Unit::NanoPu(NanoPuUnit::NdpEgress) => {
            "nanoPU: the arbiter, NDP's headers, frames on the pins; beside the model only"
        }
        Unit::NanoPu(NanoPuUnit::RegisterInterface) => {
            "nanoPU: the registers of the network, 0x052 to 0x061; at each hart"
        }
    }
}

/// Lists units and what they do.
pub fn list() -> Vec<Vec<String>> {
    Unit::all().map(|unit| vec![unit.name().to_owned(), what(unit).to_owned()]).collect()
}

/// Says whether a module that Pinion comes with has this name.
pub fn is_module(name: &str) -> bool {
    FILES.iter().any(|(file, _)| file.strip_suffix(".sv") == Some(name))
}

/// Words that SystemVerilog has for itself (IEEE 1800-2017, annex B).
const RESERVED: &str = "
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind
    bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config
    const constraint context continue cover covergroup coverpoint cross deassign default defparam design disable
    dist do edge else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup
    endinterface endmodule endpackage endprimitive endprogram endproperty endspecify endsequence endtable endtask
    enum event eventually expect export extends extern final first_match for force foreach forever fork forkjoin
    function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import
    incdir include initial inout input inside instance int integer interconnect interface intersect join join_any
    join_none large let liblist library local localparam logic longint macromodule matches medium modport module
    nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed
    parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown pullup
    pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg
    reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime
    s_until s_until_with scalared sequence shortint shortreal showcancelled signed small soft solve specify
    specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table
    tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg
    type typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait
    wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
";

/// Says whether a word is one of SystemVerilog's own, which names nothing.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word == name)
}

/// Finds the unit of a name.
pub fn find(name: &str) -> Option<Unit> {
    Unit::all().find(|unit| unit.name() == name)
}

/// Lists the units that hardware can stand for.
pub fn names() -> String {
    Unit::all().map(Unit::name).collect::<Vec<_>>().join(", ")
}
