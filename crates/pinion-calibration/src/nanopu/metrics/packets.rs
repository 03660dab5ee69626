//! Frames counted and timed: by kind, one by one, and those that found no room.

use super::super::observation::{ACK, PULL, Record, kind};
use super::{Answer, View, count, median, periods};

/// How much longer than the median a gap is that counts as a stall.
const STALL: f64 = 4.0;

pub fn number(view: &View<'_>, metric: &str) -> Answer {
    if let Some(name) = metric.strip_prefix("packets_out_") {
        return count(view.seen.out().filter(|frame| name_of(frame) == name).count());
    }
    if let Some((index, name)) = numbered(metric) {
        let from = view.seen.warm_from();
        let mut out = view.seen.out().filter(|frame| frame.first >= from);
        let frame = out.nth(index).filter(|frame| name_of(frame) == name);
        return Some(frame.map(|frame| frame.first as f64));
    }
    match metric {
        "pull_period_median" => {
            let pulls = view.seen.out().filter(|frame| frame.fields.flags & PULL != 0);
            Some(median(&periods(pulls.map(|frame| frame.first))))
        }
        "messages_acknowledged" => count(acknowledged(view).count()),
        "messages_dropped" => count(dropped(view).count()),
        "first_dropped_message" => Some(dropped(view).next().map(|index| index as f64)),
        "data_packets_before_first_stall" => Some(before_stall(view)),
        "exit_code" => Some(view.seen.exit_code.map(f64::from)),
        _ => None,
    }
}

fn name_of(frame: &Record) -> String {
    kind(frame.fields.flags).replace('+', "_")
}

/// Takes `outN_KIND_first_flit` apart.
fn numbered(metric: &str) -> Option<(usize, &str)> {
    let (index, rest) = metric.strip_prefix("out")?.split_once('_')?;
    Some((index.parse().ok()?, rest.strip_suffix("_first_flit")?))
}

fn acknowledged<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Record> {
    view.seen.out().filter(|frame| frame.fields.flags & ACK != 0)
}

/// Gives the numbers of the requests that were never acknowledged.
fn dropped<'a>(view: &View<'a>) -> impl Iterator<Item = usize> {
    let view = *view;
    let is_answered = move |request: &Record| {
        let id = (request.fields.tx_msg_id, request.fields.src_context, request.fields.src_ip);
        acknowledged(&view)
            .any(|ack| (ack.fields.tx_msg_id, ack.fields.dst_context, ack.fields.dst_ip) == id)
    };
    let requests = view.seen.requests().enumerate();
    requests.filter(move |(_, request)| !is_answered(request)).map(|(index, _)| index)
}

fn before_stall(view: &View<'_>) -> Option<f64> {
    let gaps = periods(view.seen.data_out().map(|frame| frame.first));
    let usual = median(&gaps)?;
    let stall = gaps.iter().position(|&gap| gap > STALL * usual)?;
    Some((stall + 1) as f64)
}
