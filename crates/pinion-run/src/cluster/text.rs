//! A cluster's summary for people: what programs printed, then aligned lines, a row per node or, of
//! many, per group.

use std::fmt::Write as _;

use super::rows::NodeRow;
use super::summary::{Cluster, Summary};
use pinion_observe::words::{bytes, count};

/// Shows a row per group instead of per node above this number.
const MOST_ROWS: usize = 16;
/// Shows what so many stuck or failed nodes do.
const MOST_TROUBLED: usize = 6;

impl Cluster {
    /// Gives what programs printed, each line with its node's name in front.
    pub fn console(&self) -> String {
        let mut text = String::new();
        for node in &self.nodes {
            for line in node.console.lines() {
                let _ = writeln!(text, "[{}] {line}", node.name);
            }
        }
        text
    }

    /// Writes what was counted.
    pub(super) fn write_text(&self, run: &Summary, out: &mut String) -> std::fmt::Result {
        let nodes = several(self.nodes.len(), "node", "nodes");
        let switches = several(self.switches.len(), "switch", "switches");
        writeln!(out, "{}: {nodes}, {switches}{}", run.title(), run.ending.behind_name())?;
        self.write_nodes(out)?;
        for load in &self.loads {
            writeln!(out, "  load {}", load.name)?;
            load.text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        self.write_network(out)?;
        run.write_time(out, &format!("{} cycles ", count(run.cycles)))?;
        writeln!(
            out,
            ", {}{}",
            several(self.workers.0, "thread", "threads"),
            match self.workers.1 {
                1 => String::new(),
                ranks => format!(" on each of {ranks} ranks"),
            },
        )
    }

    fn write_nodes(&self, out: &mut String) -> std::fmt::Result {
        let width = self.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0).max(10);
        let head = ["messages in", "messages out", "frames in", "frames out", "instructions"];
        let head: String = head.iter().map(|name| format!(" {name:>13}")).collect();
        writeln!(out, "  {:<width$}{head}  ended", "node")?;
        if self.nodes.len() <= MOST_ROWS {
            return self.nodes.iter().try_for_each(|node| {
                write_row(out, &node.name, width, std::slice::from_ref(node))
            });
        }
        let group = |node: &NodeRow| node.name.split('.').next().unwrap_or("").to_owned();
        for nodes in self.nodes.chunk_by(|a, b| group(a) == group(b)) {
            let name = match nodes.len() {
                1 => nodes[0].name.clone(),
                many => format!("{many} {}", group(&nodes[0])),
            };
            write_row(out, &name, width, nodes)?;
        }
        Ok(())
    }

    fn write_network(&self, out: &mut String) -> std::fmt::Result {
        let sum = |of: fn(&super::CableRow) -> u64| self.cables.iter().map(of).sum::<u64>();
        writeln!(
            out,
            "  cables        {:>12}  frames, {}",
            count(sum(|row| row.frames)),
            bytes(sum(|row| row.bytes))
        )?;
        let (lost, twice, late, damaged, dropped) = (
            sum(|row| row.lost),
            sum(|row| row.duplicated),
            sum(|row| row.reordered),
            sum(|row| row.damaged),
            sum(|row| row.dropped),
        );
        let inside = |of: fn(&super::SwitchRow) -> u64| self.switches.iter().map(of).sum::<u64>();
        let trouble = [
            (inside(|row| row.trimmed), "trimmed"),
            (inside(|row| row.dropped), "dropped"),
            (inside(|row| row.unroutable), "led nowhere"),
            (inside(|row| row.marked), "marked"),
        ];
        let trouble = trouble.iter().filter(|(number, _)| *number > 0);
        let trouble: Vec<String> =
            trouble.map(|(number, what)| format!("{} {what}", count(*number))).collect();
        if !self.switches.is_empty() {
            let frames = count(inside(|row| row.frames_in));
            let line = format!("  switches      {frames:>12}  frames, {}", trouble.join(", "));
            writeln!(out, "{}", line.trim_end_matches([' ', ',']))?;
        }
        if lost + twice + late + damaged + dropped > 0 {
            writeln!(
                out,
                "    faults      {:>12}  lost, {} twice, {} overtaken, {} damaged, {} found no room",
                count(lost),
                count(twice),
                count(late),
                count(damaged),
                count(dropped)
            )?;
        }
        Ok(())
    }

    /// Writes what troubles the nodes.
    pub(super) fn write_trouble(&self, out: &mut String) -> std::fmt::Result {
        let troubled = |node: &&NodeRow| {
            let said = [&node.stuck, &node.warnings, &node.faults, &node.remarks];
            said.iter().any(|lines| !lines.is_empty())
        };
        let all = self.nodes.iter().filter(troubled).count();
        for node in self.nodes.iter().filter(troubled).take(MOST_TROUBLED) {
            for fault in &node.faults {
                writeln!(out, "  {}: {}", node.name, fault.trim_end().replace('\n', "\n  "))?;
            }
            for line in node.stuck.iter().chain(&node.warnings).chain(&node.remarks) {
                writeln!(out, "  {}: {line}", node.name)?;
            }
        }
        if all > MOST_TROUBLED {
            writeln!(out, "  and {} nodes more", all - MOST_TROUBLED)?;
        }
        Ok(())
    }
}

fn several(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Writes a row of one node, or the sum of several.
fn write_row(out: &mut String, name: &str, width: usize, nodes: &[NodeRow]) -> std::fmt::Result {
    let sum = |of: fn(&NodeRow) -> u64| count(nodes.iter().map(of).sum());
    let cells = [
        sum(|node| node.messages_in),
        sum(|node| node.messages_out),
        sum(|node| node.frames_in),
        sum(|node| node.frames_out),
        sum(|node| node.instructions),
    ];
    let cells: String = cells.iter().map(|cell| format!(" {cell:>13}")).collect();
    let mut endings: Vec<String> = nodes.iter().map(ending).collect();
    endings.sort();
    endings.dedup();
    writeln!(out, "  {name:<width$}{cells}  {}", endings.join(", "))
}

fn ending(node: &NodeRow) -> String {
    match node.exit_code {
        Some(_) if !node.faults.is_empty() => "an exception".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => node.ending.replace('_', " "),
    }
}
