//! Cores that sleep, in a loop that polls or in `wfi`: what wakes them, and when.

use super::Node;
use super::port::Port;
use crate::Cycle;
use crate::core::{Activity, Core, RETIRE, interrupts};
use crate::event::Listener;

impl Node {
    /// Tells whether all cores but one sleep, and the NIC alone can wake them.
    pub(super) fn sleep_but(&self, index: usize) -> bool {
        let sleeps = |(other, core): (usize, &Core)| {
            let enabled = core.enabled_interrupts() & (interrupts::TIMER | interrupts::SOFTWARE);
            core.key().is_none() && enabled == 0 && self.wake_cycle(other).is_none()
        };
        self.cores.iter().enumerate().all(|core| core.0 == index || sleeps(core))
    }

    /// Gives the cycle in which something happens that a sleeping core waits for.
    pub(super) fn wake_cycle(&self, index: usize) -> Option<Cycle> {
        let (core, interface) = (&self.cores[index], &self.interfaces[index]);
        let from = core.decode_cycle() + 1;
        let enabled = core.enabled_interrupts();
        let pulse =
            (enabled & interrupts::NETWORK != 0).then(|| interface.interrupt_at(from)).flatten();
        let timer = self.memory.devices.timer_at(index as u32);
        let timer =
            (enabled & interrupts::TIMER != 0 && timer != Cycle::MAX).then(|| timer.max(from));
        let software = (enabled & interrupts::SOFTWARE != 0
            && self.memory.devices.software(index as u32))
        .then_some(from);
        let words = match core.activity {
            // Words for another context count too: the loop's next idle write asks for that thread.
            Activity::Polling { .. } => interface
                .next_arrival(from)
                .into_iter()
                .chain(interface.ready_from(from + RETIRE))
                .min(),
            _ => None,
        };
        [pulse, timer, software, words].into_iter().flatten().min()
    }

    /// Wakes a sleeping core.
    pub(super) fn wake(&mut self, index: usize, listener: &mut impl Listener) {
        let Some(at) = self.wake_cycle(index) else { return };
        let core = &mut self.cores[index];
        if let Activity::Polling { .. } = core.activity {
            core.wake_from_poll(at.saturating_sub(1));
            self.interfaces[index].release_message_timer(core.decode_cycle() + RETIRE);
            return;
        }
        let mut port = Port {
            hart: index as u8,
            interface: &mut self.interfaces[index],
            posts: &mut self.posts[index],
            known: at,
            words_known: at,
            room: usize::MAX,
            alone: false,
            end: at,
            hears_retired: true,
            listener,
        };
        core.wake_from_wfi(at, &self.memory, &mut port);
    }
}
