//! What actors see of the world: the time, the cable, memories, timers of their own.

use pinion_host::HostModel;
use pinion_spin::Nic;

use super::queue::{Queue, What};

/// Names the two actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The host that the NIC is in.
    Host,
    /// The other end of the cable.
    Peer,
}

/// A host or a peer. What it does takes no time of itself: it says by timers how long its work
/// takes.
pub trait Actor {
    /// Hears that the run begins.
    fn start(&mut self, world: &mut World<'_>) {
        let _ = world;
    }

    /// Hears that a timer is over that it set.
    fn timer(&mut self, token: u64, world: &mut World<'_>) {
        let _ = (token, world);
    }

    /// Hears that a frame's last bit has reached its port: of a peer, what left the NIC; of a host,
    /// what no context matched.
    fn frame(&mut self, frame: Vec<u8>, world: &mut World<'_>) {
        let _ = (frame, world);
    }

    /// Hears that the NIC wrote host memory; the bytes are there.
    fn host_written(&mut self, address: u64, bytes: u32, world: &mut World<'_>) {
        let _ = (address, bytes, world);
    }
}

/// Does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle;

impl Actor for Idle {}

/// What an actor can do.
pub struct World<'a> {
    pub(super) side: Side,
    pub(super) nic: &'a mut Nic,
    pub(super) queue: &'a mut Queue,
    pub(super) lane: &'a mut Lane,
    pub(super) model: &'a HostModel,
    pub(super) stopped: &'a mut bool,
}

impl World<'_> {
    /// Gives the time since the NIC was ready, in ps.
    pub fn now_ps(&self) -> u64 {
        self.queue.now_ps()
    }

    /// Sets a timer; `token` comes back with it.
    pub fn at(&mut self, at_ps: u64, token: u64) {
        self.queue.push(at_ps, What::Timer { side: self.side, token });
    }

    /// Puts a frame on the cable, its first bit at `first_bit_ps` at the earliest; gives when its
    /// last bit has left.
    pub fn send(&mut self, first_bit_ps: u64, frame: Vec<u8>) -> u64 {
        let occupied = self.model.link.occupied_ps(frame.len());
        let left = self.lane.pass(first_bit_ps.max(self.now_ps()), occupied);
        let there = left + self.model.link.delay_ps();
        let what = match self.side {
            Side::Host => What::ToPeer(frame),
            Side::Peer => What::ToNic(frame),
        };
        self.queue.push(there, what);
        left
    }

    /// Reads host memory.
    pub fn read_host(&self, address: u64, buffer: &mut [u8]) {
        self.nic.read_host(address, buffer);
    }

    /// Writes host memory; `false` where the address space ends or memory is full.
    #[must_use]
    pub fn write_host(&mut self, address: u64, data: &[u8]) -> bool {
        self.nic.write_host(address, data)
    }

    /// Reads the NIC's memory; `false` where there is none.
    #[must_use]
    pub fn read_nic(&self, address: u32, buffer: &mut [u8]) -> bool {
        self.nic.read_memory(address, buffer)
    }

    /// Writes the NIC's memory; `false` where there is none.
    #[must_use]
    pub fn write_nic(&mut self, address: u32, data: &[u8]) -> bool {
        self.nic.write_memory(address, data)
    }

    /// Ends the run.
    pub fn stop(&mut self) {
        *self.stopped = true;
    }
}

/// One direction of the cable.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    free_ps: u64,
}

impl Lane {
    /// Sends a frame from `first_ps` on; gives when its last bit has left.
    pub fn pass(&mut self, first_ps: u64, occupied_ps: u64) -> u64 {
        self.free_ps = self.free_ps.max(first_ps) + occupied_ps;
        self.free_ps
    }

    /// Does the same for a frame whose last bit could leave at `last_ps`.
    pub fn pass_ready(&mut self, last_ps: u64, occupied_ps: u64) -> u64 {
        self.free_ps = last_ps.max(self.free_ps + occupied_ps);
        self.free_ps
    }
}
