//! The transport with windows that is written in P4: marks of switches come back with acknowledgements, and
//! shrink a window in proportion.

use pinion_nanopu::Cycle;
use pinion_nanopu::transport::{
    self, Address, ControlRequest, Credit, Delivered, Externs, MessageInfo, Outgoing, Refusal,
    Transport, Verdict,
};
use pinion_net::frame::lnic::{Flags, Header};

use crate::support;

/// The largest window, in packets.
const WINDOW: u16 = 16;
const SENDER: Address = Address { mac: [2; 6], next_hop_mac: [3; 6], ip: 0x0a00_0001 };
const RECEIVER: Address = Address { mac: [4; 6], next_hop_mac: [3; 6], ip: 0x0a00_0002 };

/// Takes every packet, and remembers what is asked for.
#[derive(Default)]
struct Nic {
    controls: Vec<ControlRequest>,
    delivered: Vec<Delivered>,
    credits: Vec<Credit>,
}

impl Externs for Nic {
    fn now(&self) -> Cycle {
        0
    }

    fn message(&mut self, _: &Header, _: bool) -> Result<MessageInfo, Refusal> {
        Ok(MessageInfo { rx_id: 0, new: false, packets: 38, received: 1 })
    }

    fn control(&mut self, request: ControlRequest) {
        self.controls.push(request);
    }

    fn delivered(&mut self, delivered: Delivered) {
        self.delivered.push(delivered);
    }

    fn credit(&mut self, credit: Credit) {
        self.credits.push(credit);
    }
}

/// Both ends.
struct Ends {
    sender: Box<dyn Transport>,
    receiver: Box<dyn Transport>,
    nic: Nic,
}

impl Ends {
    fn new() -> Self {
        let overrides = [
            "transport.kind=p4",
            "transport.ingress=sdk/p4/dctcp/ingress.p4",
            "transport.egress=sdk/p4/dctcp/egress.p4",
            &format!("transport.rtt_packets={WINDOW}"),
        ];
        let section = support::machine(false, &overrides).transport;
        let [sender, receiver] = [(); 2].map(|()| transport::build(&section, 128));
        Self { sender, receiver, nic: Nic::default() }
    }

    /// Sends packet number `packet`, marks it or not, and brings its acknowledgement back; gives the window
    /// behind it.
    fn exchange(&mut self, packet: u8, is_marked: bool) -> u16 {
        let message = Outgoing {
            tx_msg_id: 5,
            dst_ip: RECEIVER.ip,
            msg_len: 38 * 1024,
            generation: 7,
            ..Outgoing::default()
        };
        let mut frame = Vec::new();
        let header = self.sender.data(&message, packet, false, &SENDER);
        self.sender.write(&header, &[1; 1024], &mut frame);
        assert_eq!((frame[15], frame[23]), (2, 0xfe), "it may be marked");
        frame[15] |= u8::from(is_marked);
        let (header, payload) = self.receiver.parse(&frame).unwrap();
        let verdict = self.receiver.arrive(&header, payload, &mut self.nic);
        assert_eq!(verdict, Verdict::Reassemble { rx_id: 0 });
        let request = self.nic.controls.pop().unwrap();
        frame.clear();
        let header = self.receiver.control(&request, Flags::ACK, &RECEIVER);
        self.receiver.write(&header, &[0; 64], &mut frame);
        assert_eq!(frame[15], 0, "acknowledgements are not marked");
        let (header, payload) = self.sender.parse(&frame).unwrap();
        let verdict = self.sender.arrive(&header, payload, &mut self.nic);
        assert_eq!(verdict, Verdict::Consume);
        let delivered = self.nic.delivered.pop().unwrap();
        let told = (delivered.tx_msg_id, delivered.packet, delivered.generation);
        assert_eq!(told, (5, packet, 7));
        let credit = self.nic.credits.pop().unwrap();
        assert_eq!((credit.tx_msg_id, credit.retransmit), (5, None));
        credit.credit.unwrap() - u16::from(packet) - 1
    }

    /// Exchanges a window's packets, of which some are marked; gives the window then.
    fn round(&mut self, marked: u8) -> u16 {
        (0..WINDOW as u8).map(|packet| self.exchange(packet, packet < marked)).last().unwrap()
    }
}

#[test]
fn a_window_shrinks_in_proportion_to_its_marks() {
    // Each mark takes half a packet, and what is not marked gives a sixteenth.
    for (marked, window) in [(0, 16), (4, 15), (8, 13), (12, 11), (16, 8)] {
        assert_eq!(Ends::new().round(marked), window, "{marked} of {WINDOW} marked");
    }
}

#[test]
fn a_window_has_one_packet_at_least_and_grows_again() {
    let mut ends = Ends::new();
    for _ in 0..8 {
        ends.round(WINDOW as u8);
    }
    assert_eq!(ends.exchange(0, true), 1);
    // However long the marks went on, a packet more for each window's worth without.
    let windows: Vec<u16> = (0..17).map(|_| ends.round(0)).collect();
    assert!(windows.windows(2).all(|pair| pair[1] == (pair[0] + 1).min(WINDOW)), "{windows:?}");
    assert_eq!(windows.last(), Some(&WINDOW));
}
