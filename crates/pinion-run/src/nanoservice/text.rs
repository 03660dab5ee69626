//! The summary for people: aligned lines as of handlers' runs.

use std::fmt::Write as _;

use super::summary::{Nanoservice, Summary};
use pinion_observe::report::{Ending, write_latencies};
use pinion_observe::words::{bytes, count};

impl Nanoservice {
    /// Writes what was counted.
    pub(super) fn write_text(&self, run: &Summary, out: &mut String) -> std::fmt::Result {
        let ending = match (&run.ending, run.faults.first()) {
            (Ending::Exited { .. }, Some(fault)) => {
                format!(", ended by an exception: {}", fault.wrong.words)
            }
            (ending, _) => ending.behind_name(),
        };
        writeln!(out, "{} ({}){ending}", run.title(), self.transport)?;
        let (frames, receive, transmit) = (&self.frames, &self.receive, &self.transmit);
        let (packets_in, bytes_in) = (count(frames.frames_in), bytes(frames.bytes_in));
        writeln!(out, "  packets in    {packets_in:>12}  {bytes_in}")?;
        writeln!(
            out,
            "    delivered   {:>12}  in {} messages",
            count(receive.delivered_packets),
            count(receive.delivered_messages)
        )?;
        writeln!(out, "    control     {:>12}", count(receive.control + receive.trimmed))?;
        let dropped = count(receive.dropped_packets());
        let dropped = format!("    dropped     {dropped:>12}  {}", self.reasons());
        writeln!(out, "{}", dropped.trim_end())?;
        let inside = receive.resident_packets + self.undecided();
        if inside > 0 {
            writeln!(out, "    inside      {:>12}", count(inside))?;
        }
        let (packets_out, bytes_out) = (count(frames.frames_out), bytes(frames.bytes_out));
        writeln!(out, "  packets out   {packets_out:>12}  {bytes_out}")?;
        writeln!(
            out,
            "    messages    {:>12}  {} delivered, in {} packets{}",
            count(transmit.messages),
            count(transmit.delivered),
            count(transmit.packets),
            match transmit.packets_again {
                0 => String::new(),
                again => format!(" and {} sent again", count(again)),
            }
        )?;
        writeln!(out, "    control     {:>12}", count(transmit.control_frames))?;
        write_latencies(out, &[("wire to wire", run.latency)])?;
        super::pipeline::write_text(&self.pipelines, &self.transmit, out)?;
        self.write_harts(out)?;
        run.write_time(out, &format!("{} cycles ", count(run.cycles)))?;
        writeln!(out)?;
        if let Some(load) = &self.load {
            for line in load.to_text(self.clock).lines() {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    }

    pub(super) fn reasons(&self) -> String {
        let each = self.receive.drops();
        let each = each.map(|(reason, number)| format!("{} {}", reason.name(), count(number)));
        each.collect::<Vec<_>>().join(", ")
    }

    fn write_harts(&self, out: &mut String) -> std::fmt::Result {
        let head = ["messages", "busy cycles", "idle cycles", "instructions", "IPC", "traps"];
        let head: String = head.iter().map(|name| format!(" {name:>14}")).collect();
        writeln!(out, "  harts{}", &head[1..])?;
        for row in &self.harts {
            let cells = [
                count(row.messages),
                count(row.busy_cycles),
                count(row.idle_cycles),
                count(row.instructions),
                format!("{:.2}", row.ipc()),
                count(row.traps),
            ];
            let cells: String = cells.iter().map(|cell| format!(" {cell:>14}")).collect();
            writeln!(out, "    {:<2}{cells}", row.hart)?;
        }
        Ok(())
    }
}
