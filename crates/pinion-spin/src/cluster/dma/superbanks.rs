//! The beats of a cluster's DMA engine in its own L1, beside those of the NIC's side, which reads and writes L1 for the
//! command unit: they take turns where both ask for a superbank. (RTL: tcdm_superbank_mux.)

use pinion_sim::superbanks::Beats;

use super::{ClusterDma, SharedPorts};

/// Cycles from the NIC's side's to the engine's, for what happens at once: each counts from where its requests come (rows
/// to_host_l1-burst_512, to_host_l1-spread_256).
const NIC_SIDE_CYCLES: u64 = 1;

impl ClusterDma {
    /// Notes where in the own L1 the last part that was issued has its beats; of a copy from there to there, what it
    /// writes.
    pub(super) fn goes_to_l1(&mut self, count: u64, offset: u32) {
        if let Some(last) = self.running.back_mut() {
            let line = u64::from(offset / self.port_bytes);
            last.beats.get_or_insert(Beats { line, count, passed: 0, late: 0 });
        }
    }

    /// Says whether the NIC's side has, in a cycle, the superbank of an offset in the own L1. If it has and the engine
    /// asks for it too, that goes on a cycle later.
    pub fn gives_superbank(&mut self, cycle: u64, offset: u64, ports: &SharedPorts) -> bool {
        let cycle = cycle + NIC_SIDE_CYCLES;
        let line = offset / u64::from(self.port_bytes);
        let mut before = self.last_read[1];
        let mut meets = None;
        for (index, running) in self.running.iter().enumerate() {
            let done = running.done(before, ports);
            if running.read.is_some() {
                before = done;
            }
            let Some(beats) = running.beats else { continue };
            if beats.from(done) > cycle {
                break;
            }
            self.superbanks.engine_had(&beats, done, cycle - beats.from(done));
            if self.superbanks.are_same(beats.at(done, cycle), line) {
                meets = Some((index, done));
            }
        }
        let gives = self.superbanks.nic_asks(cycle, line, meets.is_some());
        if gives && let Some((index, done)) = meets {
            self.put_off(index, cycle, done);
        }
        gives
    }

    /// Lets the beat that a part has in a cycle, and those behind it, come a cycle later.
    #[cold]
    fn put_off(&mut self, index: usize, cycle: u64, done: u64) {
        if let Some(beats) = self.running.get_mut(index).and_then(|part| part.beats.as_mut()) {
            beats.passed = cycle - beats.start(done);
            beats.late += 1;
        }
    }
}
