//! CSR instructions, and which register exists, may be read or written, and holds what.

use super::{Hart, Outcome};
use crate::csr::event::{self, Register};
use crate::csr::{mstatus, number};
use crate::{Cause, Exception, Extensions, Instruction, Op, Privilege, Xlen};

/// Exception flags in `fcsr`.
const FLAGS: u32 = 0x1f;
/// Lowest bit of the rounding mode in `fcsr`.
const FRM_SHIFT: u32 = 5;
/// The rounding mode in `fcsr`.
const FRM: u32 = 7 << FRM_SHIFT;

impl<X: Xlen> Hart<X> {
    pub(super) fn execute_csr(&mut self, i: &Instruction) -> Outcome<X> {
        let immediate = (i.imm >> 16 & 31) as u8;
        let (operand, writes) = match i.op {
            Op::Csrrw => (self.get(i.rs1), true),
            Op::Csrrs | Op::Csrrc => (self.get(i.rs1), i.rs1 != 0),
            Op::Csrrwi => (X::from_u32(u32::from(immediate)), true),
            _ => (X::from_u32(u32::from(immediate)), immediate != 0),
        };
        let csr = i.csr();
        let read_only = csr >> 10 == 3;
        let too_privileged = csr >> 8 & 3 > self.privilege as u16;
        let old = match self.read_csr(csr) {
            Some(old) if !(too_privileged || writes && read_only) => old,
            _ => return illegal(csr_bits(i)),
        };
        if writes {
            let new = match i.op {
                Op::Csrrw | Op::Csrrwi => operand,
                Op::Csrrs | Op::Csrrsi => old | operand,
                _ => old & !operand,
            };
            self.write_csr(csr, new);
        }
        self.set_x(i.rd, old);
        self.retired(i, Outcome::Csr)
    }

    /// Reads a CSR as the present privilege sees it; `None` when there is none to see.
    ///
    /// The privilege coded in the number (bits 9:8) is not checked here.
    pub fn read_csr(&self, csr: u16) -> Option<X> {
        let c = &self.csr;
        let cycle = c.cycle_base().wrapping_add(c.cycle_offset);
        let instret = c.instret_base(self.instret).wrapping_add(c.instret_offset);
        let rv32 = X::BITS == 32;
        Some(match csr {
            number::FFLAGS if self.float_is_on() => X::from_u32(c.fcsr & FLAGS),
            number::FRM if self.float_is_on() => X::from_u32(c.fcsr >> FRM_SHIFT),
            number::FCSR if self.float_is_on() => X::from_u32(c.fcsr),
            number::MSTATUS => X::from_u32(c.mstatus) | self.user_width() | self.some_dirty(),
            number::MSTATUSH if rv32 => X::ZERO,
            number::MISA => c.misa,
            number::MIE => X::from_u32(c.mie),
            number::MIP => X::from_u32(c.mip),
            number::MTVEC => c.mtvec,
            number::MCOUNTEREN if self.has(Extensions::USER_MODE) => X::from_u32(c.mcounteren),
            number::MCOUNTINHIBIT if self.has(Extensions::COUNTER_INHIBIT) => {
                X::from_u32(c.mcountinhibit)
            }
            number::MSCRATCH => c.mscratch,
            number::MEPC => c.mepc,
            number::MCAUSE => c.mcause,
            number::MTVAL => c.mtval,
            number::PMPCFG0..=number::PMPCFG3 if rv32 || csr & 1 == 0 => self.read_pmp_config(csr),
            number::PMPADDR0..=number::PMPADDR15 => {
                self.pmp.address(usize::from(csr - number::PMPADDR0))
            }
            number::LPSTART0..=number::LPCOUNT1 if self.has(Extensions::XPULP) => {
                self.read_loop(csr)?
            }
            // There are no triggers: the only one that can be selected is of type 0, none.
            number::TSELECT..=number::TDATA3 => X::ZERO,
            number::TINFO => X::ONE,
            number::MCYCLE => X::from_u64(cycle),
            number::MINSTRET => X::from_u64(instret),
            number::MCYCLEH if rv32 => X::from_u64(cycle >> 32),
            number::MINSTRETH if rv32 => X::from_u64(instret >> 32),
            number::CYCLE if self.counter_open(0) => X::from_u64(cycle),
            number::INSTRET if self.counter_open(2) => X::from_u64(instret),
            number::CYCLEH if rv32 && self.counter_open(0) => X::from_u64(cycle >> 32),
            number::INSTRETH if rv32 && self.counter_open(2) => X::from_u64(instret >> 32),
            number::MVENDORID => X::from_u32(c.mvendorid),
            number::MARCHID => c.marchid,
            number::MIMPID => c.mimpid,
            number::MHARTID => c.mhartid,
            number::UHARTID if self.has(Extensions::PULP_CSR) => c.mhartid,
            number::PRIVLV if self.has(Extensions::PULP_CSR) => X::from_u32(self.privilege as u32),
            _ => return self.read_event(csr),
        })
    }

