//! What writes meet behind the port to L2: handler memory takes one atomic after the other, and between that and the
//! port there is a short queue in which all writes keep their order. (RTL: axi_demux of axi_dw_converter, whose
//! spill_register takes the addresses; axi_riscv_atomics. Rows amo_word, amo_words, amo_banks.)

use std::collections::VecDeque;

use super::Asked;

/// Holds the way of writes behind the port.
#[derive(Clone, Debug)]
pub struct BehindPort {
    /// First cycle in which an atomic may be served.
    free_at: u64,
    /// When the last writes are served, as many as may be in the queue.
    served: VecDeque<u64>,
    most_queued: usize,
}

impl BehindPort {
    /// Makes an idle way, with so many writes in the queue.
    pub fn new(most_queued: u32) -> Self {
        let most_queued = most_queued as usize;
        Self { free_at: 0, served: VecDeque::with_capacity(most_queued + 1), most_queued }
    }

    /// Takes a write that has the port in a cycle; gives when it is served, and when the port takes another one.
    #[inline(always)]
    pub fn take(&mut self, cycle: u64, asked: &Asked) -> (u64, u64) {
        let start = match asked.atomic_cycles {
            0 => cycle,
            cycles => {
                let start = cycle.max(self.free_at);
                self.free_at = start + cycles;
                start
            }
        };
        self.served.push_back(start);
        if self.served.len() > self.most_queued {
            self.served.pop_front();
        }
        let room = match self.served.len() < self.most_queued {
            true => 0,
            false => self.served[0],
        };
        (start, room.max(cycle + asked.port_cycles))
    }
}
