//! The record of a fault: an event comes in, an owned copy of what it shows goes out. Equal faults
//! are one record with a count.

use std::net::Ipv4Addr;

use pinion_sim::Time;
use pinion_spin::listener::Fault as FaultKind;
use pinion_spin::{ContextId, HandlerKind, Refused, Scene};

/// Limits the different faults that are kept.
const KEPT: usize = 64;

/// Describes a fault, and how often the like happened.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Tells when; of several, the first.
    pub time: Time,
    /// Tells whose it is.
    pub origin: Origin,
    /// What went wrong.
    pub kind: FaultKind,
    /// Points at the instruction.
    pub pc: u64,
    /// The address it touched, or what else `mtval` says.
    pub address: u64,
    /// The registers before the instruction.
    pub registers: Registers,
    /// The instruction's bytes, if there is memory where it lies.
    pub instruction: Vec<u8>,
    /// Where the stack begins that is kept, and its bytes.
    pub stack: (u64, Vec<u8>),
    /// The addresses of the last instructions, where they are known.
    pub trail: Vec<u32>,
    /// The packet; of a thread, the first bytes of the message, without a header.
    pub packet: Vec<u8>,
    /// Number of equal faults.
    pub count: u64,
}

/// Says whose a fault is.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A packet handler's.
    Handler(HandlerOrigin),
    /// A nanoservice's thread's.
    Thread(ThreadOrigin),
}

/// Names a handler that runs.
#[derive(Debug, Clone, Copy)]
pub struct HandlerOrigin {
    /// Name of the execution context.
    pub context: ContextId,
    /// Its kind.
    pub kind: HandlerKind,
    /// Its address.
    pub handler: u32,
    /// Name of the message.
    pub message: u32,
    /// Number of the packet.
    pub packet: u64,
    /// Name of the cluster.
    pub cluster: u32,
    /// Name of the HPU within the cluster.
    pub hpu: u32,
    /// Where its packet lies in L1, and its bytes.
    pub l1_packet: (u32, u32),
    /// Describes the command that was refused, if one was.
    pub refused: Option<Refused>,
}

/// Names a thread of a nanoservice.
#[derive(Debug, Clone, Copy)]
pub struct ThreadOrigin {
    /// The hart.
    pub hart: usize,
    /// The context (port) of the thread.
    pub context: u16,
    /// The message that it had begun to read last.
    pub message: Option<MessageOrigin>,
}

/// Says where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOrigin {
    /// Its sender's address.
    pub address: Ipv4Addr,
    /// Its sender's context (port).
    pub port: u16,
    /// Number of its bytes.
    pub bytes: u16,
    /// The program had said that it is done with it.
    pub is_done: bool,
}

/// Holds a processor's registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registers {
    /// X0 to x31 of RISC-V with 32 bits.
    Rv32([u32; 32]),
    /// X0 to x31 of RISC-V with 64 bits.
    Rv64([u64; 32]),
    /// X86-64's in the order of DWARF's numbers; a 0 may stand for what is not known.
    X86([u64; 17]),
}

impl From<pinion_spin::Registers> for Registers {
    fn from(registers: pinion_spin::Registers) -> Self {
        match registers {
            pinion_spin::Registers::Rv32(x) => Self::Rv32(x),
            pinion_spin::Registers::X86(registers) => Self::X86(registers),
        }
    }
}

impl Registers {
    /// Gives the register of a number as DWARF counts them.
    pub fn get(&self, number: u16) -> Option<u64> {
        let index = usize::from(number);
        match self {
            Self::Rv32(x) => x.get(index).copied().map(u64::from),
            Self::Rv64(x) => x.get(index).copied(),
            Self::X86(registers) => registers.get(index).copied(),
        }
    }

    /// Gives the stack pointer.
    pub fn stack_pointer(&self) -> u64 {
        let number = if matches!(self, Self::X86(_)) { 7 } else { 2 };
        self.get(number).unwrap_or(0)
    }

    /// Gives the return address where it is in a register.
    fn link(&self) -> u64 {
        match self {
            Self::Rv32(_) | Self::Rv64(_) => self.get(1).unwrap_or(0),
            Self::X86(_) => 0,
        }
    }
}

