//! Faults: a handler that goes wrong is reported with what, where and why; its packet is freed, its
//! HPU and all other packets go on.
//!
//! The handlers are a few instruction words put in place of the `empty` program's handler.

use pinion_sim::Time;
use pinion_spin::{ExecutionContext, Fault, Frame, Machine, Nic, Offer, Outcome};

use crate::harness::{
    FIRST_HANDLER, Recorder, Reported, build, context, faithful, finish, frame, image, machine,
    put, run,
};

/// The trap handler's address.
const TRAP: u32 = 0x1d00_0200;
/// lw a5, 68(a0): the message id.
const LOAD_MESSAGE: u32 = 0x0445_2783;
/// andi a5, a5, 1
const LOWEST_BIT: u32 = 0x0017_f793;
const RETURN: u32 = 0x0000_8067;
/// jal zero, 0
const LOOP: u32 = 0x0000_006f;
/// lw zero, 80(a0 - 8): the doorbell
const DOORBELL: u32 = 0x0485_2003;

/// beqz a5 over `words` instructions.
fn skip_if_even(words: u32) -> u32 {
    0x0007_8063 | (2 * (words + 1)) << 8
}

/// A node whose payload handler runs `code` for odd messages and returns for even ones.
fn odd_ones(machine: Machine, code: &[u32], change: impl Fn(&mut ExecutionContext)) -> Nic {
    let image = image("empty");
    let mut context = context(&image, ["", "ph", ""]);
    change(&mut context);
    let mut nic = build(machine, &image, vec![context]);
    put(&mut nic, FIRST_HANDLER, &[LOAD_MESSAGE, LOWEST_BIT, skip_if_even(code.len() as u32)]);
    put(&mut nic, FIRST_HANDLER + 12, code);
    put(&mut nic, FIRST_HANDLER + 12 + 4 * code.len() as u32, &[RETURN]);
    nic
}

/// `count` packets of as many messages.
fn packets(count: u32) -> Vec<Frame> {
    (0..count).map(|message| frame(0, message, true, vec![0; 64])).collect()
}

/// Every odd message must have failed once, with this fault, and nothing else.
fn check(nic: &Nic, heard: &Recorder, count: u32, fault: Fault, pc: u32, address: u32) {
    let mut failed: Vec<u32> = heard.faults.iter().map(|reported| reported.message).collect();
    failed.sort_unstable();
    assert_eq!(failed, (0..count).filter(|message| message % 2 == 1).collect::<Vec<_>>());
    for reported in &heard.faults {
        let Reported { message, packet, .. } = *reported;
        let found = (reported.fault, reported.pc, reported.address);
        assert_eq!(found, (fault, pc, address), "{reported:x?}");
        let record = heard.packets.iter().find(|record| record.packet == packet);
        let record = record.expect("its packet was freed");
        assert_eq!((record.message, record.hpu), (message, Some(reported.hpu)));
        assert!(reported.time <= record.completion);
    }
    for record in &heard.packets {
        assert_eq!(record.failed, record.message % 2 == 1);
    }
    for record in &heard.handlers {
        assert_eq!(record.failed, failed.contains(&(record.packet as u32)));
    }
    assert_eq!(heard.packets.len(), count as usize);
    assert_eq!(nic.totals().faults, failed.len() as u64);
}

/// Runs 200 packets on the machine as it is and on one with a single HPU.
fn check_fault(code: &[u32], fault: Fault, pc: u32, address: u32) {
    let single = machine(&["cluster.count=1", "cluster.cores=1"]);
    for machine in [machine(&[]), single] {
        let mut nic = odd_ones(machine, code, |_| {});
        let heard = finish(&mut nic, packets(200));
        check(&nic, &heard, 200, fault, pc, address);
    }
}

const BAD: u32 = FIRST_HANDLER + 12;

#[test]
fn illegal_instructions_are_reported() {
    check_fault(&[0xffff_ffff], Fault::Exception { cause: 2 }, BAD, 0xffff_ffff);
}

#[test]
fn environment_calls_are_reported() {
    check_fault(&[0x0000_0073], Fault::Exception { cause: 8 }, BAD, 0);
    check_fault(&[0x0010_0073], Fault::Exception { cause: 3 }, BAD, 0);
}

