//! What happens to frames between a cluster's nodes, as lines in the order of cycles.

use std::io::Write;

use pinion_app::error::{Error, Result};
use pinion_net::fabric::Journal;
use pinion_net::switch::{Enqueued, Step};
use pinion_net::topology::Place;
use pinion_run::cluster::{NetworkTracer, Plan};

/// Writes a line for each frame that comes to a place, waits there or leaves.
pub struct FrameLines<W> {
    /// Names of nodes.
    names: Vec<String>,
    /// Lines that may be followed by earlier ones.
    held: Vec<(u64, String)>,
    out: W,
    is_over: bool,
}

impl<W: Write> FrameLines<W> {
    /// Begins the lines of a cluster.
    pub fn new(plan: &Plan, out: W) -> Self {
        Self { names: plan.names.clone(), held: Vec::new(), out, is_over: false }
    }

    fn write(&mut self, now: u64) -> Result<()> {
        self.held.sort_by_key(|(cycle, _)| *cycle);
        let settled = self.held.partition_point(|(cycle, _)| *cycle < now);
        for (cycle, text) in self.held.drain(..settled) {
            // Whoever compares them has seen enough.
            self.is_over |= writeln!(self.out, "{cycle:>12} {text}").is_err();
            if self.is_over {
                break;
            }
        }
        Ok(())
    }
}

impl<W: Write> NetworkTracer for FrameLines<W> {
    fn passed(&mut self, place: Place, journal: &Journal) {
        if self.is_over {
            return;
        }
        let name = match place {
            Place::Node(node) => self.names[node].clone(),
            Place::Switch(switch) => format!("switch {switch}"),
        };
        let held = &mut self.held;
        for one in &journal.arrived {
            held.push((one.first_flit, format!("{name}: a frame of {} B arrives", one.bytes)));
        }
        for (cycle, ..) in &journal.damaged {
            held.push((*cycle, format!("{name}: a damaged frame is dropped")));
        }
        for step in &journal.steps {
            let Step::Waits { at, port, how, waiting, .. } = step else { continue };
            let how = match how {
                Enqueued::Data { marked: false } => "waits",
                Enqueued::Data { marked: true } => "is marked, and waits",
                Enqueued::Control => "waits among control frames",
                Enqueued::Trimmed => "is trimmed",
                Enqueued::Dropped(_) => "is dropped",
            };
            let (data, control) = waiting;
            held.push((
                *at,
                format!("{name}: a frame {how} at port {port} ({data} B, {control} B)"),
            ));
        }
        for one in &journal.sent {
            let what = match one.onto {
                None => "is dropped in front of its cable",
                Some((_, 0)) => "leaves, and is lost",
                Some((_, 1)) => "leaves",
                Some(_) => "leaves, and is doubled",
            };
            held.push((one.first_flit, format!("{name}: a frame of {} B {what}", one.bytes)));
        }
    }

    fn settle(&mut self, now: u64) -> Result<()> {
        self.write(now)
    }

    fn finish(&mut self) -> Result<()> {
        self.write(u64::MAX)?;
        match self.is_over {
            true => Ok(()),
            false => self.out.flush().map_err(|error| Error::part("cannot compare", error)),
        }
    }
}
