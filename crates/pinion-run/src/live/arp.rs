//! What stands in for the host's network stack on a live device: ARP requests come in, answers go
//! out.
//!
//! On a TAP device the kernel is the other end of the wire: what it sends arrives at the NIC, and
//! there is no second stack behind the NIC that could answer ARP for the addresses the NIC serves.
//! So the NIC's host side answers itself: for every address of the device's network but the
//! kernel's own.

use std::net::Ipv4Addr;

use pinion_net::tap::InterfaceAddress;

/// The NIC's hardware address (locally administered).
pub const NIC_MAC: [u8; 6] = [0x02, 0x70, 0x69, 0x6e, 0x00, 0x02];

/// Ethernet header and an ARP packet for IPv4 over Ethernet (RFC 826).
pub const ARP_FRAME_BYTES: usize = 42;

/// Answers ARP requests.
#[derive(Debug, Clone, Copy)]
pub struct Responder {
    /// The kernel's address on the device and its network, if they are known.
    pub kernel: Option<InterfaceAddress>,
    /// The first and the last address that are answered for, if not all of the network are.
    pub only: Option<[Ipv4Addr; 2]>,
}

impl Responder {
    /// Gives the answer to a frame, if it is an ARP request for an address of the NIC.
    pub fn answer(&self, frame: &[u8]) -> Option<[u8; ARP_FRAME_BYTES]> {
        let arp: &[u8; ARP_FRAME_BYTES] = frame.first_chunk()?;
        // Ethernet type ARP; hardware Ethernet, protocol IPv4, lengths 6 and 4; request.
        let is_request = arp[12..22] == [0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1];
        let sender = address(arp, 28);
        let target = address(arp, 38);
        if !is_request || !self.serves(sender, target) {
            return None;
        }
        let mut answer = [0; ARP_FRAME_BYTES];
        answer[..6].copy_from_slice(&arp[6..12]);
        answer[6..12].copy_from_slice(&NIC_MAC);
        answer[12..20].copy_from_slice(&arp[12..20]);
        answer[20..22].copy_from_slice(&[0, 2]);
        answer[22..28].copy_from_slice(&NIC_MAC);
        answer[28..32].copy_from_slice(&target.octets());
        answer[32..42].copy_from_slice(&arp[22..32]);
        Some(answer)
    }

    fn serves(&self, sender: Ipv4Addr, target: Ipv4Addr) -> bool {
        // An address asking for itself, or nobody asking, checks whether the address is free.
        if sender == target || sender.is_unspecified() {
            return false;
        }
        if let Some([first, last]) = self.only {
            return (first..=last).contains(&target);
        }
        self.kernel.is_none_or(|kernel| {
            let shift = 32 - u32::from(kernel.prefix.min(32));
            let network = |address: Ipv4Addr| u32::from(address).checked_shr(shift).unwrap_or(0);
            target != kernel.address && network(target) == network(kernel.address)
        })
    }
}

fn address(frame: &[u8; ARP_FRAME_BYTES], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
        let mut frame = vec![0xff; 6];
        frame.extend([2, 0, 0, 0, 0, 1]);
        frame.extend([0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
        frame.extend([2, 0, 0, 0, 0, 1]);
        frame.extend(sender);
        frame.extend([0; 6]);
        frame.extend(target);
        frame
    }

    #[test]
    fn answers_for_the_network_but_the_kernel() {
        let responder = Responder { kernel: "10.11.0.1/24".parse().ok(), only: None };
        let answer = responder.answer(&request([10, 11, 0, 1], [10, 11, 0, 2])).unwrap();
        assert_eq!(answer[..6], [2, 0, 0, 0, 0, 1]);
        assert_eq!(answer[20..22], [0, 2]);
        assert_eq!(answer[22..28], NIC_MAC);
        assert_eq!(answer[28..32], [10, 11, 0, 2]);
        assert_eq!(answer[32..42], [2, 0, 0, 0, 0, 1, 10, 11, 0, 1]);
        for (sender, target) in [
            ([10, 11, 0, 1], [10, 11, 0, 1]),
            ([0, 0, 0, 0], [10, 11, 0, 2]),
            ([10, 11, 0, 1], [10, 12, 0, 2]),
            ([10, 11, 0, 7], [10, 11, 0, 1]),
        ] {
            assert!(responder.answer(&request(sender, target)).is_none(), "{target:?}");
        }
    }

    #[test]
    fn answers_for_nodes_alone() {
        let only = Some([Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 4)]);
        let responder = Responder { kernel: None, only };
        for (last, is_served) in [(1, false), (2, true), (4, true), (5, false)] {
            let answer = responder.answer(&request([10, 0, 0, 1], [10, 0, 0, last]));
            assert_eq!(answer.is_some(), is_served, "{last}");
        }
    }

    #[test]
    fn other_frames_get_no_answer() {
        let responder = Responder { kernel: None, only: None };
        assert!(responder.answer(&[]).is_none());
        assert!(responder.answer(&[0; 64]).is_none());
        let mut reply = request([10, 0, 0, 1], [10, 0, 0, 2]);
        reply[21] = 2;
        assert!(responder.answer(&reply).is_none());
    }
}
