//! Accesses outside a handler's packet: beyond it, in front of it, in another one, in what another one
//! left.

use pinion_observe::check::{Deed, Kind};

use super::Unit;

impl Unit {
    /// Tells whether an address lies so near a packet that it must be meant.
    pub(super) const fn is_near(&self, address: u32, (first, bytes): (u32, u32)) -> bool {
        const IN_FRONT_BYTES: u32 = 64;
        let from = first.wrapping_sub(IN_FRONT_BYTES);
        bytes > 0 && address.wrapping_sub(from) < IN_FRONT_BYTES + bytes + self.max_packet
    }

    /// Says what an address of a packet buffer is that is not the task's packet.
    pub(super) fn outside_packet(&self, id: usize, deed: Deed, address: u32) -> (Kind, String) {
        let hart = &self.harts[id];
        if let Some(stale) = hart.stale_before(address, self.max_packet)
            && let Some(place) = self.places.at(stale)
        {
            let packet = place.packet;
            return match place.is_free {
                true => (Kind::FreedPacket, format!("it was packet {packet}'s")),
                false => (Kind::ForeignMemory, format!("it is packet {packet}'s")),
            };
        }
        let (l1, l2) = (hart.place.l1, hart.place.l2);
        let own = if address.abs_diff(l1.0) < address.abs_diff(l2.0) { l1 } else { l2 };
        let (first, bytes) = own;
        let end = first.wrapping_add(bytes);
        let where_to = match address < first {
            true => format!("{} B in front of its first byte", first - address),
            false => format!("{} B behind its end", address.wrapping_sub(end)),
        };
        let where_to = format!("{where_to}; the packet has {bytes} B there");
        match self.left_by(id, address) {
            Some(left) if matches!(deed, Deed::Read | Deed::OperationReads) => {
                (Kind::StaleData, format!("{where_to}; {left}"))
            }
            _ => (Kind::BeyondPacket, where_to),
        }
    }

    /// Says which packet of another context an address of a packet buffer holds bytes of, if it does.
    fn left_by(&self, id: usize, address: u32) -> Option<String> {
        let own = self.harts[id].task?.context;
        let place = self.places.at(address).filter(|place| place.context != own)?;
        let (packet, context) = (place.packet, self.map.context(place.context));
        let what = if place.is_free { "were packet" } else { "are packet" };
        Some(format!("these bytes {what} {packet}'s, of context {context}"))
    }
}