#[test]
fn accesses_outside_the_context_are_reported() {
    let outside = 0x1c38_07b7; // lui a5, 0x1c380
    let store = [outside, 0x0007_a023]; // sw zero, 0(a5)
    check_fault(&store, Fault::Exception { cause: 7 }, BAD + 4, 0x1c38_0000);
    let load = [outside, 0x0007_a703]; // lw a4, 0(a5)
    check_fault(&load, Fault::Exception { cause: 5 }, BAD + 4, 0x1c38_0000);
    let atomic = [outside, 0x00e7_a72f]; // amoadd.w a4, a4, (a5)
    check_fault(&atomic, Fault::Exception { cause: 7 }, BAD + 4, 0x1c38_0000);
    let nothing = [0x5000_07b7, 0x0007_a703]; // no memory at all
    check_fault(&nothing, Fault::Exception { cause: 5 }, BAD + 4, 0x5000_0000);
    let program = [0x1d00_07b7, 0x0007_a023]; // its own program
    check_fault(&program, Fault::Exception { cause: 7 }, BAD + 4, 0x1d00_0000);
}

/// Misaligned atomics trap on every machine, wherever they go; the time goes on.
#[test]
fn misaligned_atomics_are_reported() {
    for base in [0x1000_07b7, 0x1b00_07b7, 0x1c30_07b7, 0x1b20_57b7] {
        // lui a5; addi a5, a5, 2; the atomic
        for (atomic, cause) in [
            (0x00e7_a72f, 6), // amoadd.w a4, a4, (a5)
            (0x1007_a72f, 4), // lr.w a4, (a5)
            (0x18e7_a72f, 6), // sc.w a4, a4, (a5)
        ] {
            let fault = Fault::Exception { cause };
            check_fault(&[base, 0x0027_8793, atomic], fault, BAD + 8, (base & !0xfff) + 2);
        }
    }
}

/// A handler that does nothing but what only its HPU sees is ended like any other.
#[test]
fn the_watchdog_ends_loops_over_private_registers() {
    // lui a5, 0x1b205; lw a4, 8(a5): of the task; or sw zero, 140(a5): a command's draft; j -4
    for access in [0x0087_a703, 0x0807_a623] {
        let patience = |context: &mut ExecutionContext| context.watchdog_cycles = Some(3000);
        let code = [0x1b20_57b7, access, 0xffdf_f06f];
        let mut nic = odd_ones(machine(&[]), &code, patience);
        let heard = finish(&mut nic, packets(40));
        assert_eq!((heard.packets.len(), heard.faults.len()), (40, 20));
        let fault = Fault::Watchdog { limit_cycles: 3000 };
        assert!(heard.faults.iter().all(|reported| reported.fault == fault));
    }
}

/// Traps upon traps without a task take simulated time, and no host memory.
#[test]
fn a_trap_vector_that_traps_for_ever_ends_the_run() {
    let machine = machine(&["cluster.count=1", "protection.no_progress_cycles=100000"]);
    // Behind the doorbell there is no task whose HPU could be given up.
    let mut nic = odd_ones(machine, &[DOORBELL, 0xffff_ffff], |_| {});
    put(&mut nic, TRAP, &[0xffff_ffff]);
    let (outcome, heard) = run(&mut nic, packets(4));
    assert_eq!(heard.packets.len(), 4);
    assert!(matches!(outcome, Outcome::Stuck(_)), "{outcome:?}");
}

/// A handler may not reach the next packet in L1, which another HPU works on.
#[test]
fn neighbours_packets_are_out_of_reach() {
    let code = [0x0085_2783, 0x0407_a703]; // lw a5, 8(a0); lw a4, 64(a5)
    let mut nic = odd_ones(machine(&[]), &code, |_| {});
    let heard = finish(&mut nic, packets(64));
    assert_eq!(heard.faults.len(), 32);
    assert!(heard.faults.iter().all(|reported| reported.fault == Fault::Exception { cause: 5 }));
}

#[test]
fn jumps_to_nowhere_are_reported() {
    let code = [0x5000_07b7, 0x0007_8067]; // lui a5, 0x50000; jr a5
    check_fault(&code, Fault::Exception { cause: 1 }, 0x5000_0000, 0x5000_0000);
    let code = [0x0000_0293, 0x0002_8067]; // li t0, 0; jr t0
    check_fault(&code, Fault::Exception { cause: 1 }, 0, 0);
}

#[test]
fn the_watchdog_ends_endless_loops() {
    for cores in [1, 8] {
        let machine = machine(&[&format!("cluster.cores={cores}")]);
        let patience = |context: &mut ExecutionContext| context.watchdog_cycles = Some(3000);
        let mut nic = odd_ones(machine, &[LOOP], patience);
        let heard = finish(&mut nic, packets(100));
        check(&nic, &heard, 100, Fault::Watchdog { limit_cycles: 3000 }, BAD, 0);
        for record in heard.handlers.iter().filter(|record| record.failed) {
            let took = record.end.since(record.start);
            assert!((3000..3100).contains(&(took.ps() / 1000)), "{took}");
        }
    }
}

