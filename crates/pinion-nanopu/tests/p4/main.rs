//! Transports that are P4 programs: what their protocols say, and the same as code.

mod as_code;
mod make;
mod shipped;

use pinion_nanopu::transport::{ControlRequest, Credit, Delivered, Externs, MessageInfo, Refusal};
use pinion_net::frame::lnic::Header;

/// The NIC's units: they put messages together in their heads, and remember what they were asked for.
#[derive(Debug, Default)]
pub struct Nic {
    /// Messages by place: the sender's id, which use of it, packets received.
    messages: Vec<((u16, u16), u64)>,
    /// Why the next packets are refused.
    pub refuse: Option<Refusal>,
    /// Control frames asked for.
    pub controls: Vec<ControlRequest>,
    /// Acknowledgements handed on.
    pub delivered: Vec<Delivered>,
    /// Credits handed on.
    pub credits: Vec<Credit>,
}

impl Externs for Nic {
    fn now(&self) -> u64 {
        self.controls.len() as u64
    }

    fn message(&mut self, header: &Header, trimmed: bool) -> Result<MessageInfo, Refusal> {
        if let Some(refusal) = self.refuse {
            return Err(refusal);
        }
        let key = (header.tx_msg_id, header.pull_offset % 4);
        let known = self.messages.iter().position(|(id, _)| *id == key);
        let place = known.unwrap_or(self.messages.len());
        if known.is_none() {
            self.messages.push((key, 0));
        }
        let received = &mut self.messages[place].1;
        let bit = 1u64.checked_shl(header.pkt_offset.into()).filter(|_| !trimmed).unwrap_or(0);
        let duplicate = *received & bit != 0;
        *received |= bit;
        let message = MessageInfo {
            rx_id: place as u16 % 16,
            new: known.is_none(),
            packets: header.msg_len.div_ceil(1024) as u8,
            received: *received,
        };
        if received.count_ones() > 5 {
            *received = 0;
        }
        if duplicate { Err(Refusal::Duplicate { message }) } else { Ok(message) }
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
