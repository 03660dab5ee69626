//! What the receive side asks of the transmit side. Requests for control frames come in order of their cycles;
//! acknowledgements and credit as well, an acknowledgement before the credit of the same frame.

use super::{Notice, Transmit, Unit};
use crate::Cycle;
use crate::nic::receive::Requests;
use crate::transport::{Change, ControlRequest, Credit, Delivered};

/// Frames of the ingress pipeline that may wait for the arbiter.
const MOST_MADE: usize = 64;

impl Requests for Transmit {
    fn control(&mut self, request: ControlRequest) {
        self.generator.push(request);
        self.note(Unit::Generator);
    }

    fn delivered(&mut self, delivered: Delivered) {
        let at = delivered.at + self.notice_cycles;
        self.notices.push_back((at, Notice::Delivered(delivered)));
        self.note(Unit::Notices);
    }

    fn credit(&mut self, credit: Credit) {
        self.notices.push_back((credit.at + self.notice_cycles, Notice::Credit(credit)));
        self.note(Unit::Notices);
    }

    /// One too many is dropped and counted.
    fn frame(&mut self, at: Cycle, frame: Vec<u8>) {
        if self.made.len() >= MOST_MADE {
            self.counters.made_frames_dropped += 1;
            return;
        }
        // Frames of events come later than those of packets that began after them.
        let place = self.made.partition_point(|(other, _)| *other <= at);
        self.made.insert(place, (at, frame));
        self.note(Unit::Arbiter);
    }

    fn change_tables(&mut self, changes: &[Change]) {
        self.transport.change_tables(changes);
    }
}
