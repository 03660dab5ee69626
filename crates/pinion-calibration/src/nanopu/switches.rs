//! Thread switches, put together from events and retired instructions: interrupt, trap, first
//! instruction of the handler, its `mret`, first instruction of the thread that runs next.

use pinion_nanopu::event::Event;

use super::observation::Observation;
use super::set::Switch;

/// Finds the switches of every hart, in order of their traps within a hart. `mrets` are the
/// addresses of the program's `mret` instructions. A trap whose instructions were not seen to the
/// end is left out.
pub fn switches(seen: &Observation, mrets: &[u64]) -> Vec<Switch> {
    let mut switches = Vec::new();
    let traps = seen.events.iter().filter_map(|&(at, event)| match event {
        Event::Trap { hart } => Some((at, hart)),
        _ => None,
    });
    for (trap, hart) in traps {
        let Some((pulse, from_context, to_context)) = pulse(seen, hart, trap) else { continue };
        let from = seen.commits.partition_point(|commit| commit.at <= trap);
        let mut commits = seen.commits[from..].iter().filter(|commit| commit.hart == hart);
        let Some(first) = commits.next() else { continue };
        let mut rest = std::iter::once(first).chain(commits);
        let Some(mret) = rest.find(|commit| mrets.contains(&commit.pc)) else { continue };
        let Some(target) = rest.next() else { continue };
        switches.push(Switch {
            scenario: String::new(),
            hart,
            from_context,
            to_context,
            interrupt_pulse_cycle: pulse,
            trap_cycle: trap,
            first_handler_commit: first.at,
            mret_commit: mret.at,
            first_target_commit: target.at,
            target_pc: format!("{:08x}", target.pc),
        });
    }
    switches.sort_by_key(|switch| (switch.hart, switch.trap_cycle));
    switches
}

/// Cycles from the interrupt to its trap at least: it is taken in decode, three stages before.
const TO_TRAP: i64 = 3;

/// Finds the first cycle of the interrupt that led to a trap, and its contexts.
fn pulse(seen: &Observation, hart: u8, trap: i64) -> Option<(i64, u16, u16)> {
    let until = seen.events.partition_point(|&(at, _)| at <= trap - TO_TRAP);
    let mut up = seen.events[..until].iter().rev().filter_map(|&(at, event)| match event {
        Event::ThreadInterrupt { hart: of, running, target } if of == hart => {
            Some((at, running, target))
        }
        _ => None,
    });
    let mut first = up.next()?;
    for earlier in up {
        if earlier.0 + 1 < first.0 {
            break;
        }
        first = earlier;
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::super::observation::Commit;
    use super::*;

    #[test]
    fn a_switch_is_put_together() {
        let up = Event::ThreadInterrupt { hart: 1, running: 0, target: 2 };
        let events = vec![
            (5, up),
            (20, up),
            (21, up),
            (22, Event::Trap { hart: 0 }),
            (23, Event::Trap { hart: 1 }),
        ];
        let commit = |at, hart, pc| Commit { at, hart, pc };
        let commits = vec![
            commit(22, 1, 0x100),
            commit(25, 0, 0x500),
            commit(28, 1, 0x40),
            commit(30, 1, 0x44),
            commit(35, 1, 0x200),
        ];
        let seen = Observation { events, commits, ..Observation::default() };
        let found = switches(&seen, &[0x44]);
        assert_eq!(found.len(), 1);
        let switch = &found[0];
        assert_eq!(
            (switch.from_context, switch.to_context, switch.interrupt_pulse_cycle),
            (0, 2, 20)
        );
        assert_eq!((switch.trap_cycle, switch.first_handler_commit), (23, 28));
        assert_eq!((switch.mret_commit, switch.first_target_commit), (30, 35));
        assert_eq!(switch.target_pc, "00000200");
    }
}
