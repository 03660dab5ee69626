//! A hart's interface as a program sees it.

use super::thread_scheduler::NO_CONTEXT;
use super::*;
use crate::machine::hart_interface::HartInterfaceFixes;

const CONTEXT: u16 = 0x053;
const COMMAND: u16 = 0x054;
const PRIORITY: u16 = 0x055;
const DONE: (u16, u64) = (0x056, 1);
const IDLE: (u16, u64) = (0x056, 2);

/// Makes a hart with contexts 0 and 1 bound with these priorities; context 0 runs.
fn hart(priorities: [u64; 2], fixes: HartInterfaceFixes) -> HartInterface {
    let mut hart = HartInterface::new(0, &HartInterfaceSection::artifact(fixes));
    for (context, priority) in priorities.into_iter().enumerate() {
        hart.write_csr(CONTEXT, context as u64, 1);
        hart.write_csr(PRIORITY, priority, 2);
        let command = hart.write_csr(COMMAND, 1, 3);
        assert_eq!(command, Some(Command::Bind { context: context as u16 }));
    }
    hart.write_csr(CONTEXT, 0, 5);
    hart.write_csr(COMMAND, 4, 6);
    hart
}

fn message(hart: &mut HartInterface, context: u16, at: Cycle) {
    assert_eq!(hart.receive(context, at, true, [1, 2, 3].into_iter()), 3);
    hart.message_complete(context);
}

fn command(hart: &mut HartInterface, (csr, value): (u16, u64), now: Cycle) {
    hart.write_csr(csr, value, now);
}

/// Reads a message whole.
fn read(hart: &mut HartInterface, now: Cycle) {
    for n in 0..3 {
        assert!(hart.pop(now + n).is_some());
    }
}

fn pulses(hart: &mut HartInterface, until: Cycle) -> Vec<Cycle> {
    let mut heard: Vec<(Cycle, Event)> = Vec::new();
    hart.advance(until, &mut heard);
    heard.into_iter().map(|(at, _)| at).collect()
}

#[test]
fn a_higher_priority_interrupts_two_cycles_after_each_word() {
    let mut hart = hart([1, 0], HartInterfaceFixes::NONE);
    message(&mut hart, 0, 20);
    message(&mut hart, 1, 100);
    assert_eq!(hart.interrupt_at(0), Some(102));
    assert_eq!(hart.read_csr(0x058, 101), Some(0));
    assert_eq!((hart.read_csr(0x058, 102), hart.read_csr(0x059, 102)), (Some(1), Some(0)));
    assert_eq!(pulses(&mut hart, 200), [102, 103, 104]);
    assert_eq!((hart.interrupt_at(103), hart.interrupt_at(105)), (Some(103), None));
}

#[test]
fn equals_wait_for_message_done_and_go_by_age() {
    let mut hart = hart([0, 0], HartInterfaceFixes::NONE);
    message(&mut hart, 0, 20);
    read(&mut hart, 30);
    message(&mut hart, 1, 40);
    message(&mut hart, 0, 50);
    assert_eq!(hart.interrupt(0..200), None);
    command(&mut hart, DONE, 60);
    assert_eq!(hart.interrupt_at(60), Some(62), "context 1's message is older");
    hart.write_csr(CONTEXT, 1, 70);
    read(&mut hart, 80);
    command(&mut hart, DONE, 90);
    assert_eq!(hart.interrupt_at(91), Some(92));
    assert_eq!(pulses(&mut hart, 95), [62, 92]);
}

#[test]
fn an_idle_poll_notices_work_of_others() {
    let mut hart = hart([0, 1], HartInterfaceFixes::NONE);
    message(&mut hart, 1, 20);
    assert_eq!(hart.interrupt(0..1000), None);
    command(&mut hart, IDLE, 19);
    assert_eq!(hart.interrupt_at(20), Some(19 + 3002), "the word has not entered yet");
    command(&mut hart, IDLE, 25);
    assert_eq!(hart.interrupt_at(26), Some(27));
}