    /// Reads a register of the event counters, where there are any.
    fn read_event(&self, csr: u16) -> Option<X> {
        let register = Register::of(csr).filter(|_| self.has(Extensions::EVENT_COUNTERS))?;
        let events = &self.csr.events;
        let rv32 = X::BITS == 32;
        match register {
            Register::Event(index) => Some(X::from_u64(events.event(index))),
            Register::Counter(index) => Some(X::from_u64(events.value(index))),
            Register::User(index) if self.counter_open(event::bit(index)) => {
                Some(X::from_u64(events.value(index)))
            }
            Register::CounterHigh(index) if rv32 => Some(X::from_u64(events.value(index) >> 32)),
            Register::UserHigh(index) if rv32 && self.counter_open(event::bit(index)) => {
                Some(X::from_u64(events.value(index) >> 32))
            }
            _ => None,
        }
    }

    /// Writes a register of the event counters, where there are any.
    fn write_event(&mut self, csr: u16, value: X) {
        if !self.has(Extensions::EVENT_COUNTERS) {
            return;
        }
        let events = &mut self.csr.events;
        match Register::of(csr) {
            Some(Register::Event(index)) => events.choose(index, value.to_u64()),
            Some(Register::Counter(index)) => {
                let count = with_low(0, events.value(index), value);
                events.set(index, count);
            }
            Some(Register::CounterHigh(index)) if X::BITS == 32 => {
                let count = with_high(0, events.value(index), value.to_u32());
                events.set(index, count);
            }
            _ => {}
        }
    }

    /// Gives the bits of `mcounteren` and `mcountinhibit` that have a counter.
    fn counters(&self) -> u32 {
        0b101 | if self.has(Extensions::EVENT_COUNTERS) { event::BITS } else { 0 }
    }

    /// Writes a CSR as software does: bits and registers that are read-only stay.
    pub fn write_csr(&mut self, csr: u16, value: X) {
        let low = value.to_u32();
        let cycle = self.csr.cycle_base();
        // This instruction is counted when it retires, but for a write to the counter itself, which
        // takes the increment's place (RISC-V privileged, section 3.1.10).
        let instret = self.csr.instret_base(self.instret);
        let after = self.csr.instret_base(self.instret.wrapping_add(1));
        let uncounted = instret.wrapping_sub(after);
        let counters = self.counters();
        let c = &mut self.csr;
        match csr {
            number::FFLAGS => self.write_fcsr(low, FLAGS),
            number::FRM => self.write_fcsr(low << FRM_SHIFT, FRM),
            number::FCSR => self.write_fcsr(low, FLAGS | FRM),
            number::MSTATUS => self.write_mstatus(low),
            number::MIE => c.mie = low & c.interrupts,
            number::MTVEC => c.mtvec = value & c.mtvec_mask,
            number::MCOUNTEREN => c.mcounteren = low & counters,
            number::MCOUNTINHIBIT => self.write_inhibit(low & counters),
            number::MSCRATCH => c.mscratch = value,
            number::MEPC => c.mepc = value & !X::from_u32(1 | self.target_mask),
            number::MCAUSE => c.mcause = value,
            number::MTVAL => c.mtval = value,
            number::PMPCFG0..=number::PMPCFG3 => self.write_pmp_config(csr, value),
            number::PMPADDR0..=number::PMPADDR15 => {
                self.pmp.write_address(usize::from(csr - number::PMPADDR0), value);
            }
            number::LPSTART0..=number::LPCOUNT1 => self.write_loop(csr, value),
            number::MCYCLE => c.cycle_offset = with_low(cycle, c.cycle_offset, value),
            number::MCYCLEH => c.cycle_offset = with_high(cycle, c.cycle_offset, low),
            number::MINSTRET => {
                let offset = with_low(instret, c.instret_offset, value);
                c.instret_offset = offset.wrapping_add(uncounted);
            }
            number::MINSTRETH => {
                let offset = with_high(instret, c.instret_offset, low);
                c.instret_offset = offset.wrapping_add(uncounted);
            }
            _ => self.write_event(csr, value),
        }
    }

