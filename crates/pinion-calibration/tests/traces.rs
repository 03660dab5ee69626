//! Instruction by instruction: what the hardware's traces and tasks say of single cores, and of cold code
//! that many cores run together, holds to the cycle.

use std::collections::BTreeMap;
use std::path::Path;

use pinion_calibration::pspin::instructions::{Step, Task, executed, tasks, traced};
use pinion_calibration::pspin::set::{Row, Set};
use pinion_spin::Machine;

/// The load of the handler's address, and that of the doorbell, in the programs' loop.
const GET: u32 = 0x1d00_0124;
const DOORBELL: u32 = 0x1d00_0138;
const OPCODE: u32 = 0x7f;
const JUMP: u32 = 0x6f;

fn set() -> Set {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Set::open(&repository.join("tests/calibration/pspin2")).unwrap()
}

fn machine() -> Machine {
    pinion_app::machine::load::<Machine>("pspin", &[], true).unwrap().value
}

fn of_packet(steps: &[Step], packet: u64) -> Vec<Step> {
    steps.iter().copied().filter(|step| step.packet == packet && step.pc != GET).collect()
}

/// Every instruction of 23 rows costs what it costs on the hardware, also where lines are cold, go and
/// come back. A jump behind an access leaves the decode stage before that is performed, ours with it.
#[test]
fn every_instruction_leaves_in_its_cycle() {
    let (set, machine) = (set(), machine());
    let mut compared = 0;
    for row in set.rows(None).unwrap() {
        let Some(theirs) = traced(&set, &row).unwrap() else { continue };
        let ours = executed(&set, &machine, &row).unwrap();
        let mut packets: Vec<u64> = theirs.iter().map(|step| step.packet).collect();
        packets.dedup();
        for packet in packets {
            let (theirs, ours) = (of_packet(&theirs, packet), of_packet(&ours, packet));
            assert!(ours.len() >= theirs.len(), "{} packet {packet}", row.row);
            for (one, other) in theirs.iter().zip(&ours) {
                let cycles = (one.cycle - theirs[0].cycle, other.cycle - ours[0].cycle);
                let place = format!("{} packet {packet} at {:#x}: {cycles:?}", row.row, one.pc);
                assert_eq!((one.pc, one.word), (other.pc, other.word), "{place}");
                let jump = one.word & OPCODE == JUMP;
                assert!(cycles.0 == cycles.1 || jump && cycles.0 == cycles.1 + 1, "{place}");
                compared += 1;
            }
        }
    }
    assert!(compared > 5000, "{compared}");
}

/// Gives the cycles from each of a core's tasks to its doorbell, by core.
fn durations(steps: &[Step]) -> BTreeMap<(u32, u32), Vec<u64>> {
    let mut of: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    let mut got = BTreeMap::new();
    for step in steps {
        let core = (step.cluster, step.core);
        match step.pc {
            GET => drop(got.insert(core, step.cycle)),
            DOORBELL => {
                let from = got.remove(&core).expect("a task");
                of.entry(core).or_default().push(step.cycle - from);
            }
            _ => {}
        }
    }
    of
}

fn measured(tasks: &[Task]) -> BTreeMap<(u32, u32), Vec<u64>> {
    let mut of: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    let mut tasks = tasks.to_vec();
    tasks.sort_by_key(|task| task.get_ns);
    for task in tasks {
        of.entry((task.cluster, task.core)).or_default().push(task.doorbell_ns - task.get_ns);
    }
    of
}

/// Cores that run cold code together get its lines in the hardware's order: of one cluster, and of four
/// whose caches share the program memory's port, from the first packet after the boot on. In a burst, packets
/// come to them in the hardware's cycles, too.
#[test]
fn cold_code_takes_every_core_its_cycles() {
    let (set, machine) = (set(), machine());
    for name in ["cold_line-single_by8", "cold_jump-single_by32", "back_straddle-burst_64"] {
        let row: Row = set.rows(Some(name)).unwrap().remove(0);
        let ours = durations(&executed(&set, &machine, &row).unwrap());
        assert_eq!(ours, measured(&tasks(&set, &row).unwrap()), "{name}");
    }
}
