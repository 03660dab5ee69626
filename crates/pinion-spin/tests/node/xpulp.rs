//! Handlers that use Xpulp: its cycles, its accesses everywhere, and what happens without it.

use pinion_isa::disassemble_xpulp;
use pinion_sim::Time;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{Fault, Nic, SetupError};

use crate::harness::{
    FIRST_HANDLER, Recorder, context, finish, frame, image, machine, memory, nic, scratchpad, words,
};

const WITH: &str = "core.xpulp=true";
/// lw a5, 8(a0): the packet in L1
const PACKET: u32 = 0x0085_2783;
/// lw a4, 16(a0): cluster 0's scratchpad
const SCRATCHPAD: u32 = 0x0105_2703;
const RETURN: u32 = 0x0000_8067;
const NOP: u32 = 0x0000_0013;
/// p.lw a1, 4(a5!)
const LOAD: u32 = 0x0047_a58b;
/// p.lw a6, 4(a5!)
const NEXT_LOAD: u32 = 0x0047_a80b;
/// sw a2, 0(a4)
const STORE_SUM: u32 = 0x00c7_2023;

/// A node whose payload handler is `code`.
fn node(overrides: &[&str], code: &[u32]) -> Nic {
    let mut nic = nic(machine(overrides), "empty", ["", "ph", ""]);
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(nic.write_memory(FIRST_HANDLER, &bytes));
    nic
}

/// Runs a few packets of these bytes on a node with a single HPU; gives it, what was heard and a
/// warm handler's cycles.
fn run(key: &str, code: &[u32], packet: &[u8]) -> (Nic, Recorder, u64) {
    let mut nic = node(&["cluster.count=1", "cluster.cores=1", key], code);
    let frames = (0..4).map(|index| frame(index * 10_000, 1, index == 3, packet.to_vec()));
    let heard = finish(&mut nic, frames.collect());
    let last = heard.handlers.last().expect("four packets");
    let cycles = (last.end.ps() - last.start.ps()) / 1000;
    (nic, heard, cycles)
}

fn cycles(key: &str, code: &[u32]) -> u64 {
    let (_, heard, cycles) = run(key, code, &[0; 256]);
    assert_eq!(heard.faults, []);
    cycles
}

/// Sums the bytes of a packet: eight in four cycles.
const SUM: [u32; 11] = [
    PACKET,
    SCRATCHPAD,
    0x0000_0613, // li a2, 0
    0x0101_06b7, // lui a3, 0x1010
    0x1016_8693, // addi a3, a3, 0x101
    0x0204_507b, // lp.setupi x0, 32, the second product
    LOAD,
    NEXT_LOAD,
    0xa0d5_9657, // pv.sdotup.b a2, a1, a3
    0xa0d8_1657, // pv.sdotup.b a2, a6, a3
    STORE_SUM,
];

/// The same, one byte after the other.
const PLAIN_SUM: [u32; 9] = [
    PACKET,
    SCRATCHPAD,
    0x0000_0613, // li a2, 0
    0x1007_8693, // addi a3, a5, 256
    0x0007_c583, // lbu a1, 0(a5)
    0x0017_8793, // addi a5, a5, 1
    0x00b6_0633, // add a2, a2, a1
    0xfed7_9ae3, // bne a5, a3, back
    STORE_SUM,
];

fn with_return(code: &[u32]) -> Vec<u32> {
    code.iter().copied().chain([RETURN]).collect()
}

#[test]
fn a_handler_is_as_much_faster_as_its_instructions_say() {
    let packet: Vec<u8> = (0..256u32).map(|index| (index * 37 + 11) as u8).collect();
    let sum: u32 = packet.iter().map(|byte| u32::from(*byte)).sum();
    let (plain, heard, slow) = run("core.xpulp=false", &with_return(&PLAIN_SUM), &packet);
    assert_eq!(heard.faults, []);
    let (quick, heard, fast) = run(WITH, &with_return(&SUM), &packet);
    assert_eq!(heard.faults, []);
    for nic in [&plain, &quick] {
        assert_eq!(words(&memory(nic, scratchpad(0), 4)), [sum]);
    }
    // Six cycles a byte, the last branch is not taken; four cycles for eight bytes, and a constant
    // that takes two instructions and a loop that takes one where the other has its end in one.
    let (plain_loop, quick_loop) = (256 * 6 - 2, 32 * 4);
    assert_eq!(slow - fast, plain_loop - quick_loop - 2);
    // The key alone changes nothing.
    assert_eq!(cycles(WITH, &with_return(&PLAIN_SUM)), slow);
}

