//! Promise 1: no handler changes another tenant's bytes. Random hostile handlers run beside a victim whose
//! bytes are known: its handler memory, its scratchpads, its host memory.
//!
//! Hostile code is random and biased to what is dangerous: atomics, control registers, DMA engines and command
//! registers, jumps into the runtime, misaligned accesses, registers that the runtime counts on, addresses of
//! the victim everywhere. `PINION_HOSTILE_HANDLERS=1000000` makes it a campaign (`scripts/promises.py`).

use pinion_isa::elf::Image;
use pinion_spin::{Classification, ContextId, ExecutionContext, Fault, Frame, Handler, Machine};

use crate::harness::{HOST, Random, SCRATCHPAD, build, context, finish, frame, machine, put, root};

/// Where the victim's handler, the hostile handler and its pieces lie in program memory.
const VICTIM: u32 = 0x1d00_0800;
const STUB: u32 = 0x1d00_0900;
const PIECES: u32 = 0x1d00_0a00;
const PIECE_BYTES: u32 = 0x200;
const PIECES_PER_NIC: u32 = 56;
/// Handlers of every run of the tests; a campaign has more.
const HANDLERS: u32 = 20_000;

const VICTIM_MEMORY: u32 = 0x1c30_0000;
const HOSTILE_MEMORY: u32 = 0x1c31_0000;
const MEMORY_BYTES: u32 = 64 << 10;
const HOST_BYTES: u32 = 64 << 10;
const SCRATCHPAD_BYTES: u32 = 8 << 10;
const VICTIM_PACKETS: u32 = 40;
const PACKET_BYTES: usize = 64;

/// Parts of instructions.
fn i_type(opcode: u32, width: u32, rd: u32, rs1: u32, value: u32) -> u32 {
    (value & 0xfff) << 20 | rs1 << 15 | width << 12 | rd << 7 | opcode
}

