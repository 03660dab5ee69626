//! Cycles of instruction classes, as the programs that measure them report.
//!
//! One kind of reply carries all passes of a test, {test, count, four passes}; the other one pass,
//! {test, count, cycles}, and its k-th reply of a test is pass k.

use super::super::set::CoreTiming;
use super::{Answer, View};

/// Counts the cycles that reading the cycle counter twice takes.
const OVERHEAD_CYCLES: f64 = 1.0;
/// The number of the pass that is warm for certain.
const LAST_PASS: usize = 3;

pub fn number(view: &View<'_>, metric: &str) -> Answer {
    let test = |name: &str| view.tests.iter().find(|test| test.name == name);
    if let Some(name) = metric.strip_suffix("_per_group") {
        let test = test(name)?;
        return Some(
            pass(view, test, LAST_PASS).map(|(cycles, count)| (cycles - OVERHEAD_CYCLES) / count),
        );
    }
    let (name, number) = metric.rsplit_once("_pass")?;
    Some(pass(view, test(name)?, number.parse().ok()?).map(|(cycles, _)| cycles))
}

/// Gives the cycles of a test's pass, and what they are the cycles of.
fn pass(view: &View<'_>, test: &CoreTiming, pass: usize) -> Option<(f64, f64)> {
    let clients: Vec<u16> =
        view.seen.requests().map(|request| request.fields.src_context).collect();
    let mut replies = view.seen.data_out().filter(|reply| {
        clients.contains(&reply.fields.dst_context) && reply.words.first() == Some(&test.test)
    });
    let first = replies.next()?;
    let (words, at) = match first.words.len() {
        6.. => (&first.words, 2 + pass),
        _ if pass == 0 => (&first.words, 2),
        _ => (&replies.nth(pass - 1)?.words, 2),
    };
    Some((*words.get(at)? as f64, *words.get(1)? as f64))
}
