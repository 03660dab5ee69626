//! Nodes of a cluster that send of themselves: load generators, and where frames come out of a capture or a
//! generator. Their tables in the cluster's file come in; groups of nodes go out.

use std::net::Ipv4Addr;
use std::path::Path;

use pinion_app::traffic::{Pace, Packets};
use pinion_net::generator::GeneratorSpec;
use pinion_net::load::Arrivals;
use pinion_sim::config::Loaded;

use super::arguments;
use super::load_end;
use super::manifest::{RawCluster, RawLoad, RawPackets};
use super::plan::{Checked, FramesFrom, Group, Target, all_groups};

/// Makes a group of load generators. They have seeds of their own, after each other.
pub(super) fn load_group(
    loaded: &Loaded<RawCluster>,
    number: usize,
    first: usize,
    seed: u64,
) -> Checked<Group> {
    let raw: &RawLoad = &loaded.value.load[number];
    let wrong =
        |key: &str, problem: String| loaded.error_at(&format!("load[{number}].{key}"), problem);
    let (to, count) = find_nodes(&loaded.value, &raw.to).map_err(|problem| wrong("to", problem))?;
    let mut specs = Vec::new();
    for index in 0..raw.count {
        let own = arguments::address(first + index);
        let spec = load_end::read(&raw.spec, own, arguments::address(to), count as u32);
        let mut spec = spec.map_err(|error| wrong("spec", error.to_string()))?;
        spec.seed = spec.seed.wrapping_add(index as u64).wrapping_add(seed.wrapping_sub(1) << 20);
        specs.push(spec);
    }
    let target = Target::Load { specs };
    Ok(Group { name: raw.name.clone(), first, count: raw.count, ends: true, target })
}

/// Finds the nodes of a group, or the one that is named (`server.3`): the first and their number.
fn find_nodes(cluster: &RawCluster, to: &str) -> std::result::Result<(usize, usize), String> {
    let (groups, _) = all_groups(cluster);
    let programs = &groups[..cluster.node.len()];
    let (name, member) = to.split_once('.').unwrap_or((to, ""));
    let target = programs.iter().find(|(known, ..)| known == name);
    let target = target.and_then(|(_, start, count)| match member {
        "" => Some((*start, *count)),
        text => text.parse::<usize>().ok().filter(|n| n < count).map(|n| (start + n, 1)),
    });
    target.ok_or_else(|| {
        let names: Vec<&str> = programs.iter().map(|(name, ..)| name.as_str()).collect();
        let names = names.join(", ");
        format!("`{to}` is no group of nodes and none of its nodes; there are {names}")
    })
}

/// Makes a node where frames come out of a capture or a generator.
pub(super) fn packets_group(
    loaded: &Loaded<RawCluster>,
    number: usize,
    first: usize,
    folder: &Path,
    seed: u64,
) -> Checked<Group> {
    let raw: &RawPackets = &loaded.value.packets[number];
    let wrong =
        |key: &str, problem: String| loaded.error_at(&format!("packets[{number}].{key}"), problem);
    let pace = raw.pace.as_deref().map(str::parse::<Pace>).transpose();
    let pace = pace.map_err(|error| wrong("pace", error.to_string()))?;
    let start = raw.start;
    let from = match (&raw.pcap, &raw.generate) {
        (Some(pcap), None) => {
            if raw.to.is_some() {
                let problem = "a capture's frames go to whom they are addressed; leave `to` out";
                return Err(wrong("to", problem.to_owned()));
            }
            let file = folder.join(pcap);
            Packets::from_capture(&file, pace).map_err(|error| wrong("pcap", error.to_string()))?;
            FramesFrom::Capture { file, pace, start }
        }
        (None, Some(text)) => {
            let Some(to) = &raw.to else {
                let problem = "say with `to` which node the packets are for".to_owned();
                return Err(wrong("generate", problem));
            };
            let (to, _) = find_nodes(&loaded.value, to).map_err(|problem| wrong("to", problem))?;
            let [own, to] = [first, to].map(|node| Ipv4Addr::from_bits(arguments::address(node)));
            let between = GeneratorSpec::between(own, to);
            let spec = between.with(text, &["src", "dst", "sources"], "cluster");
            let mut spec = spec.map_err(|error| wrong("generate", error.to_string()))?;
            spec.seed = spec.seed.wrapping_add(seed.wrapping_sub(1) << 20);
            let spec = Box::new(spec);
            Packets::of((*spec).clone(), None, pace)
                .map_err(|error| wrong("pace", error.to_string()))?;
            FramesFrom::Generator { spec, pace, start }
        }
        _ => {
            let problem = "give `pcap = \"FILE\"`, or `generate = \"SPEC\"` and `to`: one of both";
            return Err(wrong("name", problem.to_owned()));
        }
    };
    let target = Target::Frames { from };
    Ok(Group { name: raw.name.clone(), first, count: 1, ends: false, target })
}

/// Checks that gaps are gaps, and of all groups equally many.
pub(super) fn check_gaps(
    loaded: &Loaded<RawCluster>,
    groups: &[Group],
    gaps: &[(usize, Vec<f64>)],
) -> Checked<()> {
    let programs = loaded.value.node.len();
    for (group, of_group) in gaps {
        let wrong = |problem: &str| {
            let key = format!("load[{}].gaps", group - programs);
            Err(loaded.error_at(&key, problem.to_owned()))
        };
        if of_group.iter().any(|gap| !(1.0..=1e12).contains(gap)) {
            return wrong("a gap has from 1 to 1e12 cycles");
        }
        if of_group.len() != gaps[0].1.len() {
            return wrong("all groups of load generators have as many gaps, or none");
        }
        let Target::Load { specs } = &groups[*group].target else { continue };
        if specs.iter().any(|spec| matches!(spec.arrivals, Arrivals::Closed { .. })) {
            return wrong("a closed loop has no gaps: write a first one in `spec`, as gap=exp:900");
        }
    }
    Ok(())
}
