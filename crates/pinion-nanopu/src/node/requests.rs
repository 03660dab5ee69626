//! From the receive side to the transmit side.

use crate::Cycle;
use crate::nic::receive::Requests;
use crate::nic::transmit::Transmit;
use crate::transport::{Change, ControlRequest, Credit, Delivered};

/// What the receive side asks of the transmit side.
pub(super) struct ToTransmit<'a>(pub &'a mut Transmit);

impl Requests for ToTransmit<'_> {
    fn control(&mut self, request: ControlRequest) {
        self.0.control(request);
    }
    fn delivered(&mut self, delivered: Delivered) {
        self.0.delivered(delivered);
    }
    fn credit(&mut self, credit: Credit) {
        self.0.credit(credit);
    }
    fn frame(&mut self, at: Cycle, frame: Vec<u8>) {
        self.0.made(at, frame);
    }
    fn change_tables(&mut self, changes: &[Change]) {
        self.0.change_tables(changes);
    }
}