impl Fault {
    /// Copies what a scene shows.
    pub fn of_handler(
        time: Time,
        origin: HandlerOrigin,
        kind: FaultKind,
        (pc, address): (u32, u32),
        scene: &Scene<'_>,
    ) -> Self {
        let (stack, bytes) = scene.stack;
        Self {
            time,
            origin: Origin::Handler(origin),
            kind,
            pc: u64::from(pc),
            address: u64::from(address),
            registers: scene.registers.into(),
            instruction: scene.instruction.to_vec(),
            stack: (u64::from(stack), bytes.to_vec()),
            trail: scene.trail.to_vec(),
            packet: scene.packet.to_vec(),
            count: 1,
        }
    }

    /// Gives the handler whose fault it is.
    pub fn handler(&self) -> Option<&HandlerOrigin> {
        match &self.origin {
            Origin::Handler(origin) => Some(origin),
            Origin::Thread(_) => None,
        }
    }
}

/// What faults have in common that count as equal: context, kind, instruction, caller.
type Key = (u32, FaultKind, u64, u64);

/// Keeps faults, each once.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    faults: Vec<(Key, Fault)>,
    /// Number of faults of which nothing is kept.
    beyond: u64,
}

impl Ledger {
    /// Counts a fault of a handler, and keeps it if there was none like it: it is copied only then.
    /// Gives the record if it is new.
    pub fn add(
        &mut self,
        time: Time,
        origin: HandlerOrigin,
        kind: FaultKind,
        place: (u32, u32),
        scene: &Scene<'_>,
    ) -> Option<&Fault> {
        let registers = Registers::from(scene.registers);
        let key = (origin.context.0, kind, u64::from(place.0), registers.link());
        if let Some((_, fault)) = self.faults.iter_mut().find(|(other, _)| *other == key) {
            fault.count += 1;
            return None;
        }
        if self.faults.len() == KEPT {
            self.beyond += 1;
            return None;
        }
        self.faults.push((key, Fault::of_handler(time, origin, kind, place, scene)));
        self.faults.last().map(|(_, fault)| fault)
    }

    /// Forgets which faults of a context there were: equal ones that come count as new.
    pub fn forget(&mut self, context: ContextId) {
        self.faults.retain(|((of, ..), _)| *of != context.0);
    }

    /// Gives the faults in the order in which they first happened.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults.into_iter().map(|(_, fault)| fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(context: u32, packet: u64) -> HandlerOrigin {
        HandlerOrigin {
            context: ContextId(context),
            kind: HandlerKind::Payload,
            handler: 0x1d00_0200,
            message: 0,
            packet,
            cluster: 0,
            hpu: 0,
            l1_packet: (0, 0),
            refused: None,
        }
    }

    fn add(ledger: &mut Ledger, context: u32, packet: u64, pc: u32, caller: u32) -> bool {
        let mut x = [0; 32];
        x[1] = caller;
        let scene = Scene {
            kind: HandlerKind::Payload,
            handler: 0,
            registers: pinion_spin::Registers::Rv32(x),
            instruction: &[],
            stack: (0, &[]),
            packet: &[],
            l1_packet: (0, 0),
            refused: None,
            trail: &[],
        };
        let kind = FaultKind::Exception { cause: 5 };
        ledger.add(Time::from_ns(packet), origin(context, packet), kind, (pc, 0), &scene).is_some()
    }

    #[test]
    fn equal_faults_are_one() {
        let mut ledger = Ledger::default();
        assert!(add(&mut ledger, 0, 1, 8, 100));
        assert!(!add(&mut ledger, 0, 2, 8, 100));
        assert!(add(&mut ledger, 0, 3, 8, 200), "another caller");
        assert!(add(&mut ledger, 1, 4, 8, 100), "another context");
        assert!(add(&mut ledger, 0, 5, 12, 100), "another instruction");
        let faults = ledger.into_faults();
        assert_eq!(faults.iter().map(|fault| fault.count).collect::<Vec<_>>(), [2, 1, 1, 1]);
        assert_eq!(faults[0].handler().unwrap().packet, 1, "the first is kept");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut ledger = Ledger::default();
        for pc in 0..1000 {
            add(&mut ledger, 0, 0, pc, 0);
        }
        assert_eq!((ledger.faults.len(), ledger.beyond), (KEPT, 1000 - KEPT as u64));
    }
}
