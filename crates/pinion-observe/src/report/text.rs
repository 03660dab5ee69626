//! The summary for people: a dozen aligned lines.

use std::fmt::Write as _;

use super::handlers::HandlerRow;
use super::histogram::Quantiles;
use super::packet_handlers::{Handlers, Native};
use super::summary::Summary;
use crate::words::{bytes, count, number, seconds};

impl Handlers {
    /// Writes what was counted.
    pub(super) fn write_text(&self, run: &Summary, out: &mut String) -> std::fmt::Result {
        let totals = &self.totals;
        let engine = if self.native.is_some() { ", native engine" } else { "" };
        writeln!(out, "{}{engine}{}", run.title(), run.ending.behind_name())?;
        let (packets_in, bytes_in) = (count(totals.packets_in), bytes(totals.bytes_in));
        let (packets_out, bytes_out) = (count(totals.packets_out), bytes(totals.bytes_out));
        writeln!(out, "  packets in    {packets_in:>12}  {bytes_in}")?;
        writeln!(out, "    matched     {:>12}", count(totals.matched))?;
        let processed = count(totals.processed);
        writeln!(out, "    processed   {processed:>12}  {}", bytes(self.processed_bytes))?;
        writeln!(out, "    to host     {:>12}", count(totals.unmatched))?;
        let dropped = format!("    dropped     {:>12}  {}", count(self.dropped()), self.reasons());
        writeln!(out, "{}", dropped.trim_end())?;
        if totals.resident > 0 {
            writeln!(out, "    inside      {:>12}", count(totals.resident))?;
        }
        writeln!(out, "  packets out   {packets_out:>12}  {bytes_out}")?;
        if totals.host_writes > 0 {
            let (writes, written) = (count(totals.host_writes), bytes(totals.host_bytes));
            writeln!(out, "  host writes   {writes:>12}  {written}")?;
        }
        writeln!(
            out,
            "  throughput    {:>12}  Gbit/s processed, {} Gbit/s out",
            number(self.throughput_gbit_s()),
            number(self.out_gbit_s())
        )?;
        self.write_latencies(run, out)?;
        match &self.native {
            Some(native) => self.write_native(run, out, native)?,
            None => self.write_machine(run, out)?,
        }
        self.write_handlers(out)
    }

    /// Writes how busy the workers were and how long all took.
    fn write_native(&self, run: &Summary, out: &mut String, native: &Native) -> std::fmt::Result {
        writeln!(
            out,
            "  workers       {:>12}  {:.1} % of their time in handlers",
            native.workers,
            self.hpu_utilisation() * 100.0
        )?;
        writeln!(
            out,
            "  time          {:>12}  host, {} of it in the engine: {} packets/s",
            seconds(run.host.as_secs_f64()),
            seconds(native.engine.as_secs_f64()),
            count(self.packets_per_second().round() as u64)
        )
    }

    /// Writes how busy the machine was and how long its simulation took.
    fn write_machine(&self, run: &Summary, out: &mut String) -> std::fmt::Result {
        let totals = &self.totals;
        writeln!(
            out,
            "  HPUs          {:>12}  {:.1} % busy from first arrival to last completion",
            self.hpus,
            self.hpu_utilisation() * 100.0
        )?;
        let instructions = count(totals.instructions);
        writeln!(out, "  instructions  {instructions:>12}  IPC {:.2}", self.ipc())?;
        run.write_time(out, "")?;
        writeln!(out)
    }

    fn reasons(&self) -> String {
        let some = self.totals.dropped.iter().filter(|(_, number)| *number > 0);
        let each = some.map(|(reason, number)| format!("{} {}", reason.name(), count(*number)));
        each.collect::<Vec<_>>().join(", ")
    }

    fn write_latencies(&self, run: &Summary, out: &mut String) -> std::fmt::Result {
        let completion = match self.native {
            Some(_) => "arrival to completion",
            None => "HER to completion",
        };
        write_latencies(out, &[(completion, run.latency), ("arrival to departure", self.transit)])
    }

