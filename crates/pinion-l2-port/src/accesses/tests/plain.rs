//! The same ports as they are drawn: each unit is looked at in each cycle, and nothing is kept of what comes next.

use std::collections::VecDeque;

use pinion_sim::arbiter::RoundRobin;
use pinion_spin_machine::CorePorts;

use super::{Asked, BehindPort, PLACES, Way};

/// Turns of one way.
#[derive(Default)]
struct Turns {
    order: RoundRobin,
    coming: Vec<VecDeque<(u64, Asked)>>,
    queue: VecDeque<Asked>,
    /// By place: the first cycle in which it is free.
    places: Vec<u64>,
}

impl Turns {
    fn new(clusters: usize, places: u32) -> Self {
        let coming = vec![VecDeque::new(); clusters];
        Self { coming, places: vec![0; places as usize], ..Self::default() }
    }

    /// Lets one into the queue and, before or behind that, one out of it, which takes a place until it is released.
    fn step(&mut self, cycle: u64, most_queued: usize, passes: bool) -> Option<Asked> {
        let before = if passes { self.leave(cycle) } else { None };
        if self.queue.len() < most_queued {
            let there =
                |list: &VecDeque<(u64, Asked)>| list.front().is_some_and(|it| it.0 <= cycle);
            let bit = |(cluster, list)| u64::from(there(list)) << cluster;
            let asking = self.coming.iter().enumerate().map(bit).sum();
            let turn = self.order.grant_word(asking);
            let asked = turn.and_then(|cluster| self.coming[cluster as usize].pop_front());
            self.queue.extend(asked.map(|(_, asked)| asked));
        }
        before.or_else(|| if passes { self.leave(cycle) } else { None })
    }

    fn leave(&mut self, cycle: u64) -> Option<Asked> {
        let place = self.places.iter_mut().find(|free_from| **free_from <= cycle)?;
        let asked = self.queue.pop_front()?;
        *place = u64::MAX;
        Some(asked)
    }

    fn release(&mut self, from: u64) {
        let taken = self.places.iter_mut().find(|free_from| **free_from == u64::MAX);
        *taken.expect("somebody has it") = from;
    }
}

/// Gives who of four clusters is served when, of those that ask in the order of cycles.
pub fn served(list: &[Asked], ports: &CorePorts) -> Vec<(u32, u64)> {
    let most_queued = ports.queued as usize;
    let mut asking: Vec<Vec<Asked>> = vec![Vec::new(); 4];
    let mut counts = [0u64; 4];
    let (mut loads, mut writes) = (Turns::new(4, ports.loads), Turns::new(4, 1));
    let mut behind = BehindPort::new(ports.queued);
    let mut packet: VecDeque<(u64, Asked)> = VecDeque::new();
    let (mut waiting, mut on_way) = (VecDeque::new(), VecDeque::new());
    let (mut free_from, mut atomics): (u64, Vec<(u64, u64)>) = (0, Vec::new());
    let mut is_held = false;
    let mut result = Vec::new();
    let mut to_come = list.iter().peekable();
    for cycle in 0.. {
        while let Some(asked) = to_come.next_if(|asked| asked.at <= cycle) {
            asking[asked.core as usize / 8].push(*asked);
        }
        for (cluster, (asks, count)) in asking.iter_mut().zip(&mut counts).enumerate() {
            let order = |asked: &Asked| (u64::from(asked.index) ^ *count) % PLACES;
            let Some(index) = (0..asks.len()).min_by_key(|&index| order(&asks[index])) else {
                continue;
            };
            let asked = asks.remove(index);
            *count += 1;
            let turns = if asked.way == Way::Write { &mut writes } else { &mut loads };
            turns.coming[cluster].push_back((cycle + ports.way_cycles, asked));
        }
        let write = writes.step(cycle, most_queued, true);
        let was_held = std::mem::replace(&mut is_held, write.is_none() && !writes.queue.is_empty());
        if let Some(asked) = write {
            let (start, free_at) = behind.take(cycle, &asked);
            writes.release(free_at);
            atomics.push((start, start + asked.keeps_loads));
            result.push((asked.core, start - ports.way_cycles));
        }
        while packet.front().is_some_and(|&(at, _)| at == cycle) {
            let (_, asked) = packet.pop_front().expect("it is there");
            loads.release(cycle + ports.packet_return_cycles);
            result.push((asked.core, cycle - ports.way_cycles - ports.packet_cycles));
        }
        match loads.step(cycle, most_queued, !was_held) {
            Some(asked) if asked.way == Way::HandlerLoad => waiting.push_back(asked),
            Some(asked) => packet.push_back((cycle + ports.packet_cycles, asked)),
            None => {}
        }
        if free_from <= cycle && !atomics.iter().any(|&(from, to)| from <= cycle && cycle < to) {
            if on_way.len() < ports.handler_loads as usize
                && let Some(asked) = waiting.pop_front()
            {
                on_way.push_back((cycle + ports.handler_answer_cycles, asked));
                free_from = cycle + asked.port_cycles.div_ceil(2);
            } else if let Some((_, asked)) = on_way.pop_front_if(|(at, _)| *at <= cycle) {
                free_from = cycle + asked.port_cycles / 2;
                let served = cycle - ports.handler_answer_cycles;
                loads.release(served + ports.handler_return_cycles);
                result.push((asked.core, served - ports.way_cycles));
            }
        }
        if result.len() == list.len() {
            return result;
        }
    }
    result
}
