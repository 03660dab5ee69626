//! A plain functional machine: one hart, one stretch of memory, no timing; for tests and tools.
//!
//! In: a program. Out: registers, memory, and what it printed. It also has the two devices of
//! QEMU's `virt` machine that a bare-metal test needs, the serial port (a byte stored at
//! 0x1000_0000 is printed) and the finisher (0x5555 or code << 16 | 0x3333 stored at 0x10_0000
//! ends the run), so that the same ELF runs on both.

use crate::elf::Image;
use crate::{
    Access, AccessKind, Cause, DecodedProgram, Exception, Hart, HartConfig, Instruction,
    MemoryKind, Outcome, Privilege, Reservation, Xlen,
};

/// Address of the serial port: its data register; its status register follows 5 bytes later.
pub const SERIAL: u64 = 0x1000_0000;
/// Address of the finisher.
pub const FINISHER: u64 = 0x10_0000;
/// Bytes kept behind memory so that eight bytes can be read anywhere in it.
const PADDING: usize = 8;

/// Says why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<X> {
    /// The steps allowed are used up.
    Limit,
    /// The program ended itself with this code.
    Finished(u16),
    /// An exception came up while [`FlatMachine::stop_on_trap`] is set; it is not taken yet.
    Trap(Exception<X>),
}

/// Says why a program cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A part lies outside memory.
    #[error(
        "{bytes} bytes at {address:#x} do not fit into the memory from {base:#x} to {end:#x}; \
         link the program for this memory or give it more"
    )]
    OutsideMemory {
        /// First address of the part.
        address: u64,
        /// Length of the part.
        bytes: u64,
        /// First address of memory.
        base: u64,
        /// First address behind memory.
        end: u64,
    },
}

/// The range in which the last protection check holds.
#[derive(Clone, Copy, Debug)]
struct Window {
    first: u64,
    /// Length less one; an access of n bytes fits if its offset is at most span - (n - 1).
    span: u64,
    allowed: bool,
    known: bool,
}

const UNKNOWN: Window = Window { first: 0, span: 0, allowed: false, known: false };

/// Holds one hart and its memory.
#[derive(Clone, Debug)]
pub struct FlatMachine<X> {
    /// The hart.
    pub hart: Hart<X>,
    /// What the program printed.
    pub console: Vec<u8>,
    /// Whether an exception ends the run rather than entering the trap handler.
    pub stop_on_trap: bool,
    program: DecodedProgram<X>,
    base: X,
    memory: Vec<u8>,
    reservation: Reservation<X>,
    windows: [Window; 3],
}

impl<X: Xlen> FlatMachine<X> {
    /// Makes a machine with `bytes` bytes of zeroed memory from `base`; the hart starts there.
    pub fn new(config: &HartConfig, base: X, bytes: usize) -> Self {
        Self {
            hart: Hart::new(config, base),
            console: Vec::new(),
            stop_on_trap: false,
            program: DecodedProgram::new(base, 0, config.extensions),
            base,
            memory: vec![0; bytes + PADDING],
            reservation: Reservation::NONE,
            windows: [UNKNOWN; 3],
        }
    }

    /// Gives the memory.
    pub fn memory(&self) -> &[u8] {
        &self.memory[..self.memory.len() - PADDING]
    }

    /// Gives the bytes at an address, `None` if not all lie in memory.
    pub fn bytes(&self, address: X, length: usize) -> Option<&[u8]> {
        let offset = usize::try_from(address.minus(self.base).to_u64()).ok()?;
        self.memory().get(offset..offset.checked_add(length)?)
    }

