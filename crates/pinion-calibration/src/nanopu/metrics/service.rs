//! Requests that ask for work: response times, who served, in which order, and the switches of
//! threads between them.

use pinion_nanopu::event::Event;

use super::super::observation::Record;
use super::{Answer, View, count, mean, reduce};

/// Holds a request and its reply.
struct Served<'a> {
    tag: u64,
    request: &'a Record,
    reply: &'a Record,
}

impl Served<'_> {
    fn response(&self) -> f64 {
        (self.reply.first - self.request.first) as f64
    }
}

pub fn number(view: &View<'_>, metric: &str) -> Answer {
    if let Some(hart) = metric.strip_prefix("messages_served_by_hart") {
        let hart: u64 = hart.parse().ok()?;
        let by = |served: &Served<'_>| served.reply.words.get(2) == Some(&hart);
        return count(served(view).into_iter().filter(by).count());
    }
    if let Some(rest) = metric.strip_prefix("response_time_tag") {
        let (tag, _context) = rest.split_once("_ctx")?;
        let tag: u64 = tag.parse().ok()?;
        let served = served(view).into_iter().find(|served| served.tag == tag);
        return Some(served.map(|served| served.response()));
    }
    if let Some(statistic) = metric.strip_prefix("switch_pulse_to_first_target_commit_") {
        let from = view.seen.warm_from();
        let warm = view.switches.iter().filter(|switch| switch.interrupt_pulse_cycle >= from);
        let cycles =
            warm.map(|switch| (switch.first_target_commit - switch.interrupt_pulse_cycle) as f64);
        return Some(reduce(statistic, &cycles.collect::<Vec<_>>()));
    }
    if let Some((statistic, context)) = metric.split_once("_response_time") {
        let context = match context.strip_prefix("_ctx") {
            Some(context) => Some(context.parse().ok()?),
            None => None,
        };
        let of = |served: &Served<'_>| {
            context.is_none_or(|context: u16| served.request.fields.dst_context == context)
        };
        let served = served(view).into_iter().filter(of);
        let times: Vec<f64> = served.map(|served| served.response()).collect();
        return match statistic {
            "mean" => Some(mean(&times)),
            "min" | "median" | "max" => Some(reduce(statistic, &times)),
            _ => None,
        };
    }
    match metric {
        "messages_served" => count(served(view).len()),
        "first_in_to_last_reply_first_out" => Some(span(view)),
        "thread_interrupts" => count(events(view, |e| matches!(e, Event::ThreadInterrupt { .. }))),
        "traps_taken" => count(events(view, |e| matches!(e, Event::Trap { .. }))),
        _ => None,
    }
}

/// Gives the tags of the requests in the order of their replies.
pub fn order(view: &View<'_>) -> Vec<u64> {
    let mut served = served(view);
    served.sort_by_key(|served| served.reply.first);
    served.iter().map(|served| served.tag).collect()
}

/// Pairs the requests behind the warm-up with their replies, by the tag in the second word.
fn served<'a>(view: &View<'a>) -> Vec<Served<'a>> {
    let replies: Vec<&Record> = view.seen.data_out().collect();
    let pairs = view.seen.warm_requests().filter_map(|request| {
        let tag = *request.words.get(1)?;
        let reply = replies
            .iter()
            .find(|reply| reply.words.get(1) == Some(&tag) && reply.first > request.first);
        Some(Served { tag, request, reply: reply.copied()? })
    });
    pairs.collect()
}

fn span(view: &View<'_>) -> Option<f64> {
    let served = served(view);
    let first = served.iter().map(|served| served.request.first).min()?;
    Some((served.iter().map(|served| served.reply.first).max()? - first) as f64)
}

fn events(view: &View<'_>, is_wanted: fn(&Event) -> bool) -> usize {
    view.seen.events.iter().filter(|(_, event)| is_wanted(event)).count()
}
