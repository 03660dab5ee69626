//! What a machine says of the cores' way to L2.

use serde::Deserialize;

use super::{Machine, Memory};

/// Describes the cores' way to L2, on which each cluster's accesses take turns with the others'.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorePorts {
    /// Accesses that wait behind their cluster's turn, and writes behind the port.
    pub queued: u32,
    /// Loads on their way to L2 and back.
    pub loads: u32,
    /// Cycles from a core's request to its cluster's turn.
    pub way_cycles: u64,
    /// Cycles from there to packet memory's port.
    pub packet_cycles: u64,
    /// Cycles from that port until another load may be on its way.
    pub packet_return_cycles: u64,
    /// Loads on their way to handler memory.
    pub handler_loads: u32,
    /// Cycles from when a load goes to handler memory until its answer is there.
    pub handler_answer_cycles: u64,
    /// Cycles from there until another load may be on its way.
    pub handler_return_cycles: u64,
}

impl Machine {
    /// Checks that accesses take as long as their way.
    pub(super) fn check_core_ports(&self) -> Result<(), (&'static str, String)> {
        let ports = &self.core_ports;
        for (key, count, most) in [
            ("core_ports.queued", ports.queued, 64),
            ("core_ports.loads", ports.loads, 32),
            ("core_ports.handler_loads", ports.handler_loads, 64),
        ] {
            if !(1..=most).contains(&count) {
                return Err((key, format!("{count} is outside 1 to {most}")));
            }
        }
        let packet = ports.way_cycles + ports.packet_cycles;
        let handler = ports.way_cycles + ports.handler_answer_cycles;
        let (own, packets, handlers) = (ports.way_cycles, &self.l2_packet, &self.l2_handler);
        let amo = |memory: &Memory| if memory.amo_cycles == 0 { 0 } else { own };
        for (key, cycles, way) in [
            ("l2_packet.load_cycles", packets.load_cycles, packet),
            ("l2_packet.store_cycles", packets.store_cycles, own),
            ("l2_packet.amo_cycles", packets.amo_cycles, amo(packets)),
            ("l2_handler.load_cycles", handlers.load_cycles, handler),
            ("l2_handler.store_cycles", handlers.store_cycles, own),
            ("l2_handler.amo_cycles", handlers.amo_cycles, amo(handlers)),
        ] {
            if way > 0 && cycles < way + 2 {
                let problem = format!(
                    "an access takes {cycles} cycles, and its way alone {} (core_ports): make that \
                     shorter, too",
                    way + 2
                );
                return Err((key, problem));
            }
        }
        Ok(())
    }
}
