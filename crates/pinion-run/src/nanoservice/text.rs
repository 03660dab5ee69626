//! The summary for people: aligned lines as of handlers' runs.

use std::fmt::Write as _;

use super::summary::Summary;
use pinion_observe::report::{Ending, write_latencies};
use pinion_observe::words::{bytes, count, seconds};

impl Summary {
    fn ending_text(&self) -> String {
        match (&self.ending, self.faults.first()) {
            (Ending::Exited { .. }, Some(fault)) => {
                format!(", ended by an exception: {}", fault.wrong.words)
            }
            (ending, _) => ending.behind_name(),
        }
    }

    pub(super) fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let ending = self.ending_text();
        writeln!(out, "{} on {} ({}){ending}", self.app, self.machine, self.transport)?;
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
        self.write_latency(out)?;
        self.write_harts(out)?;
        writeln!(
            out,
            "  time          {:>12}  {} cycles simulated; host {}, slowdown {}, {:.1} MIPS",
            self.simulated().to_string(),
            count(self.cycles),
            seconds(self.host.as_secs_f64()),
            count(self.slowdown().round() as u64),
            self.simulated_mips()
        )?;
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

    fn write_latency(&self, out: &mut String) -> std::fmt::Result {
        write_latencies(out, &[("wire to wire", self.latency)])
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

    pub(super) fn write_trouble(&self, out: &mut String) -> std::fmt::Result {
        if !self.warnings.is_empty() {
            writeln!(out, "  the program did wrong:")?;
        }
        for warning in &self.warnings {
            writeln!(out, "    {warning}")?;
        }
        if !self.differences.is_empty() {
            writeln!(out, "  not as expected:")?;
        }
        for difference in &self.differences {
            writeln!(out, "    {difference}")?;
        }
        if !self.faults.is_empty() {
            writeln!(out, "  exceptions    {:>12}", count(self.faults.len() as u64))?;
            self.faults.iter().for_each(|fault| out.push_str(&fault.to_text("    ")));
        }
        if let Ending::Stuck(report) = &self.ending {
            writeln!(out, "  nothing moves any more:")?;
            for line in report.lines() {
                writeln!(out, "    {line}")?;
            }
        }
        for line in self.imbalance.iter().chain(&self.remarks) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }
}
