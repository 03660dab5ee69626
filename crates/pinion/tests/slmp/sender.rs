//! A model of SLMP's sender: first packet, a window of packets, last packet; each with SYN, again
//! after a while without an answer. In: acknowledgements. Out: frames.

use pinion_net::frame::{Endpoints, SlmpHeader, build_slmp_frame};

/// Sends a packet again after so long; the link's latency and a handler take some 30 µs.
const TIMEOUT_PS: u64 = 400_000_000;
/// Gives up after so many tries.
const TRIES: u32 = 60;

#[derive(Clone, Copy, Default)]
struct Packet {
    sent_ps: u64,
    tries: u32,
    is_acked: bool,
}

/// Sends one message.
pub struct Sender {
    ends: Endpoints,
    port: u16,
    message: u32,
    data: Vec<u8>,
    piece: usize,
    window: usize,
    packets: Vec<Packet>,
    /// Counts packets sent.
    pub sent: u64,
    /// Counts those of them that were sent before.
    pub repeated: u64,
}

impl Sender {
    /// Makes a sender of `data` in packets of `piece` bytes.
    pub fn new(message: u32, data: Vec<u8>, piece: usize, window: usize) -> Self {
        let count = data.len().div_ceil(piece).max(1);
        Self {
            ends: Endpoints::default(),
            port: 7000 + message as u16,
            message,
            data,
            piece,
            window,
            packets: vec![Packet::default(); count],
            sent: 0,
            repeated: 0,
        }
    }

    /// Gives the message's number and its bytes.
    pub fn message(&self) -> (u32, &[u8]) {
        (self.message, &self.data)
    }

    /// Says whether every packet is acknowledged.
    pub fn is_done(&self) -> bool {
        self.packets.iter().all(|packet| packet.is_acked)
    }

    /// Gives the frames that go out at `now_ps`.
    pub fn poll(&mut self, now_ps: u64) -> Vec<Vec<u8>> {
        let mut due = Vec::new();
        let mut in_flight = 0;
        let last = self.packets.len() - 1;
        for index in 0..=last {
            let packet = self.packets[index];
            if packet.is_acked {
                continue;
            }
            // The first goes alone, and the last.
            let waits = (index > 0 && !self.packets[0].is_acked)
                || (index == last && self.packets[..last].iter().any(|packet| !packet.is_acked));
            if waits || in_flight == self.window {
                break;
            }
            in_flight += 1;
            if packet.tries == 0 || now_ps >= packet.sent_ps + TIMEOUT_PS {
                due.push(index);
            }
        }
        due.into_iter().map(|index| self.emit(index, now_ps)).collect()
    }

    fn emit(&mut self, index: usize, now_ps: u64) -> Vec<u8> {
        let packet = &mut self.packets[index];
        self.sent += 1;
        self.repeated += u64::from(packet.tries > 0);
        packet.tries += 1;
        packet.sent_ps = now_ps;
        assert!(packet.tries <= TRIES, "message {} packet {index}: no answer", self.message);
        let start = index * self.piece;
        let end = (start + self.piece).min(self.data.len());
        let last = if index + 1 == self.packets.len() { SlmpHeader::EOM } else { 0 };
        let header = SlmpHeader {
            flags: SlmpHeader::SYN | last,
            message_id: self.message,
            offset_bytes: start as u32,
        };
        build_slmp_frame(&self.ends, self.port, header, &self.data[start..end]).unwrap()
    }

    /// Takes an acknowledgement of this message.
    pub fn acknowledge(&mut self, header: SlmpHeader) {
        let index = header.offset_bytes as usize / self.piece;
        if header.message_id == self.message && index < self.packets.len() {
            self.packets[index].is_acked = true;
        }
    }
}