#[test]
fn an_idle_context_is_rotated_out() {
    let mut hart = hart([0, 0], HartInterfaceFixes::NONE);
    // The first turn is context 0's own.
    assert_eq!(hart.interrupt_at(10), Some(7 + 3001 + 3001));
    assert_eq!(pulses(&mut hart, 7000), [6009]);
    assert_eq!(hart.read_csr(0x058, 7001), Some(1));
    command(&mut hart, IDLE, 7002);
    assert_eq!(hart.interrupt_at(7003), Some(7004), "the target stays until the switch");
}

#[test]
fn an_overrun_lowers_the_priority_for_good_or_until_the_message_ends() {
    for (fixes, again) in [(HartInterfaceFixes::NONE, 1), (HartInterfaceFixes::ALL, 0)] {
        let mut hart = hart([0, 0], fixes);
        message(&mut hart, 0, 20);
        command(&mut hart, IDLE, 22);
        read(&mut hart, 30);
        message(&mut hart, 1, 40);
        assert_eq!(hart.interrupt_at(50), Some(22 + 3002));
        hart.interrupt_taken(3027);
        assert_eq!(hart.read_csr(0x058, 3030), Some(1));
        hart.write_csr(CONTEXT, 1, 3031);
        hart.write_csr(COMMAND, 4, 3032);
        read(&mut hart, 3040);
        command(&mut hart, DONE, 3050);
        assert_eq!(hart.interrupt_at(3051), Some(3052), "context 0 goes on");
        hart.write_csr(CONTEXT, 0, 3060);
        command(&mut hart, DONE, 3070);
        message(&mut hart, 0, 3080);
        assert_eq!(hart.read_csr(0x059, 3090), Some(again));
    }
}

#[test]
fn a_bound_counts_that_is_reached_in_the_cycle_of_a_restart() {
    for (restart, lowered) in [(3022, None), (3023, Some(3024))] {
        let mut hart = hart([0, 0], HartInterfaceFixes::ALL);
        message(&mut hart, 0, 20);
        command(&mut hart, IDLE, 22);
        read(&mut hart, 30);
        message(&mut hart, 1, 40);
        hart.write_csr(COMMAND, 4, restart);
        assert_eq!(hart.interrupt(3000..4000), lowered, "restarted in cycle {restart}");
    }
}

#[test]
fn a_thread_is_bounded_from_the_cycle_behind_its_switch() {
    let mut hart = hart([0, 0], HartInterfaceFixes::ALL);
    message(&mut hart, 1, 20);
    hart.write_csr(CONTEXT, 1, 5000);
    assert_eq!([5001, 5002, 5003].map(|at| hart.read_csr(0x059, at)), [Some(0), Some(0), Some(1)]);
}

#[test]
fn a_word_behind_the_interrupt_taken_asks_again() {
    let mut hart = hart([1, 0], HartInterfaceFixes::ALL);
    message(&mut hart, 1, 20);
    hart.interrupt_taken(23);
    pulses(&mut hart, 50);
    assert_eq!(hart.interrupt_at(100), Some(100));
    hart.interrupt_taken(110);
    assert_eq!(hart.interrupt(111..2000), None);
}

/// However far was looked ahead: who asks for an interrupt late hears of what came before.
#[test]
fn a_pulse_that_nobody_has_looked_at_asks_as_long() {
    for (fixes, up) in [(HartInterfaceFixes::NONE, None), (HartInterfaceFixes::ALL, Some(100))] {
        let mut hart = hart([1, 0], fixes);
        message(&mut hart, 1, 20);
        assert_eq!(hart.interrupt(100..200), up);
        hart.interrupt_taken(110);
        assert_eq!(hart.interrupt(111..2000), None);
    }
}