    /// Copies bytes into memory.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn load(&mut self, address: X, bytes: &[u8]) -> Result<(), LoadError> {
        let end = self.memory.len() - PADDING;
        let offset = usize::try_from(address.minus(self.base).to_u64()).unwrap_or(usize::MAX);
        if offset > end || bytes.len() > end - offset {
            return Err(self.outside(address.to_u64(), bytes.len() as u64));
        }
        self.memory[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.program.invalidate(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies bytes into memory and keeps a table of decoded instructions for them.
    ///
    /// Code elsewhere runs too, but is decoded each time.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn load_code(&mut self, address: X, bytes: &[u8]) -> Result<(), LoadError> {
        self.load(address, bytes)?;
        self.program = DecodedProgram::from_bytes(address, bytes, self.hart.extensions());
        Ok(())
    }

    /// Loads an executable and sets the program counter to its entry.
    ///
    /// # Errors
    /// When a segment lies outside memory.
    pub fn load_image(&mut self, image: &Image) -> Result<(), LoadError> {
        let end = self.base.to_u64().saturating_add((self.memory.len() - PADDING) as u64);
        let (mut code_first, mut code_end) = (u64::MAX, 0);
        for segment in &image.segments {
            let last = segment.load_address.saturating_add(segment.memory_bytes);
            if segment.load_address < self.base.to_u64() || last > end {
                return Err(self.outside(segment.load_address, segment.memory_bytes));
            }
            self.load(X::from_u64(segment.load_address), &segment.data)?;
            if segment.flags.execute {
                code_first = code_first.min(segment.load_address);
                code_end = code_end.max(last);
            }
        }
        let code_bytes = code_end.saturating_sub(code_first) as usize;
        let first = X::from_u64(code_first);
        self.program = DecodedProgram::new(first, code_bytes, self.hart.extensions());
        self.hart.pc = X::from_u64(image.entry);
        Ok(())
    }

    fn outside(&self, address: u64, bytes: u64) -> LoadError {
        let base = self.base.to_u64();
        let end = base.saturating_add((self.memory.len() - PADDING) as u64);
        LoadError::OutsideMemory { address, bytes, base, end }
    }

    /// Gives the number of instructions tried, trapping ones included: the cycle counter.
    pub fn steps(&self) -> u64 {
        self.hart.csr.cycle
    }

    /// Runs until the program ends itself or `steps` more instructions have been tried.
    pub fn run(&mut self, steps: u64) -> Stop<X> {
        if self.hart.has_xpulp() { self.run_as::<true>(steps) } else { self.run_as::<false>(steps) }
    }

    /// Runs a hart with or without Xpulp: without, nothing asks for hardware loops.
    fn run_as<const XPULP: bool>(&mut self, steps: u64) -> Stop<X> {
        let end = self.steps().saturating_add(steps);
        while self.hart.csr.cycle < end {
            self.hart.csr.cycle += 1;
            let instruction = match self.fetch() {
                Ok(instruction) => instruction,
                Err(exception) => match self.trap(exception) {
                    Some(stop) => return stop,
                    None => continue,
                },
            };
            let pc = self.hart.pc;
            let outcome = self.hart.execute(&instruction);
            if XPULP && outcome.goes_straight() {
                self.hart.loop_back(pc);
            }
            let stop = match outcome {
                Outcome::Next | Outcome::Jumped | Outcome::Branched | Outcome::NotTaken => continue,
                Outcome::Access(access) => match self.access(&access) {
                    Ok(value) if XPULP => {
                        self.hart.complete_xpulp(&access, value);
                        continue;
                    }
                    Ok(value) => {
                        self.hart.complete(&access, value);
                        continue;
                    }
                    Err(stop) => stop,
                },
                Outcome::Trap(exception) => self.trap(exception),
                _ => {
                    self.after_system();
                    None
                }
            };
            if let Some(stop) = stop {
                return stop;
            }
        }
        Stop::Limit
    }

    /// Does what may be due after an instruction that changed more than registers.
    #[cold]
    fn after_system(&mut self) {
        self.windows = [UNKNOWN; 3];
        if let Some(interrupt) = self.hart.pending_interrupt() {
            self.hart.take_trap(interrupt);
        }
    }

    #[cold]
    fn trap(&mut self, exception: Exception<X>) -> Option<Stop<X>> {
        if self.stop_on_trap {
            return Some(Stop::Trap(exception));
        }
        self.hart.take_trap(exception);
        self.windows = [UNKNOWN; 3];
        None
    }

    /// Gives the instruction at the program counter.
    #[inline(always)]
    fn fetch(&mut self) -> Result<Instruction, Exception<X>> {
        let pc = self.hart.pc;
        let window = &self.windows[2];
        let offset = pc.to_u64().wrapping_sub(window.first);
        if offset.wrapping_add(3) <= window.span
            && window.allowed
            && offset <= window.span
            && let Some(instruction) = self.program.get(pc)
        {
            return Ok(*instruction);
        }
        self.fetch_slowly(pc)
    }

    #[cold]
    fn fetch_slowly(&mut self, pc: X) -> Result<Instruction, Exception<X>> {
        let mut word = 0;
        for half in 0..2u32 {
            let address = pc.plus(X::from_u32(2 * half));
            let fault = Exception::new(Cause::InstructionAccessFault, address);
            if half == 1
                && self.program.extensions().has(crate::Extensions::C)
                && crate::is_compressed(word)
            {
                break;
            }
            if !self.allows(address, 2, AccessKind::Execute) {
                return Err(fault);
            }
            match self.bytes(address, 2) {
                Some(bytes) => {
                    word |= u32::from(u16::from_le_bytes([bytes[0], bytes[1]])) << (16 * half);
                }
                None => return Err(fault),
            }
        }
        Ok(self.program.fill(pc, word))
    }

    /// Checks an access against the PMP, remembering the range that the answer holds for.
    #[inline(always)]
    fn allows(&mut self, address: X, bytes: u8, kind: AccessKind) -> bool {
        let window = &self.windows[kind as usize / 2];
        let offset = address.to_u64().wrapping_sub(window.first);
        let fits = offset <= window.span && window.span - offset >= u64::from(bytes) - 1;
        if fits && window.known { window.allowed } else { self.check(address, bytes, kind) }
    }

    #[cold]
    fn check(&mut self, address: X, bytes: u8, kind: AccessKind) -> bool {
        let privilege = self.privilege_of(kind);
        let (first, last, allowed) = self.hart.pmp.window(address, kind, privilege);
        let (first, last) = (first.to_u64(), last.to_u64());
        self.windows[kind as usize / 2] =
            Window { first, span: last - first, allowed, known: true };
        self.hart.pmp.check(address, u32::from(bytes), kind, privilege)
    }

    fn privilege_of(&self, kind: AccessKind) -> Privilege {
        match kind {
            AccessKind::Execute => self.hart.privilege,
            _ => self.hart.data_privilege(),
        }
    }

    /// Performs an access; an error is a reason to stop, or none if a trap was taken.
    #[inline(always)]
    fn access(&mut self, access: &Access<X>) -> Result<X, Option<Stop<X>>> {
        let kind = if access.kind.writes() { AccessKind::Write } else { AccessKind::Read };
        let offset = access.address.minus(self.base).to_u64() as usize;
        let inside = offset < self.memory.len() - PADDING
            && offset + usize::from(access.bytes) <= self.memory.len() - PADDING;
        if !inside || !self.allows(access.address, access.bytes, kind) {
            return self.access_outside(access);
        }
        match access.kind {
            MemoryKind::Load | MemoryKind::EventLoad => Ok(self.read(offset)),
            MemoryKind::Store => {
                self.write(access, offset, access.data);
                Ok(X::ZERO)
            }
            kind => Ok(self.atomic(access, kind, offset)),
        }
    }

    #[inline(always)]
    fn read(&self, offset: usize) -> X {
        let bytes: [u8; PADDING] =
            self.memory[offset..offset + PADDING].try_into().expect("eight bytes");
        X::from_u64(u64::from_le_bytes(bytes))
    }

    #[inline(always)]
    fn write(&mut self, access: &Access<X>, offset: usize, value: X) {
        let bytes = value.to_u64().to_le_bytes();
        match access.bytes {
            1 => self.memory[offset] = bytes[0],
            2 => self.memory[offset..offset + 2].copy_from_slice(&bytes[..2]),
            4 => self.memory[offset..offset + 4].copy_from_slice(&bytes[..4]),
            _ => self.memory[offset..offset + 8].copy_from_slice(&bytes),
        }
        let from_code = access.address.plus(X::from_u32(8)).minus(self.program.base()).to_u64();
        if from_code < self.program.bytes() as u64 + 8 {
            self.program.invalidate(access.address, u64::from(access.bytes));
        }
    }

    fn atomic(&mut self, access: &Access<X>, kind: MemoryKind, offset: usize) -> X {
        let old = self.read(offset).extend(access.bytes, true);
        match kind {
            MemoryKind::LoadReserved => self.reservation.reserve(access.address),
            MemoryKind::StoreConditional => {
                let reserved = self.reservation.take(access.address);
                if reserved {
                    self.write(access, offset, access.data);
                }
                return X::from_bool(!reserved);
            }
            MemoryKind::Amo(op) => {
                self.write(access, offset, op.apply(old, access.data, access.bytes));
            }
            _ => {}
        }
        old
    }

    /// Serves the devices, and faults elsewhere.
    #[cold]
    fn access_outside(&mut self, access: &Access<X>) -> Result<X, Option<Stop<X>>> {
        let kind = if access.kind.writes() { AccessKind::Write } else { AccessKind::Read };
        let allowed = self.allows(access.address, access.bytes, kind);
        match (access.address.to_u64(), access.kind) {
            (SERIAL, MemoryKind::Store) if allowed => {
                self.console.push(access.data.to_u32() as u8);
                Ok(X::ZERO)
            }
            (address, MemoryKind::Load) if allowed && address == SERIAL + 5 => {
                Ok(X::from_u32(0x60)) // ready to send
            }
            (FINISHER, MemoryKind::Store) if allowed => {
                self.hart.complete(access, X::ZERO);
                Err(Some(Stop::Finished((access.data.to_u32() >> 16) as u16)))
            }
            _ => {
                let cause = match access.kind.writes() {
                    true => Cause::StoreAccessFault,
                    false => Cause::LoadAccessFault,
                };
                Err(self.trap(Exception::new(cause, access.address)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_prints_and_finishes() {
        let words: [u32; 6] = [
            0x1000_02b7, // lui t0, 0x10000
            0x0410_0313, // li t1, 'A'
            0x0062_8023, // sb t1, 0(t0)
            0x0010_02b7, // lui t0, 0x100
            0x0003_3337, // lui t1, 0x33: code 3, and ...
            0x0062_a023, // sw t1, 0(t0)
        ];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut machine = FlatMachine::<u32>::new(&HartConfig::default(), 0x8000_0000, 4096);
        machine.load_code(0x8000_0000, &code).unwrap();
        assert_eq!(machine.run(100), Stop::Finished(3));
        assert_eq!(machine.console, b"A");
        assert_eq!(machine.hart.instret, 6);
        assert_eq!(machine.steps(), 6);
    }

    #[test]
    fn stops_on_a_trap_when_asked() {
        let mut machine = FlatMachine::<u32>::new(&HartConfig::default(), 0x1000, 4096);
        machine.load_code(0x1000, &0x0000_2003u32.to_le_bytes()).unwrap(); // lw zero, 0(zero)
        machine.stop_on_trap = true;
        let fault = Exception::new(Cause::LoadAccessFault, 0);
        assert_eq!(machine.run(1), Stop::Trap(fault));
        assert_eq!(machine.hart.pc, 0x1000);
        assert_eq!(machine.hart.instret, 0);
    }

    #[test]
    fn changed_code_takes_effect() {
        // sh a1, 4(a0); nop; (at 4: c.nop, becomes c.ebreak)
        let code = [0x23, 0x12, 0xb5, 0x00, 0x01, 0x00, 0x01, 0x00];
        let mut machine = FlatMachine::<u32>::new(&HartConfig::default(), 0x1000, 4096);
        machine.load_code(0x1000, &code).unwrap();
        machine.stop_on_trap = true;
        (machine.hart.x[10], machine.hart.x[11]) = (0x1000, 0x9002);
        let breakpoint = Exception::new(Cause::Breakpoint, 0);
        assert_eq!(machine.run(5), Stop::Trap(breakpoint));
        assert_eq!(machine.hart.pc, 0x1004);
    }

    #[test]
    fn the_top_of_memory_is_like_any_other_place() {
        // ld a0, 0(a1); sd a0, 0(a1)
        let code: Vec<u8> = [0x0005_b503u32, 0x00a5_b023].map(u32::to_le_bytes).concat();
        let config = HartConfig { extensions: crate::Extensions::RV64GC, ..HartConfig::default() };
        let base = u64::MAX - 0xfff;
        for (address, fault) in [
            (u64::MAX - 7, false),
            (u64::MAX - 6, true),
            (u64::MAX, true),
            (0, true),
            (base, false),
            (base - 1, true),
        ] {
            let mut machine = FlatMachine::<u64>::new(&config, base, 0x1000);
            machine.load_code(base + 0x100, &code).unwrap();
            (machine.hart.pc, machine.hart.x[11]) = (base + 0x100, address);
            machine.hart.pmp.set(15, crate::PMP_NAPOT | 7, u64::MAX);
            machine.stop_on_trap = true;
            let cause = Cause::LoadAccessFault;
            let stop = if fault { Stop::Trap(Exception::new(cause, address)) } else { Stop::Limit };
            assert_eq!(machine.run(2), stop, "{address:#x}");
        }
        // The last two bytes are half an instruction.
        let mut machine = FlatMachine::<u64>::new(&config, base, 0x1000);
        machine.load(u64::MAX - 1, &[3, 0]).unwrap();
        (machine.hart.pc, machine.stop_on_trap) = (u64::MAX - 1, true);
        assert_eq!(machine.run(1), Stop::Trap(Exception::new(Cause::InstructionAccessFault, 0)));
    }

    #[test]
    fn a_segment_outside_memory_is_an_error() {
        let mut machine = FlatMachine::<u32>::new(&HartConfig::default(), 0x1000, 4096);
        let error = machine.load(0x1ffe, &[0; 4]).unwrap_err().to_string();
        assert!(error.contains("4 bytes at 0x1ffe do not fit"), "{error}");
    }
}
