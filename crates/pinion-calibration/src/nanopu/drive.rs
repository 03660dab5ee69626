//! The run of one scenario: a device under test and its peer, each certain of what the other did
//! before it goes on; an [`Observation`] comes out.
//!
//! The peer answers a frame no sooner than [`Peer::reaction_cycles`] after its last flit, so the
//! device may always run that far beyond what the peer has seen, and every frame in that window is
//! settled before the device enters it.

use pinion_nanopu::Cycle;

use super::observation::{Direction, Observation, Record};
use super::peer::Peer;
use super::set::{Scenario, ScriptFrame};
use pinion_app::error::{Error, Result};

/// Bounds the time from reset to the announcements.
const LONGEST_BOOT_CYCLES: Cycle = 4_000_000;

/// Holds a frame that left a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameOut {
    /// When its first flit was on the pins.
    pub first: Cycle,
    /// When its last flit was on the pins.
    pub last: Cycle,
    /// The whole frame.
    pub frame: Vec<u8>,
}

/// Tells how a device stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It goes on.
    Running,
    /// Its program exited.
    Exited(i32),
    /// It cannot go on, and tells why.
    Stopped(String),
}

/// What a scenario is run on.
pub trait Device {
    /// Takes a frame whose first flit comes in cycle `first`, which the device has not reached;
    /// flits follow without gaps. Frames come in order and do not overlap.
    fn inject(&mut self, first: Cycle, frame: &[u8]);

    /// Runs every cycle before `end`. Frames whose last flit left before `end` have been put into
    /// `out` when it returns; others may have been.
    ///
    /// # Errors
    /// When the device is not fit for the program at all.
    fn run_until(&mut self, end: Cycle, out: &mut Vec<FrameOut>) -> Result<Progress>;
}

/// Runs a scenario on a device, somewhat longer than the hardware was observed, and gives the
/// frames. What happened inside is the device's to tell, in cycles from [`Run::zero`].
///
/// # Errors
/// When the program never announces itself, or the device cannot run it.
pub fn run(device: &mut dyn Device, scenario: &Scenario, script: &[ScriptFrame]) -> Result<Run> {
    let (peer, progress, mut frames) = play(device, scenario, script, |peer| end(peer, scenario))?;
    let zero = announced(&peer, scenario, &progress)?;
    for frame in &mut frames {
        frame.first -= zero as i64;
        frame.last -= zero as i64;
    }
    frames.sort_by_key(|frame| frame.first);
    let mut observation = Observation { frames, ..Observation::default() };
    match progress {
        Progress::Running => {}
        Progress::Exited(code) => observation.exit_code = Some(code),
        Progress::Stopped(why) => observation.stopped = Some(why),
    }
    Ok(Run { zero, observation })
}

/// Runs a device until it has announced itself, and gives its cycle that is the scenario's cycle 0.
///
/// # Errors
/// As [`run`].
pub fn zero(device: &mut dyn Device, scenario: &Scenario, script: &[ScriptFrame]) -> Result<Cycle> {
    let until = |peer: &Peer<'_>| peer.zero().map_or(LONGEST_BOOT_CYCLES, |_| 0);
    let (peer, progress, _) = play(device, scenario, script, until)?;
    announced(&peer, scenario, &progress)
}

/// Lets device and peer play until the cycle that `until` says, or the device's end.
fn play<'a>(
    device: &mut dyn Device,
    scenario: &'a Scenario,
    script: &'a [ScriptFrame],
    until: impl Fn(&Peer<'_>) -> Cycle,
) -> Result<(Peer<'a>, Progress, Vec<Record>)> {
    let mut peer = Peer::new(scenario, script);
    let window = peer.reaction_cycles();
    let (mut now, mut frames, mut out) = (0, Vec::new(), Vec::new());
    let mut progress = Progress::Running;
    while progress == Progress::Running && now < until(&peer) {
        let next = now + window;
        while let Some(frame) = peer.next_in(next) {
            device.inject(frame.first, &frame.frame);
            let mut record = record(Direction::In, frame.first, frame.last, frame.frame);
            if let Some(index) = frame.script {
                record.script = true;
                record.label.clone_from(&script[index].label);
            }
            frames.push(record);
        }
        progress = device.run_until(next, &mut out)?;
        for frame in out.drain(..) {
            peer.frame_out(frame.first, frame.last, &frame.frame);
            frames.push(record(Direction::Out, frame.first, frame.last, frame.frame));
        }
        now = next;
    }
    Ok((peer, progress, frames))
}

