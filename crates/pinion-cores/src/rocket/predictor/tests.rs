//! The predictor alone, on hand-made branches.

use super::*;

fn predictor() -> Predictor {
    Predictor::new(28, 512, 6)
}

fn at(pc: u64, target: u64, taken: bool, fetched: Cycle) -> Meeting {
    Meeting { pc, target, behind: pc + 4, taken, fetched, queue_short: true }
}

/// Meets an instruction as the pipeline does; tells whether the guess was wrong.
fn wrong(predictor: &mut Predictor, flow: Flow, at: Meeting) -> bool {
    match predictor.meet(flow, at) {
        Guess::Wrong(astray) => {
            predictor.learn(astray.lesson);
            true
        }
        _ => false,
    }
}

#[test]
fn a_loop_is_learnt_after_its_first_turn() {
    let mut predictor = predictor();
    assert!(wrong(&mut predictor, Flow::Branch, at(0x100, 0x80, true, 0)));
    // Another history reads another counter, until the history is all ones.
    let guesses: Vec<_> = (1..20)
        .map(|i| wrong(&mut predictor, Flow::Branch, at(0x100, 0x80, true, 10 * i)))
        .collect();
    assert_eq!(guesses.last(), Some(&false));
    assert!(wrong(&mut predictor, Flow::Branch, at(0x100, 0x80, false, 500)));
}

#[test]
fn more_jumps_than_targets_are_all_late() {
    let mut predictor = predictor();
    for round in 0..3 {
        for jump in 0..64u64 {
            let guess =
                predictor.meet(Flow::Jump { call: false }, at(8 * jump, 8 * jump + 8, true, 0));
            assert_eq!(guess, Guess::Late, "round {round}, jump {jump}");
        }
    }
    for jump in 0..16u64 {
        predictor.meet(Flow::Jump { call: false }, at(8 * jump, 8 * jump + 8, true, 0));
    }
    let guess = predictor.meet(Flow::Jump { call: false }, at(0, 8, true, 0));
    assert_eq!(guess, Guess::Early);
}

#[test]
fn returns_come_from_the_stack() {
    let mut predictor = predictor();
    let ret = Flow::Register { call: false, ret: true };
    for i in 0..3u64 {
        let from = 0x1000 * (i + 1);
        predictor.meet(Flow::Jump { call: true }, at(from, 0x400, true, 100 * i));
        assert!(!wrong(&mut predictor, ret, at(0x410, from + 4, true, 100 * i + 20)), "{i}");
    }
}

#[test]
fn branches_that_nobody_knew_all_take_the_first_entry() {
    let mut predictor = predictor();
    let pcs = [0x100, 0x200];
    for (turn, pc) in pcs.into_iter().enumerate() {
        let fetched = 10 * turn as Cycle;
        assert!(wrong(&mut predictor, Flow::Branch, at(pc, pc + 0x40, true, fetched)));
    }
    assert_eq!(pcs.map(|pc| predictor.buffer.find(pc).map(|(entry, _)| entry)), [None, Some(0)]);
}

#[test]
fn a_jump_into_a_line_that_is_missing_is_entered_twice_and_found_once() {
    let mut predictor = predictor();
    let jump = |fetched| at(0x100, 0x1000, true, fetched);
    assert_eq!(predictor.meet(Flow::Jump { call: false }, jump(0)), Guess::Late);
    predictor.starve(None);
    let guesses = [10, 20, 30].map(|at| predictor.meet(Flow::Jump { call: false }, jump(at)));
    assert_eq!(guesses, [Guess::Early, Guess::Late, Guess::Early]);
}

#[test]
fn what_is_no_jump_before_a_line_that_is_missing_costs_the_first_entry() {
    let mut predictor = predictor();
    predictor.meet(Flow::Jump { call: false }, at(0x100, 0x1000, true, 0));
    predictor.starve(Some(5));
    assert_eq!(predictor.buffer.find(0x100), None);
}

#[test]
fn of_28_entries_two_are_never_replaced_by_others() {
    let mut predictor = predictor();
    for jump in 0..1000u64 {
        predictor.meet(Flow::Jump { call: false }, at(8 * jump, 0x1000, true, 10 * jump));
    }
    let unused: Vec<_> = (0..28).filter(|&entry| predictor.buffer.is_empty(entry)).collect();
    assert_eq!(unused, [25, 27]);
}