#[test]
fn time_without_a_message_counts_only_in_the_rtl() {
    for (fixes, priority) in [(HartInterfaceFixes::NONE, 1), (HartInterfaceFixes::ALL, 0)] {
        let mut hart = hart([0, 0], fixes);
        message(&mut hart, 0, 5000);
        assert_eq!(hart.read_csr(0x059, 5010), Some(priority));
    }
}

#[test]
fn the_bound_can_be_off_and_be_changed() {
    let mut section = HartInterfaceSection::artifact(HartInterfaceFixes::NONE);
    section.thread_scheduler.bounded = false;
    let mut unbounded = HartInterface::new(0, &section);
    unbounded.write_csr(COMMAND, 1, 1);
    assert_eq!(unbounded.read_csr(0x059, 9000), Some(0));
    let mut bounded = hart([0, 0], HartInterfaceFixes::NONE);
    bounded.write_csr(0x060, 100, 7);
    assert_eq!(bounded.read_csr(0x060, 8), Some(100));
    assert_eq!((bounded.read_csr(0x059, 100), bounded.read_csr(0x059, 120)), (Some(0), Some(1)));
}

#[test]
fn an_interrupt_stays_only_with_the_fix() {
    for (fixes, later) in
        [(HartInterfaceFixes::NONE, Some(3008)), (HartInterfaceFixes::ALL, Some(500))]
    {
        let mut hart = hart([1, 0], fixes);
        message(&mut hart, 0, 20);
        message(&mut hart, 1, 100);
        assert_eq!(hart.interrupt_at(90), Some(102));
        pulses(&mut hart, 400);
        assert_eq!(hart.interrupt_at(500).filter(|at| *at < 3000), later.filter(|at| *at < 3000));
        hart.interrupt_taken(510);
        assert_eq!(hart.interrupt(511..2000), None);
    }
}

#[test]
fn message_done_without_a_message_reaches_the_nic_only_in_the_rtl() {
    let told = Some(Command::MessageDone { context: 0 });
    for (fixes, command) in
        [(HartInterfaceFixes::NONE, told), (HartInterfaceFixes::ALL, Some(Command::Nothing))]
    {
        let mut hart = hart([0, 0], fixes);
        assert_eq!(hart.write_csr(DONE.0, DONE.1, 10), command);
        message(&mut hart, 0, 20);
        assert_eq!(hart.pop(30), Some(1));
        assert_eq!(hart.write_csr(DONE.0, DONE.1, 40), told);
        let left = hart.unread_words(0);
        assert_eq!(left, if command == told { 2 } else { 0 });
    }
}

#[test]
fn empty_queues_and_foreign_contexts_are_survived() {
    let mut hart = hart([0, 0], HartInterfaceFixes::NONE);
    assert_eq!(hart.pop(10), None);
    hart.write_csr(CONTEXT, 0xffff, 11);
    assert_eq!((hart.pop(13), hart.words_ready(13)), (None, false));
    hart.write_csr(CONTEXT, 7, 14);
    assert_eq!(hart.write_csr(COMMAND, 1, 15), Some(Command::Nothing));
    let first_empty_context = Some(0);
    let misuse = Misuse { empty_reads: 2, first_empty_context, bad_binds: 1, ..Misuse::default() };
    assert_eq!(hart.misuse(), misuse);
    assert_eq!((hart.read_csr(0x062, 20), hart.write_csr(0x300, 0, 20)), (None, None));
    assert_eq!((hart.read_csr(0x057, 16_383), hart.read_csr(0x057, 16_384)), (Some(0), Some(1)));
}

#[test]
fn no_thread_is_interrupted_by_any_word() {
    let mut hart = hart([3, 3], HartInterfaceFixes::NONE);
    hart.write_csr(CONTEXT, NO_CONTEXT.into(), 10);
    message(&mut hart, 1, 50);
    assert_eq!(hart.interrupt_at(11), Some(52));
}
