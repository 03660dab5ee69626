//! One sentence that says what a packet's latency comes from.

use pinion_spin::{HandlerRecord, Stalls};

use super::chain::{Chain, Span, Step};
use crate::way::LineShare;
use pinion_observe::words::number;

/// Says in words what a core waited for.
fn waited_for(reason: &str) -> &'static str {
    match reason {
        "load_use" => "for results of loads that are used at once",
        "branch" => "behind branches and jumps that were taken",
        "arithmetic" => "for multiplications and divisions",
        "fetch" => "for instructions that the cache did not have",
        "l1" => "for banks of L1 that others used",
        "remote" => "for memory outside its cluster's L1",
        _ => "for commands",
    }
}

/// Says what a chain's longest part is, and why.
pub fn sentence(chain: &Chain, handlers: &[HandlerRecord], lines: &[LineShare]) -> String {
    let total = chain.ps().max(1);
    let Some(longest) = chain.spans.iter().max_by_key(|span| span.ps()) else {
        return "It took no time.".to_owned();
    };
    let share = longest.ps() as f64 * 100.0 / total as f64;
    let why = match longest.step {
        Step::Run => running(handlers, lines),
        step if step.is_wait() => blocked(longest),
        _ => String::new(),
    };
    let ns = number(longest.ps() as f64 / 1e3);
    let it = if longest.step.is_of_packet() { "it " } else { "" };
    format!("{share:.0} % of it, {ns} ns: {it}{}{why}.", longest.what)
}

fn blocked(span: &Span) -> String {
    span.behind().map_or_else(String::new, |who| format!(", behind {who}"))
}

fn running(handlers: &[HandlerRecord], lines: &[LineShare]) -> String {
    let mut stalls = Stalls::default();
    handlers.iter().for_each(|ran| stalls.add(&ran.stalls));
    let instructions: u64 = handlers.iter().map(|ran| ran.instructions).sum();
    let mut why = String::new();
    let worst = stalls.reasons().into_iter().max_by_key(|(_, cycles)| *cycles);
    if let Some((reason, cycles)) = worst.filter(|(_, cycles)| *cycles > 0) {
        let all = instructions + stalls.total();
        let share = cycles as f64 * 100.0 / all.max(1) as f64;
        why += &format!(
            "; of its handlers' cycles {share:.0} % went by waiting {}",
            waited_for(reason)
        );
    }
    let all: u64 = lines.iter().map(|line| line.cycles).sum();
    if let Some(line) = lines.first().filter(|line| line.cycles > 0) {
        let share = line.cycles as f64 * 100.0 / all.max(1) as f64;
        why += &format!(", and {share:.0} % in {}", line.place);
    }
    why
}
