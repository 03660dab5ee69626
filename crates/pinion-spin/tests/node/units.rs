//! The units' timing: the fine trace of unloaded packets equals the RTL's event log, cycle by cycle.
//!
//! The logs are `tests/calibration/pspin/events/*-single_*.csv`; a row's first packet is left out,
//! for it fills the instruction cache.

use std::collections::BTreeMap;
use std::fs;

use pinion_spin::{UnitEvent, UnitEventKind};

use crate::harness::{Random, faithful, finish, frame, nic, truth};

/// One entry: nanoseconds since the packet's HER, and what happened where.
type Entry = (u64, String);

fn describe(event: &UnitEvent) -> String {
    let (c, k, id, at) = (event.cluster, event.hpu, event.id, event.address);
    match event.kind {
        UnitEventKind::HerIn => format!("HER_IN m{id} {at:x}"),
        UnitEventKind::MpqArbitrated => format!("MPQ_ARB m{id} {at}"),
        UnitEventKind::TaskOut => format!("TASK_OUT m{id} {at:x}"),
        UnitEventKind::ClusterTask => format!("CL_TASK c{c} m{id} {at:x}"),
        UnitEventKind::DmaRequest => format!("DMA_REQ c{c} {at:x}"),
        UnitEventKind::DmaResponse => format!("DMA_RESP c{c}"),
        UnitEventKind::HpuTask => format!("HPU_TASK c{c} k{k} m{id} {at:x}"),
        UnitEventKind::HpuGet => format!("HPU_GET c{c} k{k} m{id} {at:x}"),
        UnitEventKind::CommandIssue => format!("CMD_ISSUE c{c} k{k} {id} {at}"),
        UnitEventKind::CommandOut => format!("CMD_OUT c{c} k{k} {id}"),
        UnitEventKind::InterfaceCommand => format!("INTF_CMD {at} c{c} k{k} {id}"),
        UnitEventKind::InterfaceResponse => format!("INTF_RESP {at} c{c} k{k} {id}"),
        UnitEventKind::CommandResponse => format!("CMD_RESP c{c} k{k} {id}"),
        UnitEventKind::HpuFeedbackPush => format!("HPU_FBPUSH c{c} k{k} m{id} {at:x}"),
        UnitEventKind::HpuFeedback => format!("HPU_FB c{c} k{k} m{id} {at:x}"),
        UnitEventKind::FeedbackMpq => format!("FB_MPQ m{id} {at:x} {c}"),
    }
}

/// Says the same of a line of the RTL's log; `None`: the fine trace has no such entry.
fn translate(name: &str, fields: &[&str]) -> Option<String> {
    let f = fields;
    Some(match name {
        "HER_IN" | "TASK_OUT" => format!("{name} m{} {}", f[0], f[1]),
        "MPQ_ARB" => format!("{name} m{} {}", f[0], f[1]),
        "CL_TASK" => format!("{name} c{} m{} {}", f[0], f[1], f[2]),
        "DMA_REQ" if f[1].starts_with("1c4") => format!("{name} c{} {}", f[0], f[1]),
        "DMA_RESP" => format!("{name} c{}", f[0]),
        "HPU_TASK" | "HPU_GET" | "HPU_FBPUSH" | "HPU_FB" => {
            format!("{name} c{} k{} m{} {}", f[0], f[1], f[2], f[3])
        }
        "CMD_ISSUE" => format!("{name} c{} k{} {} {}", f[0], f[1], f[2], f[3]),
        "CMD_OUT" | "CMD_RESP" => format!("{name} c{} k{} {}", f[0], f[1], f[2]),
        "INTF_CMD" | "INTF_RESP" => format!("{name} {} c{} k{} {}", f[0], f[1], f[2], f[3]),
        "FB_MPQ" => format!("{name} m{} {} {}", f[0], f[1], f[2]),
        _ => return None,
    })
}

