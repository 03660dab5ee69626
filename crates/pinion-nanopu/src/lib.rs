//! A nanoPU node: RISC-V cores whose register file is the network interface, with transport, core
//! selection and thread scheduling in hardware (nanoPU paper, §2 and §3).
//!
//! A frame's way: [`nic::receive`] (pins, ingress pipeline, reassembly, global receive queues, core
//! selection) → [`hart_interface`] (local receive queue, thread scheduler) → a core, which reads x30
//! and writes x31 → [`nic::transmit`] (packetization, timers, packet generator, egress, pins).
//!
//! | unit | file | in → out | holds | waits for | paper |
//! |---|---|---|---|---|---|
//! | ingress | [`nic::receive`]: `ingress.rs` | frames from the pins → verdicts, requests to the transmit side, payload | frames not decided about | nothing: it takes a flit in every cycle | §2.1, §3.1 |
//! | transport | [`transport`]: `ndp.rs`, `homa.rs`; `p4/` with programs, those of UDP and raw messages among them | a header → what happens to the frame, control frames; a message → its packets' headers | per-message credit | nothing: it is part of both pipelines | §2.1, §3.1 |
//! | reassembly buffer | `reassembly.rs`, `message_table.rs` | packets → whole messages | payload in buffers of size classes, which message a packet belongs to | a free buffer (or drops), the last packet | §2.1, §3.1 |
//! | global receive queues | `global_receive.rs` | whole messages → their words | 64 B words of each context | room in the context's queue | §2.2 |
//! | core selection (JBSQ) | [`jbsq.rs`](nic::receive::jbsq), [`core_selection.rs`](nic::receive::core_selection) | a message's context → a hart | who serves which context, messages outstanding at each | a hart with fewer than *k* | §2.3, §3.2 |
//! | dispatch | `dispatch.rs` | global queues → one hart's local queue | the message on its way | the hart's narrower, room in its queue | §3.2 |
//! | local receive queues | `local_receive.rs` | words → reads of x30 | words of each context; the last two read, to take them back | room in the context's queue | §2.2, §3.4 |
//! | thread scheduler | `thread_scheduler.rs` | words that enter, message done, idle → the context to run, the interrupt line | priorities, who has work, two timers | nothing | §2.4, §3.3 |
//! | hart interface (LNIC registers) | [`hart_interface`] | x30, CSRs 0x052 to 0x061 → words, values, commands to the NIC | the registers | nothing: an empty queue gives nothing | §3.4, §3.5 |
//! | core | [`core`], of `pinion-cores` | instructions → x31, CSRs, memory | the hart, its pipeline, its caches' tags | operands, misses, `wfi` | §3 |
//! | caches and memory | [`memory`]: `l2.rs`, `outer.rs` | misses → cycles, lines to give up | tags, open rows, the data | nothing: it says what an access costs | §3 |
//! | devices | `memory/devices.rs` | loads and stores → registers, timer and software interrupts | the CLINT's registers, the console | nothing | none |
//! | host interface (HTIF) | [`host_interface.rs`](memory::host_interface) | stores to `tohost` → text, arguments, the exit code | the last request | nothing | none |
//! | global transmit queues | [`global_transmit.rs`](nic::transmit::global_transmit) | x31 → the next word of packetization | each hart's words, by context | their turn, a free buffer for a header word | §2.2 |
//! | packetization buffer | [`packetization.rs`](nic::transmit::packetization), `buffers.rs` | words → packets | messages until they are delivered, what to send next | credit | §2.1, §3.1 |
//! | timers | [`timers.rs`](nic::transmit::timers) | messages begun and delivered → timeouts | a deadline for each message | the scan that comes round | §2.1 |
//! | packet generator | [`packet_generator.rs`](nic::transmit::packet_generator) | requests → control frames | frames, PULLs | the arbiter; the token, for PULLs | §2.1 |
//! | arbiter | `arbiter.rs` | control frames and packets → one at a time | nothing | either, and egress | §2.1 |
//! | egress | [`egress.rs`](nic::transmit::egress) | frames → flits on the pins | two queues of words | the pins | §2.1 |
//! | node | [`node`] | frames → frames | all of these, and the order of time among them | | figure 2 |
//! | node with a DMA NIC | [`baseline`], [`memory::dma_nic`] | the same, by way of memory | | | draft, §5 |
//!
//! Files without a folder are those of `nic/receive` and `nic/transmit`. Sections are those of the nanoPU
//! paper (OSDI 2021), whose figure 1 draws these blocks; "draft" is the earlier one, of nanoservices.
//!
//! Every unit counts cycles of the node's one clock ([`Cycle`]); what they say happened is an
//! [`event::Event`].

pub mod baseline;
pub mod event;
pub mod hart_interface;
pub mod memory;
pub mod messenger;
pub mod nic;
pub mod node;
pub mod transport;
pub mod waypoint;

pub use pinion_cores::rocket as core;
pub use pinion_nanopu_hardware as hardware;
pub use pinion_nanopu_machine as machine;
use pinion_nanopu_machine::{address, packets};

/// Counts cycles of the node's clock since reset.
pub type Cycle = u64;
