//! The packet that took longest so far, and where its time went. In: packets that are through. Out: a
//! waterfall of its way's parts.

use pinion_observe::plot::{Bar, waterfall};
use pinion_sim::Time;
use pinion_spin::PacketRecord;

/// Keeps the packet that took longest.
#[derive(Default)]
pub struct Slowest(Option<PacketRecord>);

impl Slowest {
    /// Hears of a packet that is through.
    pub fn packet(&mut self, record: &PacketRecord) {
        let took = |record: &PacketRecord| record.completion.since(record.her);
        if self.0.as_ref().is_none_or(|slowest| took(slowest) < took(record)) {
            self.0 = Some(record.clone());
        }
    }

    /// Draws where its time went; `None`: no packet is through.
    pub fn to_svg(&self) -> Option<String> {
        let record = self.0.as_ref()?;
        let starts = record.handler_start.unwrap_or(record.completion);
        let ends = record.handler_end.unwrap_or(starts);
        let parts = [
            ("it arrives", record.arrival, record.inbound, false),
            ("it is matched and written to L2", record.inbound, record.her, false),
            ("it waits for an HPU and is copied to L1", record.her, starts, true),
            ("its handler runs", starts, ends, false),
            ("its completion goes back", ends, record.completion, false),
        ];
        let bar = |(name, from, to, is_wait): (&str, Time, Time, bool)| Bar {
            name: name.to_owned(),
            lane: None,
            from: from.since(record.arrival).ns(),
            length: to.since(from).ns(),
            is_wait,
            note: String::new(),
        };
        let bars: Vec<Bar> = parts
            .into_iter()
            .filter(|(_, from, to, _)| to > from && *from >= record.arrival)
            .map(bar)
            .collect();
        let title = format!("packet {}, {} bytes", record.packet, record.bytes);
        let text = format!(
            "arrived at {}; {:.0} ns from HER to completion",
            record.arrival,
            record.completion.since(record.her).ns()
        );
        waterfall(&title, &text, "ns", &bars).ok()
    }
}
