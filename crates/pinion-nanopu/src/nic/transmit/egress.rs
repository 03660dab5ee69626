//! The egress pipeline: 64 B words of frames in, 8 B flits on the pins out (nanoPU paper,
//! §2.1; RTL LNIC/Egress).
//!
//! In: whole packets, in the order the arbiter chose. Out: when each word passes each stage, and
//! the cycles of the frame's first and last flit. Two queues hold words of payload, one behind the
//! arbiter and one in the pipeline, which puts each packet's header before its payload; a full one
//! makes the one before it wait. Since frames leave in the order they came, every word's way is
//! known when its packet is chosen: nothing here ever has to be woken.

use crate::Cycle;
use crate::event::{Event, Listener};
use crate::machine::transmit::{DATAPATH_BYTES, EgressSection, TransmitLatency};

/// Remembers the last cycles of a stage, to know when a queue in front of it had room.
#[derive(Clone, Debug)]
struct Window {
    cycles: Box<[Cycle]>,
    oldest: usize,
}

impl Window {
    fn new(words: usize) -> Self {
        Self { cycles: vec![0; words].into(), oldest: 0 }
    }

    /// Tells when the word left that has to be gone before another one enters.
    fn room_from(&self) -> Cycle {
        self.cycles[self.oldest]
    }

    /// Notes that the next word leaves in cycle `at`, so that its place is free one later.
    fn leave(&mut self, at: Cycle) {
        self.cycles[self.oldest] = at + 1;
        self.oldest = if self.oldest + 1 == self.cycles.len() { 0 } else { self.oldest + 1 };
    }
}

/// Says when a frame passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its last word passed the arbiter.
    pub last_word: Cycle,
    /// Its first flit is on the pins.
    pub first_flit: Cycle,
    /// Its last flit is on the pins.
    pub last_flit: Cycle,
}

/// Holds the two queues and the pins.
#[derive(Clone, Debug)]
pub struct Egress {
    pin_bytes: u64,
    arbiter_cycles: u64,
    pipeline_cycles: u64,
    arbiter: Window,
    pipeline: Window,
    arbiter_free: Cycle,
    pipeline_free: Cycle,
    pins_free: Cycle,
}

impl Egress {
    /// Makes an idle pipeline.
    pub fn new(section: &EgressSection, latency: &TransmitLatency) -> Self {
        Self {
            pin_bytes: section.pin_bytes,
            arbiter_cycles: latency.arbiter_cycles,
            pipeline_cycles: latency.pipeline_cycles,
            arbiter: Window::new(section.arbiter_words),
            pipeline: Window::new(section.pipeline_words),
            arbiter_free: 0,
            pipeline_free: 0,
            pins_free: 0,
        }
    }

    /// Tells the first cycle in which the arbiter can pass the first word of another packet.
    pub fn free_from(&self) -> Cycle {
        self.arbiter_free.max(self.arbiter.room_from())
    }

    /// Passes a packet whose first word is chosen in cycle `at`, at or after
    /// [`free_from`](Self::free_from); the following words come one per cycle. `data` packets come
    /// from packetization.
    pub fn pass(
        &mut self,
        at: Cycle,
        header_bytes: usize,
        frame_bytes: usize,
        data: bool,
        listener: &mut impl Listener,
    ) -> Passage {
        let mut payload = frame_bytes.saturating_sub(header_bytes);
        let words = payload.div_ceil(DATAPATH_BYTES).max(1);
        let mut flits_left = (frame_bytes as u64).div_ceil(self.pin_bytes);
        let mut first_flit = 0;
        for word in 0..words {
            let last = word + 1 == words;
            let passed = at.max(self.arbiter_free).max(self.arbiter.room_from());
            self.arbiter_free = passed + 1;
            if data {
                listener.event(passed, Event::PacketizeOut { last });
            }
            let entered = (passed + self.arbiter_cycles)
                .max(self.pipeline_free)
                .max(self.pipeline.room_from());
            self.pipeline_free = entered + 1;
            self.arbiter.leave(entered);
            listener.event(entered, Event::EgressIn { last });
            let mut out = (entered + self.pipeline_cycles).max(self.pins_free);
            if word == 0 {
                first_flit = out;
                listener.event(out, Event::EgressOut { last: false });
                let flits = ((header_bytes as u64).div_ceil(self.pin_bytes)).min(flits_left - 1);
                flits_left -= flits;
                out += flits;
            }
            self.pipeline.leave(out);
            listener.event(out, Event::EgressOut { last });
            let bytes = payload.min(DATAPATH_BYTES);
            payload -= bytes;
            let flits = if last { flits_left } else { DATAPATH_BYTES as u64 / self.pin_bytes };
            flits_left -= flits.min(flits_left);
            self.pins_free = out + flits;
        }
        Passage { last_word: self.arbiter_free - 1, first_flit, last_flit: self.pins_free - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Deaf;
    use crate::machine::transmit::{TransmitFixes, TransmitSection};

    fn egress() -> Egress {
        let section = TransmitSection::artifact(1000, TransmitFixes::ALL);
        Egress::new(&section.egress, &section.latency)
    }

    #[test]
    fn an_empty_pipeline_takes_two_cycles_to_the_pins() {
        let mut egress = egress();
        let passage = egress.pass(61, 64, 72, true, &mut Deaf);
        assert_eq!(passage, Passage { last_word: 61, first_flit: 63, last_flit: 71 });
        let control = egress.pass(200, 64, 128, false, &mut Deaf);
        assert_eq!((control.first_flit, control.last_flit), (202, 217));
    }

    #[test]
    fn large_frames_follow_each_other_without_a_gap_on_the_pins() {
        let mut egress = egress();
        let mut events = Vec::new();
        let first = egress.pass(308, 64, 1088, true, &mut events);
        assert_eq!((first.first_flit, first.last_flit), (310, 445));
        let second = egress.pass(330, 64, 1088, true, &mut events);
        assert_eq!((second.first_flit, second.last_flit), (446, 581));
        assert_eq!(events.len(), 2 * (16 + 16 + 17));
    }

    #[test]
    fn full_queues_hold_up_the_arbiter() {
        let mut egress = egress();
        let mut at = 0;
        for _ in 0..80 {
            at = egress.free_from().max(at);
            egress.pass(at, 64, 128, false, &mut Deaf);
        }
        // 34 words wait in each queue; places come free as frames of 16 flits leave.
        let next = egress.free_from();
        egress.pass(next, 64, 128, false, &mut Deaf);
        assert_eq!(egress.free_from(), next + 16);
    }

    #[test]
    fn headers_that_are_no_whole_number_of_flits_count_once() {
        let mut egress = egress();
        let passage = egress.pass(10, 42, 60, true, &mut Deaf);
        assert_eq!(passage.last_flit - passage.first_flit + 1, 8);
        let passage = egress.pass(100, 42, 42 + 1024, true, &mut Deaf);
        assert_eq!(passage.last_flit - passage.first_flit + 1, (42 + 1024u64).div_ceil(8));
    }
}