#[test]
fn instructions_take_the_cycles_of_ri5cy() {
    const COPIES: u64 = 16;
    let use_of_a1 = 0x0015_8593; // addi a1, a1, 1
    let cases: [(&str, &[u32], u64); 15] = [
        ("p.max", &[0x0505_e5b3], 1),
        ("p.clip", &[0x1445_95b3], 1),
        ("p.extractu", &[0xca55_95b3], 1),
        ("p.addn", &[0x0455_a5db], 1),
        ("p.mac", &[0x4305_85b3], 1),
        ("p.macsn", &[0x8505_95db], 1),
        ("pv.add.h", &[0x0105_85d7], 1),
        ("pv.sdotsp.b", &[0xb905_95d7], 1),
        ("p.beqimm taken", &[0x0000_2263], 3),
        ("p.bneimm not taken", &[0x0000_3263], 1),
        ("lp.counti", &[0x0010_307b], 1),
        ("p.lw", &[0x0007_a58b], 1),
        ("p.lw and its use", &[0x0007_a58b, use_of_a1], 3),
        ("p.lw and a base that is there at once", &[0x0007_a58b, 0x0007_a80b], 2),
        ("p.lw and its use as a sum", &[0x0007_a58b, 0x4307_85b3], 3),
    ];
    for (name, code, expected) in cases {
        for word in code.iter().filter(|word| **word != use_of_a1) {
            let text = disassemble_xpulp(*word, 0).expect("an instruction of Xpulp");
            let known = ["p.lw", "p.mac"].iter().any(|start| text.starts_with(start));
            assert!(known || name.starts_with(text.split(' ').next().expect("a name")), "{text}");
        }
        let took = |copies: u64| {
            let mut words = vec![PACKET, 0x0070_0813]; // li a6, 7
            (0..copies).for_each(|_| words.extend(code));
            cycles(WITH, &with_return(&words))
        };
        assert_eq!(took(COPIES) - took(0), COPIES * expected, "{COPIES} × {name}");
    }
}

#[test]
fn going_round_a_loop_takes_no_time() {
    let code = |count: u32, body: &[u32]| {
        let end = 2 * body.len() as u32;
        let setup = count << 20 | end << 15 | 5 << 12 | 0x7b; // lp.setupi x0
        let mut code = vec![PACKET, setup];
        code.extend(body);
        with_return(&code)
    };
    for body in [&[NOP][..], &[NOP, NOP, NOP], &[NOP, LOAD], &[LOAD, NOP]] {
        let took = |count| cycles(WITH, &code(count, body));
        assert_eq!(took(41) - took(1), 40 * body.len() as u64, "{body:x?}");
    }
}

