//! Externs for tests of transports: they put messages together in their heads.

use pinion_net::frame::lnic::Header;

use super::{Externs, MessageInfo, Refusal};
use crate::Cycle;
use crate::transport::{ControlRequest, Credit, Delivered};

/// Remembers messages and what was asked for.
#[derive(Debug, Default)]
pub struct Asked {
    /// Messages by place: the sender's id, which use of it, packets received.
    messages: Vec<((u16, u16), u64)>,
    /// Refuses the next packets for this reason.
    pub refuse: Option<Refusal>,
    /// Control frames asked for.
    pub controls: Vec<ControlRequest>,
    /// Acknowledgements handed on.
    pub delivered: Vec<Delivered>,
    /// Credits handed on.
    pub credits: Vec<Credit>,
}

impl Externs for Asked {
    fn now(&self) -> Cycle {
        100
    }

    fn message(&mut self, header: &Header, trimmed: bool) -> Result<MessageInfo, Refusal> {
        if let Some(refusal) = self.refuse {
            return Err(refusal);
        }
        let key = (header.tx_msg_id, header.pull_offset);
        let known = self.messages.iter().position(|(id, _)| *id == key);
        let place = known.unwrap_or(self.messages.len());
        if known.is_none() {
            self.messages.push((key, 0));
        }
        let received = &mut self.messages[place].1;
        let bit = if trimmed { 0 } else { 1 << header.pkt_offset };
        let duplicate = *received & bit != 0;
        *received |= bit;
        let message = MessageInfo {
            rx_id: place as u16,
            new: known.is_none(),
            packets: header.msg_len.div_ceil(1024) as u8,
            received: *received,
        };
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
