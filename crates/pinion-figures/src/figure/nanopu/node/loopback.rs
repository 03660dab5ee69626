//! Echoed messages, one at a time, and the way of the fastest: the echo program. Out: when a message passes each stage.

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Event;
use pinion_nanopu::machine::transport::TransportKind;

use super::super::{Loopback, Stage};
use super::exchange::Exchange;
use super::{Nodes, node};
use crate::figure::Setting;
use pinion_app::error::{Error, Result};

/// The program.
pub(super) const PROGRAM: &str = "nanopu_echo";
/// First message: the NIC is out of reset and the program waits.
pub(super) const START_CYCLE: Cycle = 60_000;
/// Messages that warm caches and predictors.
const WARM_UP: usize = 4;
/// Bytes of a message's word.
const WORD_BYTES: u64 = 8;
/// Most bytes of a packet.
const PACKET_BYTES: u64 = 1024;

/// Echoes messages.
pub(super) fn loopback(nodes: &Nodes, run: &Loopback, setting: &Setting<'_>) -> Result<Vec<Stage>> {
    let words = words(run.message_bytes)?;
    let definition = run.fixed_length.then(|| format!("WORDS={words}"));
    let image = nodes.programs.get(PROGRAM, definition.as_deref(), setting)?;
    let machine = nodes.machine(&[], setting)?;
    let mut node = node(&machine, &image, &[PROGRAM])?;
    let mut exchange = Exchange::new(TransportKind::Ndp, u32::from(machine.address.ip));
    for number in 0..run.messages {
        let message: Vec<u64> = (0..words).map(|word| number << 32 | word).collect();
        exchange.words(START_CYCLE + number * run.gap_cycles, &message);
    }
    let mut events: Vec<(Cycle, Event)> = Vec::new();
    let mut sent = Vec::new();
    let cycles = START_CYCLE + (run.messages + 1) * run.gap_cycles + START_CYCLE;
    let all = run.messages as usize;
    let note = |first, is_message| {
        if is_message {
            sent.push(first)
        }
    };
    exchange.run(&mut node, &mut events, cycles, note, |out| out.len() >= all)?;
    events.sort_by_key(|(at, _)| *at);
    let ways = sent.iter().zip(&exchange.out).skip(WARM_UP.min(all.saturating_sub(1)));
    let fastest = ways.min_by_key(|(first, answer)| answer.first - **first);
    let Some((&first, answer)) = fastest else {
        return Err(Error::Usage("nothing was echoed: give at least one message".to_owned()));
    };
    stages(&events, first, answer.first)
}

/// Checks that a message is one packet of whole words, and counts them.
pub(super) fn words(message_bytes: u64) -> Result<u64> {
    let is_whole = message_bytes.is_multiple_of(WORD_BYTES);
    if !is_whole || !(WORD_BYTES..=PACKET_BYTES).contains(&message_bytes) {
        return Err(Error::Usage(format!(
            "messages of {message_bytes} B: the echo program takes multiples of {WORD_BYTES} up to \
             {PACKET_BYTES}"
        )));
    }
    Ok(message_bytes / WORD_BYTES)
}

/// Tells when the message that came in `first` and was answered in `answered` passed each stage.
fn stages(events: &[(Cycle, Event)], first: Cycle, answered: Cycle) -> Result<Vec<Stage>> {
    let within = events.iter().filter(|(at, _)| (first..=answered).contains(at));
    let find = |name: &'static str, is: fn(&Event) -> bool, last: bool| {
        let mut matching = within.clone().filter(|(_, event)| is(event)).map(|(at, _)| *at);
        let found = if last { matching.next_back() } else { matching.next() };
        let cycle = found.map(|at| at - first);
        let missing = || Error::Usage(format!("the node told nothing of the stage `{name}`"));
        cycle.map(|cycle| Stage { name: name.to_owned(), cycle }).ok_or_else(missing)
    };
    Ok(vec![
        find("pins in", |event| matches!(event, Event::IngressIn { .. }), false)?,
        find("ingress", |event| matches!(event, Event::IngressOut { .. }), false)?,
        find("reassembly", |event| matches!(event, Event::ReassemblyOut { .. }), false)?,
        find("queues", |event| matches!(event, Event::ReceiveWord { .. }), false)?,
        find("program", |event| matches!(event, Event::TransmitWord { .. }), true)?,
        Stage { name: "pins out".to_owned(), cycle: answered - first },
    ])
}
