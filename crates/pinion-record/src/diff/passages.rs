//! What each packet of a run took, part by part: records of packets come in, times from arrival to
//! completion go out. The parts follow each other, so they add up.

use pinion_observe::trace::Tracer;
use pinion_sim::Time;
use pinion_spin::{Event, Hears, Interest, PacketRecord, Spin};

/// Names the parts, in their order.
pub const SPANS: [&str; 6] = [
    "waits for the inbound engine",
    "is matched and written to the L2 packet buffer",
    "its HER waits for room in the MPQ engine",
    "waits in its MPQ, in its cluster and for its HPU",
    "its handlers run, one after the other",
    "its completion goes back",
];

/// Hears a run, and adds up what its packets took.
#[derive(Clone, Debug, Default)]
pub struct Passages {
    /// Sum of each part, in ps.
    pub spans: [u64; SPANS.len()],
    /// From arrival to completion, in ps, by packet; `None`: it did not get through.
    pub took: Vec<Option<u64>>,
}

impl Passages {
    /// Counts the packets that got through.
    pub fn packets(&self) -> u64 {
        self.took.iter().flatten().count() as u64
    }

    /// Adds up what all took, in ps.
    pub fn total(&self) -> u64 {
        self.took.iter().flatten().sum()
    }

    /// Gives the time than which a share of the packets took no longer, in ps.
    pub fn quantile(&self, share: f64) -> u64 {
        let mut took: Vec<u64> = self.took.iter().flatten().copied().collect();
        if took.is_empty() {
            return 0;
        }
        let rank = ((took.len() as f64 * share).ceil() as usize).clamp(1, took.len()) - 1;
        *took.select_nth_unstable(rank).1
    }

    fn add(&mut self, record: &PacketRecord) {
        let started = record.handler_start.unwrap_or(record.completion);
        let ended = record.handler_end.unwrap_or(started);
        let moments = [
            record.arrival,
            record.inbound,
            record.written,
            record.her,
            started,
            ended,
            record.completion,
        ];
        // A moment that is not later than the one before takes nothing.
        let mut at = record.arrival;
        for (span, moment) in self.spans.iter_mut().zip(&moments[1..]) {
            let reached: Time = (*moment).max(at).min(record.completion.max(at));
            *span += reached.since(at).ps();
            at = reached;
        }
        let packet = record.packet as usize;
        if self.took.len() <= packet {
            self.took.resize(packet + 1, None);
        }
        self.took[packet] = Some(at.since(record.arrival).ps());
    }
}

impl Hears<Spin> for Passages {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        if let Event::PacketDone(record) = event {
            self.add(record);
        }
    }
}

impl Tracer for Passages {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let at = |ps| Time::from_ps(ps);
        let mut passages = Passages::default();
        passages.add(&PacketRecord {
            packet: 1,
            arrival: at(10),
            inbound: at(12),
            written: at(20),
            her: at(20),
            handler_start: Some(at(50)),
            handler_end: Some(at(90)),
            completion: at(95),
            ..PacketRecord::default()
        });
        // No handler ran for it.
        passages.add(&PacketRecord {
            packet: 3,
            arrival: at(10),
            inbound: at(10),
            written: at(11),
            her: at(12),
            completion: at(30),
            ..PacketRecord::default()
        });
        assert_eq!(passages.spans, [2, 9, 1, 48, 40, 5]);
        assert_eq!(passages.took, [None, Some(85), None, Some(20)]);
        assert_eq!(passages.total(), passages.spans.iter().sum::<u64>());
        assert_eq!([0.5, 0.51, 1.0].map(|share| passages.quantile(share)), [20, 85, 85]);
    }
}