/// Cuts a log into packets, from HER to HER; within a cycle the order does not count.
fn by_packet(log: Vec<Entry>) -> BTreeMap<usize, Vec<Entry>> {
    let mut packets: BTreeMap<usize, Vec<Entry>> = BTreeMap::new();
    let (mut packet, mut start) = (0, 0);
    for (at, what) in log {
        if what.starts_with("HER_IN") {
            packet += 1;
            start = at;
        }
        packets.entry(packet).or_default().push((at - start, what));
    }
    for entries in packets.values_mut() {
        entries.sort();
    }
    packets
}

fn measured(row: &str) -> Vec<Entry> {
    let text = fs::read_to_string(truth().join(format!("events/{row}.csv"))).expect("the log");
    let line = |line: &str| {
        let (at, rest) = line.split_once(',')?;
        let (name, fields) = rest.split_once(',')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        Some((at.parse().ok()?, translate(name, &fields)?))
    };
    text.lines().skip(1).filter_map(line).collect()
}

fn ours(program: &str, handler: &str, bytes: usize) -> Vec<Entry> {
    let mut random = Random::from_seed(1, "units");
    let mut nic = nic(faithful(&[]), program, ["", handler, ""]);
    let frames = (0..6).map(|index| frame(400 * index, 0, false, random.bytes(bytes))).collect();
    let heard = finish(&mut nic, frames);
    heard.units.iter().map(|event| (event.cycle, describe(event))).collect()
}

/// Runs a row's scenario and compares; rows with transfers of their own skip the DMA's entries.
fn compare(row: &str, program: &str, handler: &str, bytes: usize, dma: bool) {
    let keep = |(_, what): &Entry| dma || !what.starts_with("DMA_");
    let log = |entries: Vec<Entry>| by_packet(entries.into_iter().filter(keep).collect());
    let (ours, measured) = (log(ours(program, handler, bytes)), log(measured(row)));
    assert_eq!(ours.len(), 6);
    for packet in 2..=6 {
        assert_eq!(ours[&packet], measured[&packet], "{row}, packet {packet}");
    }
}

#[test]
fn empty_packets_take_the_rtls_way() {
    compare("empty-single_64", "empty", "ph", 64, true);
    compare("empty-single_256", "empty", "ph", 256, true);
    compare("empty-single_1024", "empty", "ph", 1024, true);
}

/// The way of a 64 B packet, in numbers.
#[test]
fn an_empty_packet_takes_27_cycles() {
    let packets = by_packet(ours("empty", "ph", 64));
    let cycles = |name: &str| {
        let found = packets[&2].iter().find(|(_, what)| what.starts_with(name));
        found.map(|(at, _)| *at)
    };
    let way = [
        ("HER_IN", 0),
        ("MPQ_ARB", 1),
        ("TASK_OUT", 2),
        ("CL_TASK", 3),
        ("DMA_REQ", 3),
        ("DMA_RESP", 15),
        ("HPU_TASK", 16),
        ("HPU_GET", 17),
        ("HPU_FBPUSH", 25),
        ("HPU_FB ", 26),
        ("FB_MPQ", 27),
    ];
    for (name, at) in way {
        assert_eq!(cycles(name), Some(at), "{name}");
    }
}

#[test]
fn sends_take_the_rtls_way() {
    compare("pingpong_l1-single_64", "move", "pingpong_l1", 64, true);
    compare("pingpong_l2-single_1024", "move", "pingpong_l2", 1024, true);
}

#[test]
fn host_commands_take_the_rtls_way() {
    compare("to_host_l1-single_64", "move", "to_host_l1", 64, true);
    compare("to_host_wait-single_64", "move", "to_host_wait", 64, true);
    compare("to_host_l2-single_1024", "move", "to_host_l2", 1024, true);
    compare("strided-single_1024", "move", "strided", 1024, true);
}

#[test]
fn transfers_take_the_rtls_way() {
    compare("local_dma-single_64", "move", "local_dma", 64, false);
}
