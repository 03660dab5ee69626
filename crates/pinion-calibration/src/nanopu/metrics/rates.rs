//! Messages a second: back to back through the node, and as a program counts them one way.

use pinion_nanopu::event::Event;

use super::super::observation::Record;
use super::{Answer, View, count, median, periods};

/// The node's clock in MHz.
const CLOCK_MHZ: f64 = 3200.0;
/// Counts the bytes of payload of the messages that throughput is measured with.
const PAYLOAD_BYTES: f64 = 1024.0;
/// Counts their bytes on the wire.
const WIRE_BYTES: f64 = 1088.0;
/// The port that a node under test sends to.
const SINK_PORT: u16 = 0x6000;

pub fn number(view: &View<'_>, metric: &str) -> Answer {
    let value = match metric {
        "messages_out" => return count(view.seen.data_out().count()),
        "first_in_to_last_message_first_out" => from_first_request(view),
        "mean_period" => mean_period(view, 0),
        "mean_period_last_three_quarters" => last_three_quarters(view),
        "message_rate_at_3.2GHz" => last_three_quarters(view).map(|period| CLOCK_MHZ / period),
        "last_paced_pull_out_cycle" => {
            let pulls = view.seen.out().filter(|frame| is_pull_alone(frame));
            pulls.map(|frame| frame.first as f64).last()
        }
        "program_cycles" => Some(program(view)?.0),
        "program_cycles_per_message" => per_message(view),
        "wire_rate_by_program_cycles" => per_message(view).map(|cycles| rate(WIRE_BYTES, cycles)),
        "payload_rate_by_program_cycles" => {
            per_message(view).map(|cycles| rate(PAYLOAD_BYTES, cycles))
        }
        "msg_done_period_median" => {
            let done = view.seen.events.iter();
            let done = done.filter(|(_, event)| matches!(event, Event::MessageDone { .. }));
            median(&periods(done.map(|&(at, _)| at)))
        }
        "pin_period_median" => {
            let sent = view.seen.data_out().filter(|frame| frame.fields.dst_context == SINK_PORT);
            median(&periods(sent.map(|frame| frame.first)))
        }
        _ => return None,
    };
    Some(value)
}

fn is_pull_alone(frame: &Record) -> bool {
    frame.fields.flags == super::super::observation::PULL
}

fn from_first_request(view: &View<'_>) -> Option<f64> {
    let first = view.seen.requests().next()?.first;
    Some((view.seen.data_out().last()?.first - first) as f64)
}

fn mean_period(view: &View<'_>, skip: usize) -> Option<f64> {
    let cycles: Vec<i64> = view.seen.data_out().skip(skip).map(|frame| frame.first).collect();
    let (first, last) = (cycles.first()?, cycles.last()?);
    (cycles.len() > 1).then(|| (last - first) as f64 / (cycles.len() - 1) as f64)
}

fn last_three_quarters(view: &View<'_>) -> Option<f64> {
    mean_period(view, view.seen.data_out().count() / 4)
}

/// Gives the cycles and the messages that the program counted for the last command.
fn program(view: &View<'_>) -> Option<(f64, f64)> {
    let command = view.warm_command()?;
    let reply = view.seen.data_out().filter(|frame| {
        frame.first > command.first && frame.fields.dst_context == command.fields.src_context
    });
    let words = &reply.last()?.words;
    Some((*words.get(2)? as f64, *words.get(1)? as f64))
}

fn per_message(view: &View<'_>) -> Option<f64> {
    program(view).map(|(cycles, messages)| cycles / messages)
}

/// Gives Gb/s for so many bytes in so many cycles.
fn rate(bytes: f64, cycles: f64) -> f64 {
    bytes * 8.0 * CLOCK_MHZ / 1000.0 / cycles
}

impl<'a> View<'a> {
    /// Gives the first request behind the warm-up: the command, where a program takes commands.
    fn warm_command(&self) -> Option<&'a Record> {
        let mut requests = self.seen.requests();
        let is_command = |frame: &&Record| frame.label == "command";
        requests.find(is_command).or_else(|| {
            let mut requests = self.seen.requests();
            requests.find(|frame| !super::super::set::warms(&frame.label))
        })
    }
}
