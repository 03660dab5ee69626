//! Accesses: what is loaded and stored, and the base register's way, also when an access faults or is
//! asked for twice.

use pinion_isa::flat::Stop;
use pinion_isa::{MemoryKind, Outcome, decode};

use crate::encodings::encodings;
use crate::{fill, machine, seeded, value};

/// Where data lie.
const DATA: u32 = 0x2800;

#[test]
fn accesses_move_bytes_and_bases() {
    let mut random = seeded("accesses_move_bytes_and_bases");
    for encoding in &encodings() {
        let Some(letters) = encoding.name.strip_prefix("p.") else { continue };
        let store = letters.starts_with('s');
        let bytes = match letters {
            "lb" | "lbu" | "sb" => 1u32,
            "lh" | "lhu" | "sh" => 2,
            "lw" | "sw" => 4,
            _ => continue,
        };
        for _ in 0..1000 {
            let word = fill(encoding, &mut random);
            let field = |at: u32| (word >> at & 31) as usize;
            let (opcode, funct3) = (word & 0x7f, word >> 12 & 7);
            let moves = opcode == 0x0b || opcode == 0x2b;
            let by_register = if store { funct3 >= 4 } else { funct3 == 7 };
            let offset_register = if store { field(7) } else { field(20) };
            let mut machine = machine(&[word]);
            machine.hart.x = std::array::from_fn(|_| value(&mut random));
            machine.hart.x[0] = 0;
            let address = DATA + random.below(0x400);
            if by_register && !moves {
                machine.hart.x[field(15)] = address.wrapping_sub(0x30);
                machine.hart.x[offset_register] = 0x30;
            } else {
                machine.hart.x[field(15)] = address;
            }
            machine.hart.x[0] = 0;
            let before = machine.hart.x;
            let base = before[field(15)];
            let address = if moves { base } else { base.wrapping_add(before[offset_register]) };
            let old = value(&mut random);
            let loaded = machine.load(address, &old.to_le_bytes()).is_ok();
            let stop = machine.run(1);
            let mut expected = before;
            if !loaded {
                // Both registers are the same or x0: the access lies outside memory.
                assert!(matches!(stop, Stop::Trap(_)), "{word:#010x} at {address:#x}");
                assert_eq!(machine.hart.x, before, "{word:#010x} at {address:#x}");
                continue;
            }
            if moves {
                let immediate = if store {
                    (word as i32 >> 25 << 5) as u32 | word >> 7 & 31
                } else {
                    (word as i32 >> 20) as u32
                };
                let by = if by_register { before[offset_register] } else { immediate };
                expected[field(15)] = base.wrapping_add(by);
            }
            if !store {
                let unused = 32 - 8 * bytes;
                expected[field(7)] = if letters.ends_with('u') {
                    old << unused >> unused
                } else {
                    ((old << unused) as i32 >> unused) as u32
                };
            }
            expected[0] = 0;
            assert_eq!(machine.hart.x, expected, "{word:#010x} at {address:#x}");
            assert_eq!(machine.hart.pc, crate::BASE + 4);
            let found = machine.bytes(address, 4).expect("in memory");
            let mut stored = old.to_le_bytes();
            if store {
                let count = bytes as usize;
                stored[..count].copy_from_slice(&before[field(20)].to_le_bytes()[..count]);
            }
            assert_eq!(found, stored, "{word:#010x} at {address:#x}");
        }
    }
}

#[test]
fn an_access_asked_for_twice_moves_its_base_once() {
    let load = 0x0045_a50b; // p.lw a0,4(a1!)
    let mut machine = machine(&[load]);
    let hart = &mut machine.hart;
    hart.x[11] = DATA;
    let instruction = decode(load, hart.extensions());
    let Outcome::Access(first) = hart.execute(&instruction) else { panic!("it loads") };
    let Outcome::Access(second) = hart.execute(&instruction) else { panic!("it loads") };
    assert_eq!((first, second.kind, hart.x[11]), (second, MemoryKind::Load, DATA));
    hart.complete_xpulp(&second, 7);
    assert_eq!((hart.x[10], hart.x[11]), (7, DATA + 4));
}

#[test]
fn an_abandoned_access_moves_nothing_later() {
    let load = 0x0045_a50b; // p.lw a0,4(a1!)
    let plain = 0x0006_2683; // lw a3,0(a2)
    let mut machine = machine(&[load, plain]);
    let hart = &mut machine.hart;
    hart.x[11] = DATA;
    let Outcome::Access(_) = hart.execute(&decode(load, hart.extensions())) else {
        panic!("it loads")
    };
    hart.take_trap(pinion_isa::Exception::new(pinion_isa::Cause::LoadAccessFault, DATA));
    let Outcome::Access(next) = hart.execute(&decode(plain, hart.extensions())) else {
        panic!("it loads")
    };
    hart.complete_xpulp(&next, 3);
    assert_eq!((hart.x[11], hart.x[13]), (DATA, 3));
}
