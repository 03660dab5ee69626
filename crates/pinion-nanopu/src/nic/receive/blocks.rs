//! Blocks of hardware in the places of the receive side's units, or beside them.

use super::Receive;
use crate::hardware::{InLoop, IngressSeat, JbsqSeat, Placed, ReassemblySeat};

impl Receive {
    /// Puts a block into JBSQ's place, or beside it.
    pub fn set_jbsq(&mut self, seat: JbsqSeat) {
        self.has_blocks = true;
        self.selection.set_hardware(seat);
    }

    /// Puts a block into reassembly's place, or beside it.
    pub fn set_reassembly(&mut self, seat: ReassemblySeat) {
        self.has_blocks = true;
        self.reassembly.set_hardware(seat);
    }

    /// Puts a block beside the ingress pipeline.
    pub fn set_ingress(&mut self, seat: IngressSeat) {
        self.has_blocks = true;
        self.ingress.hardware = InLoop::new(seat);
    }

    /// Gives the blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &dyn Placed> {
        let ingress = self.ingress.hardware.get().map(|seat| seat as &dyn Placed);
        let jbsq = self.selection.hardware().map(|seat| seat as &dyn Placed);
        let reassembly = self.reassembly.hardware().map(|seat| seat as &dyn Placed);
        ingress.into_iter().chain(jbsq).chain(reassembly)
    }
}