    fn write_handlers(&self, out: &mut String) -> std::fmt::Result {
        if self.handlers.is_empty() {
            return Ok(());
        }
        let name = |row: &HandlerRow| format!("{} ({}, {})", row.symbol, row.context, row.kind);
        let width = self.handlers.iter().map(|row| name(row).len()).max().unwrap_or(0);
        writeln!(
            out,
            "  {:<1$} {2:>9} {3:>9} {4:>9} {5:>11} {6:>7} {7:>7}",
            "handlers",
            width + 2,
            "runs",
            "mean ns",
            "p99 ns",
            "instr/run",
            "IPC",
            "failed"
        )?;
        // The native engine does not count instructions.
        let known = |text: String| if self.native.is_some() { "-".to_owned() } else { text };
        for row in &self.handlers {
            let quantiles = row.quantiles();
            let cycles = row.instructions + row.stalls.total();
            writeln!(
                out,
                "    {:width$} {:>9} {:>9} {:>9} {:>11} {:>7} {:>7}",
                name(row),
                count(row.runs),
                number(quantiles.mean),
                number(quantiles.p99),
                known(number(row.instructions as f64 / row.runs.max(1) as f64)),
                known(format!("{:.2}", row.instructions as f64 / cycles.max(1) as f64)),
                count(row.failed),
            )?;
            let total = row.stalls.total().max(1) as f64;
            let stalls = &row.stalls;
            let some = stalls.reasons().into_iter().filter(|(_, cycles)| *cycles > 0);
            let parts = some.map(|(name, cycles)| {
                let name = if name == "l1" { "L1" } else { name }.replace('_', "-");
                format!("{name} {:.0} %", cycles as f64 / total * 100.0)
            });
            let parts: Vec<String> = parts.collect();
            if !parts.is_empty() {
                writeln!(out, "      waits: {}", parts.join(", "))?;
            }
        }
        Ok(())
    }
}

/// Writes a table of distributions of times; its columns are as wide as their largest number needs.
pub fn write_latencies(out: &mut String, rows: &[(&str, Option<Quantiles>)]) -> std::fmt::Result {
    let cells = |q: Quantiles| [q.min, q.mean, q.p50, q.p99, q.max].map(number);
    let all = rows.iter().filter_map(|(_, quantiles)| quantiles.map(cells));
    let longest = all.flatten().map(|cell| cell.len()).max().unwrap_or(0);
    let width = (longest + 2).max(10);
    let line =
        |cells: &[String]| cells.iter().map(|cell| format!("{cell:>width$}")).collect::<String>();
    let head = ["min", "mean", "p50", "p99", "max"].map(str::to_owned);
    writeln!(out, "  {:<25}{}", "latency, ns", line(&head))?;
    for (name, quantiles) in rows {
        let cells = quantiles.map_or_else(|| vec!["none".to_owned()], |q| cells(q).to_vec());
        writeln!(out, "    {name:<23}{}", line(&cells))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_never_run_together() {
        let long = Quantiles { min: 123_456_789.0, mean: 1e9, p50: 1e9, p99: 1e12, max: 1e12 };
        let short = Quantiles { min: 1.0, mean: 2.0, p50: 2.0, p99: 3.0, max: 9_999.9 };
        let mut text = String::new();
        write_latencies(&mut text, &[("a", Some(long)), ("b", Some(short)), ("c", None)]).unwrap();
        let columns: Vec<usize> =
            text.lines().map(|line| line.split_whitespace().count()).collect();
        assert_eq!(columns, [7, 6, 6, 2], "{text}");
        assert!(text.lines().take(3).all(|line| line.len() == text.find('\n').unwrap()), "{text}");
        let mut text = String::new();
        write_latencies(&mut text, &[("HER to completion", Some(short))]).unwrap();
        assert_eq!(
            text,
            "  latency, ns                     min      mean       p50       p99       max\n    \
             HER to completion             1.0       2.0       2.0       3.0    9999.9\n"
        );
    }
}