/// The watchdog also ends a handler that sleeps or waits for a lock nobody opens.
#[test]
fn the_watchdog_ends_waits() {
    // lw a5, 16(a0); lw a4, 0(a5); beqz a4, -4
    let polls = [0x0105_2783, 0x0007_a703, 0xfe07_0ee3];
    let patience = |context: &mut ExecutionContext| context.watchdog_cycles = Some(2000);
    let mut nic = odd_ones(machine(&[]), &polls, patience);
    let heard = finish(&mut nic, packets(40));
    assert_eq!((heard.packets.len(), heard.faults.len()), (40, 20));
    let fault = Fault::Watchdog { limit_cycles: 2000 };
    assert!(heard.faults.iter().all(|reported| reported.fault == fault));
}

/// Short handlers before and after do not confuse the watchdog.
#[test]
fn the_watchdog_leaves_short_handlers_alone() {
    let patience = |context: &mut ExecutionContext| context.watchdog_cycles = Some(100);
    let mut nic = odd_ones(machine(&["cluster.count=1", "cluster.cores=1"]), &[RETURN], patience);
    let frames = (0..500).map(|message| frame(u64::from(message) * 7, message, true, vec![0; 64]));
    let heard = finish(&mut nic, frames.collect());
    assert_eq!(heard.faults, []);
    let last = heard.packets.last().expect("processed").completion;
    assert!(nic.now().since(last) < Time::from_ns(50), "time ends with the last packet");
}

/// A trap handler that hangs costs its HPU, not its packet.
#[test]
fn a_trap_handler_that_hangs_loses_its_hpu() {
    let machine = machine(&["cluster.count=1", "cluster.cores=2"]);
    let patience = |context: &mut ExecutionContext| context.watchdog_cycles = Some(1000);
    let mut nic = odd_ones(machine, &[0xffff_ffff], patience);
    put(&mut nic, TRAP, &[LOOP]);
    let frames = [0, 1, 2, 4, 6].map(|message| frame(0, message, true, vec![0; 64]));
    let heard = finish(&mut nic, frames.to_vec());
    assert_eq!(heard.faults.len(), 1);
    assert_eq!(heard.faults[0].fault, Fault::Watchdog { limit_cycles: 1000 });
    assert_eq!(heard.faults[0].pc, TRAP);
}

/// A trap within the trap handler loses the HPU; when none is left the node is stuck and says so.
#[test]
fn a_trap_handler_that_traps_loses_its_hpu() {
    let machine = machine(&["cluster.count=1", "cluster.cores=2"]);
    let mut nic = odd_ones(machine, &[0xffff_ffff], |_| {});
    put(&mut nic, TRAP, &[0xffff_ffff]);
    let frames = [1, 0, 2, 4, 6].map(|message| frame(0, message, true, vec![0; 64]));
    let heard = finish(&mut nic, frames.to_vec());
    assert_eq!(heard.faults.len(), 1);
    assert_eq!((heard.faults[0].fault, heard.faults[0].pc), (Fault::HpuLost, TRAP));
    let frames = [3, 5, 7].map(|message| frame(9000, message, true, vec![0; 64]));
    // The source has ended; a node of its own shows the end of both HPUs.
    let mut nic = odd_ones(self::machine(&["cluster.count=1", "cluster.cores=2"]), &[0], |_| {});
    put(&mut nic, TRAP, &[0xffff_ffff]);
    let (outcome, heard) = run(&mut nic, frames.to_vec());
    let Outcome::Stuck(report) = outcome else { panic!("{outcome:?}") };
    assert!(report.contains("cluster 0: 1 tasks"), "{report}");
    assert!(report.contains("cluster 0 HPU 1: hangs for ever without a task"), "{report}");
    assert_eq!(heard.packets.len(), 2);
    nic.totals().conserved().expect("conserved");
}

#[test]
fn bad_commands_are_reported() {
    let image = image("move");
    let mut context = context(&image, ["", "to_host_l1", ""]);
    context.host_memory_bytes = 100;
    let mut nic = build(machine(&[]), &image, vec![context]);
    let size = |message: u32| if message % 2 == 1 { 101 } else { 100 };
    let frames = (0..60).map(|message| frame(0, message, true, vec![0; size(message)]));
    let heard = finish(&mut nic, frames.collect());
    assert_eq!((heard.faults.len(), heard.host_writes.len()), (30, 30));
    for reported in &heard.faults {
        let Fault::BadCommand { what } = reported.fault else { panic!("{reported:?}") };
        assert!(what.contains("host address"), "{what}");
        assert!((FIRST_HANDLER..FIRST_HANDLER + 0x200).contains(&reported.pc));
        assert_eq!(reported.message % 2, 1);
    }
    assert_eq!(heard.packets.iter().filter(|record| record.failed).count(), 30);
    assert_eq!(nic.totals().faults, 30);
}