/// Accesses that wait, in L2 and in another cluster's L1, move their base once.
#[test]
fn bases_move_once_wherever_the_access_goes() {
    let code = [
        0x0005_2783, // lw a5, 0(a0): L2 handler memory
        0x1230_0593, // li a1, 0x123
        0x00b7_a22b, // p.sw a1, 4(a5!)
        0x00f7_a42b, // p.sw a5, 8(a5!)
        0xff47_a60b, // p.lw a2, -12(a5!)
        0x0105_2703, // lw a4, 16(a0): the scratchpad in cluster 0
        0x0145_2683, // lw a3, 20(a0): in cluster 1
        0x00c7_222b, // p.sw a2, 4(a4!)
        0x00f7_222b, // p.sw a5, 4(a4!)
        0x00e7_2023, // sw a4, 0(a4)
        0x00c6_a22b, // p.sw a2, 4(a3!)
        0x00f6_a22b, // p.sw a5, 4(a3!)
        0x00d6_a023, // sw a3, 0(a3)
        RETURN,
    ];
    let mut nic = node(&["cluster.count=2", "cluster.cores=1", WITH], &code);
    let heard = finish(&mut nic, vec![frame(0, 1, true, vec![0; 64])]);
    assert_eq!(heard.faults, []);
    let shared = 0x1c30_0000;
    assert_eq!(words(&memory(&nic, shared, 8)), [0x123, shared + 4]);
    for cluster in 0..2 {
        let pad = scratchpad(cluster);
        // What the last load found lies behind the two words.
        assert_eq!(words(&memory(&nic, pad, 12)), [0, shared, pad + 8], "cluster {cluster}");
    }
}

#[test]
fn an_access_that_is_not_allowed_is_reported() {
    let code = [0x1c38_07b7, LOAD, RETURN]; // lui a5, 0x1c380
    let (_, heard, _) = run(WITH, &code, &[0; 64]);
    let found: Vec<_> = heard.faults.iter().map(|fault| (fault.fault, fault.address)).collect();
    assert_eq!(found, [(Fault::Exception { cause: 5 }, 0x1c38_0000); 4]);
}

#[test]
fn without_the_key_they_are_illegal() {
    let (_, heard, _) = run("core.xpulp=false", &with_return(&SUM), &[0; 256]);
    assert_eq!(heard.faults.len(), 4);
    for fault in &heard.faults {
        assert_eq!(fault.fault, Fault::Exception { cause: 2 });
        assert_eq!((fault.pc, fault.address), (FIRST_HANDLER + 20, SUM[5]));
        let text = disassemble_xpulp(fault.address, u64::from(fault.pc));
        assert_eq!(text.as_deref(), Some("lp.setupi x0,32,0x1d000324"));
    }
}

#[test]
fn the_watchdog_ends_loops_that_go_on_for_ever() {
    let code = [
        0xfff0_0593, // li a1, -1
        0x0045_c07b, // lp.setup x0, a1, the second nop
        NOP,
        NOP,
        RETURN,
    ];
    let mut nic = node(&["protection.watchdog_cycles=3000", WITH], &code);
    let frames = (0..40).map(|message| frame(0, message, true, vec![0; 64]));
    let heard = finish(&mut nic, frames.collect());
    assert_eq!(heard.faults.len(), 40);
    for fault in &heard.faults {
        assert_eq!(fault.fault, Fault::Watchdog { limit_cycles: 3000 });
        assert!(fault.time < Time::from_ns(20_000), "{}", fault.time);
    }
}

#[test]
fn a_runtime_that_needs_it_is_told_so() {
    let mut image = image("empty");
    let reset = 0x1d00_0080;
    let segment = image.segments.iter_mut().find(|segment| {
        (segment.load_address..segment.load_address + segment.data.len() as u64).contains(&reset)
    });
    let segment = segment.expect("the program has reset code");
    let at = (reset - segment.load_address) as usize;
    segment.data[at..at + 4].copy_from_slice(&LOAD.to_le_bytes());
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    let Err(SetupError::NoBoot(text)) = Nic::new(machine(&[]), &image, Vec::new(), engine) else {
        panic!("its first instruction is illegal");
    };
    assert!(text.contains("`p.lw a1,4(a5!)` at 0x1d000080 is of Xpulp"), "{text}");
    assert!(text.contains("core.xpulp = true"), "{text}");
}

#[test]
fn only_ri5cy_has_it() {
    let image = image("empty");
    let contexts = vec![context(&image, ["", "ph", ""])];
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    let ibex = machine(&["core.model=ibex", WITH]);
    let Err(SetupError::Machine { key, problem }) = Nic::new(ibex, &image, contexts, engine) else {
        panic!("an Ibex-like core has no Xpulp");
    };
    assert_eq!((key, problem.contains("ri5cy")), ("core.xpulp", true));
}
