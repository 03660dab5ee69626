//! What must be said of a cluster in which no message moved, or whose load generator reached nobody:
//! plan and summary come in, sentences go out.

use std::net::Ipv4Addr;

use pinion_net::load::LoadSpec;

use super::plan::{FramesFrom, Group, Plan, Target};
use super::rows::NodeRow;
use super::summary::Summary;
use pinion_observe::load;
use pinion_observe::report::Ending;
use pinion_observe::words::count;

/// Names so many nodes before the rest are counted.
const NAMED: usize = 4;

/// Lists what must be said of a run that ended by itself or by its limits.
pub(super) fn remarks(plan: &Plan, summary: &Summary) -> Vec<String> {
    // What was cut short may have been about to come to something; a failure says enough.
    if matches!(summary.ending, Ending::Interrupted | Ending::Failed) {
        return Vec::new();
    }
    let mut remarks: Vec<String> =
        loads(plan).iter().filter_map(|load| load.remark(summary)).collect();
    remarks.extend(for_nobody(plan, summary));
    if remarks.is_empty() {
        remarks.extend(nobody_sent(plan, summary));
    }
    remarks
}

/// Says that frames of captures have addresses which no node has.
fn for_nobody(plan: &Plan, summary: &Summary) -> Option<String> {
    let nowhere: u64 = summary.section.switches.iter().map(|row| row.unroutable).sum();
    let is_capture = |group: &&Group| {
        matches!(group.target, Target::Frames { from: FramesFrom::Capture { .. } })
    };
    let captures: Vec<&str> =
        plan.groups.iter().filter(is_capture).map(|group| group.name.as_str()).collect();
    if nowhere == 0 || captures.is_empty() {
        return None;
    }
    let addresses = plan.addresses();
    let [first, last] = [addresses.first()?, addresses.last()?].map(|&a| Ipv4Addr::from_bits(a));
    Some(format!(
        "{} frames led nowhere: a capture's frames ({}) go to whom they are addressed, and the nodes are \
         {first} to {last}; without a switch (topology back-to-back) addresses do not matter",
        count(nowhere),
        names(&captures)
    ))
}

/// Says that no message moved, and who waits.
fn nobody_sent(plan: &Plan, summary: &Summary) -> Option<String> {
    let moved = |node: &NodeRow| {
        node.messages_in + node.messages_out + node.frames_in + node.frames_out > 0
    };
    if summary.section.nodes.iter().any(moved) {
        return None;
    }
    let waiting = |node: &&NodeRow| node.exit_code.is_none();
    let waiting: Vec<&str> =
        summary.section.nodes.iter().filter(waiting).map(|node| node.name.as_str()).collect();
    let who = match &waiting[..] {
        [] => "all programs ended without sending one".to_owned(),
        [one] => format!("{one} waits for one that nobody sends"),
        many => format!("{} wait for one that nobody sends", names(many)),
    };
    let advice = match plan.loads().next() {
        Some(_) => "",
        None if waiting.is_empty() => "",
        None => {
            "; some program must send first, or a load generator ([[load]] with `to` in cluster.toml)"
        }
    };
    Some(format!("no message moved: {who}{advice}"))
}

/// A load generator of the plan.
struct Load<'p> {
    name: &'p str,
    node: usize,
    spec: &'p LoadSpec,
    /// Names and numbers the nodes that it is for.
    targets: Vec<(&'p str, usize)>,
}

/// Lists the load generators with the nodes that they are for.
fn loads<'p>(plan: &'p Plan) -> Vec<Load<'p>> {
    let addresses = plan.addresses();
    let specs = plan.groups.iter().flat_map(|group| {
        let specs = match &group.target {
            Target::Load { specs } => &specs[..],
            _ => &[],
        };
        (group.first..).zip(specs)
    });
    let load = |(node, spec): (usize, &'p LoadSpec)| Load {
        name: &plan.names[node],
        node,
        spec,
        targets: (0..plan.nodes())
            .filter(|at| spec.is_for(addresses[*at]))
            .map(|at| (plan.names[at].as_str(), at))
            .collect(),
    };
    specs.map(load).collect()
}

impl Load<'_> {
    /// Says that it sent nothing or got no answer, and how far its requests came.
    fn remark(&self, summary: &Summary) -> Option<String> {
        let row = summary.section.loads.iter().find(|row| row.node == self.node)?;
        let number = |key: &str| row.report[key].as_u64().unwrap_or(0);
        let sent = number("requests");
        if sent == 0 {
            let why = load::why_idle(self.spec, summary.cycles);
            return Some(format!("load `{}` sent nothing: {why}", self.name));
        }
        if number("answered") + number("repeated") + number("unexpected") > 0 {
            return None;
        }
        let targets: Vec<&str> = self.targets.iter().map(|(name, _)| *name).collect();
        Some(format!(
            "load `{}` reached nobody: {} requests to {} and no answer; {}",
            self.name,
            count(sent),
            names(&targets),
            self.how_far(summary)
        ))
    }

    /// Says how far the requests came.
    fn how_far(&self, summary: &Summary) -> String {
        let rows = || {
            let is_target = |row: &&NodeRow| self.targets.iter().any(|(_, node)| *node == row.node);
            summary.section.nodes.iter().filter(is_target)
        };
        let sum = |of: fn(&NodeRow) -> u64| rows().map(of).sum::<u64>();
        let lost: u64 =
            summary.section.cables.iter().map(|row| row.lost + row.damaged + row.dropped).sum();
        let inside: u64 =
            summary.section.switches.iter().map(|row| row.dropped + row.unroutable).sum();
        let (frames, messages) = (sum(|row| row.frames_in), sum(|row| row.messages_in));
        if frames == 0 {
            return match lost + inside {
                0 => "no frame of them arrived there".to_owned(),
                lost => format!("no frame arrived there; {} were lost on the way", count(lost)),
            };
        }
        if messages == 0 {
            return format!(
                "{} frames arrived there, and no program was given a message of them: `transport`, \
                 `port` and `contexts` of the load must be those that the program serves",
                count(frames)
            );
        }
        let answers = sum(|row| row.messages_out);
        if answers == 0 {
            return format!(
                "{} messages were taken there, and none was sent: the program does not answer",
                count(messages)
            );
        }
        format!(
            "{} messages were taken and {} sent there: they go elsewhere, or were lost",
            count(messages),
            count(answers)
        )
    }
}

/// Lists names, some of many.
fn names(all: &[&str]) -> String {
    match all {
        [] => "no node".to_owned(),
        [one] => (*one).to_owned(),
        [before @ .., last] if all.len() <= NAMED => format!("{} and {last}", before.join(", ")),
        _ => format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED),
    }
}