/// In the RTL nothing ends a loop: the node is stuck and names the HPU, handler and instruction.
#[test]
fn faithful_loops_are_stuck() {
    let machine = faithful(&["protection.no_progress_cycles=100000"]);
    let mut nic = odd_ones(machine, &[LOOP], |_| {});
    let (outcome, heard) = run(&mut nic, packets(3));
    let Outcome::Stuck(report) = outcome else { panic!("{outcome:?}") };
    assert!(
        report.contains("cluster 1 HPU 0: Payload handler of message 1 (packet 1)"),
        "{report}"
    );
    assert!(report.contains(&format!("pc {BAD:#010x}")), "{report}");
    assert_eq!((heard.packets.len(), nic.totals().resident), (2, 1));
    nic.totals().conserved().expect("conserved");
}

/// So is a fetch from nowhere, while the others go on.
#[test]
fn faithful_jumps_to_nowhere_hang() {
    let mut nic = odd_ones(faithful(&[]), &[0x5000_07b7, 0x0007_8067], |_| {});
    let (outcome, heard) = run(&mut nic, packets(6));
    let Outcome::Stuck(report) = outcome else { panic!("{outcome:?}") };
    assert!(report.contains("hangs for ever"), "{report}");
    assert_eq!((heard.packets.len(), nic.totals().resident), (3, 3));
}

/// A handler that rings the doorbell itself and then loops has freed its packet, and gets no other: the
/// watchdog calls its HPU back. The RTL has none, and the run ends.
#[test]
fn a_loop_behind_the_doorbell_is_called_back() {
    let code = [DOORBELL, LOOP];
    for one in ["cluster.cores=1", "cluster.cores=8"] {
        let machine = machine(&["protection.watchdog_cycles=1000", "cluster.count=1", one]);
        let mut nic = odd_ones(machine, &code, |_| {});
        let heard = finish(&mut nic, packets(40));
        assert_eq!((heard.packets.len(), heard.faults.len()), (40, 0));
    }
    let machine = faithful(&["protection.no_progress_cycles=100000"]);
    let mut nic = odd_ones(machine, &code, |_| {});
    let (outcome, heard) = run(&mut nic, packets(4));
    assert_eq!(heard.packets.len(), 4);
    let Outcome::Stuck(report) = outcome else { panic!("{outcome:?}") };
    assert!(report.contains("runs without a task"), "{report}");
}

/// A handler that rings, and asks for a task itself: it gets none, and its neighbours' go where they should.
#[test]
fn tasks_are_taken_by_the_runtime_alone() {
    // lw a5, -8(a0): the handler's address, and the task that goes with it
    let take = 0xff85_2783;
    let machine = machine(&["cluster.count=1", "cluster.cores=1"]);
    let mut nic = odd_ones(machine, &[DOORBELL, take, DOORBELL, LOOP], |_| {});
    let heard = finish(&mut nic, packets(40));
    assert_eq!((heard.packets.len(), heard.faults.len()), (40, 0));
    assert!(heard.packets.iter().all(|packet| !packet.failed && packet.handler_start.is_some()));
}

/// An HPU that the watchdog ends, or gives up, while it waits for its turn at the cluster's DMA engine gets none.
#[test]
fn who_is_lost_waiting_for_the_dma_engine_stays_lost() {
    // lui a5, 0x1b204; lw a4, 1048(a5): launches what is refused at once; j -4
    let launches = [0x1b20_47b7, 0x4187_a703, 0xffdf_f06f];
    let sizes = ["cluster.count=1", "cluster.cores=16", "protection.watchdog_cycles=300"];
    let mut nic = odd_ones(machine(&sizes), &launches, |_| {});
    put(&mut nic, TRAP, &launches);
    let heard = finish(&mut nic, packets(30));
    assert_eq!(heard.packets.len(), 30);
    // All who launched are lost, in the trap handler: nobody executes anything any more.
    let (end, executed) = (nic.now(), nic.totals().instructions);
    nic.run(end + Time::from_ns(2_000), &mut || Offer::Nothing, &mut Recorder::default());
    assert_eq!(nic.totals().instructions, executed);
}
