//! The HPU driver's registers as handlers meet them: the message's queue, and accesses that no
//! register answers (RTL hpu_driver, core_demux).

use pinion_spin::{ContextId, ExecutionContext, Frame, Machine};

use crate::harness::{FIRST_HANDLER, Random, faithful, finish, frame, machine, memory, nic, words};

const HANDLER_MEMORY: u32 = 0x1c30_0000;
const RETURN: u32 = 0x0000_8067;

/// Registers by the names of their numbers.
const A0: u32 = 10;
const A1: u32 = 11;
const A2: u32 = 12;
const A3: u32 = 13;

/// Offsets from the task, which `a0` points to.
const HANDLER: u32 = 0xff8;
const PACKET: u32 = 0x08;
const SCRATCHPAD: u32 = 0x10;
const HOME: u32 = 0x40;
const FLOW: u32 = 0x44;
const DOORBELL: u32 = 0x48;
const NOTHING: u32 = 0x54;

const fn load(width: u32, rd: u32, rs1: u32, offset: u32) -> u32 {
    (offset & 0xfff) << 20 | rs1 << 15 | width << 12 | rd << 7 | 0x03
}

const fn lw(rd: u32, rs1: u32, offset: u32) -> u32 {
    load(2, rd, rs1, offset)
}

const fn store(width: u32, rs2: u32, rs1: u32, offset: u32) -> u32 {
    (offset >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | width << 12 | (offset & 0x1f) << 7 | 0x23
}

const fn sw(rs2: u32, rs1: u32, offset: u32) -> u32 {
    store(2, rs2, rs1, offset)
}

const fn addi(rd: u32, rs1: u32, value: u32) -> u32 {
    (value & 0xfff) << 20 | rs1 << 15 | rd << 7 | 0x13
}

/// amoadd.w rd, rs2, (rs1), or another operation by its code.
const fn amo(code: u32, rd: u32, rs2: u32, rs1: u32) -> u32 {
    code << 27 | rs2 << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x2f
}

/// A node whose payload handler runs `code`.
fn running(machine: Machine, code: &[u32]) -> pinion_spin::Nic {
    let mut nic = nic(machine, "empty", ["", "ph", ""]);
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(nic.write_memory(FIRST_HANDLER, &bytes));
    nic
}

/// Runs code once and gives the first words of its handler memory. `a1` points there.
fn results(machine: Machine, code: &[u32], count: usize) -> Vec<u32> {
    let mut all = vec![lw(A1, A0, 0)];
    all.extend(code);
    all.push(RETURN);
    let mut nic = running(machine, &all);
    let heard = finish(&mut nic, vec![frame(0, 3, true, vec![0; 64])]);
    assert_eq!(heard.faults, []);
    words(&memory(&nic, HANDLER_MEMORY, 4 * count))
}

/// Messages with random ids, a few at a time: handlers see numbers below the number of queues, the
/// same for all packets of a message, different ones for messages at the same time; and a home
/// cluster that fits.
#[test]
fn handlers_know_messages_by_their_queue() {
    // handler_memory[8 * packet's first word] = flow_id, home_cluster_id
    let shift = 3 << 20 | A2 << 15 | 1 << 12 | A2 << 7 | 0x13; // slli a2, a2, 3
    let add = A2 << 20 | A1 << 15 | A1 << 7 | 0x33; // add a1, a1, a2
    let code = [
        lw(A2, A0, PACKET),
        lw(A2, A2, 0),
        lw(A1, A0, 0),
        shift,
        add,
        lw(A3, A0, FLOW),
        sw(A3, A1, 0),
        lw(A3, A0, HOME),
        sw(A3, A1, 4),
        RETURN,
    ];
    let mut random = Random::seeded("handlers_know_messages_by_their_queue");
    for (machine, queues, aliases) in [
        (machine(&[]), 256, false),
        (machine(&["mpq.count=16", "cluster.count=2"]), 16, false),
        (machine(&["mpq.count=8", "cluster.count=3"]), 8, false),
        (faithful(&[]), 256, true),
    ] {
        let clusters = machine.cluster.count;
        let ids: Vec<u32> = (0..6).map(|_| random.next() as u32).collect();
        let mut nic = running(machine, &code);
        let numbered = |index: u32, id: u32, end: bool| -> Frame {
            let mut bytes = vec![0; 64];
            bytes[..4].copy_from_slice(&index.to_le_bytes());
            frame(u64::from(index) * 300, id, end, bytes)
        };
        let count = 4 * ids.len() as u32;
        let packets = (0..count).map(|index| {
            numbered(index, ids[index as usize % ids.len()], index >= count - ids.len() as u32)
        });
        let heard = finish(&mut nic, packets.collect());
        assert_eq!(heard.faults, []);
        let seen = words(&memory(&nic, HANDLER_MEMORY, 8 * count as usize));
        let flows: Vec<u32> = seen.iter().step_by(2).copied().collect();
        assert!(seen.chunks(2).all(|task| task[0] < queues && task[1] == task[0] % clusters));
        assert!((0..flows.len()).all(|index| flows[index] == flows[index % ids.len()]));
        if aliases {
            assert!((0..ids.len()).all(|index| flows[index] == ids[index] % queues));
        } else {
            let mut first = flows[..ids.len()].to_vec();
            first.sort_unstable();
            first.dedup();
            assert_eq!(first.len(), ids.len(), "{flows:?}");
        }
        // What is reported is the whole id.
        assert!(heard.packets.iter().all(|record| ids.contains(&record.message)));
    }
}

/// An atomic changes no register of the task and answers with it, whatever the operation.
#[test]
fn atomics_on_the_task_answer_with_the_register_and_change_nothing() {
    for operation in [0x00, 0x01, 0x04, 0x08, 0x0c, 0x14] {
        let code = [
            addi(A3, 0, 5),
            addi(A2, A0, SCRATCHPAD),
            lw(14, A0, SCRATCHPAD),
            sw(14, A1, 0),
            amo(operation, 15, A3, A2),
            sw(15, A1, 4),
            lw(16, A0, SCRATCHPAD),
            sw(16, A1, 8),
        ];
        for machine in [machine(&[]), faithful(&[])] {
            assert_eq!(results(machine, &code, 3), [0x1001_4400; 3], "{operation:#x}");
        }
    }
}

/// Stores go nowhere, wide or narrow, aligned or not; loads answer what was loaded before.
#[test]
fn what_no_register_answers_is_ignored() {
    let mut code = vec![addi(A3, 0, 77), lw(14, A0, FLOW)];
    for offset in (NOTHING..0x78).step_by(4).chain([0xa8, 0xf0]) {
        code.extend([sw(A3, A0, offset), store(1, A3, A0, offset + 2), store(0, A3, A0, offset)]);
    }
    code.extend([sw(A3, A0, HANDLER), sw(A3, A0, FLOW), store(2, A3, A0, FLOW + 1)]);
    code.extend([lw(15, A0, NOTHING), sw(15, A1, 0)]); // the register loaded before
    code.extend([lw(15, A0, PACKET), load(4, 16, A0, FLOW + 1), sw(16, A1, 4)]);
    code.extend([lw(15, A0, FLOW), sw(15, A1, 8)]);
    code.extend([addi(A2, A0, 0xf0), amo(0, 15, A3, A2), load(4, 16, A0, FLOW), sw(16, A1, 12)]);
    let seen = results(machine(&[]), &code, 4);
    // Byte 1 of the packet's address in L1, and the message's queue.
    assert_eq!(seen, [3, 0x44, 3, 3]);
}

/// The registers come again each 512 bytes.
#[test]
fn the_page_repeats_the_registers() {
    let code = [lw(14, A0, FLOW + 0x200), sw(14, A1, 0), lw(14, A0, FLOW), sw(14, A1, 4)];
    assert_eq!(results(machine(&[]), &code, 2), [3, 3]);
}

/// The doorbell rings for whoever touches it: load, store or atomic.
#[test]
fn a_store_rings_the_doorbell() {
    for access in [lw(0, A0, DOORBELL), sw(0, A0, DOORBELL), amo(0, 0, 0, A2)] {
        // Had the doorbell not rung, the handler would never end.
        let code = [addi(A2, A0, DOORBELL), access, RETURN];
        let mut nic = running(machine(&["protection.watchdog=false"]), &code);
        let frames = (0..20).map(|index| frame(index * 100, index as u32, true, vec![0; 64]));
        let heard = finish(&mut nic, frames.collect());
        assert_eq!((heard.packets.len(), heard.faults.len()), (20, 0));
        let longest = heard.handlers.iter().map(|handler| handler.instructions).max();
        assert_eq!(longest, heard.handlers.iter().map(|handler| handler.instructions).min());
    }
}

/// A handler that reads its own address once more gets no new time: the watchdog still comes.
#[test]
fn reading_the_handlers_address_again_starts_nothing() {
    let code = [lw(14, A0, HANDLER), 0xffdf_f06f]; // j -4
    let mut nic = running(machine(&[]), &code);
    let id = ContextId(0);
    let context = crate::harness::context(&crate::harness::image("empty"), ["", "ph", ""]);
    let context = ExecutionContext { watchdog_cycles: Some(2000), ..context };
    nic.set_context(id, context).expect("the context is there");
    let heard = finish(&mut nic, vec![frame(0, 1, true, vec![0; 64])]);
    assert_eq!(heard.faults.len(), 1);
    assert_eq!(heard.faults[0].fault, pinion_spin::Fault::Watchdog { limit_cycles: 2000 });
}
