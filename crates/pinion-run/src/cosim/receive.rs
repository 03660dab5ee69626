//! The way of received frames through a host's NIC, interrupt and kernel, up to the socket.
//!
//! One core serves the interrupt. It goes on with the next frame as long as there is one (NAPI);
//! after a pause the next frame takes an interrupt again.

use std::collections::VecDeque;

use pinion_host::HostModel;
use pinion_host::model::{Server, to_ps};

/// Holds frames on their way to the socket.
#[derive(Debug, Default)]
pub(super) struct ReceivePath {
    queue: VecDeque<(u64, Vec<u8>)>,
    core: Server,
    /// Whether a frame is being worked at; its end is known to the caller.
    running: bool,
    /// Whether the last interrupt found its core asleep.
    was_asleep: bool,
}

impl ReceivePath {
    /// Takes a frame whose last bit is at the port; gives when the kernel is done with it, if
    /// nothing is in the way. The caller then asks for it by [`ReceivePath::finish`].
    pub fn arrive(&mut self, now_ps: u64, frame: Vec<u8>, model: &HostModel) -> Option<u64> {
        let ready_ps = now_ps + model.nic.receive_ps(frame.len());
        self.queue.push_back((ready_ps, frame));
        if self.running {
            return None;
        }
        self.begin(model)
    }

    /// Takes the frame that is done now.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        self.running = false;
        self.queue.pop_front().map(|(_, frame)| frame)
    }

    /// Lets the core do further work (waking a process); gives when that is done.
    pub fn work(&mut self, now_ps: u64, ns: f64) -> u64 {
        self.core.serve(now_ps, to_ps(ns))
    }

    /// Goes on with the next frame; gives when it is done.
    pub fn begin(&mut self, model: &HostModel) -> Option<u64> {
        let (ready_ps, frame) = self.queue.front()?;
        let (ready_ps, bytes) = (*ready_ps, frame.len());
        self.running = true;
        let mut start_ps = ready_ps;
        if !self.core.is_busy(ready_ps) && self.core.free_ps() != ready_ps {
            let idle_ps = self.core.idle_ps(ready_ps);
            self.was_asleep = model.kernel.is_asleep(idle_ps);
            start_ps += model.kernel.interrupt_ps(self.was_asleep);
        }
        Some(self.core.serve(start_ps, model.kernel.frame_ps(bytes)))
    }

    /// Tells whether the last interrupt found its core asleep.
    pub fn was_asleep(&self) -> bool {
        self.was_asleep
    }
}