fn announced(peer: &Peer<'_>, scenario: &Scenario, progress: &Progress) -> Result<Cycle> {
    peer.zero().ok_or_else(|| {
        let why = match progress {
            Progress::Running => format!("within {LONGEST_BOOT_CYCLES} cycles"),
            Progress::Exited(code) => format!("before its program exited with code {code}"),
            Progress::Stopped(why) => format!("before it stopped: {why}"),
        };
        let (name, count) = (&scenario.name, scenario.ready_messages);
        Error::Usage(format!(
            "scenario {name}: the node did not send its {count} announcements {why}; they are \
             8-byte messages to port 0x7000 + hart"
        ))
    })
}

/// Holds what came out of a run.
#[derive(Debug)]
pub struct Run {
    /// The device's cycle that is the scenario's cycle 0.
    pub zero: Cycle,
    /// The frames, and how it ended.
    pub observation: Observation,
}

/// Gives when to stop: later than the hardware was, so that what comes late is seen to come late.
fn end(peer: &Peer<'_>, scenario: &Scenario) -> Cycle {
    let last = scenario.last_cycle.max(0) as Cycle;
    peer.zero().map_or(LONGEST_BOOT_CYCLES, |zero| zero + last + last / 16 + 1000)
}

fn record(direction: Direction, first: Cycle, last: Cycle, frame: Vec<u8>) -> Record {
    Record::new(direction, first as i64, last as i64, frame)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::set::Set;
    use super::*;

    /// Sends what the hardware sent, when it did.
    struct Replay {
        frames: std::collections::VecDeque<FrameOut>,
        injected: Vec<(Cycle, u32)>,
    }

    impl Device for Replay {
        fn inject(&mut self, first: Cycle, frame: &[u8]) {
            self.injected.push((first, super::super::observation::crc32(frame)));
        }

        fn run_until(&mut self, end: Cycle, out: &mut Vec<FrameOut>) -> Result<Progress> {
            while self.frames.front().is_some_and(|frame| frame.last < end) {
                out.extend(self.frames.pop_front());
            }
            Ok(Progress::Running)
        }
    }

    fn header(record: &Record) -> Vec<u8> {
        let fields = record.fields;
        let header = pinion_net::frame::lnic::Header {
            flags: pinion_net::frame::lnic::Flags(fields.flags),
            src_ip: fields.src_ip,
            dst_ip: fields.dst_ip,
            src_context: fields.src_context,
            dst_context: fields.dst_context,
            msg_len: fields.msg_len,
            pkt_offset: fields.pkt_offset,
            pull_offset: fields.pull_offset,
            tx_msg_id: fields.tx_msg_id,
            buf_ptr: fields.buf_ptr,
            buf_size_class: fields.buf_size_class,
            ..Default::default()
        };
        header.frame(&[])
    }

    /// Given what the RTL sent, the peer must send what the bench sent: the same frames in the same
    /// cycles.
    #[test]
    fn the_peer_is_the_bench() {
        const BOOT: i64 = 9000;
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/nanopu");
        let set = Set::open(&dir).unwrap();
        for scenario in set.scenarios(None).unwrap() {
            let script = set.script(&scenario).unwrap();
            let rtl = set.observed(&scenario).unwrap();
            let cycle = |at: i64| (at + BOOT) as Cycle;
            let (out, inward): (Vec<_>, Vec<_>) =
                rtl.frames.iter().partition(|frame| frame.direction == Direction::Out);
            let frames = out.iter().map(|frame| FrameOut {
                first: cycle(frame.first),
                last: cycle(frame.last),
                frame: header(frame),
            });
            let mut replay = Replay { frames: frames.collect(), injected: Vec::new() };
            let run = run(&mut replay, &scenario, &script).unwrap();
            assert_eq!(run.zero, BOOT as Cycle, "{}", scenario.name);
            let expected: Vec<_> = inward.iter().map(|f| (cycle(f.first), f.crc32)).collect();
            let seen = cycle(scenario.last_cycle);
            replay.injected.retain(|&(first, _)| first <= seen);
            let mismatch = replay.injected.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(mismatch, None, "{}", scenario.name);
            let counts = (replay.injected.len(), expected.len());
            assert_eq!(counts.0, counts.1, "{}: frames in", scenario.name);
        }
    }
}