    fn has(&self, extension: Extensions) -> bool {
        self.extensions().has(extension)
    }

    fn counter_open(&self, bit: u32) -> bool {
        self.privilege == Privilege::Machine || self.csr.mcounteren >> bit & 1 != 0
    }

    /// The UXL field of RV64's `mstatus`: user mode is 64 bits wide too.
    fn user_width(&self) -> X {
        if X::BITS == 64 && self.has(Extensions::USER_MODE) {
            X::from_u64(2 << 32)
        } else {
            X::ZERO
        }
    }

    /// The SD bit of `mstatus`: some state is dirty.
    fn some_dirty(&self) -> X {
        let dirty = self.csr.mstatus & mstatus::FS == mstatus::FS;
        X::from_bool(dirty).shift_left(X::BITS - 1)
    }

    /// Says whether there are floating-point registers and `mstatus.FS` is not off.
    pub(super) fn float_is_on(&self) -> bool {
        self.csr.mstatus & mstatus::FS != 0
    }

    fn write_fcsr(&mut self, value: u32, mask: u32) {
        if self.has(Extensions::F) {
            self.csr.fcsr = self.csr.fcsr & !mask | value & mask;
            self.csr.mstatus |= mstatus::FS;
        }
    }

    /// Stops and starts counters; a stopped one's offset is its value.
    fn write_inhibit(&mut self, new: u32) {
        if !self.has(Extensions::COUNTER_INHIBIT) {
            return;
        }
        let instret = self.instret.wrapping_add(1); // counted when this instruction retires
        let c = &mut self.csr;
        let changed = c.mcountinhibit ^ new;
        for (bit, count, offset) in
            [(1, c.cycle, &mut c.cycle_offset), (4, instret, &mut c.instret_offset)]
        {
            if changed & bit != 0 {
                let stops = new & bit != 0;
                *offset =
                    if stops { offset.wrapping_add(count) } else { offset.wrapping_sub(count) };
            }
        }
        c.mcountinhibit = new;
    }

    fn write_mstatus(&mut self, value: u32) {
        let user = self.has(Extensions::USER_MODE);
        let old = self.csr.mstatus;
        let state = if self.has(Extensions::F) { mstatus::FS } else { 0 };
        let mut new = value & (mstatus::WRITABLE | state);
        let unsupported = match new & mstatus::MPP {
            mstatus::MPP => false,
            0 => !user,
            _ => true,
        };
        if unsupported {
            new = new & !mstatus::MPP | old & mstatus::MPP;
        }
        if !user {
            new &= !(mstatus::MPRV | mstatus::TW);
        }
        self.csr.mstatus = new;
    }

    fn read_pmp_config(&self, csr: u16) -> X {
        let first = 4 * usize::from(csr - number::PMPCFG0);
        (0..X::BITS as usize / 8).fold(X::ZERO, |value, byte| {
            let config = X::from_u32(u32::from(self.pmp.config(first + byte)));
            value | config.shift_left(8 * byte as u32)
        })
    }

    fn write_pmp_config(&mut self, csr: u16, value: X) {
        let first = 4 * usize::from(csr - number::PMPCFG0);
        for byte in 0..X::BITS as usize / 8 {
            let config = value.shift_right(8 * byte as u32).to_u32() as u8;
            self.pmp.write_config(first + byte, config);
        }
    }
}

/// The offset that makes a counter read as `value` in its low register.
fn with_low<X: Xlen>(count: u64, offset: u64, value: X) -> u64 {
    let shown = count.wrapping_add(offset);
    let high = if X::BITS == 32 { shown >> 32 << 32 } else { 0 };
    (high | value.to_u64()).wrapping_sub(count)
}

