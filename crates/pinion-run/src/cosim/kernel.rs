//! The host's own network stack, for frames that no context matches: the kernel answers ICMP, a
//! process answers UDP.

use std::collections::VecDeque;

use pinion_host::HostModel;
use pinion_host::model::to_ps;

use super::echo::{Request, reply};
use super::receive::ReceivePath;
use super::world::{Actor, World};

const RECEIVED: u64 = 0;
const SEND: u64 = 1;

/// Answers pings and UDP datagrams.
#[derive(Debug)]
pub struct Kernel {
    model: HostModel,
    path: ReceivePath,
    replies: VecDeque<Vec<u8>>,
}

impl Kernel {
    /// Makes a host.
    pub fn new(model: &HostModel) -> Self {
        Self { model: model.clone(), path: ReceivePath::default(), replies: VecDeque::new() }
    }

    /// Gives the answer to a frame, and how long kernel and process take for it, in ps.
    fn answer(&mut self, now_ps: u64, mut frame: Vec<u8>) -> Option<(Vec<u8>, u64)> {
        let kernel = &self.model.kernel;
        let took_ps = match reply(&mut frame)? {
            Request::Icmp(_) => to_ps(kernel.icmp_reply_ns + kernel.byte_ns * frame.len() as f64),
            Request::Udp => {
                let woken = self.path.work(now_ps, kernel.wake_call_ns);
                let wake = kernel.wake_ps(self.path.was_asleep(), false);
                woken - now_ps + wake + to_ps(kernel.receive_ns) + kernel.send_ps(frame.len())
            }
        };
        Some((frame, took_ps))
    }
}

impl Actor for Kernel {
    fn timer(&mut self, token: u64, world: &mut World<'_>) {
        let now_ps = world.now_ps();
        if token == SEND {
            let Some(frame) = self.replies.pop_front() else { return };
            world.send(now_ps + self.model.nic.transmit_ps(frame.len()), frame);
            return;
        }
        let Some(frame) = self.path.finish() else { return };
        if let Some((reply, took_ps)) = self.answer(now_ps, frame) {
            self.replies.push_back(reply);
            world.at(now_ps + took_ps, SEND);
        }
        if let Some(done) = self.path.begin(&self.model) {
            world.at(done, RECEIVED);
        }
    }

    fn frame(&mut self, frame: Vec<u8>, world: &mut World<'_>) {
        if let Some(done) = self.path.arrive(world.now_ps(), frame, &self.model) {
            world.at(done, RECEIVED);
        }
    }
}