fn s_type(width: u32, rs2: u32, rs1: u32, offset: u32) -> u32 {
    (offset >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | width << 12 | (offset & 0x1f) << 7 | 0x23
}

fn lw(rd: u32, rs1: u32, offset: u32) -> u32 {
    i_type(0x03, 2, rd, rs1, offset)
}

fn sw(rs2: u32, rs1: u32, offset: u32) -> u32 {
    s_type(2, rs2, rs1, offset)
}

fn addi(rd: u32, rs1: u32, value: u32) -> u32 {
    i_type(0x13, 0, rd, rs1, value)
}

/// lui and addi that put a number into a register.
fn li(rd: u32, value: u32) -> [u32; 2] {
    [(value.wrapping_add(0x800) & 0xffff_f000) | rd << 7 | 0x37, addi(rd, rd, value)]
}

const RETURN: u32 = 0x0000_8067;
const A0: u32 = 10;
const A1: u32 = 11;
const A2: u32 = 12;
const A3: u32 = 13;
const A4: u32 = 14;
const A5: u32 = 15;
/// Registers of the HPU driver, from the task that the first argument (`handler_args_t`) names.
const DRAFT: u32 = 0x88;
const INFO: u32 = 0x84;
const ISSUE: u32 = 0x78;

/// Copies its packet to the place in handler memory that the packet's first word numbers, and writes the
/// number and its complement to host memory by a command.
fn victim_code() -> Vec<u32> {
    let mut code = vec![lw(A0, A0, 0), lw(A1, A0, 0), lw(A2, A0, 8), lw(A3, A2, 0)];
    code.push(i_type(0x13, 1, A4, A3, 6)); // slli a4, a3, 6
    code.push(A4 << 20 | A1 << 15 | A1 << 7 | 0x33); // add a1, a1, a4
    for word in 0..PACKET_BYTES as u32 / 4 {
        code.extend([lw(A5, A2, 4 * word), sw(A5, A1, 4 * word)]);
    }
    code.extend([i_type(0x13, 1, A4, A3, 3), sw(A4, A0, DRAFT)]); // 8 bytes each
    code.extend(li(A4, (HOST >> 32) as u32));
    code.extend([sw(A4, A0, DRAFT + 4), addi(A4, 0, 8 << 1), sw(A4, A0, DRAFT + 8)]);
    code.extend([sw(A3, A0, DRAFT + 12), i_type(0x13, 4, A4, A3, 0xfff), sw(A4, A0, DRAFT + 16)]);
    code.extend([addi(A4, 0, 2 << 1), sw(A4, A0, INFO), lw(A4, A0, ISSUE), RETURN]);
    code
}

/// Keeps its arguments in `a0`, and goes to the piece that the packet's first word numbers.
fn stub_code() -> Vec<u32> {
    let mut code = vec![lw(A4, A0, 0), lw(A2, A4, 8), lw(A5, A2, 0), i_type(0x13, 1, A5, A5, 9)];
    code.extend(li(A4, PIECES));
    code.extend([A4 << 20 | A5 << 15 | A5 << 7 | 0x33, i_type(0x67, 0, 0, A5, 0)]); // jr a5
    code
}

/// Addresses worth attacking.
fn address(random: &mut Random, clusters: u32) -> u32 {
    let cluster = random.below(u64::from(clusters)) as u32;
    let within = |random: &mut Random, bytes: u32| random.below(u64::from(bytes)) as u32;
    let l1 = 0x1000_0000 + cluster * 0x40_0000;
    let at = match random.below(14) {
        0..3 => VICTIM_MEMORY + within(random, MEMORY_BYTES),
        3 => l1 + SCRATCHPAD + within(random, SCRATCHPAD_BYTES),
        4 => 0x1b00_0000 + SCRATCHPAD + within(random, SCRATCHPAD_BYTES),
        5 => l1 + within(random, 0x2_0000),
        6 => 0x1b20_5000 + within(random, 0x200),
        7 => 0x1b20_4400 + within(random, 0x40),
        8 => 0x1b20_0000 + within(random, 0x6000),
        9 => 0x1d00_0000 + within(random, 0x8000),
        10 => 0x1c40_0000 + within(random, 0x8_0000),
        11 => 0x1c00_0000 + within(random, 0x40_0000),
        12 => HOSTILE_MEMORY + within(random, MEMORY_BYTES),
        _ => random.next() as u32,
    };
    if random.chance(80) { at & !3 } else { at }
}

/// A register to attack with: those that were given addresses, more often than others.
fn pointer(random: &mut Random) -> u32 {
    if random.chance(80) { 18 + random.below(6) as u32 } else { random.below(32) as u32 }
}

/// A few instructions that belong together.
fn attack(random: &mut Random, clusters: u32, code: &mut Vec<u32>) {
    let (rd, rs) = (random.below(32) as u32, random.below(32) as u32);
    let small = random.next() as u32 & 0xfff;
    let base = pointer(random);
    match random.below(20) {
        0 | 1 => code.extend(li(18 + random.below(6) as u32, address(random, clusters))),
        2..5 => code.push(s_type(random.below(3) as u32, rs, base, small & 0x7f)),
        5 => code.push(i_type(0x03, random.pick(&[0, 1, 2, 4, 5]), rd, base, small & 0x7f)),
        6 | 7 => {
            // lr, sc and every amo
            let operation = random.pick(&[0, 1, 2, 3, 4, 8, 12, 16, 20, 24, 28]);
            let order = random.below(4) as u32;
            code.push(
                operation << 27 | order << 25 | rs << 20 | base << 15 | 2 << 12 | rd << 7 | 0x2f,
            );
        }
        8 | 9 => {
            let known = [
                0x300, 0x304, 0x305, 0x340, 0x341, 0x342, 0x343, 0x3a0, 0x3a1, 0x3a2, 0x3a3, 0x3b0,
                0x3b1, 0x3b7, 0x3bf, 0x7c0, 0x7c1, 0x7cc, 0xc00, 0xf14, 0xc10, 0x014, 0x7a0, 0x001,
            ];
            let csr = if random.chance(80) { random.pick(&known) } else { small };
            code.push(i_type(0x73, random.pick(&[1, 2, 3, 5, 6, 7]), rd, rs, csr));
        }
        10 => code.push(random.pick(&[
            0x3020_0073, // mret
            0x1050_0073, // wfi
            0x0000_0073, // ecall
            0x0010_0073, // ebreak
            0x0020_0073, // uret
            0x1020_0073, // sret
            0x0000_100f, // fence.i
        ])),
        11 => {
            // a command of any kind, with addresses of the victim's
            let info = random.below(8) as u32;
            let host = random.below(2 * u64::from(HOST_BYTES)) as u32;
            let words = [
                host,
                (HOST >> 32) as u32,
                address(random, clusters),
                random.pick(&[8, 16, 64, 2048, 0xffff_ffff]),
                random.pick(&[0, 1, 64, 2048]),
            ];
            code.extend(li(A1, 0x1b20_5008));
            for (number, word) in words.into_iter().enumerate() {
                code.extend(li(A2, word));
                code.push(sw(A2, A1, DRAFT + 4 * number as u32));
            }
            code.extend([addi(A2, 0, info), sw(A2, A1, INFO), lw(A3, A1, ISSUE)]);
        }
        12 => {
            // the cluster's DMA engine
            let engine = random.pick(&[0x1b20_4400, 0x1b20_1800, 0x1020_4400]);
            code.extend(li(A1, engine));
            let words = [
                (0x00, address(random, clusters)),
                (0x08, address(random, clusters)),
                (0x10, random.pick(&[4, 64, 4096, 0xffff_fffc])),
            ];
            for (register, word) in words {
                code.extend(li(A2, word));
                code.push(sw(A2, A1, register));
            }
            code.extend([lw(A3, A1, 0x18), lw(A3, A1, 0x20)]);
        }
        13 => {
            // a jump into the runtime, into other code, to anywhere
            code.extend(li(A5, 0x1d00_0000 + (random.below(0x8000) as u32 & !1)));
            code.push(i_type(0x67, 0, random.pick(&[0, 1, 5]), A5, 0));
        }
        14 => {
            // what the runtime counts on: the stack, the return address, global and thread pointers
            let register = random.pick(&[1, 2, 3, 4, 8, 9]);
            code.extend(li(register, address(random, clusters)));
        }
        15 => {
            // a branch nearby, backwards as well
            let offset = (random.below(64) as u32).wrapping_sub(32).wrapping_mul(2);
            let low = (offset >> 1 & 0xf) << 8 | (offset >> 11 & 1) << 7;
            let high = (offset >> 12 & 1) << 31 | (offset >> 5 & 0x3f) << 25;
            let condition = random.pick(&[0, 1, 4, 5, 6, 7]);
            code.push(high | rs << 20 | rd << 15 | condition << 12 | low | 0x63);
        }
        16 => {
            code.push(random.next() as u32 & !0x7f | random.pick(&[0x0b, 0x2b, 0x5b, 0x7b, 0x33]))
        }
        17 => code.push(random.next() as u32),
        18 => code.extend([lw(base.max(1), A0, random.below(20) as u32 * 4)]),
        _ => code.push(addi(rd, rs, small)),
    }
}

fn piece(random: &mut Random, clusters: u32) -> Vec<u32> {
    let mut code = Vec::new();
    for register in 18..24 {
        code.extend(li(register, address(random, clusters)));
    }
    let room = PIECE_BYTES as usize / 4 - 1;
    let length = 8 + random.below(room as u64 - 8) as usize;
    while code.len() < length {
        attack(random, clusters, &mut code);
    }
    code.truncate(room);
    code.push(RETURN);
    code
}

/// A program with the SDK's runtime; its own handler is not used.
fn program() -> Image {
    let path = root().join("tests/calibration/pspin-apps/empty-burst/empty.elf");
    Image::read(&path).expect("a calibration program")
}

fn tenants(random: &mut Random, image: &Image, pattern: &[u8]) -> Vec<ExecutionContext> {
    let tenant = |name: &str, at: u32, memory: u32, number: u32| ExecutionContext {
        name: name.to_owned(),
        payload_handler: Some(Handler { name: name.to_owned(), address: at, bytes: 0x80 }),
        handler_memory_address: memory,
        handler_memory_bytes: MEMORY_BYTES,
        host_memory_address: HOST + u64::from(number * HOST_BYTES),
        host_memory_bytes: HOST_BYTES,
        scratchpad_offset: number * SCRATCHPAD_BYTES,
        scratchpad_bytes: SCRATCHPAD_BYTES,
        ..context(image, ["", "", ""])
    };
    let mut victim = tenant("victim", VICTIM, VICTIM_MEMORY, 0);
    victim.handler_memory_image = pattern[..MEMORY_BYTES as usize].to_vec();
    let mut hostile = tenant("hostile", STUB, HOSTILE_MEMORY, 1);
    hostile.watchdog_cycles = Some(random.pick(&[300, 2000]));
    vec![victim, hostile]
}

fn traffic(random: &mut Random, handlers: u32) -> Vec<Frame> {
    let mut frames = Vec::new();
    let (mut hostile, mut victim) = (0, 0);
    while hostile < handlers || victim < VICTIM_PACKETS {
        let is_victim = victim < VICTIM_PACKETS && (hostile >= handlers || random.chance(40));
        let number = if is_victim { &mut victim } else { &mut hostile };
        let mut bytes = random.bytes(PACKET_BYTES);
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        let message = *number << 1 | u32::from(is_victim);
        let mut next = frame(5 * frames.len() as u64, message, true, bytes);
        let context = ContextId(u32::from(!is_victim));
        next.classification = next.classification.map(|it| Classification { context, ..it });
        *number += 1;
        frames.push(next);
    }
    frames
}

fn overrides(random: &mut Random) -> Vec<String> {
    vec![
        format!("cluster.count={}", random.pick(&[1, 2, 4])),
        format!("cluster.cores={}", random.pick(&[1, 4, 8])),
        format!("mpq.count={}", random.pick(&[16, 256])),
    ]
}

/// Runs so many hostile handlers beside the victim, and checks the victim's bytes.
fn survive(random: &mut Random, handlers: u32) {
    let overrides = overrides(random);
    let texts: Vec<&str> = overrides.iter().map(String::as_str).collect();
    let machine: Machine = machine(&texts);
    let clusters = machine.cluster.count;
    let pattern = random.bytes(MEMORY_BYTES.max(HOST_BYTES) as usize);
    let image = program();
    let contexts = tenants(random, &image, &pattern);
    let mut nic = build(machine, &image, contexts);
    put(&mut nic, VICTIM, &victim_code());
    put(&mut nic, STUB, &stub_code());
    for number in 0..handlers {
        put(&mut nic, PIECES + number * PIECE_BYTES, &piece(random, clusters));
    }
    let scratchpads = pattern[..SCRATCHPAD_BYTES as usize].to_vec();
    let scratchpad = |cluster: u32| 0x1000_0000 + cluster * 0x40_0000 + SCRATCHPAD;
    for cluster in 0..clusters {
        assert!(nic.write_memory(scratchpad(cluster), &scratchpads));
    }
    assert!(nic.write_host(HOST, &pattern[..HOST_BYTES as usize]));
    let frames = traffic(random, handlers);

    let (mut memory, mut host) = (pattern.clone(), pattern[..HOST_BYTES as usize].to_vec());
    for frame in frames.iter().filter(|frame| frame.classification.unwrap().context.0 == 0) {
        let number = u32::from_le_bytes(frame.bytes[..4].try_into().unwrap());
        let at = number as usize;
        memory[at * PACKET_BYTES..][..PACKET_BYTES].copy_from_slice(&frame.bytes);
        host[at * 8..][..4].copy_from_slice(&number.to_le_bytes());
        host[at * 8 + 4..][..4].copy_from_slice(&(!number).to_le_bytes());
    }

    let heard = finish(&mut nic, frames);
    let is_victims = |message: u32| message & 1 == 1;
    for reported in &heard.faults {
        assert!(!is_victims(reported.message), "the victim failed: {reported:x?}");
        assert_ne!(reported.fault, Fault::HpuLost, "{reported:x?}");
    }
    let done = heard.packets.iter().filter(|packet| is_victims(packet.message) && !packet.failed);
    assert_eq!(done.count(), VICTIM_PACKETS as usize, "packets of the victim were lost");
    let same = |what: &str, found: &[u8], wanted: &[u8]| {
        let at = found.iter().zip(wanted).position(|(one, other)| one != other);
        assert!(at.is_none(), "{what} of the victim was changed at byte {:#x}", at.unwrap());
    };
    let mut found = vec![0; MEMORY_BYTES as usize];
    assert!(nic.read_memory(VICTIM_MEMORY, &mut found));
    same("handler memory", &found, &memory);
    let mut found = vec![0; HOST_BYTES as usize];
    nic.read_host(HOST, &mut found);
    same("host memory", &found, &host);
    for cluster in 0..clusters {
        let mut found = vec![0; SCRATCHPAD_BYTES as usize];
        assert!(nic.read_memory(scratchpad(cluster), &mut found));
        same("a scratchpad", &found, &scratchpads);
    }
}

#[test]
fn hostile_handlers_change_nothing_of_their_neighbours() {
    let wanted = std::env::var("PINION_HOSTILE_HANDLERS").ok();
    let wanted: u32 = wanted.and_then(|text| text.parse().ok()).unwrap_or(HANDLERS);
    let mut random = Random::seeded("hostile_handlers_change_nothing_of_their_neighbours");
    let mut left = wanted;
    while left > 0 {
        let seed = random.next();
        let handlers = left.min(PIECES_PER_NIC);
        // A round is its seed's alone, which a failure names.
        let round = std::panic::catch_unwind(|| survive(&mut Random::quiet(seed), handlers));
        if let Err(problem) = round {
            println!(
                "replay: PINION_HOSTILE_SEED={seed} PINION_HOSTILE_HANDLERS={handlers} \
                 cargo test -p pinion-spin --test node a_hostile_round"
            );
            std::panic::resume_unwind(problem);
        }
        left -= handlers;
    }
    println!("{wanted} hostile handlers");
}

/// One round again, whose seed a failure of the test above has named.
#[test]
fn a_hostile_round() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("PINION_HOSTILE_SEED").unwrap_or(0x5eed);
    let handlers = number("PINION_HOSTILE_HANDLERS").unwrap_or(u64::from(PIECES_PER_NIC)) as u32;
    survive(&mut Random::quiet(seed), handlers.min(PIECES_PER_NIC));
}
