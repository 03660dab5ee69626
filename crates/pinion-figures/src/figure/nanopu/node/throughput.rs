//! One core receiving or sending as fast as it can: the throughput program, which counts its
//! cycles. Messages out count until the last flit has left, where that takes longer.

use pinion_nanopu::event::Deaf;
use pinion_nanopu::machine::transport::TransportKind;

use super::super::Throughput;
use super::exchange::Exchange;
use super::loopback::START_CYCLE;
use super::{Nodes, node};
use crate::figure::Setting;
use pinion_app::error::{Error, Result};

/// The program; its source says what commands mean.
const PROGRAM: &str = "nanopu_throughput";
/// Bytes of the messages that it is written for.
const MESSAGE_BYTES: u64 = 1024;
/// The port that it sends to.
const PORT: u64 = 1;
/// Cycles from the command to the first message: the program waits for it.
const GAP_CYCLES: u64 = 2_000;
/// Cycles that a message takes at most.
const MESSAGE_CYCLES: u64 = 10_000;

/// Measures a direction.
pub(super) fn throughput(nodes: &Nodes, run: &Throughput, setting: &Setting<'_>) -> Result<u64> {
    if run.message_bytes != MESSAGE_BYTES {
        return Err(Error::Usage(format!(
            "messages of {} B: the program {PROGRAM} is for {MESSAGE_BYTES}",
            run.message_bytes
        )));
    }
    let image = nodes.programs.get(PROGRAM, None, setting)?;
    let machine = nodes.machine(&[], setting)?;
    let mut node = node(&machine, &image, &[PROGRAM])?;
    let mut exchange = Exchange::new(TransportKind::Ndp, u32::from(machine.address.ip));
    let mode = u64::from(run.sends) + 2 * u64::from(!run.fixed_length);
    exchange.words(START_CYCLE, &[mode, run.messages, PORT]);
    if !run.sends {
        for _ in 0..run.messages {
            exchange.message(START_CYCLE + GAP_CYCLES, &[0x5a; MESSAGE_BYTES as usize]);
        }
    }
    let cycles = START_CYCLE + GAP_CYCLES + (run.messages + 1) * MESSAGE_CYCLES;
    let is_answer = |words: &[u64]| words.len() == 3 && words[..2] == [mode, run.messages];
    exchange.run(
        &mut node,
        &mut Deaf,
        cycles,
        |_, _| {},
        |out| out.last().is_some_and(|frame| is_answer(&frame.words())),
    )?;
    let Some((answer, sent)) = exchange.out.split_last() else {
        return Err(Error::Usage("the program told no cycles".to_owned()));
    };
    // What it has written may still wait for the pins.
    let on_pins = sent.first().zip(sent.last()).map_or(0, |(a, z)| z.last + 1 - a.first);
    Ok(answer.words()[2].max(on_pins))
}
