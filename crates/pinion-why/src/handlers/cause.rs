//! What a handler's run was spent with, in words.

use pinion_spin::{HandlerRecord, Stalls};

use crate::way::{LineShare, longest};

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

/// Says what most of handlers' cycles went to.
pub fn running(handlers: &[HandlerRecord], lines: &[LineShare]) -> String {
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
    why + &longest(lines).map_or_else(String::new, |line| format!(", and {line}"))
}