/// The offset that makes a counter read as `value` in its upper 32 bits.
fn with_high(count: u64, offset: u64, value: u32) -> u64 {
    let shown = count.wrapping_add(offset);
    (u64::from(value) << 32 | shown & 0xffff_ffff).wrapping_sub(count)
}

pub(super) fn illegal<X: Xlen>(bits: u32) -> Outcome<X> {
    Outcome::Trap(Exception::new(Cause::IllegalInstruction, X::from_u32(bits)))
}

/// Encodes a CSR instruction again, for `mtval`.
fn csr_bits(i: &Instruction) -> u32 {
    let (funct3, source) = match i.op {
        Op::Csrrw => (1, u32::from(i.rs1)),
        Op::Csrrs => (2, u32::from(i.rs1)),
        Op::Csrrc => (3, u32::from(i.rs1)),
        Op::Csrrwi => (5, i.imm as u32 >> 16 & 31),
        Op::Csrrsi => (6, i.imm as u32 >> 16 & 31),
        _ => (7, i.imm as u32 >> 16 & 31),
    };
    u32::from(i.csr()) << 20 | source << 15 | funct3 << 12 | u32::from(i.rd) << 7 | 0x73
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HartConfig;

    fn hart(extensions: Extensions) -> Hart<u64> {
        Hart::new(&HartConfig { extensions, ..HartConfig::default() }, 0x1000)
    }

    #[test]
    fn an_inhibited_counter_stands_still_and_goes_on() {
        let mut hart = hart(Extensions::RV64GC);
        hart.csr.cycle = 100;
        hart.write_csr(number::MCYCLE, 1000);
        hart.csr.cycle = 150;
        hart.write_csr(number::MCOUNTINHIBIT, 0b101);
        hart.csr.cycle = 200;
        assert_eq!(hart.read_csr(number::MCYCLE), Some(1050));
        hart.write_csr(number::MCYCLE, 7);
        hart.csr.cycle = 300;
        assert_eq!(hart.read_csr(number::CYCLE), Some(7));
        hart.write_csr(number::MCOUNTINHIBIT, 0);
        hart.csr.cycle = 310;
        assert_eq!(hart.read_csr(number::MCYCLE), Some(17));
        assert_eq!(hart.read_csr(number::MCOUNTINHIBIT), Some(0));
    }

    /// Executes `csrw` with a register's value.
    fn write<X: Xlen>(hart: &mut Hart<X>, csr: u16, value: X) {
        hart.x[5] = value;
        let bits = u32::from(csr) << 20 | 5 << 15 | 1 << 12 | 0x73;
        let instruction = crate::decode(bits, Extensions::RV32GC);
        assert!(matches!(hart.execute(&instruction), Outcome::Csr), "{csr:#x}");
    }

    #[test]
    fn a_write_to_the_counter_of_instructions_takes_the_increments_place() {
        let config = HartConfig { extensions: Extensions::RV32GC, ..HartConfig::default() };
        let mut hart = Hart::<u32>::new(&config, 0x1000);
        let shown = |hart: &Hart<u32>| {
            let half = |csr| hart.read_csr(csr).expect("a counter");
            (half(number::MINSTRETH), half(number::MINSTRET))
        };
        write(&mut hart, number::MINSTRET, u32::MAX);
        assert_eq!(shown(&hart), (0, u32::MAX));
        write(&mut hart, number::MINSTRETH, 7);
        assert_eq!(
            shown(&hart),
            (7, u32::MAX),
            "no carry out of a lower half that was not counted"
        );
        write(&mut hart, number::MSCRATCH, 1);
        assert_eq!(shown(&hart), (8, 0));
        write(&mut hart, number::MCOUNTINHIBIT, 4);
        let stopped = shown(&hart);
        write(&mut hart, number::MINSTRETH, 9);
        assert_eq!(shown(&hart), (9, stopped.1));
        let config = HartConfig { extensions: Extensions::RV64GC, ..HartConfig::default() };
        let mut hart = Hart::<u64>::new(&config, 0x1000);
        write(&mut hart, number::MINSTRET, u64::MAX);
        assert_eq!(hart.read_csr(number::MINSTRET), Some(u64::MAX));
        write(&mut hart, number::MSCRATCH, 1);
        assert_eq!(hart.read_csr(number::MINSTRET), Some(0));
    }

    /// What a debugger's start-up or a test of breakpoints does: it selects a trigger, reads the
    /// selection back, and looks whether there is a trigger of its kind.
    #[test]
    fn there_are_no_triggers_and_software_can_tell() {
        fn check<X: Xlen>(extensions: Extensions) {
            let config = HartConfig { extensions, ..HartConfig::default() };
            let mut hart = Hart::<X>::new(&config, X::from_u32(0x1000));
            for trigger in [0, 1, u32::MAX] {
                write(&mut hart, number::TSELECT, X::from_u32(trigger));
                assert_eq!(hart.read_csr(number::TSELECT), Some(X::ZERO));
                write(&mut hart, number::TDATA1, X::MAX);
                write(&mut hart, number::TDATA2, X::from_u32(0x1000));
                for register in [number::TDATA1, number::TDATA2, number::TDATA3] {
                    assert_eq!(hart.read_csr(register), Some(X::ZERO), "type 0: no trigger");
                }
                assert_eq!(hart.read_csr(number::TINFO), Some(X::ONE));
            }
            let nop = crate::decode(0x13, extensions);
            hart.pc = X::from_u32(0x1000);
            assert!(matches!(hart.execute(&nop), Outcome::Next), "nothing breaks");
            hart.privilege = Privilege::User;
            let read = u32::from(number::TSELECT) << 20 | 2 << 12 | 0x73;
            let outcome = hart.execute(&crate::decode(read, extensions));
            assert!(matches!(outcome, Outcome::Trap(_)), "machine mode's alone");
        }
        check::<u32>(Extensions::PSPIN);
        check::<u64>(Extensions::RV64GC);
    }

    #[test]
    fn event_counters_count_what_they_are_told_to() {
        use event::DATA_CACHE_MISS;

        let mut hart = hart(Extensions::RV64GC);
        assert_eq!(hart.read_csr(0xb1f), Some(0));
        hart.write_csr(0x323, DATA_CACHE_MISS);
        hart.write_csr(0xb03, 1 << 40);
        hart.csr.events.count(DATA_CACHE_MISS, hart.csr.mcountinhibit);
        assert_eq!((hart.read_csr(0x323), hart.read_csr(0xb03)), (Some(0x202), Some(1 << 40 | 1)));
        hart.write_csr(number::MCOUNTINHIBIT, 1 << 3);
        hart.csr.events.count(DATA_CACHE_MISS, hart.csr.mcountinhibit);
        assert_eq!(hart.read_csr(0xc03), Some(1 << 40 | 1));
        hart.privilege = Privilege::User;
        assert_eq!(hart.read_csr(0xc03), None, "closed to user mode");
        hart.write_csr(number::MCOUNTEREN, 1 << 3);
        assert_eq!(hart.read_csr(0xc03), Some(1 << 40 | 1));
        assert_eq!(hart.read_csr(0xb83), None, "halves are for cores of 32 bits");
    }

    #[test]
    fn halves_of_event_counters_are_written_one_by_one() {
        let config = HartConfig { extensions: Extensions::RV32GC, ..HartConfig::default() };
        let mut hart: Hart<u32> = Hart::new(&config, 0x1000);
        assert_eq!(hart.read_csr(0xb03), None);
        let extensions = Extensions::RV32GC.with(Extensions::EVENT_COUNTERS);
        hart = Hart::new(&HartConfig { extensions, ..HartConfig::default() }, 0x1000);
        hart.write_csr(0xb03, 7);
        hart.write_csr(0xb83, 9);
        assert_eq!((hart.read_csr(0xb03), hart.read_csr(0xc83)), (Some(7), Some(9)));
    }

    #[test]
    fn a_core_without_floating_point_has_none_of_its_state() {
        let mut hart = hart(Extensions::RV64IMAC);
        hart.write_csr(number::MSTATUS, u64::MAX);
        assert_eq!(hart.read_csr(number::MSTATUS), Some(2 << 32 | 0x22_1888), "no FS, no SD");
        hart.write_csr(number::FCSR, 0xff);
        for csr in [number::FFLAGS, number::FRM, number::FCSR, number::MCOUNTINHIBIT] {
            assert_eq!(hart.read_csr(csr), None, "{csr:#x}");
        }
    }
}
